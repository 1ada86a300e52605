//! The policy of the scheduler: the order of jobs, the shares of owners, and the yielding of running jobs.
//!
//! It is a set of pure functions of seconds and shares. The scheduler of `jobs` measures the seconds, and the
//! statements of `storage/sql/claims.rs` and `storage/sql/shares.rs` select by the same order.

use serde::{Deserialize, Serialize};

use super::id::JobId;

/// An owner who becomes active starts this many virtual seconds before the least active owner.
pub const CREDIT_SECONDS: f64 = 5.0;

/// The lead in virtual seconds from which a running job yields to another owner.
pub const LEAD_SECONDS_MAX: f64 = 4.0;

/// One of so many claims of an owner takes the oldest job instead of the first.
pub const CLAIMS_BETWEEN_OLDEST: u32 = 8;

/// The price of a claim in seconds, charged to the owner: about as long as a worker needs to prepare a job and to
/// write its end. Without it, the owner of jobs that fail at once would pay nothing and go first for ever.
pub const CLAIM_SECONDS: f64 = 0.02;

/// The shortest time that a job computes before it yields.
pub const SLICE_SECONDS_MIN: f64 = 2.0;

/// A job computes for so many times its last switch cost before it yields. At most 5 % of the time is then
/// lost.
const SLICE_SWITCHES: f64 = 20.0;

/// A suspect becomes an ordinary job after so many computed seconds beyond the point of its last death.
pub const PROBATION_SECONDS: f64 = 30.0;

/// Number of deaths in a row that make a job a suspect.
pub const SUSPECT_DEATHS: u32 = 2;

/// The expected demand of a job for resources.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Seconds of one core.
    pub seconds: f64,
    /// An upper bound of the memory, in bytes.
    pub memory_bytes: u64,
}

/// Time limit, in seconds of computing, of a job that names none.
pub const SECONDS_DEFAULT: f64 = 600.0;

/// Time limit, in seconds of computing, of an answer, unless the setting `answer_seconds_max` gives another.
pub const ANSWER_SECONDS_DEFAULT: f64 = 60.0;

impl Default for Demand {
    /// The demand of a job of unknown size: the default time limit and no memory.
    fn default() -> Self {
        Self {
            seconds: SECONDS_DEFAULT,
            memory_bytes: 0,
        }
    }
}

impl Demand {
    /// The level of a job with this demand after `computed_seconds`: the binary logarithm of its seconds.
    #[must_use]
    pub fn level(&self, computed_seconds: f64) -> u32 {
        let seconds = self.seconds.max(computed_seconds);
        // The conversion saturates for infinite seconds.
        (1.0 + seconds).log2() as u32
    }
}

/// The weight of an owner in the scheduler. An owner of weight 2 gets twice the seconds of an owner of weight
/// 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight(f64);

impl Weight {
    /// The range of weights.
    pub const RANGE: std::ops::RangeInclusive<f64> = 0.01..=100.0;

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A weight is never NaN.
impl Eq for Weight {}

impl Default for Weight {
    fn default() -> Self {
        Self(1.0)
    }
}

/// A weight outside of [`Weight::RANGE`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the weight must be a number from 0.01 to 100, not {0}")]
pub struct WeightError(f64);

impl TryFrom<f64> for Weight {
    type Error = WeightError;

    fn try_from(weight: f64) -> Result<Self, WeightError> {
        match Self::RANGE.contains(&weight) {
            true => Ok(Self(weight)),
            false => Err(WeightError(weight)),
        }
    }
}

/// The place of a job among those of its owner. The least goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The negated priority of the client.
    before: i32,
    /// See [`Demand::level`].
    level: u32,
    id: JobId,
}

impl Rank {
    /// The rank of a job.
    #[must_use]
    pub fn new(priority: i32, level: u32, id: JobId) -> Self {
        Self {
            before: -priority,
            level,
            id,
        }
    }

    /// Whether a waiting job of this rank takes the place of a running job of the same owner. Jobs of equal priority
    /// and level never do, because they would change places for ever.
    #[must_use]
    pub fn displaces(&self, running: &Self) -> bool {
        (self.before, self.level) < (running.before, running.level)
    }
}

/// The jobs that could go before a job of one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobsAhead {
    /// The virtual seconds of the owner: computed seconds divided by the weight.
    pub virtual_seconds: f64,
    /// The first claimable job of the same owner.
    pub own: Option<Rank>,
    /// The least virtual seconds of another owner with a claimable job.
    pub other: Option<f64>,
}

