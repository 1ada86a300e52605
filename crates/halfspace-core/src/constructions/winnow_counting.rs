//! Counting by training: examples for kernel Winnow after which one prediction compares the number of satisfying
//! assignments of a monotone 2-CNF with K.
//!
//! This is Theorem 7 of R. Khardon, D. Roth and R. Servedio, "Efficiency versus convergence of Boolean kernels for
//! on-line learning algorithms", section 4.2. Here alpha is an integer, and theta is 2^m, the default of the learner.
//! Every example is a mistake.
//!
//! The m features are A (one per variable of the formula), B (U features) and slack. A conjunction of A stands for
//! the assignment in which its variables are true. The query has all features of A and B and no slack, so only the
//! conjunctions of A, of B and of both decide its prediction.
//!
//! 1. For each clause, V demotions reduce the conjunctions without a variable of this clause. The conjunctions of A
//!    that satisfy the formula keep weight 1, and the others sum to less than 1/2.
//! 2. All of A is promoted q times, which keeps their sum below theta.
//! 3. The same kind of demotions uses a formula over B with exactly p satisfying assignments ([`super::monotone_cnf`]).
//!    After them the conjunctions of B sum to between p and p + 1/4.
//! 4. All of B is promoted. The conjunctions of B alone and those shared by A and B then sum to at least theta -
//!    alpha^q K, with an excess below half of alpha^q. The query reaches theta iff the formula has at least K
//!    satisfying assignments.
//!
//! A demotion needs a mistake on a negative example, and three pairs of slack features cause it. Each pair is
//! promoted until its three conjunctions reach theta together. After that, one feature from each pair suffices to
//! reach theta.
//!
//! The paper leaves the base of some logarithms open. We take binary ones, and round every logarithm up to the
//! smallest integer whose power suffices, computed in integers.

use num_bigint::BigUint;

use crate::bits::{BLOCK_ROWS, BitMatrix, BitVector, words_for};
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::sample::data::{Data, Features, Labels};

use super::monotone_cnf;

/// Largest number of variables of a formula.
pub const VARIABLES_MAX: u32 = 8;

/// Largest alpha.
pub const ALPHA_MAX: u64 = 1 << 32;

/// A question: does the formula have at least `at_least` satisfying assignments?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountingQuestion {
    /// Number of variables of the formula.
    pub variables: u32,
    /// Clauses of the formula. A clause has two variables, numbered from 1, which may be equal.
    pub clauses: Vec<[u32; 2]>,
    /// Number K of satisfying assignments to compare with.
    pub at_least: u64,
    /// Promotion factor alpha of the kernel Winnow that answers the question.
    pub alpha: u64,
}

/// Errors of [`CountingPlan::new`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// The formula has too many variables or none.
    #[error("the number of variables is {0}, but must be from 1 to {VARIABLES_MAX}")]
    Variables(u32),
    /// The formula has no clause, so the construction has nothing to demote.
    #[error("the formula needs at least one clause")]
    NoClause,
    /// A clause names a variable that the formula does not have.
    #[error(
        "clause {clause} (from 0) has the variable {variable}; the variables are 1 to {variables}"
    )]
    Clause {
        clause: usize,
        variable: u32,
        variables: u32,
    },
    /// The number of assignments is not from 1 to 2^variables.
    #[error("at_least is {at_least}, but must be from 1 to {most}")]
    AtLeast { at_least: u64, most: u64 },
    /// Alpha is not from 2 to [`ALPHA_MAX`].
    #[error("alpha is {0}, but must be a whole number from 2 to 4294967296")]
    Alpha(u64),
}

/// The numbers of the construction, named as in the paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Features of B.
    pub u: u32,
    /// Demotions per clause of the formula.
    pub v: u32,
    /// Demotions per clause of the formula over B.
    pub w: u32,
    /// All features.
    pub m: u32,
    /// Promotions of A.
    pub q: u32,
    /// Satisfying assignments of the formula over B.
    pub p: BigUint,
}

/// A checked question with the numbers of its construction, without examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountingPlan {
    question: CountingQuestion,
    numbers: Numbers,
    /// Promotions that raise a pair of slack features to theta.
    slack_promotions: u32,
    /// The clauses over B. The variables of B count from 1.
    b_clauses: Vec<Vec<u32>>,
    /// Promotions of B with the second-to-last slack feature and with the last.
    last_promotions: [u32; 2],
}

