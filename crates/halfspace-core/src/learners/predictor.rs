//! What a training produces: one hypothesis, or for more than two classes a committee of one hypothesis per class.
//!
//! A [`Predictor`] decides on examples. It uses only what every kind of [`Hypothesis`] offers.

use std::ops::Range;
use std::slice;

use crate::bits::BLOCK_ROWS;

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
    pub fn renumbered(&self, ids: &[u32]) -> Option<Self> {
        match self {
            Self::One(hypothesis) => hypothesis.renumbered(ids).map(Self::One),
            Self::Committee(members) => {
                let members = members.iter().map(|member| member.renumbered(ids));
                members.collect::<Option<_>>().map(Self::Committee)
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

    /// Returns the mask of the rows of a block for which a wrong class is predicted. Once `stop` is raised, the mask
    /// may be wrong, so check the flag before you use it.
    pub fn mistakes(&self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        if let Self::One(hypothesis) = self {
            return hypothesis.mistakes(block, stop);
        }
        let mut decisions = Vec::with_capacity(BLOCK_ROWS);
        let rows = 0..block.rows();
        self.decide(block, rows, ScoresOf::Leaders, stop, &mut decisions);
        let wrong = |(row, decision): (usize, &Decision)| {
            u64::from(decision.class != block.class(row)) << row
        };
        decisions.iter().enumerate().map(wrong).sum()
    }
}