impl JobsAhead {
    /// Whether a waiting job goes before a running job of this rank that has had its slice.
    #[must_use]
    pub fn interrupts(&self, running: &Rank) -> bool {
        let leads = |other: f64| self.virtual_seconds - other > LEAD_SECONDS_MAX;
        self.own.is_some_and(|own| own.displaces(running)) || self.other.is_some_and(leads)
    }

    /// Adds a parked job of the same process to the line, in which it waits like a claimable one.
    ///
    /// `virtual_seconds` are those of the job's owner. `own` is the job's rank if this is the line of that owner.
    #[must_use]
    pub fn joined_by(self, virtual_seconds: f64, own: Option<Rank>) -> Self {
        match own {
            Some(rank) => Self {
                own: Some(self.own.map_or(rank, |first| first.min(rank))),
                ..self
            },
            None => Self {
                other: Some(
                    self.other
                        .map_or(virtual_seconds, |least| least.min(virtual_seconds)),
                ),
                ..self
            },
        }
    }

    /// The line without any jobs.
    #[must_use]
    pub fn emptied(self) -> Self {
        Self {
            own: None,
            other: None,
            ..self
        }
    }

    /// Whether a waiting job goes before a parked job of this rank when a permit is free.
    #[must_use]
    pub fn precedes(&self, parked: &Rank) -> bool {
        let is_behind = |other: f64| other < self.virtual_seconds;
        self.own.is_some_and(|own| own.displaces(parked)) || self.other.is_some_and(is_behind)
    }
}

/// A parked job as its process sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParkedPlace {
    /// The jobs ahead of those of its owner.
    pub line: JobsAhead,
    /// Its rank when it parked.
    pub rank: Rank,
    /// Whether its owner is also the owner of the running job.
    pub is_own: bool,
    /// Whether its state can be stored. Otherwise the job cannot leave its process.
    pub has_state: bool,
}

/// Whether a running job that has had its slice yields.
///
/// A process with `parked_max` parked jobs parks another only to resume one of them. It therefore ignores claimable
/// jobs, as long as the states of all its parked jobs can be stored.
#[must_use]
pub fn yields(line: JobsAhead, running: &Rank, parked: &[ParkedPlace], parked_max: usize) -> bool {
    let stores = parked.len() >= parked_max && parked.iter().all(|parked| parked.has_state);
    let claimable = if stores { line.emptied() } else { line };
    let all = parked.iter().fold(claimable, |line, parked| {
        let own = parked.is_own.then_some(parked.rank);
        line.joined_by(parked.line.virtual_seconds, own)
    });
    all.interrupts(running)
}

/// The parked job that goes first among the parked jobs of a process, by its index.
#[must_use]
pub fn first_parked(parked: &[ParkedPlace]) -> Option<(usize, ParkedPlace)> {
    first_of(parked.iter().copied().enumerate())
}

/// The parked job that goes first among some parked jobs of a process.
fn first_of(parked: impl Iterator<Item = (usize, ParkedPlace)>) -> Option<(usize, ParkedPlace)> {
    parked.min_by(|(_, one), (_, other)| {
        let seconds = one
            .line
            .virtual_seconds
            .total_cmp(&other.line.virtual_seconds);
        seconds.then(one.rank.cmp(&other.rank))
    })
}

/// The parked job that resumes when a permit is free, by its index, or `None` while a claimable job goes first.
///
/// If more than `parked_max` jobs are parked, one of them resumes in any case, preferably one whose state cannot be
/// stored, because the others can return to the queue.
#[must_use]
pub fn resumes(parked: &[ParkedPlace], parked_max: usize) -> Option<usize> {
    if parked.len() > parked_max {
        let staying = parked.iter().copied().enumerate();
        let staying = first_of(staying.filter(|(_, place)| !place.has_state));
        return staying
            .or_else(|| first_parked(parked))
            .map(|(first, _)| first);
    }
    let (first, place) = first_parked(parked)?;
    (!place.line.precedes(&place.rank)).then_some(first)
}

