//! The weights of Winnow over nonempty monotone conjunctions, all or those of few literals, stored as the examples that
//! were learnt.
//!
//! The exponent of a conjunction is the number of promotions minus demotions of the examples that satisfy it. The
//! learnt examples with their net counts therefore determine all weights, and no weight is stored. To decide an example
//! with `a` active features, the learnt examples are projected onto them. Sums over supersets in the cube of `2^a`
//! subsets then give the exponent of every true conjunction in `a 2^a` steps.

use std::collections::HashMap;

use crate::bits::Excerpt;
use crate::learners::arithmetic::decimal::Decimal;
use crate::learners::arithmetic::power_sum::{Base, PowerSum, terms_of};
use crate::learners::decision::Decision;
use crate::learners::engine::run::StopFlag;
use crate::learners::sample::block::{Block, RowBits, characters, lists_ones};

/// The largest number of active features in an example, whose cube takes 64 MiB. After the projection of the support,
/// the sums take 24 passes over 2^24 numbers, which is some tenths of a second.
pub const ACTIVE_MAX: u64 = 24;

/// The largest number of examples in a support. With their lists they take less than 2^29 bytes.
pub const SUPPORT_MAX: usize = 1_000_000;

/// The largest number of characters of the examples of a support in a document.
pub const CHARACTERS_MAX: usize = 1 << 28;

/// A learnt example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportExample {
    /// The active features in ascending order, counted from 0.
    pub active: Vec<u32>,
    /// Promotions minus demotions.
    pub net: i32,
}

/// Bytes per example of a support besides its active features: the lists and the entries of two tables, which grow to
/// twice their size.
const EXAMPLE_BYTES: u64 = 256;

/// Bytes per active feature of an example of a support, in three growing lists.
const ACTIVE_BYTES: u64 = 32;

/// The weights of Winnow over the nonempty monotone monomials, with the threshold for the sum of the true monomials.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelWinnowWeights {
    base: Base,
    theta: Decimal,
    n: usize,
    active_max: u64,
    /// The largest number of literals in a monomial. None for any number.
    max_literals: Option<u64>,
    /// Whether monomials of features that are not known have no weight.
    is_closed: bool,
    support: Vec<SupportExample>,
    /// The position of an example in the support, by its active features.
    places: HashMap<Vec<u32>, u32>,
    /// For each feature, the positions and the net counts of the examples that have it.
    having: HashMap<u32, Having>,
    /// The characters of the examples in a document.
    characters: usize,
    /// The largest number of active features of an example.
    longest: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Having {
    places: Vec<u32>,
    /// `promotions` sums the positive net counts and `demotions` the magnitudes of the negative ones. The
    /// exponents of all monomials with the feature lie between these two limits.
    promotions: i32,
    demotions: i32,
}

/// Why the support cannot grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SupportFull {
    /// An exponent could leave its range.
    #[error("exact weights have at most 2^20 bits")]
    Exponents,
    /// Another example would exceed the limit.
    #[error("the support has at most 1,000,000 examples and 2^28 characters")]
    Examples,
}

/// Memory for one example while it is decided.
#[derive(Debug, Default)]
pub struct KernelWinnowScratch {
    active: Vec<u32>,
    /// The features shared with each example of the support, as a subset of the active features.
    shared: Vec<u32>,
    touched: Vec<u32>,
    cube: Vec<i32>,
}

impl KernelWinnowWeights {
    /// Bytes that the weights may grow to after learning from `examples` examples.
    pub fn grown_bytes(&self, examples: u64) -> u64 {
        let active = self.active_max.min(self.n as u64);
        // The sums over all subsets of an example, and their copy in the next step.
        let cube = 8_u64 << active.min(ACTIVE_MAX);
        let examples = examples.min(SUPPORT_MAX as u64);
        cube + examples * (EXAMPLE_BYTES + ACTIVE_BYTES * active)
    }

    /// Weights that are all 1, for examples of `n` features with at most `active_max` active ones.
    ///
    /// # Panics
    /// Panics if `active_max` exceeds [`ACTIVE_MAX`] or theta is 0.
    pub fn new(base: Base, theta: Decimal, n: usize, active_max: u64) -> Self {
        assert!(active_max <= ACTIVE_MAX && !theta.is_zero());
        Self {
            base,
            theta,
            n,
            active_max,
            max_literals: None,
            is_closed: false,
            support: Vec::new(),
            places: HashMap::new(),
            having: HashMap::new(),
            characters: 0,
            longest: 0,
        }
    }

    /// The same weights without those of monomials of more literals.
    #[must_use]
    pub fn with_max_literals(self, max_literals: Option<u64>) -> Self {
        Self {
            max_literals,
            ..self
        }
    }

