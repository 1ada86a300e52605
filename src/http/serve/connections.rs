//! The open connections, and the choice of the one that a new connection replaces.
//!
//! A connection whose client does not read is worth least, an idle one a little more, and one with a running answer
//! most. A client may hold half of the connections. It is one IPv4 address, or all IPv6 addresses with the same first
//! 64 bits, since even the smallest network holds that many.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{counter, gauge};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Connections beyond the limit, for probes.
const RESERVE: usize = 32;

#[derive(Clone)]
pub struct Connections(Arc<Mutex<OpenConnections>>);

struct OpenConnections {
    /// Concurrent connections without the reserve.
    limit: usize,
    next: u64,
    entries: HashMap<u64, Connection>,
}

struct Connection {
    /// The client. `None` for a trusted proxy.
    client: Option<IpAddr>,
    place: ConnectionUse,
    activity: Arc<Activity>,
    aborted: CancellationToken,
}

/// The requests that a connection may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionUse {
    /// Any request.
    Ordinary,
    /// Only `/livez` and `/readyz`, because the client already holds its whole share of ordinary connections.
    Reserve,
}

/// The right to a connection. Dropping it frees the place.
pub struct Admitted {
    connections: Connections,
    number: u64,
    place: ConnectionUse,
    activity: Arc<Activity>,
    aborted: CancellationToken,
}

/// The state of one connection, which the socket and the requests update.
#[derive(Debug)]
pub struct Activity {
    opened: Instant,
    /// Milliseconds from `opened` to the latest byte that was read or written.
    moved: AtomicU64,
    /// Whether the client does not read: a write has been pending since `moved`.
    is_blocked: AtomicBool,
    /// Requests whose answers have not ended.
    exchanges: AtomicU32,
    is_aborted: AtomicBool,
}

/// A request whose answer has not ended. Clones stand for the same request.
#[derive(Clone, Debug)]
pub struct AnswerGuard {
    _ended: Arc<Ended>,
}

#[derive(Debug)]
struct Ended(Arc<Activity>);

/// The worth of a connection. The connection with the lowest worth is aborted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Blocked,
    Idle,
    Answering,
}

impl Connections {
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Mutex::new(OpenConnections {
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            next: 0,
            entries: HashMap::new(),
        })))
    }

    /// Admits a connection from this address, or from a trusted proxy if there is none. At the limit, another
    /// connection is aborted.
    pub fn admit(&self, address: Option<IpAddr>) -> Admitted {
        let client = address.map(network);
        let mut open = self.lock();
        let place = open.make_place(client);
        let number = open.next;
        open.next += 1;
        let (activity, aborted) = (Arc::new(Activity::new()), CancellationToken::new());
        let entry = Connection {
            client,
            place,
            activity: Arc::clone(&activity),
            aborted: aborted.clone(),
        };
        open.entries.insert(number, entry);
        gauge!("halfspace_connections").increment(1.0);
        Admitted {
            connections: self.clone(),
            number,
            place,
            activity,
            aborted,
        }
    }

    /// Aborts the connection with the lowest worth.
    pub fn evict(&self) {
        self.lock().evict(Worth::Answering, |_| true);
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// Frees the place of a connection. An aborted connection has lost its place before it ends.
    fn remove(&mut self, number: u64) -> Option<Connection> {
        let removed = self.entries.remove(&number)?;
        gauge!("halfspace_connections").decrement(1.0);
        Some(removed)
    }

    /// Finds a place for a connection of this client, and aborts another connection if necessary.
    fn make_place(&mut self, client: Option<IpAddr>) -> ConnectionUse {
        let ordinary = |entry: &Connection| entry.place == ConnectionUse::Ordinary;
        let held = |entries: &HashMap<u64, Connection>| {
            let own = entries.values().filter(|entry| ordinary(entry));
            own.filter(|entry| entry.client == client).count()
        };
        let share_max = (self.limit / 2).max(1);
        if client.is_some() && held(&self.entries) >= share_max {
            let own = |entry: &Connection| ordinary(entry) && entry.client == client;
            // A running answer of this client has more worth than a new request of the same client.
            if self.evict(Worth::Idle, own) {
                return ConnectionUse::Ordinary;
            }
            let reserve = |entry: &Connection| entry.place == ConnectionUse::Reserve;
            if self.entries.values().filter(|entry| reserve(entry)).count() >= RESERVE {
                self.evict(Worth::Answering, reserve);
            }
            return ConnectionUse::Reserve;
        }
        if self
            .entries
            .values()
            .filter(|entry| ordinary(entry))
            .count()
            >= self.limit
        {
            self.evict(Worth::Answering, ordinary);
        }
        ConnectionUse::Ordinary
    }

    /// Aborts the connection with the lowest worth among those that `may` selects and that are worth at
    /// most `worth_max`. Of equal connections, the one without traffic for the longest time is aborted.
    /// Returns whether a connection was aborted.
    fn evict(&mut self, worth_max: Worth, may: impl Fn(&Connection) -> bool) -> bool {
        let ranked = self.entries.iter().filter(|(_, entry)| may(entry));
        let ranked = ranked.map(|(number, entry)| (entry.activity.rank(), *number));
        let least = ranked.filter(|((worth, _), _)| *worth <= worth_max).min();
        let Some(((worth, _), number)) = least else {
            return false;
        };
        if let Some(entry) = self.remove(number) {
            entry.activity.abort();
            entry.aborted.cancel();
        }
        let reason = match worth {
            Worth::Blocked => "connection-blocked",
            Worth::Idle => "connection-idle",
            Worth::Answering => "connection-answering",
        };
        counter!("halfspace_rejects_total", "reason" => reason).increment(1);
        true
    }
}

