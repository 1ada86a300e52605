//! Checkpoints of the jobs that run here: when the next one is due, how it is taken, sealed and
//! written, and what is found of one when a job is claimed again.
//!
//! The computation hands over bytes where it stands; everything else is done beside it. What fails
//! here is logged, and the job goes on: a checkpoint only saves time. One that is damaged, or whose format is not the
//! present one, is not opened, and the job begins from the beginning.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use halfspace_core::learners::catalogue;
use halfspace_core::learners::checkpoint::STATE_BYTES_MAX;
use halfspace_core::learners::run::{Checkpoints, Counts, Run, StopFlag};
use halfspace_core::learners::snapshot::{SnapshotReader, SnapshotWriter};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::records::{Job, JobId};
use crate::storage::{Fenced, Lease, StoreError};

use super::service::Jobs;

/// The format of the states of the train loop. It grows whenever their bytes mean something else.
const FORMAT: u32 = 2;

/// The name of the way in which states are sealed. The first release wrote its version here, and its
/// states are opened.
const SEAL: &str = "0.1.0";

/// So many times what the last checkpoint cost lie between two of them: 1 %.
const COSTS_BETWEEN: u32 = 100;

/// How long a parked computation may compute without a permit to come to its next state.
const HOLD_PATIENCE: Duration = Duration::from_millis(500);

/// The pause between two looks at a computation that is to hold.
const LOOK: Duration = Duration::from_millis(5);

/// The time of computing until the next checkpoint, the last of which cost so much. `every` is how
/// often there is one where they are cheap.
fn pause(every: Duration, cost: Duration) -> Duration {
    every.max(cost.saturating_mul(COSTS_BETWEEN))
}

/// What a computation begins with.
#[derive(Debug, Default)]
pub struct Beginning {
    /// Its outside, of which `checkpoints` is a part.
    pub run: Arc<Run>,
    /// Takes its states.
    pub checkpoints: Arc<StateCell>,
    /// The state to go on from.
    pub state: Option<Vec<u8>>,
}

impl Beginning {
    /// That of a job of which nothing was computed before, as far as is known.
    pub fn of(job: JobId) -> Self {
        let stop = StopFlag::default();
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

    /// Goes on from what was left.
    pub fn go_on(&mut self, left: Left) {
        self.run.progress.show(&left.counts);
        self.checkpoints.stopwatch.set(left.seconds);
        self.state = Some(left.state);
    }
}

/// What an attempt left for the next one.
#[derive(Debug, PartialEq)]
pub struct Left {
    /// How long was computed.
    pub seconds: f64,
    /// What was counted.
    pub counts: Counts,
    state: Vec<u8>,
}

impl Left {
    /// As it is stored: a digest, and what it is of.
    pub fn seal(&self, job: &Job) -> Vec<u8> {
        let mut rest = SnapshotWriter::default();
        rest.number(self.seconds.to_bits());
        self.counts.write(&mut rest);
        let mut sealed = vec![0; 32];
        sealed.extend(rest.finish());
        sealed.extend(&self.state);
        let digest = digest(job, &sealed[32..]);
        sealed[..32].copy_from_slice(&digest);
        sealed
    }

