//! Statistical evidence against the sampling that the client declares for a sample.
//!
//! This file holds the counts over a sample and the tests that refute a declaration. They can never prove one: in
//! particular, no test here shows that examples are independent.
//!
//! The tests on duplicates assume m independent examples that are uniform over N possible ones. Whatever the earlier
//! examples were, the i-th is a duplicate with probability at most (i - 1) / N. The number D of duplicates therefore
//! reaches a value above mu = m (m - 1) / (2 N) with probability at most `exp(D - mu - D ln(D / mu))` (Chernoff), and
//! all examples lie among x distinct ones with probability at most `C(N, x) (x / N)^m`. N is 2^n for labelled
//! examples and 2^(n - 1) for half-space examples of odd n; for even n there are more possible examples, so both
//! bounds remain valid.
//!
//! Too few duplicates are suspicious as well: a list of all possible rows repeats nothing, and so many independent
//! draws would have repeated some. [`super::even_draws`] bounds the probability of so few duplicates and of rows in
//! such an order. The declaration is refuted if one of these probabilities is below [`FALSE_ALARM`].
//!
//! Two further tests apply. Under `uniform`, the bits are fair coins (Hoeffding). And since a declared sampling has no
//! noise, no row may appear with both labels.
//!
//! Some regular samples pass all tests, because their duplicates, bits and order are plausible: each row beside its
//! complement, a sequence of low discrepancy among very many possible rows, or a shuffled part of all rows that is
//! small beside the square root of their number.

use std::f64::consts::{LN_2, PI};
use std::ops::ControlFlow;

use crate::learners::arithmetic::stirling;
use crate::learners::engine::even_draws::{RowOrder, ln_population_at_most, ln_so_few_duplicates};
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::engine::stopping::Sampling;
use crate::learners::sample::block::BlockFeatures;
use crate::learners::sample::classes::BlockCodes;
use crate::learners::sample::examples::{Examples, for_each_rows};
use crate::learners::sample::repetitions::{EXAMPLES_MAX, RepetitionCounter};

/// Largest probability with which one test refutes a true declaration.
pub const FALSE_ALARM: f64 = 1e-9;

/// Result of the examination of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The sample was examined.
    Seen(Findings),
    /// The run ended before the examination did.
    Unread,
}

/// Counts over a sample, or over the prefix of the sample that was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Number of compared examples.
    pub examples: u64,
    /// Examples that equal an earlier example, including the label.
    pub duplicates: u64,
    /// Distinct rows that appear with both labels.
    pub contradictions: u64,
    /// Number of 1 bits in all examples.
    pub ones: u64,
    /// Pairs of different neighbouring rows, and those among them whose second row is larger.
    pub pairs: u64,
    pub ascents: u64,
}

impl Evidence {
    /// Examines a sample of Boolean examples with a declared sampling. If an earlier pass counted the duplicates and
    /// contradictions of all examples, `known` has them, and one more pass counts the 1 bits and the pairs in order.
    /// Otherwise only the first [`EXAMPLES_MAX`] examples are compared, because a prefix of independent examples has
    /// the same distribution.
    ///
    /// # Errors
    /// Returns [`Interrupt::Suspended`], [`Interrupt::Unreadable`] or [`Interrupt::Memory`] if the run was
    /// interrupted without a result.
    pub fn of(
        data: &dyn Examples,
        known: Option<(u64, u64)>,
        stop: &StopFlag,
    ) -> Result<Self, Interrupt> {
        let seen = match known {
            Some((duplicates, contradictions)) => {
                let mut tally = Tally::default();
                let examples = data.shape().examples;
                let walked = walk(data, examples, stop, |row, _| tally.note(row))?;
                walked.map(|()| tally.findings(examples as u64, duplicates, contradictions))
            }
            None => compare(data, EXAMPLES_MAX, stop)?,
        };
        Ok(seen.map_or_else(|Broken| Self::Unread, Self::Seen))
    }

