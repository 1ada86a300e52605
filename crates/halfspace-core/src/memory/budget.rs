//! The memory budget of a process, and the grants that work takes from it.
//!
//! An eighth of the budget is reserved for small grants (up to 1 MiB), so that large work cannot lock out small work.
//!
//! [`SpareMemory`] is memory that is held but can be given back at any moment. The budget counts it as free and takes
//! it back as soon as a grant needs it.
//!
//! If several threads compute one piece of work, [`SharedGrant`] charges the memory of the helping threads to the grant
//! of this work.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::allocator::{adopt, foreign, reset_peak, thread_live, thread_peak};

/// Largest grant, in bytes, that comes from the eighth of the budget for small work.
pub const SMALL_BYTES_MAX: u64 = 1 << 20;

/// Smallest step, in bytes, by which a grant grows. It also grows by at least an eighth of its size.
const STEP_BYTES: u64 = 256 << 10;

/// The memory for the work of a process. Clones share the same budget.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<Pools>);

#[derive(Debug)]
struct Pools {
    /// Bytes of the parts for small and for large grants.
    small: u64,
    large: u64,
    taken: Mutex<AllocatedBytes>,
    spare: Mutex<Option<Weak<dyn SpareMemory>>>,
}

/// Grants that nobody uses now and whose content can be restored, such as the states of idle sessions.
///
/// The methods may drop grants but must not take or grow one.
pub trait SpareMemory: Send + Sync {
    /// The bytes of each grant that could be given back now.
    fn bytes(&self) -> Vec<u64>;

    /// Drops grants that `fits` accepts, the least recently used first, until they add up to at least `bytes` bytes.
    fn give_back(&self, bytes: u64, fits: fn(u64) -> bool);
}

#[derive(Clone, Copy, Debug, Default)]
struct AllocatedBytes {
    small: u64,
    large: u64,
}

/// The budget has too little free memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the work needs {asked} bytes of memory, but only {free} of the {max} bytes for work are free"
)]
pub struct NoMemory {
    /// Total bytes that the work needs.
    pub asked: u64,
    /// Free bytes.
    pub free: u64,
    /// Largest number of bytes for one piece of work.
    pub max: u64,
}

impl NoMemory {
    /// Whether a retry is pointless, because the work needs more than the budget can ever give to one piece of work.
    pub fn is_final(&self) -> bool {
        self.asked > self.max
    }
}

impl MemoryBudget {
    /// Creates a budget of `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        let small = bytes / 8;
        Self(Arc::new(Pools {
            small,
            large: bytes - small,
            taken: Mutex::default(),
            spare: Mutex::default(),
        }))
    }

    /// Names the memory that the budget takes back when a grant needs it. This replaces an earlier one.
    pub fn take_back_from(&self, spare: Weak<dyn SpareMemory>) {
        *self.0.spare.lock().unwrap_or_else(PoisonError::into_inner) = Some(spare);
    }

    /// Creates a budget that is larger than the memory of any machine.
    pub fn unlimited() -> Self {
        Self::new(1 << 62)
    }

    /// The largest grant in bytes.
    pub fn bytes_max(&self) -> u64 {
        self.0.large
    }

    /// The largest number of bytes that a new grant can have now. Spare memory counts as free.
    pub fn available(&self) -> u64 {
        // We look up the spare memory first. If it is used again meanwhile, it still counts as free here, and only
        // the grant is refused.
        let spare = self.0.spare_bytes();
        let taken = *self.0.taken();
        let small = self.0.small - taken.small.saturating_sub(spare.small);
        let large = self.0.large - taken.large.saturating_sub(spare.large);
        large.max(small.min(SMALL_BYTES_MAX))
    }

    /// The bytes of all grants.
    pub fn taken(&self) -> u64 {
        let taken = *self.0.taken();
        taken.small + taken.large
    }

    /// Takes a grant of `bytes` bytes.
    ///
    /// # Errors
    /// Returns an error if the budget has too little free memory.
    pub fn try_take(&self, bytes: u64) -> Result<Grant, NoMemory> {
        let grant = Grant(Arc::new(Account {
            budget: self.clone(),
            bytes: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            helped_peak: AtomicU64::new(0),
            refused: Mutex::default(),
            is_late: AtomicBool::new(false),
        }));
        grant.grow_to(bytes)?;
        Ok(grant)
    }
}

