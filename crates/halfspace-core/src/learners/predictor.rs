//! What a training produces: one hypothesis, or for more than two classes a committee of one hypothesis per class.
//!
//! A [`Predictor`] decides on examples. It uses only what every kind of [`Hypothesis`] offers.

use std::ops::Range;
use std::slice;

use crate::bits::BLOCK_ROWS;

use crate::learners::arithmetic::bracket::{Bracket, contenders, proved_leader};
use crate::learners::decision::{Decision, ScoresOf};
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::sample::block::Block;
use crate::learners::sample::examples::Examples;

/// A hypothesis or a committee.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a process has few predictors, nearly all of two classes"
)]
pub enum Predictor {
    /// The hypothesis that tells two classes apart.
    One(Hypothesis),
    /// One hypothesis per class, all of one kind, in the order of the class codes. There are more than two, except in a
    /// session whose classes join. Each tells its class from all others. The class with the largest score is
    /// predicted, and the first of these if there are several.
    Committee(Vec<Hypothesis>),
}

/// Bounds on the scores of some rows by all members.
struct Brackets {
    rows: usize,
    /// The bounds of the first member for all rows, then those of the next.
    all: Vec<Bracket>,
}

impl Brackets {
    /// Those of one row, from the first member on.
    fn of_row(&self, at: usize) -> impl Iterator<Item = Bracket> + Clone {
        self.all[at..].iter().step_by(self.rows).copied()
    }
}

impl From<Hypothesis> for Predictor {
    fn from(hypothesis: Hypothesis) -> Self {
        Self::One(hypothesis)
    }
}

impl Predictor {
    /// The committee of these members, unless they are fewer than three or their scores cannot be compared.
    pub fn committee(members: Vec<Hypothesis>) -> Option<Self> {
        let first = members.first()?;
        let are_like = members.len() > 2 && members.iter().all(|member| member.is_like(first));
        are_like.then_some(Self::Committee(members))
    }

    /// The number of classes that are told apart.
    pub fn classes(&self) -> usize {
        self.members().len().max(2)
    }

    /// The hypothesis, unless there is a committee.
    pub fn one(&self) -> Option<&Hypothesis> {
        match self {
            Self::One(hypothesis) => Some(hypothesis),
            Self::Committee(_) => None,
        }
    }

    /// The hypotheses, also if there is only one.
    pub fn members(&self) -> &[Hypothesis] {
        match self {
            Self::One(hypothesis) => slice::from_ref(hypothesis),
            Self::Committee(members) => members,
        }
    }

    /// The hypotheses, also if there is only one.
    pub fn into_members(self) -> Vec<Hypothesis> {
        match self {
            Self::One(hypothesis) => vec![hypothesis],
            Self::Committee(members) => members,
        }
    }

    /// Number of features that an example must have.
    pub fn n(&self) -> usize {
        self.members()[0].n()
    }

    /// See [`Hypothesis::renumbered`].
    pub fn renumbered(&self, ids: &[u32], n: usize) -> Option<Self> {
        match self {
            Self::One(hypothesis) => hypothesis.renumbered(ids, n).map(Self::One),
            Self::Committee(members) => {
                let members = members.iter().map(|member| member.renumbered(ids, n));
                members.collect::<Option<_>>().map(Self::Committee)
            }
        }
    }

    /// See [`Hypothesis::only`].
    pub fn only(&self, features: &[u32]) -> Option<Self> {
        match self {
            Self::One(hypothesis) => hypothesis.only(features).map(Self::One),
            Self::Committee(members) => {
                let members = members.iter().map(|member| member.only(features));
                members.collect::<Option<_>>().map(Self::Committee)
            }
        }
    }

    /// See [`Hypothesis::closed`].
    #[must_use]
    pub fn closed(self) -> Self {
        match self {
            Self::One(hypothesis) => Self::One(hypothesis.closed()),
            Self::Committee(members) => {
                Self::Committee(members.into_iter().map(Hypothesis::closed).collect())
            }
        }
    }

    /// Approximate number of words of work per decision.
    pub fn words_of_work(&self) -> u64 {
        self.members().iter().map(Hypothesis::words_of_work).sum()
    }

