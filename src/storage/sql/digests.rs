//! Digests of rows, which reveal damage.
//!
//! A digest is the SHA-256 of the row's kind and of its constant columns. The owner is left out, because an
//! adoption by an API key changes the owner. The statement that writes the row stores the digest. Every read
//! computes the digest again and compares both.
//!
//! Columns that change with each heartbeat have no digest: leases, progress and event numbers. No result
//! depends on them.

use sha2::{Digest, Sha256};

use super::super::error::Result;
use super::super::error::StoreError;
use super::database::{Row, SqlValue};

/// A column under a digest.
#[derive(Clone, Copy, Debug)]
pub(super) enum DigestColumn {
    Text(&'static str),
    Number(&'static str),
    Bytes(&'static str),
}

use DigestColumn::{Bytes, Number, Text};

/// The columns under one digest. The first column names the row.
#[derive(Debug)]
pub(super) struct DigestColumns {
    kind: &'static str,
    columns: &'static [DigestColumn],
}

/// The request of a job.
pub(super) const JOB: DigestColumns = DigestColumns {
    kind: "job",
    columns: &[
        Text("id"),
        Text("task"),
        Text("learner"),
        Text("name"),
        Text("spec"),
        Text("data_key"),
        Text("data_sha256"),
        Number("seed"),
        Number("priority"),
        Number("created_at"),
        Text("dataset"),
        Text("callback"),
        Text("parent"),
        Number("part"),
        Number("parts"),
    ],
};

/// The end of a job.
pub(super) const JOB_END: DigestColumns = DigestColumns {
    kind: "end of job",
    columns: &[
        Text("id"),
        Text("status"),
        Text("result"),
        Text("error"),
        Text("model"),
        Number("finished_at"),
    ],
};

pub(super) const TRACE: DigestColumns = DigestColumns {
    kind: "trace of job",
    columns: &[Text("job"), Bytes("body")],
};

/// A model without the document, which lists do not read.
pub(super) const MODEL: DigestColumns = DigestColumns {
    kind: "model",
    columns: &[
        Text("id"),
        Text("job"),
        Text("name"),
        Text("learner"),
        Text("kind"),
        Number("n"),
        Number("created_at"),
        Bytes("document_digest"),
    ],
};

pub(super) const MODEL_DOCUMENT: DigestColumns = DigestColumns {
    kind: "document of model",
    columns: &[Text("id"), Text("document")],
};

/// A dataset without the names, which lists do not read.
pub(super) const DATASET: DigestColumns = DigestColumns {
    kind: "dataset",
    columns: &[
        Text("id"),
        Text("name"),
        Number("n"),
        Text("kind"),
        Text("value_kind"),
        Number("zero_bit_value"),
        Text("assume"),
        Number("examples"),
        Number("positives"),
        Number("duplicates"),
        Number("contradictions"),
        Text("uncounted"),
        Text("sha256"),
        Number("bytes"),
        Text("data_key"),
        Number("created_at"),
        Bytes("names_digest"),
        Number("seed"),
    ],
};

pub(super) const DATASET_NAMES: DigestColumns = DigestColumns {
    kind: "names of dataset",
    columns: &[
        Text("id"),
        Text("features"),
        Text("classes"),
        Text("encoding"),
    ],
};

/// The request of a session.
pub(super) const SESSION: DigestColumns = DigestColumns {
    kind: "session",
    columns: &[
        Text("id"),
        Text("learner"),
        Number("n"),
        Number("created_at"),
        Text("spec"),
    ],
};

pub(super) const SESSION_POSITION: DigestColumns = DigestColumns {
    kind: "position of session",
    columns: &[Text("id"), Number("position")],
};

pub(super) const SESSION_TALLY: DigestColumns = DigestColumns {
    kind: "counts of session",
    columns: &[Text("id"), Text("tally")],
};

pub(super) const SNAPSHOT: DigestColumns = DigestColumns {
    kind: "snapshot of session",
    columns: &[Text("session"), Number("position"), Bytes("state")],
};

pub(super) const LOG_ENTRY: DigestColumns = DigestColumns {
    kind: "log of session",
    columns: &[Text("session"), Number("position"), Bytes("examples")],
};

/// The answer that is repeated under an idempotency key.
pub(super) const ANSWER: DigestColumns = DigestColumns {
    kind: "answer of idempotency key",
    columns: &[Text("key"), Text("thing"), Text("answer")],
};

impl DigestColumns {
    /// The digest of a new row. The values have the order of the columns.
    pub(super) fn of<const COLUMNS: usize>(&self, values: [SqlValue; COLUMNS]) -> Vec<u8> {
        debug_assert!(COLUMNS == self.columns.len(), "{}", self.kind);
        self.digest(&values)
    }

    /// Compares a row with the digest in the column `recorded`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the digest is missing or does not match.
    pub(super) fn check(&self, row: &Row, recorded: &str) -> Result<()> {
        let Some(digest) = row.get::<Option<Vec<u8>>>(recorded)? else {
            let told = format!("the digest of a {} is missing", self.kind);
            return Err(StoreError::corrupt(told));
        };
        let values = self.columns.iter().map(|column| {
            Ok(match column {
                Text(name) => SqlValue::Text(row.get(name)?),
                Number(name) => SqlValue::Number(row.get(name)?),
                Bytes(name) => SqlValue::Bytes(row.get(name)?),
            })
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        if self.digest(&values) == digest {
            return Ok(());
        }
        let (kind, name) = (self.kind, values.first());
        let name = match name {
            Some(SqlValue::Text(Some(name))) => name,
            _ => "?",
        };
        let told = format!("the {kind} {name} differs from its digest");
        Err(StoreError::corrupt(told))
    }

    fn digest(&self, values: &[SqlValue]) -> Vec<u8> {
        let mut digest = Sha256::new();
        let mut add = |bytes: Option<&[u8]>| {
            digest.update([u8::from(bytes.is_some())]);
            let bytes = bytes.unwrap_or_default();
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        add(Some(self.kind.as_bytes()));
        for value in values {
            match value {
                SqlValue::Text(text) => add(text.as_deref().map(str::as_bytes)),
                SqlValue::Number(number) => {
                    let number = number.map(i64::to_le_bytes);
                    add(number.as_ref().map(<[u8; 8]>::as_slice));
                }
                SqlValue::Real(real) => {
                    let real = real.map(f64::to_le_bytes);
                    add(real.as_ref().map(<[u8; 8]>::as_slice));
                }
                SqlValue::Flag(flag) => add(Some(&[u8::from(*flag)])),
                SqlValue::Bytes(bytes) => add(bytes.as_deref()),
            }
        }
        digest.finalize().to_vec()
    }
}
