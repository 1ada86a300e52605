//! Callbacks: every end of a job makes one due, one worker at a time delivers it, and only that worker settles it.

use std::time::Duration;

use halfspace::records::{Callback, CallbackState};
use halfspace::storage::{
    BusyReceivers, CALLBACK_CLAIMS_MAX, CallbackClaim, CallbackLease, DeliveryOutcome,
};

use super::*;

const URL: &str = "https://receiver.example/hook?job=1";

fn calling(job: Job) -> Job {
    Job {
        callback: Some(Callback::new(URL)),
        ..job
    }
}

async fn take(store: &Store, name: &str, lease_seconds: u32) -> Option<CallbackClaim> {
    let taken = store
        .claim_callback(&worker(name), lease_seconds, &BusyReceivers::default())
        .await;
    taken.unwrap()
}

async fn settle(store: &Store, lease: &CallbackLease, settlement: DeliveryOutcome) -> Fenced {
    store.settle_callback(lease, &settlement).await.unwrap()
}

fn failed() -> String {
    "the answer is 500".to_owned()
}

/// Asserts that the job owes exactly one callback, and settles it.
async fn assert_owed(store: &Store, id: JobId, status: Status) {
    let claim = take(store, "d", LONG).await.unwrap();
    assert_eq!((claim.job.id, claim.job.status), (id, status));
    assert_eq!((claim.url.as_str(), claim.failures), (URL, 0));
    assert_eq!(claim.job, get(store, id).await);
    assert_eq!(take(store, "d", LONG).await, None);
    let settled = settle(store, &claim.lease, DeliveryOutcome::Delivered).await;
    assert_eq!(settled, Fenced::Done);
}

/// Stores an ended job that owes a callback.
async fn owed(store: &Store, number: i64) {
    let job = calling(ended_job(number));
    store
        .insert_ended_job(&job, None, None, None)
        .await
        .unwrap();
}

async fn begun(store: &Store, number: i64, lease_seconds: u32) -> Lease {
    store.insert_job(&calling(job(number)), None).await.unwrap();
    claim(store, "a", lease_seconds).await.unwrap().lease
}

pub(super) async fn every_ended_job_owes_one_callback(backend: &dyn Backend) {
    let store = open(backend).await;
    let store = &store;
    // Jobs that their workers end.
    for (number, end) in [(1, success(1)), (2, failure())] {
        let lease = begun(store, number, LONG).await;
        assert_eq!(take(store, "d", LONG).await, None);
        let asked = get(store, lease.job).await.callback.unwrap();
        assert_eq!(asked, Callback::new(URL));
        assert_eq!(store.finish_job(&lease, &end).await.unwrap(), Fenced::Done);
        assert_eq!(store.finish_job(&lease, &end).await.unwrap(), Fenced::Lost);
        assert_owed(store, lease.job, end.status).await;
    }
    // A job that ends in the queue.
    store.insert_job(&calling(job(3)), None).await.unwrap();
    let id = job(3).id;
    for _ in 0..2 {
        store.cancel_job(&owner(), id, at(200)).await.unwrap();
    }
    assert_owed(store, id, Status::Cancelled).await;
    // A job that is cancelled when it is requeued.
    let lease = begun(store, 4, LONG).await;
    store
        .cancel_job(&owner(), lease.job, at(200))
        .await
        .unwrap();
    assert_eq!(take(store, "d", LONG).await, None);
    store
        .requeue_job(&lease, &Requeue::default(), at(200))
        .await
        .unwrap();
    assert_owed(store, lease.job, Status::Cancelled).await;
    let lease = begun(store, 5, LONG).await;
    store
        .cancel_job(&owner(), lease.job, at(200))
        .await
        .unwrap();
    assert_eq!(
        store.release_all_leases(&RELEASE, at(200)).await.unwrap(),
        1
    );
    assert_owed(store, lease.job, Status::Cancelled).await;
    // Jobs that end after their workers vanished: one cancelled, one poisoned.
    let lease = begun(store, 6, NONE).await;
    store
        .cancel_job(&owner(), lease.job, at(200))
        .await
        .unwrap();
    assert_eq!(claim(store, "b", LONG).await, None);
    assert_owed(store, lease.job, Status::Cancelled).await;
    let lease = begun(store, 7, NONE).await;
    while claim(store, "b", NONE).await.is_some() {}
    assert_owed(store, lease.job, Status::Failed).await;
    // A job that is stored as ended, twice.
    owed(store, 8).await;
    owed(store, 8).await;
    assert_owed(store, job(8).id, Status::Succeeded).await;
    // A job that is stored as running.
    let running = calling(running_job(9));
    let lease = store
        .insert_running_job(&running, &worker("a"), LONG, None)
        .await;
    let lease = lease.unwrap();
    store.finish_job(&lease, &success(9)).await.unwrap();
    assert_owed(store, lease.job, Status::Succeeded).await;
    for number in 1..=9 {
        let callback = get(store, job(number).id).await.callback.unwrap();
        assert_eq!(callback.state, CallbackState::Delivered, "{number}");
    }
}

