//! LIBSVM and SVMlight lines: `label index:value index:value ... # comment`.
//!
//! Indices ascend from 0 or from 1. An index 0 anywhere means from 0, unless the request or the model that reads the
//! body knows better. In place of indices, features may have names in any order, as in `noun w=the:1 caps`;
//! the first feature of the first line decides, or the option `vocabulary`. The value follows the last colon of a name,
//! and a name without one has the value 1. Features that a line leaves out are 0.
//!
//! The labels of new data name the classes, as in tables, or one number against all others if the option `positive`
//! names it. A model reads labels by the names of its classes. Sources: T. Joachims,
//! `SVMlight`; C.-C. Chang and C.-J. Lin, LIBSVM (2011), `README`.
//!
//! `libsvm-rs` 0.9 reads these lines too, but into a vector of nodes per row. 200,000 rows with 40 active features of
//! 1,000 take it 0.29 s and 207 MiB, and this reader 0.09 s and 60 MiB. It also knows neither the comments of SVMlight
//! nor labels that are names, and its errors have a line but no column.

use std::io::Read;
use std::ops::Range;

use crate::building::label_names::LabelNames;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_rules::SampleRules;
use crate::building::sparse_builder::SparseBuilder;
use crate::building::text_rules::TextRules;
use crate::classes::{Classes, LabelRule};
use crate::error::{self, Fault, FormatError, FormatErrorKind, Place, excerpt};
use crate::numbers::parse_number;
use crate::options::{FirstIndex, FormatOption, LabelsColumn, Options};
use crate::readers::text::lines::{Line, LineReader};
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;

/// An index of at most this many digits always fits in 64 bits.
const INDEX_DIGITS_MAX: usize = 18;

/// A fault and its byte in the line, from 0.
type Misplaced = (usize, Fault);

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    let mut labels = RowLabels::new(options)?;
    let labelled = !matches!(labels, RowLabels::Absent);
    let mut lines = LineReader::new(reader, options.limits.line_bytes_max);
    let (mut spool, mut rows) = (spool, None);
    let mut indices = Indices::new(options);
    let first_index = usize::from(u8::from(indices.first));
    let mut begin = |is_named: bool| {
        let (limits, values, spool) = (&options.limits, options.values, spool.take());
        let texts = TextRules::of(options)?;
        if !is_named {
            texts.check_used(false, false)?;
            let builder = SparseBuilder::new(limits, options.n, values, spool)?;
            let builder = builder.of_first_index(first_index);
            return Ok(match options.unseen_indices {
                true => builder.with_unseen(),
                false => builder,
            });
        }
        SampleRules::check_no_n(options.n)?;
        options.refuse(
            "a body with names in place of indices",
            &[FormatOption::FIRST_INDEX],
        )?;
        SparseBuilder::of_names(limits, values, spool, options.open_vocabulary, texts)
    };
    let mut blank = None;
    while let Some(line) = lines.next_line()? {
        let start = skip_blanks(line.text, 0);
        if at_end(line.text, start) {
            // Empty lines are skipped only after a blank one, so we always see the first blank line here.
            if start == line.text.len() {
                if !labelled {
                    blank.get_or_insert(line.number);
                }
                lines.pass_empty_lines(u64::MAX);
            }
            continue;
        }
        if let Some(number) = blank {
            return Err(blank_line().at(number, 0));
        }
        let (is_named, builder) = match &mut rows {
            Some((is_named, builder)) => (*is_named, builder),
            none => {
                let is_named =
                    options.open_vocabulary || names_a_feature(line.text, start, labelled);
                let builder = begin(is_named)?;
                let (_, builder) = none.insert((is_named, builder));
                (is_named, builder)
            }
        };
        let indices = (!is_named).then_some(&mut indices);
        let row = read_row(line, start, indices, &mut labels, builder);
        row.map_err(|(offset, fault)| fault.at(line.number, offset))?;
    }
    let (is_named, mut builder) = match rows {
        Some(rows) => rows,
        None => (false, begin(false)?),
    };
    if let RowLabels::Read(labels) = labels
        && builder.rows() > 0
    {
        if let Some(preview) = preview {
            preview.count_labels(&labels);
        }
        builder.decide_labels(labels.finish()?);
    }
    Ok(Parsed {
        first_index: Some(indices.first).filter(|_| !is_named),
        ..builder.finish(options.unlabelled)?
    })
}

