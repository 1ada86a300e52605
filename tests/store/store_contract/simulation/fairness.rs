//! The bounds that the scheduling policy promises, checked at each claim.
//!
//! This file has its own copy of the numbers of the policy, so that a policy with other numbers breaks the bounds.
//!
//! **Claims of an owner.** One of eight claims of an owner takes the oldest claimable job and gives it at least
//! [`SLICE_LEAST`] of computing time, or its end. A job therefore starts within 8 claims for itself, and 8 more per
//! such time that the owner's older jobs still have to compute.
//!
//! **Wait for a claim.** While an owner has a claimable job, another owner gets a permit only when it is not ahead of
//! the waiting one, and keeps it until it leads by 4 virtual seconds and the slice is over. It therefore holds permits
//! for at most its weight times (the virtual seconds of the waiting owner + 4 - its own virtual seconds at the
//! beginning of the wait). Each worker may add two slices and two heartbeats: one slice of the running job, and one
//! until a parked job is stored. Owners do not pay for the time in which a worker changes from one job to another,
//! which adds a twentieth. Jobs whose state cannot be stored do not leave their process, so their lengths are added.
//!
//! Meanwhile no permit is free for longer than a heartbeat: see `Process::idle`. The wait is therefore at most the
//! sum of these times over the other owners, plus the time of the owner's own jobs, divided by the number of workers.
//!
//! **Entrance.** An owner who becomes active starts at most 5 virtual seconds before the least active owner.

use super::machine::{Kind, Load, Milliseconds, seconds};
use super::*;

pub const CLAIMS_BETWEEN_OLDEST: u64 = 8;

/// A slice minus the change of workers.
pub const SLICE_LEAST: Milliseconds = 1_900;

const LEAD_SECONDS: f64 = 4.0;

const CREDIT_SECONDS: f64 = 5.0;

const SLICE_SECONDS: f64 = 2.0;

const SWITCHES_BETWEEN: f64 = 20.0;

const BEAT_SECONDS: f64 = 0.5;

/// Upper bound of the seconds that a claim costs.
const CLAIM_SECONDS: f64 = 0.1;

/// A wait of an owner for a claim, with the held and paid time of all owners at its beginning.
struct Wait {
    since: Milliseconds,
    held: Vec<Milliseconds>,
    virtual_seconds: Vec<f64>,
}

struct Share {
    weight: f64,
    /// Virtual seconds in the store, or `None` before the first job.
    virtual_seconds: Option<f64>,
    /// Time for which jobs of the owner held permits.
    held: Milliseconds,
    running: u32,
    queued: usize,
    /// Jobs that have not ended.
    open: usize,
    claims: u64,
    wait: Option<Wait>,
}

pub struct Fairness {
    shares: Vec<Share>,
    /// The owner of each job, and the number of the owner's claim by which the job must have started.
    claims_max: Vec<(usize, u64)>,
    has_started: Vec<bool>,
    overshoot_seconds: f64,
    /// Greatest virtual seconds that the least active owner ever had.
    floor: f64,
    /// Longest wait for a claim of an owner without running jobs.
    pub longest_wait: Milliseconds,
}

impl Fairness {
    pub fn new(load: &Load) -> Self {
        let share = |(_, weight): &(Owner, f64)| Share {
            weight: *weight,
            virtual_seconds: None,
            held: 0,
            running: 0,
            queued: 0,
            open: 0,
            claims: 0,
            wait: None,
        };
        let workers: usize = load.processes.iter().sum();
        let slice = SLICE_SECONDS.max(SWITCHES_BETWEEN * seconds(load.switch));
        let stateless = load
            .arrivals
            .iter()
            .filter(|job| job.kind == Kind::Stateless);
        let stateless: Milliseconds = stateless.map(|job| job.length).sum();
        Self {
            shares: load.owners.iter().map(share).collect(),
            claims_max: Vec::new(),
            has_started: Vec::new(),
            overshoot_seconds: workers as f64 * 2.0 * (slice + BEAT_SECONDS) + seconds(stateless),
            floor: f64::MIN,
            longest_wait: 0,
        }
    }

    pub fn queued(&self) -> usize {
        self.shares.iter().map(|share| share.queued).sum()
    }

    /// Virtual seconds per second of an owner.
    pub fn rate(&self, owner: usize) -> f64 {
        f64::from(self.shares[owner].running) / self.shares[owner].weight
    }

    pub fn held_seconds(&self) -> Vec<f64> {
        self.shares
            .iter()
            .map(|share| seconds(share.held))
            .collect()
    }

    /// A job has held a permit for this time.
    pub fn held(&mut self, owner: usize, time: Milliseconds) {
        self.shares[owner].held += time;
    }

    pub fn paid(&mut self, owner: usize, unpaid_seconds: f64) {
        let share = &mut self.shares[owner];
        let paid = unpaid_seconds / share.weight;
        share.virtual_seconds = share.virtual_seconds.map(|seconds| seconds + paid);
    }