pub(super) async fn callback_is_owed_only_for_a_written_end_with_a_url(backend: &dyn Backend) {
    let store = open(backend).await;
    let store = &store;
    let stale = begun(store, 1, NONE).await;
    let held = claim(store, "b", LONG).await.unwrap().lease;
    let end = success(1);
    assert_eq!(store.finish_job(&stale, &end).await.unwrap(), Fenced::Lost);
    assert_eq!(take(store, "d", LONG).await, None);
    store
        .requeue_job(&held, &Requeue::default(), at(200))
        .await
        .unwrap();
    assert_eq!(take(store, "d", LONG).await, None);
    // Jobs without a callback URL.
    store.insert_job(&job(2), None).await.unwrap();
    store
        .cancel_job(&owner(), job(2).id, at(200))
        .await
        .unwrap();
    let ended = ended_job(3);
    store
        .insert_ended_job(&ended, None, None, None)
        .await
        .unwrap();
    let lease = claim(store, "a", LONG).await.unwrap().lease;
    assert_eq!(lease.job, stale.job);
    store.insert_job(&job(4), None).await.unwrap();
    let lease = claim(store, "a", LONG).await.unwrap().lease;
    store.finish_job(&lease, &success(4)).await.unwrap();
    assert_eq!(take(store, "d", LONG).await, None);
    assert_eq!(get(store, lease.job).await.callback, None);
}

pub(super) async fn callback_is_claimed_by_one_worker(backend: &dyn Backend) {
    const CALLBACKS: i64 = 24;
    let stores = [open(backend).await, open(backend).await];
    for number in 0..CALLBACKS {
        owed(&stores[0], number).await;
    }
    let takers = (0..6).map(|index| {
        let store = Arc::clone(&stores[index % 2]);
        tokio::spawn(async move {
            let mut taken = Vec::new();
            while let Some(claim) = take(&store, &format!("d{index}"), LONG).await {
                taken.push(claim.job.id);
            }
            taken
        })
    });
    let mut taken = Vec::new();
    for taker in takers.collect::<Vec<_>>() {
        taken.extend(taker.await.unwrap());
    }
    let different: HashSet<_> = taken.iter().collect();
    assert_eq!(taken.len(), CALLBACKS as usize);
    assert_eq!(different.len(), taken.len());
}

pub(super) async fn callback_is_settled_only_under_its_lease(backend: &dyn Backend) {
    let store = open(backend).await;
    let store = &store;
    owed(store, 1).await;
    // The lease has expired, so another worker may deliver. That costs no failure.
    let stale = take(store, "d", NONE).await.unwrap().lease;
    let held = take(store, "d", LONG).await.unwrap();
    assert_eq!((held.lease.claim, held.failures), (2, 0));
    let others = [
        stale.clone(),
        CallbackLease {
            worker: worker("e"),
            ..held.lease.clone()
        },
        CallbackLease {
            job: job(2).id,
            ..held.lease.clone()
        },
    ];
    let settlements = || {
        let delay = Duration::ZERO;
        let error = failed();
        let retry = DeliveryOutcome::RetryIn { delay, error };
        let error = failed();
        [
            DeliveryOutcome::Delivered,
            retry,
            DeliveryOutcome::GivenUp { error },
        ]
    };
    for lease in &others {
        for settlement in settlements() {
            assert_eq!(settle(store, lease, settlement).await, Fenced::Lost);
        }
    }
    let callback = get(store, stale.job).await.callback.unwrap();
    assert_eq!(callback, Callback::new(URL));
    let delivered = settle(store, &held.lease, DeliveryOutcome::Delivered).await;
    assert_eq!(delivered, Fenced::Done);
    // A delivered callback stays delivered.
    for settlement in settlements() {
        assert_eq!(settle(store, &held.lease, settlement).await, Fenced::Lost);
    }
    assert_eq!(take(store, "d", LONG).await, None);
    // The holder of an expired lease may settle the callback until another worker claims it.
    owed(store, 2).await;
    let late = take(store, "d", NONE).await.unwrap().lease;
    let settled = settle(store, &late, DeliveryOutcome::Delivered).await;
    assert_eq!(settled, Fenced::Done);
    assert_eq!(take(store, "d", LONG).await, None);
}