impl Pools {
    fn taken(&self) -> MutexGuard<'_, AllocatedBytes> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spare(&self) -> Option<Arc<dyn SpareMemory>> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.as_ref().and_then(Weak::upgrade)
    }

    fn spare_bytes(&self) -> AllocatedBytes {
        let mut bytes = AllocatedBytes::default();
        for grant in self.spare().map(|spare| spare.bytes()).unwrap_or_default() {
            *bytes.part(grant) += grant;
        }
        bytes
    }

    /// Does the same as [`Self::exchange`], but takes back spare memory if too little is free and the spare memory
    /// makes up for it.
    fn exchange_with_spare(
        &self,
        held: &AtomicU64,
        to: u64,
        is_due: impl Fn(u64) -> bool,
    ) -> Result<(), NoMemory> {
        let Err(full) = self.exchange(held, to, &is_due) else {
            return Ok(());
        };
        let missing = to - full.free;
        if let Some(spare) = self.spare()
            && missing <= *self.spare_bytes().part(to)
        {
            // These blocks belong to other work, so this thread does not count them.
            foreign(|| match to <= SMALL_BYTES_MAX {
                true => spare.give_back(missing, |bytes| bytes <= SMALL_BYTES_MAX),
                false => spare.give_back(missing, |bytes| bytes > SMALL_BYTES_MAX),
            });
        }
        self.exchange(held, to, is_due)
    }

    /// Replaces a grant of `held` bytes with one of `to` bytes if `is_due` agrees, given the held bytes. The lock
    /// orders the changes of several threads.
    fn exchange(
        &self,
        held: &AtomicU64,
        to: u64,
        is_due: impl FnOnce(u64) -> bool,
    ) -> Result<(), NoMemory> {
        let mut taken = self.taken();
        let from = held.load(Ordering::Relaxed);
        if !is_due(from) {
            return Ok(());
        }
        let mut after = *taken;
        *after.part(from) -= from;
        let (free, max) = match to <= SMALL_BYTES_MAX {
            true => (self.small - after.small, self.small),
            false => (self.large - after.large, self.large),
        };
        if to > free {
            let (asked, max) = (to, max.max(self.large));
            return Err(NoMemory { asked, free, max });
        }
        *after.part(to) += to;
        *taken = after;
        held.store(to, Ordering::Relaxed);
        Ok(())
    }
}

impl AllocatedBytes {
    fn part(&mut self, bytes: u64) -> &mut u64 {
        match bytes <= SMALL_BYTES_MAX {
            true => &mut self.small,
            false => &mut self.large,
        }
    }
}

/// Memory that a piece of work has taken. Clones share the same grant, and the last clone returns the memory
/// to the budget when it is dropped.
#[derive(Clone, Debug)]
pub struct Grant(Arc<Account>);

#[derive(Debug)]
struct Account {
    budget: MemoryBudget,
    bytes: AtomicU64,
    peak: AtomicU64,
    /// A bound on the bytes of the threads that helped at the same time: their largest peak, times their number.
    helped_peak: AtomicU64,
    refused: Mutex<Option<NoMemory>>,
    /// Whether the time of [`Grant::within_time`] has ended.
    is_late: AtomicBool,
}

impl Account {
    fn refused(&self) -> MutexGuard<'_, Option<NoMemory>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        // A smaller grant of 0 bytes always succeeds.
        let _ = self.budget.0.exchange(&self.bytes, 0, |_| true);
    }
}

impl Grant {
    /// The bytes of the grant.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// An upper bound of the bytes that the work held at any time inside [`Self::within`], also of work on this thread
    /// that has not ended. It is the peak itself unless threads helped.
    pub fn peak(&self) -> u64 {
        let present = CURRENT.with_borrow(|current| match current {
            Some((grant, begun)) if Arc::ptr_eq(&grant.0, &self.0) => {
                u64::try_from(thread_peak() - begun).unwrap_or(0)
            }
            _ => 0,
        });
        let own = self.0.peak.load(Ordering::Relaxed).max(present);
        own + self.0.helped_peak.load(Ordering::Relaxed)
    }

