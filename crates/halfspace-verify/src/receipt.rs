//! The receipt of a training: what repeats it on the same examples, and the results to expect.

use halfspace_core::learners::engine::committee::Multiclass;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The version of receipts that this crate writes and reads.
pub const VERSION: u32 = 2;

/// The name of the generator of every random choice.
pub const GENERATOR: &str = "xoshiro256++";

/// The facts that reproduce a training, and the results to expect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The version of this form: 2.
    pub version: u32,
    /// The learner.
    pub learner: String,
    /// Parameters of the learner, including defaults.
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// The seed of all random choices.
    pub seed: u64,
    /// The name of the generator of the random choices: `xoshiro256++`.
    pub generator: String,
    /// The order of the examples in a pass: `cyclic` or `shuffled`.
    pub order: String,
    /// The held-out examples; null if none were held out.
    pub holdout: Option<HeldOut>,
    /// The number of examples, held-out examples included.
    pub examples: u64,
    /// The number of examples that the learner was shown in all passes. The replay ends there.
    pub presented: u64,
    /// How the members of a committee learn. Only for more than two classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub multiclass: Option<Multiclass>,
    /// Whether the rule of each class joined when its first example was read. Absent if all were there from the start.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false, default = false)]
    pub open: bool,
    /// The total of wrong predictions in the run.
    pub mistakes: u64,
    /// Wrong predictions of the hypothesis on the examples that the learner was shown; null if they were not
    /// counted.
    pub training_errors: Option<u64>,
    /// The origin of the examples.
    pub data: DataSource,
    /// SHA-256 of the JSON text of the hypothesis without spaces, with the members of each object sorted by name.
    pub hypothesis_sha256: String,
    /// The rules of the run: one per class in the order of the classes, or the one for the positive of two classes that
    /// did not join.
    pub members: Vec<ReceiptMember>,
    /// SHA-256 of the JSON text of the other members without spaces, with the members of each object sorted by
    /// name.
    pub sha256: String,
}

/// A rule of a training, and the examples that repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiptMember {
    /// The class whose examples are positive for the rule.
    pub class: String,
    /// Wrong decisions of the rule. With `multiclass` = joint, the wrong predictions of the committee from which it
    /// learnt.
    pub mistakes: u64,
    /// The rows of the examples from which it learnt, counted from 0 and ascending. If the rule joined, the row of its
    /// first example is among them.
    pub kept: Vec<u64>,
}

/// The held-out examples of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = ReceiptHoldout)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// The share of the examples.
    pub share: f64,
    /// Whether each class has its share of them. Absent if they are a random subset of all examples.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false, default = false)]
    pub stratified: bool,
    /// Wrong predictions of the hypothesis on these examples; null if they were not counted.
    pub errors: Option<u64>,
}

/// The origin of the examples of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = ReceiptData)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DataSource {
    /// Stored or sent examples.
    Rows {
        /// The digest of the canonical rows.
        sha256: String,
    },
    /// Examples that are drawn with the seed of the receipt.
    Generated {
        /// The description of the examples.
        #[schema(value_type = Object)]
        spec: Value,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Receipt {
    /// The same receipt with the digest of its members.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.sha256 = self.digest();
        self
    }

    /// The digest of the members other than `sha256`.
    pub fn digest(&self) -> String {
        let mut document = serde_json::to_value(self).expect("members have string keys");
        if let Some(members) = document.as_object_mut() {
            members.remove("sha256");
        }
        document_sha256(&document)
    }
}

/// Whether a text is a SHA-256 digest as this project writes it: 64 lower-case hexadecimal digits.
pub fn is_sha256(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 64 && text.bytes().all(is_digit)
}

/// SHA-256 of the JSON text of a document without spaces, with the members of each object sorted by name.
pub fn document_sha256(document: &Value) -> String {
    let text = document.to_string();
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
