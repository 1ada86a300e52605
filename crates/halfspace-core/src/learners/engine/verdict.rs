//! What the members of a committee, and the committee itself, decide on a row, and who learns from it.

use crate::learners::arithmetic::bracket::{Bracket, contenders, proved_leader};
use crate::learners::decision::Score;
use crate::learners::engine::member::Member;
use crate::learners::engine::run::StopFlag;
use crate::learners::engine::thickness::{Band, Stand};
use crate::learners::lockstep::{Lockstep, first_largest};
use crate::learners::sample::block::Block;

/// What the members of a committee decide on one row.
#[derive(Default)]
pub(super) struct RowDecisions {
    /// The decision of each member.
    pub stands: Vec<Stand>,
    /// The scores in lockstep.
    whole: Vec<i64>,
    /// The bounds of the scores, if the members have any.
    brackets: Vec<Bracket>,
    /// The scores, if they are compared one by one or with the band.
    exact: Vec<Score>,
}

impl RowDecisions {
    /// The scores of all members. Empty if nothing but bounds was needed, and in lockstep without a band.
    pub fn scores(&self) -> &[Score] {
        &self.exact
    }

    /// Lets all members decide on a row by weights side by side. Returns the class that is predicted.
    pub fn by_lockstep(
        &mut self,
        lockstep: &mut Lockstep,
        block: &Block<'_>,
        row: usize,
        band: Option<&Band>,
    ) -> u32 {
        self.stands.clear();
        self.exact.clear();
        lockstep.scores(block, row, &mut self.whole);
        let class = block.class(row);
        for (code, &score) in (0..).zip(&self.whole) {
            let (is_positive, score) = (score >= 0, Score::Integer(score));
            let stand = Stand::of(is_positive, &score, code == class, band);
            self.stands.push(stand);
            if band.is_some() {
                self.exact.push(score);
            }
        }
        let scores = (0..).zip(&self.whole);
        first_largest(scores, |one, other| one > other)
    }

    /// Lets each member decide on a row. Returns the class that is predicted.
    pub fn by_members(
        &mut self,
        members: &mut [Member],
        block: &Block<'_>,
        row: usize,
        band: Option<&Band>,
        stop: &StopFlag,
    ) -> u32 {
        self.exact.clear();
        if let Some(predicted) = self.by_brackets(members, block, row, stop) {
            return predicted;
        }
        self.stands.clear();
        let class = block.class(row);
        for (code, member) in (0..).zip(members) {
            let Some(own) = member.rule() else { continue };
            let decision = own.decide(block, row, stop);
            let is_positive = decision.is_positive();
            let stand = Stand::of(is_positive, &decision.score, code == class, band);
            self.stands.push(stand);
            self.exact.push(decision.score);
        }
        let scores = (0..).zip(&self.exact);
        first_largest(scores, |one, other| one.compare(other).is_gt())
    }

    /// Like [`Self::by_members`], but only the classes that bounds do not tell apart have their scores computed. None
    /// if the members have no bounds.
    fn by_brackets(
        &mut self,
        members: &mut [Member],
        block: &Block<'_>,
        row: usize,
        stop: &StopFlag,
    ) -> Option<u32> {
        self.stands.clear();
        self.brackets.clear();
        for (code, member) in (0..).zip(&mut *members) {
            let (stand, bracket) = member.rule()?.glance(&block.of_class(code), row)?;
            self.stands.push(stand);
            self.brackets.push(bracket);
        }
        let brackets = self.brackets.iter().copied();
        if let Some(leader) = proved_leader(brackets.clone()) {
            return Some(leader);
        }
        let scores = contenders::<1>(brackets).filter_map(|(code, _)| {
            let own = members[code as usize].rule()?;
            Some((code, own.decide(block, row, stop).score))
        });
        Some(first_largest(scores, |one, other| {
            one.compare(other).is_gt()
        }))
    }
}

/// What a committee decided on a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub predicted: u32,
    /// The class that loses the row if the members learn jointly. None if they do not learn from it.
    pub loses: Option<u32>,
}

impl Verdict {
    /// The verdict on a row of a class for which `predicted` was predicted. A band needs the scores of all classes, of
    /// which an equal one of an earlier class wins, as in a prediction.
    pub fn of(predicted: u32, class: u32, scores: &[Score], band: Option<&Band>) -> Self {
        // A class that has no member yet has no score, and the prediction is a mistake.
        let Some((band, own)) = band.zip(scores.get(class as usize)) else {
            let loses = (predicted != class).then_some(predicted);
            return Self { predicted, loses };
        };
        let others = (0..).zip(scores).filter(|(code, _)| *code != class);
        let is_above = |one: &(u32, &Score), other: &(u32, &Score)| one.1.compare(other.1).is_gt();
        let rival = others.reduce(|best, next| if is_above(&next, &best) { next } else { best });
        let loses = rival.and_then(|(code, rival)| {
            let is_lesson = match code < class {
                true => band.teaches(&rival.minus(own), false),
                false => band.teaches(&own.minus(rival), true),
            };
            is_lesson.then_some(code)
        });
        Self { predicted, loses }
    }
}
