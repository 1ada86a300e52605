//! Time: the observed service time, and the effect of clock jumps on leases.

use halfspace::records::Callback;
use halfspace::storage::{BusyReceivers, TimeNote};

use super::*;

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

fn note(hours: u64, earliest: i64) -> TimeNote {
    TimeNote {
        observed_ms: hours * HOUR,
        earliest: at(earliest),
        kept_ms: 3 * DAY,
    }
}

pub(super) async fn clock_readings_are_remembered_by_the_hour(backend: &dyn Backend) {
    let (one, other) = (open(backend).await, open(backend).await);
    assert_eq!(one.observed_time().await.unwrap(), 0);
    assert_eq!(one.earliest_reading(0).await.unwrap(), None);
    assert_eq!(one.note_time(&note(0, 5)).await.unwrap(), 0);
    assert_eq!(one.earliest_reading(0).await.unwrap(), Some(at(5)));
    assert_eq!(one.earliest_reading(1).await.unwrap(), None);
    assert_eq!(one.note_time(&note(30, 40)).await.unwrap(), 30 * HOUR);
    // Another process has seen less time and its clock is behind. The store keeps the greater value.
    assert_eq!(other.note_time(&note(29, 30)).await.unwrap(), 30 * HOUR);
    assert_eq!(one.observed_time().await.unwrap(), 30 * HOUR);
    assert_eq!(one.earliest_reading(0).await.unwrap(), Some(at(30)));
    assert_eq!(one.earliest_reading(DAY).await.unwrap(), Some(at(30)));
    assert_eq!(one.earliest_reading(30 * HOUR).await.unwrap(), Some(at(5)));
    assert_eq!(one.earliest_reading(30 * HOUR + 1).await.unwrap(), None);
    // A later reading does not replace an earlier one of the same hour.
    one.note_time(&note(30, 50)).await.unwrap();
    assert_eq!(one.earliest_reading(0).await.unwrap(), Some(at(30)));
    // Readings that no sweep needs are deleted.
    one.note_time(&note(90, 90)).await.unwrap();
    assert_eq!(one.earliest_reading(90 * HOUR).await.unwrap(), Some(at(30)));
    let kept = "SELECT COUNT(*) FROM clock_readings";
    assert_eq!(backend.number(kept).await, 2);
}

/// A clock that jumps ahead makes leases look as if they had expired long ago. Another worker takes the job,
/// and the job is not charged an attempt.
pub(super) async fn a_clock_that_jumps_ahead_charges_no_attempt(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, LONG).await;
    assert!(claim(&store, "b", LONG).await.is_none());
    let jump = "UPDATE jobs SET lease_until = lease_until - 315360000 \
                RETURNING CAST(claims AS BIGINT)";
    backend.number(jump).await;
    let taken = claim(&store, "b", LONG).await.unwrap().lease;
    assert_eq!(
        (taken.attempt, taken.claim),
        (lease.attempt, lease.claim + 1)
    );
    let beat = store
        .heartbeat(&lease, &beating(None), at(200))
        .await
        .unwrap();
    assert_eq!(beat, Heartbeat::Lost);
}

/// A clock that jumps back leaves leases and callbacks with times that lie years ahead.
pub(super) async fn leases_and_callbacks_of_a_clock_years_ahead_are_due_soon(
    backend: &dyn Backend,
) {
    let store = open(backend).await;
    let lease = claimed(&store, LONG).await;
    let told = Job {
        callback: Some(Callback::new("https://example.com/")),
        ..job(2)
    };
    store.insert_job(&told, None).await.unwrap();
    let claimed = claim(&store, "a", LONG).await.unwrap().lease;
    store.finish_job(&claimed, &failure()).await.unwrap();
    assert_eq!(store.shorten_leases(NONE).await.unwrap(), 0);
    for jump in [
        "UPDATE jobs SET lease_until = lease_until + 315360000 WHERE lease_until IS NOT NULL \
         RETURNING CAST(claims AS BIGINT)",
        "UPDATE callbacks SET due_at = due_at + 315360000 RETURNING CAST(claims AS BIGINT)",
    ] {
        backend.number(jump).await;
    }
    assert!(claim(&store, "b", LONG).await.is_none());
    assert!(
        store
            .claim_callback(&worker("b"), LONG, &BusyReceivers::default())
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(store.shorten_leases(NONE).await.unwrap(), 2);
    let taken = claim(&store, "b", LONG).await.unwrap();
    assert_eq!((taken.job.id, taken.lease.attempt), (lease.job, 2));
    assert!(
        store
            .claim_callback(&worker("b"), LONG, &BusyReceivers::default())
            .await
            .unwrap()
            .is_some()
    );
}
