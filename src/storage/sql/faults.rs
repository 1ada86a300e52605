//! Lets a unit test plan faults of the database. The test and its store run on one thread.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use super::super::error::Result;
use super::super::error::StoreError;

/// A fault that a statement meets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InjectedFault {
    /// The transaction of the statement commits, but the answer to the commit is lost.
    LostAnswer,
    /// The statement does not run, because the database does not answer.
    Unavailable,
    /// The statement does not run, because the disk is full.
    Full,
}

thread_local! {
    static PLANNED: RefCell<VecDeque<(&'static str, InjectedFault)>> = RefCell::default();
    static LOSES_ANSWER: Cell<bool> = const { Cell::new(false) };
}

/// Lets the next statements that contain `text` meet these faults, one fault each.
pub(crate) fn plan(text: &'static str, faults: &[InjectedFault]) {
    let faults = faults.iter().map(|&fault| (text, fault));
    PLANNED.with_borrow_mut(|planned| planned.extend(faults));
}

/// Whether every planned fault was met.
pub(crate) fn are_met() -> bool {
    PLANNED.with_borrow(VecDeque::is_empty)
}

/// A statement is about to run.
pub(super) fn meet(text: &str) -> Result<()> {
    let met = PLANNED.with_borrow_mut(|planned| {
        let place = planned.iter().position(|(part, _)| text.contains(part));
        place.and_then(|place| planned.remove(place))
    });
    match met {
        None => Ok(()),
        Some((_, InjectedFault::LostAnswer)) => {
            LOSES_ANSWER.set(true);
            Ok(())
        }
        Some((_, InjectedFault::Unavailable)) => Err(StoreError::unavailable("no answer")),
        Some((_, InjectedFault::Full)) => Err(StoreError::Full("the disk is full".into())),
    }
}

/// A transaction has committed.
pub(super) fn answer_commit() -> Result<()> {
    match LOSES_ANSWER.take() {
        true => Err(StoreError::unavailable("no answer")),
        false => Ok(()),
    }
}
