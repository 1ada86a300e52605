//! Bounds around exact numbers, which settle most comparisons without the numbers themselves.
//!
//! The bounds decide a comparison only where they prove it. What they leave open is decided by the exact numbers, so
//! no answer depends on rounding, and only close comparisons are slow.
//! J. R. Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric predicates", Discrete &
//! Computational Geometry 18 (1997) 305-363.

use std::mem;

/// Bounds around a number, in whole units of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket {
    /// At most the number.
    low: i64,
    /// At least the number. None if nothing is known.
    high: Option<i64>,
}

impl Bracket {
    /// The bounds of a number from `low` to `low + width`. Without a width there is no upper bound.
    pub fn new(low: i64, width: Option<i64>) -> Self {
        let high = width.and_then(|width| low.checked_add(width));
        Self { low, high }
    }

    /// Whether the number is at least a level, which was rounded up to whole units. None if the bounds leave the answer
    /// open.
    #[inline]
    pub fn reaches(self, level: i64) -> Option<bool> {
        // No whole number lies between a level and its rounded value.
        match self {
            _ if self.low >= level => Some(true),
            Self {
                high: Some(high), ..
            } if high < level => Some(false),
            _ => None,
        }
    }

    /// Whether the number may be at least as large as another that is no less than `floor`.
    fn may_reach(self, floor: i64) -> bool {
        self.high.is_none_or(|high| high >= floor)
    }

    /// Whether the bounds are the number.
    fn is_exact(self) -> bool {
        self.high == Some(self.low)
    }
}

/// All numbers that may be among the `COUNT` largest, by their places. Each other number is less than `COUNT` of these.
///
/// Proof: let the floor be the lower bound in place `COUNT`, if they are sorted from the largest on. Then `COUNT` of
/// the numbers are no less than the floor, and a number with its upper bound below the floor is less than all of them.
pub fn contenders<const COUNT: usize>(
    brackets: impl Iterator<Item = Bracket> + Clone,
) -> impl Iterator<Item = (u32, Bracket)> + Clone {
    let mut largest = [i64::MIN; COUNT];
    for bracket in brackets.clone() {
        let mut low = bracket.low;
        for kept in &mut largest {
            if low > *kept {
                mem::swap(kept, &mut low);
            }
        }
    }
    let floor = largest.last().copied().unwrap_or(i64::MIN);
    (0..)
        .zip(brackets)
        .filter(move |(_, bracket)| bracket.may_reach(floor))
}

/// The place of the first of the largest numbers, if the bounds show it. None if only the exact numbers of the
/// [`contenders`] can.
pub fn proved_leader(brackets: impl Iterator<Item = Bracket> + Clone) -> Option<u32> {
    let mut rivals = contenders::<1>(brackets);
    let (first, own) = rivals.next()?;
    // The floor is the largest lower bound, so contenders that are known equal it.
    let are_equal = || own.is_exact() && rivals.clone().all(|(_, rival)| rival.is_exact());
    (rivals.clone().next().is_none() || are_equal()).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bracket(low: i64, high: i64) -> Bracket {
        Bracket::new(low, Some(high - low))
    }

    #[test]
    fn bracket_reaches_levels_outside_its_bounds() {
        let reaches = |level| bracket(3, 5).reaches(level);
        assert_eq!([2, 3].map(reaches), [Some(true); 2]);
        assert_eq!([4, 5].map(reaches), [None; 2]);
        assert_eq!([6, i64::MAX].map(reaches), [Some(false); 2]);
        let endless = [Bracket::new(3, None), Bracket::new(3, Some(i64::MAX))];
        for bracket in endless {
            assert_eq!(
                (bracket.reaches(3), bracket.reaches(i64::MAX)),
                (Some(true), None)
            );
        }
    }

    #[test]
    fn leader_is_proved_where_the_bounds_allow_it() {
        let leader = |brackets: &[Bracket]| proved_leader(brackets.iter().copied());
        let endless = Bracket::new(0, None);
        assert_eq!(leader(&[]), None);
        assert_eq!(leader(&[endless]), Some(0));
        assert_eq!(
            leader(&[bracket(1, 4), bracket(5, 9), bracket(0, 3)]),
            Some(1)
        );
        assert_eq!(leader(&[bracket(1, 5), bracket(5, 9)]), None);
        // Equal numbers that are known: the first one leads.
        assert_eq!(
            leader(&[bracket(2, 3), bracket(4, 4), bracket(4, 4)]),
            Some(1)
        );
        assert_eq!(leader(&[bracket(2, 4), bracket(4, 4)]), None);
        assert_eq!(leader(&[bracket(4, 4), endless]), None);
    }

    fn places<const COUNT: usize>(brackets: &[Bracket]) -> Vec<u32> {
        let rivals = contenders::<COUNT>(brackets.iter().copied());
        rivals.map(|(place, _)| place).collect()
    }

    proptest! {
        #[test]
        fn contenders_include_the_largest_numbers(
            numbers in prop::collection::vec((-20_i64..20, 0_i64..4, 0_i64..4, 0_u8..9), 0..12),
        ) {
            let around = |&(number, below, above, kind): &(i64, i64, i64, u8)| match kind {
                0 => Bracket::new(number - below, None),
                1..=3 => bracket(number, number),
                _ => bracket(number - below, number + above),
            };
            let brackets: Vec<_> = numbers.iter().map(around).collect();
            let mut by_size: Vec<u32> = (0..).zip(&numbers).map(|(place, _)| place).collect();
            // The sort is stable, so the first of equal numbers comes first.
            by_size.sort_by_key(|&place| -numbers[place as usize].0);
            let (one, two) = (places::<1>(&brackets), places::<2>(&brackets));
            prop_assert!(by_size.iter().take(1).all(|place| one.contains(place)));
            prop_assert!(by_size.iter().take(2).all(|place| two.contains(place)));
            if let Some(leader) = proved_leader(brackets.iter().copied()) {
                prop_assert_eq!(leader, by_size[0]);
            }
        }
    }
}
