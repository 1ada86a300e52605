//! Permits: they limit how many uploads, streams, constructions, computations and event streams a process handles at
//! once, and how many of them one API key may have.
//!
//! A key gets a permit only while it holds fewer than are free ([`Shares`]). A single key can therefore take half of
//! the permits, rounded up, and the rest stays for others. On a service without keys, the one anonymous owner may take
//! all of them. A request that gets no permit waits up to five seconds before it is refused, but a stream is refused at
//! once. While a request waits because its key has used up its share, requests of other keys go first.
//!
//! `tower::limit` 0.5 does not know owners: all requests wait in the one queue of one semaphore, so a key with many
//! requests would hold up every other. `governor` 0.10 knows keys, but counts requests per time, not those that run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::jobs::Shares;
use crate::records::Owner;

use super::limits::Limits;
use super::problem::{Code, Problem};

/// Time that a request waits for a permit.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Permits {
    /// One permit per body that is read in the blocking pool.
    pub uploads: OwnerPermits,
    /// One permit per body that is answered line by line.
    pub streams: OwnerPermits,
    /// One permit per construction.
    pub constructions: OwnerPermits,
    /// One permit per computation of an answer that needs no examples.
    pub computations: OwnerPermits,
    /// One permit per client that follows a job.
    pub event_streams: OwnerPermits,
}

impl Permits {
    pub fn new(limits: &Limits) -> Self {
        let of = OwnerPermits::new;
        Self {
            uploads: of(PermitKind::Uploads, limits.uploads_max),
            streams: of(PermitKind::Streams, limits.streams_max),
            constructions: of(PermitKind::Constructions, limits.constructions_max),
            computations: of(PermitKind::Computations, limits.computations_max),
            event_streams: of(PermitKind::EventStreams, limits.event_streams_max()),
        }
    }
}

/// The use of a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PermitKind {
    Uploads,
    Streams,
    Constructions,
    Computations,
    EventStreams,
}

impl PermitKind {
    /// Returns the name of the limit on all permits, as in `GET /v1/limits`.
    fn limit(self) -> &'static str {
        match self {
            Self::Uploads => "uploads_max",
            Self::Streams => "streams_max",
            Self::Constructions => "constructions_max",
            Self::Computations => "computations_max",
            Self::EventStreams => "event_streams_max",
        }
    }

    /// Returns the gauge of permits in use.
    fn gauge(self) -> metrics::Gauge {
        let kind = match self {
            Self::Uploads => "uploads",
            Self::Streams => "streams",
            Self::Constructions => "constructions",
            Self::Computations => "computations",
            Self::EventStreams => "event-streams",
        };
        metrics::gauge!("halfspace_permits_in_use", "kind" => kind)
    }
}

/// The permits of one kind. Clones share the permits.
#[derive(Clone)]
pub struct OwnerPermits(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    kind: PermitKind,
    permits: u64,
    state: Mutex<PermitState>,
}

#[derive(Debug)]
struct PermitState {
    shares: Shares<Owner>,
    /// Waiting requests in order of arrival. The share rule refuses each of them at present.
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    owner: Owner,
    sender: oneshot::Sender<OwnerPermit>,
}

/// A permit, given back when it is dropped.
#[derive(Debug)]
pub struct OwnerPermit {
    pool: Arc<Pool>,
    owner: Owner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    kind: PermitKind,
    permits: u64,
    free: u64,
    held: u64,
}

impl OwnerPermits {
    fn new(kind: PermitKind, permits: u64) -> Self {
        Self(Arc::new(Pool {
            kind,
            permits,
            state: Mutex::new(PermitState {
                shares: Shares::new(permits, 1),
                waiting: VecDeque::new(),
            }),
        }))
    }

    /// Takes a permit without waiting.
    ///
    /// # Errors
    /// [`Exhausted`] if no permit is free or the owner holds its share.
    pub fn try_take(&self, owner: &Owner) -> Result<OwnerPermit, Exhausted> {
        let mut state = self.0.state();
        if self.0.admits(&state, owner) {
            return Ok(self.0.hand_out(&mut state, owner));
        }
        Err(self.0.exhausted(&state, owner))
    }