/// The examples of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Counting {
    /// The labelled examples in order. Each example is a mistake of kernel Winnow.
    pub data: Data,
    /// The query. The prediction is +1 iff the formula has at least the requested number of assignments.
    pub query: BitVector,
}

impl CountingPlan {
    /// Checks a question and computes its numbers.
    ///
    /// # Errors
    /// Describes the wrong value of the question and the valid range.
    pub fn new(mut question: CountingQuestion) -> Result<Self, QuestionError> {
        check(&question)?;
        // A repeated clause does not change the formula.
        question
            .clauses
            .iter_mut()
            .for_each(|clause| clause.sort_unstable());
        question.clauses.sort_unstable();
        question.clauses.dedup();
        let (alpha, n) = (question.alpha, question.variables);
        // c, U, V and W of the paper.
        let quarter = powers_to(alpha, &big(4));
        let u = n + 1 + powers_to(2, &big(alpha).pow(quarter + 1));
        let v = powers_to(alpha, &two_to(n + 1)) + 1;
        let w = powers_to(alpha, &two_to(u + 2)) + 1;
        let m = n + u + 6 * v * n * n + 6 * u * w + 3;
        let q = powers_to(alpha, &two_to(m - n - 1)) - 1;
        // The wanted sum D of B, and the smallest p with p alpha^(q-c) >= D.
        let shared = (two_to(n) - 1_u32) * (two_to(u) - 1_u32);
        let wanted = two_to(m) - shared - big(alpha).pow(q) * question.at_least;
        let unit = big(alpha).pow(q - quarter);
        let p = (wanted + &unit - 1_u32) / unit;
        let gap = powers_to(alpha, &two_to(u - n));
        Ok(Self {
            // A pair has three conjunctions, so alpha^t >= theta / 3.
            slack_promotions: powers_to(alpha, &(two_to(m) / 3_u32 + 1_u32)),
            b_clauses: monotone_cnf::build(u, &p).expect("1 < p < 2^U - 2, as the paper shows"),
            numbers: Numbers { u, v, w, m, q, p },
            last_promotions: [q - gap, gap - quarter],
            question,
        })
    }

    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// The threshold theta = 2^m of the kernel Winnow that the examples assume.
    pub fn theta(&self) -> BigUint {
        two_to(self.numbers.m)
    }

    /// The number of examples.
    pub fn examples(&self) -> u64 {
        let Numbers { v, w, q, .. } = self.numbers;
        let demotions = u64::from(v) * self.question.clauses.len() as u64
            + u64::from(w) * self.b_clauses.len() as u64;
        let [first, last] = self.last_promotions;
        demotions * (3 * u64::from(self.slack_promotions) + 1) + u64::from(q + first + last)
    }

    /// The largest number of active features in an example or in the query. Training needs a `max_active` of at least
    /// this number, which grows with alpha.
    pub fn active(&self) -> u32 {
        let (n, u) = (self.question.variables, self.numbers.u);
        (n + u).max(u + 2).max(n + 3)
    }

    /// Estimates the bytes of memory that the examples take.
    pub fn bytes(&self) -> u64 {
        let row_bytes = 8 * words_for(self.numbers.m as usize) as u64;
        let rows = self.examples().next_multiple_of(BLOCK_ROWS as u64);
        // The factor 2 covers the spare capacity of a growing vector.
        2 * rows * row_bytes + rows / 8
    }

    /// Builds the examples.
    ///
    /// # Errors
    /// Returns an error if the stop flag of `run` is raised.
    pub fn build(&self, run: &Run) -> Result<Counting, Interrupt> {
        let Numbers { u, v, w, m, q, .. } = self.numbers;
        let n = self.question.variables;
        let (a, b) = (0..n, n..n + u);
        let mut sequence = Sequence {
            run,
            m: m as usize,
            matrix: BitMatrix::new(m as usize),
            labels: Vec::new(),
            next_slack: n + u,
            slack_promotions: self.slack_promotions,
        };
        for [i, j] in &self.question.clauses {
            let falsified: Vec<_> = a.clone().filter(|x| ![*i, *j].contains(&(x + 1))).collect();
            sequence.demote(&falsified, v)?;
        }
        let slack = sequence.slack();
        sequence.promote(a.chain([slack]), q)?;
        for clause in &self.b_clauses {
            let falsified: Vec<_> = b
                .clone()
                .filter(|x| !clause.contains(&(x - n + 1)))
                .collect();
            sequence.demote(&falsified, w)?;
        }
        for (slack, times) in (m - 2..m).zip(self.last_promotions) {
            sequence.promote(b.clone().chain([slack]), times)?;
        }
        debug_assert_eq!(sequence.labels.len() as u64, self.examples());
        let mut query = BitVector::zeros(m as usize);
        (0..n + u).for_each(|feature| query.set(feature as usize, true));
        let data = sequence.into_data();
        Ok(Counting { data, query })
    }
}

