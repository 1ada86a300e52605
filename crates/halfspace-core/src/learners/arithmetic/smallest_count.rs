//! The search for the smallest count that satisfies a condition, in a bounded number of steps.
//!
//! A loop that counts upwards until rounded numbers satisfy its condition may never end. Searches for such a count use
//! this one instead, which asks at most about 2 log2(limit) times, even if no count satisfies the condition.

/// The largest run length. Up to here, run lengths are exact as doubles and as numbers of JSON.
pub const RUN_LENGTH_MAX: u64 = (1 << 53) - 1;

/// The smallest count from 1 to `most >= 1` that satisfies the condition, or none. Once a count satisfies it, all
/// larger ones must too. Asks at most `2 log2(most) + 2` times.
pub fn smallest_count(most: u64, satisfies: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut few, mut enough) = (0, 1);
    while !satisfies(enough) {
        if enough >= most {
            return None;
        }
        few = enough;
        enough = enough.saturating_mul(2).min(most);
    }
    while enough - few > 1 {
        let middle = few + (enough - few) / 2;
        match satisfies(middle) {
            true => enough = middle,
            false => few = middle,
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn smallest_count_is_found_in_every_range() {
        for most in [1, 2, 3, 7, 8, 100] {
            for smallest in 1..=most {
                assert_eq!(
                    smallest_count(most, |count| count >= smallest),
                    Some(smallest)
                );
            }
            assert_eq!(smallest_count(most, |_| false), None, "{most}");
        }
        assert_eq!(
            smallest_count(u64::MAX, |count| count == u64::MAX),
            Some(u64::MAX)
        );
    }

    #[test]
    fn smallest_count_takes_few_steps_even_without_a_result() {
        for smallest in [1, 1 << 40, u64::MAX] {
            for never in [false, true] {
                let asked = Cell::new(0);
                smallest_count(u64::MAX, |count| {
                    asked.set(asked.get() + 1);
                    !never && count >= smallest
                });
                assert!(asked.get() <= 130, "{}", asked.get());
            }
        }
    }
}
