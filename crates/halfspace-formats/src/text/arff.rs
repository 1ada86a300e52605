//! ARFF, the format of Weka, with attributes and rows.
//!
//! A numeric attribute is one feature. A nominal attribute has one feature per declared value, which is 1 in
//! rows with that value. The class is the last attribute unless the options name another one. The first of
//! the two values of a nominal class is +1. A class with the values 1 and -1, or 1 and 0, is read as in other
//! formats instead.
//!
//! In a sparse row omitted values are 0, which means the first value of a nominal attribute. Dense and sparse
//! rows of one file are therefore the same data. Source: the `ARFF` page of the `Weka` manual.

use std::io::Read;
use std::sync::Arc;

use halfspace_core::bits::{WORD_BITS, words_for};

use crate::building::labels::bad_label;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_builder::SampleBuilder;
use crate::error::{Fault, FormatError, FormatErrorKind, Place, excerpt};
use crate::stored::spool::Spool;
use crate::tables::encoding::{
    ColumnEncoding, ColumnKind, DESCRIPTION_BYTES_MAX, LabelEncoding, MissingCells, TableEncoding,
};
use crate::text::arff_header::{self, Attribute, AttributeKind, Nominal};
use crate::text::arff_scanner::{Misplaced, Scanner, Word};
use crate::text::lines::{Line, LineReader};
use crate::text::numbers::parse_number;
use crate::{LabelsColumn, Options, Parsed, RowsKind};

pub(crate) fn parse(
    reader: &mut dyn Read,
    options: &Options,
    spool: Option<Spool>,
) -> Result<Parsed<ParsedRows>, FormatError> {
    options.refuse_header("ARFF")?;
    options.refuse_bit_order("ARFF")?;
    let mut lines = LineReader::new(reader, options.limits.line_bytes_max);
    let attributes = arff_header::read(&mut lines, &options.limits)?;
    let table = ArffLayout::new(attributes, options)?;
    let builder = SampleBuilder::dense(&options.limits, Some(table.n), spool)?;
    let mut builder = builder.of_kind(options.values)?;
    while let Some(line) = lines.next_line()? {
        if line.text.is_empty() {
            lines.pass_empty_lines(u64::MAX);
            continue;
        }
        let read = table.read_row(line, &mut builder);
        read.map_err(|(offset, fault)| fault.at(line.number, offset))?;
    }
    let mut parsed = builder.finish(options.unlabelled)?;
    parsed.feature_names = Some(table.feature_names());
    parsed.table = table.encoding(&parsed).map(Arc::new);
    parsed.class_names = table.class.and_then(|class| class.names);
    Ok(parsed)
}

/// Structure of a row.
struct ArffLayout {
    attributes: Vec<Attribute>,
    class: Option<Class>,
    /// Number of features of all attributes.
    n: usize,
    /// Index of the first feature of each attribute, followed by n. The class has no features.
    first_features: Vec<usize>,
    /// The features of the row `{}`, packed.
    absent: Vec<u64>,
}

/// The attribute that holds the labels.
struct Class {
    /// Position among the attributes, from 0.
    index: usize,
    /// Position of the declared value that is +1, if values are declared.
    positive: usize,
    /// Names of -1 and +1, if they are not spelled as numbers.
    names: Option<[String; 2]>,
}

impl Class {
    fn new(index: usize, attribute: &Attribute) -> Result<Self, FormatError> {
        let (positive, names) = match &attribute.kind {
            AttributeKind::Numeric => (0, None),
            AttributeKind::Nominal(nominal) => {
                let coding = nominal_coding(&attribute.name, nominal);
                coding.map_err(|fault| fault.at(attribute.line, attribute.offset))?
            }
        };
        Ok(Self {
            index,
            positive,
            names,
        })
    }
}

/// Returns the position of the value that is +1, and the names of -1 and +1.
fn nominal_coding(name: &str, nominal: &Nominal) -> Result<(usize, Option<[String; 2]>), Fault> {
    let mut values = nominal.values();
    let (Some(first), Some(second), None) = (values.next(), values.next(), values.next()) else {
        let detail = format!(
            "The class {} has {} values; a class must have two. Name another attribute with \
             labels=, or use labels=none.",
            excerpt(name.as_bytes()),
            nominal.values().len()
        );
        return Err(Fault::new(FormatErrorKind::BadLabel, detail));
    };
    let is_negative = |value| value == 0.0 || value == -1.0;
    match (parse_number(first), parse_number(second)) {
        (Ok(1.0), Ok(other)) if is_negative(other) => Ok((0, None)),
        (Ok(other), Ok(1.0)) if is_negative(other) => Ok((1, None)),
        _ => {
            let text = |value| String::from_utf8_lossy(value).into_owned();
            Ok((0, Some([text(second), text(first)])))
        }
    }
}

