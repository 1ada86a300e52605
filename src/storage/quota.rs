//! How much an owner, and all owners together, may have: what is counted, what the limits are, and
//! which of them a thing would pass.
//!
//! Counted are jobs that wait in the queue (not those that are computed before they are stored, nor
//! those that a worker holds), sessions, and bytes: of datasets, of the own data of jobs that have
//! not ended, of the documents of models, of the snapshots and logs of sessions. What a job leaves
//! when it ends is stored whatever the limits say, since the job was accepted; so is what goes back
//! to the queue.

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Jobs that wait.
    pub jobs_queued: u64,
    /// Bytes stored.
    pub stored_bytes: u64,
    /// Sessions.
    pub sessions: u64,
}

/// The limits of a service. An owner's own may differ: see [`crate::records::KeyQuotas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Of all owners together.
    pub in_all: Usage,
    /// Of each owner.
    pub per_owner: Usage,
}

impl Quotas {
    /// No limits.
    pub const UNLIMITED: Self = Self {
        in_all: Usage::ENDLESS,
        per_owner: Usage::ENDLESS,
    };
}

impl Usage {
    /// As much as a database can count.
    pub const ENDLESS: Self = Self {
        jobs_queued: i64::MAX as u64,
        stored_bytes: i64::MAX as u64,
        sessions: i64::MAX as u64,
    };

    /// What most things ask for at most.
    pub(super) const SMALL: Self = Self {
        jobs_queued: 1,
        stored_bytes: 16 << 20,
        sessions: 1,
    };

    /// Kind by kind with another.
    fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            jobs_queued: of(self.jobs_queued, other.jobs_queued),
            stored_bytes: of(self.stored_bytes, other.stored_bytes),
            sessions: of(self.sessions, other.sessions),
        }
    }
}

/// How much there is, and how much there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What the owner has.
    pub own: Usage,
    /// What the owner may have.
    pub own_max: Usage,
    /// What all owners have.
    pub all: Usage,
    /// What all owners may have.
    pub all_max: Usage,
}

/// Whose limits something is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limited {
    /// The owner's.
    pub own: bool,
    /// Those of all owners together.
    pub all: bool,
}

/// A limit that a thing would pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is {max}, {used} are used, and this would add {asked}", .limit.name())]
pub struct OverQuota {
    pub limit: Limit,
    pub max: u64,
    /// How much of it is used without the thing.
    pub used: u64,
    /// How much the thing would use.
    pub asked: u64,
}

/// The limits by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    JobsQueued,
    JobsQueuedPerKey,
    StoredBytes,
    StoredBytesPerKey,
    Sessions,
}

impl OverQuota {
    /// Whether the thing passes the limit by itself, so that no waiting helps. One thing alone does
    /// not: a limit of 0 may be set for a while.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.asked > self.max.max(1)
    }
}

impl Limit {
    /// The name in settings and refusals.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::JobsQueued => "jobs_queued_max",
            Self::JobsQueuedPerKey => "jobs_queued_per_key_max",
            Self::StoredBytes => "stored_bytes_max",
            Self::StoredBytesPerKey => "stored_bytes_per_key_max",
            Self::Sessions => "sessions_max",
        }
    }
}

impl Standing {
    /// Whether there is room for `asked` besides what there is. What asks for nothing of a kind is not
    /// held against its limit. The owner's own limits come first.
    ///
    /// # Errors
    /// The first limit that would be passed.
    pub fn admits(&self, asked: &Usage) -> Result<(), OverQuota> {
        for (limit, used, asked, max) in self.against(asked) {
            if asked > 0 && used.saturating_add(asked) > max {
                return Err(OverQuota {
                    limit,
                    max,
                    used,
                    asked,
                });
            }
        }
        Ok(())
    }

