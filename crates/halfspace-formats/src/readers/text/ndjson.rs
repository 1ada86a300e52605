//! NDJSON: each line is `{"x": ..., "y": ...}`, `{"x": ...}`, a bit string, quoted or bare, or a row of a table. An `x`
//! is a bit string, an array of numbers, or an array or an object of names.
//!
//! All lines of a body are of the same one of these four kinds. A row is an object with one member per column, but an
//! object with bits or an array in `x` is an example. Blank lines are skipped. [`crate::NdjsonPortions`]
//! reads a body while it arrives.

use std::io::Read;

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::building::label_names::LabelNames;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::building::text_rules::TextRules;
use crate::classes::unlabelled;
use crate::classes::{LABEL, LabelRule};
use crate::error::{Fault, FormatError, FormatErrorKind, Place, excerpt};
use crate::numbers::parse_number;
use crate::options::{Options, ParseLimits};
use crate::readers::json;
use crate::readers::json::depth::{self, DepthCounter};
use crate::readers::json::examples::read_names;
use crate::readers::text::lines::{Line, LineReader};
use crate::stored::spool::Spool;
use crate::tables::objects::{ObjectRow, ObjectRows, with_names};
use crate::tables::preview::Preview;

/// A fault and its byte in the line, from 0.
type Misplaced = (usize, Fault);

/// What errors about options call a line that is no row.
pub(super) const EXAMPLE: &str = "a line with an example";

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Labelled,
    Unlabelled,
    BitString,
    Row,
}

impl LineKind {
    fn name(self) -> &'static str {
        match self {
            Self::Labelled => "an object with x and y",
            Self::Unlabelled => "an object with only x",
            Self::BitString => "a bit string",
            Self::Row => "a row of a table",
        }
    }
}

/// A line that is an object. The raw values borrow from the line, which preserves their columns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example<'a> {
    #[serde(borrow)]
    x: &'a RawValue,
    #[serde(borrow, default, deserialize_with = "present")]
    y: Option<&'a RawValue>,
}

/// Reads a field that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

/// Reads a whole body.
pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    let named = with_names(options);
    let mut spool = Some(spool);
    let mut lines = LineReader::new(reader, options.limits.line_bytes_max);
    let mut body = None;
    while let Some(line) = lines.next_line()? {
        let text = line.text.trim_ascii_end();
        if text.is_empty() {
            lines.pass_empty_lines(u64::MAX);
            continue;
        }
        let line = Line { text, ..line };
        let body = match &mut body {
            Some(body) => body,
            none => none.insert(Body::of(
                line,
                options,
                &named,
                spool.take().flatten(),
                preview,
            )?),
        };
        match body {
            Body::Examples(examples) => examples.read(line, None)?,
            Body::Rows(rows) => read_row(line, rows)?,
        }
    }
    match body {
        Some(Body::Rows(rows)) => rows.finish(),
        Some(Body::Examples(examples)) => Ok(examples.builder.finish(options.unlabelled)?),
        None => {
            let empty = ExampleLines::new(options, None)?;
            Ok(empty.builder.finish(options.unlabelled)?)
        }
    }
}

/// A body, whose kind the first line tells.
enum Body<'o> {
    Examples(Box<ExampleLines>),
    Rows(Box<ObjectRows<'o>>),
}

impl<'o> Body<'o> {
    fn of(
        first: Line<'_>,
        options: &Options,
        named: &'o Options,
        spool: Option<Spool>,
        preview: Option<&'o Preview>,
    ) -> Result<Self, FormatError> {
        if is_row(first.text) {
            return Ok(Self::Rows(Box::new(ObjectRows::new(
                named, spool, preview,
            )?)));
        }
        options.refuse_columns(EXAMPLE)?;
        options.check_scales(EXAMPLE)?;
        Ok(Self::Examples(Box::new(ExampleLines::new(options, spool)?)))
    }
}

