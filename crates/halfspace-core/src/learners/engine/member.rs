//! The members of a committee: the rule of one class with its own counts, and the members that join later.

use std::mem;

use crate::learners::engine::rule::{Kind, MemberRule, Rule};

/// The rule of one class, and its own counts.
pub struct Member {
    /// A [`MemberRule`].
    pub(super) rule: Box<dyn Rule>,
    pub(super) mistakes: u64,
    pub(super) updates: u64,
    /// The rule has heard of the rows of the present block before this one.
    pub(super) heard: usize,
}

impl Member {
    pub(super) fn new(rule: Box<dyn Rule>, heard: usize) -> Self {
        Self {
            rule,
            mistakes: 0,
            updates: 0,
            heard,
        }
    }

    /// Tells the rule that the rows before `row` were shown. Returns the limit that ends the run, if any.
    pub(super) fn hear(&mut self, row: usize) -> Option<&'static str> {
        let examples = row - self.heard;
        self.heard = row;
        self.rule()?.presented(examples as u64)
    }

    pub(super) fn rule(&mut self) -> Option<&mut dyn MemberRule> {
        member(&mut self.rule)
    }
}

/// The classes of a committee whose members join when the first examples of their classes are read.
pub struct Joining {
    /// The next member, which hears of all examples so that its average is over all of them.
    pub(super) next: Member,
    build: Box<dyn Fn() -> Box<dyn Rule> + Send>,
    /// The number of features, if it has grown.
    grown: Option<usize>,
    /// The number of members at the end of the run. Those of classes that it never saw have their first hypothesis.
    pub(super) classes: usize,
}

impl Joining {
    /// Starts without members. `first` is the first to join, and `build` makes the others, of which there are at least
    /// `classes` in all.
    pub fn new(
        first: Box<dyn Rule>,
        build: Box<dyn Fn() -> Box<dyn Rule> + Send>,
        classes: usize,
    ) -> Self {
        Self {
            next: Member::new(first, 0),
            build,
            grown: None,
            classes,
        }
    }

    /// Adds features to all members that are to join: see [`Rule::grow`].
    pub(super) fn grow(&mut self, n: usize) -> Result<(), String> {
        self.next.rule.grow(n)?;
        self.grown = Some(n);
        Ok(())
    }

    /// The next member, after `presented` examples, of which those before row `heard` are in the present block.
    pub(super) fn next(&mut self, presented: u64, heard: usize) -> Member {
        let mut after = Member::new((self.build)(), heard);
        if let Some(n) = self.grown {
            after.rule.grow(n).expect("as the first");
        }
        // The limit of a member without weights is that of all others.
        let _ = after.rule().map(|rule| rule.presented(presented));
        mem::replace(&mut self.next, after)
    }
}

pub fn member(rule: &mut Box<dyn Rule>) -> Option<&mut dyn MemberRule> {
    match rule.kind() {
        Kind::Online(rule) => rule.as_member(),
        Kind::Search(_) => None,
    }
}