    /// Weights of the same kind over `n` features that are all 1.
    #[must_use]
    pub fn emptied(&self, n: usize) -> Self {
        Self::new(self.base, self.theta.clone(), n, self.active_max)
            .with_max_literals(self.max_literals)
            .closed(self.is_closed)
    }

    /// The same weights, of which those of monomials with unknown features are 0 if they are closed, and 1 otherwise.
    #[must_use]
    pub fn closed(self, is_closed: bool) -> Self {
        Self { is_closed, ..self }
    }

    /// Whether monomials of features that are not known have no weight.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Adds features up to `n` features, whose conjunctions have the weight 1.
    pub fn grow(&mut self, n: usize) {
        // Once a document lists the features of every example, n does not change its length.
        if !lists_ones(self.n, self.longest) {
            let all = self.support.iter();
            let all = all.map(|example| characters(n, example.active.len()));
            self.characters = all.sum();
        }
        self.n = n;
    }

    /// The same weights over `n` features, the others unknown: `ids` has the new place of each. None if a limit is
    /// exceeded.
    pub fn renumbered(&self, ids: &[u32], n: usize) -> Option<Self> {
        let mut weights = self.emptied(n);
        for SupportExample { active, net } in &self.support {
            let place = |&id: &u32| ids.get(id as usize).copied();
            let mut active: Vec<u32> = active.iter().filter_map(place).collect();
            active.sort_unstable();
            weights.add(&active, *net).ok()?;
        }
        Some(weights)
    }

    /// Features per example.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The largest number of active features in an example.
    pub fn active_max(&self) -> u64 {
        self.active_max
    }

    /// The largest number of literals in a monomial. None for any number.
    pub fn max_literals(&self) -> Option<u64> {
        self.max_literals
    }

    /// The base alpha of the weights.
    pub fn base(&self) -> Base {
        self.base
    }

    pub fn theta(&self) -> &Decimal {
        &self.theta
    }

    /// The characters of the learnt examples in a document.
    pub fn characters(&self) -> usize {
        self.characters
    }

    /// The learnt examples. Some may have a net count of 0.
    pub fn support(&self) -> &[SupportExample] {
        &self.support
    }

    /// The same weights for examples with at most `active_max` active features.
    ///
    /// # Panics
    /// Panics if `active_max` exceeds [`ACTIVE_MAX`].
    #[must_use]
    pub fn with_active_max(&self, active_max: u64) -> Self {
        assert!(active_max <= ACTIVE_MAX);
        Self {
            active_max,
            ..self.clone()
        }
    }

    /// The same weights without examples whose promotions and demotions cancel.
    pub fn without_cancelled(&self) -> Self {
        let mut weights = self.emptied(self.n);
        for SupportExample { active, net } in self.support.iter().filter(|s| s.net != 0) {
            let added = weights.add(active, *net);
            added.expect("a part of a support that is within its bounds");
        }
        weights
    }

