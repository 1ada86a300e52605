//! The command `check`: opens a store read-only and checks every record and blob.

use crate::config::Settings;
use crate::jobs::{CheckNews, CheckSummary, check_store};
use crate::storage::{
    BlobLocation, Blobs, DataDir, DatabaseLocation, ScratchDir, StoreError, postgres, sqlite,
};

use super::start_error::StartError;
use super::stores::{no_store, of_data_dir, place, unusable_blobs};

/// Compares every record and blob with its stored digest and changes nothing. `tell` receives each damage as soon as
/// it is found.
///
/// # Errors
/// The store cannot be opened or stops responding.
pub async fn check(
    settings: &Settings,
    tell: &mut (dyn FnMut(CheckNews) + Send),
) -> Result<CheckSummary, StartError> {
    let blob_place = settings.blob_url.place().map_err(StartError::BlobUrl)?;
    let place = place(settings)?;
    let named = |source| match &place {
        DatabaseLocation::Sqlite => of_data_dir(settings, source),
        DatabaseLocation::Postgres(url) => StartError::Database {
            shown: url.to_string(),
            source,
        },
    };
    let opened = match &place {
        DatabaseLocation::Sqlite => {
            let directory = &settings.data_dir;
            if !DataDir::holds_database(directory).map_err(named)? {
                return Err(no_store(settings));
            }
            sqlite::open_to_check(&DataDir::database_in(directory)).await
        }
        DatabaseLocation::Postgres(url) => postgres::open_to_check(url).await,
    };
    // The blobs are checked even if the database is damaged.
    let store = match opened {
        Ok(store) => Ok(store),
        Err(error @ StoreError::Corrupt(_)) => Err(error),
        Err(error) => return Err(named(error)),
    };
    let blobs = open_blobs(settings, &blob_place)?;
    let checked = check_store(store.as_ref(), blobs.as_ref(), tell).await;
    if let Ok(store) = &store {
        store.close().await;
    }
    checked.map_err(named)
}

fn open_blobs(settings: &Settings, place: &BlobLocation) -> Result<Option<Blobs>, StartError> {
    match place {
        BlobLocation::DataDir => {
            let opened = Blobs::existing(&DataDir::blobs_in(&settings.data_dir));
            opened.map_err(|source| of_data_dir(settings, source))
        }
        BlobLocation::Folder(directory) => {
            let opened = Blobs::existing(directory);
            let opened = opened.map_err(|source| unusable_blobs(settings, source.into()))?;
            let missing = || StoreError::other("the folder does not exist");
            let missing = || unusable_blobs(settings, missing().into());
            opened.map(Some).ok_or_else(missing)
        }
        BlobLocation::Bucket(bucket) => {
            // A cache of 0 bytes keeps no fetched blob.
            let scratch = ScratchDir::below(&settings.data_dir);
            let opened = Blobs::bucket(bucket, &settings.s3_access(), scratch, 0);
            opened.map(Some).map_err(StartError::BlobUrl)
        }
    }
}