/// The labels at the beginnings of the lines.
enum RowLabels<'o> {
    /// The lines have none.
    Absent,
    /// A prediction ignores them.
    Ignored(Option<&'o Classes>),
    Read(LabelNames),
}

impl<'o> RowLabels<'o> {
    fn new(options: &'o Options) -> Result<Self, Fault> {
        if options.labels == Some(LabelsColumn::None) {
            return Ok(Self::Absent);
        }
        let ignored = match &options.label_rule {
            LabelRule::Ignored(classes) => classes.as_ref(),
            _ => None,
        };
        let names = LabelNames::beside(&options.label_rule, options.table.positive.as_deref())?;
        Ok(names.map_or(Self::Ignored(ignored), Self::Read))
    }
}

/// Where the indices of a body begin.
#[derive(Clone, Copy)]
struct Indices {
    first: FirstIndex,
    /// Whether an index 0 decides.
    is_open: bool,
}

impl Indices {
    fn new(options: &Options) -> Self {
        let known = options.first_index.or(options.known_first_index);
        Self {
            first: known.unwrap_or(FirstIndex::One),
            is_open: known.is_none(),
        }
    }
}

/// Makes the fault of a blank line before other lines. If we skipped it, the results of all later lines would be off
/// by one.
fn blank_line() -> Fault {
    let detail = "The line is blank. Without labels, a blank line could be an example of zeros. \
                  Write such an example as 1:0, and remove blank lines.";
    Fault::new(FormatErrorKind::Syntax, detail)
}

fn read_row(
    line: Line<'_>,
    start: usize,
    indices: Option<&mut Indices>,
    labels: &mut RowLabels<'_>,
    builder: &mut SparseBuilder,
) -> Result<(), Misplaced> {
    let is_named = indices.is_none();
    let text = line.text;
    let after = match labels {
        RowLabels::Absent => start,
        RowLabels::Ignored(_) | RowLabels::Read(_) => token_end(text, start),
    };
    let label = read_label(&text[start..after], is_named, labels);
    let label = label.map_err(|fault| (start, fault))?;
    let ended = match indices {
        None => {
            read_names(text, after, line.number, builder)?;
            builder.end_named_row(label)
        }
        Some(indices) => {
            let n = read_pairs(text, after, line.number, indices, builder)?;
            builder.end_row(n, label)
        }
    };
    ended.map_err(|fault| (start, fault))
}

/// Reads a label, if there are labels. For new data we know only after all values which of them means +1.
fn read_label(
    token: &[u8],
    is_named: bool,
    labels: &mut RowLabels<'_>,
) -> Result<Option<u32>, Fault> {
    let refused = |detail: String| Err(Fault::new(FormatErrorKind::BadLabel, detail));
    let shown = || excerpt(token);
    if !matches!(labels, RowLabels::Absent) && token.contains(&b':') {
        return refused(format!(
            "The line begins with the feature {}; begin the line with a label, or use labels=none.",
            shown()
        ));
    }
    match labels {
        RowLabels::Read(names) if is_named || names.is_known() || parse_number(token).is_ok() => {
            names.push(token).map(Some)
        }
        RowLabels::Read(_) => refused(format!(
            "{} is not a label; labels are numbers, and `labels=none` reads lines without labels. If features have \
             names, say `vocabulary=open`; then classes have names too.",
            shown()
        )),
        // Else a line without a label would lose its first name.
        RowLabels::Ignored(Some(classes))
            if is_named && classes.read(token).is_err() && parse_number(token).is_err() =>
        {
            refused(format!(
                "{} is no class of the model; begin the line with a label, such as 0, or use labels=none.",
                shown()
            ))
        }
        RowLabels::Ignored(_) | RowLabels::Absent => Ok(None),
    }
}

