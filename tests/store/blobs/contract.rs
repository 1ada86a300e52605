//! The contract of every place for blobs, as one suite over a folder and a bucket.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use clap::Parser;
use halfspace::config::CommandLine;
use halfspace::jobs::{Ids, Jobs, JobsConfig};
use halfspace::records::{ManualClock, Timestamp};
use halfspace::storage::{BlobLocation, Blobs, DataDir, StoreError};
use halfspace_core::learners::engine::run::StopFlag;
use halfspace_formats::ReadAt;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tempfile::TempDir;

use crate::service::TestBucket;

/// A time later than the age of any blob here.
fn the_end() -> Timestamp {
    Timestamp::from_milliseconds(1 << 50)
}

struct Place {
    blobs: Blobs,
    place: BlobLocation,
    directory: TempDir,
}

fn folder() -> Place {
    let directory = tempfile::tempdir().unwrap();
    Place {
        blobs: Blobs::local(&directory.path().join("blobs")).unwrap(),
        place: BlobLocation::DataDir,
        directory,
    }
}

fn bucket() -> Option<Place> {
    let bucket = TestBucket::new()?;
    let directory = tempfile::tempdir().unwrap();
    let line = [vec!["halfspace".to_owned()], bucket.settings()].concat();
    let settings = CommandLine::try_parse_from(line).unwrap().settings;
    let place = settings.blob_url.place().unwrap();
    let BlobLocation::Bucket(bucket) = &place else {
        panic!("{place:?}");
    };
    let scratch = DataDir::open(directory.path()).unwrap().scratch();
    let blobs = Blobs::bucket(bucket, &settings.s3_access(), scratch, 64 << 20).unwrap();
    Some(Place {
        blobs,
        place,
        directory,
    })
}

/// Bytes whose parts all differ.
fn bytes(count: usize) -> Bytes {
    (0..count)
        .map(|at| (at % 251 + at / 65_536) as u8)
        .collect()
}

fn key(number: u32) -> String {
    format!("jobs/number {number}/0/data").replace(' ', "_")
}

fn read(blob: &dyn ReadAt, start: usize, count: usize) -> Vec<u8> {
    let mut buffer = vec![0; count];
    blob.read_exact_at(&mut buffer, start as u64).unwrap();
    buffer
}

async fn blobs_are_put_got_listed_and_deleted(Place { blobs, .. }: Place) {
    assert_eq!(blobs.list("").await.unwrap(), []);
    assert_eq!(blobs.get(&key(1)).await.unwrap(), None);
    blobs
        .put(&key(1), Bytes::from_static(b"first"))
        .await
        .unwrap();
    blobs
        .put(&key(1), Bytes::from_static(b"one"))
        .await
        .unwrap();
    blobs.put(&key(2), Bytes::from_static(b"")).await.unwrap();
    assert_eq!(blobs.get(&key(1)).await.unwrap().unwrap(), "one");
    let mut listed = blobs.list("jobs").await.unwrap();
    listed.sort_by_key(|blob| blob.bytes);
    let found: Vec<_> = listed
        .iter()
        .map(|blob| (blob.key.clone(), blob.bytes))
        .collect();
    assert_eq!(found, [(key(2), 0), (key(1), 3)]);
    assert!(
        listed
            .iter()
            .all(|blob| blob.modified_at.milliseconds() > 1_600_000_000_000)
    );
    assert_eq!(blobs.list("job").await.unwrap(), []);
    assert_eq!(blobs.list("datasets").await.unwrap(), []);
    for _ in 0..2 {
        blobs.delete(&key(1)).await.unwrap();
        blobs.delete(&key(2)).await.unwrap();
    }
    assert_eq!(blobs.list("").await.unwrap(), []);
}

async fn list_of_blobs_may_exceed_a_page(Place { blobs, .. }: Place) {
    for number in 0..1_005 {
        blobs
            .put(&key(number), Bytes::from_static(b"x"))
            .await
            .unwrap();
    }
    assert_eq!(blobs.list("jobs").await.unwrap().len(), 1_005);
}

async fn blobs_are_read_in_parts(Place { blobs, .. }: Place) {
    let whole = bytes(1_000_000);
    blobs.put(&key(1), whole.clone()).await.unwrap();
    let ranges = [0..10, 999_990..1_000_000, 500..600];
    let found = blobs.get_ranges(&key(1), &ranges).await.unwrap().unwrap();
    for (range, found) in ranges.iter().zip(found) {
        assert_eq!(found, whole[range.start as usize..range.end as usize]);
    }
    // A range that reaches past the end shows that the blob is truncated, and a retry would not help.
    for cut in [
        999_999..1_000_001,
        1_000_000..1_000_001,
        2_000_000..2_000_001,
    ] {
        let found = blobs.get_ranges(&key(1), std::slice::from_ref(&cut)).await;
        assert!(matches!(found, Err(StoreError::Corrupt(_))), "{found:?}");
    }
    assert_eq!(blobs.get_ranges(&key(2), &ranges).await.unwrap(), None);
}

