//! Worker processes in simulated time over a real store.
//!
//! The machine only knows when events happen: arrivals, heartbeats and ends. The order of jobs is decided by the
//! statements of the store and by `records::schedule`, which the machine calls as `jobs` does.

use std::collections::HashMap;

use halfspace::records::JobId;
use halfspace::records::schedule::{
    ParkedPlace, SLICE_SECONDS_MIN, first_parked, resumes, slice_seconds, yields,
};

use super::fairness::{CLAIMS_BETWEEN_OLDEST, Fairness, SLICE_LEAST};
use super::*;

pub type Milliseconds = i64;

pub const SECOND: Milliseconds = 1_000;

/// Interval of heartbeats, and of the search of an idle scheduler for jobs of other processes.
const BEAT: Milliseconds = 500;

/// Interval at which shares are corrected.
const TEND: Milliseconds = 2 * SECOND;

/// Time from the claim of a job that fails at once to its end.
const FAILURE: Milliseconds = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The state of the job can be stored.
    Stateful,
    /// The job stays parked until it resumes.
    Stateless,
    /// The job fails at once, without a computed second.
    Failing,
}

#[derive(Clone, Debug)]
pub struct Arrival {
    /// Index of the owner in the load.
    pub owner: usize,
    pub at: Milliseconds,
    /// Time that the job computes.
    pub length: Milliseconds,
    /// Estimated computing time of the job.
    pub expected_seconds: f64,
    pub priority: i32,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub struct Load {
    pub owners: Vec<(Owner, f64)>,
    /// In the order of their arrival.
    pub arrivals: Vec<Arrival>,
    /// Number of workers per process.
    pub processes: Vec<usize>,
    /// Cost of a change of workers.
    pub switch: Milliseconds,
    /// Number of the first job.
    pub first: i64,
}

/// A job and its history so far.
#[derive(Debug)]
pub struct Task {
    pub arrival: Arrival,
    pub job: Job,
    pub computed: Milliseconds,
    /// The part of the computed time that the owner has paid.
    paid: Milliseconds,
    pub claims: u32,
    pub started: Option<Milliseconds>,
    pub ended: Option<Milliseconds>,
}

impl Task {
    fn spent(&self, computed: Milliseconds) -> Spent {
        let seconds = seconds(computed);
        Spent {
            seconds,
            unpaid_seconds: (computed - self.paid) as f64 / SECOND as f64,
            level: self.job.demand.level(seconds),
        }
    }
}

struct Held {
    task: usize,
    lease: Lease,
    slice: Milliseconds,
    /// Time of the claim, from which heartbeats are counted.
    claimed: Milliseconds,
    /// Time of the last claim, parking or resumption.
    since: Milliseconds,
    /// Time from which the job computes, after the change of workers.
    ready: Milliseconds,
    /// A heartbeat before this time only pays.
    quiet_until: Milliseconds,
    parked: Option<Rank>,
}

impl Held {
    fn beat_at_or_after(&self, at: Milliseconds) -> Milliseconds {
        let beats = (at - self.claimed + BEAT - 1).div_euclid(BEAT).max(1);
        self.claimed + beats * BEAT
    }
}

struct Process {
    workers: usize,
    held: Vec<Held>,
    /// Time for which a permit has been free while a job waited.
    idle: Milliseconds,
}

impl Process {
    fn has_permit(&self) -> bool {
        self.held
            .iter()
            .filter(|held| held.parked.is_none())
            .count()
            < self.workers
    }
}

/// The processes, and the state that the checks read.
pub struct Machine<'a> {
    store: &'a Store,
    pub load: Load,
    pub now: Milliseconds,
    pub tasks: Vec<Task>,
    pub fairness: Fairness,
    /// Time that went into changes of workers.
    pub switching: Milliseconds,
    processes: Vec<Process>,
    by_id: HashMap<JobId, usize>,
    tended: Milliseconds,
    has_ends: bool,
}

pub fn seconds(time: Milliseconds) -> f64 {
    time as f64 / SECOND as f64
}

impl<'a> Machine<'a> {
    pub fn new(store: &'a Store, load: Load) -> Self {
        let process = |&workers: &usize| Process {
            workers,
            held: Vec::new(),
            idle: 0,
        };
        Self {
            store,
            now: 0,
            tasks: Vec::new(),
            fairness: Fairness::new(&load),
            switching: 0,
            processes: load.processes.iter().map(process).collect(),
            by_id: HashMap::new(),
            tended: 0,
            has_ends: false,
            load,
        }
    }

