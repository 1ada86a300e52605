//! A committee: a rule for more than two classes, made of one two-class rule per class.
//!
//! Each member has the score of its class. The committee predicts the class with the largest score, and the first such
//! class in a tie. How the members learn is the [`Multiclass`] of the task:
//!
//! - One against the rest: every example is shown to every member, which learns from it whenever its own decision is
//!   wrong, even if the committee is right. This works with any learner whose rule is a
//!   [`MemberRule`](crate::learners::engine::rule::MemberRule).
//!   R. Rifkin, A. Klautau, "In defense of one-vs-all classification", JMLR 5 (2004) 101-141.
//! - Jointly: when the committee is wrong, the member of the true class gains the example, and the one that was
//!   predicted loses it. With a [thickness](crate::learners::engine::thickness), the same happens when the score of the
//!   true class is not far enough above the largest other one, whose member then loses the example. The members must
//!   have an [additive step](crate::learners::engine::rule::MemberRule::additive_step). This is Kesler's construction.
//!   K. Crammer, Y. Singer, "Ultraconservative online algorithms for multiclass problems", JMLR 3 (2003) 951-991.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::bits::Excerpt;
use crate::learners::engine::bound::{Bound, MemberOutcome};
use crate::learners::engine::member::{Joining, Member, member};
use crate::learners::engine::random::Generator;
use crate::learners::engine::reason::Reason;
use crate::learners::engine::rule::{Kind, OnlineRule, Order, Rule};
use crate::learners::engine::run::{Counts, Interrupt, Run, StopFlag};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::thickness::{Band, Stand};
use crate::learners::engine::update::{Learnt, Update};
use crate::learners::engine::verdict::{RowDecisions, Verdict};
use crate::learners::hypothesis::Hypothesis;
use crate::learners::lockstep::{self, Lockstep};
use crate::learners::predictor::Predictor;
use crate::learners::sample::block::Block;
use crate::learners::sample::classes::{BlockCodes, planes_for};
use crate::learners::sample::source::Stream;

/// How the members of a committee learn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Multiclass {
    /// Each member learns to tell its class from all others.
    #[default]
    OneVsRest,
    /// On a mistake, the true class gains the example and the predicted class loses it.
    Joint,
}

/// A rule for many classes.
pub struct Committee {
    multiclass: Multiclass,
    /// One member per class, in the order of the codes.
    members: Vec<Member>,
    order: Order,
    /// The weights of the members, if they are kept in lockstep. None before the first row.
    lockstep: Option<Option<Lockstep>>,
    /// The factor of a positive example in an update, see
    /// [`additive_step`](crate::learners::engine::rule::MemberRule::additive_step).
    step: Option<f64>,
    /// What each member decided on the present row.
    decided: RowDecisions,
    /// The [band](crate::learners::engine::rule::OnlineRule::band) of every member.
    band: Option<Band>,
    /// The rows of the present block that were mistakes of each member, or its first row, as masks.
    mistaken: Vec<u64>,
    joining: Option<Joining>,
    /// The number of examples shown so far.
    presented: u64,
}

/// What a learner without committees says about more than two classes.
pub const OF_TWO: &str = "with these parameters tells no more than two classes apart; `positive` names the one to tell \
                          from the others";

