//! The store contract: one suite of cases that runs over each database.
//!
//! A case knows only [`Backend`] and `Store`. To add a backend, implement [`Backend`], add a function in
//! [`backends`], and list its name at the end of this file.

mod api_keys;
mod callbacks;
mod checkpoints;
mod damage;
mod database;
mod datasets;
mod idempotency;
mod leases;
mod processes;
mod quotas;
mod reading;
mod sessions;
mod shares;
mod simulation;
mod status;
mod subjobs;
mod time;
mod waiting;

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use halfspace::records::dataset::Repetitions;
use halfspace::records::id::{DatasetKind, JobKind, SessionKind};
use halfspace::records::names::FeatureNames;
use halfspace::records::{
    DataFacts, Dataset, DatasetId, DatasetSummary, Demand, Event, EventKind, Job, JobError, JobId,
    JobTree, Model, ModelId, ModelSummary, Names, Owner, Page, Progress, Status, Timestamp,
};
use halfspace::storage::{
    Beat, CancelOutcome, Claim, ClaimTerms, DeleteDatasetOutcome, DeleteOutcome, Fenced, Heartbeat,
    JobEnd, JobFilter, Lease, ModelFilter, Quotas, ReleaseTerms, Requeue, Spent, Store, StoreError,
    Swept, WorkerId, postgres, sqlite,
};
use halfspace_formats::{
    Assume, Classes, Format, LabelsKind, Options, RowsKind, TableEncoding, parse,
};
use serde_json::{Value, json};
use sqlx::ConnectOptions;

use crate::service::TestDatabase;

/// A database that belongs to one case and is deleted with it.
#[async_trait]
trait Backend: Send + Sync {
    /// Connects to the database like a process that starts.
    async fn open(&self) -> Result<Arc<Store>, StoreError> {
        self.open_limited(Quotas::UNLIMITED).await
    }
    /// Connects to the database like a process with these limits.
    async fn open_limited(&self, quotas: Quotas) -> Result<Arc<Store>, StoreError>;
    /// Runs a statement that reads one whole number.
    async fn number(&self, statement: &'static str) -> i64;
    /// Makes the database look as if a program with schema `version` had written it.
    async fn pretend_schema(&self, version: i64);
}

// Values and shorthands for the cases.

/// Lease that does not expire during a case.
const LONG: u32 = 3_600;
/// Lease that expires at once, so that no case has to wait.
const NONE: u32 = 0;

fn at(second: i64) -> Timestamp {
    Timestamp::from_milliseconds(1_700_000_000_000 + second * 1_000)
}

fn terms(lease_seconds: u32) -> ClaimTerms {
    ClaimTerms {
        lease_seconds,
        memory_bytes_max: u64::MAX,
    }
}

/// Jobs of dead workers can be claimed at once. A job fails after the third death of a process in which the job
/// ran alone.
const RELEASE: ReleaseTerms = ReleaseTerms {
    deaths_max: 3,
    pause_seconds: 0.0,
};

fn beating(progress: Option<&Progress>) -> Beat<'_> {
    Beat {
        lease_seconds: LONG,
        progress,
        ..Beat::default()
    }
}

fn worker(name: &str) -> WorkerId {
    WorkerId::new(name)
}

fn owner() -> Owner {
    Owner::anonymous()
}