/// Returns the position of the class among the attributes.
fn class_index(
    attributes: &[Attribute],
    labels: Option<&LabelsColumn>,
) -> Result<Option<usize>, Fault> {
    match labels {
        None | Some(LabelsColumn::Last) => Ok(Some(attributes.len() - 1)),
        Some(LabelsColumn::First) => Ok(Some(0)),
        Some(LabelsColumn::None) => Ok(None),
        Some(LabelsColumn::Appended) => {
            let detail = "labels=appended is for octets only; in ARFF an attribute holds the \
                          labels.";
            Err(Fault::new(FormatErrorKind::BadOption, detail))
        }
        Some(LabelsColumn::Named(name)) => {
            let found = attributes
                .iter()
                .position(|attribute| attribute.name == *name);
            let missing = || {
                let detail = format!("No attribute is named {}.", excerpt(name.as_bytes()));
                Fault::new(FormatErrorKind::BadOption, detail)
            };
            found.map(Some).ok_or_else(missing)
        }
    }
}

impl ArffLayout {
    fn new(attributes: Vec<Attribute>, options: &Options) -> Result<Self, FormatError> {
        let index = class_index(&attributes, options.labels.as_ref())?;
        let class = index.map(|index| Class::new(index, &attributes[index]));
        let class = class.transpose()?;
        let mut n = 0;
        let mut first_features = vec![0];
        for (place, attribute) in attributes.iter().enumerate() {
            if Some(place) != index {
                n += attribute.kind.features();
            }
            first_features.push(n);
        }
        if n == 0 {
            let detail = "The class is the only attribute; data need at least one feature.";
            return Err(Fault::new(FormatErrorKind::EmptyData, detail).into());
        }
        options.check_n(n)?;
        let mut absent = vec![0; words_for(n)];
        for (place, attribute) in attributes.iter().enumerate() {
            if Some(place) != index && matches!(attribute.kind, AttributeKind::Nominal(_)) {
                let feature = first_features[place];
                absent[feature / WORD_BITS] |= 1 << (feature % WORD_BITS);
            }
        }
        Ok(Self {
            attributes,
            class,
            n,
            first_features,
            absent,
        })
    }

    /// Returns the names of the features: the name of a numeric attribute, or the name of a nominal attribute
    /// with each value.
    fn feature_names(&self) -> Vec<String> {
        let class = self.class.as_ref().map(|class| class.index);
        let mut names = Vec::with_capacity(self.n);
        for (index, Attribute { name, kind, .. }) in self.attributes.iter().enumerate() {
            match kind {
                _ if Some(index) == class => {}
                AttributeKind::Numeric => names.push(name.clone()),
                AttributeKind::Nominal(nominal) => names.extend(nominal.values().map(|value| {
                    let value = String::from_utf8_lossy(value);
                    format!("{name}={value}")
                })),
            }
        }
        names
    }

    /// Describes the attributes as the columns of a table. `None` if the description is too long.
    fn encoding(&self, parsed: &Parsed<ParsedRows>) -> Option<TableEncoding> {
        let texts = |nominal: &Nominal| {
            let values = nominal.values();
            let values = values.map(|value| String::from_utf8_lossy(value).into_owned());
            values.collect::<Vec<_>>()
        };
        let low = if parsed.zero_bit_value < 0.0 {
            "-1"
        } else {
            "0"
        };
        let column = |at: usize| {
            let Attribute { name, kind, .. } = &self.attributes[at];
            ColumnEncoding {
                name: name.clone(),
                index: at as u32 + 1,
                features: [self.first_features[at], self.first_features[at + 1]]
                    .map(|at| at as u32),
                kind: match kind {
                    AttributeKind::Nominal(nominal) => ColumnKind::Nominal {
                        values: texts(nominal),
                    },
                    AttributeKind::Numeric if parsed.data.header().kind == RowsKind::Real => {
                        ColumnKind::Number
                    }
                    AttributeKind::Numeric => ColumnKind::Boolean {
                        values: [low, "1"].map(str::to_owned),
                    },
                },
                missing: false,
            }
        };
        let label = self.class.as_ref().map(|class| {
            let attribute = &self.attributes[class.index];
            let [negative, positive] = match &attribute.kind {
                AttributeKind::Numeric => ["-1", "1"].map(str::to_owned),
                AttributeKind::Nominal(nominal) => {
                    let values = texts(nominal);
                    [1 - class.positive, class.positive].map(|at| values[at].clone())
                }
            };
            LabelEncoding {
                column: attribute.name.clone(),
                index: class.index as u32 + 1,
                positive,
                negative: Some(negative),
            }
        });
        let class = self.class.as_ref().map(|class| class.index);
        let encoding = TableEncoding {
            label,
            columns: (0..self.attributes.len())
                .filter(|&at| Some(at) != class)
                .map(column)
                .collect(),
            ignored: Vec::new(),
            missing: MissingCells::default(),
            header: true,
        };
        Some(encoding).filter(|encoding| encoding.description_bytes() <= DESCRIPTION_BYTES_MAX)
    }

