//! Tables whose columns give names, which nobody lists in advance, as the members of an object do in NDJSON.
//!
//! A word gives the name `column=word`, a number the name `column` with its value, true the name `column`, and false
//! or a missing cell nothing. Rows are read as they come, because no encoding needs all values of a column.
//!
//! The text of a cell cannot tell whether 10115 is a number or a word, and a later body, such as one row for a
//! prediction, may have only some cells of a column. So each column has one kind, which the first value decides unless
//! the request states it. A value of another kind is refused, whichever of the two comes first. The encoding keeps the
//! kinds, and a later body is read by them.

use std::collections::HashSet;

use halfspace_core::memory;

use super::columns::{InColumn, TableColumns};
use super::description::FoundColumn;
use super::doubtful_texts::ambiguous;
use crate::building::label_names::ReadLabels;
use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::building::sample_rules::SampleRules;
use crate::building::sparse_builder::SparseBuilder;
use crate::building::text_rules::TextRules;
use crate::cell::{Cell, Content};
use crate::encoding::options::{Numbers, Scaling, Unknown};
use crate::encoding::{
    ColumnKind, KindName, LabelEncoding, Missing, MissingCells, NamedCells, NoFeatures,
    TableEncoding,
};
use crate::error::{Fault, FormatErrorKind, Place, excerpt, name};
use crate::numbers::DecimalMark;
use crate::options::{Header, Options};
use crate::remedy::Remedy;
use crate::stored::spool::Spool;
use crate::vocabulary::{name_of, prefixes_in, push_prefix};

/// Rows whose cells become names.
pub(crate) struct NamedTable {
    builder: SparseBuilder,
    /// The columns of the table that give names, in ascending order.
    columns: Vec<NamedColumn>,
    /// Those that a sparse row cannot leave out, because what it leaves out gives a name there.
    filled: Vec<usize>,
    missing: u64,
}

/// A column that gives names.
struct NamedColumn {
    /// The column of the table, from 0.
    at: usize,
    kind: Kind,
    /// The values that the table declares for the column. Others are refused.
    declared: Option<HashSet<Box<[u8]>>>,
    /// What the names of the words begin with, then the rest of the last one. The buffer is reused.
    word: String,
    prefix: usize,
}

/// What a column holds.
#[derive(Clone, Copy)]
enum Kind {
    /// No cell had a value so far.
    Open,
    /// The request or an encoding states it.
    Stated(NamedCells),
    /// The value in this row decided it.
    Found(NamedCells, u64),
}

impl Kind {
    fn cells(self) -> Option<NamedCells> {
        match self {
            Self::Open => None,
            Self::Stated(cells) | Self::Found(cells, _) => Some(cells),
        }
    }
}

/// Refuses what a table of names cannot do.
///
/// # Errors
/// The option and why.
pub(crate) fn check(options: &Options) -> Result<(), Fault> {
    let given = options.table.encoding.as_deref();
    let detail = if options.table.numbers != Numbers::Real {
        "`numbers=thermometer` gives each column a fixed number of features, and with `vocabulary=open` a number is \
         the value of its name. Omit one of them."
    } else if options.table.scale != Scaling::None {
        "With `vocabulary=open` a number is the value of its name and is not scaled; omit `scale`."
    } else if !matches!(
        options.table.missing,
        None | Some(Missing::Drop | Missing::Refuse)
    ) {
        "With `vocabulary=open` a missing cell gives no name; say `missing=drop` or `missing=refuse`, or omit \
         `missing`."
    } else if options
        .table
        .kinds
        .iter()
        .any(|(_, kind)| *kind == KindName::Date)
    {
        "With `vocabulary=open` a date is a word; give it another kind in `kinds=`, or omit `vocabulary=open`, so that \
         its parts become numbers."
    } else if given.is_some_and(|given| !given.is_open()) {
        "The encoding has a fixed number of features; omit `vocabulary=open`, or name the encoding of names."
    } else {
        return SampleRules::check_no_n(options.n);
    };
    Err(Fault::new(FormatErrorKind::BadOption, detail))
}