fn check(question: &CountingQuestion) -> Result<(), QuestionError> {
    let variables = question.variables;
    if !(1..=VARIABLES_MAX).contains(&variables) {
        return Err(QuestionError::Variables(variables));
    }
    if question.clauses.is_empty() {
        return Err(QuestionError::NoClause);
    }
    for (clause, names) in question.clauses.iter().enumerate() {
        if let Some(&variable) = names.iter().find(|name| !(1..=variables).contains(*name)) {
            return Err(QuestionError::Clause {
                clause,
                variable,
                variables,
            });
        }
    }
    let (at_least, most) = (question.at_least, 1 << variables);
    if !(1..=most).contains(&at_least) {
        return Err(QuestionError::AtLeast { at_least, most });
    }
    if !(2..=ALPHA_MAX).contains(&question.alpha) {
        return Err(QuestionError::Alpha(question.alpha));
    }
    Ok(())
}

fn big(number: u64) -> BigUint {
    BigUint::from(number)
}

fn two_to(power: u32) -> BigUint {
    BigUint::from(1_u32) << power
}

/// The smallest t with base^t >= x.
fn powers_to(base: u64, x: &BigUint) -> u32 {
    let mut power = BigUint::from(1_u32);
    let mut t = 0;
    while power < *x {
        power *= base;
        t += 1;
    }
    t
}

/// Examples in the order of training, with the slack features used so far.
struct Sequence<'r> {
    run: &'r Run,
    m: usize,
    matrix: BitMatrix,
    labels: Vec<bool>,
    /// The first unused slack feature.
    next_slack: u32,
    slack_promotions: u32,
}