/// A queued job, created at second `number`.
fn job(number: i64) -> Job {
    let mut random = [0x11; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    Job {
        learner: Some("perceptron".into()),
        name: Some(format!("number {number}")),
        data_key: Some(format!("jobs/{number:06}/0/data")),
        data_sha256: Some("ab".repeat(32)),
        ..Job::queued(
            JobId::new(at(number), random),
            owner(),
            "train",
            json!({"train": {"learner": {"name": "perceptron", "params": {}}}}),
            (1 << 53) - 1,
            at(number),
        )
    }
}

fn running_job(number: i64) -> Job {
    Job {
        status: Status::Running,
        attempt: 1,
        started_at: Some(at(number)),
        ..job(number)
    }
}

fn ended_job(number: i64) -> Job {
    Job {
        status: Status::Succeeded,
        finished_at: Some(at(number + 1)),
        result: Some(json!({"mistakes": 3})),
        model: Some(model(number).summary.id),
        ..running_job(number)
    }
}

fn model(number: i64) -> Model {
    let mut random = [0x22; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    Model {
        summary: ModelSummary {
            id: ModelId::new(at(number), random),
            owner: owner(),
            job: Some(job(number).id),
            name: None,
            learner: "perceptron".into(),
            kind: "linear".into(),
            n: 3,
            created_at: at(number),
        },
        document: json!({"hypothesis": {"kind": "linear", "weights": [1, -2, 3], "bias": 0}})
            .to_string(),
    }
}

fn dataset(number: i64) -> Dataset {
    let mut random = [0x33; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    let id = DatasetId::new(at(number), random);
    Dataset {
        summary: DatasetSummary {
            id,
            owner: owner(),
            name: Some(format!("number {number}")),
            facts: DataFacts {
                n: 3,
                kind: LabelsKind::Labelled,
                values: RowsKind::Boolean,
                zero_bit_value: -1,
                assume: Some(Assume::Uniform),
                examples: 5,
                class_examples: Some(vec![1, 2]),
                repetitions: Repetitions::Counted {
                    duplicates: 1,
                    contradictions: Some(0),
                },
                sha256: "cd".repeat(32),
            },
            seed: Some(7),
            bytes: 552,
            cells_bytes: 0,
            data_key: format!("datasets/{id}/data"),
            created_at: at(number),
        },
        names: Names {
            features: Some(FeatureNames::Listed(vec![
                "one".into(),
                "two, \"quoted\"".into(),
                "".into(),
            ])),
            classes: Some(Classes::new(None, "yes".into())),
            table: Some(Arc::new(table())),
        },
    }
}

/// The encoding of a table with one column of each kind.
fn table() -> TableEncoding {
    let body = "class,sound,odor,size\nno,true,n,1.5\nyes,,a,2.5\n";
    let mut options = Options::default();
    assert_eq!(options.set("numbers", "thermometer"), Ok(true));
    let parsed = parse(Format::Csv, body.as_bytes(), &options).unwrap();
    Arc::unwrap_or_clone(parsed.table.unwrap())
}

fn reading_job(number: i64, dataset_number: i64) -> Job {
    Job {
        data_key: None,
        dataset: Some(dataset(dataset_number).summary.id),
        ..job(number)
    }
}

/// The end of a job that succeeded, with every field that a job can store.
fn success(number: i64) -> JobEnd {
    JobEnd {
        status: Status::Succeeded,
        result: Some(json!({"mistakes": 3})),
        error: None,
        finished_at: at(number + 1),
        progress: Progress {
            examples: 10,
            mistakes: 3,
            passes: 2,
            fraction: Some(1.0),
            ..Progress::default()
        },
        spent: Spent::default(),
        model: Some(model(number)),
        dataset: None,
        trace: Some(vec![0, 1, 255]),
    }
}

fn failure() -> JobEnd {
    JobEnd {
        status: Status::Failed,
        result: None,
        error: Some(JobError {
            code: "solver".into(),
            detail: "it did not converge".into(),
        }),
        model: None,
        trace: None,
        ..success(0)
    }
}

async fn open(backend: &dyn Backend) -> Arc<Store> {
    backend.open().await.unwrap()
}

async fn get(store: &Store, id: JobId) -> Job {
    store.find(&owner(), id).await.unwrap().unwrap()
}

/// Releases expired leases and then claims a job, as a scheduler does.
async fn claim(store: &Store, name: &str, lease_seconds: u32) -> Option<Claim> {
    store.release_expired(&RELEASE, at(100)).await.unwrap();
    store
        .claim_job(&worker(name), &terms(lease_seconds), at(100))
        .await
        .unwrap()
}

/// Stores job 1 and has worker `a` claim it.
async fn claimed(store: &Store, lease_seconds: u32) -> Lease {
    store.insert_job(&job(1), None).await.unwrap();
    claim(store, "a", lease_seconds).await.unwrap().lease
}

/// Returns all events of a job after checking their invariants. The numbers run from 1 without gaps. The last
/// events of an ended job are its final status and its result, once each; other jobs have neither.
async fn events(store: &Store, id: JobId) -> Vec<Event> {
    let events = store.events(None, id, 0, 1_000).await.unwrap();
    let numbers: Vec<i64> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (1..=events.len() as i64).collect::<Vec<_>>());
    let status = get(store, id).await.status;
    let final_places = |events: &[Event]| -> Vec<usize> {
        let is_final = |event: &Event| match event.kind {
            EventKind::Progress => false,
            EventKind::Result => true,
            EventKind::Status => event.body["status"]
                .as_str()
                .unwrap()
                .parse::<Status>()
                .unwrap()
                .is_ended(),
        };
        (0..events.len())
            .filter(|&place| is_final(&events[place]))
            .collect()
    };
    let expected = if status.is_ended() {
        vec![events.len() - 2, events.len() - 1]
    } else {
        vec![]
    };
    assert_eq!(final_places(&events), expected);
    events
}

/// The events of a job in short: status events by their status, others by their kind.
async fn story(store: &Store, id: JobId) -> Vec<String> {
    let told = |event: Event| match event.kind {
        EventKind::Status => event.body["status"].as_str().unwrap().to_owned(),
        kind => kind.as_str().to_owned(),
    };
    events(store, id).await.into_iter().map(told).collect()
}

/// Makes a test of each case for each backend, on a fresh database.
macro_rules! contract {
    ($($backend:ident)+; $cases:tt) => {
        $(contract_over! { $backend $cases })+
    };
}

macro_rules! contract_over {
    ($backend:ident [$($file:ident: $($case:ident)+;)+]) => {
        mod $backend {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(backend) = super::backends::$backend().await {
                        super::$file::$case(&backend).await;
                    }
                }
            )+)+
        }
    };
}