async fn a_blob_is_opened_and_read_by_position(Place { blobs, .. }: Place) {
    let stop = StopFlag::default();
    assert!(blobs.open(&key(1), &stop).await.unwrap().is_none());
    // Several parts and a rest, exactly one part, and less than a part.
    for count in [20_000_003, 8 << 20, 17] {
        let whole = bytes(count);
        blobs.put(&key(1), whole.clone()).await.unwrap();
        let opened = blobs.open(&key(1), &stop).await.unwrap().unwrap();
        assert_eq!(opened.bytes().unwrap(), count as u64);
        for start in [0, count / 2, count - 7] {
            assert_eq!(read(&*opened, start, 7), whole[start..start + 7]);
        }
        let mut beyond = [0; 8];
        assert!(opened.read_exact_at(&mut beyond, count as u64 - 7).is_err());
        // A reader of an open blob continues after the deletion.
        blobs.delete(&key(1)).await.unwrap();
        assert_eq!(read(&*opened, 3, 9), whole[3..12]);
        assert!(blobs.open(&key(1), &stop).await.unwrap().is_none());
    }
    // Another blob under the same key.
    for text in ["one", "two"] {
        blobs
            .put(&key(1), Bytes::from_static(text.as_bytes()))
            .await
            .unwrap();
        let opened = blobs.open(&key(1), &stop).await.unwrap().unwrap();
        assert_eq!(read(&*opened, 0, 3), text.as_bytes());
    }
}

async fn a_blob_is_whole_or_not_there(Place { blobs, .. }: Place) {
    for (count, finishes) in [
        (17, true),
        (20_000_003, true),
        (17, false),
        (20_000_003, false),
    ] {
        let whole = bytes(count);
        let mut writer = blobs.writer(&key(1)).unwrap();
        let written = whole.clone();
        let written = tokio::task::spawn_blocking(move || {
            for piece in written.chunks(1_000_001) {
                writer.write_all(piece).unwrap();
            }
            writer
        });
        let writer = written.await.unwrap();
        assert_eq!(blobs.get(&key(1)).await.unwrap(), None);
        assert_eq!(blobs.list("").await.unwrap(), []);
        if finishes {
            assert_eq!(writer.finish().await.unwrap(), count as u64);
            assert_eq!(blobs.get(&key(1)).await.unwrap().unwrap(), whole);
            blobs.delete(&key(1)).await.unwrap();
        } else {
            writer.abort().await;
        }
        assert_eq!(blobs.remove_unfinished(the_end()).await.unwrap(), 0);
    }
}

async fn unfinished_uploads_are_removed_by_age(Place { blobs, .. }: Place) {
    blobs
        .put(&key(1), Bytes::from_static(b"whole"))
        .await
        .unwrap();
    let mut writer = blobs.writer(&key(2)).unwrap();
    let written = tokio::task::spawn_blocking(move || {
        writer.write_all(&bytes(20_000_003)).unwrap();
        writer
    });
    // The upload stays unfinished, as after the death of a process.
    std::mem::forget(written.await.unwrap());
    let long_ago = Timestamp::from_milliseconds(0);
    assert_eq!(blobs.remove_unfinished(long_ago).await.unwrap(), 0);
    assert_eq!(blobs.remove_unfinished(the_end()).await.unwrap(), 1);
    assert_eq!(blobs.remove_unfinished(the_end()).await.unwrap(), 0);
    assert_eq!(blobs.list("").await.unwrap().len(), 1);
    assert_eq!(blobs.get(&key(1)).await.unwrap().unwrap(), "whole");
}

async fn blob_keys_stay_inside_the_location(Place { blobs, .. }: Place) {
    for bad in ["../outside", "a/../../b", "a//b"] {
        let put = blobs.put(bad, Bytes::new()).await;
        assert!(matches!(put, Err(StoreError::Other(_))), "{bad}");
    }
}

