//! Header of an ARFF file: the attributes and their values, as declared before `@data`.
//!
//! Keywords and types may be in any case. The name of the relation is ignored.

use std::collections::BTreeSet;
use std::io::Read;

use halfspace_core::memory;

use crate::encoding::KindName;
use crate::error::{Fault, FormatError, FormatErrorKind, excerpt};
use crate::options::ParseLimits;
use crate::readers::text::arff_scanner::{Misplaced, Scanner, Word};
use crate::readers::text::lines::LineReader;

/// A declared attribute.
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) kind: AttributeKind,
    /// Line of the declaration, from 1.
    pub(crate) line: u64,
    /// Byte of the attribute's name in that line, from 0.
    pub(crate) offset: usize,
}

/// Kind of the values of an attribute.
pub(crate) enum AttributeKind {
    /// Numbers: `numeric`, `real` or `integer`.
    Numeric,
    /// One of the declared values.
    Nominal(Nominal),
    /// Texts: `string`. Their words are names of an open vocabulary.
    Text,
}

impl AttributeKind {
    /// The number of features of the attribute. A nominal attribute has one per declared value, unless it is a bit.
    pub(crate) fn features(&self) -> usize {
        match self {
            Self::Nominal(nominal) if nominal.kind() == KindName::Nominal => nominal.values.len(),
            Self::Nominal(_) | Self::Numeric => 1,
            Self::Text => 0,
        }
    }
}

/// The declared values of a nominal attribute.
pub(crate) struct Nominal {
    /// The values as declared, without quotes. There is at least one.
    values: Vec<Box<[u8]>>,
    /// Positions in the declared order, sorted by how the values are spelled.
    by_spelling: Vec<usize>,
}

impl Nominal {
    /// The values in the declared order.
    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.values.iter().map(|value| &**value)
    }

    /// The kind of the column. Values 0 and 1 are a bit, as in every other format.
    pub(crate) fn kind(&self) -> KindName {
        match self.values().eq([b"0", b"1"]) {
            true => KindName::Boolean,
            false => KindName::Nominal,
        }
    }

    /// The position of a value in the declared order, from 0.
    pub(crate) fn find(&self, value: &[u8]) -> Option<usize> {
        let compare = |&place: &usize| (*self.values[place]).cmp(value);
        let found = self.by_spelling.binary_search_by(compare).ok()?;
        Some(self.by_spelling[found])
    }

    /// Reads the values that follow the opening brace.
    fn read(scanner: &mut Scanner<'_>, limits: &ParseLimits) -> Result<Self, Misplaced> {
        let mut values: Vec<Box<[u8]>> = Vec::new();
        let mut places = Vec::new();
        loop {
            let Word { start, text, .. } = scanner.word()?;
            if values.len() == limits.n_max {
                let limit = limits.n_max as u64;
                let what = "The attribute declares too many values";
                return Err((start, Fault::too_large(what, "n_max", limit)));
            }
            let pushed = memory::push(&mut values, Box::from(&*text));
            let pushed = pushed.and_then(|()| memory::push(&mut places, start));
            pushed.map_err(|full| (start, full.into()))?;
            scanner.take(b',');
            if scanner.take(b'}') {
                break;
            }
            if scanner.peek().is_none() {
                let detail = "Declared values must end with a brace.";
                let fault = Fault::new(FormatErrorKind::Syntax, detail);
                return Err((scanner.place(), fault));
            }
        }
        memory::need_of::<usize>(values.len()).map_err(|full| (scanner.place(), full.into()))?;
        let mut by_spelling: Vec<usize> = (0..values.len()).collect();
        by_spelling.sort_by(|&one, &other| values[one].cmp(&values[other]));
        let repeated = by_spelling
            .windows(2)
            .find(|pair| values[pair[0]] == values[pair[1]]);
        if let Some(&[_, second]) = repeated {
            let shown = excerpt(&values[second]);
            let detail = format!("The value {shown} is declared twice; remove one of the two.");
            return Err((places[second], Fault::new(FormatErrorKind::Schema, detail)));
        }
        Ok(Self {
            values,
            by_spelling,
        })
    }
}

/// Reads the header lines up to `@data`.
///
/// # Errors
/// The fault of a declaration that is wrong or not supported, with its place.
pub(crate) fn read<R: Read>(
    lines: &mut LineReader<R>,
    limits: &ParseLimits,
) -> Result<Vec<Attribute>, FormatError> {
    let mut header = ArffHeader::default();
    while let Some(line) = lines.next_line()? {
        let mut scanner = Scanner::new(line.text);
        if scanner.peek().is_none() {
            lines.pass_empty_lines(u64::MAX);
            continue;
        }
        let declared = header.declare(&mut scanner, line.number, limits);
        if declared.map_err(|(offset, fault)| fault.at(line.number, offset))? == Section::Data {
            return Ok(header.attributes);
        }
    }
    let detail = "The body ends before the line @data; add the line and the rows after it.";
    Err(Fault::new(FormatErrorKind::Truncated, detail).into())
}

/// The part of the file to which the next line belongs.
#[derive(PartialEq, Eq)]
enum Section {
    Header,
    Data,
}

