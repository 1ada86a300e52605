//! The names of the kinds of stored data, and the errors of stored data.

use std::io::{self, ErrorKind};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use halfspace_core::learners::sample::examples::LabelKind;

/// Kind of the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowsKind {
    /// Boolean features, packed as bits.
    Boolean,
    /// Real features, stored as doubles.
    Real,
}

impl RowsKind {
    pub fn of(is_real: bool) -> Self {
        match is_real {
            true => Self::Real,
            false => Self::Boolean,
        }
    }
}

/// Kind of the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LabelsKind {
    /// Half-space examples: each is positive by definition.
    HalfSpace,
    /// Each example has a label: the code of its class.
    Labelled,
    /// The class of each example is unknown.
    Unlabelled,
}

impl LabelsKind {
    /// The name of a kind.
    pub fn of(kind: LabelKind) -> Self {
        match kind {
            LabelKind::HalfSpace => Self::HalfSpace,
            LabelKind::Labelled { .. } => Self::Labelled,
            LabelKind::Unlabelled => Self::Unlabelled,
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::HalfSpace => 0,
            Self::Labelled => 1,
            Self::Unlabelled => 2,
        }
    }
}

/// Error of writing or reading stored data.
#[derive(Debug, Error)]
pub enum BlocksError {
    /// The data do not begin with the magic of stored data.
    #[error("not stored data: the magic is missing")]
    Magic,
    /// The version is not supported.
    #[error("the stored data have the unsupported version {0}")]
    Version(u32),
    /// The header is damaged or contradicts itself.
    #[error("the header of the stored data is damaged: {0}")]
    Header(&'static str),
    /// The data end before the last row.
    #[error("the stored data are truncated")]
    Truncated,
    /// Bytes follow the last block.
    #[error("the stored data continue after their last block")]
    Trailing,
    /// A bit past n, past the last row or past the last label is set.
    #[error("a padding bit of the stored data is set")]
    StrayBits,
    /// A real value is infinite or not a number.
    #[error("a value of the stored data is not finite")]
    NotFinite,
    /// Some rows differ from the written rows.
    #[error(
        "the stored data are damaged in rows {} to {}, from byte {offset} on: the checksum differs",
        .rows.start + 1,
        .rows.end
    )]
    Check {
        /// The rows, counted from 0.
        rows: Range<usize>,
        /// Byte offset of the damaged row or block.
        offset: u64,
    },
    /// The digest differs from the recorded one.
    #[error("the stored data differ from the recorded digest")]
    Digest,
    /// The data could not be read or written.
    #[error("the stored data could not be read or written")]
    Io(#[source] io::Error),
}

impl BlocksError {
    /// The error of the source or target, or else this error, wrapped in one.
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Self::Io(error) => error,
            error => io::Error::other(error),
        }
    }
}

impl From<io::Error> for BlocksError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEof => Self::Truncated,
            _ => Self::Io(error),
        }
    }
}