impl Committee {
    /// A committee of one rule per class, all built alike.
    ///
    /// # Errors
    /// Why they cannot be members that learn like this, as what their learner does.
    pub fn new(
        multiclass: Multiclass,
        mut rules: Vec<Box<dyn Rule>>,
        mut joining: Option<Joining>,
    ) -> Result<Self, &'static str> {
        let next = joining.as_mut().map(|joining| &mut joining.next.rule);
        let first = rules.first_mut().or(next).and_then(member);
        let first = first.ok_or(OF_TWO)?;
        let order = first.order();
        let step = first.additive_step();
        let band = first.band().cloned();
        if order == Order::RandomMistake {
            return Err(
                "tells no more than two classes apart in this order; set order to cyclic or shuffled",
            );
        }
        if multiclass == Multiclass::Joint && step.is_none() {
            return Err(
                "with these parameters does not learn many classes jointly; use multiclass=one-vs-rest",
            );
        }
        let mistaken = vec![0; rules.len()];
        let members = rules.into_iter().map(|rule| Member::new(rule, 0)).collect();
        let committee = Self {
            multiclass,
            members,
            order,
            lockstep: None,
            step,
            decided: RowDecisions::default(),
            band,
            mistaken,
            joining,
            presented: 0,
        };
        Ok(committee)
    }

    /// Whether a row is the first of its class, whose member then joins.
    fn is_first(&self, block: &Block<'_>, row: usize) -> bool {
        self.joining.is_some() && block.class(row) as usize >= self.members.len()
    }

    /// Adds the member of the next class, after `presented` examples, of which those before row `heard` are in the
    /// present block.
    fn join(&mut self, presented: u64, heard: usize) -> Option<&mut Member> {
        let member = self.joining.as_mut()?.next(presented, heard);
        let lockstep = self.lockstep.take().flatten();
        let last = member.rule.last();
        self.lockstep = lockstep
            .and_then(|all| all.joined(last.members()))
            .map(Some);
        self.mistaken.push(0);
        self.members.push(member);
        self.members.last_mut()
    }

    /// Lets the member of a class join at its first row. Returns the limit that ends the run, if any.
    fn join_at(
        &mut self,
        block: &Block<'_>,
        row: usize,
        before: u64,
        stop: &StopFlag,
    ) -> Option<&'static str> {
        let class = block.class(row);
        let mut refused = None;
        while self.members.len() <= class as usize {
            let code = self.members.len() as u32;
            let own = self.join(before, row)?;
            refused = refused.or(own.hear(row));
            let own = own.rule()?;
            let decision = own.decide(&block.of_class(class), row, stop);
            let (is_positive, band) = (decision.is_positive(), self.band.as_ref());
            let stand = Stand::of(is_positive, &decision.score, code == class, band);
            self.decided.stands.push(stand);
            // A replay must know where the member joined.
            if let Some(rows) = self.mistaken.last_mut() {
                *rows |= 1 << row;
            }
        }
        refused
    }

    /// A rule like those of all members.
    fn any(&self) -> &dyn Rule {
        let next = self.joining.as_ref().map(|joining| &joining.next.rule);
        let first = self.members.first().map(|member| &member.rule);
        first.or(next).expect("a class, or one that joins").as_ref()
    }

    /// The rules of the classes that may not join any more.
    fn missing(&self) -> impl Iterator<Item = &dyn Rule> {
        self.joining.iter().flat_map(|joining| {
            let missing = self.members.len()..joining.classes;
            missing.map(|_| joining.next.rule.as_ref())
        })
    }

    /// The rules of all classes with their own counts.
    fn counted<'c>(&'c self, counts: &'c Counts) -> impl Iterator<Item = (&'c dyn Rule, Counts)> {
        let own = self.members.iter();
        let own = own.map(|own| (own.rule.as_ref() as &dyn Rule, own.mistakes, own.updates));
        let all = own.chain(self.missing().map(|rule| (rule, 0, 0)));
        all.map(|(rule, mistakes, updates)| {
            let counts = Counts {
                mistakes,
                updates,
                ..*counts
            };
            (rule, counts)
        })
    }

    /// The hypotheses of all classes.
    fn hypotheses(&self, of: impl Fn(&dyn Rule) -> Predictor) -> Predictor {
        let members = self.members.iter().map(|member| of(member.rule.as_ref()));
        let all = members.chain(self.missing().map(&of));
        let all = all.flat_map(Predictor::into_members);
        Predictor::Committee(all.collect())
    }

    /// Lets every member decide on a row. None if `stop` is raised.
    fn decide(&mut self, block: &Block<'_>, row: usize, stop: &StopFlag) -> Option<Verdict> {
        if self.lockstep.is_none() {
            // Members that add whole multiples of the examples can be followed. The first rows stand for all.
            let is_fit = self.step.is_some() && lockstep::pays(block, self.members.len());
            let members = self.members.iter().filter(|_| is_fit);
            let last = members.flat_map(|member| member.rule.last().into_members());
            self.lockstep = Some(Lockstep::of(&last.collect::<Vec<_>>()));
        }
        let band = self.band.as_ref();
        let predicted = match self.lockstep.as_mut().and_then(Option::as_mut) {
            Some(lockstep) => self.decided.by_lockstep(lockstep, block, row, band),
            None => {
                let members = &mut self.members;
                self.decided.by_members(members, block, row, band, stop)
            }
        };
        let class = block.class(row);
        let verdict = match self.multiclass {
            Multiclass::OneVsRest => Verdict {
                predicted,
                loses: None,
            },
            Multiclass::Joint => Verdict::of(predicted, class, self.decided.scores(), band),
        };
        stop.look().is_none().then_some(verdict)
    }

    /// Lets the members learn from the row, on which they decided if a class was known. Returns whether one of them
    /// changed, and the limit of the first one that refused.
    fn correct(
        &mut self,
        block: &Block<'_>,
        row: usize,
        verdict: Option<Verdict>,
        random: &mut Generator,
    ) -> (bool, Option<&'static str>) {
        let class = block.class(row);
        let loses = verdict.and_then(|verdict| verdict.loses);
        let (mut is_changed, mut refused) = (false, None);
        let members = self.members.iter_mut().zip(&mut self.mistaken);
        for ((code, (own, mistaken)), stand) in (0..).zip(members).zip(&self.decided.stands) {
            let (learns, is_mistake) = match self.multiclass {
                Multiclass::OneVsRest => (stand.is_lesson, stand.is_mistake),
                Multiclass::Joint => (
                    loses.is_some_and(|loses| [class, loses].contains(&code)),
                    verdict.is_some_and(|verdict| verdict.predicted != class),
                ),
            };
            if !learns {
                continue;
            }
            let view = block.of_class(code);
            own.mistakes += u64::from(is_mistake);
            *mistaken |= 1 << row;
            refused = refused.or(own.hear(row));
            match own.rule().map(|rule| rule.update(&view, row, random)) {
                Some(Update::Changed) => {
                    own.updates += 1;
                    is_changed = true;
                    let sign = if view.is_positive(row) { 1.0 } else { -1.0 };
                    let amount = self.step.map_or(0.0, |step| sign * view.step(row, step)) as i64;
                    let lockstep = self.lockstep.get_or_insert_default();
                    *lockstep = lockstep
                        .take()
                        .and_then(|own| own.added(code, &view, row, amount));
                }
                Some(Update::Refused(limit)) => refused = refused.or(Some(limit)),
                Some(Update::Unchanged | Update::Awaiting) | None => {}
            }
        }
        (is_changed, refused)
    }
}