async fn blob_location_check_leaves_the_location_unchanged(Place { blobs, place, .. }: Place) {
    blobs.probe("some").await.unwrap();
    assert_eq!(blobs.list("").await.unwrap(), []);
    let directory = tempfile::tempdir().unwrap();
    let open =
        async |name: &str| halfspace::storage::sqlite::open(&directory.path().join(name)).await;
    let (one, other) = (open("one").await.unwrap(), open("other").await.unwrap());
    // Processes that start at the same time, and later ones. Each brings its own name.
    let together = (0..4).map(|number| {
        let name = format!("together {number}");
        let (blobs, place, one) = (&blobs, &place, &one);
        async move { blobs.belong(place, one, &name).await }
    });
    for belongs in futures_util::future::join_all(together).await {
        belongs.unwrap();
    }
    for name in ["first", "second"] {
        blobs.belong(&place, &one, name).await.unwrap();
    }
    let refused = blobs.belong(&place, &other, "third").await.unwrap_err();
    assert!(
        refused.to_string().contains("another database"),
        "{refused}"
    );
    // A place without its mark counts as another place.
    blobs.delete("store-id").await.unwrap();
    let refused = blobs.belong(&place, &one, "fourth").await.unwrap_err();
    assert!(
        refused.to_string().contains("at another location"),
        "{refused}"
    );
    blobs
        .put("store-id", Bytes::from_static(b"\xff"))
        .await
        .unwrap();
    assert!(blobs.belong(&place, &one, "fifth").await.is_err());
}

async fn blob_location_goes_to_one_of_several_racing_databases(Place { blobs, place, .. }: Place) {
    let directory = tempfile::tempdir().unwrap();
    let mut databases = Vec::new();
    for name in ["one", "two", "three", "four"] {
        let store = halfspace::storage::sqlite::open(&directory.path().join(name)).await;
        databases.push((name, store.unwrap()));
    }
    let (blobs, place) = (&blobs, &place);
    let together = databases
        .iter()
        .map(|(name, store)| async move { blobs.belong(place, store, name).await.is_ok() });
    let belong = futures_util::future::join_all(together).await;
    assert_eq!(belong.iter().filter(|&&is_its_own| is_its_own).count(), 1);
    for ((name, store), was_its_own) in databases.iter().zip(belong) {
        let is_its_own = blobs.belong(place, store, name).await.is_ok();
        assert_eq!(is_its_own, was_its_own, "{name}");
    }
}

async fn sweep_removes_old_blobs_without_a_row(
    Place {
        blobs, directory, ..
    }: Place,
) {
    let now = std::fs::metadata(directory.path())
        .unwrap()
        .modified()
        .unwrap();
    let now = now
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    let clock = Arc::new(ManualClock::new(Timestamp::from_milliseconds(now as i64)));
    let ids = Ids::new(Arc::clone(&clock) as _, StdRng::seed_from_u64(1));
    let database = directory.path().join("swept");
    let store = Arc::new(halfspace::storage::sqlite::open(&database).await.unwrap());
    let config = JobsConfig::default();
    let jobs = Jobs::new(store, blobs.clone(), Arc::new(ids), config, None);
    let orphans = ["jobs/some/0/data", "datasets/some/data", "probes/some"];
    for key in orphans {
        blobs.put(key, Bytes::from_static(b"x")).await.unwrap();
    }
    blobs
        .put("store-id", Bytes::from_static(b"mark"))
        .await
        .unwrap();
    jobs.sweep.once().await.unwrap();
    for key in orphans {
        assert!(blobs.get(key).await.unwrap().is_some(), "{key}");
    }
    clock.advance_milliseconds(2 * 86_400_000);
    jobs.sweep.once().await.unwrap();
    for key in orphans {
        assert_eq!(blobs.get(key).await.unwrap(), None, "{key}");
    }
    assert_eq!(blobs.get("store-id").await.unwrap().unwrap(), "mark");
}

/// Makes a test of each case over a folder and over a bucket.
macro_rules! over_both {
    ($($case:ident)*) => {
        mod over_a_folder {
            $(#[tokio::test]
            async fn $case() {
                super::$case(super::folder()).await;
            })*
        }
        mod over_a_bucket {
            $(#[tokio::test]
            async fn $case() {
                if let Some(place) = super::bucket() {
                    super::$case(place).await;
                }
            })*
        }
    };
}

over_both! {
    blobs_are_put_got_listed_and_deleted
    list_of_blobs_may_exceed_a_page
    blobs_are_read_in_parts
    a_blob_is_opened_and_read_by_position
    a_blob_is_whole_or_not_there
    unfinished_uploads_are_removed_by_age
    blob_keys_stay_inside_the_location
    blob_location_check_leaves_the_location_unchanged
    blob_location_goes_to_one_of_several_racing_databases
    sweep_removes_old_blobs_without_a_row
}
