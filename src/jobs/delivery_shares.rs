//! The concurrent deliveries of a process, and who may take the next one.
//!
//! One API key gets at most half of the deliveries, by the rule of [`Shares`]; on a service without keys, the one
//! anonymous owner may take all of them. A host gets at most a quarter, which the keys that call it share by the same
//! rule: even if many callbacks of one key hang there, those of another key get through. After a timeout, a URL gets
//! one delivery at a time, after a pause that doubles from five seconds to a minute, until it answers again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::records::Owner;
use crate::storage::{BusyReceivers, CallbackClaim};

use super::shares::Shares;

/// Concurrent deliveries of a process. A receiver that does not answer occupies one of them for the full time
/// limit.
const DELIVERIES_MAX: u64 = 64;

/// Concurrent deliveries to one host.
const HOST_DELIVERIES_MAX: u64 = DELIVERIES_MAX / 4;

/// The pause of a URL after its first delivery that timed out. Each further one doubles the pause.
const SILENCE_MIN: Duration = Duration::from_secs(5);

const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Silent URLs that are remembered. Beyond them, the one whose pause ends first is forgotten.
const SILENT_URLS_MAX: usize = 1_024;

pub(super) struct Deliveries {
    taken: Mutex<TakenDeliveries>,
    /// The time after which a delivery has ended.
    limit: Duration,
    pub(super) ended: Notify,
}

struct TakenDeliveries {
    by_owner: Shares<Owner>,
    /// The deliveries to each host, divided among the owners. A host without deliveries is absent.
    by_host: HashMap<String, Shares<Owner>>,
    silent: HashMap<(Owner, String), Silence>,
}

#[derive(Clone, Copy)]
struct Silence {
    timeouts: u32,
    /// No delivery to the URL begins before.
    until: Instant,
}

/// The receiver of a delivery.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    pub(super) owner: Owner,
    pub(super) host: String,
    pub(super) url_digest: String,
}

/// One delivery, which frees its place when it is dropped.
pub(super) struct Delivery {
    deliveries: Arc<Deliveries>,
    receiver: Receiver,
    /// Whether the URL was silent before.
    is_probe: bool,
}