impl Admitted {
    /// The token that is cancelled when another connection replaces this one.
    pub fn aborted(&self) -> &CancellationToken {
        &self.aborted
    }

    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    pub fn place(&self) -> ConnectionUse {
        self.place
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        open.remove(self.number);
    }
}

impl Activity {
    fn new() -> Self {
        Self {
            opened: Instant::now(),
            moved: AtomicU64::new(0),
            is_blocked: AtomicBool::new(false),
            exchanges: AtomicU32::new(0),
            is_aborted: AtomicBool::new(false),
        }
    }

    /// Records that bytes were read or written.
    pub fn moved(&self) {
        let elapsed = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.store(elapsed, Ordering::Relaxed);
        self.is_blocked.store(false, Ordering::Relaxed);
    }

    /// Records that a write is pending.
    pub fn blocked(&self) {
        self.is_blocked.store(true, Ordering::Relaxed);
    }

    /// Marks the connection as aborted, so that unsent bytes are dropped.
    pub fn abort(&self) {
        self.is_aborted.store(true, Ordering::Relaxed);
    }

    pub fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::Relaxed)
    }

    /// Begins a request. The answer ends when the last clone of the guard is dropped.
    pub fn begin(self: &Arc<Self>) -> AnswerGuard {
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        AnswerGuard {
            _ended: Arc::new(Ended(Arc::clone(self))),
        }
    }

    /// Returns the worth of the connection and the time of its latest traffic.
    fn rank(&self) -> (Worth, Instant) {
        let moved = self.moved.load(Ordering::Relaxed);
        let since = self.opened + std::time::Duration::from_millis(moved);
        let worth = if self.is_blocked.load(Ordering::Relaxed) {
            Worth::Blocked
        } else if self.exchanges.load(Ordering::Relaxed) == 0 {
            Worth::Idle
        } else {
            Worth::Answering
        };
        (worth, since)
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.exchanges.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the client of an address.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let first = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(first))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn is_open(admitted: &Admitted) -> bool {
        !admitted.aborted().is_cancelled()
    }

    #[tokio::test(start_paused = true)]
    async fn connections_drop_the_longest_blocked_then_the_longest_idle() {
        let connections = Connections::new(6);
        let held = [(); 3].map(|()| connections.admit(Some(A)));
        for (index, one) in held.iter().enumerate() {
            tokio::time::advance(std::time::Duration::from_secs(1)).await;
            one.activity().moved();
            if index > 0 {
                one.activity().blocked();
            }
        }
        let fourth = connections.admit(Some(A));
        assert_eq!(held.each_ref().map(is_open), [true, false, true]);
        let fifth = connections.admit(Some(A));
        assert_eq!(held.each_ref().map(is_open), [true, false, false]);
        let sixth = connections.admit(Some(A));
        assert_eq!(held.each_ref().map(is_open), [false; 3]);
        assert!([&fourth, &fifth, &sixth].map(is_open) == [true; 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn busy_client_at_its_share_gets_the_reserve_of_connections() {
        let connections = Connections::new(4);
        let held = [(); 2].map(|()| connections.admit(Some(A)));
        let exchanges = held.each_ref().map(|one| one.activity().begin());
        for _ in 0..2 * RESERVE {
            assert_eq!(connections.admit(Some(A)).place(), ConnectionUse::Reserve);
        }
        let probes: Vec<_> = (0..=RESERVE).map(|_| connections.admit(Some(A))).collect();
        assert_eq!(probes.iter().filter(|one| is_open(one)).count(), RESERVE);
        assert_eq!(held.each_ref().map(is_open), [true; 2]);
        assert_eq!(connections.admit(Some(B)).place(), ConnectionUse::Ordinary);
        drop(exchanges);
        assert_eq!(connections.admit(Some(A)).place(), ConnectionUse::Ordinary);
        assert!(!is_open(&held[0]));
    }

    #[tokio::test(start_paused = true)]
    async fn full_connections_admit_new_clients_and_proxies_have_no_share() {
        let connections = Connections::new(4);
        let proxied: Vec<_> = (0..4).map(|_| connections.admit(None)).collect();
        let exchanges: Vec<_> = proxied.iter().map(|one| one.activity().begin()).collect();
        assert!(proxied.iter().all(is_open));
        let other = connections.admit(Some(B));
        assert_eq!(other.place(), ConnectionUse::Ordinary);
        assert_eq!(proxied.iter().filter(|one| is_open(one)).count(), 3);
        drop((exchanges, proxied));
        assert_eq!(connections.lock().entries.len(), 1);
    }

    #[test]
    fn connections_count_ipv6_clients_by_64_bits() {
        let address = |text: &str| network(text.parse().unwrap());
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:2"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
    }
}
