//! A model as a file, which carries it from one service to another, and its digest.
//!
//! The digest is SHA-256 over the JSON text, without spaces, of an object with the members
//! `format`, `learner` and `model`, the last with the members of [`ModelDocument`] in their order,
//! objects inside it sorted by name, numbers written as `1e-7`, `1e+21` and `2.0`. It covers the
//! format, the learner, its parameters, seed, data digest, counts and the hypothesis with its kind
//! and n: all that a prediction rests on, and all that is said of the training. It does
//! not cover the id, the job, the name and the time, which are the stored copy's own. It shows damage
//! and carelessness. It is no signature: who alters a file on purpose can make a digest for it.

use std::io::{self, BufWriter, Write};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::hypothesis::HypothesisDocument;
use super::id::{JobId, ModelId};
use super::time::Timestamp;
use super::train::{ModelDocument, SeedNumber};

/// The form that is written, and the only one that is read.
pub const FORMAT: &str = "halfspace-model/1";

/// The form that a file claims to be of, whatever else it holds.
#[derive(Deserialize)]
pub struct Claim {
    /// Missing in what is no such file.
    pub format: Option<String>,
}

/// A model to be imported: what `GET /v1/models/{id}` gave. The members of the stored copy that it
/// was (`id`, `job`, `created_at`) may be there and are not taken over; `name` may be another.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// The form of the file: `halfspace-model/1`.
    #[allow(dead_code, reason = "looked at before, in `Claim`")]
    format: String,
    /// The digest that the export gave.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub sha256: String,
    /// Free text.
    #[schema(max_length = 256)]
    pub name: Option<String>,
    /// The learner that found the hypothesis, or the task that did.
    pub learner: String,
    /// The kind of hypothesis.
    pub kind: String,
    /// Features an example.
    pub n: u64,
    /// The learner's parameters.
    #[serde(deserialize_with = "super::bounded_json::object")]
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// Of every random choice.
    pub seed: SeedNumber,
    /// The digest of the training data; null when they were generated.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub data_sha256: Option<String>,
    /// Examples read.
    pub examples: u64,
    /// Tests of the current hypothesis that it failed.
    pub mistakes: u64,
    /// Mistakes that changed the hypothesis.
    pub updates: u64,
    /// Passes begun.
    pub passes: u64,
    /// Examples that were held out of the training.
    pub held_out: Option<u64>,
    /// The seeds of all data learnt from, where all were generated. A file vouches for nothing: no
    /// claim rests on them.
    #[serde(default)]
    pub data_seeds: Option<Vec<SeedNumber>>,
    /// The model that the training began from.
    #[serde(default)]
    pub warm_start: Option<ModelId>,
    /// The names of the features.
    #[serde(default)]
    pub features: Option<Vec<String>>,
    /// The names of the labels -1 and +1.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>, min_items = 2, max_items = 2)]
    pub classes: Option<[String; 2]>,
    /// All that is needed to predict; unread, since its kind says how to read it.
    #[schema(value_type = HypothesisDocument)]
    pub hypothesis: Box<RawValue>,
    /// Of the copy that was exported; passed over.
    #[serde(default, rename = "id")]
    #[schema(value_type = Option<ModelId>)]
    _id: Option<ModelId>,
    /// Of the copy that was exported; passed over.
    #[serde(default, rename = "job")]
    #[schema(value_type = Option<JobId>)]
    _job: Option<JobId>,
    /// Of the copy that was exported; passed over.
    #[serde(default, rename = "created_at")]
    #[schema(value_type = Option<Timestamp>)]
    _created_at: Option<Timestamp>,
}

/// What the digest covers.
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

/// A member of a hypothesis as it was sent that its kind does not have.
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

    /// Files outlive the program that wrote them: whatever changes this figure makes them all
    /// unreadable. The numbers are such as writers of JSON do not agree on.
    #[test]
    fn the_digest_of_a_model_never_changes() {
        let model: ModelDocument = serde_json::from_value(json!({
            "params": {"reading": "signed", "bias": true, "alpha": 1e300, "order": {"b": 1, "a": 2}},
            "seed": 9_007_199_254_740_991_u64, "data_sha256": null, "examples": 12, "mistakes": 3,
            "updates": 3, "passes": 2,
            "hypothesis": {"kind": "linear", "n": 4, "weights": [1e-7, 0.1, -0.0, 1e21],
                "bias": 2.0, "reading": null}}))
        .unwrap();
        let hex: String = digest("perceptron", &model)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            hex,
            "935b72f39efb5851da86053f840d462d3e08edf05c36fd9cc862f66deac5ca8d"
        );
    }
}