    /// The last refusal of [`check`] or [`need`] inside [`Self::within`]. This is where you find the reason if work
    /// ended because of its stop flag.
    pub fn refused(&self) -> Option<NoMemory> {
        *self.0.refused()
    }

    /// Grows the grant to `bytes` bytes if it is smaller.
    ///
    /// # Errors
    /// Returns an error if the budget has too little free memory. The grant then keeps its size.
    pub fn grow_to(&self, bytes: u64) -> Result<(), NoMemory> {
        let pools = &self.0.budget.0;
        pools.exchange_with_spare(&self.0.bytes, bytes, |held| bytes > held)
    }

    /// Shrinks the grant to `bytes` bytes if it is larger. It keeps its size if it would become a small grant and the
    /// part for these is full.
    pub fn shrink_to(&self, bytes: u64) {
        let pools = &self.0.budget.0;
        // A refused exchange leaves the grant as it is.
        let _ = pools.exchange(&self.0.bytes, bytes, |held| bytes < held);
    }

    /// Runs work on this thread under the grant, which [`check`] and [`need`] grow meanwhile.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.within_since(thread_live(), work)
    }

    /// Runs work on this thread as [`Self::settled`] does, for a limited time. Once it is over, the work's calls of
    /// [`check`] and [`need`] fail as if no memory were left, and [`Self::is_late`] tells you the true reason.
    pub fn within_time<T>(&self, time: ComputingTime, work: impl FnOnce() -> T) -> T {
        let until = (time.spent)().saturating_add(time.most);
        let outer = DEADLINE.with(|deadline| deadline.replace(Some((time.spent, until))));
        let _restored = RestoredDeadline(outer);
        self.settled(work)
    }

    /// Ends the time of the work at once, because nobody waits for its result any more.
    pub fn end_time(&self) {
        self.0.is_late.store(true, Ordering::Relaxed);
    }

    /// Whether the work ran out of time, see [`Self::within_time`].
    pub fn is_late(&self) -> bool {
        self.0.is_late.load(Ordering::Relaxed)
    }

    fn within_since<T>(&self, begun: i64, work: impl FnOnce() -> T) -> T {
        reset_peak();
        let own = Some((self.clone(), begun));
        let outer = CURRENT.with(|current| current.replace(own));
        let _restored = Restored { outer: Some(outer) };
        let done = work();
        let peak = u64::try_from(thread_peak() - begun).unwrap_or(0);
        self.0.peak.fetch_max(peak, Ordering::Relaxed);
        done
    }

    /// Runs work as [`Self::within`] does, then shrinks the grant to the bytes that are still allocated.
    pub fn settled<T>(&self, work: impl FnOnce() -> T) -> T {
        self.settled_upon(0, work)
    }

    /// Does the same as [`Self::settled`] for work that changes a value whose bytes the grant already holds. Another
    /// thread may have allocated them.
    pub fn resettled<T>(&self, work: impl FnOnce() -> T) -> T {
        self.settled_upon(signed(self.bytes()), work)
    }

    fn settled_upon<T>(&self, held: i64, work: impl FnOnce() -> T) -> T {
        let begun = thread_live() - held;
        let done = self.within_since(begun, work);
        let left = u64::try_from(thread_live() - begun).unwrap_or(0);
        self.shrink_to(left);
        if let Err(refusal) = self.grow_to(left) {
            *self.0.refused() = Some(refusal);
        }
        done
    }
}

/// A grant is at most 2^62.
fn signed(bytes: u64) -> i64 {
    bytes as i64
}

thread_local! {
    /// The grant of the work on this thread, and the allocated bytes of the thread when the work began.
    static CURRENT: RefCell<Option<(Grant, i64)>> = const { RefCell::new(None) };
}

/// The processor time that work may use.
#[derive(Clone, Copy, Debug)]
pub struct ComputingTime {
    /// Returns the processor time that the calling thread has used.
    pub spent: fn() -> Duration,
    pub most: Duration,
}

