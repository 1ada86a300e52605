//! Checkpoints of the jobs that run in this process.
//!
//! This module decides when the next checkpoint is due, takes the state from the computation, adds a digest and writes
//! both. When a job is claimed again, it checks and reads the checkpoint. The computation only hands over bytes and
//! does not wait for the rest.
//!
//! A checkpoint only saves time. Errors here are therefore logged and the job goes on, and if a checkpoint is damaged
//! or has another format, the job starts from the beginning.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use halfspace_core::learners::engine::checkpoint::STATE_BYTES_MAX;
use halfspace_core::learners::engine::run::{Checkpoints, Counts, Run, StopFlag};
use halfspace_core::learners::engine::snapshot::{SnapshotReader, SnapshotWriter};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::records::{Job, JobId};
use crate::storage::{Fenced, Lease, Store, StoreError};

/// Version of the states' format: of the train loop and of all rules. The version grows whenever bytes change their
/// meaning. A state of another version is not opened.
const FORMAT: u32 = 1;

/// The time between two checkpoints is at least this multiple of the last checkpoint's cost, so checkpoints
/// take at most 1 % of the time.
const COSTS_BETWEEN: u32 = 100;

/// How long a parked computation may run without a permit to reach its next state.
const HOLD_TIMEOUT: Duration = Duration::from_millis(500);

/// Interval at which the lease renewer looks at a computation that is about to hold.
const LOOK: Duration = Duration::from_millis(5);

/// The computing time until the next checkpoint. `every` is the interval while checkpoints are cheap, and
/// `cost` is the cost of the last one.
fn pause(every: Duration, cost: Duration) -> Duration {
    every.max(cost.saturating_mul(COSTS_BETWEEN))
}

#[derive(Debug, Default)]
pub struct StartState {
    /// The stop flag and progress of the run, with `checkpoints` as a part of it.
    pub run: Arc<Run>,
    /// Receives the states of the run.
    pub checkpoints: Arc<StateCell>,
    /// The state to resume from.
    pub state: Option<Vec<u8>>,
}

impl StartState {
    pub fn of(job: JobId, stop: StopFlag) -> Self {
        let checkpoints = Arc::new(StateCell {
            job: Some(job),
            stop: stop.clone(),
            ..StateCell::default()
        });
        let run = Run {
            stop,
            checkpoints: Some(Arc::<StateCell>::clone(&checkpoints)),
            ..Run::default()
        };
        Self {
            run: Arc::new(run),
            checkpoints,
            state: None,
        }
    }

    /// Resumes from the state of an earlier attempt.
    pub fn resume(&mut self, left: Checkpoint) {
        self.run.progress.show(&left.counts);
        self.checkpoints.stopwatch.set(left.seconds);
        self.state = Some(left.state);
    }
}

/// The state that an attempt left for the next one.
#[derive(Debug, PartialEq)]
pub struct Checkpoint {
    pub seconds: f64,
    pub counts: Counts,
    state: Vec<u8>,
}

impl Checkpoint {
    /// The stored form: a digest followed by the digested bytes.
    pub fn seal(&self, job: &Job) -> Vec<u8> {
        let mut rest = SnapshotWriter::default();
        rest.number(self.seconds.to_bits());
        self.counts.write(&mut rest);
        let mut sealed = vec![0; 32];
        sealed.extend(rest.finish());
        sealed.extend(&self.state);
        let digest = digest(job, FORMAT, &sealed[32..]);
        sealed[..32].copy_from_slice(&digest);
        sealed
    }

    /// Opens a stored state. Returns `None` unless it was sealed for this job in the present format of the learner's
    /// states.
    pub fn open(job: &Job, sealed: &[u8]) -> Option<Self> {
        let (digest_found, rest) = sealed.split_at_checked(32)?;
        if *digest_found != digest(job, FORMAT, rest) {
            return None;
        }
        let (head, state) = rest.split_at_checked(40)?;
        let mut head = SnapshotReader::new(head);
        Some(Self {
            seconds: f64::from_bits(head.number().ok()?),
            counts: Counts::read(&mut head).ok()?,
            state: state.to_vec(),
        })
    }
}