/// Whether a line is a row of a table: an object with a member other than x and y, but without bits in x.
fn is_row(text: &[u8]) -> bool {
    if text.trim_ascii_start().first() != Some(&b'{') {
        return false;
    }
    let Ok(ObjectRow(members)) = serde_json::from_slice::<ObjectRow<'_>>(text) else {
        return false;
    };
    let is_bits = |value: &RawValue| match value.get().as_bytes() {
        [b'"', bits @ .., b'"'] => bits.iter().all(|bit| b"01".contains(bit)),
        value => value.starts_with(b"["),
    };
    let has_bits = members
        .iter()
        .any(|(name, value)| name == "x" && is_bits(value));
    !has_bits && members.iter().any(|(name, _)| name != "x" && name != "y")
}

/// Reads a row of a table.
fn read_row(line: Line<'_>, rows: &mut ObjectRows<'_>) -> Result<(), FormatError> {
    let row = serde_json::from_slice::<ObjectRow<'_>>(line.text);
    let row = row.map_err(|error| {
        let detail = format!(
            "The line is not a row of a table: {}.",
            json::message(&error)
        );
        let kind = match error.classify() {
            Category::Data => FormatErrorKind::Schema,
            _ => FormatErrorKind::Syntax,
        };
        Fault::new(kind, detail).at(line.number, error.column().saturating_sub(1))
    })?;
    rows.row(&row, |member| {
        let value = row
            .0
            .get(member)
            .map_or(line.text.as_ptr(), |(_, value)| value.get().as_ptr());
        Place::Line {
            line: line.number,
            column: (value as usize - line.text.as_ptr() as usize) as u64 + 1,
        }
    })
}

/// The examples of some lines, which are of one kind.
pub(super) struct ExampleLines {
    pub(super) builder: SampleBuilder,
    /// Kind of the first line.
    first: Option<LineKind>,
    limits: ParseLimits,
    /// See [`Options::needs_labels`].
    needs_labels: bool,
}

impl ExampleLines {
    pub(super) fn new(options: &Options, spool: Option<Spool>) -> Result<Self, FormatError> {
        let builder = SampleBuilder::new(&options.limits, options.n, spool)?;
        let positive = options.table.positive.as_deref();
        let labels = LabelNames::beside(&options.label_rule, positive)?;
        let builder = builder.of_kind(options.values)?.of_labels(labels);
        let builder = builder.of_texts(TextRules::of(options)?);
        let mut builder = builder.of_vocabulary(options.open_vocabulary)?;
        if options.names_as_they_come {
            builder.keep_names_as_they_come();
        }
        Ok(Self {
            builder,
            first: None,
            limits: options.limits.clone(),
            needs_labels: options.needs_labels(),
        })
    }

    /// Reads a line that is not blank. If there are options with an encoding, it may be a row.
    pub(super) fn read(
        &mut self,
        line: Line<'_>,
        encoded: Option<&Options>,
    ) -> Result<(), FormatError> {
        let start = line.text.len() - line.text.trim_ascii_start().len();
        let at_start = |fault: Fault| fault.at(line.number, start);
        if let Some(options) = encoded {
            if is_row(line.text) {
                check_kind(&mut self.first, LineKind::Row).map_err(at_start)?;
                return self.read_encoded(line, options);
            }
            options.refuse_columns(EXAMPLE).map_err(at_start)?;
            options.check_scales(EXAMPLE).map_err(at_start)?;
        }
        let (first, builder) = (&mut self.first, &mut self.builder);
        let read = match line.text[start] {
            b'{' => read_object(line, first, &self.limits, builder),
            _ => read_bit_string(line, start, first, builder),
        };
        read.map_err(|misplaced| {
            let (offset, fault) = too_deep(line.text, &self.limits).unwrap_or(misplaced);
            fault.at(line.number, offset)
        })?;
        match self.needs_labels && self.first != Some(LineKind::Labelled) {
            true => Err(at_start(unlabelled())),
            false => Ok(()),
        }
    }

