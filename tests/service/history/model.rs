//! The sequential model that recorded histories are compared with: one job as the store's contract describes it, in
//! one thread and without SQL.

use std::sync::Arc;

/// The digest of a result or of a checkpoint.
pub type Digest = u64;

/// Greatest difference between the database's clock and the clock of the record over one lease, in nanoseconds.
const CLOCKS_APART_NS: u64 = 20_000_000;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    pub worker: Arc<str>,
    pub attempt: u32,
    pub claim: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct End {
    pub status: Arc<str>,
    pub finished_at: Arc<str>,
    pub result: Option<Digest>,
}

/// The relation of a stored job to other jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kin {
    Single,
    Parent,
    /// A part is wanted as long as its parent is, which is beyond the model of one job.
    Part,
}

/// An operation on one job, with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Insert(Kin),
    InsertHeld(Lease, u32),
    InsertEnded(End),
    /// A claim with a lease of this many seconds. The other lease lengths are in seconds too.
    Claim(Lease, u32),
    /// A heartbeat, with the flag of the answer that a client requested the end.
    Heartbeat(Lease, u32, bool),
    Save(Lease, Digest),
    ReadCheckpoint(Option<Digest>),
    Finish(Lease, End),
    Requeue(Lease),
    /// Stores a checkpoint and requeues the job.
    Preempt(Lease, Digest),
    /// The store refused a write under this lease.
    Lost(Lease),
    CancelQueued(End),
    RequestCancel,
    CancelRequestedBefore,
    CancelAfter(End),
    Delete,
    DeleteBeforeEnd,
    /// The job was removed with its parent, in any state.
    DeleteWithParent,
    /// The job may have been removed if it had ended.
    Sweep,
    /// The job was requeued because the lease of this claim had expired.
    Expire(u32),
    /// The job was requeued from this claim, because the caller knows that no other process lives.
    Release(u32),
    /// The lease may have been shortened to this many seconds.
    Shorten(u32),
    /// The store may have ended the job itself.
    EndByStore(End),
    SeenQueued,
    SeenRunning,
    SeenEnded(End),
    SeenNowhere,
}

impl Action {
    /// Whether the answer leaves open if the action changed this job.
    pub fn is_optional(&self) -> bool {
        matches!(self, Self::Sweep | Self::Shorten(_) | Self::EndByStore(_))
    }

    /// Whether the action may take effect as early as possible without loss of histories. Such an action
    /// changes nothing that another pending action of a valid history needs.
    pub fn is_eager(&self) -> bool {
        use Action::{
            CancelAfter, CancelRequestedBefore, DeleteBeforeEnd, Heartbeat, Lost, ReadCheckpoint,
            SeenEnded, SeenNowhere, SeenQueued, SeenRunning,
        };
        matches!(
            self,
            Heartbeat(..)
                | Lost(_)
                | ReadCheckpoint(_)
                | CancelRequestedBefore
                | CancelAfter(_)
                | DeleteBeforeEnd
                | SeenQueued
                | SeenRunning
                | SeenEnded(_)
                | SeenNowhere
        )
    }
}

/// The times of the call and of the answer, in nanoseconds of the clock that all processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub call_ns: u64,
    /// `None` if no answer came. The operation then took effect at any later time, or never.
    pub answer_ns: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    #[default]
    Absent,
    Stored(Job),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    kin: Kin,
    claims: u32,
    cancel_requested: bool,
    checkpoint: Option<Digest>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Queued,
    /// The lease, and the earliest time at which it may expire.
    Held(Lease, u64),
    Ended(End),
}

use Phase::{Ended, Held, Queued};
use State::{Absent, Stored};

impl State {
    /// The state after an action with its answer, or `None` if the contract forbids this answer now.
    pub fn after(&self, action: &Action, at: Interval) -> Option<Self> {
        match self {
            Absent => absent_after(action, at),
            Stored(job) => job.after(action, at),
        }
    }
}

fn absent_after(action: &Action, at: Interval) -> Option<State> {
    let stored = |kin, claims, phase| {
        Some(Stored(Job {
            kin,
            claims,
            cancel_requested: false,
            checkpoint: None,
            phase,
        }))
    };
    match action {
        Action::Insert(kin) => stored(*kin, 0, Queued),
        Action::InsertHeld(lease, seconds) => {
            let held = Held(lease.clone(), lapse_ns(at, *seconds));
            stored(Kin::Single, lease.claim, held)
        }
        Action::InsertEnded(end) => stored(Kin::Single, 1, Ended(end.clone())),
        Action::SeenNowhere
        | Action::Lost(_)
        | Action::ReadCheckpoint(None)
        | Action::DeleteWithParent => Some(Absent),
        _ => None,
    }
}