    /// Runs until no event is left, or until the time `end`.
    pub async fn run_until(&mut self, end: Milliseconds) {
        while let Some(next) = self.next_event().filter(|next| *next < end) {
            self.advance(next);
            self.act().await;
        }
        let is_idle = self.processes.iter().all(|process| process.held.is_empty());
        if !is_idle {
            self.advance(end);
            self.pay().await;
        }
        self.fairness.check_all(self.now);
    }

    /// Ends all jobs of the load, so that the next load finds the store without active owners.
    pub async fn run_out(&self) {
        for process in &self.processes {
            for held in &process.held {
                self.store
                    .finish_job(&held.lease, &failure())
                    .await
                    .unwrap();
            }
        }
        while let Some(claim) = claim(self.store, "last", LONG).await {
            self.store
                .finish_job(&claim.lease, &failure())
                .await
                .unwrap();
        }
        self.store.tend_shares().await.unwrap();
    }

    fn has_queued(&self) -> bool {
        self.fairness.queued() > 0
    }

    fn next_event(&self) -> Option<Milliseconds> {
        let arrival = self.load.arrivals.get(self.tasks.len()).map(|next| next.at);
        let held = self.processes.iter().flat_map(|process| &process.held);
        let held = held.filter_map(|held| {
            let end = self.end_of(held).unwrap_or(Milliseconds::MAX);
            Some(end.min(self.beat_of(held)?))
        });
        let is_idle = self.processes.iter().any(Process::has_permit);
        let poll = (is_idle && self.has_queued()).then_some((self.now / BEAT + 1) * BEAT);
        let tend = self.has_ends.then_some(self.tended + TEND);
        let next = held.chain(arrival).chain(poll).chain(tend).min();
        next.filter(|next| *next < Milliseconds::MAX)
            .map(|next| next.max(self.now))
    }

    /// End of the computation of a job that is not parked.
    fn end_of(&self, held: &Held) -> Option<Milliseconds> {
        let task = &self.tasks[held.task];
        let left = task.arrival.length - task.computed;
        held.parked
            .is_none()
            .then(|| self.now.max(held.ready) + left)
    }

    /// The next heartbeat of a job that may do more than pay.
    fn beat_of(&self, held: &Held) -> Option<Milliseconds> {
        let is_stateful = self.tasks[held.task].arrival.kind == Kind::Stateful;
        Some(match held.parked {
            Some(_) if is_stateful => held.beat_at_or_after(held.since + held.slice),
            Some(_) => Milliseconds::MAX,
            None if held.quiet_until == Milliseconds::MAX => Milliseconds::MAX,
            None => held.beat_at_or_after(held.quiet_until.max(self.now)),
        })
    }

    fn advance(&mut self, to: Milliseconds) {
        let has_queued = self.has_queued();
        for process in &mut self.processes {
            let is_idle = has_queued && process.has_permit();
            process.idle = if is_idle {
                process.idle + to - self.now
            } else {
                0
            };
            assert!(process.idle <= BEAT, "a process is idle while a job waits");
        }
        for held in self.processes.iter().flat_map(|process| &process.held) {
            if held.parked.is_some() {
                continue;
            }
            let task = &mut self.tasks[held.task];
            let computed = to - held.ready.max(self.now);
            task.computed += computed.max(0);
            self.fairness.held(task.arrival.owner, to - self.now);
            if task.claims > 1 {
                self.switching += (to.min(held.ready) - self.now).max(0);
            }
        }
        self.now = to;
    }

    async fn act(&mut self) {
        self.pay().await;
        for process in 0..self.processes.len() {
            while let Some(index) = self.is_over(process) {
                self.finish(process, index).await;
            }
        }
        while let Some(arrival) = self.load.arrivals.get(self.tasks.len())
            && arrival.at <= self.now
        {
            self.arrive(arrival.clone()).await;
        }
        for process in 0..self.processes.len() {
            let mut index = 0;
            while let Some(held) = self.processes[process].held.get(index) {
                let is_beat = self.beat_of(held) == Some(self.now);
                index += usize::from(!(is_beat && self.beat(process, index).await));
            }
        }
        if self.has_ends && self.now >= self.tended + TEND {
            self.store.tend_shares().await.unwrap();
            (self.tended, self.has_ends) = (self.now, false);
            self.fairness.is_tended();
        }
        if self.now % BEAT == 0 {
            for process in 0..self.processes.len() {
                self.schedule(process).await;
            }
        }
    }

    fn is_over(&self, process: usize) -> Option<usize> {
        let held = &self.processes[process].held;
        held.iter()
            .position(|held| self.end_of(held).is_some_and(|end| end <= self.now))
    }

    /// Lets the next heartbeats decide again, because the state of the queue may have changed.
    fn stir(&mut self) {
        let held = self
            .processes
            .iter_mut()
            .flat_map(|process| &mut process.held);
        held.for_each(|held| held.quiet_until = self.now + 1);
    }