impl Rule for Committee {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, _: &Hypothesis) -> Result<(), String> {
        Err("each class has a hypothesis of its own to start from".to_owned())
    }

    fn grow(&mut self, n: usize) -> Result<(), String> {
        // All members are alike, so the first one refuses for all.
        for member in &mut self.members {
            member.rule.grow(n)?;
        }
        if let Some(joining) = &mut self.joining {
            joining.grow(n)?;
        }
        if let Some(lockstep) = self.lockstep.as_mut().and_then(Option::as_mut) {
            lockstep.grow(n);
        }
        Ok(())
    }

    fn next_pass(&mut self, random: &mut Generator) {
        let members = self.members.iter_mut();
        members.for_each(|member| member.rule.next_pass(random));
    }

    fn clean_pass(&mut self) -> Reason {
        let reasons = self
            .members
            .iter_mut()
            .map(|member| member.rule.clean_pass());
        reasons.fold(Reason::Converged, |all, own| match all {
            Reason::Converged => own,
            all => all,
        })
    }

    fn remark(&self, reason: Reason, examples: u64) -> Option<String> {
        let mut members = self.members.iter();
        members.find_map(|member| member.rule.remark(reason, examples))
    }

    fn bytes_an_example(&self) -> u64 {
        let members = self.members.iter();
        members.map(|member| member.rule.bytes_an_example()).sum()
    }

    fn grown_bytes(&self, mistakes: u64, ones: Option<u64>) -> u64 {
        let members = self.members.iter();
        members
            .map(|member| member.rule.grown_bytes(mistakes, ones))
            .sum()
    }

    fn predictor(&self) -> Predictor {
        self.hypotheses(|rule| rule.predictor())
    }

    fn last(&self) -> Predictor {
        self.hypotheses(|rule| rule.last())
    }

    fn excerpt(&self, excerpt: &Excerpt) -> Option<Predictor> {
        let members = self.members.iter().map(|member| member.rule.as_ref());
        let all = members.chain(self.missing());
        let all = all.map(|rule| rule.excerpt(excerpt).map(Predictor::into_members));
        let all: Vec<Vec<Hypothesis>> = all.collect::<Option<_>>()?;
        Some(Predictor::Committee(all.into_iter().flatten().collect()))
    }

    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        if self.joining.is_some() {
            snapshot.numbers([self.members.len() as u64, self.presented]);
        }
        for member in &mut self.members {
            snapshot.numbers([member.mistakes, member.updates]);
            member.rule.snapshot(snapshot);
        }
    }

    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.lockstep = None;
        let mut joined = 0;
        if self.joining.is_some() {
            self.members.clear();
            self.mistaken.clear();
            joined = snapshot.number()?;
            self.presented = snapshot.number()?;
        }
        let restore = |member: &mut Member, snapshot: &mut SnapshotReader<'_>| {
            member.mistakes = snapshot.number()?;
            member.updates = snapshot.number()?;
            member.rule.restore(snapshot)
        };
        for member in &mut self.members {
            restore(member, snapshot)?;
        }
        for _ in 0..joined {
            let presented = self.presented;
            restore(self.join(presented, 0).ok_or(SnapshotError)?, snapshot)?;
        }
        Ok(())
    }

    fn bound(
        &self,
        stream: &mut dyn Stream,
        counts: &Counts,
        reason: Reason,
        run: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        match self.multiclass {
            // The sum of the members' bounds, see [`Bound::of_members`].
            Multiclass::OneVsRest => Ok(None),
            Multiclass::Joint => {
                let last = self.last();
                if self.joining.is_none() {
                    return self.any().joint_bound(&last, stream, counts, reason, run);
                }
                let others = Counts {
                    mistakes: counts.mistakes.saturating_sub(1),
                    ..*counts
                };
                let bound = self
                    .any()
                    .joint_bound(&last, stream, &others, reason, run)?;
                Ok(bound.map(Bound::and_the_first))
            }
        }
    }

    fn why_no_bound(&self) -> &'static str {
        self.any().why_no_bound()
    }

    fn bound_of_counts(&self, counts: &Counts) -> Result<Bound, &'static str> {
        if self.multiclass == Multiclass::Joint {
            return Err(
                "only a run that converged has a separator, on which the joint bound rests",
            );
        }
        let bound = |(rule, own): (&dyn Rule, Counts)| Ok((rule.bound_of_counts(&own)?, own));
        let bounds: Result<Vec<_>, &'static str> = self.counted(counts).map(bound).collect();
        let members = bounds?.into_iter();
        let members = members.map(|(bound, own)| MemberOutcome::new(&own, Some(bound)));
        let members: Vec<_> = members.collect();
        let bound = Bound::of_members(&members, self.joining.is_some(), counts);
        bound.ok_or("no class has an example yet")
    }

    fn members(
        &self,
        mut stream: Option<&mut (dyn Stream + '_)>,
        counts: &Counts,
        reason: Reason,
        run: &Run,
    ) -> Result<Vec<MemberOutcome>, Interrupt> {
        let outcome = |(code, (rule, counts)): (u32, (&dyn Rule, Counts))| {
            let bound = match (self.multiclass, &mut stream) {
                (Multiclass::OneVsRest, Some(stream)) => {
                    let mut seen = SeenByMember {
                        stream: &mut **stream,
                        code,
                    };
                    seen.rewind();
                    rule.bound(&mut seen, &counts, reason, run)
                }
                // A member that learns jointly has no bound of its own.
                (Multiclass::Joint, _) | (_, None) => Ok(None),
            };
            let bound = match bound {
                // The counts are known without a bound.
                Err(Interrupt::TimeLimit | Interrupt::Cancelled) => None,
                bound => bound?,
            };
            Ok(MemberOutcome::new(&counts, bound))
        };
        (0..).zip(self.counted(counts)).map(outcome).collect()
    }
}

