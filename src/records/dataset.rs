//! A stored dataset: the description of examples that are kept for later use.
//!
//! The examples themselves are a blob in the stored form of `formats`, and this record holds the facts that a reader
//! needs before it opens that blob. A dataset never changes.

use halfspace_formats::{Assume, LabelsKind, RowsKind};

use super::id::DatasetId;
use super::names::Names;
use super::owner::Owner;
use super::time::Timestamp;

/// A dataset with its full description.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    pub summary: DatasetSummary,
    /// The names of features and classes, and the encoding, if the client gave any. They can be long.
    pub names: Names,
}

/// A dataset as in lists: without the names of features, which can be long, because a page holds many datasets.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetSummary {
    pub id: DatasetId,
    pub owner: Owner,
    /// Free text of the client.
    pub name: Option<String>,
    /// The facts about the examples.
    pub facts: DataFacts,
    /// The seed of generated examples.
    pub seed: Option<u64>,
    /// Size of its blobs, in bytes.
    pub bytes: u64,
    /// Size of the blob with the raw cells of the table; 0 if there is none.
    pub cells_bytes: u64,
    /// The key of the blob.
    pub data_key: String,
    pub created_at: Timestamp,
}

impl DatasetSummary {
    /// Size of the blob with the examples, in bytes.
    #[must_use]
    pub fn examples_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.cells_bytes)
    }
}

/// Facts about examples, stored or not.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFacts {
    /// Number of features, as the client counts them.
    pub n: u64,
    /// The kind of the labels.
    pub kind: LabelsKind,
    /// The kind of the features.
    pub values: RowsKind,
    /// The value that a 0 bit was sent as, 0 or -1, which a model with real weights needs to read the examples. Real
    /// data have no bits and state 0.
    pub zero_bit_value: i8,
    /// The declared distribution of the examples, or the distribution that generated them.
    pub assume: Option<Assume>,
    /// Number of examples.
    pub examples: u64,
    /// Number of examples of each class, in the order of the codes; `None` without labels. Of two classes, the second
    /// is positive, and half-space examples are all of this class.
    pub class_examples: Option<Vec<u64>>,
    /// Numbers of repeated examples and of rows with more than one label.
    pub repetitions: Repetitions,
    /// The digest of the canonical rows, in hexadecimal.
    pub sha256: String,
}

impl DataFacts {
    /// Which class codes occur.
    #[must_use]
    pub fn occurring(&self) -> Vec<bool> {
        let counts = self.class_examples.iter().flatten();
        counts.map(|&count| count > 0).collect()
    }
}

/// Numbers of repeated and of contradictory examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repetitions {
    /// The examples were counted.
    Counted {
        /// Examples that equal an earlier example, including the label.
        duplicates: u64,
        /// Distinct rows that occur with more than one label; `None` without labels.
        contradictions: Option<u64>,
    },
    /// The examples were not counted, for this reason.
    Uncounted(String),
}