/// Makes a fresh database of each kind, or returns `None` where that is impossible.
mod backends {
    use crate::service::TestDatabase;

    pub async fn over_sqlite() -> Option<super::Sqlite> {
        Some(super::Sqlite::new())
    }

    pub async fn over_postgres() -> Option<super::Postgres> {
        TestDatabase::new().await.map(super::Postgres)
    }
}

struct Sqlite(tempfile::TempDir);

impl Sqlite {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("store.sqlite")
    }
}

#[async_trait]
impl Backend for Sqlite {
    async fn open_limited(&self, quotas: Quotas) -> Result<Arc<Store>, StoreError> {
        Ok(Arc::new(sqlite::open(&self.path()).await?.limited(quotas)))
    }

    async fn number(&self, statement: &'static str) -> i64 {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.path());
        let mut connection = options.connect().await.unwrap();
        let read = sqlx::query_scalar(statement).fetch_one(&mut connection);
        read.await.unwrap()
    }

    async fn pretend_schema(&self, version: i64) {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.path());
        let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
        sqlx::query(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES ($1, 'from the future', 1, x'00', 0)",
        )
        .bind(version)
        .execute(&pool)
        .await
        .unwrap();
        pool.close().await;
    }
}

struct Postgres(TestDatabase);

#[async_trait]
impl Backend for Postgres {
    async fn open_limited(&self, quotas: Quotas) -> Result<Arc<Store>, StoreError> {
        let store = postgres::open(&self.0.place()).await?;
        Ok(Arc::new(store.limited(quotas)))
    }

    async fn number(&self, statement: &'static str) -> i64 {
        let mut connection = self.0.connect().await;
        let read = sqlx::query_scalar(statement).fetch_one(&mut connection);
        read.await.unwrap()
    }

    async fn pretend_schema(&self, version: i64) {
        let mut connection = self.0.connect().await;
        sqlx::query(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES ($1, 'from the future', TRUE, '', 0)",
        )
        .bind(version)
        .execute(&mut connection)
        .await
        .unwrap();
    }
}