    /// What was sealed for this very job, in the present format of its learner's states.
    pub fn open(job: &Job, sealed: &[u8]) -> Option<Self> {
        let (digest_found, rest) = sealed.split_at_checked(32)?;
        if *digest_found != digest(job, rest) {
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

/// Of what a state depends on, and the state.
fn digest(job: &Job, rest: &[u8]) -> [u8; 32] {
    let seed = job.seed.to_string();
    let spec = job.spec.to_string();
    let learner = job.learner.as_deref().and_then(catalogue::find);
    let of_rule = learner.map_or(0, |entry| entry.state_format);
    let format = FORMAT | u32::from(of_rule) << 16;
    let mut digest = Sha256::new();
    for part in [
        &format.to_le_bytes(),
        SEAL.as_bytes(),
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

/// The seconds that a job computed. The watch stands still while the job is parked.
#[derive(Debug, Default)]
pub struct Stopwatch(Mutex<Reading>);

#[derive(Debug, Default)]
struct Reading {
    /// Of earlier attempts, and of this one up to the last stop.
    seconds: f64,
    since: Option<Instant>,
}

impl Stopwatch {
    /// Goes on from the seconds of earlier attempts.
    fn set(&self, seconds: f64) {
        self.lock().seconds = seconds;
    }

    /// Runs from now on.
    pub fn start(&self) {
        self.lock().since.get_or_insert_with(Instant::now);
    }

    /// Stands still from now on.
    pub fn stop(&self) {
        let mut reading = self.lock();
        if let Some(since) = reading.since.take() {
            reading.seconds += since.elapsed().as_secs_f64();
        }
    }

    /// The seconds so far, those of earlier attempts included.
    pub fn seconds(&self) -> f64 {
        let reading = self.lock();
        let running = reading
            .since
            .map_or(Duration::ZERO, |since| since.elapsed());
        reading.seconds + running.as_secs_f64()
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a computation leaves its state when it is asked to.
#[derive(Debug, Default)]
pub struct StateCell {
    job: Option<JobId>,
    /// What the job has computed.
    pub stopwatch: Stopwatch,
    stop: StopFlag,
    is_wanted: AtomicBool,
    /// Whether the computation waits where it handed its state over.
    holds: AtomicBool,
    taken: Mutex<Option<Taken>>,
    /// When the first state was offered: the computation had begun from its state by then.
    offered: OnceLock<Instant>,
}

/// A state and what it cost to make it.
#[derive(Debug)]
struct Taken {
    /// None where it is too large.
    left: Option<Left>,
    cost: Duration,
}

impl StateCell {
    fn take_out(&self) -> Option<Taken> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the next state, and for a pause at it.
    fn want_and_hold(&self) {
        self.lock().take();
        self.holds.store(true, Ordering::Relaxed);
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    /// Takes the wish of [`Self::want_and_hold`] back.
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
            // The state that it held was stored.
            return;
        }
        let begun = Instant::now();
        let state = write();
        let cost = begun.elapsed();
        let left = state.map(|state| Left {
            seconds: self.stopwatch.seconds(),
            counts: *counts,
            state,
        });
        self.is_wanted.store(false, Ordering::Relaxed);
        *self.lock() = Some(Taken { left, cost });
        if self.holds.load(Ordering::Relaxed) {
            self.stop.pause();
            // Waits for the end of the pause. The computation sees by itself whether it is to stop.
            let _ = self.stop.raised();
        }
    }

    fn refused(&self) {
        let job = self.job.map(tracing::field::display);
        tracing::warn!(
            job,
            "the checkpoint does not fit; the job begins from the beginning"
        );
    }
}

/// What a parked computation came to.
pub(super) enum Held {
    /// It waits at this state.
    State { state: Vec<u8>, cost: Duration },
    /// It came to no state in time, or none could be sealed.
    NotYet,
    /// Its state cannot be stored.
    TooLarge,
}

/// Asks one computation for its state when it is time, and writes what it hands over.
pub(super) struct Checkpointing {
    cell: Arc<StateCell>,
    every: Duration,
    due: Instant,
    has_failed: bool,
}

impl Checkpointing {
    /// Of a computation that begins about now.
    pub(super) fn new(cell: Arc<StateCell>, every: Duration) -> Self {
        Self {
            cell,
            every,
            due: Instant::now() + every,
            has_failed: false,
        }
    }

    /// Does what is due, within `patience`.
    pub(super) async fn tick(&mut self, jobs: &Jobs, job: &Job, lease: &Lease, patience: Duration) {
        if let Some(taken) = self.cell.take_out() {
            let begun = Instant::now();
            let handed_over_in = taken.cost;
            self.write(jobs, job, lease, taken, patience).await;
            let cost = handed_over_in + begun.elapsed();
            self.due = Instant::now() + pause(self.every, cost);
        } else if Instant::now() >= self.due {
            self.cell.is_wanted.store(true, Ordering::Relaxed);
        }
    }

    /// The state that the computation left when it was suspended, sealed.
    pub(super) async fn last(&self, job: &Job) -> Option<Vec<u8>> {
        let left = self.cell.take_out()?.left?;
        sealed(job, left).await.ok()
    }

    /// Has the computation, which is parked, come to its next state, and wait there; the state, sealed,
    /// and the cost of the change of workers so far. A computation that does not come to a state in
    /// time is parked where it is.
    pub(super) async fn hold(&self, run: &Run, job: &Job, begun: Instant) -> Held {
        self.cell.want_and_hold();
        self.cell.stopwatch.start();
        run.stop.resume();
        let deadline = Instant::now() + HOLD_PATIENCE;
        while Instant::now() < deadline && !(run.stop.is_parked() && self.cell.lock().is_some()) {
            tokio::time::sleep(LOOK).await;
        }
        self.cell.stopwatch.stop();
        let Some(taken) = self.cell.take_out() else {
            self.cell.forgo();
            run.stop.pause();
            return Held::NotYet;
        };
        let Some(left) = taken.left else {
            self.cell.forgo();
            return Held::TooLarge;
        };
        let sealing = Instant::now();
        match sealed(job, left).await {
            Ok(state) => {
                let offered = self.cell.offered.get();
                let preparation = offered.map_or(Duration::ZERO, |first| *first - begun);
                let cost = preparation + taken.cost + sealing.elapsed();
                Held::State { state, cost }
            }
            Err(_) => Held::NotYet,
        }
    }

    /// Lets the computation go on where it waits.
    pub(super) fn forgo(&self) {
        self.cell.forgo();
    }

    async fn write(
        &mut self,
        jobs: &Jobs,
        job: &Job,
        lease: &Lease,
        taken: Taken,
        patience: Duration,
    ) {
        let written = tokio::time::timeout(patience, write(jobs, job, lease, taken.left));
        let written = written.await;
        let failed = match written.unwrap_or_else(|late| Err(StoreError::unavailable(late))) {
            // Whose lease is lost is told so by the next heartbeat.
            Ok(_) => return self.has_failed = false,
            Err(error) => error,
        };
        // Once, as long as it goes on: the disk may be full for hours.
        if !std::mem::replace(&mut self.has_failed, true) {
            tracing::warn!(job = %job.id, error = %failed, "no checkpoint; the job goes on without");
        }
    }
}

async fn write(
    jobs: &Jobs,
    job: &Job,
    lease: &Lease,
    left: Option<Left>,
) -> Result<(), StoreError> {
    let Some(left) = left else {
        let detail = format!("the state takes more than {STATE_BYTES_MAX} bytes");
        return Err(StoreError::other(detail));
    };
    let sealed = sealed(job, left).await?;
    if jobs.store.save_checkpoint(lease, &sealed).await? == Fenced::Done {
        metrics::counter!("halfspace_checkpoints_total").increment(1);
        metrics::counter!("halfspace_checkpoint_bytes_total").increment(sealed.len() as u64);
    }
    Ok(())
}

async fn sealed(job: &Job, left: Left) -> Result<Vec<u8>, StoreError> {
    let of = job.clone();
    let sealed = tokio::task::spawn_blocking(move || left.seal(&of)).await;
    sealed.map_err(StoreError::other)
}

impl Jobs {
    /// The state that an earlier attempt left of a job that was handed out before. A job whose state is
    /// damaged begins from the beginning.
    ///
    /// # Errors
    /// What the store says.
    pub(super) async fn left(&self, job: &Job, lease: &Lease) -> Result<Option<Left>, StoreError> {
        if lease.claim == 1 {
            return Ok(None);
        }
        let sealed = match self.store.checkpoint(job.id).await {
            Ok(Some(sealed)) => sealed,
            Ok(None) => return Ok(None),
            Err(StoreError::Corrupt(damage)) => {
                tracing::warn!(
                    job = %job.id, %damage,
                    "the checkpoint cannot be read; the job begins from the beginning"
                );
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let of = job.clone();
        let left = tokio::task::spawn_blocking(move || Left::open(&of, &sealed)).await;
        let left = left.map_err(StoreError::other)?;
        match &left {
            Some(left) => {
                let Left {
                    seconds, counts, ..
                } = left;
                let examples = counts.examples;
                tracing::info!(job = %job.id, examples, seconds, "goes on from its checkpoint");
            }
            None => tracing::warn!(
                job = %job.id,
                "the checkpoint is damaged or of another format; the job begins from the beginning"
            ),
        }
        Ok(left)
    }
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

    fn left() -> Left {
        Left {
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
    fn what_was_sealed_is_opened_by_its_own_job_alone() {
        let sealed = left().seal(&job());
        assert_eq!(Left::open(&job(), &sealed), Some(left()));
        let others = [
            Job { seed: 4, ..job() },
            Job {
                data_sha256: None,
                ..job()
            },
            Job {
                spec: serde_json::json!({"train": {"eta": 0.2}}),
                ..job()
            },
            Job {
                id: JobId::new(Timestamp::from_milliseconds(1), [8; 10]),
                ..job()
            },
        ];
        for other in others {
            assert_eq!(Left::open(&other, &sealed), None, "{other:?}");
        }
        // The attempt is another by then.
        let next = Job {
            attempt: 2,
            ..job()
        };
        assert_eq!(Left::open(&next, &sealed), Some(left()));
    }

    #[test]
    fn no_damaged_byte_is_overlooked() {
        let sealed = left().seal(&job());
        for at in 0..sealed.len() {
            assert_eq!(Left::open(&job(), &sealed[..at]), None);
            for bit in 0..8 {
                let mut damaged = sealed.clone();
                damaged[at] ^= 1 << bit;
                assert_eq!(Left::open(&job(), &damaged), None, "{at}, {bit}");
            }
        }
        let longer = [&sealed[..], &[0]].concat();
        assert_eq!(Left::open(&job(), &longer), None);
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
    fn the_seconds_of_earlier_attempts_count() {
        let mut beginning = Beginning::of(job().id);
        beginning.go_on(left());
        let stopwatch = &beginning.checkpoints.stopwatch;
        assert_eq!(stopwatch.seconds(), 12.5);
        assert_eq!(beginning.run.progress.counts(), left().counts);
        stopwatch.start();
        assert!(stopwatch.seconds() >= 12.5);
        stopwatch.stop();
        let stopped = stopwatch.seconds();
        assert_eq!(stopwatch.seconds(), stopped);
    }
}