    fn read_row(&self, line: Line<'_>, builder: &mut SampleBuilder) -> Result<(), Misplaced> {
        let mut scanner = Scanner::new(line.text);
        if scanner.peek().is_none() {
            return Ok(());
        }
        let start = scanner.place();
        let mut row = ArffRow {
            table: self,
            line: line.number,
            next: 0,
            label: None,
            builder,
        };
        if scanner.take(b'{') {
            row.read_sparse(&mut scanner, start)?;
        } else {
            row.read_dense(&mut scanner)?;
        }
        let label = row.label;
        let after = scanner.place();
        let has_more = scanner.take(b',');
        if scanner.peek() == Some(b'{') {
            let detail = "The row has a weight. Weights are not supported; remove the weight.";
            let fault = Fault::new(FormatErrorKind::Unsupported, detail);
            return Err((scanner.place(), fault));
        }
        if has_more {
            let attributes = self.attributes.len();
            let detail =
                format!("The row has more values than the {attributes} declared attributes.");
            return Err((after, Fault::new(FormatErrorKind::UnequalLength, detail)));
        }
        scanner.end_after("the row")?;
        builder.end_row(label).map_err(|fault| (start, fault))
    }
}

/// The row being read.
struct ArffRow<'a> {
    table: &'a ArffLayout,
    line: u64,
    /// Position of the next attribute.
    next: usize,
    label: Option<bool>,
    builder: &'a mut SampleBuilder,
}