/// The examples as a member sees them.
struct SeenByMember<'s> {
    stream: &'s mut dyn Stream,
    code: u32,
}

impl Stream for SeenByMember<'_> {
    fn n(&self) -> usize {
        self.stream.n()
    }

    fn examples(&self) -> Option<u64> {
        self.stream.examples()
    }

    fn next_block(&mut self) -> Result<Option<Block<'_>>, Interrupt> {
        let block = self.stream.next_block()?;
        Ok(block.map(|block| block.of_class(self.code)))
    }

    fn rewind(&mut self) {
        self.stream.rewind();
    }

    fn mark(&self, snapshot: &mut SnapshotWriter) {
        self.stream.mark(snapshot);
    }

    fn seek(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.stream.seek(snapshot)
    }
}

impl OnlineRule for Committee {
    fn order(&self) -> Order {
        self.order
    }

    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        mut rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<usize> {
        rows.find(|&row| {
            self.is_first(block, row) || {
                let verdict = self.decide(block, row, stop);
                verdict.is_none_or(|verdict| verdict.predicted != block.class(row))
            }
        })
    }

    fn may_break_off(&self) -> bool {
        true
    }

    fn update(&mut self, block: &Block<'_>, row: usize, random: &mut Generator) -> Update {
        let learnt = self.learn(block, row..row + 1, 1, &StopFlag::default(), random);
        match (learnt.last, learnt.updated) {
            (Update::Refused(limit), _) => Update::Refused(limit),
            (_, 0) => Update::Unchanged,
            _ => Update::Changed,
        }
    }