    /// The weights of the conjunctions of the features of an excerpt, which decide alike on examples without others.
    #[must_use]
    pub fn excerpt(&self, excerpt: &Excerpt) -> Self {
        let mut weights = self.emptied(self.n);
        let having = excerpt.places().iter();
        let having = having.filter_map(|(feature, _)| self.having.get(feature));
        let mut places: Vec<u32> = having.flat_map(|own| &own.places).copied().collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let SupportExample { active, net } = &self.support[place as usize];
            if *net == 0 {
                continue;
            }
            let active = active.iter().filter_map(|&feature| excerpt.place(feature));
            let mut active: Vec<u32> = active.collect();
            active.sort_unstable();
            let added = weights.add(&active, *net);
            added.expect("fewer features, and sums of no more promotions and demotions");
        }
        weights.n = excerpt.n();
        weights
    }

    /// Promotes the example with these active features `by` times, or demotes it if `by` is negative. The features
    /// are ascending and below n.
    ///
    /// # Errors
    /// An error if the support is full. Nothing changes then.
    pub fn add(&mut self, active: &[u32], by: i32) -> Result<(), SupportFull> {
        let place = self.places.get(active).copied();
        let before = place.map_or(0, |place| self.support[place as usize].net);
        let most = self.base.exponent_max();
        let net = before.checked_add(by).ok_or(SupportFull::Exponents)?;
        // The increase of the sums of promotions and demotions.
        let up = net.max(0) - before.max(0);
        let down = before.min(0).saturating_sub(net.min(0));
        let leaves = |feature: &u32| {
            let own = self.having.get(feature);
            let (promotions, demotions) = own.map_or((0, 0), |h| (h.promotions, h.demotions));
            let past = |sum: i32, more: i32| sum.checked_add(more).is_none_or(|sum| sum > most);
            past(promotions, up) || past(demotions, down)
        };
        if active.iter().any(leaves) {
            return Err(SupportFull::Exponents);
        }
        let place = match place {
            Some(place) => place,
            None => self.push(active)?,
        };
        self.support[place as usize].net = net;
        for feature in active {
            let having = self
                .having
                .get_mut(feature)
                .expect("listed with the example");
            having.promotions += up;
            having.demotions += down;
        }
        Ok(())
    }

    /// Appends an example with a net count of 0.
    fn push(&mut self, active: &[u32]) -> Result<u32, SupportFull> {
        let examples = self.support.len() + 1;
        let own = characters(self.n, active.len());
        if examples > SUPPORT_MAX || self.characters + own > CHARACTERS_MAX {
            return Err(SupportFull::Examples);
        }
        self.characters += own;
        self.longest = self.longest.max(active.len());
        let place = self.support.len() as u32;
        let active = active.to_vec();
        for &feature in &active {
            self.having.entry(feature).or_default().places.push(place);
        }
        self.places.insert(active.clone(), place);
        self.support.push(SupportExample { active, net: 0 });
        Ok(place)
    }

    /// Whether the true monomials of a row reach theta. Any answer is possible once `stop` is
    /// raised.
    ///
    /// # Panics
    /// Panics if more than [`ACTIVE_MAX`] features are active.
    pub fn is_positive(
        &self,
        row: RowBits<'_>,
        scratch: &mut KernelWinnowScratch,
        stop: &StopFlag,
    ) -> bool {
        let terms = self.terms(row, scratch, stop);
        PowerSum::new(self.base, &terms).reaches(&self.theta)
    }

    /// The decision on a row.
    ///
    /// # Panics
    /// Panics if more than [`ACTIVE_MAX`] features are active.
    pub fn decide(&self, row: RowBits<'_>, scratch: &mut KernelWinnowScratch) -> Decision {
        let terms = self.terms(row, scratch, &StopFlag::default());
        let sum = PowerSum::new(self.base, &terms);
        let is_positive = sum.reaches(&self.theta);
        Decision::new(sum.into_score(), is_positive)
    }

    /// The mask of the rows of a block that reach theta, or any mask once `stop` is raised.
    ///
    /// # Panics
    /// Panics if more than [`ACTIVE_MAX`] features of a row are active.
    pub fn positives(&self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        let mut scratch = KernelWinnowScratch::default();
        let (mut words, mut mask) = (Vec::new(), 0);
        for at in 0..block.rows() {
            if stop.raised().is_some() {
                break;
            }
            let row = block.row_bits(at, &mut words);
            mask |= u64::from(self.is_positive(row, &mut scratch, stop)) << at;
        }
        mask
    }

    /// The number of true monomials of a row per exponent.
    fn terms(
        &self,
        row: RowBits<'_>,
        scratch: &mut KernelWinnowScratch,
        stop: &StopFlag,
    ) -> Vec<(i32, u64)> {
        self.project(row, scratch);
        sum_over_supersets(&mut scratch.cube, stop);
        let most = self.max_literals.unwrap_or(u64::MAX);
        let monomials = (0_u32..).zip(&scratch.cube);
        let monomials = monomials.filter(|(subset, _)| u64::from(subset.count_ones()) <= most);
        // The empty set is not a monomial here.
        terms_of(monomials.skip(1).map(|(_, exponent)| *exponent))
    }

    /// Adds the net count of each example of the support at the subset of active features that it shares with the
    /// row.
    fn project(&self, row: RowBits<'_>, scratch: &mut KernelWinnowScratch) {
        let KernelWinnowScratch {
            active: own,
            shared,
            touched,
            cube,
        } = scratch;
        let n = if self.is_closed { self.n } else { usize::MAX };
        own.clear();
        own.extend(
            row.ones()
                .take_while(|&feature| feature < n)
                .map(|feature| feature as u32),
        );
        assert!(
            own.len() as u64 <= ACTIVE_MAX,
            "checked before it came here"
        );
        shared.resize(self.support.len(), 0);
        for (at, feature) in own.iter().enumerate() {
            let Some(having) = self.having.get(feature) else {
                continue;
            };
            for &place in &having.places {
                let subset = &mut shared[place as usize];
                if *subset == 0 {
                    touched.push(place);
                }
                *subset |= 1 << at;
            }
        }
        cube.clear();
        cube.resize(1 << own.len(), 0);
        for place in touched.drain(..) {
            let subset = std::mem::take(&mut shared[place as usize]);
            cube[subset as usize] += self.support[place as usize].net;
        }
    }
}

