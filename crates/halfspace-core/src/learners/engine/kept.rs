//! The mistaken examples of a run, from which it can be repeated. Each member of a committee has its own.

use std::collections::BTreeSet;

use crate::bits::{BitVector, ones_of};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::update::Learnt;
use crate::learners::sample::source::Stream;

/// The most rows that are kept for the members of a committee together, and the most that a receipt lists.
pub const ROWS_MAX: usize = 1 << 16;

/// The mistaken examples of a run by their rows: see [`Stream::row`].
#[derive(Clone, Debug)]
pub struct Kept {
    /// Those of the whole run. With a committee, the examples from which any member learnt.
    all: BitVector,
    /// Those of each member of a committee, by its code. None if they were too many.
    members: Option<Vec<BTreeSet<u32>>>,
}

/// The mistakes in a block of examples.
#[derive(Clone, Debug, Default)]
pub struct KeptInBlock {
    all: u64,
    members: Vec<(u32, u64)>,
}

impl KeptInBlock {
    pub(crate) fn note(&mut self, learnt: &Learnt) {
        self.all |= learnt.changed();
        self.members.extend(&learnt.members);
    }

    pub(crate) fn clear(&mut self) {
        self.all = 0;
        self.members.clear();
    }
}

impl Kept {
    /// Keeps nothing yet of `examples`. `members` is the size of the committee, or 0 without one.
    pub(crate) fn new(examples: usize, members: usize) -> Self {
        Self {
            all: BitVector::zeros(examples),
            members: Some(vec![BTreeSet::new(); members]),
        }
    }

    /// Bytes that a run keeps at most.
    pub(crate) fn bytes_max(examples: u64, members: usize) -> u64 {
        // A set of one row has a node of 56 bytes, and larger ones take less for each.
        let listed = match members {
            0 => 0,
            _ => 56 * ROWS_MAX + members * size_of::<BTreeSet<u32>>(),
        };
        examples / 8 + listed as u64
    }

    /// Keeps the mistakes of a block whose first example has the position `place`.
    pub(crate) fn mark(&mut self, stream: &dyn Stream, place: u64, block: &KeptInBlock) {
        if stream.is_in_order() {
            self.all.set_word_from(place as usize, block.all);
        } else {
            for at in ones_of(block.all) {
                let row = stream.row(place + at as u64);
                self.all.set(row as usize, true);
            }
        }
        let Some(members) = &mut self.members else {
            return;
        };
        let mut listed: usize = members.iter().map(BTreeSet::len).sum();
        for (code, mask) in &block.members {
            let own = &mut members[*code as usize];
            listed -= own.len();
            own.extend(ones_of(*mask).map(|at| stream.row(place + at as u64) as u32));
            listed += own.len();
            if listed > ROWS_MAX {
                self.members = None;
                return;
            }
        }
    }

    /// The rows from which the run learnt.
    pub fn all(&self) -> &BitVector {
        &self.all
    }

    /// The rows of each member, and of the only rule with two classes. None if they are too many for a receipt.
    pub(crate) fn listed(&self) -> Option<Vec<Vec<u64>>> {
        let members = self.members.as_ref()?;
        let own = |rows: &BTreeSet<u32>| rows.iter().copied().map(u64::from).collect();
        match members.is_empty() {
            false => Some(members.iter().map(own).collect()),
            true if self.all.ones() > ROWS_MAX as u64 => None,
            true => Some(vec![self.all.places().map(|row| row as u64).collect()]),
        }
    }

    pub(crate) fn write(&self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers(self.all.words().iter().copied());
        snapshot.number(self.members.is_some().into());
        for rows in self.members.iter().flatten() {
            snapshot.number(rows.len() as u64);
            snapshot.numbers(rows.iter().copied().map(u64::from));
        }
    }

    /// Replaces the rows by those that [`Self::write`] wrote for the same examples and members.
    ///
    /// # Errors
    /// An error if the snapshot has no such rows.
    pub(crate) fn read(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let words = snapshot.numbers(self.all.words().len())?;
        self.all = BitVector::from_words(self.all.n(), words);
        if snapshot.number()? == 0 {
            self.members = None;
        }
        for rows in self.members.iter_mut().flatten() {
            let count = snapshot.count()?;
            let row = |row: u64| u32::try_from(row).map_err(|_| SnapshotError);
            *rows = snapshot
                .numbers(count)?
                .into_iter()
                .map(row)
                .collect::<Result<_, _>>()?;
        }
        Ok(())
    }
}
