//! Counting by training: a sequence of examples after which kernel Winnow's prediction on one
//! further example says whether a monotone 2-CNF has at least K satisfying assignments.
//!
//! Theorem 7 of R. Khardon, D. Roth and R. Servedio, "Efficiency versus convergence of Boolean
//! kernels for on-line learning algorithms", section 4.2; alpha is a whole number here, and theta
//! is 2^m, the default of the learner. Every example is a mistake.
//!
//! The m features are A (one a variable of the formula), B (U of them) and slack. The query has
//! all of A and B and no slack, so what decides are the conjunctions of A, of B and of both.
//! A conjunction of A stands for the assignment in which its variables are true.
//!
//! 1. For each clause the conjunctions that have none of its variables are demoted V times: of A,
//!    those that satisfy the formula keep weight 1, and the rest comes to less than 1/2.
//! 2. All of A is promoted q times, so far that the sum is just below theta.
//! 3. Demotions like those of stage 1, by a formula over B with exactly p satisfying assignments
//!    ([`super::monotone_cnf`]), leave B a sum of p and less than 1/4.
//! 4. All of B is promoted, so that B, and what A and B share, come to theta - alpha^q K and less
//!    than half of alpha^q: the query reaches theta iff A's count is at least K.
//!
//! Slack makes Winnow err where it is to be demoted: three pairs of features, each promoted until
//! its three conjunctions reach theta, so that one feature of each pair together reach it.
//!
//! Where the paper is silent: logarithms without a base are binary, and each is the smallest whole
//! number whose power suffices, found in integers.

use num_bigint::BigUint;

use crate::bits::{BLOCK_ROWS, BitMatrix, BitVector, words_for};
use crate::learners::data::{Data, Features, Labels};
use crate::learners::run::{Interrupt, Run};

use super::monotone_cnf;

/// The most variables of a formula.
pub const VARIABLES_MAX: u32 = 8;

/// The largest alpha.
pub const ALPHA_MAX: u64 = 1 << 32;

/// A question: has the formula at least so many satisfying assignments?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Variables of the formula.
    pub variables: u32,
    /// Its clauses, each of two variables, from 1, that need not differ.
    pub clauses: Vec<[u32; 2]>,
    /// How many satisfying assignments are asked for: K.
    pub at_least: u64,
    /// The factor of the Winnow that is to answer.
    pub alpha: u64,
}

/// Why a question cannot be put.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// The formula has too many variables, or none.
    #[error("{0} variables; there are from 1 to {VARIABLES_MAX}")]
    Variables(u32),
    /// Without a clause there is nothing to demote.
    #[error("the formula has no clause; it needs one")]
    NoClause,
    /// A clause names no variable of the formula.
    #[error("clause {clause} (from 0) has the variable {variable}; there are 1 to {variables}")]
    Clause {
        clause: usize,
        variable: u32,
        variables: u32,
    },
    /// There are from 1 to 2^variables assignments to ask for.
    #[error("at least {at_least} satisfying assignments; ask for 1 to {most}")]
    AtLeast { at_least: u64, most: u64 },
    /// Alpha is out of its range.
    #[error("alpha is {0}; it is a whole number from 2 to 4294967296")]
    Alpha(u64),
}

/// The numbers of the construction, as the paper names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Features of B.
    pub u: u32,
    /// Demotions a clause of the formula.
    pub v: u32,
    /// Demotions a clause of the formula over B.
    pub w: u32,
    /// All features.
    pub m: u32,
    /// Promotions of A.
    pub q: u32,
    /// Satisfying assignments of the formula over B.
    pub p: BigUint,
}

/// A question that has been put in numbers, not yet in examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    question: Question,
    numbers: Numbers,
    /// Promotions that bring a pair of slack features to theta.
    slack_promotions: u32,
    /// The clauses over B, whose variables count from 1.
    b_clauses: Vec<Vec<u32>>,
    /// Promotions of B with the last slack feature but one, and with the last.
    last_promotions: [u32; 2],
}

/// The question in examples.
#[derive(Clone, Debug, PartialEq)]
pub struct Counting {
    /// The labelled examples, in order: each is a mistake of kernel Winnow.
    pub data: Data,
    /// The example whose prediction answers: +1 iff the formula has so many assignments.
    pub query: BitVector,
}

