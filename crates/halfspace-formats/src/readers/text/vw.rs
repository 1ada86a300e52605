//! Lines of Vowpal Wabbit: `label importance base 'tag |namespace feature feature:value |other feature`.
//!
//! A feature of a namespace has the name `namespace^feature`, and without a namespace its own. A value of the
//! namespace, as in `|words:0.5`, multiplies those of its features. Tags are read over. A label is the name of a class,
//! so a line of a ranking, of costs or of a decision among actions is refused. An importance is the weight of the
//! example.
//! Source: the page "Input format" of the `vowpal_wabbit` wiki.
//!
//! In a line, `|` begins a namespace, blanks stand between features and a colon before a value, and nothing escapes
//! them. Names that have one of them cannot be written. PyPI has a parser in C++ inside `vowpalwabbit`, and crates.io
//! none.

use std::io::Read;

use halfspace_core::learners::sample::weights::Weight;

use crate::building::label_names::LabelNames;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_rules::SampleRules;
use crate::building::sparse_builder::SparseBuilder;
use crate::building::text_rules::TextRules;
use crate::building::weight_column::{self, WeightColumn};
use crate::cell::Cell;
use crate::classes::unlabelled;
use crate::error::{self, Fault, FormatError, FormatErrorKind, Place, excerpt};
use crate::numbers::{DecimalMark, parse_number};
use crate::options::{LabelsColumn, Options};
use crate::readers::text::lines::{Line, LineReader};
use crate::stored::spool::Spool;
use crate::tables::preview::Preview;
use crate::vocabulary::{push_escaped, push_prefix};

/// What stands between a namespace and a feature in a name.
const JOINT: char = '^';

/// A fault and its byte in the line, from 0.
type Misplaced = (usize, Fault);

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
    preview: Option<&Preview>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    SampleRules::check_no_n(options.n)?;
    let texts = TextRules::of(options)?;
    let builder = SparseBuilder::of_names(&options.limits, options.values, spool, true, texts)?;
    let labels = match options.labels {
        Some(LabelsColumn::None) => None,
        _ => LabelNames::beside(&options.label_rule, options.table.positive.as_deref())?,
    };
    let mut body = Body {
        builder,
        labels,
        has_labels: None,
        needs_labels: options.needs_labels(),
        weights: WeightColumn::default(),
        name: String::new(),
    };
    let mut lines = LineReader::new(reader, options.limits.line_bytes_max);
    while let Some(line) = lines.next_line()? {
        if line.text.trim_ascii().is_empty() {
            // It ends an example of several lines, which `shared` begins.
            lines.pass_empty_lines(u64::MAX);
            continue;
        }
        let read = body.read(line);
        read.map_err(|(offset, fault)| fault.at(line.number, offset))?;
    }
    let Body {
        mut builder,
        labels,
        has_labels,
        weights,
        ..
    } = body;
    if let Some(labels) = labels.filter(|_| has_labels == Some(true)) {
        if let Some(preview) = preview {
            preview.count_labels(&labels);
        }
        builder.decide_labels(labels.finish()?);
    }
    Ok(Parsed {
        weights: weights.finish()?,
        ..builder.finish(options.unlabelled)?
    })
}

/// The rows of a body.
struct Body {
    builder: SparseBuilder,
    /// None if labels are ignored.
    labels: Option<LabelNames>,
    /// Whether the lines have labels, which the first one decides.
    has_labels: Option<bool>,
    /// See [`Options::needs_labels`].
    needs_labels: bool,
    weights: WeightColumn,
    /// The last name, in a buffer that is reused.
    name: String,
}

impl Body {
    fn read(&mut self, line: Line<'_>) -> Result<(), Misplaced> {
        let text = line.text;
        let Some(features) = memchr::memchr(b'|', text) else {
            let detail = "The line has no `|`, behind which its features stand, as in `1 | a b`.";
            return Err((0, Fault::new(FormatErrorKind::Syntax, detail)));
        };
        let (label, weight) = self.read_head(&text[..features])?;
        let pushed = self.weights.push(weight);
        pushed.map_err(|full| (0, full.into()))?;
        let mut at = features;
        while at < text.len() {
            at = self.read_namespace(line, at + 1)?;
        }
        self.builder
            .end_named_row(label)
            .map_err(|fault| (features, fault))
    }

    /// Reads the label and the weight, which stand before the first `|`.
    fn read_head(&mut self, head: &[u8]) -> Result<(Option<u32>, Weight), Misplaced> {
        // The last word is a tag if it touches the bar or begins with an apostrophe.
        let has_tag = head.last().is_some_and(|byte| !byte.is_ascii_whitespace());
        let mut words: Vec<(usize, &[u8])> = words(head).collect();
        if has_tag || words.last().is_some_and(|(_, word)| word.starts_with(b"'")) {
            words.pop();
        }
        let has_label = !words.is_empty();
        if *self.has_labels.get_or_insert(has_label) != has_label {
            let detail = match has_label {
                true => "The line has a label, but the lines before it have none",
                false => "The line has no label, but the lines before it have one",
            };
            let detail =
                format!("{detail}; write all lines in one form. A word that touches `|` is a tag.");
            return Err((0, Fault::new(FormatErrorKind::MixedLines, detail)));
        }
        let Some(&(at, label)) = words.first() else {
            return match self.needs_labels {
                true => Err((0, unlabelled())),
                false => Ok((None, Weight::ONE)),
            };
        };
        for &(at, word) in words.iter().take(2) {
            check_label(word).map_err(|fault| (at, fault))?;
        }
        let weight = words.get(1).map_or(Ok(Weight::ONE), |&(at, word)| {
            let read = weight_column::read(&Cell::Text(word), DecimalMark::Point);
            read.map_err(|fault| (at, fault.of("The example")))
        })?;
        if let Some(&(at, word)) = words.get(2)
            && parse_number(word) != Ok(0.0)
        {
            let detail = format!(
                "{} is the base of the example, which can only be 0 here; leave it out.",
                excerpt(word)
            );
            return Err((at, Fault::new(FormatErrorKind::Unsupported, detail)));
        }
        if let Some(&(at, word)) = words.get(3) {
            let detail = format!(
                "{} is neither a label, a weight, a base nor a tag.",
                excerpt(word)
            );
            return Err((at, Fault::new(FormatErrorKind::Syntax, detail)));
        }
        let label = self.labels.as_mut().map(|labels| labels.push(label));
        let label = label.transpose().map_err(|fault| (at, fault))?;
        Ok((label, weight))
    }