impl ArffRow<'_> {
    fn read_dense(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Misplaced> {
        let attributes = self.table.attributes.len();
        while self.next < attributes {
            if self.next > 0 && !scanner.take(b',') {
                let place = scanner.place();
                if scanner.peek().is_some() {
                    let detail = "A comma is missing between two values.";
                    return Err((place, Fault::new(FormatErrorKind::Syntax, detail)));
                }
                let found = self.next;
                let detail = format!(
                    "The row has {found} values, but the header declares {attributes} attributes."
                );
                return Err((place, Fault::new(FormatErrorKind::UnequalLength, detail)));
            }
            let word = scanner.word()?;
            self.give(&word)?;
        }
        Ok(())
    }

    /// Reads `index value, index value}`. The row began at `start`.
    fn read_sparse(&mut self, scanner: &mut Scanner<'_>, start: usize) -> Result<(), Misplaced> {
        let attributes = self.table.attributes.len();
        if !scanner.take(b'}') {
            loop {
                let word = scanner.word()?;
                let index = self
                    .read_index(&word)
                    .map_err(|fault| (word.start, fault))?;
                self.give_absent(index, start)?;
                let value = scanner.word()?;
                self.give(&value)?;
                if scanner.take(b'}') {
                    break;
                }
                if !scanner.take(b',') {
                    let detail = "A sparse row must have the form `{index value, index value}` \
                                  with indices from 0.";
                    let fault = Fault::new(FormatErrorKind::Syntax, detail);
                    return Err((scanner.place(), fault));
                }
            }
        }
        self.give_absent(attributes, start)
    }

    fn read_index(&self, word: &Word<'_>) -> Result<usize, Fault> {
        let attributes = self.table.attributes.len();
        let shown = excerpt(&word.text);
        let digits = word.text.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(&word.text).ok().filter(|_| digits);
        let index = text.and_then(|text| text.parse::<usize>().ok());
        match index.filter(|&index| index < attributes) {
            None => {
                let last = attributes - 1;
                let detail = format!("{shown} is not an index; indices go from 0 to {last}.");
                Err(Fault::new(FormatErrorKind::BadIndex, detail))
            }
            Some(index) if index < self.next => {
                let earlier = self.next - 1;
                let detail = format!("Index {index} follows index {earlier}; indices must ascend.");
                Err(Fault::new(FormatErrorKind::IndexOrder, detail))
            }
            Some(index) => Ok(index),
        }
    }

    /// Sets the next attribute to a value of the row.
    fn give(&mut self, word: &Word<'_>) -> Result<(), Misplaced> {
        let Attribute { name, kind, .. } = &self.table.attributes[self.next];
        let misplaced = |fault| (word.start, fault);
        if &*word.text == b"?" && !word.is_quoted {
            let shown = excerpt(name.as_bytes());
            let detail =
                format!("The value of {shown} is missing; missing values are not supported.");
            return Err(misplaced(Fault::new(FormatErrorKind::BadValue, detail)));
        }
        let value = match kind {
            AttributeKind::Numeric => match parse_number(&word.text) {
                Ok(number) => AttributeValue::Number(number),
                Err(_) if self.class().is_some() => {
                    return Err(misplaced(bad_label(&word.to_text())));
                }
                Err(fault) => return Err(misplaced(fault.of_value(&word.text))),
            },
            AttributeKind::Nominal(nominal) => match nominal.find(&word.text) {
                Some(place) => AttributeValue::Declared(place),
                None => return Err(misplaced(undeclared(word, name))),
            },
        };
        self.put(value, word.start)
    }

    /// Sets the attributes before `end` to 0, which is the first value of a nominal attribute. The row began
    /// at `start`.
    fn give_absent(&mut self, end: usize, start: usize) -> Result<(), Misplaced> {
        let class = self.table.class.as_ref().map(|class| class.index);
        if let Some(class) = class.filter(|class| (self.next..end).contains(class)) {
            self.give_absent_features(class, start)?;
            let value = match self.table.attributes[class].kind {
                AttributeKind::Numeric => AttributeValue::Number(0.0),
                AttributeKind::Nominal(_) => AttributeValue::Declared(0),
            };
            self.put(value, start)?;
        }
        self.give_absent_features(end, start)
    }

    /// Sets attributes to 0 if the class is not among them. The cost is per word, since `{}` may stand for a
    /// million attributes.
    fn give_absent_features(&mut self, end: usize, start: usize) -> Result<(), Misplaced> {
        let firsts = &self.table.first_features;
        let features = firsts[self.next]..firsts[end];
        self.next = end;
        let became_real = self.builder.bits_at(&self.table.absent, features);
        self.note(became_real.map_err(|fault| (start, fault))?, start);
        Ok(())
    }

    /// Returns the class if the next attribute is the class.
    fn class(&self) -> Option<&Class> {
        let class = self.table.class.as_ref();
        class.filter(|class| class.index == self.next)
    }

    /// Stores the value of the next attribute. The value stands at `start`.
    fn put(&mut self, value: AttributeValue, start: usize) -> Result<(), Misplaced> {
        let misplaced = |fault| (start, fault);
        match (self.class().map(|class| class.positive), value) {
            (Some(_), AttributeValue::Number(number)) => {
                self.label = Some(self.builder.label(number).map_err(misplaced)?);
            }
            (Some(positive), AttributeValue::Declared(place)) => {
                self.label = Some(place == positive)
            }
            (None, AttributeValue::Number(number)) => self.number(number, start)?,
            (None, AttributeValue::Declared(place)) => {
                let after = self.table.attributes[self.next].kind.features() - place - 1;
                self.zeros(place, start)?;
                self.number(1.0, start)?;
                self.zeros(after, start)?;
            }
        }
        self.next += 1;
        Ok(())
    }

    fn number(&mut self, number: f64, start: usize) -> Result<(), Misplaced> {
        let became_real = self.builder.value(number).map_err(|fault| (start, fault))?;
        self.note(became_real, start);
        Ok(())
    }

    fn zeros(&mut self, count: usize, start: usize) -> Result<(), Misplaced> {
        let became_real = self.builder.zeros(count).map_err(|fault| (start, fault))?;
        self.note(became_real, start);
        Ok(())
    }

    /// Records the place at which the data became real.
    fn note(&mut self, became_real: bool, start: usize) {
        if became_real {
            let (line, column) = (self.line, start as u64 + 1);
            self.builder.note_first_real(Place::Line { line, column });
        }
    }
}

/// A value of a row, read by the kind of its attribute.
enum AttributeValue {
    Number(f64),
    /// Position of the value in the declaration, from 0.
    Declared(usize),
}

fn undeclared(word: &Word<'_>, name: &str) -> Fault {
    let (shown, name) = (excerpt(&word.text), excerpt(name.as_bytes()));
    let detail = format!("{shown} is not among the declared values of the attribute {name}.");
    Fault::new(FormatErrorKind::BadValue, detail)
}