    /// Pays for the heartbeats up to now.
    async fn pay(&mut self) {
        for process in 0..self.processes.len() {
            for index in 0..self.processes[process].held.len() {
                let held = &self.processes[process].held[index];
                let last = self.now - (self.now - held.claimed).rem_euclid(BEAT);
                let task = &self.tasks[held.task];
                let since = (self.now - last.max(held.ready)).max(0);
                if held.parked.is_none() && task.computed - since > task.paid {
                    self.report(process, index, task.computed - since).await;
                }
            }
        }
    }

    async fn report(&mut self, process: usize, index: usize, computed: Milliseconds) {
        let held = &self.processes[process].held[index];
        let task = &mut self.tasks[held.task];
        let beat = Beat {
            lease_seconds: LONG,
            spent: task.spent(computed),
            is_parked: held.parked.is_some(),
            ..Beat::default()
        };
        let kept = self
            .store
            .heartbeat(&held.lease, &beat, at(100))
            .await
            .unwrap();
        assert_eq!(
            kept,
            Heartbeat::Held {
                cancel_requested: false
            }
        );
        task.paid = computed;
        self.fairness
            .paid(task.arrival.owner, beat.spent.unpaid_seconds);
    }

    async fn arrive(&mut self, arrival: Arrival) {
        let owner = &self.load.owners[arrival.owner].0;
        let job = Job {
            owner: owner.clone(),
            priority: arrival.priority,
            demand: Demand {
                seconds: arrival.expected_seconds,
                memory_bytes: 0,
            },
            ..job(self.load.first + self.tasks.len() as i64)
        };
        self.store.insert_job(&job, None).await.unwrap();
        let entered = self
            .store
            .line(owner, u64::MAX)
            .await
            .unwrap()
            .virtual_seconds;
        let open = self
            .tasks
            .iter()
            .filter(|task| task.arrival.owner == arrival.owner && task.ended.is_none());
        let turns = open.map(|task| 1 + (task.arrival.length - task.computed) / SLICE_LEAST);
        let bound = CLAIMS_BETWEEN_OLDEST * (1 + turns.sum::<i64>() as u64);
        self.fairness
            .arrives(self.now, arrival.owner, entered, bound);
        self.by_id.insert(job.id, self.tasks.len());
        // Only one process learns of the arrival at once.
        let process = self.tasks.len() % self.processes.len();
        self.tasks.push(Task {
            arrival,
            job,
            computed: 0,
            paid: 0,
            claims: 0,
            started: None,
            ended: None,
        });
        self.stir();
        self.schedule(process).await;
    }

    async fn finish(&mut self, process: usize, index: usize) {
        let held = self.processes[process].held.remove(index);
        let task = &mut self.tasks[held.task];
        assert_eq!(task.ended, None);
        task.ended = Some(self.now);
        let end = match task.arrival.kind {
            Kind::Failing => failure(),
            Kind::Stateful | Kind::Stateless => JobEnd {
                model: None,
                trace: None,
                spent: task.spent(task.computed),
                ..success(1)
            },
        };
        let fenced = self.store.finish_job(&held.lease, &end).await.unwrap();
        assert_eq!(fenced, Fenced::Done);
        self.fairness
            .paid(task.arrival.owner, end.spent.unpaid_seconds);
        self.fairness.ends(task.arrival.owner);
        self.has_ends = true;
        self.stir();
        self.schedule(process).await;
    }

    /// A heartbeat that may park or requeue the job. Returns whether the job was requeued.
    async fn beat(&mut self, process: usize, index: usize) -> bool {
        if self.processes[process].held[index].parked.is_some() {
            self.requeue(process, index).await;
            return true;
        }
        let mut held = self.processes[process].held.iter();
        if !self.has_queued() && held.all(|held| held.parked.is_none()) {
            self.processes[process].held[index].quiet_until = Milliseconds::MAX;
            return false;
        }
        let (own, line, rank, places) = self.places(process, index).await;
        let workers = self.processes[process].workers;
        let held = &mut self.processes[process].held[index];
        let slice_end = held.since + held.slice;
        let had_slice = |at: Milliseconds| at >= slice_end;
        if had_slice(self.now) && yields(line, &rank, &places, workers) {
            held.parked = Some(rank);
            held.since = self.now;
            let computed = self.tasks[held.task].computed;
            self.fairness.parks(own);
            self.report(process, index, computed).await;
            self.stir();
            self.schedule(process).await;
            return false;
        }
        // No other owner's virtual seconds decrease before the next event.
        let task = &self.tasks[held.task];
        let left = task.arrival.length - task.computed;
        let rate = self.fairness.rate(own);
        let later = (1..=left / BEAT + 1)
            .map(|beats| beats * BEAT)
            .find(|ahead| {
                let computed = seconds(task.computed + ahead);
                let rank = Rank::new(
                    task.job.priority,
                    task.job.demand.level(computed),
                    task.job.id,
                );
                let older = JobsAhead {
                    virtual_seconds: line.virtual_seconds + rate * seconds(ahead + BEAT),
                    ..line
                };
                had_slice(self.now + ahead) && yields(older, &rank, &places, workers)
            });
        held.quiet_until = later.map_or(Milliseconds::MAX, |ahead| self.now + ahead);
        false
    }

