//! Keeps every state of a run, for the tests that go on from each of them.

use std::sync::Mutex;

use halfspace_core::learners::engine::run::{Checkpoints, Counts};

/// The states of one run, the oldest first.
#[derive(Debug, Default)]
pub struct States(pub Mutex<Vec<Vec<u8>>>);

impl Checkpoints for States {
    fn is_wanted(&self) -> bool {
        true
    }

    fn take(&self, _: &Counts, write: &mut dyn FnMut() -> Option<Vec<u8>>) {
        self.0.lock().expect("unpoisoned").extend(write());
    }

    fn refused(&self) {
        panic!("the state belongs to another run");
    }
}