impl Sequence<'_> {
    fn slack(&mut self) -> u32 {
        self.next_slack += 1;
        self.next_slack - 1
    }

    /// Appends the same positive example `times` times.
    fn promote(
        &mut self,
        features: impl Iterator<Item = u32>,
        times: u32,
    ) -> Result<(), Interrupt> {
        self.push(features, true, times)
    }

    /// Repeats `times` times: promotes slack features to theta, then appends a negative example that contains
    /// them.
    fn demote(&mut self, features: &[u32], times: u32) -> Result<(), Interrupt> {
        for _ in 0..times {
            let mut firsts = [0; 3];
            for first in &mut firsts {
                *first = self.slack();
                let pair = [*first, self.slack()];
                self.promote(pair.into_iter(), self.slack_promotions)?;
            }
            self.push(features.iter().copied().chain(firsts), false, 1)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        features: impl Iterator<Item = u32>,
        label: bool,
        times: u32,
    ) -> Result<(), Interrupt> {
        if let Some(interrupt) = self.run.stop.raised() {
            return Err(interrupt);
        }
        let mut row = BitVector::zeros(self.m);
        features.for_each(|feature| row.set(feature as usize, true));
        for _ in 0..times {
            self.matrix.push_row(row.words());
            self.labels.push(label);
        }
        Ok(())
    }

    fn into_data(self) -> Data {
        let mut labels = BitVector::zeros(self.labels.len());
        for (at, &label) in self.labels.iter().enumerate() {
            labels.set(at, label);
        }
        Data::new(Features::Boolean(self.matrix), Labels::of_signs(labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::catalogue;
    use crate::learners::engine::check::check;
    use crate::learners::engine::input::Input;
    use crate::learners::engine::outcome::RunOutcome;
    use crate::learners::engine::parameters::Parameters;
    use crate::learners::engine::random::Seed;
    use crate::learners::engine::run::RunLimits;
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use crate::learners::predict::for_each_decisions;
    use crate::learners::predictor::Predictor;
    use serde_json::json;
    use std::ops::ControlFlow;

    fn question(
        variables: u32,
        clauses: &[[u32; 2]],
        at_least: u64,
        alpha: u64,
    ) -> CountingQuestion {
        CountingQuestion {
            variables,
            clauses: clauses.to_vec(),
            at_least,
            alpha,
        }
    }

    fn plan(variables: u32, clauses: &[[u32; 2]], at_least: u64, alpha: u64) -> CountingPlan {
        CountingPlan::new(question(variables, clauses, at_least, alpha)).expect("a question")
    }

    fn satisfying(variables: u32, clauses: &[[u32; 2]]) -> u64 {
        let holds = |assignment: &u64| {
            let is_true = |variable: &u32| assignment >> (variable - 1) & 1 == 1;
            clauses.iter().all(|clause| clause.iter().any(is_true))
        };
        (0..1_u64 << variables).filter(holds).count() as u64
    }

    fn learn(plan: &CountingPlan, data: &Data) -> RunOutcome {
        let entry = catalogue::find("kernel-winnow").expect("a learner");
        let params = json!({"alpha": plan.question.alpha});
        let task = Task {
            parameters: Parameters::from_json(entry.parameters, params.as_object().expect("it is"))
                .expect("parameters"),
            limits: RunLimits {
                max_passes: Some(1),
                ..RunLimits::default()
            },
            ..Task::of(entry, Seed(1))
        };
        let assume = None;
        let input = Input::Sample { data, assume };
        check(&task, input, 1 << 30).expect("few active features");
        train(&task, input, &Run::default()).expect("nobody suspends it")
    }

    fn predict(predictor: &Predictor, query: &BitVector) -> bool {
        let mut matrix = BitMatrix::new(query.n());
        matrix.push_row(query.words());
        let data = Data::new(Features::Boolean(matrix), Labels::Unlabelled);
        let mut answer = false;
        for_each_decisions(predictor, &data, 0.0, |decisions| {
            answer = decisions[0].is_positive();
            ControlFlow::Continue(())
        });
        answer
    }

    /// Trains, checks that every example was a mistake, and predicts the query.
    fn answer(plan: &CountingPlan) -> bool {
        let counting = plan.build(&Run::default()).expect("nobody stops it");
        assert_eq!(counting.data.examples() as u64, plan.examples());
        let outcome = learn(plan, &counting.data);
        assert_eq!(outcome.counts.examples, plan.examples());
        assert_eq!(outcome.counts.mistakes, plan.examples());
        predict(&outcome.predictor, &counting.query)
    }

    #[test]
    fn counting_plan_has_the_numbers_of_an_independent_implementation() {
        let two = plan(2, &[[1, 2]], 1, 2);
        let expected = Numbers {
            u: 6,
            v: 4,
            w: 9,
            m: 431,
            q: 427,
            p: big(60),
        };
        assert_eq!(two.numbers(), &expected);
        assert_eq!(two.examples(), 17_635);
        let three = plan(2, &[[1, 2]], 1, 3);
        let expected = Numbers {
            u: 8,
            v: 3,
            w: 8,
            m: 469,
            q: 294,
            p: big(65),
        };
        assert_eq!(three.numbers(), &expected);
        assert_eq!(three.examples(), 52_860);
    }

    /// Compares every monotone 2-CNF over two variables with an enumeration.
    #[test]
    fn kernel_winnow_counts_the_assignments_of_every_formula_over_two_variables() {
        let all = [[1, 1], [1, 2], [2, 2]];
        for chosen in 1..8_usize {
            let clauses: Vec<_> = (0..3)
                .filter(|at| chosen >> at & 1 == 1)
                .map(|at| all[at])
                .collect();
            let count = satisfying(2, &clauses);
            for at_least in 1..=4 {
                let plan = plan(2, &clauses, at_least, 2);
                assert_eq!(answer(&plan), count >= at_least, "{clauses:?} {at_least}");
            }
        }
    }

    #[test]
    fn counting_plan_ignores_order_and_repetition_of_clauses() {
        let once = plan(2, &[[1, 2], [2, 2]], 1, 2);
        assert_eq!(plan(2, &[[2, 2], [2, 1], [1, 2]], 1, 2), once);
    }

    #[test]
    fn counting_works_over_three_variables() {
        // Three of the eight assignments satisfy y1 or y2, and y3.
        let clauses = [[1, 2], [3, 3]];
        assert!(answer(&plan(3, &clauses, 3, 2)));
        assert!(!answer(&plan(3, &clauses, 4, 2)));
    }

    #[test]
    fn counting_works_with_alpha_three() {
        assert!(answer(&plan(2, &[[1, 2]], 1, 3)), "52,860 mistakes");
        assert!(answer(&plan(2, &[[1, 2]], 3, 3)));
        assert!(!answer(&plan(2, &[[1, 2]], 4, 3)));
    }

    #[test]
    fn counting_works_with_one_variable_and_any_alpha() {
        for alpha in [2, 7, 16] {
            assert!(answer(&plan(1, &[[1, 1]], 1, alpha)), "{alpha}");
            assert!(!answer(&plan(1, &[[1, 1]], 2, alpha)), "{alpha}");
        }
    }

    #[test]
    fn counting_plan_states_the_active_features() {
        for (variables, alpha) in [(1, 2), (2, 2), (2, 3), (1, 1 << 20), (1, ALPHA_MAX)] {
            let plan = plan(variables, &[[1, 1]], 1, alpha);
            let counting = plan.build(&Run::default()).expect("no stop");
            let Features::Boolean(matrix) = counting.data.features() else {
                unreachable!()
            };
            let zeros = BitVector::zeros(matrix.n());
            let rows = (0..matrix.rows())
                .map(|at| matrix.row(at))
                .chain([counting.query]);
            let most = rows.map(|row| row.hamming_distance(&zeros)).max();
            // A formula over B with only long clauses has fewer active features.
            let told = plan.active() as usize;
            assert!(
                most <= Some(told) && most >= Some(told - 1),
                "{most:?} {told}"
            );
        }
    }

    #[test]
    fn counting_examples_are_consistent_with_a_monotone_function() {
        let counting = plan(1, &[[1, 1]], 1, 1 << 20)
            .build(&Run::default())
            .expect("no stop");
        let (Features::Boolean(matrix), Some(labels)) =
            (counting.data.features(), counting.data.labels().signs())
        else {
            unreachable!()
        };
        let mut rows: Vec<_> = (0..matrix.rows())
            .map(|at| (matrix.row(at), labels.get(at)))
            .collect();
        rows.dedup();
        let within = |a: &BitVector, b: &BitVector| {
            let mut words = a.words().iter().zip(b.words());
            words.all(|(a, b)| a & !b == 0)
        };
        for (low, positive) in &rows {
            for (high, other) in &rows {
                assert!(!(within(low, high) && *positive && !other));
            }
        }
    }

    #[test]
    fn counting_plan_states_its_memory_before_it_is_built() {
        let small = plan(2, &[[1, 2]], 1, 2);
        let counting = small.build(&Run::default()).expect("no stop");
        let Features::Boolean(matrix) = counting.data.features() else {
            unreachable!()
        };
        assert!(8 * matrix.words().len() as u64 <= small.bytes());
        let clauses: Vec<_> = (1..=8).flat_map(|i| (i..=8).map(move |j| [i, j])).collect();
        let large = plan(8, &clauses, 1, 2);
        assert!(large.bytes() > 1 << 32, "{}", large.bytes());
        let run = Run::default();
        run.stop.raise(Interrupt::Cancelled);
        assert_eq!(large.build(&run), Err(Interrupt::Cancelled));
    }

    #[test]
    fn counting_plan_refuses_a_question_out_of_range() {
        let refused = |variables, clauses: &[[u32; 2]], at_least, alpha| {
            CountingPlan::new(question(variables, clauses, at_least, alpha)).expect_err("refused")
        };
        assert_eq!(refused(0, &[[1, 1]], 1, 2), QuestionError::Variables(0));
        assert_eq!(refused(9, &[[1, 1]], 1, 2), QuestionError::Variables(9));
        assert_eq!(refused(2, &[], 1, 2), QuestionError::NoClause);
        for (clause, variable) in [([1, 3], 3), ([0, 1], 0)] {
            let expected = QuestionError::Clause {
                clause: 1,
                variable,
                variables: 2,
            };
            assert_eq!(refused(2, &[[1, 2], clause], 1, 2), expected);
        }
        for at_least in [0, 5] {
            let expected = QuestionError::AtLeast { at_least, most: 4 };
            assert_eq!(refused(2, &[[1, 2]], at_least, 2), expected);
        }
        for alpha in [0, 1, ALPHA_MAX + 1] {
            assert_eq!(refused(2, &[[1, 2]], 1, alpha), QuestionError::Alpha(alpha));
        }
    }
}