impl NamedTable {
    /// Starts a table whose columns have their roles.
    ///
    /// # Errors
    /// When nothing tells the kinds of the columns for a model without columns, or when memory ends.
    pub(crate) fn new(
        table: &TableColumns,
        options: &Options,
        spool: Option<Spool>,
    ) -> Result<Self, Fault> {
        let column = |at: usize| {
            let column = &table.columns[at];
            let stated = column.kind.and_then(NamedCells::of);
            let kind = stated.map_or(Kind::Open, Kind::Stated);
            let refusal = match kind {
                _ if !options.table.numbers_only => None,
                Kind::Open => Some(
                    "has no kind in the model, which learnt from names and not from a table, so nothing tells whether \
                     its cells are words or numbers; state the kinds of all columns, as in `kinds=*:nominal`, or send \
                     the names as NDJSON",
                ),
                Kind::Stated(NamedCells::Text) => Some(
                    "has the kind text, but the model or session that the examples are for reads no texts; open a \
                     session with `extraction`, or train on examples with texts",
                ),
                _ => None,
            };
            if let Some(detail) = refusal {
                let fault = Fault::new(FormatErrorKind::TableOption, detail);
                return Err(table.about(at, fault));
            }
            let mut word = String::new();
            push_prefix(&column.name, '=', &mut word);
            Ok(NamedColumn {
                at,
                kind,
                declared: None,
                prefix: word.len(),
                word,
            })
        };
        let is_read = |at: &usize| !table.is_beside(*at) && table.columns[*at].ignored.is_none();
        let columns = (0..table.columns.len()).filter(is_read).map(column);
        let columns: Vec<NamedColumn> = memory::collect::<_, Fault>(columns)?;
        let is_word = |column: &&NamedColumn| column.cells() == Some(NamedCells::Nominal);
        let filled = columns.iter().filter(is_word).map(|column| Ok(column.at));
        let texts = TextRules::of(options)?;
        Ok(Self {
            builder: SparseBuilder::of_names(&options.limits, options.values, spool, true, texts)?,
            filled: memory::collect::<_, Fault>(filled)?,
            columns,
            missing: 0,
        })
    }