    /// The reason to doubt that examples of `n` features have the declared sampling, or `None`.
    pub fn against(&self, sampling: Sampling, n: usize) -> Option<String> {
        match self {
            Self::Seen(findings) => findings.against(sampling, n),
            Self::Unread => Some("the run ended before the examples were compared".to_owned()),
        }
    }
}

/// A count was stopped because the run must end.
struct Broken;

impl Findings {
    fn against(&self, sampling: Sampling, n: usize) -> Option<String> {
        let Self {
            examples,
            duplicates,
            contradictions,
            ones,
            pairs,
            ascents,
        } = *self;
        let refuted = |what: String| {
            let name = sampling.name();
            Some(format!("the examples refute assume = {name}: {what}"))
        };
        if contradictions > 0 {
            return refuted(format!("rows with both labels: {contradictions}"));
        }
        let ln_population = ln_population(sampling, n);
        let doubts = [
            ln_so_many_duplicates(examples, duplicates, ln_population),
            ln_so_few_distinct(examples, examples - duplicates, ln_population),
        ];
        if doubts.iter().any(|&ln| ln < libm::log(FALSE_ALARM)) {
            return refuted(format!(
                "{duplicates} of {examples} examples repeat an earlier example, which has a \
                 probability below {FALSE_ALARM:e}"
            ));
        }
        let ln_population = ln_population_at_most(sampling, n);
        if ln_so_few_duplicates(examples, duplicates, ln_population) < libm::log(FALSE_ALARM) {
            return refuted(format!(
                "only {duplicates} of {examples} examples repeat an earlier example, which has a \
                 probability below {FALSE_ALARM:e}; a list of all examples is not a draw"
            ));
        }
        let ln_rarity = libm::log(2.0 / FALSE_ALARM);
        if is_off_balance(ascents, pairs as f64, ln_rarity) {
            return refuted(format!(
                "the second example is the larger one in {ascents} of {pairs} pairs, which has a \
                 probability below {FALSE_ALARM:e}; sorted examples are not a draw"
            ));
        }
        let bits = examples as f64 * n as f64;
        match sampling == Sampling::Uniform && is_off_balance(ones, bits, ln_rarity) {
            true => refuted(format!(
                "{ones} of {bits} bits are 1, which has a probability below {FALSE_ALARM:e}"
            )),
            false => None,
        }
    }
}

/// ln N, the logarithm of the number of possible examples.
pub(crate) fn ln_population(sampling: Sampling, n: usize) -> f64 {
    let bits = match sampling {
        Sampling::Uniform => n,
        Sampling::UniformPositive | Sampling::Reflected => n - 1,
    };
    bits as f64 * LN_2
}

/// Logarithm of `exp(D - mu - D ln(D / mu))`, or 0 if D is at most mu.
fn ln_so_many_duplicates(examples: u64, duplicates: u64, ln_population: f64) -> f64 {
    if duplicates == 0 {
        return 0.0;
    }
    let examples = examples as f64;
    let ln_mu = libm::log(examples) + libm::log(examples - 1.0) - LN_2 - ln_population;
    ln_so_many(duplicates as f64, ln_mu)
}

/// The logarithm of a bound on the probability that a sum of independent rare events with mean mu reaches `count`, or
/// 0 if `count` is at most mu.
pub(crate) fn ln_so_many(count: f64, ln_mu: f64) -> f64 {
    let mu = libm::exp(ln_mu);
    if count <= mu {
        return 0.0;
    }
    count - mu - count * (libm::log(count) - ln_mu)
}