    /// A job arrives, which must start within `claims_max` claims of its owner.
    pub fn arrives(&mut self, now: Milliseconds, owner: usize, entered: f64, claims_max: u64) {
        let share = &mut self.shares[owner];
        let jump = match share.virtual_seconds {
            Some(before) => entered - before,
            None => f64::INFINITY,
        };
        share.virtual_seconds = Some(entered);
        self.claims_max.push((owner, share.claims + claims_max));
        self.has_started.push(false);
        share.open += 1;
        assert!(jump >= -1e-6, "owner {owner} loses {jump} virtual seconds");
        if jump > 1e-6 {
            assert!(
                entered >= self.floor - CREDIT_SECONDS - 1e-6,
                "owner {owner} enters at {entered}, and all were beyond {}",
                self.floor
            );
            // The jump is not a payment, so it moves the beginning of each wait.
            for wait in self
                .shares
                .iter_mut()
                .filter_map(|share| share.wait.as_mut())
            {
                let before = &mut wait.virtual_seconds[owner];
                *before = if jump.is_finite() {
                    *before + jump
                } else {
                    entered
                };
            }
        }
        self.requeues(now, owner);
    }

    pub fn requeues(&mut self, now: Milliseconds, owner: usize) {
        self.shares[owner].queued += 1;
        if self.shares[owner].wait.is_none() {
            self.begin_wait(now, owner);
        }
    }

    fn begin_wait(&mut self, now: Milliseconds, owner: usize) {
        let known = |share: &Share| share.virtual_seconds.unwrap_or(f64::INFINITY);
        self.shares[owner].wait = Some(Wait {
            since: now,
            held: self.shares.iter().map(|share| share.held).collect(),
            virtual_seconds: self.shares.iter().map(known).collect(),
        });
    }

    /// A job is claimed. `first` names the job if the claim is its first.
    pub fn claims(&mut self, now: Milliseconds, owner: usize, stored: f64, first: Option<usize>) {
        let share = &mut self.shares[owner];
        let expected = share.virtual_seconds.expect("a job has arrived");
        let charge = (stored - expected) * share.weight;
        assert!(
            (-1e-6..CLAIM_SECONDS).contains(&charge),
            "owner {owner} pays {charge} for a claim"
        );
        share.virtual_seconds = Some(stored);
        share.claims += 1;
        share.running += 1;
        share.queued -= 1;
        if let Some(task) = first {
            self.has_started[task] = true;
            let (claims, claims_max) = (share.claims, self.claims_max[task].1);
            assert!(
                claims <= claims_max,
                "job {task} starts at claim {claims}, not {claims_max}"
            );
        }
        self.check_wait(now, owner);
        self.shares[owner].wait = None;
        if self.shares[owner].queued > 0 {
            self.begin_wait(now, owner);
        }
    }

    pub fn parks(&mut self, owner: usize) {
        self.shares[owner].running -= 1;
    }

    pub fn resumes(&mut self, owner: usize) {
        self.shares[owner].running += 1;
    }

    pub fn ends(&mut self, owner: usize) {
        self.shares[owner].running -= 1;
        self.shares[owner].open -= 1;
    }

    /// The store has corrected the shares, so every active owner has jobs.
    pub fn is_tended(&mut self) {
        let active = self.shares.iter().filter(|share| share.open > 0);
        let least = active
            .filter_map(|share| share.virtual_seconds)
            .min_by(f64::total_cmp);
        self.floor = self.floor.max(least.unwrap_or(f64::MIN));
    }

    fn check_wait(&mut self, now: Milliseconds, owner: usize) {
        let waiting = &self.shares[owner];
        let (Some(wait), Some(own)) = (&waiting.wait, waiting.virtual_seconds) else {
            return;
        };
        if waiting.held == wait.held[owner] {
            self.longest_wait = self.longest_wait.max(now - wait.since);
        }
        for (other, share) in self.shares.iter().enumerate() {
            let held = seconds(share.held - wait.held[other]);
            let behind = (own + LEAD_SECONDS - wait.virtual_seconds[other]).max(0.0);
            let allowed = share.weight * behind * (1.0 + 1.0 / 19.0) + self.overshoot_seconds;
            assert!(
                other == owner || held <= allowed,
                "owner {other} holds permits for {held} s, not {allowed} s, while owner {owner} waits"
            );
        }
    }

    /// Checks the bounds of every job and owner that still waits.
    pub fn check_all(&mut self, now: Milliseconds) {
        for owner in 0..self.shares.len() {
            self.check_wait(now, owner);
        }
        for (task, (owner, claims_max)) in self.claims_max.iter().enumerate() {
            let claims = self.shares[*owner].claims;
            let is_late = !self.has_started[task] && claims >= *claims_max;
            assert!(
                !is_late,
                "job {task} has not started after {claims} claims, of {claims_max}"
            );
        }
    }
}