    /// The owner of a running job, its line, its rank, and the parked jobs of its process.
    async fn places(
        &self,
        process: usize,
        index: usize,
    ) -> (usize, JobsAhead, Rank, Vec<ParkedPlace>) {
        let task = &self.tasks[self.processes[process].held[index].task];
        let line = self.store.line(&task.job.owner, u64::MAX).await.unwrap();
        let level = task.spent(task.computed).level;
        let rank = Rank::new(task.job.priority, level, task.job.id);
        let parked = self.parked(process, Some(&task.job.owner)).await;
        let places = parked.into_iter().map(|(_, place)| place).collect();
        (task.arrival.owner, line, rank, places)
    }

    async fn parked(&self, process: usize, owner: Option<&Owner>) -> Vec<(usize, ParkedPlace)> {
        let mut places = Vec::new();
        for (index, held) in self.processes[process].held.iter().enumerate() {
            let of = &self.tasks[held.task].job.owner;
            if let Some(rank) = held.parked {
                let line = self.store.line(of, u64::MAX).await.unwrap();
                let is_own = owner == Some(of);
                let has_state = self.tasks[held.task].arrival.kind == Kind::Stateful;
                let place = ParkedPlace {
                    line,
                    rank,
                    is_own,
                    has_state,
                };
                places.push((index, place));
            }
        }
        places
    }

    async fn requeue(&mut self, process: usize, index: usize) {
        let held = self.processes[process].held.remove(index);
        let task = &mut self.tasks[held.task];
        let requeue = Requeue {
            spent: task.spent(task.computed),
            checkpoint: Some(b"state"),
            switch_seconds: Some(seconds(self.load.switch)),
            ..Requeue::default()
        };
        let fenced = self
            .store
            .requeue_job(&held.lease, &requeue, at(100))
            .await
            .unwrap();
        assert_eq!(fenced, Fenced::Done);
        task.paid = task.computed;
        self.fairness.requeues(self.now, task.arrival.owner);
        self.stir();
    }

    /// Assigns the free permits of a process.
    async fn schedule(&mut self, process: usize) {
        while self.processes[process].has_permit() {
            let parked = self.parked(process, None).await;
            let places: Vec<_> = parked.iter().map(|(_, place)| *place).collect();
            let workers = self.processes[process].workers;
            let resumed = match resumes(&places, workers) {
                Some(first) => Some(first),
                None if self.has_queued() && self.claim(process).await => continue,
                None => first_parked(&places).map(|(first, _)| first),
            };
            let Some(first) = resumed else { return };
            let held = &mut self.processes[process].held[parked[first].0];
            (held.parked, held.since) = (None, self.now);
            self.fairness.resumes(self.tasks[held.task].arrival.owner);
            self.stir();
        }
    }

    async fn claim(&mut self, process: usize) -> bool {
        let name = format!("process {process}");
        let (worker, terms) = (worker(&name), terms(LONG));
        let claimed = self.store.claim_job(&worker, &terms, at(100));
        let Some(claim) = claimed.await.unwrap() else {
            return false;
        };
        let number = self.by_id[&claim.job.id];
        let task = &mut self.tasks[number];
        task.claims += 1;
        task.started.get_or_insert(self.now);
        let preparation = match task.arrival.kind {
            Kind::Failing => FAILURE,
            _ if task.claims > 1 => self.load.switch,
            _ => 0,
        };
        let slice = slice_seconds(SLICE_SECONDS_MIN, claim.switch_seconds) * SECOND as f64;
        self.processes[process].held.push(Held {
            task: number,
            lease: claim.lease,
            slice: slice as Milliseconds,
            claimed: self.now,
            since: self.now,
            ready: self.now + preparation,
            quiet_until: self.now + 1,
            parked: None,
        });
        let line = self.store.line(&claim.job.owner, u64::MAX).await.unwrap();
        let owner = self.tasks[number].arrival.owner;
        let is_first = self.tasks[number].claims == 1;
        self.fairness.claims(
            self.now,
            owner,
            line.virtual_seconds,
            is_first.then_some(number),
        );
        self.stir();
        true
    }
}