/// Logarithm of `C(N, x) (x / N)^m`, or 0 if the number x of distinct examples is at least N.
fn ln_so_few_distinct(examples: u64, distinct: u64, ln_population: f64) -> f64 {
    let (m, x) = (examples as f64, distinct as f64);
    let ln_rarity = ln_population - libm::log(x);
    // Such a small value is a rounding error for any number of compared examples.
    if ln_rarity <= 1e-9 {
        return 0.0;
    }
    // Stirling's formula cancels the large terms before they are computed.
    let share = libm::exp(-ln_rarity);
    let others = x / share - x;
    let (left, root) = match others {
        // N is so large that N - x rounds to N.
        others if others > 1e15 => (x, 0.0),
        others => {
            let population = libm::round(others + x);
            let root = stirling::remainder(population) - stirling::remainder(population - x);
            let left = -(population - x) * libm::log1p(-share);
            (left, root - 0.5 * libm::log1p(-share))
        }
    };
    let ln_ways =
        x * ln_rarity + left + root - 0.5 * libm::log(2.0 * PI * x) - stirling::remainder(x);
    ln_ways - m * ln_rarity
}

/// Whether this number of 1 bits among `bits` fair coins has a probability below `2 exp(-ln_rarity)`.
pub(crate) fn is_off_balance(ones: u64, bits: f64, ln_rarity: f64) -> bool {
    (ones as f64 - bits / 2.0).abs() > libm::sqrt(bits * ln_rarity / 2.0)
}

/// The counts that need no memory of earlier rows.
#[derive(Default)]
struct Tally {
    ones: u64,
    order: RowOrder,
}

impl Tally {
    fn note(&mut self, row: &[u64]) {
        self.ones += row
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum::<u64>();
        self.order.note(row);
    }

    fn findings(&self, examples: u64, duplicates: u64, contradictions: u64) -> Findings {
        Findings {
            examples,
            duplicates,
            contradictions,
            ones: self.ones,
            pairs: self.order.pairs,
            ascents: self.order.ascents,
        }
    }
}

fn compare(
    data: &dyn Examples,
    most: usize,
    stop: &StopFlag,
) -> Result<Result<Findings, Broken>, Interrupt> {
    let shape = data.shape();
    let rows = shape.examples.min(most);
    let is_labelled = shape.labels.is_labelled();
    let mut counter = RepetitionCounter::new(rows, is_labelled, most);
    let (mut bytes, mut tally) = (Vec::new(), Tally::default());
    let walked = walk(data, rows, stop, |row, label| {
        tally.note(row);
        bytes.clear();
        row.iter()
            .for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        counter.push(&bytes, is_labelled.then_some(label));
    });
    if walked?.is_err() {
        return Ok(Err(Broken));
    }
    let counted = counter.finish().expect("no more rows than are compared");
    let contradictions = counted.contradictions.unwrap_or(0);
    Ok(Ok(tally.findings(
        rows as u64,
        counted.duplicates,
        contradictions,
    )))
}