    /// See [`Hypothesis::takes_real`].
    pub fn takes_real(&self) -> bool {
        self.members().iter().all(Hypothesis::takes_real)
    }

    /// See [`Hypothesis::reads_bits`].
    pub fn reads_bits(&self) -> bool {
        self.members().iter().all(Hypothesis::reads_bits)
    }

    /// See [`Hypothesis::reads_names`].
    pub fn reads_names(&self) -> bool {
        self.members().iter().all(Hypothesis::reads_names)
    }

    /// See [`Hypothesis::counts_unknown`].
    pub fn counts_unknown(&self) -> bool {
        self.members().iter().all(Hypothesis::counts_unknown)
    }

    /// See [`Hypothesis::takes_sparse`].
    pub fn takes_sparse(&self, is_zero: bool) -> bool {
        self.members()
            .iter()
            .all(|member| member.takes_sparse(is_zero))
    }

    /// See [`Hypothesis::check_examples`].
    ///
    /// # Errors
    /// Returns the interrupt if the examples cannot be read.
    pub fn check_examples(&self, examples: &dyn Examples) -> Result<Result<(), String>, Interrupt> {
        for member in self.members() {
            if let Err(limit) = member.check_examples(examples)? {
                return Ok(Err(limit));
            }
        }
        Ok(Ok(()))
    }

    /// Appends the decisions on rows `rows` of a block to `out`. Once `stop` is raised, decisions may be missing or
    /// wrong, so check the flag before you use them.
    pub fn decide(
        &self,
        block: &Block<'_>,
        rows: Range<usize>,
        scores: ScoresOf,
        stop: &StopFlag,
        out: &mut Vec<Decision>,
    ) {
        let (first, others) = match self {
            Self::One(hypothesis) => return hypothesis.decide(block, rows, stop, out),
            Self::Committee(members) => members.split_first().expect("a class"),
        };
        if scores == ScoresOf::Leaders
            && let Some(brackets) = self.brackets(block, rows.clone())
        {
            for (at, row) in rows.enumerate() {
                let leaders = contenders::<2>(brackets.of_row(at));
                out.extend(self.decide_between(leaders, block, row, stop));
            }
            return;
        }
        let before = out.len();
        first.decide(block, rows.clone(), stop, out);
        for decision in &mut out[before..] {
            decision.class = 0;
            if scores == ScoresOf::All {
                decision.scores.push(decision.score.clone());
            }
        }
        let mut own = Vec::with_capacity(BLOCK_ROWS);
        for (class, member) in (1..).zip(others) {
            own.clear();
            member.decide(block, rows.clone(), stop, &mut own);
            for (best, own) in out[before..].iter_mut().zip(own.drain(..)) {
                if scores == ScoresOf::All {
                    best.scores.push(own.score.clone());
                }
                best.raise(class, own.score);
            }
        }
    }

    /// The decision on a row between some of the members, whose codes ascend. None may be the answer once `stop` is
    /// raised.
    fn decide_between(
        &self,
        rivals: impl Iterator<Item = (u32, Bracket)>,
        block: &Block<'_>,
        row: usize,
        stop: &StopFlag,
    ) -> Option<Decision> {
        let (mut best, mut own) = (None::<Decision>, Vec::with_capacity(1));
        for (class, _) in rivals {
            self.members()[class as usize].decide(block, row..row + 1, stop, &mut own);
            let decision = own.pop()?;
            match &mut best {
                Some(best) => best.raise(class, decision.score),
                None => best = Some(Decision { class, ..decision }),
            }
        }
        best
    }

    /// The bounds of all scores. None if the members have none.
    fn brackets(&self, block: &Block<'_>, rows: Range<usize>) -> Option<Brackets> {
        let mut all = Vec::with_capacity(self.members().len() * rows.len());
        for member in self.members() {
            member.bracket(block, rows.clone(), &mut all)?;
        }
        let rows = rows.len();
        Some(Brackets { rows, all })
    }