/// The declarations so far.
#[derive(Default)]
struct ArffHeader {
    has_relation: bool,
    attributes: Vec<Attribute>,
    /// The names so far, to find duplicates.
    names: BTreeSet<String>,
    /// Number of features of the attributes so far.
    features: usize,
    /// Total bytes of the names of these features.
    name_bytes: usize,
}

impl ArffHeader {
    fn declare(
        &mut self,
        scanner: &mut Scanner<'_>,
        line: u64,
        limits: &ParseLimits,
    ) -> Result<Section, Misplaced> {
        let Word { start, text, .. } = scanner.word()?;
        let syntax = |detail: &str| Err((start, Fault::new(FormatErrorKind::Syntax, detail)));
        match text.to_ascii_lowercase().as_slice() {
            b"@relation" if self.has_relation || !self.attributes.is_empty() => {
                syntax("@relation must occur once, before the attributes.")
            }
            b"@relation" => {
                self.has_relation = true;
                Ok(Section::Header)
            }
            _ if !self.has_relation => syntax("An ARFF file must begin with @relation and a name."),
            b"@attribute" => {
                self.attribute(scanner, line, limits)?;
                Ok(Section::Header)
            }
            b"@data" if self.attributes.is_empty() => {
                syntax("No attribute is declared before @data.")
            }
            b"@data" => {
                scanner.end_after("@data")?;
                Ok(Section::Data)
            }
            other => {
                let shown = excerpt(other);
                let detail =
                    format!("{shown} is not a declaration; before @data use @attribute lines.");
                syntax(&detail)
            }
        }
    }

    fn attribute(
        &mut self,
        scanner: &mut Scanner<'_>,
        line: u64,
        limits: &ParseLimits,
    ) -> Result<(), Misplaced> {
        let word = scanner.word()?;
        let (start, name) = (word.start, word.to_name()?);
        let kind = read_kind(scanner, &name, limits)?;
        if scanner.peek() == Some(b'{') {
            let detail = format!(
                "The attribute {} has a weight. Weights are not supported; remove the weight.",
                excerpt(name.as_bytes())
            );
            let fault = Fault::new(FormatErrorKind::Unsupported, detail);
            return Err((scanner.place(), fault));
        }
        scanner.end_after("the type of the attribute")?;
        if !self.names.insert(name.clone()) {
            let detail = format!(
                "The attribute {} is declared twice; rename one of the two.",
                excerpt(name.as_bytes())
            );
            return Err((start, Fault::new(FormatErrorKind::Schema, detail)));
        }
        let attribute = Attribute {
            name,
            kind,
            line,
            offset: start,
        };
        self.count(&attribute, limits)
            .map_err(|fault| (start, fault))?;
        memory::push(&mut self.attributes, attribute).map_err(|full| (start, full.into()))
    }

    /// Checks the limits before the features of the declaration take memory. Each feature of a nominal attribute
    /// repeats its name. All names together may be as long as one line, like the header of a table.
    fn count(&mut self, attribute: &Attribute, limits: &ParseLimits) -> Result<(), Fault> {
        let own: usize = match &attribute.kind {
            AttributeKind::Numeric => 0,
            AttributeKind::Nominal(nominal) => nominal.values().map(|value| value.len() + 1).sum(),
            AttributeKind::Text => 0,
        };
        let features = attribute.kind.features();
        self.features += features;
        self.name_bytes = features
            .saturating_mul(attribute.name.len())
            .saturating_add(own)
            .saturating_add(self.name_bytes);
        // Two more features than the limit are allowed, because one attribute may be the class.
        if self.features > limits.n_max.saturating_add(2) {
            let limit = limits.n_max as u64;
            let what = "The attributes give too many features";
            return Err(Fault::too_large(what, "n_max", limit));
        }
        if self.name_bytes > limits.line_bytes_max {
            let limit = limits.line_bytes_max as u64;
            let what = "The names of the features are too long in total";
            return Err(Fault::too_large(what, "line_bytes_max", limit));
        }
        Ok(())
    }
}

/// Reads the type of an attribute, which follows its name.
fn read_kind(
    scanner: &mut Scanner<'_>,
    name: &str,
    limits: &ParseLimits,
) -> Result<AttributeKind, Misplaced> {
    if scanner.take(b'{') {
        return Nominal::read(scanner, limits).map(AttributeKind::Nominal);
    }
    let Word { start, text, .. } = scanner.word()?;
    let shown = excerpt(name.as_bytes());
    match text.to_ascii_lowercase().as_slice() {
        b"numeric" | b"real" | b"integer" => {
            scanner.skip_range()?;
            Ok(AttributeKind::Numeric)
        }
        b"string" => Ok(AttributeKind::Text),
        kind @ (b"date" | b"relational") => {
            let kind = excerpt(kind);
            let detail = format!(
                "The attribute {shown} has the type {kind}, which is not supported; declare it as numeric or string, \
                 list its values in braces, or remove it."
            );
            Err((start, Fault::new(FormatErrorKind::Unsupported, detail)))
        }
        other => {
            let kind = excerpt(other);
            let detail = format!(
                "The attribute {shown} has the unknown type {kind}; write numeric, or the values \
                 in braces."
            );
            Err((start, Fault::new(FormatErrorKind::Syntax, detail)))
        }
    }
}