impl Job {
    fn after(&self, action: &Action, at: Interval) -> Option<State> {
        use Action as A;
        let unchanged = |holds: bool| holds.then(|| Stored(self.clone()));
        match action {
            // An insert leaves a stored job unchanged.
            A::Insert(_) | A::InsertEnded(_) => unchanged(true),
            A::InsertHeld(lease, _) => unchanged(self.is_held_by(lease)),
            A::Claim(lease, seconds) => self.claimed(lease, *seconds, at),
            A::Heartbeat(lease, seconds, told) => {
                let is_told = self.kin == Kin::Part || *told == self.cancel_requested;
                let held = Held(lease.clone(), lapse_ns(at, *seconds));
                self.when(is_told && self.is_held_by(lease), held)
            }
            A::Save(lease, state) => self.saved(lease, *state, self.phase.clone()),
            A::Preempt(lease, state) => self.saved(lease, *state, Queued),
            A::Requeue(lease) => self.when(self.is_held_by(lease), Queued),
            A::Finish(lease, end) => self.ended_when(self.is_held_by(lease), end),
            A::Lost(lease) => unchanged(!self.is_held_by(lease)),
            A::ReadCheckpoint(state) => unchanged(self.checkpoint == *state),
            A::CancelQueued(end) => {
                self.ended_when(self.phase == Queued && self.checkpoint.is_none(), end)
            }
            A::RequestCancel => self.cancel_requested(),
            A::CancelRequestedBefore => unchanged(self.is_cancelled()),
            A::CancelAfter(end) | A::SeenEnded(end) => unchanged(self.phase == Ended(end.clone())),
            A::EndByStore(end) => self.ended_when(!self.has_ended(), end),
            A::Delete | A::Sweep => self.has_ended().then_some(Absent),
            A::DeleteWithParent => Some(Absent),
            A::DeleteBeforeEnd => unchanged(!self.has_ended()),
            A::Expire(claim) => self.when(self.has_run_out(*claim, at), Queued),
            A::Release(claim) => self.when(self.is_held_since(*claim), Queued),
            A::Shorten(seconds) => match &self.phase {
                Held(lease, lapse) => {
                    let sooner = lapse_ns(at, *seconds);
                    self.when(sooner < *lapse, Held(lease.clone(), sooner))
                }
                Queued | Ended(_) => None,
            },
            A::SeenQueued => unchanged(self.phase == Queued),
            // Clients see a parent as running while its parts run.
            A::SeenRunning => unchanged(match self.phase {
                Queued => self.kin == Kin::Parent,
                Held(..) => true,
                Ended(_) => false,
            }),
            A::SeenNowhere => None,
        }
    }

    fn claimed(&self, lease: &Lease, seconds: u32, at: Interval) -> Option<State> {
        // A cancelled job is claimed if it has a checkpoint, or to gather its parts. A part takes the flag from
        // its parent.
        let has_products = self.checkpoint.is_some() || self.kin != Kin::Single;
        let is_wanted = !self.cancel_requested || has_products;
        let is_next = lease.claim == self.claims + 1;
        (self.phase == Queued && is_wanted && is_next).then(|| {
            Stored(Self {
                claims: lease.claim,
                phase: Held(lease.clone(), lapse_ns(at, seconds)),
                ..self.clone()
            })
        })
    }

    fn saved(&self, lease: &Lease, state: Digest, phase: Phase) -> Option<State> {
        self.is_held_by(lease).then(|| {
            Stored(Self {
                checkpoint: Some(state),
                phase,
                ..self.clone()
            })
        })
    }

    fn cancel_requested(&self) -> Option<State> {
        let may_wait = match self.phase {
            Queued => self.kin == Kin::Parent || self.checkpoint.is_some(),
            Held(..) => true,
            Ended(_) => false,
        };
        (may_wait && !self.cancel_requested).then(|| {
            Stored(Self {
                cancel_requested: true,
                ..self.clone()
            })
        })
    }

    fn ended_when(&self, may: bool, end: &End) -> Option<State> {
        may.then(|| {
            Stored(Self {
                checkpoint: None,
                phase: Ended(end.clone()),
                ..self.clone()
            })
        })
    }

    fn when(&self, may: bool, phase: Phase) -> Option<State> {
        may.then(|| {
            Stored(Self {
                phase,
                ..self.clone()
            })
        })
    }

    fn is_held_by(&self, lease: &Lease) -> bool {
        matches!(&self.phase, Held(holder, _) if holder == lease)
    }

    fn is_held_since(&self, claim: u32) -> bool {
        matches!(&self.phase, Held(holder, _) if holder.claim == claim)
    }

    /// Whether the lease of this claim can have expired by the end of an operation.
    fn has_run_out(&self, claim: u32, at: Interval) -> bool {
        let is_over = |lapse_ns| at.answer_ns.is_none_or(|answer_ns| answer_ns >= lapse_ns);
        matches!(&self.phase, Held(holder, lapse_ns) if holder.claim == claim && is_over(*lapse_ns))
    }

    fn is_cancelled(&self) -> bool {
        match &self.phase {
            Queued | Held(..) => self.cancel_requested,
            Ended(end) => &*end.status == "cancelled",
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.phase, Ended(_))
    }
}

/// The earliest time at which a lease that this operation gave or renewed can expire.
fn lapse_ns(at: Interval, seconds: u32) -> u64 {
    (at.call_ns + u64::from(seconds) * 1_000_000_000).saturating_sub(CLOCKS_APART_NS)
}