/// The seconds that a job computes before it may yield, at least `seconds_min`.
#[must_use]
pub fn slice_seconds(seconds_min: f64, switch_seconds: f64) -> f64 {
    seconds_min.max(SLICE_SWITCHES * switch_seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Timestamp;

    fn rank(priority: i32, level: u32, id: u8) -> Rank {
        Rank::new(
            priority,
            level,
            JobId::new(Timestamp::from_milliseconds(1), [id; 10]),
        )
    }

    #[test]
    fn schedule_levels_double_their_seconds() {
        let demand = |seconds| Demand {
            seconds,
            memory_bytes: 0,
        };
        let levels = [0.0, 0.9, 1.0, 2.9, 3.0, 600.0, 3_600.0].map(|s| demand(s).level(0.0));
        assert_eq!(levels, [0, 0, 1, 1, 2, 9, 11]);
        assert_eq!(demand(0.1).level(7.0), 3);
        assert_eq!(demand(f64::INFINITY).level(0.0), u32::MAX);
    }

    #[test]
    fn a_job_is_displaced_by_a_higher_priority_or_a_lower_level() {
        let running = rank(0, 5, 1);
        assert!(rank(0, 4, 2).displaces(&running));
        assert!(rank(1, 6, 2).displaces(&running));
        assert!(!rank(0, 5, 0).displaces(&running));
        assert!(!rank(-1, 0, 2).displaces(&running));
    }

    #[test]
    fn other_owner_interrupts_only_from_a_lead_but_precedes_without() {
        let behind = |lead: f64| JobsAhead {
            virtual_seconds: 100.0,
            own: None,
            other: Some(100.0 - lead),
        };
        let running = rank(0, 0, 1);
        assert!(!behind(4.0).interrupts(&running) && behind(4.0).precedes(&running));
        assert!(behind(4.1).interrupts(&running));
        assert!(!behind(0.0).precedes(&running) && !JobsAhead::default().precedes(&running));
    }

    fn parked(virtual_seconds: f64, rank: Rank, is_own: bool) -> ParkedPlace {
        let line = JobsAhead {
            virtual_seconds,
            ..JobsAhead::default()
        };
        ParkedPlace {
            line,
            rank,
            is_own,
            has_state: true,
        }
    }

    #[test]
    fn a_running_job_yields_to_a_parked_one_of_its_process() {
        let line = JobsAhead {
            virtual_seconds: 100.0,
            ..JobsAhead::default()
        };
        let running = rank(0, 5, 1);
        let other = |behind: f64| parked(100.0 - behind, rank(0, 1, 2), false);
        let own = |level: u32| parked(100.0, rank(0, level, 2), true);
        for parked_max in [1, 2] {
            let yields_to = |parked| yields(line, &running, &[parked], parked_max);
            assert!(yields_to(other(4.1)) && !yields_to(other(4.0)));
            assert!(yields_to(own(4)) && !yields_to(own(5)));
        }
        let claimable = JobsAhead {
            other: Some(90.0),
            ..line
        };
        assert!(yields(claimable, &running, &[], 1));
        let full = other(0.0);
        assert!(
            !yields(claimable, &running, &[full], 1) && yields(claimable, &running, &[full], 2)
        );
        let stays = ParkedPlace {
            has_state: false,
            ..full
        };
        assert!(yields(claimable, &running, &[stays], 1));
    }

    #[test]
    fn first_parked_job_resumes_unless_a_claimable_job_precedes() {
        assert_eq!(resumes(&[], 1), None);
        let pair = [1, 0].map(|level| parked(7.0, rank(0, level, 1), false));
        assert_eq!(resumes(&pair, 2), Some(1));
        let preceded = [7.0, 8.0].map(|virtual_seconds| {
            let mut parked = parked(virtual_seconds, rank(0, 0, 1), false);
            parked.line.other = Some(6.0);
            parked
        });
        assert_eq!(resumes(&preceded, 2), None);
        // One job must resume, and the state of the other one can be stored.
        assert_eq!(resumes(&preceded, 1), Some(0));
        let [first, mut second] = preceded;
        second.has_state = false;
        assert_eq!(resumes(&[first, second], 1), Some(1));
    }

    #[test]
    fn a_weight_is_a_number_between_its_bounds() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9, 0.009] {
            assert!(Weight::try_from(bad).is_err(), "{bad}");
        }
        assert_eq!(Weight::try_from(2.5).map(Weight::get), Ok(2.5));
    }

    #[test]
    fn schedule_slice_is_twenty_switches_and_at_least_two_seconds() {
        assert_eq!(slice_seconds(SLICE_SECONDS_MIN, 0.0), 2.0);
        assert_eq!(slice_seconds(SLICE_SECONDS_MIN, 0.5), 10.0);
    }
}
