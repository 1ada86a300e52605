//! The whole weights of a committee side by side, so that a row is read once for all members.
//!
//! The scores are those of the members, bit for bit. While a committee learns, its members keep weights of their own,
//! and every update is made in both places.

use std::ops::Range;

use crate::bits::{ClassColumns, WORD_BITS, ones_of};
use crate::learners::arithmetic::unit::Unit;
use crate::learners::decision::{Decision, Score, ScoresOf};
use crate::learners::engine::run::StopFlag;
use crate::learners::hypothesis::Hypothesis;
use crate::learners::linear::linear_weights::{IntegerWeights, LinearWeights, Reading};
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::{Block, BlockFeatures};

/// The most bytes that a [`Judge`] takes for another copy of the weights.
const JUDGED_BYTES_MAX: usize = 16 << 20;

/// The weights of all members.
pub struct Lockstep {
    columns: ClassColumns,
    unit: Unit,
    /// Memory for the active features of a packed row.
    ids: Vec<u32>,
}

impl Lockstep {
    /// The weights of these members. None unless they are whole and small.
    pub fn of(members: &[Hypothesis]) -> Option<Self> {
        let first = whole_weights(members.first()?)?;
        let is_signed = first.reading() == Reading::Signed;
        let n = members.first()?.n();
        let mut columns = ClassColumns::new(n, members.len(), is_signed);
        for (class, member) in members.iter().enumerate() {
            let own = whole_weights(member)?;
            if !columns.assign(class, &own.weights(), own.bias()) {
                return None;
            }
        }
        Some(Self {
            columns,
            unit: first.unit(),
            ids: Vec::new(),
        })
    }

    /// These weights and those of one further member. None if there is no room.
    pub fn joined(mut self, member: &[Hypothesis]) -> Option<Self> {
        let own = whole_weights(member.first()?)?;
        let class = self.columns.join()?;
        let is_assigned = self.columns.assign(class, &own.weights(), own.bias());
        is_assigned.then_some(self)
    }

    /// Adds features with weights of 0 up to `n` features. The members read bits as 0 and 1.
    pub fn grow(&mut self, n: usize) {
        self.columns.grow(n);
    }

    /// Replaces `scores` by the score of each member for a Boolean row, in units of the weights.
    pub fn scores(&mut self, block: &Block<'_>, row: usize, scores: &mut Vec<i64>) {
        let ids = active(block, row, &mut self.ids);
        self.columns.scores(ids, scores);
    }

    /// Adds `amount` times a row to the weights of a member. None if they become too large.
    pub fn added(mut self, class: u32, block: &Block<'_>, row: usize, amount: i64) -> Option<Self> {
        let ids = active(block, row, &mut self.ids);
        let is_added = self.columns.add(class as usize, ids, amount);
        is_added.then_some(self)
    }
}

fn whole_weights(member: &Hypothesis) -> Option<&IntegerWeights> {
    match member {
        Hypothesis::Linear(LinearWeights::Integer(own)) => Some(own),
        _ => None,
    }
}

/// Whether the weights of so many members should lie side by side for rows like these. Sparse rows always gain. Members
/// read packed rows many weights at a time, and this counts for more than the shared reading if many bits are set. The
/// numbers are fitted to measurements with 3 to 26 members and 64 to 20,000 features.
pub fn pays(block: &Block<'_>, members: usize) -> bool {
    match block.features {
        BlockFeatures::Sparse(_) => true,
        BlockFeatures::Boolean(bits) => {
            let one_by_one = bits.rows() * members * (bits.words_per_row() * WORD_BITS + 32);
            8 * active_of_all(block) * (2 + members.div_ceil(16)) <= one_by_one
        }
        BlockFeatures::Real { .. } => false,
    }
}

/// The number of active features of all rows, 0 for reals.
fn active_of_all(block: &Block<'_>) -> usize {
    match block.features {
        BlockFeatures::Sparse(rows) => rows.entries(),
        BlockFeatures::Boolean(bits) => {
            let ones = bits.words().iter().map(|word| word.count_ones() as usize);
            ones.sum()
        }
        BlockFeatures::Real { .. } => 0,
    }
}

/// The active features of a Boolean row.
fn active<'a>(block: &Block<'a>, row: usize, listed: &'a mut Vec<u32>) -> &'a [u32] {
    match block.features {
        BlockFeatures::Sparse(rows) => rows.row(row).ids,
        _ => {
            let bits = block.bits();
            listed.clear();
            for word in 0..bits.words_per_row() {
                let ones = ones_of(bits.word(word, row));
                listed.extend(ones.map(|one| (word * WORD_BITS + one) as u32));
            }
            listed
        }
    }
}

/// The code with the largest score by this comparison, and the first such code if there are several.
pub fn first_largest<S>(
    scores: impl Iterator<Item = (u32, S)>,
    is_above: impl Fn(&S, &S) -> bool,
) -> u32 {
    let largest = scores.reduce(|best, next| {
        if is_above(&next.1, &best.1) {
            next
        } else {
            best
        }
    });
    largest.map_or(0, |(code, _)| code)
}

/// A predictor that decides on many rows, one block after the other.
pub struct Judge<'p> {
    predictor: &'p Predictor,
    /// The active features until the weights are laid side by side, which costs about as much. None if that is settled.
    until: Option<usize>,
    lockstep: Option<Lockstep>,
    scores: Vec<i64>,
}

impl<'p> Judge<'p> {
    pub fn new(predictor: &'p Predictor) -> Self {
        let (n, members) = (predictor.n(), predictor.members().len());
        let is_fit = members > 1 && ClassColumns::bytes(n, members) <= JUDGED_BYTES_MAX;
        Self {
            predictor,
            until: is_fit.then_some(n),
            lockstep: None,
            scores: Vec::new(),
        }
    }

    /// See [`Predictor::decide`].
    pub fn decide(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        scores: ScoresOf,
        stop: &StopFlag,
        out: &mut Vec<Decision>,
    ) {
        self.work(block, rows.len());
        let Some(lockstep) = &mut self.lockstep else {
            return self.predictor.decide(block, rows, scores, stop, out);
        };
        let unit = lockstep.unit;
        for row in rows {
            lockstep.scores(block, row, &mut self.scores);
            let mut all = self
                .scores
                .iter()
                .map(|&units| Score::of_units(units, unit));
            let mut decision = Decision::new(all.next().expect("a class"), false);
            (1..)
                .zip(all)
                .for_each(|(class, score)| decision.raise(class, score));
            if scores == ScoresOf::All {
                decision.scores = self
                    .scores
                    .iter()
                    .map(|&units| Score::of_units(units, unit))
                    .collect();
            }
            out.push(decision);
        }
    }

    /// See [`Predictor::mistakes`].
    pub fn mistakes(&mut self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        self.work(block, block.rows());
        let Some(lockstep) = &mut self.lockstep else {
            return self.predictor.mistakes(block, stop);
        };
        let wrong = (0..block.rows()).filter(|&row| {
            lockstep.scores(block, row, &mut self.scores);
            let scores = (0..).zip(&self.scores);
            first_largest(scores, |one, other| one > other) != block.class(row)
        });
        wrong.fold(0, |mask, row| mask | 1 << row)
    }

    /// Lays the weights side by side once they have been used enough.
    fn work(&mut self, block: &Block<'_>, rows: usize) {
        let Some(left) = self.until else { return };
        self.until = left.checked_sub(active_of_all(block) * rows / block.rows().max(1));
        let members = self.predictor.members();
        if self.until.is_none() && pays(block, members.len()) {
            self.lockstep = Lockstep::of(members);
        }
    }
}