    /// Reads a namespace and its features up to the next `|`, whose place it returns.
    fn read_namespace(&mut self, line: Line<'_>, start: usize) -> Result<usize, Misplaced> {
        let rest = &line.text[start..];
        let end = start + memchr::memchr(b'|', rest).unwrap_or(rest.len());
        let mut words = words(&line.text[start..end]).peekable();
        let namespace = words.next_if(|(at, _)| *at == 0);
        let (namespace, factor) = match namespace {
            Some((at, word)) => split(word, start + at)?,
            None => (&b""[..], 1.0),
        };
        let name = &mut self.name;
        name.clear();
        if !namespace.is_empty() {
            let namespace = error::name(namespace).map_err(|fault| (start, fault))?;
            push_prefix(namespace, JOINT, name);
        }
        let prefix = name.len();
        for (at, word) in words {
            let at = start + at;
            let (feature, value) = split(word, at)?;
            let feature = error::name(feature).map_err(|fault| (at, fault))?;
            push_feature(feature, prefix == 0, name);
            let became_real = self
                .builder
                .name(name, factor * value)
                .map_err(|fault| (at, fault))?;
            name.truncate(prefix);
            if became_real {
                let column = at as u64 + 1;
                self.builder.note_first_real(Place::Line {
                    line: line.number,
                    column,
                });
            }
        }
        Ok(end)
    }
}

/// Refuses a word that begins a line of another task.
fn check_label(word: &[u8]) -> Result<(), Fault> {
    let detail = if word.contains(&b':') {
        format!(
            "{} states a cost or an action, and a line here has one class; write the class alone.",
            excerpt(word)
        )
    } else if word.contains(&b',') && word.iter().all(|byte| b"0123456789,".contains(byte)) {
        format!(
            "{} lists several labels, and a line here has one class.",
            excerpt(word)
        )
    } else if word == b"shared" {
        "`shared` begins a decision among actions; a line here has one class.".to_owned()
    } else {
        return Ok(());
    };
    Err(Fault::new(FormatErrorKind::Unsupported, detail))
}

/// Appends a feature to its namespace. A feature without one must not look like a feature of another one.
fn push_feature(feature: &str, is_alone: bool, name: &mut String) {
    match is_alone {
        true => push_escaped(feature, &[JOINT], name),
        false => name.push_str(feature),
    }
}

/// A feature or a namespace and its value, which is 1 unless a colon precedes it.
fn split(word: &[u8], at: usize) -> Result<(&[u8], f64), Misplaced> {
    let Some(colon) = memchr::memchr(b':', word) else {
        return Ok((word, 1.0));
    };
    let (name, value) = (&word[..colon], &word[colon + 1..]);
    if name.is_empty() {
        let detail = format!("{} has a value and no name.", excerpt(word));
        return Err((at, Fault::new(FormatErrorKind::BadName, detail)));
    }
    let value = parse_number(value).map_err(|fault| (at + colon + 1, fault.of_value(value)))?;
    Ok((name, value))
}

/// The words of a text with their places.
fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let words = text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    words.map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Whether a line can begin with this label.
pub(super) fn is_label(label: &str) -> bool {
    let is_word = !label.is_empty() && !label.starts_with('\'') && is_plain(label);
    is_word && check_label(label.as_bytes()).is_ok()
}

/// Whether a part of a line has nothing that ends it.
fn is_plain(part: &str) -> bool {
    !part.contains(|character: char| character.is_ascii_whitespace() || ":|".contains(character))
}

/// A name as the namespace and the feature of a line, or `None` if no line can have it.
pub(super) fn written(name: &str) -> Option<(String, String)> {
    let mut parts = (String::new(), String::new());
    let mut characters = name.char_indices();
    let mut is_joined = false;
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => parts.0.push(characters.next()?.1),
            JOINT => {
                parts.1 = name[at + 1..].to_owned();
                is_joined = true;
                break;
            }
            _ => parts.0.push(character),
        }
    }
    if !is_joined {
        parts = (String::new(), parts.0);
    }
    let mut again = String::new();
    if is_joined {
        push_prefix(&parts.0, JOINT, &mut again);
    }
    push_feature(&parts.1, !is_joined, &mut again);
    let is_whole = !parts.1.is_empty() && is_joined != parts.0.is_empty();
    let is_written = is_whole && again == name && is_plain(&parts.0) && is_plain(&parts.1);
    is_written.then_some(parts)
}
