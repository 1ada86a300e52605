//! Digests of rows, which reveal damage.
//!
//! A digest is the SHA-256 of the row's kind and of its constant columns, without the owner, because that changes
//! when an API key adopts the row. The statement that writes the row stores the digest, and every read computes and
//! compares it.
//!
//! Leases, progress and event numbers have no digest, because they change with each heartbeat. No result depends on
//! them.

use sha2::{Digest, Sha256};

use super::super::error::Result;
use super::super::error::StoreError;
use super::database::{NewRow, Row, SqlValue};

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
    pub kind: &'static str,
    pub columns: &'static [DigestColumn],
}

impl DigestColumn {
    fn name(&self) -> &'static str {
        match self {
            Text(name) | Number(name) | Bytes(name) => name,
        }
    }
}

impl DigestColumns {
    /// The digest of a new row. The values have the order of the columns.
    pub(super) fn of<const COLUMNS: usize>(&self, values: [SqlValue; COLUMNS]) -> Vec<u8> {
        debug_assert!(COLUMNS == self.columns.len(), "{}", self.kind);
        self.digest(values.iter())
    }

    /// The digest of a thing from its new rows, which together have all of the columns.
    pub(super) fn of_rows(&self, rows: &[&NewRow]) -> Vec<u8> {
        let value = |column: &DigestColumn| {
            let found = rows.iter().find_map(|row| row.value(column.name()));
            debug_assert!(found.is_some(), "{} {}", self.kind, column.name());
            found
        };
        self.digest(self.columns.iter().filter_map(value))
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
        if self.digest(values.iter()) == digest {
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

    fn digest<'v>(&self, values: impl Iterator<Item = &'v SqlValue>) -> Vec<u8> {
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
