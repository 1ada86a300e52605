//! A model as a file for the transfer between services, and the digest of the file.
//!
//! The digest is SHA-256 over the JSON text of an object with the members `format`, `learner` and `model`. `model`
//! has the members of [`ModelDocument`] in their order. The text has no spaces, objects inside `model` are sorted by
//! name, and numbers have the forms `1e-7`, `1e+21` and `2.0`.
//!
//! The digest thus covers the format, the learner, the parameters, the seed, the data digest, the counts and the
//! hypothesis with its kind and n: everything that determines a prediction or describes the training. Id, job, name
//! and time belong to the stored copy and are left out. The digest detects damage and careless edits, but it is no
//! signature, because an attacker who alters a file can compute a new one.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::hypothesis::HypothesisDocument;
use super::id::{JobId, ModelId};
use super::lineage::Lineage;
use super::names::VocabularyKind;
use super::time::Timestamp;
use super::train::{ModelDocument, SeedNumber};

use halfspace_formats::{FirstIndex, TableEncoding, json};

/// The format of model files.
pub const FORMAT: &str = "halfspace-model/1";

/// The format that a file claims. It is read before all other members.
#[derive(Deserialize)]
pub struct ClaimedFormat {
    /// Missing if the file is not a model file.
    pub format: Option<String>,
}

/// A model to import, in the form that `GET /v1/models/{id}` returns. The members `id`, `job` and
/// `created_at` of the exported copy are ignored. You may change `name`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// The format of the file: `halfspace-model/1`.
    pub format: String,
    /// The digest from the export.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub sha256: String,
    /// Free text.
    #[schema(max_length = 256)]
    pub name: Option<String>,
    /// The learner or the task that found the hypothesis.
    pub learner: String,
    /// The kind of the hypothesis.
    pub kind: String,
    /// Number of features.
    pub n: u64,
    /// Parameters of the learner.
    #[serde(deserialize_with = "super::bounded_json::object")]
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// The seed of all random choices.
    pub seed: SeedNumber,
    /// The digest of the training data; null if they were generated.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub data_sha256: Option<String>,
    /// Examples read.
    pub examples: u64,
    /// Examples that the current hypothesis predicted wrongly.
    pub mistakes: u64,
    /// Mistakes that changed the hypothesis.
    pub updates: u64,
    /// Passes started.
    pub passes: u64,
    /// Examples that were held out of the training.
    pub held_out: Option<u64>,
    /// The data that the model and its ancestors learnt from. A file proves nothing, so these data exclude claims and
    /// ground none.
    #[serde(default, deserialize_with = "json::object")]
    pub learnt_from: Lineage,
    /// The initial model of a warm start.
    #[serde(default)]
    pub warm_start: Option<ModelId>,
    /// The names of the features.
    #[serde(default)]
    pub features: Option<Vec<String>>,
    /// Whether the features are fixed; `fixed` when absent.
    #[serde(default)]
    pub vocabulary: VocabularyKind,
    /// The first index of the training data, 0 or 1, if they came as LIBSVM.
    #[serde(default)]
    #[schema(value_type = Option<u8>, minimum = 0, maximum = 1)]
    pub first_index: Option<FirstIndex>,
    /// The names of the classes. Of two, the first has the label -1 and the second the label 1.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>, min_items = 2)]
    pub classes: Option<Vec<String>>,
    /// Whether every label but the name of +1 has the label -1.
    #[serde(default)]
    pub one_against_rest: bool,
    /// The encoding of the table that the training data came as.
    #[serde(default)]
    #[schema(value_type = Option<TableEncoding>)]
    pub table: Option<Arc<TableEncoding>>,
    /// The hypothesis, with all data needed to predict. It is parsed only after its kind is known.
    #[schema(value_type = HypothesisDocument)]
    pub hypothesis: Box<RawValue>,
    /// The id of the exported copy; ignored.
    #[serde(default, rename = "id")]
    #[schema(value_type = Option<ModelId>)]
    _id: Option<ModelId>,
    /// The job of the exported copy; ignored.
    #[serde(default, rename = "job")]
    #[schema(value_type = Option<JobId>)]
    _job: Option<JobId>,
    /// The time of the exported copy; ignored.
    #[serde(default, rename = "created_at")]
    #[schema(value_type = Option<Timestamp>)]
    _created_at: Option<Timestamp>,
}

/// The members that the digest covers.
#[derive(Serialize)]
struct Covered<'a> {
    format: &'static str,
    learner: &'a str,
    model: &'a ModelDocument,
}

/// The digest of a model.
pub fn digest(learner: &str, model: &ModelDocument) -> [u8; 32] {
    let mut hash = BufWriter::new(Hashing(Sha256::new()));
    let covered = Covered {
        format: FORMAT,
        learner,
        model,
    };
    serde_json::to_writer(&mut hash, &covered).expect("string keys, and hashing does not fail");
    let hashed = hash.into_inner();
    hashed
        .unwrap_or_else(|_| unreachable!("hashing does not fail"))
        .0
        .finalize()
        .into()
}

struct Hashing(Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Finds a member of a received hypothesis that this kind of hypothesis does not have.
pub fn unknown_member(sent: &RawValue, read: &HypothesisDocument) -> Option<String> {
    type Members = std::collections::BTreeMap<String, IgnoredAny>;
    let sent: Members = serde_json::from_str(sent.get()).ok()?;
    let own = serde_json::to_string(read).ok()?;
    let own: Members = serde_json::from_str(&own).ok()?;
    sent.into_keys().find(|name| !own.contains_key(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Files outlive the program that wrote them. A change of this digest would make all existing files
    /// unreadable. JSON writers disagree on the form of the numbers used here.
    #[test]
    fn model_digest_never_changes() {
        let model: ModelDocument = serde_json::from_value(json!({
            "params": {"reading": "signed", "bias": true, "alpha": 1e300, "order": {"b": 1, "a": 2}},
            "seed": 9_007_199_254_740_991_u64, "data_sha256": null, "examples": 12, "mistakes": 3,
            "updates": 3, "passes": 2,
            "hypothesis": {"kind": "linear", "n": 4, "weights": [1e-7, 0.1, -0.0, 1e21],
                "bias": 2.0, "reading": null}}))
        .unwrap();
        assert_eq!(
            hex::encode(digest("perceptron", &model)),
            "935b72f39efb5851da86053f840d462d3e08edf05c36fd9cc862f66deac5ca8d"
        );
    }
}
