//! A stored dataset: what is known of examples that were kept to be used again.
//!
//! The examples are a blob in the stored form of `formats`; here is what a reader wants to know
//! before it opens the blob. A dataset never changes.

use serde::{Deserialize, Serialize};

use super::id::DatasetId;
use super::owner::Owner;
use super::time::Timestamp;
use crate::formats::{Assume, LabelsKind, RowsKind};

/// A dataset with all that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dataset {
    pub summary: DatasetSummary,
    /// The names of the features, in order, when the client gave them. There can be many.
    pub features: Option<Vec<String>>,
    /// The names of the labels -1 and +1, when they had names.
    pub classes: Option<Vec<String>>,
}

/// A dataset as it appears in lists: names of features can be long, and a page holds many datasets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetSummary {
    pub id: DatasetId,
    pub owner: Owner,
    /// Free text of the client.
    pub name: Option<String>,
    /// Features an example, as the client counts them.
    pub n: u64,
    /// What is said of the examples.
    pub kind: LabelsKind,
    /// What their features are.
    pub values: RowsKind,
    /// What a 0 bit was sent as, 0 or -1; 0 for real data, which have no bits. A model of real
    /// weights reads the examples by it.
    pub zero_bit_value: i8,
    /// The distribution of the examples: the declared one, or that of generated examples.
    pub assume: Option<Assume>,
    /// The seed that generated examples were drawn from.
    pub seed: Option<u64>,
    /// How many examples there are.
    pub examples: u64,
    /// How many are positive; none when nothing is said of them.
    pub positives: Option<u64>,
    /// How many repeat another, label included, and how many rows have both labels.
    pub repetitions: Repetitions,
    /// The digest of the canonical rows, in hexadecimal.
    pub sha256: String,
    /// Bytes of the blob.
    pub bytes: u64,
    /// The blob.
    pub data_key: String,
    pub created_at: Timestamp,
}

impl DatasetSummary {
    /// How many examples are negative; none when nothing is said of them.
    #[must_use]
    pub fn negatives(&self) -> Option<u64> {
        self.positives
            .map(|positives| self.examples.saturating_sub(positives))
    }
}

/// What was found out about examples that say the same, or opposite things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Repetitions {
    /// They were counted.
    Counted {
        /// Examples that equal an earlier one, label included.
        duplicates: u64,
        /// Distinct rows that appear with both labels; none without labels.
        contradictions: Option<u64>,
    },
    /// They were not, for this reason.
    Uncounted(String),
}