/// The digest of the state and of all inputs that the state depends on.
fn digest(job: &Job, format: u32, rest: &[u8]) -> [u8; 32] {
    let seed = job.seed.to_string();
    let spec = job.spec.to_string();
    let mut digest = Sha256::new();
    for part in [
        &format.to_le_bytes(),
        job.id.to_string().as_bytes(),
        seed.as_bytes(),
        job.data_sha256.as_deref().unwrap_or_default().as_bytes(),
        spec.as_bytes(),
        rest,
    ] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// The seconds that a job has computed. It stands still while the job is parked.
#[derive(Debug, Default)]
pub struct Stopwatch(Mutex<StopwatchReading>);

#[derive(Debug, Default)]
struct StopwatchReading {
    /// Seconds of earlier attempts, and of this attempt up to the last stop.
    seconds: f64,
    since: Option<Instant>,
}

impl Stopwatch {
    /// Sets the seconds of earlier attempts.
    fn set(&self, seconds: f64) {
        self.lock().seconds = seconds;
    }

    pub fn start(&self) {
        self.lock().since.get_or_insert_with(Instant::now);
    }

    pub fn stop(&self) {
        let mut reading = self.lock();
        if let Some(since) = reading.since.take() {
            reading.seconds += since.elapsed().as_secs_f64();
        }
    }

    /// The seconds so far, including earlier attempts.
    pub fn seconds(&self) -> f64 {
        let reading = self.lock();
        let running = reading
            .since
            .map_or(Duration::ZERO, |since| since.elapsed());
        reading.seconds + running.as_secs_f64()
    }

    fn lock(&self) -> MutexGuard<'_, StopwatchReading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a computation leaves its state on request.
#[derive(Debug, Default)]
pub struct StateCell {
    job: Option<JobId>,
    /// The computed seconds of the job.
    pub stopwatch: Stopwatch,
    stop: StopFlag,
    is_wanted: AtomicBool,
    /// Whether the computation waits after it has handed over its state.
    holds: AtomicBool,
    taken: Mutex<Option<TimedState>>,
    /// The time when the first state was offered. The computation had finished its preparation by then.
    offered: OnceLock<Instant>,
}

/// A state and the cost of making it.
#[derive(Debug)]
struct TimedState {
    /// `None` if the state is too large.
    left: Option<Checkpoint>,
    cost: Duration,
}

impl StateCell {
    fn take_out(&self) -> Option<TimedState> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<TimedState>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the next state, and a pause at that state.
    fn want_and_hold(&self) {
        self.lock().take();
        self.holds.store(true, Ordering::Relaxed);
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    /// Withdraws the request of [`Self::want_and_hold`].
    fn forgo(&self) {
        self.is_wanted.store(false, Ordering::Relaxed);
        self.holds.store(false, Ordering::Relaxed);
    }
}

impl Checkpoints for StateCell {
    fn is_wanted(&self) -> bool {
        self.offered.get_or_init(Instant::now);
        self.is_wanted.load(Ordering::Relaxed)
    }

    fn take(&self, counts: &Counts, write: &mut dyn FnMut() -> Option<Vec<u8>>) {
        if self.holds.load(Ordering::Relaxed) && self.stop.look().is_some() {
            // The state at which the computation waited is already stored.
            return;
        }
        let begun = Instant::now();
        let state = write();
        let cost = begun.elapsed();
        let left = state.map(|state| Checkpoint {
            seconds: self.stopwatch.seconds(),
            counts: *counts,
            state,
        });
        self.is_wanted.store(false, Ordering::Relaxed);
        *self.lock() = Some(TimedState { left, cost });
        if self.holds.load(Ordering::Relaxed) {
            self.stop.pause();
            // Waits for the end of the pause. The computation itself checks afterwards whether it must stop.
            let _ = self.stop.raised();
        }
    }

    fn refused(&self) {
        let job = self.job.map(tracing::field::display);
        tracing::warn!(
            job,
            "the checkpoint does not fit the job; the job restarts from the beginning"
        );
    }
}

/// The result of holding a parked computation at a state.
pub(crate) enum ParkOutcome {
    /// The computation waits at this state.
    State { state: Vec<u8>, cost: Duration },
    /// The computation reached no state in time, or its state could not be sealed.
    NotYet,
    /// The state is too large to be stored.
    TooLarge,
}

/// Requests the state of one computation when a checkpoint is due, and writes it.
pub(crate) struct Checkpointing {
    cell: Arc<StateCell>,
    every: Duration,
    due: Instant,
    has_failed: bool,
}

impl Checkpointing {
    /// For a computation that begins about now.
    pub(crate) fn new(cell: Arc<StateCell>, every: Duration) -> Self {
        Self {
            cell,
            every,
            due: Instant::now() + every,
            has_failed: false,
        }
    }

    /// Writes a state that was handed over, within `timeout`, or else requests the next one if it is due.
    pub(crate) async fn tick(
        &mut self,
        store: &Store,
        job: &Job,
        lease: &Lease,
        timeout: Duration,
    ) {
        if let Some(taken) = self.cell.take_out() {
            let begun = Instant::now();
            let handed_over_in = taken.cost;
            self.write(store, job, lease, taken, timeout).await;
            let cost = handed_over_in + begun.elapsed();
            self.due = Instant::now() + pause(self.every, cost);
        } else if Instant::now() >= self.due {
            self.cell.is_wanted.store(true, Ordering::Relaxed);
        }
    }

    /// The sealed state that the computation left when it was suspended.
    pub(crate) async fn last(&self, job: &Job) -> Option<Vec<u8>> {
        let left = self.cell.take_out()?.left?;
        sealed(job, left).await.ok()
    }

    /// Lets the parked computation run to its next state and wait there. Returns the sealed state and what the change
    /// of workers has cost so far. A computation that reaches no state in time is paused again.
    pub(crate) async fn hold(&self, run: &Run, job: &Job, begun: Instant) -> ParkOutcome {
        self.cell.want_and_hold();
        self.cell.stopwatch.start();
        run.stop.resume();
        let deadline = Instant::now() + HOLD_TIMEOUT;
        while Instant::now() < deadline && !(run.stop.is_parked() && self.cell.lock().is_some()) {
            tokio::time::sleep(LOOK).await;
        }
        self.cell.stopwatch.stop();
        let Some(taken) = self.cell.take_out() else {
            self.cell.forgo();
            run.stop.pause();
            return ParkOutcome::NotYet;
        };
        let Some(left) = taken.left else {
            self.cell.forgo();
            return ParkOutcome::TooLarge;
        };
        let sealing = Instant::now();
        match sealed(job, left).await {
            Ok(state) => {
                let offered = self.cell.offered.get();
                let preparation = offered.map_or(Duration::ZERO, |first| *first - begun);
                let cost = preparation + taken.cost + sealing.elapsed();
                ParkOutcome::State { state, cost }
            }
            Err(_) => ParkOutcome::NotYet,
        }
    }

    /// Lets a computation that waits at a state continue.
    pub(crate) fn forgo(&self) {
        self.cell.forgo();
    }

    async fn write(
        &mut self,
        store: &Store,
        job: &Job,
        lease: &Lease,
        taken: TimedState,
        timeout: Duration,
    ) {
        let written = tokio::time::timeout(timeout, write(store, job, lease, taken.left));
        let written = written.await;
        let failed = match written.unwrap_or_else(|late| Err(StoreError::unavailable(late))) {
            // A lost lease is reported by the next heartbeat.
            Ok(_) => return self.has_failed = false,
            Err(error) => error,
        };
        // Only the first failure is logged, because the disk may be full for hours.
        if !std::mem::replace(&mut self.has_failed, true) {
            tracing::warn!(job = %job.id, error = %failed, "the checkpoint was not written; the \
                                                            job continues");
        }
    }
}

async fn write(
    store: &Store,
    job: &Job,
    lease: &Lease,
    left: Option<Checkpoint>,
) -> Result<(), StoreError> {
    let Some(left) = left else {
        let detail = format!("the state of the job takes more than {STATE_BYTES_MAX} bytes");
        return Err(StoreError::other(detail));
    };
    let sealed = sealed(job, left).await?;
    if store.save_checkpoint(lease, &sealed).await? == Fenced::Done {
        metrics::counter!("halfspace_checkpoints_total").increment(1);
        metrics::counter!("halfspace_checkpoint_bytes_total").increment(sealed.len() as u64);
    }
    Ok(())
}

async fn sealed(job: &Job, left: Checkpoint) -> Result<Vec<u8>, StoreError> {
    let of = job.clone();
    let sealed = tokio::task::spawn_blocking(move || left.seal(&of)).await;
    sealed.map_err(StoreError::other)
}

/// The state of an earlier attempt, if the job was claimed before and left a valid one. If it is damaged, the job
/// starts from the beginning.
///
/// # Errors
/// Errors of the store.
pub(crate) async fn left(
    store: &Store,
    job: &Job,
    lease: &Lease,
) -> Result<Option<Checkpoint>, StoreError> {
    if lease.claim == 1 {
        return Ok(None);
    }
    let sealed = match store.checkpoint(job.id).await {
        Ok(Some(sealed)) => sealed,
        Ok(None) => return Ok(None),
        Err(StoreError::Corrupt(damage)) => {
            tracing::warn!(
                job = %job.id, %damage,
                "the checkpoint cannot be read; the job restarts from the beginning"
            );
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let of = job.clone();
    let left = tokio::task::spawn_blocking(move || Checkpoint::open(&of, &sealed)).await;
    let left = left.map_err(StoreError::other)?;
    match &left {
        Some(left) => {
            let Checkpoint {
                seconds, counts, ..
            } = left;
            let examples = counts.examples;
            tracing::info!(job = %job.id, examples, seconds, "the job resumes from its \
                                                              checkpoint");
        }
        None => tracing::warn!(
            job = %job.id,
            "the checkpoint is damaged or has another format; the job restarts from the \
             beginning"
        ),
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{Owner, Status, Timestamp};

    fn job() -> Job {
        let at = Timestamp::from_milliseconds(1);
        Job {
            status: Status::Running,
            data_sha256: Some("ab".into()),
            attempt: 1,
            ..Job::queued(
                JobId::new(at, [7; 10]),
                Owner::anonymous(),
                "train",
                serde_json::json!({"train": {"eta": 0.1}}),
                3,
                at,
            )
        }
    }

    fn left() -> Checkpoint {
        Checkpoint {
            seconds: 12.5,
            counts: Counts {
                examples: 9,
                mistakes: 3,
                updates: 2,
                passes: 1,
            },
            state: (0..200).collect(),
        }
    }

    #[test]
    fn checkpoint_is_opened_only_by_its_own_job() {
        let sealed = left().seal(&job());
        assert_eq!(Checkpoint::open(&job(), &sealed), Some(left()));
        let others = [
            Job { seed: 4, ..job() },
            Job {
                data_sha256: None,
                ..job()
            },
            Job {
                spec: Arc::new(serde_json::json!({"train": {"eta": 0.2}})),
                ..job()
            },
            Job {
                id: JobId::new(Timestamp::from_milliseconds(1), [8; 10]),
                ..job()
            },
        ];
        for other in others {
            assert_eq!(Checkpoint::open(&other, &sealed), None, "{other:?}");
        }
        // The attempt number is not part of the digest.
        let next = Job {
            attempt: 2,
            ..job()
        };
        assert_eq!(Checkpoint::open(&next, &sealed), Some(left()));
    }

    #[test]
    fn checkpoint_with_any_damaged_bit_is_refused() {
        let sealed = left().seal(&job());
        for at in 0..sealed.len() {
            assert_eq!(Checkpoint::open(&job(), &sealed[..at]), None);
            for bit in 0..8 {
                let mut damaged = sealed.clone();
                damaged[at] ^= 1 << bit;
                assert_eq!(Checkpoint::open(&job(), &damaged), None, "{at}, {bit}");
            }
        }
        let longer = [&sealed[..], &[0]].concat();
        assert_eq!(Checkpoint::open(&job(), &longer), None);
    }

    #[test]
    fn checkpoints_take_no_more_than_a_hundredth_of_the_time() {
        let (second, ms) = (Duration::from_secs(1), Duration::from_millis(1));
        assert_eq!(pause(30 * second, ms), 30 * second);
        assert_eq!(pause(30 * second, 299 * ms), 30 * second);
        assert_eq!(pause(30 * second, 400 * ms), 40 * second);
        assert_eq!(pause(second, second), 100 * second);
        assert_eq!(pause(second, Duration::MAX), Duration::MAX);
    }

    #[test]
    fn checkpoint_restores_the_seconds_of_earlier_attempts() {
        let mut start_state = StartState::of(job().id, StopFlag::default());
        start_state.resume(left());
        let stopwatch = &start_state.checkpoints.stopwatch;
        assert_eq!(stopwatch.seconds(), 12.5);
        assert_eq!(start_state.run.progress.counts(), left().counts);
        stopwatch.start();
        assert!(stopwatch.seconds() >= 12.5);
        stopwatch.stop();
        let stopped = stopwatch.seconds();
        assert_eq!(stopwatch.seconds(), stopped);
    }
}