    fn learn(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        mistakes_max: u64,
        stop: &StopFlag,
        random: &mut Generator,
    ) -> Learnt {
        let mut learnt = Learnt::nothing(rows.end);
        let codes = block.codes_from(0);
        let planes = planes_for(self.members.len()).max(codes.words().len());
        let mut predicted = BlockCodes::zeros(planes);
        self.mistaken.fill(0);
        let mut patience = u64::MAX;
        let next = self.joining.as_mut().map(|joining| &mut joining.next);
        for member in self.members.iter_mut().chain(next) {
            member.heard = rows.start;
            patience = patience.min(member.rule().map_or(patience, |rule| rule.patience()));
        }
        learnt.end = rows.end.min(rows.start.saturating_add(patience as usize));
        for row in rows.start..learnt.end {
            self.decided.stands.clear();
            let decided = match self.members.is_empty() {
                true => None,
                false => match self.decide(block, row, stop) {
                    Some(verdict) => Some(verdict),
                    None => {
                        learnt.end = row;
                        break;
                    }
                },
            };
            match decided {
                Some(verdict) => predicted.set(row, verdict.predicted),
                None => learnt.unpredicted |= 1 << row,
            }
            let is_first = self.is_first(block, row);
            let before = self.presented + (row - rows.start) as u64;
            let joined = match is_first {
                true => self.join_at(block, row, before, stop),
                false => None,
            };
            let is_wrong = decided.is_none_or(|verdict| verdict.predicted != block.class(row));
            learnt.mistaken |= u64::from(is_first || is_wrong) << row;
            let (is_changed, refused) = self.correct(block, row, decided, random);
            let refused = joined.or(refused);
            // A new class changes what is predicted, too.
            learnt.updated |= u64::from(is_first || is_changed) << row;
            learnt.last = refused.map_or(learnt.last, Update::Refused);
            // A confidence rule must hear of each change of the committee, with or without a mistake.
            if refused.is_some() || u64::from(learnt.changed().count_ones()) >= mistakes_max {
                learnt.end = row + 1;
                break;
            }
        }
        let next = self.joining.as_mut().map(|joining| &mut joining.next);
        for member in self.members.iter_mut().chain(next) {
            if let Some(limit) = member.hear(learnt.end) {
                learnt.last = Update::Refused(limit);
            }
        }
        self.presented += (learnt.end - rows.start) as u64;
        let masks = (0..).zip(&self.mistaken).filter(|(_, mask)| **mask != 0);
        learnt.members = masks.map(|(code, mask)| (code, *mask)).collect();
        learnt.predicted = Some(predicted);
        learnt
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use serde_json::json;

    use crate::bits::{BitMatrix, BitVector, SparseMatrix, SparseRow};

    use crate::learners::arithmetic::unit::INTEGER_WEIGHT_MAX;
    use crate::learners::catalogue::{CATALOGUE, find};
    use crate::learners::engine::assume::Assume;
    use crate::learners::engine::entry::LearnerEntry;
    use crate::learners::engine::input::Input;
    use crate::learners::engine::parameters::Parameters;
    use crate::learners::engine::random::Seed;
    use crate::learners::engine::run::{Run, RunLimits};
    use crate::learners::engine::session::{LearnError, Session, SessionEnd, SessionPlan};
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use crate::learners::linear::linear_weights::{IntegerWeights, LinearWeights, Reading};
    use crate::learners::predict::for_each_decisions;
    use crate::learners::sample::classes::ClassCodes;
    use crate::learners::sample::data::{Data, Features, Labels, RealMatrix};

    use super::*;

    const CLASSES: usize = 3;

    /// Three perceptrons by their definition. The last weight is the bias.
    struct Replica {
        weights: [Vec<i64>; CLASSES],
        has_bias: bool,
    }

    impl Replica {
        fn new(n: usize, has_bias: bool, first: i64) -> Self {
            let mut weights = [(); CLASSES].map(|()| vec![first; n]);
            weights.iter_mut().for_each(|own| own.push(0));
            Self { weights, has_bias }
        }

        fn scores(&self, x: &[i64]) -> [i64; CLASSES] {
            let x = || x.iter().copied().chain([i64::from(self.has_bias)]);
            let score = |weights: &Vec<i64>| weights.iter().zip(x()).map(|(w, x)| w * x).sum();
            self.weights.each_ref().map(score)
        }

        fn predict(&self, x: &[i64]) -> u32 {
            let scores = self.scores(x);
            let most = scores.iter().max().expect("three scores");
            scores
                .iter()
                .position(|score| score == most)
                .expect("one is the largest") as u32
        }

        /// Learns from an example, and returns the class that was predicted before.
        fn learn(&mut self, x: &[i64], class: u32) -> u32 {
            let (predicted, scores) = (self.predict(x), self.scores(x));
            for ((code, weights), score) in (0..).zip(&mut self.weights).zip(scores) {
                let sign = if code == class { 1 } else { -1 };
                if (score >= 0) != (code == class) {
                    let x = x.iter().copied().chain([i64::from(self.has_bias)]);
                    weights.iter_mut().zip(x).for_each(|(w, x)| *w += sign * x);
                }
            }
            predicted
        }
    }

    /// Examples in one layout, with their values and classes.
    struct Case {
        data: Data,
        rows: Vec<Vec<i64>>,
        codes: Vec<u32>,
    }

    /// Noisy examples of three classes, as packed bits, sparse bits or values.
    fn case(random: &mut StdRng, layout: &str, reading: &str, n: usize, examples: usize) -> Case {
        let (mut bits, mut sparse) = (BitMatrix::new(n), SparseMatrix::new(n, false));
        let (mut rows, mut codes, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut planes = vec![BitVector::zeros(examples); 2];
        for row in 0..examples {
            let ids: Vec<u32> = (0..n as u32)
                .filter(|_| random.random_ratio(1, 4))
                .collect();
            let code = match random.random_ratio(1, 10) {
                true => random.random_range(0..CLASSES as u32),
                false => ids.iter().filter(|&&id| id < 5).count().min(2) as u32,
            };
            let mut packed = BitVector::zeros(n);
            ids.iter().for_each(|&id| packed.set(id as usize, true));
            bits.push_row(packed.words());
            sparse.push_row(SparseRow {
                ids: &ids,
                values: None,
            });
            let off = if reading == "signed" { -1 } else { 0 };
            let mut x = vec![off; n];
            ids.iter().for_each(|&id| x[id as usize] = 1);
            if layout == "real" {
                x.iter_mut().for_each(|x| *x = random.random_range(-4..=4));
            }
            values.extend(x.iter().map(|&x| x as f64));
            planes[0].set(row, code & 1 == 1);
            planes[1].set(row, code >> 1 == 1);
            rows.push(x);
            codes.push(code);
        }
        let features = match layout {
            "packed" => Features::Boolean(bits),
            "sparse" => Features::Sparse(sparse),
            _ => Features::Real(RealMatrix::from_values(n, values)),
        };
        let labels = Labels::Labelled(ClassCodes::of_planes(planes));
        Case {
            data: Data::new(features, labels),
            rows,
            codes,
        }
    }

    fn plan(learner: &str, params: &serde_json::Value, n: usize, real: bool) -> SessionPlan {
        let entry = find(learner).expect("listed");
        let params = params.as_object().expect("an object");
        let task = Task {
            classes: CLASSES,
            parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
            ..Task::of(entry, Seed(1))
        };
        SessionPlan {
            task,
            n,
            real,
            assume: None,
        }
    }

    fn classes(predictor: &Predictor, data: &Data) -> Vec<u32> {
        let mut all = Vec::new();
        for_each_decisions(predictor, data, 0.0, |decisions| {
            all.extend(decisions.iter().map(|decision| decision.class));
            ControlFlow::Continue(())
        });
        all
    }

    #[test]
    fn a_committee_of_perceptrons_equals_three_perceptrons_by_definition() {
        let mut random = StdRng::seed_from_u64(11);
        // The last weights that fit 32 bits are soon too large to be kept side by side.
        let large = i64::from(i32::MAX) - 3;
        for (layout, reading, has_bias, eta, initial) in [
            ("packed", "signed", true, 1.0, 0),
            ("packed", "unsigned", false, 0.5, 0),
            ("sparse", "unsigned", true, 1.0, 0),
            ("sparse", "signed", false, 1.0, 0),
            ("sparse", "unsigned", true, 1.0, large),
            ("sparse", "signed", true, 1.0, large),
            ("sparse", "unsigned", true, 1.0, large + 4),
            ("real", "", true, 1.0, 0),
        ] {
            let (n, real) = (random.random_range(5..150), layout == "real");
            let case = case(&mut random, layout, reading, n, 700);
            let params = match real {
                true => json!({"bias": has_bias, "eta": eta}),
                false => json!({"bias": has_bias, "reading": reading, "eta": eta}),
            };
            let mut plan = plan("perceptron", &params, n, real);
            if initial != 0 {
                let reading = match reading {
                    "signed" => Reading::Signed,
                    _ => Reading::Unsigned,
                };
                let member = IntegerWeights::new(reading, vec![initial; n], Some(0));
                let member = Hypothesis::Linear(LinearWeights::Integer(member));
                let start = Predictor::Committee(vec![member; CLASSES]);
                plan.task.start = Some(Arc::new(start));
            }
            let mut session = Session::new(plan.clone()).expect("a session");
            let mut replica = Replica::new(n, has_bias, initial);
            let (mut first, mut mistakes) = (0, 0);
            while first < case.rows.len() {
                let end = (first + random.random_range(1..150)).min(case.rows.len());
                let part = case.data.rows(first..end);
                let answers = session.learn(&part, &Run::default()).expect("learnt");
                for (row, answer) in (first..end).zip(answers) {
                    let predicted = replica.learn(&case.rows[row], case.codes[row]);
                    assert_eq!(answer.prediction, Some(predicted), "{layout} at {row}");
                    assert_eq!(answer.is_mistake, predicted != case.codes[row]);
                    mistakes += u64::from(answer.is_mistake);
                }
                session = Session::restore(plan.clone(), &session.snapshot()).expect("a snapshot");
                first = end;
            }
            let counts = session.counts();
            assert_eq!((counts.examples, counts.mistakes), (700, mistakes));
            let predictor = session.predictor().expect("three classes");
            for (member, weights) in predictor.members().iter().zip(&replica.weights) {
                let Hypothesis::Linear(member) = member else {
                    panic!("linear weights");
                };
                let (mut found, bias) = member.numbers();
                found.extend(bias.or(Some(0.0)));
                let expected: Vec<f64> =
                    weights.iter().map(|&weight| weight as f64 * eta).collect();
                assert_eq!(found, expected, "{layout}");
            }
            let expected: Vec<u32> = case.rows.iter().map(|x| replica.predict(x)).collect();
            assert_eq!(classes(&predictor, &case.data), expected, "{layout}");
        }
    }

    /// The hypotheses of a training in three passes.
    fn trained(learner: &str, classes: usize, data: &Data) -> Predictor {
        let task = Task {
            classes,
            limits: RunLimits {
                max_passes: Some(3),
                ..RunLimits::default()
            },
            ..Task::of(find(learner).expect("listed"), Seed(1))
        };
        let input = Input::Sample { data, assume: None };
        train(&task, input, &Run::default())
            .expect("a training")
            .predictor
    }

    #[test]
    fn a_committee_of_any_learner_equals_one_training_per_class() {
        let mut random = StdRng::seed_from_u64(12);
        let Case { data, codes, .. } = case(&mut random, "packed", "unsigned", 12, 300);
        for learner in [
            "perceptron",
            "winnow",
            "kernel-perceptron",
            "kernel-winnow",
            "bounded-perceptron",
        ] {
            let committee = trained(learner, CLASSES, &data);
            let members = (0..CLASSES as u32).map(|class| {
                let own: Vec<bool> = codes.iter().map(|&code| code == class).collect();
                let mut labels = BitVector::zeros(own.len());
                own.iter()
                    .enumerate()
                    .for_each(|(row, &own)| labels.set(row, own));
                let alone = Data::new(data.features().clone(), Labels::of_signs(labels));
                trained(learner, 2, &alone)
                    .one()
                    .expect("two classes")
                    .clone()
            });
            assert_eq!(
                committee,
                Predictor::Committee(members.collect()),
                "{learner}"
            );
        }
    }

    #[test]
    fn committee_members_are_the_mistake_driven_learners() {
        let no = json!({});
        let opens = |entry: &&LearnerEntry| Session::new(plan(entry.name, &no, 4, false)).is_ok();
        let names: Vec<_> = CATALOGUE
            .iter()
            .copied()
            .filter(opens)
            .map(|entry| entry.name)
            .collect();
        let expected = [
            "averaged-perceptron",
            "bounded-perceptron",
            "kernel-perceptron",
            "kernel-winnow",
            "perceptron",
            "winnow",
        ];
        assert_eq!(
            names.into_iter().collect::<BTreeSet<_>>(),
            BTreeSet::from(expected)
        );
        let declared = SessionPlan {
            assume: Some(Assume::Independent),
            ..plan("perceptron", &no, 4, false)
        };
        assert!(Session::new(declared).is_err());
    }

    #[test]
    fn a_committee_refuses_examples_of_two_classes_or_none() {
        let mut session =
            Session::new(plan("perceptron", &json!({}), 4, false)).expect("a session");
        let mut matrix = BitMatrix::new(4);
        matrix.push_row(&[0b1010]);
        for labels in [
            Labels::of_signs(BitVector::zeros(1)),
            Labels::HalfSpace,
            Labels::Unlabelled,
        ] {
            let data = Data::new(Features::Boolean(matrix.clone()), labels);
            let refused = session.learn(&data, &Run::default());
            assert!(matches!(refused, Err(LearnError::Unfit { .. })));
        }
    }

    #[test]
    fn a_member_at_its_limit_ends_the_committee() {
        let mut plan = plan("perceptron", &json!({}), 4, false);
        let first = Session::new(plan.clone()).expect("a session").last();
        let full = first.members().iter().map(|member| match member {
            Hypothesis::Linear(LinearWeights::Integer(own)) => {
                let weights = vec![INTEGER_WEIGHT_MAX; 4];
                let full = IntegerWeights::new(own.reading(), weights, own.bias());
                Hypothesis::Linear(LinearWeights::Integer(full))
            }
            _ => panic!("integer weights"),
        });
        plan.task.start = Some(Arc::new(Predictor::Committee(full.collect())));
        let mut session = Session::new(plan).expect("a session");
        let mut matrix = BitMatrix::new(4);
        matrix.push_row(&[0b1111]);
        matrix.push_row(&[0b1111]);
        let codes = ClassCodes::of_planes(vec![BitVector::zeros(2), BitVector::zeros(2)]);
        let data = Data::new(Features::Boolean(matrix), Labels::Labelled(codes));
        let answers = session.learn(&data, &Run::default()).expect("learnt");
        assert_eq!(answers.len(), 1);
        assert!(answers[0].is_last && !answers[0].is_mistake);
        assert!(matches!(session.end(), Some(SessionEnd::Limit(_))));
    }
}