    /// Takes a permit, and waits while other requests hold too many.
    ///
    /// # Errors
    /// [`Exhausted`] if the owner gets no permit within five seconds.
    pub async fn take(&self, owner: &Owner) -> Result<OwnerPermit, Exhausted> {
        let receiver = {
            let mut state = self.0.state();
            if self.0.admits(&state, owner) {
                return Ok(self.0.hand_out(&mut state, owner));
            }
            let (sender, receiver) = oneshot::channel();
            // Without this line, ended requests would stay in the queue until a permit is returned.
            state.waiting.retain(|waiter| !waiter.sender.is_closed());
            let owner = owner.clone();
            state.waiting.push_back(Waiter { owner, sender });
            receiver
        };
        match tokio::time::timeout(TIMEOUT, receiver).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(self.0.exhausted(&self.0.state(), owner)),
        }
    }
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, PermitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admits(&self, state: &PermitState, owner: &Owner) -> bool {
        if owner.is_anonymous() {
            return state.shares.free() > 0;
        }
        state.shares.admits(owner)
    }

    fn hand_out(self: &Arc<Self>, state: &mut PermitState, owner: &Owner) -> OwnerPermit {
        state.shares.take(owner);
        self.kind.gauge().increment(1.0);
        OwnerPermit {
            pool: Arc::clone(self),
            owner: owner.clone(),
        }
    }

    fn exhausted(&self, state: &PermitState, owner: &Owner) -> Exhausted {
        Exhausted {
            kind: self.kind,
            permits: self.permits,
            free: state.shares.free(),
            held: state.shares.held(owner),
        }
    }

    /// Takes a permit back and grants free permits to waiting requests in their order.
    fn take_back(self: &Arc<Self>, owner: &Owner) {
        let mut granted = Vec::new();
        {
            let mut state = self.state();
            state.shares.give_back(owner);
            self.kind.gauge().decrement(1.0);
            // Each granted permit leaves fewer for the other requests, so one pass over the queue is
            // enough.
            let waiting = std::mem::take(&mut state.waiting);
            for waiter in waiting {
                if waiter.sender.is_closed() {
                    continue;
                }
                if self.admits(&state, &waiter.owner) {
                    let permit = self.hand_out(&mut state, &waiter.owner);
                    granted.push((waiter.sender, permit));
                } else {
                    state.waiting.push_back(waiter);
                }
            }
        }
        // The lock must be free here. The permit of a cancelled request is dropped at once and takes the
        // lock.
        for (sender, permit) in granted {
            let _ = sender.send(permit);
        }
    }
}

impl Drop for OwnerPermit {
    fn drop(&mut self) {
        self.pool.take_back(&self.owner);
    }
}

