//! Octets: a body that consists of bits and nothing else. Each row has n bits, padded with zeros to whole bytes.
//!
//! With `labels=appended` one more bit follows the n bits of a row: its label, where 1 means +1. You can make such a
//! body with `numpy.packbits(x, axis=1).tobytes()`.

use std::io::Read;

use halfspace_core::bits::{WORD_BITS, words_for};

use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::options::{LabelsColumn, Options};
use crate::readers::binary::packed::unpack;
use crate::readers::binary::row_reader::RowReader;
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
    _: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    let labelled = options.labels == Some(LabelsColumn::Appended);
    let Some(n) = options.n else {
        let detail =
            "The option `n` is missing; octets need the number of bits per row, as in `n=64`.";
        return Err(Fault::new(FormatErrorKind::BadOption, detail).into());
    };
    let mut builder = SampleBuilder::new(&options.limits, Some(n), spool)?;
    let bits = n + usize::from(labelled);
    let order = options.bit_order.unwrap_or_default();
    let mut rows = RowReader::new(reader, bits.div_ceil(8), 0);
    let mut words = Vec::new();
    while let Some((offset, bytes)) = rows.next_row()? {
        let at = |fault: Fault, byte: usize| fault.placed(Some(Place::Byte(offset + byte as u64)));
        // The last byte contains the padding.
        unpack(bytes, bits, order, &mut words).map_err(|fault| at(fault, bytes.len() - 1))?;
        let label = labelled.then(|| u32::from(take_label(&mut words, n)));
        let ended = builder.packed_row(&words, label);
        ended.map_err(|fault| at(fault, 0))?;
    }
    if rows.left() > 0 {
        return Err(unfinished(&rows, n, labelled));
    }
    Ok(builder.finish(options.unlabelled)?)
}

/// Removes the bit after the first n bits from the words of a row, and returns it.
fn take_label(words: &mut Vec<u64>, n: usize) -> bool {
    let (word, bit) = (n / WORD_BITS, n % WORD_BITS);
    let label = words[word] >> bit & 1 == 1;
    words[word] &= !(1 << bit);
    words.truncate(words_for(n));
    label
}

fn unfinished<R: Read>(rows: &RowReader<R>, n: usize, labelled: bool) -> FormatError {
    let (offset, left) = (rows.offset(), rows.left());
    let (and_label, bits) = if labelled {
        (" and its label", n + 1)
    } else {
        ("", n)
    };
    let detail = format!(
        "The body has {} bytes, which is not a whole number of rows: a row of n = {n} \
         bits{and_label} takes {} bytes. Bytes left over: {left}.",
        offset + left as u64,
        bits.div_ceil(8),
    );
    let fault = Fault::new(FormatErrorKind::UnequalLength, detail);
    fault.placed(Some(Place::Byte(offset)))
}