    /// Declares the values of a column before the first row. A sparse row leaves out the first of them.
    ///
    /// # Errors
    /// When memory ends.
    pub(crate) fn declare<'v>(
        &mut self,
        at: usize,
        mut values: impl Iterator<Item = &'v [u8]> + Clone,
    ) -> Result<(), Fault> {
        let Ok(place) = self.columns.binary_search_by_key(&at, |column| column.at) else {
            return Ok(());
        };
        let column = &mut self.columns[place];
        let declared = column.declared.insert(HashSet::new());
        for value in values.clone() {
            memory::insert(declared, value.into())?;
        }
        let value_of = |text| {
            let content = Cell::Text(text).content(DecimalMark::Point);
            column.cells()?.value(content)
        };
        let is_listed = column.cells() == Some(NamedCells::Nominal);
        if !is_listed && values.next().and_then(value_of) != Some(0.0) {
            memory::push(&mut self.filled, at)?;
        }
        Ok(())
    }

    /// Reads row `number`, counted from 1. If `given` lists columns, in ascending order, numbers in other columns are
    /// 0.
    ///
    /// # Errors
    /// The fault and its column.
    pub(crate) fn row<'c>(
        &mut self,
        (table, options, number): (&TableColumns, &Options, u64),
        given: Option<&[usize]>,
        cell: &impl Fn(usize) -> Cell<&'c [u8]>,
        label: Option<u32>,
        place: &impl Fn(usize) -> Place,
    ) -> Result<(), InColumn> {
        let mut read = |column: &mut NamedColumn| {
            let at = column.at;
            if column.cells() == Some(NamedCells::Text) {
                let text = cell(at).spelling();
                self.missing += u64::from(text.is_empty());
                let text = name(&text).map_err(|fault| (at, table.about(at, fault)))?;
                let read = self.builder.text(&table.columns[at].name, text);
                return read.map_err(|fault| (at, fault));
            }
            let (name, value) = match column.read(&cell(at), table, options, number) {
                Ok(Some(read)) => read,
                Ok(None) => {
                    self.missing += 1;
                    return Ok(());
                }
                Err(_) if options.table.unknown == Unknown::Zero => return Ok(()),
                Err(fault) => return Err((at, fault)),
            };
            // Columns have distinct names, so nobody needs to know a name whose value is 0.
            if value != 0.0
                && self
                    .builder
                    .name(name, value)
                    .map_err(|fault| (at, fault))?
            {
                self.builder.note_first_real(place(at));
            }
            Ok(())
        };
        match given {
            None => self.columns.iter_mut().try_for_each(read)?,
            Some(given) => {
                let mut all: Vec<usize> = given.iter().chain(&self.filled).copied().collect();
                all.sort_unstable();
                all.dedup();
                for at in all {
                    if let Ok(place) = self.columns.binary_search_by_key(&at, |column| column.at) {
                        read(&mut self.columns[place])?;
                    }
                }
            }
        }
        let ended = self.builder.end_named_row(label);
        ended.map_err(|fault| (0, fault))
    }

    /// Returns the sample, whose labels mean `read`, and its encoding.
    ///
    /// # Errors
    /// When names could stand for two columns or for the rows, when nothing is left of the table, or when memory or
    /// the spool fails.
    pub(crate) fn finish(
        mut self,
        table: &mut TableColumns,
        options: &Options,
        labels: Option<(ReadLabels, LabelEncoding)>,
        missing: MissingCells,
    ) -> Result<(Parsed<ParsedRows>, TableEncoding), Fault> {
        self.check_names(table, options)?;
        let mut kinds = Vec::new();
        for column in &self.columns {
            match column.cells() {
                Some(cells) => memory::push(
                    &mut kinds,
                    FoundColumn::plain(column.at, ColumnKind::Names { cells }),
                )?,
                None => table.columns[column.at].ignored = Some("the column has no value"),
            }
        }
        if kinds.is_empty() {
            let detail =
                "No column of the table has a value that gives a name; at least one column must.";
            return Err(Fault::new(FormatErrorKind::EmptyData, detail));
        }
        let (read, label) = labels.unzip();
        let missing = MissingCells {
            treatment: options.table.missing.unwrap_or(Missing::Absent),
            cells: self.missing,
            ..missing
        };
        let mut encoding = table.describe(label, kinds, missing)?;
        if let Some(read) = read {
            self.builder.decide_labels(read);
        }
        let mut parsed = self.builder.finish(options.unlabelled)?;
        let texts = parsed.table.take();
        encoding.extraction = texts.and_then(|texts| texts.extraction.clone());
        Ok((parsed, encoding))
    }

    /// Checks that each name can stand for one thing only.
    fn check_names(&self, table: &TableColumns, options: &Options) -> Result<(), Fault> {
        for column in &self.columns {
            let reason = table.columns[column.at].no_feature();
            if let Some(reason) = reason.filter(|_| column.cells().is_some()) {
                let detail = format!(
                    "may be no feature, because {reason}; state its kind in `kinds=` if it is one"
                );
                let fault = Fault::new(FormatErrorKind::TableOption, detail).with(Remedy::Ignore);
                return Err(table.about(column.at, fault));
            }
        }
        let mut prefixes = HashSet::new();
        for column in &self.columns {
            let marks = column.cells().map_or(&[][..], NamedCells::marks);
            for &mark in marks {
                let mut prefix = String::new();
                push_prefix(&table.columns[column.at].name, mark, &mut prefix);
                memory::insert(&mut prefixes, prefix)?;
            }
        }
        let other = |column: &NamedColumn| {
            let mut begun = prefixes_in(&table.columns[column.at].name);
            let is_name = column.cells().is_none_or(|cells| cells.marks().is_empty());
            is_name && begun.any(|prefix| prefixes.contains(prefix))
        };
        if let Some(column) = self.columns.iter().find(|column| other(column)) {
            let detail = "has a name that a word of another column gives too; rename it";
            let fault = Fault::new(FormatErrorKind::TableOption, detail);
            return Err(table.about(column.at, fault));
        }
        let is_value = |column: &NamedColumn| {
            let name = &table.columns[column.at].name;
            self.builder.has_name(&name_of(name, name))
        };
        if table.has_header && options.header == Header::Auto && self.columns.iter().all(is_value) {
            return Err(TableColumns::header_in_doubt());
        }
        Ok(())
    }
}

