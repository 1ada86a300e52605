//! Sums and updates of integer weights that a row selects by its bits or that a list names.
//!
//! All arithmetic wraps at 64 bits, so callers keep the weights small enough that no sum does.

use super::kernels::{Kernels, kernels, multiversioned};
use super::vector::words_for;
use super::{plain_weights as plain, scalar};

/// Returns the sum of the weights whose bit in `row` is 1.
///
/// # Panics
/// Panics if the length of `row` does not fit one bit per weight.
pub fn selected_sum(weights: &[i64], row: &[u64]) -> i64 {
    assert_eq!(row.len(), words_for(weights.len()), "words a row");
    match kernels() {
        Kernels::Detected => selected_sum_detected(weights, row),
        Kernels::Scalar => scalar::selected_sum(weights, row),
    }
}

/// Returns the sum of the weights at these places.
///
/// # Panics
/// Panics if there is no weight at a place.
pub fn listed_sum<T: Copy + Into<i64>>(weights: &[T], places: &[u32]) -> i64 {
    match kernels() {
        Kernels::Detected => plain::listed_sum(weights, places),
        Kernels::Scalar => scalar::listed_sum(weights, places),
    }
}

/// Adds `amount` to the weights whose bit in `row` is 1.
///
/// # Panics
/// Panics if the length of `row` does not fit one bit per weight.
pub fn add_selected(weights: &mut [i64], row: &[u64], amount: i64) {
    assert_eq!(row.len(), words_for(weights.len()), "words a row");
    match kernels() {
        Kernels::Detected => add_selected_detected(weights, row, amount),
        Kernels::Scalar => scalar::add_selected(weights, row, amount),
    }
}

/// Adds `amount` to the weights whose bit in `row` is 1 and subtracts it from the others.
///
/// # Panics
/// Panics if the length of `row` does not fit one bit per weight.
pub fn add_signed(weights: &mut [i64], row: &[u64], amount: i64) {
    assert_eq!(row.len(), words_for(weights.len()), "words a row");
    match kernels() {
        Kernels::Detected => add_signed_detected(weights, row, amount),
        Kernels::Scalar => scalar::add_signed(weights, row, amount),
    }
}

/// `n` numbers with these among them: `ids` has the new place of each. One without a place is left out, and the other
/// new numbers are 0.
///
/// # Panics
/// Panics if there are more places than numbers, or if one is not below `n`.
pub fn renumbered<N: Copy + Default>(numbers: &[N], ids: &[u32], n: usize) -> Vec<N> {
    assert!(ids.len() <= numbers.len(), "a number per place");
    let mut others = vec![N::default(); n];
    for (number, &id) in numbers.iter().zip(ids) {
        others[id as usize] = *number;
    }
    others
}

multiversioned! {
    fn selected_sum_detected(weights: &[i64], row: &[u64]) -> i64 {
        multiversion::target::match_target! {
            "x86_64+avx512f" => super::avx512::selected_sum(weights, row),
            _ => plain::selected_sum(weights, row),
        }
    }
}

multiversioned! {
    fn add_selected_detected(weights: &mut [i64], row: &[u64], amount: i64) {
        multiversion::target::match_target! {
            "x86_64+avx512f" => super::avx512::add::<false>(weights, row, amount),
            _ => plain::add_selected(weights, row, amount),
        }
    }
}

multiversioned! {
    fn add_signed_detected(weights: &mut [i64], row: &[u64], amount: i64) {
        multiversion::target::match_target! {
            "x86_64+avx512f" => super::avx512::add::<true>(weights, row, amount),
            _ => plain::add_signed(weights, row, amount),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn cases()(n in prop_oneof![0_usize..=130, 0_usize..=1100])(
            weights in prop::collection::vec(any::<i64>(), n),
            row in prop::collection::vec(any::<u64>(), words_for(n)),
            sparse in prop::collection::vec(any::<u64>(), words_for(n)),
            thin in any::<bool>(), amount in any::<i64>(),
        ) -> (Vec<i64>, Vec<u64>, i64) {
            let mut row = row;
            if thin {
                row.iter_mut().zip(sparse).for_each(|(word, mask)| *word &= mask & mask << 7);
            }
            (weights, row, amount)
        }
    }

    proptest! {
        #[test]
        fn selected_sums_match_the_plain_twin((weights, row, _) in cases()) {
            let expected = scalar::selected_sum(&weights, &row);
            prop_assert_eq!(expected, selected_sum(&weights, &row));
            prop_assert_eq!(expected, plain::selected_sum(&weights, &row));
        }

        #[test]
        fn listed_sums_match_the_plain_twin(
            weights in prop::collection::vec(any::<i64>(), 1..300),
            places in prop::collection::vec(any::<u32>(), 0..90),
        ) {
            let places: Vec<u32> = places.iter().map(|place| place % weights.len() as u32).collect();
            let expected = scalar::listed_sum(&weights, &places);
            prop_assert_eq!(expected, listed_sum(&weights, &places));
        }

        #[test]
        fn updates_match_the_plain_twins((weights, row, amount) in cases()) {
            let (mut expected, mut found, mut plain) = (weights.clone(), weights.clone(), weights);
            scalar::add_selected(&mut expected, &row, amount);
            add_selected(&mut found, &row, amount);
            prop_assert_eq!(&expected, &found);
            plain::add_selected(&mut plain, &row, amount);
            prop_assert_eq!(&expected, &plain);
            scalar::add_signed(&mut expected, &row, amount);
            add_signed(&mut found, &row, amount);
            prop_assert_eq!(&expected, &found);
            plain::add_signed(&mut plain, &row, amount);
            prop_assert_eq!(&expected, &plain);
        }
    }

    #[test]
    fn a_place_without_a_weight_panics() {
        for places in [vec![3], vec![0, 1, 2, 3, 0], vec![0, 1, 2, 0, u32::MAX]] {
            let sum = std::panic::catch_unwind(|| listed_sum(&[1, 2, 3], &places));
            assert!(sum.is_err(), "{places:?}");
        }
    }

    #[test]
    fn selected_sums_ignore_bits_past_the_weights() {
        let mut weights = [1, 2, 3];
        assert_eq!(selected_sum(&weights, &[!0]), 6);
        add_selected(&mut weights, &[!0b10], 10);
        assert_eq!(weights, [11, 2, 13]);
        add_signed(&mut weights, &[0b100], 1);
        assert_eq!(weights, [10, 1, 14]);
    }
}
