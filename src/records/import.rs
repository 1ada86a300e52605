//! The request and the result of an import: an object in a bucket that becomes a dataset.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use halfspace_formats::{Assume, LabelsKind, RowsKind};

use super::dataset::Dataset;
use super::id::DatasetId;
use super::train::Seconds;

/// Stores an object of a bucket as a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ImportRequest)]
pub struct ImportSpec {
    /// Address of the object: `s3://bucket/key`, within a prefix that the operator allows with `--sources`. The key is
    /// taken as it is written, without percent-encoding.
    #[schema(max_length = 2048)]
    pub source: String,
    /// Format of the object: a file extension such as `csv`, or a media type. By default the Content-Type of the object
    /// decides, and if that says nothing about data, the extension of the key, before a `.gz` or `.zst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 256)]
    pub format: Option<String>,
    /// Options for reading the data, by the names of the query parameters of `POST /v1/datasets`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Declares that the data are fresh and independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assume: Option<Assume>,
    /// Seconds of computing; 600 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    pub max_seconds: Option<Seconds>,
}

/// The version of the object that a job reads, as the store described it when the job was requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceVersion {
    pub bytes: u64,
    pub etag: String,
    /// The media type of the format, with a charset if the object states one.
    pub media_type: String,
    /// The Content-Encoding of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<String>,
}

/// The dataset that an import made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ImportResult {
    /// The dataset. It may have been deleted since.
    pub dataset: DatasetId,
    /// Address of the object.
    pub source: String,
    /// Bytes of the object.
    pub source_bytes: u64,
    /// ETag of the object, which identifies its version.
    pub etag: String,
    /// Media type as which the object was read.
    pub media_type: String,
    /// Features per example.
    pub n: u64,
    /// Kind of the examples.
    pub kind: LabelsKind,
    /// Kind of the features.
    pub values: RowsKind,
    /// Number of examples.
    pub examples: u64,
    /// Number of examples of each class, as in the dataset.
    pub class_examples: Option<Vec<u64>>,
    /// Number of columns of the table, if the data are one.
    pub columns: Option<u64>,
    /// SHA-256 digest of the canonical rows.
    pub sha256: String,
    /// Bytes of the examples in the store.
    pub bytes: u64,
    /// Seconds of computing.
    pub seconds: f64,
}

impl ImportResult {
    pub fn new(dataset: &Dataset, source: &str, version: &SourceVersion, seconds: f64) -> Self {
        let (summary, facts) = (&dataset.summary, &dataset.summary.facts);
        let table = dataset.names.table.as_ref();
        Self {
            dataset: summary.id,
            source: source.to_owned(),
            source_bytes: version.bytes,
            etag: version.etag.clone(),
            media_type: version.media_type.clone(),
            n: facts.n,
            kind: facts.kind,
            values: facts.values,
            examples: facts.examples,
            class_examples: facts.class_examples.clone(),
            columns: table.map(|table| table.columns.len() as u64),
            sha256: facts.sha256.clone(),
            bytes: summary.bytes,
            seconds,
        }
    }
}