impl NamedColumn {
    fn cells(&self) -> Option<NamedCells> {
        self.kind.cells()
    }

    /// The name of a cell and its value, or none for a missing cell.
    fn read<'s>(
        &'s mut self,
        cell: &Cell<&[u8]>,
        table: &'s TableColumns,
        options: &Options,
        row: u64,
    ) -> Result<Option<(&'s str, f64)>, Fault> {
        let decimal = options.table.decimal;
        let content = match cell.content(decimal.unwrap_or_default()) {
            Content::MissingAmongNumbers if self.cells() == Some(NamedCells::Number) => {
                Content::Missing
            }
            content => content,
        };
        let Some(found) = NamedCells::found(content) else {
            return Ok(None);
        };
        let own = &table.columns[self.at];
        let about = |kind, detail: String| table.about(self.at, Fault::new(kind, detail));
        if own.name.is_empty() {
            let detail = "has no name, which the names of its cells begin with";
            return Err(about(FormatErrorKind::TableOption, detail.to_owned()));
        }
        let text = cell.spelling();
        if let Some(declared) = &self.declared
            && !declared.contains(&*text)
        {
            let detail = format!("does not declare the value {}", excerpt(&text));
            return Err(about(FormatErrorKind::BadValue, detail));
        }
        let cells = match self.kind {
            Kind::Stated(NamedCells::Nominal) => NamedCells::Nominal,
            kind => {
                let doubt = match cell {
                    Cell::Text(text) => ambiguous(text, decimal),
                    _ => None,
                };
                if let Some(fault) = doubt {
                    return Err(table.about(self.at, fault));
                }
                match kind {
                    Kind::Stated(cells) => cells,
                    Kind::Found(before, first) if before != found => {
                        let fault = two_kinds(&text, (found, row), (before, first));
                        return Err(table.about(self.at, fault));
                    }
                    Kind::Found(..) => found,
                    Kind::Open => {
                        self.kind = Kind::Found(found, row);
                        found
                    }
                }
            }
        };
        let Some(value) = cells.value(content) else {
            return Err(self.not_of(cells, &text, table, options, row));
        };
        if cells != NamedCells::Nominal {
            return Ok(Some((&own.name, value)));
        }
        self.word.truncate(self.prefix);
        self.word += name(&text)?;
        Ok(Some((&self.word, value)))
    }

    /// The fault of a cell that the stated kind of the column cannot hold.
    fn not_of(
        &self,
        cells: NamedCells,
        text: &[u8],
        table: &TableColumns,
        options: &Options,
        row: u64,
    ) -> Fault {
        if options.table.encoding.is_some() {
            let why = match cells {
                NamedCells::Number => NoFeatures::NotANumber,
                NamedCells::Boolean | NamedCells::Nominal | NamedCells::Text => NoFeatures::Unknown,
            };
            return why.fault(&table.columns[self.at].name, row, text);
        }
        let (shown, cells) = (excerpt(text), one(cells));
        let detail = format!(
            "must hold {cells} in each cell, as `kinds=` says, but has {shown} in row {row}, which `missing_values=` \
             can declare a missing cell"
        );
        let fault = Fault::new(FormatErrorKind::TableOption, detail)
            .mended_as_missing([text])
            .mended_by_kind("nominal");
        table.about(self.at, fault)
    }
}

/// The fault of a column with values of two kinds, which continues a sentence about it.
pub(crate) fn two_kinds(
    text: &[u8],
    (found, row): (NamedCells, u64),
    (before, first): (NamedCells, u64),
) -> Fault {
    let (found, before, shown) = (one(found), one(before), excerpt(text));
    let detail = format!(
        "has {found} in row {row}, {shown}, but {before} in row {first}; `kinds=` with the kind nominal reads every \
         value as a word, and `missing_values=` reads some as missing cells"
    );
    Fault::new(FormatErrorKind::TableOption, detail).mended_by_kind("nominal")
}

fn one(cells: NamedCells) -> &'static str {
    match cells {
        NamedCells::Nominal => "a word",
        NamedCells::Number => "a number",
        NamedCells::Boolean => "a truth value",
        NamedCells::Text => "a text",
    }
}