/// Whether the first feature of a line has a name in place of an index.
fn names_a_feature(text: &[u8], start: usize, labelled: bool) -> bool {
    let after = if labelled {
        token_end(text, start)
    } else {
        start
    };
    let at = skip_blanks(text, after);
    let token = &text[at..token_end(text, at)];
    let name = memchr::memrchr(b':', token).map_or(token, |colon| &token[..colon]);
    // `qid` numbers the query of a ranking, and a number is a wrong index.
    !name.is_empty() && name != b"qid" && parse_number(name).is_err()
}

/// Reads all names. A `#` begins a comment only where a name could begin.
fn read_names(
    text: &[u8],
    mut at: usize,
    line: u64,
    builder: &mut SparseBuilder,
) -> Result<(), Misplaced> {
    loop {
        at = skip_blanks(text, at);
        if at_end(text, at) {
            return Ok(());
        }
        let start = at;
        while text.get(at).is_some_and(|&byte| !is_blank(byte)) {
            at += 1;
        }
        let token = &text[start..at];
        let (name, value) = match memchr::memrchr(b':', token) {
            Some(colon) => (&token[..colon], &token[colon + 1..]),
            None => (token, &b"1"[..]),
        };
        let value = parse_number(value).map_err(|fault| {
            let mut fault = fault.of_value(value);
            fault.detail +=
                " The value follows the last colon of a name, so a name with a colon needs one.";
            (at - value.len(), fault)
        })?;
        let name = error::name(name).map_err(|fault| (start, fault))?;
        let became_real = builder.name(name, value);
        if became_real.map_err(|fault| (start, fault))? {
            let column = start as u64 + 1;
            builder.note_first_real(Place::Line { line, column });
        }
    }
}

/// Reads all pairs. Returns the number of features up to the largest index, or 0 without pairs.
fn read_pairs(
    text: &[u8],
    mut at: usize,
    line: u64,
    indices: &mut Indices,
    builder: &mut SparseBuilder,
) -> Result<usize, Misplaced> {
    let mut first = usize::from(u8::from(indices.first));
    // The least index that may follow.
    let mut next = first;
    loop {
        at = skip_blanks(text, at);
        if at_end(text, at) {
            return Ok(next - first);
        }
        let start = at;
        let (mut index, digits) = leading_number(text, at);
        at += digits;
        while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0'))
            && digit < 10
        {
            index = index.wrapping_mul(10).wrapping_add(usize::from(digit));
            at += 1;
        }
        // Fast path for the common pair: `digits:1` followed by a space or the end.
        let plain = at - start <= INDEX_DIGITS_MAX
            && index >= next
            && text.get(at) == Some(&b':')
            && text.get(at + 1) == Some(&b'1')
            && text.get(at + 2).is_none_or(|&byte| byte == b' ');
        if plain && builder.set_one(index - first) {
            at += 2;
        } else {
            let is_zero = index == 0 && at > start && text.get(at) == Some(&b':');
            if is_zero && indices.is_open && (first, next) == (1, 1) {
                builder.begin_at_0().map_err(|fault| (start, fault))?;
                indices.first = FirstIndex::Zero;
                (first, next) = (0, 0);
            }
            check_index(text, start..at, index, next, first)?;
            at = read_value(text, at + 1, index - first, line, builder)?;
        }
        next = index + 1;
    }
}