    /// Whose limits leave no room for `asked` if so many others of at most [`Usage::SMALL`] come at
    /// once. What is larger itself always counts as crowding both.
    pub(super) fn crowded(&self, asked: &Usage, others: u64) -> Limited {
        let larger = asked.with(&Usage::SMALL, |asked, small| u64::from(asked > small));
        if larger != Usage::default() {
            return Limited {
                own: true,
                all: true,
            };
        }
        let crowd = asked.with(&Usage::SMALL, |asked, small| match asked {
            0 => 0,
            _ => small.saturating_mul(others.saturating_add(1)),
        });
        let mut crowded = Limited::default();
        for (limit, used, crowd, max) in self.against(&crowd) {
            if crowd > 0 && used.saturating_add(crowd) > max {
                match limit {
                    Limit::JobsQueued | Limit::StoredBytes => crowded.all = true,
                    Limit::JobsQueuedPerKey | Limit::StoredBytesPerKey | Limit::Sessions => {
                        crowded.own = true;
                    }
                }
            }
        }
        crowded
    }

    /// As it was before `asked` was added.
    pub(super) fn without(self, asked: &Usage) -> Self {
        Self {
            own: self.own.with(asked, u64::saturating_sub),
            all: self.all.with(asked, u64::saturating_sub),
            ..self
        }
    }

    fn against(&self, asked: &Usage) -> [(Limit, u64, u64, u64); 5] {
        let Self {
            own,
            own_max,
            all,
            all_max,
        } = self;
        let (jobs, bytes) = (asked.jobs_queued, asked.stored_bytes);
        [
            (
                Limit::JobsQueuedPerKey,
                own.jobs_queued,
                jobs,
                own_max.jobs_queued,
            ),
            (
                Limit::StoredBytesPerKey,
                own.stored_bytes,
                bytes,
                own_max.stored_bytes,
            ),
            (
                Limit::Sessions,
                own.sessions,
                asked.sessions,
                own_max.sessions,
            ),
            (
                Limit::JobsQueued,
                all.jobs_queued,
                jobs,
                all_max.jobs_queued,
            ),
            (
                Limit::StoredBytes,
                all.stored_bytes,
                bytes,
                all_max.stored_bytes,
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Usage = Usage {
        jobs_queued: 10,
        stored_bytes: 10,
        sessions: 10,
    };

    fn standing(own: u64, all: u64) -> Standing {
        let usage = |jobs_queued| Usage {
            jobs_queued,
            ..Usage::default()
        };
        Standing {
            own: usage(own),
            own_max: TEN,
            all: usage(all),
            all_max: TEN,
        }
    }

    #[test]
    fn the_last_place_is_given_and_no_more() {
        let one = Usage {
            jobs_queued: 1,
            ..Usage::default()
        };
        assert_eq!(standing(9, 9).admits(&one), Ok(()));
        let refused = |standing: Standing| standing.admits(&one).map_err(|over| over.limit);
        assert_eq!(refused(standing(10, 10)), Err(Limit::JobsQueuedPerKey));
        assert_eq!(refused(standing(3, 10)), Err(Limit::JobsQueued));
        // Who asks for something else is not held up.
        let bytes = Usage {
            stored_bytes: 10,
            ..Usage::default()
        };
        assert_eq!(standing(11, 11).admits(&bytes), Ok(()));
    }

    #[test]
    fn there_is_room_for_a_crowd_or_not() {
        let one = Usage {
            jobs_queued: 1,
            ..Usage::default()
        };
        let crowded = |own, all| Limited { own, all };
        assert_eq!(standing(5, 5).crowded(&one, 4), crowded(false, false));
        assert_eq!(standing(5, 6).crowded(&one, 4), crowded(false, true));
        assert_eq!(standing(6, 5).crowded(&one, 4), crowded(true, false));
        let large = Usage {
            stored_bytes: Usage::SMALL.stored_bytes + 1,
            ..Usage::default()
        };
        let endless = Standing {
            own_max: Usage::ENDLESS,
            all_max: Usage::ENDLESS,
            ..standing(0, 0)
        };
        assert_eq!(endless.crowded(&large, 4), crowded(true, true));
    }
}