/// Replaces the number at each subset by the sum over its supersets, one feature after another.
fn sum_over_supersets(cube: &mut [i32], stop: &StopFlag) {
    let mut half = 1;
    while half < cube.len() && stop.raised().is_none() {
        for pair in cube.chunks_exact_mut(2 * half) {
            let (without, with) = pair.split_at_mut(half);
            for (without, with) in without.iter_mut().zip(with) {
                *without += *with;
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::RowBits::Packed;
    use super::*;
    use crate::learners::decision::Score;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    fn weights(alpha: f64, theta: u64, n: usize) -> KernelWinnowWeights {
        let base = Base::new(alpha).expect("a base");
        KernelWinnowWeights::new(base, Decimal::from(theta), n, ACTIVE_MAX)
    }

    #[test]
    fn kernel_winnow_sums_all_nonempty_monomials() {
        let mut weights = weights(2.0, 7, 5);
        let mut scratch = KernelWinnowScratch::default();
        assert!(weights.is_positive(Packed(&[0b10101]), &mut scratch, &StopFlag::default()));
        assert!(!weights.is_positive(Packed(&[0b00011]), &mut scratch, &StopFlag::default()));
        assert!(!weights.is_positive(Packed(&[0]), &mut scratch, &StopFlag::default()));
        // The weights of x1, x3 and x1 x3 double. Of the monomials of x3 x4, only x3 doubles.
        weights.add(&[0, 2], 1).expect("room");
        let decision = weights.decide(Packed(&[0b01100]), &mut scratch);
        assert_eq!(decision.score, Score::Integer(2 + 1 + 1));
    }

    #[test]
    fn kernel_winnow_drops_examples_whose_updates_cancel() {
        let mut weights = weights(3.0, 7, 5);
        for _ in 0..50 {
            weights.add(&[1, 2], 1).expect("room");
        }
        for _ in 0..50 {
            weights.add(&[1, 2], -1).expect("room");
        }
        assert_eq!(weights.support()[0].net, 0);
        assert_eq!(weights.without_cancelled().support(), []);
        weights.add(&[1], -2).expect("room");
        assert_eq!(weights.without_cancelled().support().len(), 1);
    }

    #[test]
    fn an_exponent_beyond_its_range_is_refused() {
        let mut weights = weights(4_294_967_296.0, 7, 5);
        let most = weights.base().exponent_max();
        weights.add(&[0], most - 1).expect("room");
        weights.add(&[0, 1], 1).expect("room");
        let before = weights.clone();
        assert_eq!(weights.add(&[0, 2], 1), Err(SupportFull::Exponents));
        assert_eq!(weights.add(&[0, 2], i32::MIN), Err(SupportFull::Exponents));
        assert_eq!(weights, before);
        weights.add(&[1, 2], most - 1).expect("another feature's");
        weights.add(&[0], -1).expect("room");
        weights.add(&[0, 2], 1).expect("room again");
    }

    #[test]
    fn a_support_is_bounded_by_the_characters_of_its_document() {
        let mut weights = weights(2.0, 7, 1 << 20);
        weights.add(&[0], 1).expect("room");
        assert_eq!(weights.characters(), 8);
        weights.characters = CHARACTERS_MAX - 8;
        weights.add(&[1], 1).expect("room");
        assert_eq!(weights.add(&[2], 1), Err(SupportFull::Examples));
        weights.add(&[1], 1).expect("already there");
    }

    proptest! {
        /// Compares with weights that are stored for each of the 2^6 - 1 monomials.
        #[test]
        fn kernel_winnow_matches_separate_weights_per_monomial(
            updates in prop::collection::vec((0_u64..64, any::<bool>()), 0..80),
            alpha in prop::sample::select(vec![2.0, 3.0, 6.0]),
            theta in 1_u64..200,
            max_literals in prop::option::of(1_u64..7),
        ) {
            let mut weights = weights(alpha, theta, 6).with_max_literals(max_literals);
            let mut exponents = [0_i32; 64];
            let mut scratch = KernelWinnowScratch::default();
            for (x, up) in updates {
                let by = if up { 1 } else { -1 };
                let active: Vec<u32> = (0..6).filter(|at| x >> at & 1 == 1).collect();
                weights.add(&active, by).expect("room");
                (1..64).filter(|t| t & x == *t).for_each(|t| exponents[t as usize] += by);
            }
            for x in 0_u64..64 {
                let scale = BigInt::from(alpha as u64).pow(80);
                let power = |t: u64| match exponents[t as usize] {
                    e if e >= 0 => &scale * BigInt::from(alpha as u64).pow(e as u32),
                    e => &scale / BigInt::from(alpha as u64).pow(e.unsigned_abs()),
                };
                let is_counted = |t: &u64| max_literals.is_none_or(|most| u64::from(t.count_ones()) <= most);
                let sum: BigInt = (1..64).filter(|t| t & x == *t).filter(is_counted).map(power).sum();
                let decision = weights.decide(Packed(&[x]), &mut scratch);
                prop_assert_eq!(decision.is_positive(), sum >= &scale * theta);
                let reduced = weights.without_cancelled();
                prop_assert_eq!(reduced.decide(Packed(&[x]), &mut scratch), decision);
            }
        }
    }
}
