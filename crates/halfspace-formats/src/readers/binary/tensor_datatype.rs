//! Datatypes of the Open Inference Protocol: names, sizes and allowed values of the elements of a tensor.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::numbers::EXACT_MAX;
use crate::readers::binary::npy_header::ValueKind;

/// Datatype of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Datatype {
    /// `true` or `false`, also written 1 or 0.
    Bool,
    /// Whole numbers of 8 bits. The names of the other integer types follow the same pattern.
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Int8,
    Int16,
    Int32,
    Int64,
    /// Floats of 32 bits.
    Fp32,
    /// Floats of 64 bits.
    Fp64,
}

/// A value as written in JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Written {
    Truth(bool),
    Number(f64),
    /// A whole number that a double may not represent exactly.
    Large(f64),
}

impl Datatype {
    pub(crate) const ALL: [Self; 11] = [
        Self::Bool,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Fp32,
        Self::Fp64,
    ];

    /// The protocol's name of the datatype.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "BOOL",
            Self::Uint8 => "UINT8",
            Self::Uint16 => "UINT16",
            Self::Uint32 => "UINT32",
            Self::Uint64 => "UINT64",
            Self::Int8 => "INT8",
            Self::Int16 => "INT16",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Fp32 => "FP32",
            Self::Fp64 => "FP64",
        }
    }

    /// Bytes of one value in the binary extension.
    pub fn bytes(self) -> u64 {
        self.kind().bytes() as u64
    }

    /// The `NumPy` kind with the same values and the same octets.
    pub(crate) fn kind(self) -> ValueKind {
        match self {
            Self::Bool => ValueKind::Bool,
            Self::Uint8 => ValueKind::Uint8,
            Self::Uint16 => ValueKind::Uint16,
            Self::Uint32 => ValueKind::Uint32,
            Self::Uint64 => ValueKind::Uint64,
            Self::Int8 => ValueKind::Int8,
            Self::Int16 => ValueKind::Int16,
            Self::Int32 => ValueKind::Int32,
            Self::Int64 => ValueKind::Int64,
            Self::Fp32 => ValueKind::Float32,
            Self::Fp64 => ValueKind::Float64,
        }
    }

    /// The least and the largest whole number that both the datatype and a double represent, or `None` for floats.
    fn bounds(self) -> Option<(f64, f64)> {
        let exact = EXACT_MAX as f64;
        match self {
            Self::Bool => Some((0.0, 1.0)),
            Self::Uint8 => Some((0.0, u8::MAX.into())),
            Self::Uint16 => Some((0.0, u16::MAX.into())),
            Self::Uint32 => Some((0.0, u32::MAX.into())),
            Self::Uint64 => Some((0.0, exact)),
            Self::Int8 => Some((i8::MIN.into(), i8::MAX.into())),
            Self::Int16 => Some((i16::MIN.into(), i16::MAX.into())),
            Self::Int32 => Some((i32::MIN.into(), i32::MAX.into())),
            Self::Int64 => Some((-exact, exact)),
            Self::Fp32 | Self::Fp64 => None,
        }
    }

    /// Explains why the datatype does not allow a value.
    pub(crate) fn refusal(self, written: Written) -> String {
        match self.bounds() {
            Some((least, most)) => {
                format!(
                    "{written} is not a value of {self}: a whole number from {least} to {most}."
                )
            }
            None => format!("{written} is not a value of {self}."),
        }
    }

    /// Whether the datatype allows a value.
    pub(crate) fn has(self, written: Written) -> bool {
        match (written, self.bounds()) {
            (Written::Truth(_), _) => self == Self::Bool,
            (Written::Number(value), Some((least, most))) => {
                value.fract() == 0.0 && (least..=most).contains(&value)
            }
            (Written::Large(_), Some(_)) => false,
            (Written::Number(value) | Written::Large(value), None) => {
                self == Self::Fp64 || (value as f32).is_finite()
            }
        }
    }
}

impl fmt::Display for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Written {
    /// Makes a whole number. `size` is its magnitude.
    pub(crate) fn whole(size: u64, value: f64) -> Self {
        if size <= EXACT_MAX {
            Self::Number(value)
        } else {
            Self::Large(value)
        }
    }

    /// The value as a double.
    pub(crate) fn value(self) -> f64 {
        match self {
            Self::Truth(truth) => f64::from(u8::from(truth)),
            Self::Number(value) | Self::Large(value) => value,
        }
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truth(truth) => truth.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Large(_) => f.write_str("A whole number beyond 2^53"),
        }
    }
}
