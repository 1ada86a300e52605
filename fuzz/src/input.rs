//! An input of the targets that read data: six bytes that encode the options, then the body.
//!
//! The tests of the formats include this file too, to write their bodies as inputs.

use super::{
    BitOrder, Header, LabelsColumn, Options, ParseLimits, RowsKind, TableOptions, UnlabelledMeans,
};

/// How a body is read.
pub struct Input<'a> {
    pub options: Options,
    /// The body arrives in pieces of this many bytes.
    pub piece: usize,
    /// Bytes that rows may take in memory.
    pub memory_bytes_max: u64,
    pub body: &'a [u8],
}

impl<'a> Input<'a> {
    /// None if the input is shorter than the prefix.
    pub fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (&[labels, table, kinds, n, piece, memory], body) = bytes.split_first_chunk()?;
        let options = Options {
            labels: match labels % 6 {
                0 => None,
                1 => Some(LabelsColumn::First),
                2 => Some(LabelsColumn::Last),
                3 => Some(LabelsColumn::None),
                4 => Some(LabelsColumn::Appended),
                _ => Some(LabelsColumn::Named("y".to_owned())),
            },
            header: match table % 3 {
                0 => Header::Auto,
                1 => Header::True,
                _ => Header::False,
            },
            bit_order: match table / 3 % 3 {
                0 => None,
                1 => Some(BitOrder::Big),
                _ => Some(BitOrder::Little),
            },
            values: match kinds % 3 {
                0 => None,
                1 => Some(RowsKind::Boolean),
                _ => Some(RowsKind::Real),
            },
            unlabelled: match kinds / 3 % 2 {
                0 => UnlabelledMeans::HalfSpace,
                _ => UnlabelledMeans::Nothing,
            },
            n: (n > 0).then_some(usize::from(n)),
            table: TableOptions::default(),
            limits: ParseLimits {
                n_max: 300,
                line_bytes_max: 4096,
                state_bytes_max: 1 << 20,
                body_bytes_max: 1 << 20,
                ..ParseLimits::default()
            },
            ..Options::default()
        };
        Some(Self {
            options,
            piece: usize::from(piece) + 1,
            memory_bytes_max: u64::from(memory) * 16,
            body,
        })
    }

    /// The input for a body that is read with these options, as far as a prefix can express them.
    pub fn to_bytes(options: &Options, body: &[u8]) -> Vec<u8> {
        let labels = match &options.labels {
            None => 0,
            Some(LabelsColumn::First) => 1,
            Some(LabelsColumn::Last) => 2,
            Some(LabelsColumn::None) => 3,
            Some(LabelsColumn::Appended) => 4,
            Some(LabelsColumn::Named(_)) => 5,
        };
        let header = match options.header {
            Header::Auto => 0,
            Header::True => 1,
            Header::False => 2,
        };
        let order = match options.bit_order {
            None => 0,
            Some(BitOrder::Big) => 1,
            Some(BitOrder::Little) => 2,
        };
        let values = match options.values {
            None => 0,
            Some(RowsKind::Boolean) => 1,
            Some(RowsKind::Real) => 2,
        };
        let unlabelled = match options.unlabelled {
            UnlabelledMeans::HalfSpace => 0,
            UnlabelledMeans::Nothing => 1,
        };
        let n = options.n.and_then(|n| u8::try_from(n).ok()).unwrap_or(0);
        let prefix = [labels, header + 3 * order, values + 3 * unlabelled, n, 6, 9];
        [&prefix, body].concat()
    }
}