impl Deliveries {
    pub(super) fn new(limit: Duration) -> Arc<Self> {
        Arc::new(Self {
            taken: Mutex::new(TakenDeliveries {
                by_owner: Shares::new(DELIVERIES_MAX, 1),
                by_host: HashMap::new(),
                silent: HashMap::new(),
            }),
            limit,
            ended: Notify::new(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, TakenDeliveries> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The receivers that get no delivery now, or `None` if no delivery is free. Without API keys there is only the
    /// anonymous owner, who may take all of them.
    pub(super) fn busy(&self) -> Option<BusyReceivers> {
        let now = Instant::now();
        let taken = self.taken();
        if taken.by_owner.free() == 0 {
            return None;
        }
        let named = |owner: &&Owner| !owner.is_anonymous();
        let mut busy = BusyReceivers {
            owners: taken
                .by_owner
                .at_their_share()
                .filter(named)
                .cloned()
                .collect(),
            ..BusyReceivers::default()
        };
        for (host, shares) in &taken.by_host {
            if shares.free() == 0 {
                busy.hosts.push(host.clone());
                continue;
            }
            let owners = shares.at_their_share().filter(named);
            let pairs = owners.map(|owner| (owner.clone(), host.clone()));
            busy.hosts_of_owners.extend(pairs);
        }
        let silent = taken
            .silent
            .iter()
            .filter(|(_, silence)| now < silence.until);
        busy.urls_of_owners = silent.map(|(url, _)| url.clone()).collect();
        Some(busy)
    }

    pub(super) fn take(self: &Arc<Self>, receiver: Receiver) -> Delivery {
        let mut taken = self.taken();
        taken.by_owner.take(&receiver.owner);
        taken.of_host(&receiver.host).take(&receiver.owner);
        // The next delivery waits for the end of this one. A delivery that is cut off ends with its limit.
        let until = Instant::now() + self.limit;
        let silence = taken.silent.get_mut(&receiver.url());
        let is_probe = silence.map(|silence| silence.until = until).is_some();
        drop(taken);
        Delivery {
            deliveries: Arc::clone(self),
            receiver,
            is_probe,
        }
    }
}

impl TakenDeliveries {
    fn of_host(&mut self, host: &str) -> &mut Shares<Owner> {
        let shares = self.by_host.entry(host.to_owned());
        shares.or_insert_with(|| Shares::new(HOST_DELIVERIES_MAX, 1))
    }

    /// Remembers that a URL is silent for the next pause.
    fn silence(&mut self, url: (Owner, String)) {
        let earlier = self.silent.get(&url).map_or(0, |silence| silence.timeouts);
        if earlier == 0 && self.silent.len() >= SILENT_URLS_MAX {
            let first = self.silent.iter().min_by_key(|(_, silence)| silence.until);
            let first = first.map(|(url, _)| url.clone());
            first.map(|first| self.silent.remove(&first));
        }
        let factor = 2_u32.checked_pow(earlier).unwrap_or(u32::MAX);
        let pause = SILENCE_MIN.saturating_mul(factor).min(SILENCE_MAX);
        let silence = Silence {
            timeouts: earlier.saturating_add(1),
            until: Instant::now() + pause,
        };
        self.silent.insert(url, silence);
    }
}

impl Receiver {
    pub(super) fn of(claim: &CallbackClaim) -> Self {
        Self {
            owner: claim.job.owner.clone(),
            host: claim.host(),
            url_digest: claim.url_digest(),
        }
    }

    fn url(&self) -> (Owner, String) {
        (self.owner.clone(), self.url_digest.clone())
    }
}

impl Delivery {
    /// Records whether the receiver let the delivery time out.
    pub(super) fn ended(self, has_timed_out: bool) {
        let mut taken = self.deliveries.taken();
        let url = self.receiver.url();
        if !has_timed_out {
            taken.silent.remove(&url);
        } else if self.is_probe || !taken.silent.contains_key(&url) {
            // Deliveries that began before the first one timed out are no further silence.
            taken.silence(url);
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let Receiver { owner, host, .. } = &self.receiver;
        let mut taken = self.deliveries.taken();
        taken.by_owner.give_back(owner);
        let shares = taken.of_host(host);
        shares.give_back(owner);
        if shares.free() == HOST_DELIVERIES_MAX {
            taken.by_host.remove(host);
        }
        drop(taken);
        self.deliveries.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn receiver(owner: &str, host: &str, url: &str) -> Receiver {
        Receiver {
            owner: Owner::new(owner),
            host: host.to_owned(),
            url_digest: url.to_owned(),
        }
    }

    fn is_admitted(deliveries: &Deliveries, receiver: &Receiver) -> bool {
        let of_owner = |name: &str| (receiver.owner.clone(), name.to_owned());
        deliveries.busy().is_some_and(|busy| {
            !busy.owners.contains(&receiver.owner)
                && !busy.hosts.contains(&receiver.host)
                && !busy.hosts_of_owners.contains(&of_owner(&receiver.host))
                && !busy
                    .urls_of_owners
                    .contains(&of_owner(&receiver.url_digest))
        })
    }

    /// Takes deliveries until no more is admitted.
    fn fill(deliveries: &Arc<Deliveries>, receiver: &Receiver) -> Vec<Delivery> {
        let mut held = Vec::new();
        while is_admitted(deliveries, receiver) {
            held.push(deliveries.take(receiver.clone()));
        }
        held
    }

    #[test]
    fn a_silent_host_leaves_deliveries_to_other_hosts_of_its_owner() {
        let deliveries = Deliveries::new(LIMIT);
        let hosts = [
            "a.example",
            "b.example",
            "c.example",
            "d.example",
            "e.example",
        ];
        let held: Vec<_> = hosts
            .iter()
            .map(|host| fill(&deliveries, &receiver("key_1", host, host)))
            .collect();
        let counts: Vec<_> = held.iter().map(Vec::len).collect();
        assert_eq!(counts, [8, 8, 8, 8, 0], "half of all are one owner's");
        let other = receiver("key_2", "e.example", "e");
        assert!(is_admitted(&deliveries, &other));
        drop(held);
        assert_eq!(deliveries.busy(), Some(BusyReceivers::default()));
    }

    #[test]
    fn callbacks_that_hang_at_a_host_leave_deliveries_to_other_owners_of_the_host() {
        let deliveries = Deliveries::new(LIMIT);
        let hanging = receiver("key_1", "shared.example", "a");
        let held = fill(&deliveries, &hanging);
        assert_eq!(held.len(), 8);
        // Neither another URL nor another port is another host.
        let elsewhere = receiver("key_1", "shared.example", "b");
        assert!(!is_admitted(&deliveries, &elsewhere));
        let other = receiver("key_2", "shared.example", "a");
        assert_eq!(fill(&deliveries, &other).len(), 4);
        // Several owners who hang there take the quarter of the host and no more.
        let others: Vec<_> = (2..40)
            .map(|number| {
                let owner = format!("key_{number}");
                fill(&deliveries, &receiver(&owner, "shared.example", "a"))
            })
            .collect();
        assert_eq!(held.len() + others.iter().map(Vec::len).sum::<usize>(), 16);
        assert!(is_admitted(
            &deliveries,
            &receiver("key_40", "b.example", "a")
        ));
    }

    #[test]
    fn the_single_owner_of_an_open_service_takes_the_quarter_of_a_host() {
        let deliveries = Deliveries::new(LIMIT);
        let open = receiver(Owner::anonymous().as_str(), "silent.example", "a");
        let held = fill(&deliveries, &open);
        assert_eq!(held.len(), 16);
        let other = receiver(Owner::anonymous().as_str(), "good.example", "b");
        assert!(is_admitted(&deliveries, &other));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_url_gets_one_delivery_at_a_time_after_growing_pauses() {
        let deliveries = Deliveries::new(LIMIT);
        let silent = receiver("key_1", "silent.example", "a");
        let first = fill(&deliveries, &silent);
        assert_eq!(first.len(), 8);
        tokio::time::advance(LIMIT).await;
        // They time out together, which counts once.
        first.into_iter().for_each(|delivery| delivery.ended(true));
        for pause in [5, 10, 20, 40, 60, 60] {
            tokio::time::advance(Duration::from_secs(pause - 1)).await;
            assert!(!is_admitted(&deliveries, &silent), "{pause}");
            let good = receiver("key_1", "silent.example", "b");
            assert!(is_admitted(&deliveries, &good), "another URL of the host");
            let other = receiver("key_2", "silent.example", "a");
            assert!(is_admitted(&deliveries, &other), "another owner of the URL");
            tokio::time::advance(Duration::from_secs(1)).await;
            let probe = fill(&deliveries, &silent);
            assert_eq!(probe.len(), 1, "{pause}");
            tokio::time::advance(LIMIT).await;
            probe.into_iter().for_each(|delivery| delivery.ended(true));
        }
        tokio::time::advance(SILENCE_MAX).await;
        let mut probe = fill(&deliveries, &silent);
        probe.pop().expect("a probe").ended(false);
        assert_eq!(fill(&deliveries, &silent).len(), 8, "it answers again");
    }

    #[test]
    fn silent_urls_beyond_the_limit_are_forgotten() {
        let deliveries = Deliveries::new(LIMIT);
        for number in 0..SILENT_URLS_MAX + 100 {
            let silent = receiver("key_1", "silent.example", &number.to_string());
            deliveries.take(silent).ended(true);
        }
        let busy = deliveries.busy().expect("free deliveries");
        assert_eq!(busy.urls_of_owners.len(), SILENT_URLS_MAX);
    }
}
