//! Watches the threads of the runtime for one that computes for long and does not let its other tasks run.
//!
//! Such a thread holds up every connection that it serves, and none of their requests can report it. The watch
//! therefore runs on a thread of its own and reads two counters of each worker. They change when the worker parks,
//! wakes up or looks for events, so they stay the same only within one step of one task. The watch counts its own
//! ticks instead of reading a clock, because a process that was frozen as a whole has not stalled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{MissedTickBehavior, interval};

/// Time between two looks at the workers.
const TICK: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
pub struct StallLimits {
    /// Time without a turn after which the log and `/livez` report the stall.
    pub told_after: Duration,
    /// Time without a turn after which `/livez` fails, so that an orchestrator restarts the process. A thread that
    /// computes for so long must be in an endless loop, because routes compute elsewhere and for a limited time.
    pub fails_after: Duration,
}

impl Default for StallLimits {
    fn default() -> Self {
        Self {
            told_after: Duration::from_secs(2),
            fails_after: Duration::from_secs(30),
        }
    }
}

/// The watch over one runtime.
#[derive(Debug)]
pub struct RuntimeWatch {
    runtime: Handle,
    limits: StallLimits,
    /// See [`Self::stalled`], in milliseconds.
    stalled: AtomicU64,
}

/// What the watch last saw of a worker.
#[derive(Clone, Copy, Default)]
struct Seen {
    parks: u64,
    busy: Duration,
    /// Ticks since one of the numbers changed, or since the worker was parked.
    ticks: u32,
}

impl RuntimeWatch {
    /// A watch that sees nothing until [`Self::keep`] runs.
    pub fn new(runtime: Handle, limits: StallLimits) -> Arc<Self> {
        Arc::new(Self {
            runtime,
            limits,
            stalled: AtomicU64::new(0),
        })
    }

    pub fn limits(&self) -> StallLimits {
        self.limits
    }

    /// The longest time that any worker has now gone without a turn.
    pub fn stalled(&self) -> Duration {
        Duration::from_millis(self.stalled.load(Ordering::Relaxed))
    }

    /// Watches for ever. Must run on another runtime.
    pub async fn keep(&self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = vec![Seen::default(); self.runtime.metrics().num_workers()];
        let mut is_told = false;
        loop {
            ticks.tick().await;
            let ticks = self.look(&mut seen).saturating_sub(1);
            let stalled = TICK * ticks;
            let milliseconds = u64::try_from(stalled.as_millis()).unwrap_or(u64::MAX);
            self.stalled.store(milliseconds, Ordering::Relaxed);
            let is_over = stalled >= self.limits.told_after;
            let threads = seen
                .iter()
                .filter(|worker| TICK * worker.ticks > self.limits.told_after);
            match (is_over, is_told) {
                (true, false) => tracing::error!(
                    seconds = stalled.as_secs_f64(),
                    threads = threads.count(),
                    of = seen.len(),
                    "threads of the runtime do not turn: a task computes on them, and the requests that they serve \
                     wait"
                ),
                (false, true) => tracing::warn!("all threads of the runtime turn again"),
                _ => {}
            }
            is_told = is_over;
        }
    }

    /// Looks at every worker. Returns the most ticks for which one has not turned.
    fn look(&self, seen: &mut [Seen]) -> u32 {
        let metrics = self.runtime.metrics();
        for (worker, seen) in seen.iter_mut().enumerate() {
            let parks = metrics.worker_park_unpark_count(worker);
            let busy = metrics.worker_total_busy_duration(worker);
            // The number of changes between parked and awake is odd while the worker is parked.
            let has_turned = parks % 2 == 1 || (parks, busy) != (seen.parks, seen.busy);
            let ticks = if has_turned {
                0
            } else {
                seen.ticks.saturating_add(1)
            };
            *seen = Seen { parks, busy, ticks };
        }
        seen.iter().map(|worker| worker.ticks).max().unwrap_or(0)
    }
}
