//! Quotas: what is counted, the limits of each owner and of all owners together, and the check against them.
//!
//! Three quantities are counted:
//!
//! - queued jobs, without running jobs and those that are computed before they are stored;
//! - sessions;
//! - stored bytes: of datasets, of the data of jobs that have not ended, of the documents of models, and of the
//!   snapshots and logs of sessions.
//!
//! Once a job is accepted, its results are stored even beyond the limits, and it may return to the queue beyond them.

/// The counted quantities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Queued jobs.
    pub jobs_queued: u64,
    /// Stored bytes.
    pub stored_bytes: u64,
    pub sessions: u64,
}

/// The limits of a service. An API key may have limits of its own: see [`crate::records::KeyQuotas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Limits of all owners together.
    pub in_all: Usage,
    /// Limits of each owner.
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
    /// The largest numbers that a database can count.
    pub const ENDLESS: Self = Self {
        jobs_queued: i64::MAX as u64,
        stored_bytes: i64::MAX as u64,
        sessions: i64::MAX as u64,
    };

    /// Upper bound of the usage that most inserts add.
    pub(super) const SMALL: Self = Self {
        jobs_queued: 1,
        stored_bytes: 16 << 20,
        sessions: 1,
    };

    /// Combines each quantity with the same quantity of another usage.
    fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            jobs_queued: of(self.jobs_queued, other.jobs_queued),
            stored_bytes: of(self.stored_bytes, other.stored_bytes),
            sessions: of(self.sessions, other.sessions),
        }
    }
}

/// Usage and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaStanding {
    /// Usage of the owner.
    pub own: Usage,
    /// Limits of the owner.
    pub own_max: Usage,
    /// Usage of all owners.
    pub all: Usage,
    /// Limits of all owners.
    pub all_max: Usage,
}

/// Selects the limits of the owner, those of all owners together, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limited {
    /// The limits of the owner.
    pub own: bool,
    /// The limits of all owners together.
    pub all: bool,
}

/// A limit that an insert would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is {max}; {used} are in use, and this request would add {asked}; {}",
    .limit.name(),
    .limit.remedy()
)]
pub struct OverQuota {
    pub limit: Limit,
    pub max: u64,
    /// Usage without the insert.
    pub used: u64,
    /// Usage that the insert would add.
    pub asked: u64,
}

/// The limits by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    JobsQueued,
    JobsQueuedPerKey,
    StoredBytes,
    StoredBytesPerKey,
    Sessions,
}

impl OverQuota {
    /// Whether the insert alone exceeds the limit, so that waiting does not help. For a single job or session it
    /// never counts as final, because a limit of 0 may be temporary.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.asked > self.max.max(1)
    }
}

impl Limit {
    /// The name in settings and in error messages.
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

    /// What makes room below the limit.
    fn remedy(self) -> &'static str {
        match self {
            Self::JobsQueued => "send it again when jobs have ended",
            Self::JobsQueuedPerKey => "wait for the end of a job, or cancel one",
            Self::StoredBytes | Self::StoredBytesPerKey => "delete datasets, models or jobs",
            Self::Sessions => "delete a session",
        }
    }
}

impl QuotaStanding {
    /// Checks whether `asked` fits within the limits in addition to the present usage. The limits of the owner come
    /// first. A quantity of 0 fits every limit.
    ///
    /// # Errors
    /// The first limit that would be exceeded.
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

    /// The limits that `asked` could exceed together with so many concurrent inserts of at most [`Usage::SMALL`]. If
    /// it is itself larger than that, it counts as near both limits.
    pub(super) fn near_limit(&self, asked: &Usage, others: u64) -> Limited {
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
        let mut near_limit = Limited::default();
        for (limit, used, crowd, max) in self.against(&crowd) {
            if crowd > 0 && used.saturating_add(crowd) > max {
                match limit {
                    Limit::JobsQueued | Limit::StoredBytes => near_limit.all = true,
                    Limit::JobsQueuedPerKey | Limit::StoredBytesPerKey | Limit::Sessions => {
                        near_limit.own = true;
                    }
                }
            }
        }
        near_limit
    }

    /// The standing before `asked` was added.
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

    fn standing(own: u64, all: u64) -> QuotaStanding {
        let usage = |jobs_queued| Usage {
            jobs_queued,
            ..Usage::default()
        };
        QuotaStanding {
            own: usage(own),
            own_max: TEN,
            all: usage(all),
            all_max: TEN,
        }
    }

    #[test]
    fn quota_admits_up_to_its_limit() {
        let one = Usage {
            jobs_queued: 1,
            ..Usage::default()
        };
        assert_eq!(standing(9, 9).admits(&one), Ok(()));
        let refused = |standing: QuotaStanding| standing.admits(&one).map_err(|over| over.limit);
        assert_eq!(refused(standing(10, 10)), Err(Limit::JobsQueuedPerKey));
        assert_eq!(refused(standing(3, 10)), Err(Limit::JobsQueued));
        // A request for another quantity is accepted.
        let bytes = Usage {
            stored_bytes: 10,
            ..Usage::default()
        };
        assert_eq!(standing(11, 11).admits(&bytes), Ok(()));
    }

    #[test]
    fn quota_near_limit_is_found_for_several_requests() {
        let one = Usage {
            jobs_queued: 1,
            ..Usage::default()
        };
        let near_limit = |own, all| Limited { own, all };
        assert_eq!(standing(5, 5).near_limit(&one, 4), near_limit(false, false));
        assert_eq!(standing(5, 6).near_limit(&one, 4), near_limit(false, true));
        assert_eq!(standing(6, 5).near_limit(&one, 4), near_limit(true, false));
        let large = Usage {
            stored_bytes: Usage::SMALL.stored_bytes + 1,
            ..Usage::default()
        };
        let endless = QuotaStanding {
            own_max: Usage::ENDLESS,
            all_max: Usage::ENDLESS,
            ..standing(0, 0)
        };
        assert_eq!(endless.near_limit(&large, 4), near_limit(true, true));
    }
}