/// Only one in so many calls of [`check`] and [`need`] looks at the clock, which costs more than comparing numbers.
const CALLS_BETWEEN_LOOKS: u32 = 64;

/// The clock of some work, and the reading at which the work must end.
type Deadline = (fn() -> Duration, Duration);

thread_local! {
    /// The deadline of the work on this thread.
    static DEADLINE: Cell<Option<Deadline>> = const { Cell::new(None) };

    /// Calls since the last look at the clock.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// Restores the deadline of the enclosing work, even after a panic.
struct RestoredDeadline(Option<Deadline>);

impl Drop for RestoredDeadline {
    fn drop(&mut self) {
        DEADLINE.with(|deadline| deadline.set(self.0));
    }
}

/// Whether the time of the work on this thread is over.
fn is_late() -> bool {
    let Some((spent, until)) = DEADLINE.with(Cell::get) else {
        return false;
    };
    let calls = CALLS.with(|calls| calls.replace((calls.get() + 1) % CALLS_BETWEEN_LOOKS));
    calls == 0 && spent() > until
}

/// Restores the grant of the enclosing work, even after a panic.
struct Restored {
    outer: Option<Option<(Grant, i64)>>,
}

impl Drop for Restored {
    fn drop(&mut self) {
        let outer = self.outer.take().flatten();
        CURRENT.with(|current| current.replace(outer));
    }
}

/// The grant of the work on one thread, shared with the threads that help.
///
/// On a helping thread, [`check`] and [`need`] count the helper's own bytes and those that the owner of the work had
/// at [`Self::of_this_thread`]. Bytes that a helper has handed over count for the owner from [`Self::adopt`] on.
#[derive(Debug)]
pub struct SharedGrant {
    /// The grant, and the bytes that the work used at the creation of this value.
    current: Option<(Grant, i64)>,
    /// Bytes that were handed over and not adopted yet.
    left: AtomicI64,
    /// The largest peak of a helper.
    peak: AtomicI64,
    /// The number of present helpers.
    present: AtomicI64,
    /// The maximum of `present`.
    present_max: AtomicI64,
}

impl SharedGrant {
    /// Shares the grant of the work on this thread.
    pub fn of_this_thread() -> Self {
        let used = |(grant, begun): &(Grant, i64)| (grant.clone(), thread_live() - begun);
        Self {
            current: CURRENT.with_borrow(|current| current.as_ref().map(used)),
            left: AtomicI64::new(0),
            peak: AtomicI64::new(0),
            present: AtomicI64::new(0),
            present_max: AtomicI64::new(0),
        }
    }

    /// Runs a part of the work on a helping thread. `work` receives a function that hands over the bytes that the
    /// helper has left allocated, and `help` calls it once more at the end.
    pub fn help<T>(&self, work: impl FnOnce(&dyn Fn()) -> T) -> T {
        let present = self.present.fetch_add(1, Ordering::Relaxed) + 1;
        self.present_max.fetch_max(present, Ordering::Relaxed);
        let begun = thread_live();
        reset_peak();
        let shared = self.current.as_ref();
        let own = shared.map(|(grant, used)| (grant.clone(), begun - used));
        let outer = CURRENT.with(|current| current.replace(own));
        let restored = Restored { outer: Some(outer) };
        let hand_over = || {
            let left = thread_live() - begun;
            adopt(-left);
            self.left.fetch_add(left, Ordering::Relaxed);
        };
        let done = work(&hand_over);
        drop(restored);
        self.peak
            .fetch_max(thread_peak() - begun, Ordering::Relaxed);
        hand_over();
        self.present.fetch_sub(1, Ordering::Relaxed);
        done
    }

    /// Takes over the blocks that the helpers have handed over. The owner of the work calls this.
    pub fn adopt(&self) {
        adopt(self.left.swap(0, Ordering::Relaxed));
    }

    /// Ends the help: takes over the last bytes, and adds a bound on the bytes of the helpers to the peak of the
    /// grant.
    pub fn finish(self) {
        self.adopt();
        if let Some((grant, _)) = self.current {
            let peak = self.peak.into_inner() * self.present_max.into_inner();
            let peak = u64::try_from(peak).unwrap_or(0);
            grant.0.helped_peak.fetch_max(peak, Ordering::Relaxed);
        }
    }
}

/// Compares the allocated bytes of the work on this thread with its grant, which grows if it is too small.
///
/// # Errors
/// Returns an error if the budget has too little free memory.
pub fn check() -> Result<(), NoMemory> {
    need(0)
}

/// Grows the grant of the work on this thread if `bytes` more bytes would exceed it. Work without a grant has
/// no limit.
///
/// # Errors
/// Returns an error if the budget has too little free memory.
pub fn need(bytes: u64) -> Result<(), NoMemory> {
    need_beside(|used| used.saturating_add(bytes))
}

/// Asks for three times the bytes that the work on this thread has allocated, because a collection of unknown length
/// doubles and both blocks exist while it moves. A reader asks so before each piece for a parser that does not ask.
///
/// # Errors
/// Returns an error if the budget has too little free memory.
pub fn need_to_double() -> Result<(), NoMemory> {
    need_beside(|used| used.saturating_mul(3))
}

/// Grows the grant to what `needed` makes of the bytes that the work has allocated.
fn need_beside(needed: impl FnOnce(u64) -> u64) -> Result<(), NoMemory> {
    CURRENT.with_borrow(|current| {
        let Some((grant, begun)) = current else {
            return Ok(());
        };
        let used = u64::try_from(thread_live() - begun).unwrap_or(0);
        let needed = needed(used);
        let held = grant.bytes();
        if grant.is_late() || is_late() {
            grant.0.is_late.store(true, Ordering::Relaxed);
            return Err(NoMemory {
                asked: needed,
                free: 0,
                max: 0,
            });
        }
        if needed <= held {
            return Ok(());
        }
        let ample = needed.max(held + (held / 8).max(STEP_BYTES));
        let grown = grant.grow_to(ample).or_else(|_| grant.grow_to(needed));
        grown.inspect_err(|refusal| *grant.0.refused() = Some(*refusal))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn budget_keeps_an_eighth_for_small_grants() {
        let budget = MemoryBudget::new(64 * MIB);
        assert_eq!(budget.bytes_max(), 56 * MIB);
        let large = budget.try_take(56 * MIB).expect("all that is large");
        let refused = budget.try_take(MIB + 1).expect_err("nothing large is left");
        assert_eq!((refused.free, refused.is_final()), (0, false));
        let small: Vec<_> = (0..8)
            .map(|_| budget.try_take(MIB).expect("small"))
            .collect();
        assert!(budget.try_take(1).is_err());
        assert_eq!((budget.taken(), budget.available()), (64 * MIB, 0));
        drop((large, small));
        assert_eq!((budget.taken(), budget.available()), (0, 56 * MIB));
        assert!(budget.try_take(57 * MIB).expect_err("too large").is_final());
    }

    /// Grants in the order of their last use.
    #[derive(Default)]
    struct Idle(Mutex<Vec<Grant>>);

    impl SpareMemory for Idle {
        fn bytes(&self) -> Vec<u64> {
            let idle = self.0.lock().expect("a lock");
            idle.iter().map(Grant::bytes).collect()
        }

        fn give_back(&self, bytes: u64, fits: fn(u64) -> bool) {
            let mut idle = self.0.lock().expect("a lock");
            let mut given_back = 0;
            while given_back < bytes
                && let Some(at) = idle.iter().position(|grant| fits(grant.bytes()))
            {
                given_back += idle.remove(at).bytes();
            }
        }
    }

    #[test]
    fn spare_memory_is_taken_back_as_far_as_a_grant_needs_it() {
        let budget = MemoryBudget::new(64 * MIB);
        let idle = Arc::<Idle>::default();
        let spare: Weak<Idle> = Arc::downgrade(&idle);
        budget.take_back_from(spare);
        let grants = [MIB, 20 * MIB, 10 * MIB, 20 * MIB];
        for bytes in grants {
            let grant = budget.try_take(bytes).expect("room");
            idle.0.lock().expect("a lock").push(grant);
        }
        assert_eq!((budget.taken(), budget.available()), (51 * MIB, 56 * MIB));
        // 6 MiB are free, and the first large grant is enough. The small one is in the other part of the budget.
        let work = budget.try_take(24 * MIB).expect("spare memory");
        assert_eq!(idle.bytes(), [MIB, 10 * MIB, 20 * MIB]);
        assert_eq!(budget.available(), 32 * MIB);
        // More than all spare memory: nothing leaves in vain.
        assert!(budget.try_take(33 * MIB).is_err());
        assert_eq!(idle.bytes(), [MIB, 10 * MIB, 20 * MIB]);
        work.grow_to(56 * MIB).expect("growth takes it back too");
        assert_eq!(idle.bytes(), [MIB]);
        let small: Vec<_> = (0..8)
            .map(|_| budget.try_take(MIB).expect("small work too"))
            .collect();
        assert_eq!((small.len(), idle.bytes().len()), (8, 0));
    }

    #[test]
    fn grant_does_not_count_freed_blocks_of_spare_memory() {
        struct Block(Mutex<Option<(Grant, Vec<u8>)>>);

        impl SpareMemory for Block {
            fn bytes(&self) -> Vec<u64> {
                let block = self.0.lock().expect("a lock");
                block.iter().map(|(grant, _)| grant.bytes()).collect()
            }

            fn give_back(&self, _: u64, _: fn(u64) -> bool) {
                *self.0.lock().expect("a lock") = None;
            }
        }

        let budget = MemoryBudget::new(64 * MIB);
        let grant = budget.try_take(50 * MIB).expect("room");
        let held = std::thread::spawn(|| vec![1_u8; 50 << 20]);
        let held = held.join().expect("a block");
        let block = Arc::new(Block(Mutex::new(Some((grant, held)))));
        let spare: Weak<Block> = Arc::downgrade(&block);
        budget.take_back_from(spare);
        let work = budget.try_take(2 * MIB).expect("room");
        work.within(|| {
            let own = vec![1_u8; 40 << 20];
            assert_eq!(check(), Ok(()));
            assert!(block.bytes().is_empty());
            assert!(work.bytes() >= 40 * MIB);
            assert!(need(20 * MIB).is_err(), "the own bytes are still counted");
            drop(own);
        });
    }

    #[test]
    fn grant_grows_with_allocations_up_to_the_budget() {
        let budget = MemoryBudget::new(64 * MIB);
        let grant = budget.try_take(MIB).expect("room");
        grant.within(|| {
            let block = vec![1_u8; 5 << 20];
            assert_eq!(check(), Ok(()));
            assert!(grant.bytes() >= 5 * MIB);
            assert!(need(60 * MIB).expect_err("too much").is_final());
            assert_eq!(need(51 * MIB), Ok(()));
            drop(block);
        });
        assert_eq!(grant.peak(), 5 * MIB);
        let other = budget.try_take(MIB / 2).expect("small");
        assert!(other.grow_to(2 * MIB).is_err());
        drop(grant);
        assert_eq!(other.grow_to(2 * MIB), Ok(()));
        assert_eq!(budget.taken(), 2 * MIB);
    }

    #[test]
    fn a_resettled_grant_follows_a_value_that_another_thread_has_made() {
        let budget = MemoryBudget::new(64 * MIB);
        let grant = budget.try_take(0).expect("room");
        let (maker, before) = (grant.clone(), grant.clone());
        let made = std::thread::spawn(move || maker.settled(|| vec![1_u8; 4 << 20]));
        let mut value = made.join().expect("a value");
        assert_eq!(grant.bytes(), 4 * MIB);
        grant.resettled(|| {
            let refusal = need(60 * MIB).expect_err("more than there is");
            assert_eq!(grant.refused(), Some(refusal));
            value.reserve_exact(8 << 20);
        });
        assert_eq!(before.bytes(), 12 * MIB);
        grant.resettled(|| value.shrink_to_fit());
        assert_eq!(grant.bytes(), 4 * MIB);
    }

    #[test]
    fn settled_grant_has_the_bytes_that_are_left() {
        let budget = MemoryBudget::new(64 * MIB);
        let grant = budget.try_take(20 * MIB).expect("room");
        let kept = grant.settled(|| {
            let _gone = vec![1_u8; 8 << 20];
            vec![1_u8; 4 << 20]
        });
        assert_eq!((grant.bytes(), grant.peak()), (4 * MIB, 12 * MIB));
        drop(kept);
    }

    #[test]
    fn shared_grant_counts_handed_over_bytes_once() {
        const BYTES: i64 = 1 << 20;
        let begun = thread_live();
        let shared = SharedGrant::of_this_thread();
        let (give, take) = mpsc::sync_channel(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                shared.help(|hand_over| {
                    for _ in 0..3 {
                        let block = vec![1_u8; BYTES as usize];
                        hand_over();
                        give.send(block).expect("a receiver");
                    }
                });
                drop(give);
            });
            for block in take {
                shared.adopt();
                assert!((BYTES..2 * BYTES + BYTES / 2).contains(&(thread_live() - begun)));
                drop(block);
            }
        });
        shared.finish();
        assert!((thread_live() - begun).abs() < BYTES / 8);
    }

    #[test]
    fn the_bytes_of_helpers_count_against_the_same_grant() {
        let budget = MemoryBudget::new(64 * MIB);
        let grant = budget.try_take(MIB).expect("room");
        grant.within(|| {
            let own = vec![1_u8; 4 << 20];
            let shared = SharedGrant::of_this_thread();
            let helped = std::thread::scope(|scope| {
                let help = || {
                    shared.help(|_| {
                        let scratch = vec![1_u8; 8 << 20];
                        assert_eq!(check(), Ok(()));
                        assert!(need(60 * MIB).is_err());
                        drop(scratch);
                        vec![1_u8; 2 << 20]
                    })
                };
                scope.spawn(help).join().expect("a block")
            });
            assert!(grant.bytes() >= 12 * MIB);
            let before = thread_live();
            shared.finish();
            assert!(thread_live() - before >= 2 << 20);
            drop((own, helped));
        });
        assert!(
            (12 * MIB..15 * MIB).contains(&grant.peak()),
            "{}",
            grant.peak()
        );
        drop(grant);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn several_threads_change_one_grant() {
        let budget = MemoryBudget::new(64 * MIB);
        let grant = budget.try_take(0).expect("room");
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                let grant = &grant;
                scope.spawn(move || {
                    for bytes in 0..1_000 {
                        grant.grow_to(bytes * thread * 1_000).expect("room");
                        grant.shrink_to(bytes * 500);
                    }
                });
            }
        });
        assert_eq!(budget.taken(), grant.bytes());
        drop(grant);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn computing_time_past_its_limit_refuses_all_further_work() {
        thread_local! {
            static NOW: Cell<u64> = const { Cell::new(7) };
        }
        let time = ComputingTime {
            spent: || Duration::from_secs(NOW.get()),
            most: Duration::from_secs(2),
        };
        let budget = MemoryBudget::new(64 * MIB);
        let grant = budget.try_take(MIB).expect("room");
        let calls = grant.within_time(time, || {
            for now in [8, 9] {
                NOW.set(now);
                assert!((0..1000).all(|_| check().is_ok()), "{now}");
            }
            NOW.set(10);
            (0..1000).take_while(|_| check().is_ok()).count()
        });
        assert!(calls < CALLS_BETWEEN_LOOKS as usize, "{calls}");
        assert!(grant.is_late() && grant.within(check).is_err());
        let abandoned = budget.try_take(MIB).expect("room");
        let rest = abandoned.within(|| {
            assert_eq!(check(), Ok(()));
            abandoned.end_time();
            check()
        });
        assert!(rest.is_err());
        let other = budget.try_take(MIB).expect("room");
        assert_eq!(other.within(|| (0..1000).try_for_each(|_| check())), Ok(()));
    }

    #[test]
    fn work_without_a_grant_is_not_limited() {
        assert_eq!(need(u64::MAX), Ok(()));
    }
}
