//! The share rule: divides a fixed number of permits among keys, however many each of them asks for.
//!
//! A key takes a permit only while `weight` times the permits that it holds are fewer than the free ones. With weight
//! 1, a single key takes half of the permits, and two keys take a third each; with weight 3, a single key takes a
//! quarter. A key without permits is refused only when none is free. This module knows neither threads nor time, so
//! the caller must lock the shares.

use std::collections::HashMap;
use std::hash::Hash;

/// Permits of one kind, counted by key.
#[derive(Debug)]
pub struct Shares<K> {
    free: u64,
    weight: u64,
    held: HashMap<K, u64>,
}

impl<K: Clone + Eq + Hash> Shares<K> {
    pub fn new(permits: u64, weight: u64) -> Self {
        Self {
            free: permits,
            weight,
            held: HashMap::new(),
        }
    }

    pub fn free(&self) -> u64 {
        self.free
    }

    pub fn held(&self, key: &K) -> u64 {
        self.held.get(key).copied().unwrap_or(0)
    }

    /// Whether the rule lets a key take a permit now.
    pub fn admits(&self, key: &K) -> bool {
        self.held(key).saturating_mul(self.weight) < self.free
    }

    /// Keys that the rule does not admit now.
    pub fn at_their_share(&self) -> impl Iterator<Item = &K> {
        self.held.keys().filter(|key| !self.admits(key))
    }

    /// Counts a permit as taken, after the caller has checked that one is free.
    pub fn take(&mut self, key: &K) {
        debug_assert!(self.free > 0, "more permits were taken than exist");
        self.free = self.free.saturating_sub(1);
        *self.held.entry(key.clone()).or_insert(0) += 1;
    }

    /// Counts a permit as given back.
    pub fn give_back(&mut self, key: &K) {
        let Some(held) = self.held.get_mut(key) else {
            debug_assert!(false, "a permit was returned that was not taken");
            return;
        };
        *held -= 1;
        if *held == 0 {
            self.held.remove(key);
        }
        self.free += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lets the keys take permits in rotation until the rule admits no key. Returns the permits of each key.
    fn filled(permits: u64, weight: u64, keys: usize) -> Vec<u64> {
        let mut shares = Shares::new(permits, weight);
        loop {
            let mut has_taken = false;
            for key in 0..keys {
                if shares.admits(&key) {
                    shares.take(&key);
                    has_taken = true;
                }
            }
            if !has_taken {
                return (0..keys).map(|key| shares.held(&key)).collect();
            }
        }
    }

    #[test]
    fn shares_give_one_key_half_and_two_keys_a_third_each() {
        assert_eq!(filled(8, 1, 1), [4]);
        assert_eq!(filled(64, 1, 1), [32]);
        assert_eq!(filled(9, 1, 2), [3, 3]);
        assert_eq!(filled(8, 1, 2), [3, 3]);
        assert_eq!(filled(2, 1, 2), [1, 1]);
        assert_eq!(filled(1, 1, 2), [1, 0]);
        assert_eq!(filled(64, 3, 1), [16]);
        assert_eq!(filled(64, 1, 3), [16, 16, 16]);
    }

    proptest! {
        #[test]
        fn shares_of_keys_that_take_in_turns_are_equal(
            permits in 1_u64..200, weight in 1_u64..5, keys in 1_usize..12,
        ) {
            let held = filled(permits, weight, keys);
            let (least, most) = (held.iter().min().unwrap(), held.iter().max().unwrap());
            prop_assert!(least + 1 >= *most, "{held:?}");
            // The shares are as if there were `weight` more keys.
            let parts = keys as u64 + weight;
            prop_assert!((most - 1) * parts < permits, "{held:?}");
            prop_assert!(permits <= least * parts + keys as u64, "{held:?}");
        }

        /// Held and free permits always sum to the total. One key never exceeds its share, and a key without
        /// permits gets a free one.
        #[test]
        fn shares_keep_their_rule_in_any_order_of_taking(
            permits in 1_u64..40, weight in 1_u64..4,
            steps in prop::collection::vec((0_usize..6, any::<bool>()), 0..400),
        ) {
            let mut shares = Shares::new(permits, weight);
            let mut held = [0_u64; 6];
            for (key, takes) in steps {
                let free = permits - held.iter().sum::<u64>();
                prop_assert_eq!(shares.free(), free);
                prop_assert_eq!(shares.admits(&key), held[key] * weight < free);
                if takes && shares.admits(&key) {
                    shares.take(&key);
                    held[key] += 1;
                    prop_assert!(held[key] <= permits.div_ceil(weight + 1));
                } else if !takes && held[key] > 0 {
                    shares.give_back(&key);
                    held[key] -= 1;
                }
                prop_assert_eq!(shares.held(&key), held[key]);
                prop_assert!(held[key] > 0 || shares.free() == 0 || shares.admits(&key));
            }
        }
    }
}