    /// Encodes a row by itself.
    fn read_encoded(&mut self, line: Line<'_>, options: &Options) -> Result<(), FormatError> {
        let mut rows = ObjectRows::new(options, None, None)?;
        read_row(line, &mut rows)?;
        let mut encoded = rows.finish()?;
        let builder = &mut self.builder;
        let (classes, names) = (encoded.classes.take(), encoded.vocabulary.take());
        // The class of a row that is read alone has the code 0, unless the classes are known.
        let own = classes.filter(|_| options.label_rule == LabelRule::Open);
        let name = own.as_ref().and_then(|own| own.each().flatten().next());
        let label = name
            .map(|name| builder.label(name.as_bytes()))
            .transpose()?;
        encoded
            .data
            .for_each_row(encoded.zero_bit_value, |values, known| {
                builder.values(names.as_deref(), values)?;
                Ok(builder.end_row(label.unwrap_or(known))?)
            })
    }
}

/// The fault of a line that nests too deep, which takes precedence over other faults. Only refused lines need this
/// check, because accepted lines are flat.
fn too_deep(text: &[u8], limits: &ParseLimits) -> Option<Misplaced> {
    let at = DepthCounter::new(limits.json_depth_max).excess(text)?;
    Some((at, depth::too_deep(limits.json_depth_max)))
}

/// Checks that a line is of the same kind as the first line.
fn check_kind(first: &mut Option<LineKind>, kind: LineKind) -> Result<(), Fault> {
    let first = *first.get_or_insert(kind);
    if first == kind {
        return Ok(());
    }
    let (found, expected) = (kind.name(), first.name());
    let detail = format!(
        "The line is {found}, but each line before it is {expected}; write all lines in one form."
    );
    Err(Fault::new(FormatErrorKind::MixedLines, detail))
}

fn read_bit_string(
    line: Line<'_>,
    start: usize,
    first: &mut Option<LineKind>,
    builder: &mut SampleBuilder,
) -> Result<(), Misplaced> {
    let text = &line.text[start..];
    let bits = match text {
        [b'"', bits @ .., b'"'] => (start + 1, bits),
        [byte, ..] if byte.is_ascii_alphanumeric() => (start, text),
        _ => {
            let shown = excerpt(text);
            let detail = format!(
                "{shown} is not an example; a line is an object with x (and y), or a bit string."
            );
            return Err((start, Fault::new(FormatErrorKind::Syntax, detail)));
        }
    };
    check_kind(first, LineKind::BitString).map_err(|fault| (start, fault))?;
    give_bits(bits.1, bits.0, line.number, builder)?;
    builder.end_row(None).map_err(|fault| (start, fault))
}

fn give_bits(
    bits: &[u8],
    start: usize,
    line: u64,
    builder: &mut SampleBuilder,
) -> Result<(), Misplaced> {
    let real = builder.bits(bits);
    if let Some(at) = real.map_err(|(at, fault)| (start + at, fault))? {
        let column = (start + at) as u64 + 1;
        builder.note_first_real(Place::Line { line, column });
    }
    Ok(())
}

fn read_object(
    line: Line<'_>,
    first: &mut Option<LineKind>,
    limits: &ParseLimits,
    builder: &mut SampleBuilder,
) -> Result<(), Misplaced> {
    let parsed = serde_json::from_slice::<Example<'_>>(line.text);
    let example = parsed.map_err(|error| json_fault(&error))?;
    let offset = |raw: &RawValue| raw.get().as_ptr() as usize - line.text.as_ptr() as usize;
    let kind = match example.y {
        Some(_) => LineKind::Labelled,
        None => LineKind::Unlabelled,
    };
    let start = line.text.len() - line.text.trim_ascii_start().len();
    check_kind(first, kind).map_err(|fault| (start, fault))?;
    let x = offset(example.x);
    match example.x.get().as_bytes() {
        [b'[', items @ .., b']'] if !items.trim_ascii_start().starts_with(b"\"") => {
            read_numbers(items, x + 1, line.number, builder)?;
        }
        [b'"', bits @ .., b'"'] => give_bits(bits, x + 1, line.number, builder)?,
        [b'[' | b'{', ..] => read_named(example.x.get(), x, line.number, limits, builder)?,
        other => {
            let shown = excerpt(other);
            let detail = format!(
                "x is {shown}; it must be a bit string, an array of numbers, or an array or an object of names."
            );
            return Err((x, Fault::new(FormatErrorKind::Schema, detail)));
        }
    }
    let label = match example.y {
        Some(raw) => read_y(raw.get(), builder).map_err(|fault| (offset(raw), fault))?,
        None => None,
    };
    builder.end_row(label).map_err(|fault| (x, fault))
}