/// Passes the words and the class code of each of the first `rows` Boolean rows to `see`.
fn walk(
    data: &dyn Examples,
    rows: usize,
    stop: &StopFlag,
    mut see: impl FnMut(&[u64], u32),
) -> Result<Result<(), Broken>, Interrupt> {
    let mut words = Vec::new();
    let mut interrupted = None;
    for_each_rows(data, |first, block| {
        interrupted = stop.raised();
        let BlockFeatures::Boolean(bits) = block.features else {
            unreachable!("a declared sampling is of Boolean examples");
        };
        if interrupted.is_some() || first >= rows {
            return ControlFlow::Break(());
        }
        words.resize(bits.words_per_row(), 0);
        let signs = || BlockCodes::of_signs(block.positives());
        let codes = block.codes().unwrap_or_else(signs);
        for row in 0..bits.rows().min(rows - first) {
            bits.copy_row(row, &mut words);
            see(&words, codes.get(row));
        }
        ControlFlow::Continue(())
    })?;
    match interrupted {
        Some(why @ (Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory)) => Err(why),
        Some(Interrupt::TimeLimit | Interrupt::Cancelled) => Ok(Err(Broken)),
        None => Ok(Ok(())),
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::learners::engine::bound::leading;
    use crate::learners::engine::even_draws::distribution;
    use crate::learners::engine::random::Seed;
    use crate::learners::engine::run::Run;
    use crate::learners::sample::generate::{Generated, Plan};

    fn findings(examples: u64, duplicates: u64) -> Findings {
        Findings {
            examples,
            duplicates,
            contradictions: 0,
            ones: 0,
            pairs: 0,
            ascents: 0,
        }
    }

    /// The findings with a fair number of 1 bits.
    fn balanced(examples: u64, duplicates: u64, n: usize) -> Findings {
        Findings {
            ones: examples * n as u64 / 2,
            ..findings(examples, duplicates)
        }
    }

    fn ln(number: &BigUint) -> f64 {
        let (first, twos) = leading(number);
        libm::log(first) + twos as f64 * LN_2
    }

    /// Computes `C(N, x) (x / N)^m` by multiplication.
    fn ln_by_multiplication(m: u32, x: u32, population: &BigUint) -> f64 {
        let ways = (0..x).fold(BigUint::from(1_u32), |ways, i| {
            ways * (population - i) / (i + 1)
        });
        ln(&(ways * BigUint::from(x).pow(m))) - f64::from(m) * ln(population)
    }

    /// Catches a Stirling's formula without its remainder or its root, and catches cancellation.
    #[test]
    fn bound_on_distinct_examples_matches_whole_number_arithmetic() {
        for bits in [1, 2, 3, 5, 8, 10, 13, 40, 60, 100, 700, 2_000] {
            let population = BigUint::from(1_u32) << bits;
            let most = 1_u32 << bits.min(8);
            for x in [1, 2, 3, 7, 15, 16, 17, 100, 255] {
                for m in [x, x + 1, 2 * x, 3 * x + 5, 40 * x] {
                    if x >= most {
                        continue;
                    }
                    let expected = ln_by_multiplication(m, x, &population);
                    let ln_population = bits as f64 * LN_2;
                    let found = ln_so_few_distinct(m.into(), x.into(), ln_population);
                    let error = (found - expected).abs();
                    assert!(
                        error < 1e-9 * expected.abs().max(1.0),
                        "{bits} {x} {m}: {found}"
                    );
                }
            }
        }
        // All possible examples occur. For even n there may be more than N.
        assert_eq!(ln_so_few_distinct(5_000, 16, 4.0 * LN_2), 0.0);
        assert_eq!(ln_so_few_distinct(5_000, 17, 4.0 * LN_2), 0.0);
    }

    /// Compares with the exact distribution instead of the bounds. Catches a threshold that is too large, a
    /// mu without its half, and N for N - 1 bits.
    #[test]
    fn evidence_hardly_ever_refutes_honest_examples() {
        let mut most: f64 = 0.0;
        for (n, sampling) in [
            (1, Sampling::Uniform),
            (5, Sampling::Uniform),
            (9, Sampling::UniformPositive),
            (10, Sampling::Uniform),
            (21, Sampling::UniformPositive),
        ] {
            let bits = if sampling == Sampling::Uniform {
                n
            } else {
                n - 1
            };
            for m in [2, 10, 60, 400, 800, 1_500] {
                let alarms = |(x, chance): (usize, &f64)| {
                    let found = balanced(m as u64, (m - x) as u64, n);
                    let is_refuted = x > 0 && found.against(sampling, n).is_some();
                    if is_refuted { *chance } else { 0.0 }
                };
                let chances = distribution(m, libm::exp2(f64::from(bits as u32)));
                let total: f64 = chances.iter().enumerate().map(alarms).sum();
                assert!(total <= 2.0 * FALSE_ALARM, "{n} {m}: {total:e}");
                most = most.max(total);
            }
        }
        assert!(most > 1e-13, "the tests hardly ever fire: {most:e}");
    }

    /// A case from a bug report: 23,880 duplicates among 24,000 rows of 101 bits.
    #[test]
    fn evidence_of_repeated_rows_refutes_the_declared_sampling() {
        let of = |n, examples, duplicates, sampling| {
            balanced(examples, duplicates, n)
                .against(sampling, n)
                .is_some()
        };
        assert!(of(101, 24_000, 23_880, Sampling::UniformPositive));
        assert!(of(101, 24_000, 1, Sampling::UniformPositive));
        assert!(!of(101, 24_000, 0, Sampling::UniformPositive));
        // 24,000 draws out of 2^20 have about 275 duplicates.
        assert!(!of(20, 24_000, 275, Sampling::Uniform));
        assert!(of(20, 24_000, 475, Sampling::Uniform));
        assert!(of(20, 24_000, 150, Sampling::Uniform));
        // 24,000 draws out of 2^5 contain every example many times.
        assert!(!of(5, 24_000, 24_000 - 32, Sampling::Uniform));
        assert!(of(5, 24_000, 24_000 - 31, Sampling::Uniform));
        // No number overflows.
        assert!(of(1 << 20, 2, 1, Sampling::Uniform));
        assert!(!of(1 << 20, 2, 0, Sampling::Uniform));
        assert!(!of(1, 1, 0, Sampling::UniformPositive));
    }

    #[test]
    fn evidence_of_ones_and_contradictions_refutes_the_declared_sampling() {
        let of = |ones, contradictions, sampling| {
            let found = Findings {
                ones,
                contradictions,
                ..findings(1_000, 0)
            };
            found.against(sampling, 100)
        };
        // sqrt(1e5 ln(2e9) / 2) = 1,034.9
        assert_eq!(of(51_034, 0, Sampling::Uniform), None);
        assert!(of(51_036, 0, Sampling::Uniform).is_some());
        assert!(of(48_964, 0, Sampling::Uniform).is_some());
        // The 1 bits of positive examples follow their target.
        assert_eq!(of(70_000, 0, Sampling::UniformPositive), None);
        let detail = of(50_000, 1, Sampling::Uniform).expect("one is enough");
        assert!(detail.contains("assume = uniform"), "{detail}");
    }

    #[test]
    fn evidence_of_generated_samples_supports_their_sampling() {
        let plan = |n, sampling| Plan {
            count: Some(500),
            ..Plan::endless(Plan::random_target(n, Seed(3)), sampling)
        };
        let stop = StopFlag::default();
        for sampling in [
            Sampling::Uniform,
            Sampling::UniformPositive,
            Sampling::Reflected,
        ] {
            for n in [8, 31, 130] {
                let plan = plan(n, sampling);
                let data = Generated::materialise(plan, Seed(3), &Run::default());
                let seen = Evidence::of(&data, None, &stop).expect("readable");
                assert_eq!(seen.against(sampling, n), None, "{n} {sampling:?}");
                let Evidence::Seen(found) = seen else {
                    panic!("nothing was raised")
                };
                assert_eq!(found.examples, 500);
                assert_eq!(found.duplicates > 0, n == 8);
                let known = Some((found.duplicates, found.contradictions));
                let again = Evidence::of(&data, known, &stop).expect("readable");
                assert_eq!(again, Evidence::Seen(found));
                // Only a prefix of the sample.
                let part = compare(&data, 100, &stop).expect("readable");
                assert_eq!(part.map(|part| part.examples).ok(), Some(100));
            }
        }
        let data = Generated::materialise(plan(9, Sampling::Uniform), Seed(1), &Run::default());
        stop.raise(Interrupt::TimeLimit);
        let unread = Evidence::of(&data, None, &stop);
        assert_eq!(unread, Ok(Evidence::Unread));
        assert!(Evidence::Unread.against(Sampling::Uniform, 9).is_some());
        stop.raise(Interrupt::Suspended);
        let given_up = Evidence::of(&data, None, &stop);
        assert_eq!(given_up, Err(Interrupt::Suspended));
    }
}