contract!(over_sqlite over_postgres; [
    status:
        a_queued_job_is_stored_whole
        a_job_succeeds_with_model_and_trace
        a_job_fails_with_its_error
        a_running_job_is_cancelled_by_its_worker
        a_job_may_succeed_after_its_cancel
        a_queued_job_is_cancelled_at_once
        a_job_is_stored_running
        a_job_is_stored_ended
        job_is_stored_only_in_the_status_of_its_record;
    leases:
        a_stale_lease_writes_nothing
        ended_job_is_final
        a_worker_that_gets_its_job_back_cannot_use_the_old_lease
        a_heartbeat_keeps_the_lease_and_stores_progress
        a_lease_that_ran_out_is_taken_and_costs_an_attempt
        deaths_of_a_suspect_job_are_capped
        suspect_job_that_progresses_is_not_charged
        heartbeat_before_the_computation_keeps_seconds_and_level
        parked_job_is_not_charged_for_the_death_of_its_process
        a_job_pauses_after_a_death
        requeued_job_keeps_its_checkpoint_and_progress
        cancelled_job_of_a_vanished_worker_is_not_claimed_again
        requeue_costs_no_attempt
        requeue_of_a_cancelled_job_ends_it
        release_of_all_leases_costs_an_attempt
        claims_go_by_priority_then_level_then_age
        no_job_is_claimed_twice;
    subjobs:
        subjobs_are_taken_and_gathered_once
        many_subjobs_are_counted_exactly
        failed_subjob_fails_its_parent_and_siblings
        poisoned_subjob_fails_its_parent
        queued_subjobs_are_cancelled_at_once
        running_subjobs_are_cancelled_and_the_rest_is_gathered
        cancelling_and_ending_subjobs_do_not_block_each_other
        subjob_is_cancelled_and_deleted_only_with_its_parent
        a_lease_may_be_lost_while_subjobs_are_gathered
        subjobs_are_swept_with_their_parent
        job_lists_omit_subjobs
        subjobs_are_stored_with_their_parent_or_not_at_all
        callback_is_owed_by_the_parent_and_not_by_its_subjobs;
    reading:
        events_are_read_from_a_number_on
        job_pages_neither_repeat_nor_skip
        job_lists_are_filtered
        owners_do_not_see_jobs_and_models_of_others
        only_ended_jobs_are_deleted
        sweep_takes_the_oldest_ended_jobs_first
        models_are_kept_listed_and_deleted;
    datasets:
        datasets_are_kept_listed_and_deleted
        a_job_is_stored_only_with_its_dataset
        a_job_pins_its_dataset_until_it_ends
        an_ended_job_needs_no_dataset
        dataset_is_either_deleted_or_pinned_by_a_racing_job
        end_of_an_import_stores_its_dataset_under_the_lease
        end_of_an_import_beyond_the_quota_changes_nothing
        blobs_of_datasets_and_jobs_are_in_use;
    sessions:
        a_session_is_kept_listed_and_deleted
        session_append_is_fenced_by_its_position
        session_snapshot_replaces_the_log
        session_appends_of_many_sessions_are_one_write;
    quotas:
        sessions_of_an_owner_are_limited
        stored_bytes_are_limited_per_owner_and_in_all
        quotas_may_be_set_per_key
        quotas_hold_exactly_under_concurrent_inserts
        quotas_do_not_stop_the_end_of_accepted_jobs
        session_append_is_refused_beyond_the_quota
        usage_counters_equal_the_stored_records;
    simulation:
        no_job_of_a_random_load_starves
        stream_of_short_jobs_delays_no_long_job_of_its_owner
        owners_share_the_seconds_by_their_weights
        short_jobs_do_not_wait_behind_long_ones
        new_owners_do_not_wait_behind_fifty_others
        new_owners_do_not_take_all_workers
        jobs_that_fail_at_once_delay_no_other_owner
        parked_job_without_a_state_is_resumed
        underestimated_job_yields_once_its_seconds_show
        ten_thousand_owners_are_served_once_before_any_is_served_twice;
    shares:
        owner_with_many_jobs_does_not_starve_another
        priorities_order_only_the_jobs_of_one_owner
        claims_of_an_owner_take_the_lowest_level_and_each_eighth_the_oldest
        computed_seconds_are_charged_by_weight
        returning_owner_begins_near_the_least_virtual_seconds
        owner_is_active_only_with_jobs_after_tending_shares
        line_names_the_jobs_that_could_go_first
        jobs_ahead_are_counted_up_to_a_limit
        claim_passes_over_a_job_that_does_not_fit_in_memory
        owners_are_all_served_by_concurrent_claims;
    api_keys:
        api_key_is_found_by_its_secret_until_it_is_revoked
        a_store_that_ever_had_a_key_is_not_open
        api_key_can_adopt_anonymous_records;
    callbacks:
        every_ended_job_owes_one_callback
        callback_is_owed_only_for_a_written_end_with_a_url
        callback_is_claimed_by_one_worker
        callback_is_settled_only_under_its_lease
        callback_retry_is_claimable_when_it_is_due
        callback_is_given_up_after_too_many_claims
        callback_is_deleted_with_its_job
        callback_claim_passes_over_busy_owners_and_hosts
        callback_claim_passes_over_hosts_and_urls_of_one_owner;
    checkpoints:
        a_checkpoint_is_kept_for_the_next_claim
        checkpoint_is_deleted_by_every_end_of_its_job
        checkpoint_is_deleted_only_with_its_own_job;
    idempotency:
        idempotency_key_stands_for_one_record
        idempotency_key_is_kept_with_every_kind_of_record
        refused_insert_keeps_no_idempotency_key
        idempotency_key_of_concurrent_inserts_stores_one
        idempotency_keys_are_swept_oldest_first;
    database:
        data_survive_reopening
        data_survive_a_process_that_did_not_close
        newer_schema_of_the_database_is_refused
        foreign_schema_of_the_same_version_is_refused
        stores_share_one_database
        dropped_write_leaves_the_whole_record_or_nothing
        writers_of_two_stores_wait_for_each_other
        a_database_has_one_name_and_one_place_for_blobs;
    processes:
        a_process_is_listed_until_it_stops
        silent_processes_are_forgotten
        a_process_is_listed_with_the_jobs_under_its_leases;
    waiting:
        the_load_of_the_queue_is_counted_by_owner
        a_job_with_parts_waits_like_its_first_part
        a_waiting_job_names_its_pause;
    time:
        clock_readings_are_remembered_by_the_hour
        a_clock_that_jumps_ahead_charges_no_attempt
        leases_and_callbacks_of_a_clock_years_ahead_are_due_soon;
    damage:
        a_damaged_model_is_not_read
        a_damaged_dataset_is_not_read
        missing_digest_of_a_record_is_damage
        damaged_idempotent_answer_is_not_repeated
        damaged_result_of_a_job_is_not_read
        damaged_request_of_a_job_delays_no_other
        a_damaged_parent_lets_its_subjobs_end
        a_damaged_session_is_not_read;
]);
