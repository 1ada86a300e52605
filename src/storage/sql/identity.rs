//! Statements of the identity of a database: its name and the place of its blobs, in a single row.

use super::super::error::Result;
use super::database::statement;
use super::store::Store;

impl Store {
    /// The name of this database. If it has none, it gets the name `fresh`.
    pub async fn database_name(&self, fresh: &str) -> Result<String> {
        let mut transaction = self.database.begin().await?;
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

    /// The recorded blob place of this database, if any.
    pub async fn blob_place(&self) -> Result<Option<String>> {
        let found = self
            .database
            .optional(statement("SELECT blob_place FROM identity"))
            .await?;
        found.map_or(Ok(None), |row| row.get("blob_place"))
    }

    /// Records the blob place of this database unless one is recorded, and returns the recorded place. The
    /// database must already have a name.
    pub async fn record_blob_place(&self, place: &str) -> Result<String> {
        let mut transaction = self.database.begin().await?;
        let update = statement("UPDATE identity SET blob_place = $1 WHERE blob_place IS NULL");
        transaction.execute(update.bind(place)).await?;
        let found = transaction
            .one(statement("SELECT blob_place FROM identity"))
            .await?;
        transaction.commit().await?;
        found.get("blob_place")
    }
}