impl From<Exhausted> for Problem {
    fn from(exhausted: Exhausted) -> Self {
        let Exhausted {
            kind,
            permits,
            free,
            held,
        } = exhausted;
        let limit = kind.limit();
        let detail = if free == 0 {
            format!("All permits of {limit} ({permits}) are in use. Your key holds {held} of them.")
        } else {
            format!(
                "Your key holds {held} of the permits of {limit} ({permits}), and {free} are free. \
                 A key gets a permit only while the key holds fewer permits than are free. Retry after one of your \
                 requests has ended."
            )
        };
        let code = match kind {
            // Other streams may last for hours, so a client that waits for one should poll instead.
            PermitKind::EventStreams => Code::TOO_MANY_AT_ONCE,
            _ if free == 0 => Code::QUEUE_FULL,
            _ => Code::TOO_MANY_AT_ONCE,
        };
        Self::new(code, detail)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use proptest::prelude::*;

    use super::*;
    use crate::http::problem::Occurrence;

    fn owner(number: usize) -> Owner {
        Owner::new(format!("key_{number}"))
    }

    fn uploads(permits: u64) -> OwnerPermits {
        OwnerPermits::new(PermitKind::Uploads, permits)
    }

    fn code(refused: Result<OwnerPermit, Exhausted>) -> Code {
        let exhausted = refused.expect_err("a refusal");
        Problem::from(exhausted).code()
    }

    #[test]
    fn permits_refuse_a_full_share_with_429_and_a_full_pool_with_503() {
        let permits = uploads(4);
        let held: Vec<_> = (0..2)
            .map(|_| permits.try_take(&owner(1)).expect("half"))
            .collect();
        let exhausted = permits.try_take(&owner(1)).expect_err("its share");
        let document = Problem::from(exhausted).document(&Occurrence::default());
        assert_eq!((document.status, exhausted.held), (429, 2));
        assert!(document.detail.contains("uploads_max (4)"), "{document:?}");
        let others: Vec<_> = (2..4)
            .map(|key| permits.try_take(&owner(key)).expect("the rest"))
            .collect();
        assert_eq!(code(permits.try_take(&owner(5))), Code::QUEUE_FULL);
        drop((held, others));
        assert!(permits.try_take(&owner(1)).is_ok());
    }

    #[test]
    fn permits_of_an_open_service_have_no_shares() {
        let permits = uploads(3);
        let everybody = Owner::anonymous();
        let held: Vec<_> = (0..3).map(|_| permits.try_take(&everybody)).collect();
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(code(permits.try_take(&everybody)), Code::QUEUE_FULL);
    }

    #[test]
    fn event_stream_permits_have_a_limit_per_key() {
        let streams = OwnerPermits::new(PermitKind::EventStreams, 6);
        let held: Vec<_> = (0..3).map(|_| streams.try_take(&owner(1))).collect();
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(code(streams.try_take(&owner(1))), Code::TOO_MANY_AT_ONCE);
        assert!(streams.try_take(&owner(2)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_request_gets_a_returned_permit_or_is_refused() {
        let permits = uploads(2);
        let (one, two) = (owner(1), owner(2));
        let first = permits.take(&one).await.expect("a permit");
        let held = permits.take(&two).await.expect("the other");
        let mut waiting = Box::pin(permits.take(&two));
        assert!((&mut waiting).now_or_never().is_none());
        drop(held);
        assert!(waiting.await.is_ok());
        // The wait for the share of a key is bounded.
        assert_eq!(code(permits.take(&one).await), Code::TOO_MANY_AT_ONCE);
        drop(first);
        assert!(permits.try_take(&one).is_ok());
    }

    proptest! {
        /// Requests of several keys arrive, wait, are cancelled and end. The share rule holds after each
        /// step, and no request waits for a permit that the rule allows.
        #[test]
        fn permits_never_wait_while_the_share_rule_admits(
            permits in 1_u64..12,
            steps in prop::collection::vec((0_usize..4, 0_u8..4, any::<usize>()), 0..120),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time().start_paused(true).build().unwrap();
            let _entered = runtime.enter();
            let pool = uploads(permits);
            let owners: Vec<Owner> = (0..4).map(owner).collect();
            let mut held: Vec<OwnerPermit> = Vec::new();
            let mut waiting: Vec<(usize, BoxFuture<'static, Result<OwnerPermit, Exhausted>>)> =
                Vec::new();
            for (key, action, which) in steps {
                match action {
                    0 | 1 => {
                        let (pool, owner) = (pool.clone(), owners[key].clone());
                        waiting.push((key, async move { pool.take(&owner).await }.boxed()));
                    }
                    2 if !held.is_empty() => drop(held.swap_remove(which % held.len())),
                    3 if !waiting.is_empty() => drop(waiting.swap_remove(which % waiting.len())),
                    _ => {}
                }
                let mut left = Vec::new();
                for (key, mut request) in waiting {
                    match (&mut request).now_or_never() {
                        Some(Ok(permit)) => held.push(permit),
                        Some(Err(_)) => unreachable!("the clock stands still"),
                        None => left.push((key, request)),
                    }
                }
                waiting = left;
                let state = pool.0.state();
                prop_assert_eq!(state.shares.free() + held.len() as u64, permits);
                for (key, _) in &waiting {
                    prop_assert!(!pool.0.admits(&state, &owners[*key]));
                }
                for owner in &owners {
                    let own = held.iter().filter(|permit| permit.owner == *owner).count() as u64;
                    prop_assert_eq!(state.shares.held(owner), own);
                    prop_assert!(own <= permits.div_ceil(2));
                }
            }
        }
    }
}
