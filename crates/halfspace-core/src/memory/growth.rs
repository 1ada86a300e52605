//! Collections that grow only as far as the grant of the work on this thread allows.
//!
//! Use these functions instead of `collect` and `push` wherever a request determines the size of a collection. They
//! ask the grant before the collection grows, and once more after every item, for the bytes that the item itself
//! owns.

use std::collections::HashSet;
use std::hash::Hash;

use super::budget::{NoMemory, check, need};

/// Asks for a block of `count` values of the type `T`.
///
/// # Errors
/// Returns an error if the budget has too little free memory.
pub fn need_of<T>(count: usize) -> Result<(), NoMemory> {
    need((count as u64).saturating_mul(size_of::<T>() as u64))
}

/// Appends an item as far as the grant allows.
///
/// # Errors
/// Returns an error if the budget has too little free memory.
pub fn push<T>(items: &mut Vec<T>, item: T) -> Result<(), NoMemory> {
    if items.len() == items.capacity() {
        let more = items.len().max(4);
        // Both blocks exist while the items move.
        need_of::<T>(items.len() + more)?;
        items.reserve_exact(more);
    }
    items.push(item);
    check()
}

/// Collects items as far as the grant allows.
///
/// # Errors
/// The first error of an item, or an error if the budget has too little free memory.
pub fn collect<T, E: From<NoMemory>>(
    items: impl IntoIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let items = items.into_iter();
    let (least, _) = items.size_hint();
    need_of::<T>(least)?;
    let mut collected = Vec::with_capacity(least);
    for item in items {
        push(&mut collected, item?)?;
    }
    Ok(collected)
}

/// Inserts an item as far as the grant allows. Returns whether the item is new.
///
/// # Errors
/// Returns an error if the budget has too little free memory.
pub fn insert<T: Eq + Hash>(items: &mut HashSet<T>, item: T) -> Result<bool, NoMemory> {
    if items.len() == items.capacity() {
        // The new table has at most four places for each item, each with a byte beside the item.
        need_of::<(T, u8)>(4 * items.len().max(4))?;
    }
    let is_new = items.insert(item);
    check()?;
    Ok(is_new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryBudget;

    const MIB: u64 = 1 << 20;

    /// Grows a collection until the budget of 64 MiB refuses, and returns the largest number of bytes at any time.
    fn peak_of(mut grow: impl FnMut(u64) -> Result<(), NoMemory>) -> u64 {
        let budget = MemoryBudget::new(64 * MIB);
        let grant = budget.try_take(0).expect("room");
        grant.within(|| {
            let refused = (0..1 << 30).find_map(|item| grow(item).err());
            assert!(refused.expect("an end").is_final());
        });
        grant.peak()
    }

    #[test]
    fn collections_grow_within_their_budget() {
        let mut blocks = Vec::new();
        let own_bytes = peak_of(|_| push(&mut blocks, vec![0_u8; 1000]));
        let mut numbers = Vec::new();
        let of_vector = peak_of(|item| push(&mut numbers, [item; 16]));
        let mut set = HashSet::new();
        let of_set = peak_of(|item| insert(&mut set, [item; 16]).map(drop));
        for peak in [own_bytes, of_vector, of_set] {
            assert!((16 * MIB..57 * MIB).contains(&peak), "{peak}");
        }
    }

    #[test]
    fn collect_reserves_its_size_before_the_first_item() {
        let peak = peak_of(|_| collect((0..1 << 30).map(Ok::<u64, NoMemory>)).map(drop));
        assert!(peak < MIB, "{peak}");
    }

    #[test]
    fn collected_items_are_those_of_the_iterator() {
        let collected = collect((0..1000).map(Ok::<u64, NoMemory>));
        assert_eq!(collected, Ok((0..1000).collect::<Vec<u64>>()));
        let mut set = HashSet::new();
        assert_eq!(
            (insert(&mut set, 1), insert(&mut set, 1)),
            (Ok(true), Ok(false))
        );
    }
}