/// The number of the first digits from a place on, at most 8 of them, and how many they are. Near the end of the line
/// it reads none.
#[inline]
fn leading_number(text: &[u8], at: usize) -> (usize, usize) {
    let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk) else {
        return (0, 0);
    };
    // The bytes of digits become 0 to 9, and each other byte gets a bit in its upper half.
    let values = u64::from_le_bytes(*eight) ^ 0x3030_3030_3030_3030;
    let others = (values | values.wrapping_add(0x0606_0606_0606_0606)) & 0xf0f0_f0f0_f0f0_f0f0;
    let digits = others.trailing_zeros() / u8::BITS;
    if digits == 0 {
        return (0, 0);
    }
    // Zeros go before the digits. Then neighbours are joined: to 4 numbers below 100, to 2 below 10^4, to one.
    let ones = values << (u64::BITS - u8::BITS * digits);
    let tens = (ones.wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let hundreds = (tens.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    let number = hundreds.wrapping_mul(10_000 << 32 | 1) >> 32;
    (number as usize, digits as usize)
}

/// Checks the index at this place of the text, which must be at least `next`, and explains its fault. `first` is the
/// first index of the body.
fn check_index(
    text: &[u8],
    Range { start, end }: Range<usize>,
    index: usize,
    next: usize,
    first: usize,
) -> Result<(), Misplaced> {
    let digits = end - start;
    let colon = text.get(end) == Some(&b':');
    if colon && (1..=INDEX_DIGITS_MAX).contains(&digits) && index >= next {
        return Ok(());
    }
    let shown = excerpt(&text[start..token_end(text, start)]);
    let (kind, detail) = if digits == 0 || !colon {
        let detail = format!(
            "{shown} is not a feature; write index:value, with indices from {first}. If features have names, say \
             `vocabulary=open`."
        );
        (FormatErrorKind::BadIndex, detail)
    } else if digits > INDEX_DIGITS_MAX {
        let detail = format!(
            "The index of {shown} is far above the limit; number the features from {first} on."
        );
        (FormatErrorKind::BadIndex, detail)
    } else if index < first && next == first {
        let detail = format!(
            "The index of {shown} is 0, but the indices start at 1 here; say `first_index=0` if the first feature has \
             the index 0."
        );
        (FormatErrorKind::BadIndex, detail)
    } else {
        let previous = next.saturating_sub(1);
        let detail = format!(
            "Index {index} follows index {previous}; indices must ascend, so sort the pairs of the line."
        );
        (FormatErrorKind::IndexOrder, detail)
    };
    let fault = Fault::new(kind, detail);
    let is_zero = digits > 0 && colon && index < first && next == first;
    let fault = match is_zero {
        true => fault.mended_by("first_index", "0"),
        false => fault.mended_by("vocabulary", "open"),
    };
    Err((start, fault))
}

/// Reads the value at `start` by the general rules, and returns where it ends. `index` is that of the feature from 0.
fn read_value(
    text: &[u8],
    start: usize,
    index: usize,
    line: u64,
    builder: &mut SparseBuilder,
) -> Result<usize, Misplaced> {
    let end = token_end(text, start);
    let token = &text[start..end];
    let value = parse_number(token).map_err(|fault| (start, fault.of_value(token)))?;
    let became_real = builder.value(index, value).map_err(|fault| {
        // All faults except a bad value are about the index, which is before the colon.
        let of_value = fault.kind == FormatErrorKind::BadValue;
        let back = text[..start - 1]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_digit());
        (
            if of_value {
                start
            } else {
                start - 1 - back.count()
            },
            fault,
        )
    })?;
    if became_real {
        let column = start as u64 + 1;
        builder.note_first_real(Place::Line { line, column });
    }
    Ok(end)
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}

/// Whether at most a comment follows.
fn at_end(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|&byte| byte == b'#')
}

fn token_end(text: &[u8], start: usize) -> usize {
    let stops = |&byte: &u8| is_blank(byte) || byte == b'#';
    let rest = &text[start..];
    start + rest.iter().position(stops).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn leading_number_reads_up_to_eight_digits(
            before in "[ -~]{0,3}", digits in "[0-9]{0,18}", after in "([^0-9][ -~]{0,9})?",
        ) {
            let text = format!("{before}{digits}{after}");
            let (number, count) = leading_number(text.as_bytes(), before.len());
            let plain = digits.len().min(8);
            if text.len() < before.len() + 8 {
                // The plain loop reads the end of a line.
                prop_assert_eq!((number, count), (0, 0));
            } else {
                prop_assert_eq!(count, plain);
                prop_assert_eq!(number, digits[..plain].parse().unwrap_or(0));
            }
        }
    }
}
