//! The report of a store check: one message per damage, progress messages, and a summary at the end.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// A damaged part of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// `database`, `table`, `dataset`, `model`, `session`, `job`, `trace`, `checkpoint`, `answer` or `blob`.
    pub kind: &'static str,
    /// An id, the name of a table, or the key of a blob. For an `answer`, the id of the resource that the
    /// request made.
    pub id: String,
    /// The damaged part.
    pub detail: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckSummary {
    /// Checked records and blobs by kind.
    pub checked: BTreeMap<&'static str, u64>,
    /// Bytes of checked blobs.
    pub blob_bytes: u64,
    /// Blobs without a row, including those of uploads in progress.
    pub orphans: u64,
    pub orphan_bytes: u64,
    /// Checkpoints written by another version of the program, which are counted but not checked.
    pub foreign_checkpoints: u64,
    pub damages: u64,
}

impl fmt::Display for CheckSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.checked.iter();
        let checked = counts.map(|(kind, count)| format!("{count} {kind}"));
        let checked = checked.collect::<Vec<_>>().join(", ");
        writeln!(f, "checked: {checked}, {} bytes of blobs", self.blob_bytes)?;
        if self.foreign_checkpoints > 0 {
            let count = self.foreign_checkpoints;
            writeln!(f, "unchecked checkpoints of another version: {count}")?;
        }
        if self.orphans > 0 {
            let (orphans, bytes) = (self.orphans, self.orphan_bytes);
            writeln!(f, "blobs without a row: {orphans}, {bytes} bytes")?;
        }
        match self.damages {
            0 => write!(f, "no damage found"),
            damages => write!(f, "damages: {damages}"),
        }
    }
}

/// Messages of a check in progress.
#[derive(Clone, Debug)]
pub enum CheckNews {
    Damage(Damage),
    /// Progress, as text for people.
    Progress(String),
}