pub(super) async fn callback_retry_is_claimable_when_it_is_due(backend: &dyn Backend) {
    let store = open(backend).await;
    let store = &store;
    owed(store, 1).await;
    let id = job(1).id;
    let retry = |delay| {
        let error = failed();
        DeliveryOutcome::RetryIn { delay, error }
    };
    let lease = take(store, "d", LONG).await.unwrap().lease;
    settle(store, &lease, retry(Duration::ZERO)).await;
    let again = take(store, "e", LONG).await.unwrap();
    assert_eq!((again.lease.claim, again.failures), (2, 1));
    settle(store, &again.lease, retry(Duration::from_millis(3_600_500))).await;
    assert_eq!(take(store, "d", LONG).await, None);
    let callback = get(store, id).await.callback.unwrap();
    let expected = Callback {
        failures: 2,
        error: Some(failed()),
        ..Callback::new(URL)
    };
    assert_eq!(callback, expected);
    // A process that releases all leases does not make a waiting callback due earlier.
    assert_eq!(
        store.release_all_leases(&RELEASE, at(300)).await.unwrap(),
        0
    );
    assert_eq!(take(store, "d", LONG).await, None);
    let page = Page::<JobKind>::new(10, None);
    let listed = store
        .jobs(&owner(), &JobFilter::default(), &page, |_| ())
        .await;
    assert_eq!(listed.unwrap().items[0].callback, Some(expected));
    // A callback that failed for good, and one whose worker vanished.
    owed(store, 2).await;
    let lease = take(store, "d", LONG).await.unwrap().lease;
    let error = failed();
    settle(store, &lease, DeliveryOutcome::GivenUp { error }).await;
    assert_eq!(take(store, "d", LONG).await, None);
    let callback = get(store, job(2).id).await.callback.unwrap();
    assert_eq!(callback.state, CallbackState::GivenUp);
    assert_eq!((callback.failures, callback.error), (1, Some(failed())));
    owed(store, 3).await;
    let gone = take(store, "d", LONG).await.unwrap().lease;
    store.release_all_leases(&RELEASE, at(300)).await.unwrap();
    let held = take(store, "e", LONG).await.unwrap();
    assert_eq!((held.lease.job, held.failures), (gone.job, 0));
    let stale = settle(store, &gone, DeliveryOutcome::Delivered).await;
    assert_eq!(stale, Fenced::Lost);
}

pub(super) async fn callback_is_given_up_after_too_many_claims(backend: &dyn Backend) {
    let store = open(backend).await;
    let store = &store;
    owed(store, 1).await;
    owed(store, 2).await;
    let mut claims = 0;
    while let Some(claim) = take(store, "d", NONE).await {
        claims += 1;
        assert!(claim.lease.claim <= CALLBACK_CLAIMS_MAX && claim.failures == 0);
    }
    assert_eq!(claims, 2 * CALLBACK_CLAIMS_MAX);
    for number in [1, 2] {
        let callback = get(store, job(number).id).await.callback.unwrap();
        assert_eq!(callback.state, CallbackState::GivenUp);
        assert!(callback.error.is_some());
    }
}

pub(super) async fn callback_is_deleted_with_its_job(backend: &dyn Backend) {
    let store = open(backend).await;
    let store = &store;
    for number in [1, 2, 3] {
        owed(store, number).await;
    }
    let lease = take(store, "d", LONG).await.unwrap().lease;
    let deleted = store.delete_job(&owner(), lease.job).await.unwrap();
    assert!(matches!(deleted, DeleteOutcome::Deleted { .. }));
    let settled = settle(store, &lease, DeliveryOutcome::Delivered).await;
    assert_eq!(settled, Fenced::Lost);
    assert_eq!(store.sweep_jobs(at(1_000), 10).await.unwrap().jobs, 2);
    assert_eq!(take(store, "d", LONG).await, None);
}