impl Plan {
    /// Checks a question and computes its numbers.
    ///
    /// # Errors
    /// What is wrong with the question and what would be right.
    pub fn new(mut question: Question) -> Result<Self, QuestionError> {
        check(&question)?;
        // A clause given twice is the same formula.
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
        // What B is to come to, D, and the smallest p with p alpha^(q-c) >= D.
        let shared = (two_to(n) - 1_u32) * (two_to(u) - 1_u32);
        let wanted = two_to(m) - shared - big(alpha).pow(q) * question.at_least;
        let unit = big(alpha).pow(q - quarter);
        let p = (wanted + &unit - 1_u32) / unit;
        let gap = powers_to(alpha, &two_to(u - n));
        Ok(Self {
            // Three conjunctions a pair: alpha^t >= theta / 3.
            slack_promotions: powers_to(alpha, &(two_to(m) / 3_u32 + 1_u32)),
            b_clauses: monotone_cnf::build(u, &p).expect("1 < p < 2^U - 2, as the paper shows"),
            numbers: Numbers { u, v, w, m, q, p },
            last_promotions: [q - gap, gap - quarter],
            question,
        })
    }

    /// The numbers of the construction.
    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// The threshold for which the examples are made: 2^m.
    pub fn theta(&self) -> BigUint {
        two_to(self.numbers.m)
    }

    /// How many examples there will be.
    pub fn examples(&self) -> u64 {
        let Numbers { v, w, q, .. } = self.numbers;
        let demotions = u64::from(v) * self.question.clauses.len() as u64
            + u64::from(w) * self.b_clauses.len() as u64;
        let [first, last] = self.last_promotions;
        demotions * (3 * u64::from(self.slack_promotions) + 1) + u64::from(q + first + last)
    }

    /// The most features that are active in an example or the query. What trains on them needs a
    /// `max_active` as large; it grows with alpha.
    pub fn active(&self) -> u32 {
        let (n, u) = (self.question.variables, self.numbers.u);
        (n + u).max(u + 2).max(n + 3)
    }

    /// About how many bytes the examples will take in memory.
    pub fn bytes(&self) -> u64 {
        let row_bytes = 8 * words_for(self.numbers.m as usize) as u64;
        let rows = self.examples().next_multiple_of(BLOCK_ROWS as u64);
        // While they are made, the room of a growing vector.
        2 * rows * row_bytes + rows / 8
    }

    /// Builds the examples.
    ///
    /// # Errors
    /// When the run is told to stop meanwhile.
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

fn check(question: &Question) -> Result<(), QuestionError> {
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

/// Examples as they are appended.
struct Sequence<'r> {
    run: &'r Run,
    m: usize,
    matrix: BitMatrix,
    labels: Vec<bool>,
    /// The first slack feature that is not used yet.
    next_slack: u32,
    slack_promotions: u32,
}

impl Sequence<'_> {
    fn slack(&mut self) -> u32 {
        self.next_slack += 1;
        self.next_slack - 1
    }

    /// The same positive example `times` over.
    fn promote(
        &mut self,
        features: impl Iterator<Item = u32>,
        times: u32,
    ) -> Result<(), Interrupt> {
        self.push(features, true, times)
    }

