//! Statements of the identity of a database: its name and the place of its blobs, in a single row.

use super::super::Result;
use super::database::{Database, statement};

/// The name of the database. A database without a name gets the name `fresh`.
pub(super) async fn name(database: &Database, fresh: &str) -> Result<String> {
    let mut transaction = database.begin().await?;
    let insert = statement(
        "INSERT INTO identity (one, name, blob_place) VALUES (1, $1, NULL) ON CONFLICT (one) DO NOTHING",
    );
    transaction.execute(insert.bind(fresh)).await?;
    let found = transaction
        .one(statement("SELECT name FROM identity"))
        .await?;
    transaction.commit().await?;
    found.get("name")
}

pub(super) async fn blob_place(database: &Database) -> Result<Option<String>> {
    let found = database
        .optional(statement("SELECT blob_place FROM identity"))
        .await?;
    found.map_or(Ok(None), |row| row.get("blob_place"))
}

/// Records `place` unless a place is recorded, and returns the recorded place.
pub(super) async fn record_blob_place(database: &Database, place: &str) -> Result<String> {
    let mut transaction = database.begin().await?;
    let update = statement("UPDATE identity SET blob_place = $1 WHERE blob_place IS NULL");
    transaction.execute(update.bind(place)).await?;
    let found = transaction
        .one(statement("SELECT blob_place FROM identity"))
        .await?;
    transaction.commit().await?;
    found.get("blob_place")
}