pub(super) async fn callback_claim_passes_over_busy_owners_and_hosts(backend: &dyn Backend) {
    let store = open(backend).await;
    let store = &store;
    let owe = async |number, owner: &str, url: &str| {
        let job = Job {
            owner: Owner::new(owner),
            callback: Some(Callback::new(url)),
            ..ended_job(number)
        };
        let stored = store.insert_ended_job(&job, None, None, None).await;
        stored.unwrap();
    };
    owe(1, "key_a", "https://silent.example:8443/hook").await;
    let busy = |owners: &[&str], hosts: &[&str]| BusyReceivers {
        owners: owners.iter().map(|&owner| Owner::new(owner)).collect(),
        hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        ..BusyReceivers::default()
    };
    let take = async |busy: &BusyReceivers| {
        let taken = store.claim_callback(&worker("d"), LONG, busy).await;
        taken.unwrap().map(|claim| claim.job.id)
    };
    // A claim skips whole names only, and no prefixes or suffixes.
    let alike = busy(&["key_", "key_aa"], &["silent.example.org", "example"]);
    assert_eq!(take(&busy(&["key_a"], &[])).await, None);
    assert_eq!(take(&busy(&[], &["silent.example"])).await, None);
    assert_eq!(take(&alike).await, Some(job(1).id));
    owe(2, "key_a", "https://good.example/hook").await;
    owe(3, "key_b", "http://silent.example/other").await;
    owe(4, "key_b", "http://[2001:db8::1]/").await;
    let all = busy(&["key_a", "key_b"], &[]);
    assert_eq!(take(&all).await, None);
    let hosts = busy(&["key_b"], &["silent.example", "good.example"]);
    assert_eq!(take(&hosts).await, None);
    // Callbacks that became due in one tick of the clock have no order.
    let silent = busy(&[], &["silent.example"]);
    let taken = [take(&silent).await, take(&silent).await];
    let others = [Some(job(2).id), Some(job(4).id)];
    assert!(
        others.iter().all(|other| taken.contains(other)),
        "{taken:?}"
    );
    assert_eq!(take(&silent).await, None);
    assert_eq!(take(&busy(&[], &["[2001:db8::1]"])).await, Some(job(3).id));
}

pub(super) async fn callback_claim_passes_over_hosts_and_urls_of_one_owner(backend: &dyn Backend) {
    let store = open(backend).await;
    let store = &store;
    let urls = ["https://shared.example/a", "https://shared.example:8443/b"];
    let owed = [("key_a", urls[0]), ("key_a", urls[1]), ("key_b", urls[0])];
    for ((owner, url), number) in owed.into_iter().zip(1..) {
        let job = Job {
            owner: Owner::new(owner),
            callback: Some(Callback::new(url)),
            ..ended_job(number)
        };
        let stored = store.insert_ended_job(&job, None, None, None).await;
        stored.unwrap();
    }
    let pair = |owner: &str, name: &str| (Owner::new(owner), name.to_owned());
    let digest = |url: &str| Callback::new(url).url_digest();
    let take = async |hosts_of_owners, urls_of_owners| {
        let busy = BusyReceivers {
            hosts_of_owners,
            urls_of_owners,
            ..BusyReceivers::default()
        };
        let taken = store.claim_callback(&worker("d"), LONG, &busy).await;
        taken.unwrap().map(|claim| claim.job.id)
    };
    let both = [
        pair("key_a", "shared.example"),
        pair("key_b", "shared.example"),
    ];
    assert_eq!(take(both.to_vec(), Vec::new()).await, None);
    let silent = vec![
        pair("key_a", &digest(urls[0])),
        pair("key_b", &digest(urls[0])),
    ];
    assert_eq!(take(Vec::new(), silent.clone()).await, Some(job(2).id));
    assert_eq!(take(Vec::new(), silent).await, None);
    let busy = vec![pair("key_a", "shared.example")];
    assert_eq!(take(busy.clone(), Vec::new()).await, Some(job(3).id));
    assert_eq!(take(busy, Vec::new()).await, None);
    let alike = vec![
        pair("key_aa", "shared.example"),
        pair("key_a", "shared.exampl"),
    ];
    assert_eq!(take(alike, Vec::new()).await, Some(job(1).id));
}