    /// Returns the mask of the rows of a block for which a wrong class is predicted. Once `stop` is raised, the mask
    /// may be wrong, so check the flag before you use it.
    pub fn mistakes(&self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        if let Self::One(hypothesis) = self {
            return hypothesis.mistakes(block, stop);
        }
        let rows = 0..block.rows();
        if let Some(brackets) = self.brackets(block, rows.clone()) {
            let predicted = |row| {
                proved_leader(brackets.of_row(row)).or_else(|| {
                    let leaders = contenders::<1>(brackets.of_row(row));
                    let decision = self.decide_between(leaders, block, row, stop);
                    decision.map(|decision| decision.class)
                })
            };
            let wrong = rows.filter(|&row| predicted(row) != Some(block.class(row)));
            return wrong.fold(0, |mask, row| mask | 1 << row);
        }
        let mut decisions = Vec::with_capacity(BLOCK_ROWS);
        self.decide(block, rows, ScoresOf::Leaders, stop, &mut decisions);
        let wrong = |(row, decision): (usize, &Decision)| {
            u64::from(decision.class != block.class(row)) << row
        };
        decisions.iter().enumerate().map(wrong).sum()
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::bits::{BitMatrix, last_word_mask};
    use crate::learners::arithmetic::decimal::Decimal;
    use crate::learners::arithmetic::power_sum::Base;
    use crate::learners::decision::Score;
    use crate::learners::sample::block::BlockFeatures;
    use crate::learners::sample::classes::BlockCodes;
    use crate::learners::winnow::winnow_weights::WinnowWeights;

    const N: usize = 12;

    /// Members whose sums are often equal, as powers of unlike exponents. A weight of the first features may exceed the
    /// cap of the fixed point.
    fn committee(random: &mut StdRng, alpha: &str) -> Predictor {
        let base = Base::of_decimal(&Decimal::parse(alpha).unwrap()).unwrap();
        let members = (0..5).map(|_| {
            let exponent = |feature| match feature {
                0 if random.random_range(0..9) == 0 => random.random_range(20..30),
                _ => random.random_range(-2..2),
            };
            let exponents = (0..N).map(exponent).collect();
            let weights = WinnowWeights::new(base, Decimal::from(6), N, exponents);
            Hypothesis::Winnow(weights)
        });
        Predictor::Committee(members.collect())
    }

    #[test]
    fn committee_of_winnow_decides_by_bounds_as_by_exact_scores() {
        let (mut random, stop) = (StdRng::seed_from_u64(5), StopFlag::default());
        let (mut ties, mut open) = (0, 0);
        for alpha in ["1.5", "1.2", "2", "3"].into_iter().cycle().take(60) {
            let predictor = committee(&mut random, alpha);
            let mut matrix = BitMatrix::new(N);
            (0..64).for_each(|_| matrix.push_row(&[random.random::<u64>() & last_word_mask(N)]));
            let mut codes = BlockCodes::zeros(3);
            (0..64).for_each(|row| codes.set(row, random.random_range(0..5)));
            let block = Block {
                codes: Some(codes),
                ..Block::of(BlockFeatures::Boolean(matrix.block(0)), 0)
            };
            // All scores are asked for, so no bound is used.
            let decisions = |scores| {
                let mut out = Vec::new();
                predictor.decide(&block, 0..64, scores, &stop, &mut out);
                out
            };
            let expected = decisions(ScoresOf::All);
            let leaders = expected.iter().map(|decision| Decision {
                scores: Vec::new(),
                ..decision.clone()
            });
            assert!(decisions(ScoresOf::Leaders).into_iter().eq(leaders));
            let is_wrong = |&row: &usize| expected[row].class != block.class(row);
            let wrong = (0..64)
                .filter(is_wrong)
                .fold(0, |mask, row| mask | 1 << row);
            assert_eq!(predictor.mistakes(&block, &stop), wrong);
            let is_tie = |one: &&Decision| one.margin() == Some(Score::Integer(0));
            ties += expected.iter().filter(is_tie).count();
            let brackets = predictor.brackets(&block, 0..64).expect("bounds");
            let is_open = |&row: &usize| proved_leader(brackets.of_row(row)).is_none();
            open += (0..64).filter(is_open).count();
        }
        assert!(ties > 100 && open > 100, "{ties} ties, {open} open");
    }
}