fn json_fault(error: &serde_json::Error) -> Misplaced {
    let kind = match error.classify() {
        Category::Data => FormatErrorKind::Schema,
        _ => FormatErrorKind::Syntax,
    };
    let message = json::message(error);
    let detail = format!("The line is not an object with x (and y): {message}.");
    (error.column().saturating_sub(1), Fault::new(kind, detail))
}

/// Reads an array of numbers, whose items start at byte `start` of their line.
fn read_numbers(
    items: &[u8],
    start: usize,
    line: u64,
    builder: &mut SampleBuilder,
) -> Result<(), Misplaced> {
    let mut at = start;
    if items.trim_ascii().is_empty() {
        return builder.no_names().map_err(|fault| (start, fault));
    }
    for item in items.split(|&byte| byte == b',') {
        let value = item.trim_ascii_start();
        let place = at + item.len() - value.len();
        let became_real =
            read_item(value.trim_ascii_end(), builder).map_err(|fault| (place, fault))?;
        if became_real {
            let column = place as u64 + 1;
            builder.note_first_real(Place::Line { line, column });
        }
        at += item.len() + 1;
    }
    Ok(())
}

/// Reads an `x` that names its features and starts at byte `start` of its line.
fn read_named(
    x: &str,
    start: usize,
    line: u64,
    limits: &ParseLimits,
    builder: &mut SampleBuilder,
) -> Result<(), Misplaced> {
    let was_real = builder.has_real_names();
    let read = match read_texts(x, builder) {
        Ok(false) => read_names(x, limits, builder),
        read => read.map(drop),
    };
    read.map_err(|(at, fault)| (start + at, fault))?;
    if builder.has_real_names() && !was_real {
        let column = start as u64 + 1;
        builder.note_first_real(Place::Line { line, column });
    }
    Ok(())
}

/// Reads a list of texts without escapes, the common form of names, which is valid JSON. Of any other list it reads
/// only a part, and returns false.
fn read_texts(x: &str, builder: &mut SampleBuilder) -> Result<bool, Misplaced> {
    if memchr::memchr(b'\\', x.as_bytes()).is_some() {
        return Ok(false);
    }
    let (mut quotes, mut end) = (memchr::memchr_iter(b'"', x.as_bytes()), 0);
    while let (Some(open), Some(close)) = (quotes.next(), quotes.next()) {
        let before = if end == 0 { "[" } else { "," };
        if x[end..open].trim() != before {
            return Ok(false);
        }
        let name = &x[open + 1..close];
        builder.name(name, 1.0).map_err(|fault| (open, fault))?;
        end = close + 1;
    }
    Ok(end > 0 && x[end..].trim() == "]")
}

fn read_item(item: &[u8], builder: &mut SampleBuilder) -> Result<bool, Fault> {
    let value = parse_number(item).map_err(|fault| fault.of_value(item))?;
    builder.value(value)
}

fn read_y(y: &str, builder: &mut SampleBuilder) -> Result<Option<u32>, Fault> {
    let refused = || {
        let detail = format!("y is {}; it must be {LABEL}.", excerpt(y.as_bytes()));
        Fault::new(FormatErrorKind::BadLabel, detail)
    };
    match y.as_bytes().first() {
        Some(b'"') => {
            let text = serde_json::from_str::<String>(y).map_err(|_| refused())?;
            builder.label(text.as_bytes())
        }
        Some(b'{' | b'[') => Err(refused()),
        // Only a number with an exponent may be too large for a double.
        Some(b'-' | b'0'..=b'9')
            if y.contains(['e', 'E']) && parse_number(y.as_bytes()).is_err() =>
        {
            Err(refused())
        }
        _ => builder.label(y.as_bytes()),
    }
}