    /// `times` over: slack is brought to theta, and then a negative example with it demotes.
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
        Data::new(Features::Boolean(self.matrix), Labels::Labelled(labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::catalogue;
    use crate::learners::hypothesis::Hypothesis;
    use crate::learners::outcome::Outcome;
    use crate::learners::parameters::Parameters;
    use crate::learners::predict::for_each_decisions;
    use crate::learners::random::Seed;
    use crate::learners::run::Limits;
    use crate::learners::task::{Input, Task, check};
    use crate::learners::train::train;
    use serde_json::json;
    use std::ops::ControlFlow;

    fn question(variables: u32, clauses: &[[u32; 2]], at_least: u64, alpha: u64) -> Question {
        Question {
            variables,
            clauses: clauses.to_vec(),
            at_least,
            alpha,
        }
    }

    fn plan(variables: u32, clauses: &[[u32; 2]], at_least: u64, alpha: u64) -> Plan {
        Plan::new(question(variables, clauses, at_least, alpha)).expect("a question")
    }

    fn satisfying(variables: u32, clauses: &[[u32; 2]]) -> u64 {
        let holds = |assignment: &u64| {
            let is_true = |variable: &u32| assignment >> (variable - 1) & 1 == 1;
            clauses.iter().all(|clause| clause.iter().any(is_true))
        };
        (0..1_u64 << variables).filter(holds).count() as u64
    }

    fn learn(plan: &Plan, data: &Data) -> Outcome {
        let entry = catalogue::find("kernel-winnow").expect("a learner");
        let params = json!({"alpha": plan.question.alpha});
        let task = Task {
            parameters: Parameters::from_json(entry.parameters, params.as_object().expect("it is"))
                .expect("parameters"),
            limits: Limits {
                max_passes: Some(1),
                ..Limits::default()
            },
            ..Task::of(entry, Seed(1))
        };
        let assume = None;
        let input = Input::Sample { data, assume };
        check(&task, input, 1 << 30).expect("few active features");
        train(&task, input, &Run::default()).expect("nobody suspends it")
    }

    fn predict(hypothesis: &Hypothesis, query: &BitVector) -> bool {
        let mut matrix = BitMatrix::new(query.n());
        matrix.push_row(query.words());
        let data = Data::new(Features::Boolean(matrix), Labels::Unlabelled);
        let mut answer = false;
        for_each_decisions(hypothesis, &data, 0.0, |decisions| {
            answer = decisions[0].is_positive;
            ControlFlow::Continue(())
        });
        answer
    }

    /// Trains, sees that every example was a mistake, and asks.
    fn answer(plan: &Plan) -> bool {
        let counting = plan.build(&Run::default()).expect("nobody stops it");
        assert_eq!(counting.data.examples() as u64, plan.examples());
        let outcome = learn(plan, &counting.data);
        assert_eq!(outcome.counts.examples, plan.examples());
        assert_eq!(outcome.counts.mistakes, plan.examples());
        predict(&outcome.hypothesis, &counting.query)
    }

    #[test]
    fn the_numbers_are_those_of_an_independent_implementation() {
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

    /// Every monotone 2-CNF over two variables, against enumeration.
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
    fn the_order_of_clauses_and_their_repetition_make_no_difference() {
        let once = plan(2, &[[1, 2], [2, 2]], 1, 2);
        assert_eq!(plan(2, &[[2, 2], [2, 1], [1, 2]], 1, 2), once);
    }

    #[test]
    fn it_counts_over_three_variables() {
        // y1 or y2, and y3: three of eight assignments.
        let clauses = [[1, 2], [3, 3]];
        assert!(answer(&plan(3, &clauses, 3, 2)));
        assert!(!answer(&plan(3, &clauses, 4, 2)));
    }

    #[test]
    fn it_counts_with_alpha_three_as_well() {
        assert!(answer(&plan(2, &[[1, 2]], 1, 3)), "52,860 mistakes");
        assert!(answer(&plan(2, &[[1, 2]], 3, 3)));
        assert!(!answer(&plan(2, &[[1, 2]], 4, 3)));
    }

    #[test]
    fn it_counts_with_one_variable_and_a_larger_alpha() {
        for alpha in [2, 7, 16] {
            assert!(answer(&plan(1, &[[1, 1]], 1, alpha)), "{alpha}");
            assert!(!answer(&plan(1, &[[1, 1]], 2, alpha)), "{alpha}");
        }
    }

    #[test]
    fn the_active_features_are_told_beforehand() {
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
            // A formula over B whose clauses are all long has fewer.
            let told = plan.active() as usize;
            assert!(
                most <= Some(told) && most >= Some(told - 1),
                "{most:?} {told}"
            );
        }
    }

    #[test]
    fn the_examples_are_consistent_with_a_monotone_function() {
        let counting = plan(1, &[[1, 1]], 1, 1 << 20)
            .build(&Run::default())
            .expect("no stop");
        let (Features::Boolean(matrix), Labels::Labelled(labels)) =
            (counting.data.features(), counting.data.labels())
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
    fn the_memory_is_told_before_it_is_taken() {
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
    fn a_question_without_sense_is_refused() {
        let refused = |variables, clauses: &[[u32; 2]], at_least, alpha| {
            Plan::new(question(variables, clauses, at_least, alpha)).expect_err("refused")
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
