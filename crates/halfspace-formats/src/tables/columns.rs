//! The columns of a table: their names and their roles.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use halfspace_core::memory::{self, NoMemory};

use super::bare_line::LabelPlace;
use super::table_column::TableColumn;
use super::unnamed::Unnamed;
use crate::encoding::options::{Numbers, TableOptions};
use crate::encoding::{KindName, LabelEncoding, TableEncoding};
use crate::error::{Fault, FormatErrorKind, excerpt, listed};
use crate::options::{LabelsColumn, Options};
use crate::stored::raw_cells::RawHead;

/// The name that means all columns in `kinds`.
const EVERY: &str = "*";

/// What stands between the first and the last of several columns in `ignore` and `kinds`.
const BETWEEN: &str = "..";

/// The largest size of a column's name, in bytes. Each feature of the column repeats it.
const NAME_BYTES_MAX: usize = 1024;

/// If the request names no label column, one of these names marks it.
const LABEL_NAMES: [&str; 4] = ["label", "class", "target", "y"];

/// The longest name that an error repeats as the value of an option, in bytes.
const SAID_BYTES_MAX: usize = 100;

/// An error lists at most this many columns.
const LISTED_MAX: usize = 40;

/// A fault and the column of the table that it is about, from 0.
pub(crate) type InColumn = (usize, Fault);

/// The columns of a table.
pub(crate) struct TableColumns {
    pub(crate) columns: Vec<TableColumn>,
    /// Whether the table has a row of names.
    pub(crate) has_header: bool,
    /// The label column, from 0.
    pub(crate) label: Option<usize>,
    /// The column of the weights, from 0.
    pub(crate) weights: Option<usize>,
}

impl TableColumns {
    /// Returns `count` columns without roles.
    ///
    /// # Errors
    /// When a name is too long, or memory ends.
    pub(crate) fn named(names: Option<Vec<String>>, count: usize) -> Result<Self, Fault> {
        let has_header = names.is_some();
        if let Some(at) = names
            .iter()
            .flatten()
            .position(|name| name.len() > NAME_BYTES_MAX)
        {
            let detail = format!(
                "The name of column {} is longer than {NAME_BYTES_MAX} bytes; shorten the name.",
                at + 1
            );
            return Err(Fault::new(FormatErrorKind::Schema, detail));
        }
        let column = |(at, name): (usize, String)| {
            Ok::<_, NoMemory>(TableColumn {
                unnamed: Unnamed::of(at, count, has_header, &name),
                name,
                ignored: None,
                kind: None,
                has_thousands: false,
            })
        };
        let columns = match names {
            Some(names) => memory::collect(names.into_iter().enumerate().map(column))?,
            None => {
                let named = (0..count).map(|at| (at, format!("column_{}", at + 1)));
                memory::collect(named.map(column))?
            }
        };
        Ok(Self {
            columns,
            has_header,
            label: None,
            weights: None,
        })
    }

    /// The position of each name, so that many names are found in one pass. Of equal names the first counts.
    pub(super) fn by_name(&self) -> Result<HashMap<&str, usize>, NoMemory> {
        // A hash table has at most four places for each entry.
        memory::need_of::<(&str, usize, u8)>(4 * self.columns.len())?;
        let mut places = HashMap::with_capacity(self.columns.len());
        for (at, column) in self.columns.iter().enumerate() {
            places.entry(column.name.as_str()).or_insert(at);
        }
        Ok(places)
    }

    /// Gives each column its role.
    ///
    /// # Errors
    /// When an option names no column of the table, or when nothing tells the label column.
    pub(crate) fn assign(
        &mut self,
        labels: Option<&LabelsColumn>,
        options: &TableOptions,
    ) -> Result<(), Fault> {
        // Of several statements about a column the last one counts.
        let stated = options.declared.iter().chain(&options.kinds);
        let stated = stated.map(|(name, kind)| (name, *kind, "kinds"));
        let ignored = options.ignore.iter();
        let ignored = ignored.map(|name| (name, KindName::Ignored, "ignore"));
        let stated = match options.ignore.len() + options.declared.len() + options.kinds.len() {
            0 => Vec::new(),
            _ => {
                let names = self.by_name()?;
                let meant = |(text, kind, option): (&String, KindName, &str)| {
                    Ok::<_, Fault>((self.meant(text, &names, option)?, kind))
                };
                memory::collect(ignored.chain(stated).map(meant))?
            }
        };
        for (columns, kind) in stated {
            memory::check()?;
            for column in &mut self.columns[columns] {
                column.state(kind);
            }
        }
        self.take_roles(options);
        self.weights = self.weights_column(options)?;
        self.label = match (labels, &options.roles) {
            (None, Some(roles)) => roles.label.filter(|&at| at < self.columns.len()),
            _ => self.label_column(labels, options)?,
        };
        self.check_weights(options)?;
        if let Some(label) = self.label {
            self.columns[label].ignored = None;
            self.columns[label].unnamed = Unnamed::No;
        }
        if let Some(named) = options.encoding.as_deref().filter(|given| given.is_open()) {
            self.read_as(named)?;
        }
        if options.encoding.is_some() || options.numbers_only {
            // The encoding or the model decides which columns are features.
            for column in &mut self.columns {
                column.unnamed = Unnamed::No;
            }
        }
        Ok(())
    }

    /// Gives the columns the roles that they have by their places.
    fn take_roles(&mut self, options: &TableOptions) {
        let Some(roles) = &options.roles else { return };
        for &(at, kind) in &roles.kinds {
            if let Some(column) = self.columns.get_mut(at) {
                column.state(kind);
            }
        }
        for &at in &roles.with_thousands {
            if let Some(column) = self.columns.get_mut(at) {
                column.has_thousands = true;
            }
        }
    }

    /// The columns that are no features, because they hold the labels and the weights.
    pub(crate) fn beside(&self) -> [Option<usize>; 2] {
        [self.label, self.weights]
    }

    /// Whether the column holds the labels or the weights.
    pub(crate) fn is_beside(&self, at: usize) -> bool {
        self.beside().contains(&Some(at))
    }

    /// What the raw cells of the table begin with.
    pub(crate) fn raw_head(&self, options: &Options) -> RawHead {
        let names = self.columns.iter().map(|column| column.name.clone());
        RawHead {
            names: self.has_header.then(|| names.collect()),
            columns: self.columns.len(),
            is_given: options.table.encoding.is_some(),
            declared: options.table.declared.clone(),
            options: options.table.fitting_options(),
        }
    }

    /// Whether every cell that is a number can be a feature as it is.
    pub(crate) fn are_plain(&self, options: &TableOptions) -> bool {
        let is_plain = |(at, column): (usize, &TableColumn)| {
            self.is_beside(at)
                || column.kind.is_none()
                    && column.ignored.is_none()
                    && !(self.has_header && column.name.is_empty() && column.is_open())
        };
        options.numbers == Numbers::Real && self.columns.iter().enumerate().all(is_plain)
    }

    /// Where the label is, if the cells of all other columns are the features in their order.
    pub(crate) fn label_place(&self) -> Option<LabelPlace> {
        let is_read = |(at, column): (usize, &TableColumn)| {
            self.label == Some(at) || column.ignored.is_none() && !column.is_open()
        };
        // The features are then not the rest of a line.
        if self.weights.is_some() {
            return None;
        }
        if !self.columns.iter().enumerate().all(is_read) {
            return None;
        }
        match self.label {
            None => Some(LabelPlace::None),
            Some(0) => Some(LabelPlace::First),
            Some(at) if at + 1 == self.columns.len() => Some(LabelPlace::Last),
            Some(_) => None,
        }
    }

    fn label_column(
        &self,
        labels: Option<&LabelsColumn>,
        options: &TableOptions,
    ) -> Result<Option<usize>, Fault> {
        let last = self.columns.len() - 1;
        match labels {
            Some(LabelsColumn::None) => return Ok(None),
            Some(LabelsColumn::First) => return Ok(Some(0)),
            Some(LabelsColumn::Last) => return Ok(Some(last)),
            Some(LabelsColumn::Named(name)) => return self.find(name, "labels").map(Some),
            Some(LabelsColumn::Appended) | None => {}
        }
        let given = options.encoding.as_deref();
        if let Some(encoding) = given
            && let Some(label) = &encoding.label
        {
            let found = match (self.has_header, encoding.header) {
                (true, true) => self
                    .columns
                    .iter()
                    .position(|column| column.name == label.column),
                (true, false) => return Err(self.no_label_among_names()),
                // Without the weights, the labels may stand further in front.
                (false, _) if self.lacks_weights_before(label, encoding) => {
                    return Err(self.no_label_without_names());
                }
                (false, _) => Some(label.index as usize - 1).filter(|&at| at <= last),
            };
            let missing = || {
                let detail = format!(
                    "The table has no label column {}, which the encoding names; `labels=COLUMN` names another \
                     column, and `labels=none` reads rows without labels.",
                    excerpt(label.column.as_bytes())
                );
                Fault::new(FormatErrorKind::TableOption, detail).mended_by("labels", "none")
            };
            return found.map(Some).ok_or_else(missing);
        }
        if !self.has_header {
            return match given {
                Some(_) => Ok(None),
                // The data of such a model have no encoding, and in their text forms the label comes first.
                None if options.numbers_only => Ok(Some(0)),
                None => Err(self.no_label_without_names()),
            };
        }
        let is_feature = |name: &str| {
            given.is_some_and(|given| given.columns.iter().any(|column| column.name == name))
        };
        let is_label = |column: &TableColumn| {
            let name = &column.name;
            let mut names = LABEL_NAMES.iter();
            names.any(|known| name.eq_ignore_ascii_case(known)) && !is_feature(name)
        };
        let is_label = |&at: &usize| self.weights != Some(at) && is_label(&self.columns[at]);
        let mut found = (0..self.columns.len()).filter(is_label);
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(Some(at)),
            (None, _) if given.is_some() => Ok(None),
            (first, _) => {
                let how_many = if first.is_some() {
                    "Several columns are"
                } else {
                    "No column is"
                };
                let detail = format!(
                    "{how_many} named label, class, target or y. Name the label column, as in `labels={}`, or say \
                     `labels=none` if there is none; the columns are {}.",
                    self.said(last),
                    self.listed()
                );
                let fault = Fault::new(FormatErrorKind::TableOption, detail);
                let named = first.into_iter().chain(found).map(|at| self.said(at));
                let named = named.fold(fault, |fault, name| fault.mended_by("labels", name));
                Err(self.naming_the_labels(named))
            }
        }
    }

    /// Whether a table without names may lack the weights of an encoding that stand before its label.
    fn lacks_weights_before(&self, label: &LabelEncoding, encoding: &TableEncoding) -> bool {
        let weights = encoding.weights.as_ref();
        let is_before = weights.is_some_and(|weights| weights.index < label.index);
        let count = encoding.column_count() + encoding.ignored.len() + 2;
        is_before && (label.index as usize..count).contains(&self.columns.len())
    }

    /// Adds the places where labels usually are, unless the first line may be a comment.
    fn naming_the_labels(&self, fault: Fault) -> Fault {
        let mark = self.columns[0].name.chars().next();
        let fault = match mark.filter(|mark| self.has_header && ['#', '%'].contains(mark)) {
            Some(mark) => fault.mended_by("comment", mark),
            None => fault,
        };
        let last = self.columns.len() - 1;
        [self.said(last), self.said(0), "none".to_owned()]
            .into_iter()
            .fold(fault, |fault, place| fault.mended_by("labels", place))
    }

    /// The fault of a table with names whose encoding knows only the position of the label column. In another file
    /// the columns may have another order.
    fn no_label_among_names(&self) -> Fault {
        let last = self.said(self.columns.len() - 1);
        let detail = format!(
            "The table has names, but the table of the encoding had none, so nothing tells which column holds the \
             labels; name it, as in `labels={last}`, or say `labels=none`. The columns are {}. If the first row is an \
             example, say `header=false`.",
            self.listed()
        );
        self.naming_the_labels(Fault::new(FormatErrorKind::TableOption, detail))
            .mended_by("header", "false")
    }

    /// The fault of a first row of names that may be an example.
    pub(crate) fn header_in_doubt() -> Fault {
        let detail = "Each text of the first row is also a value of its column; say `header=false` if the row is an \
                      example, or `header=true` if it has the names.";
        Fault::new(FormatErrorKind::TableOption, detail)
            .mended_by("header", "false")
            .mended_by("header", "true")
    }

    /// The fault of a table without names where nothing tells the label column.
    fn no_label_without_names(&self) -> Fault {
        let detail = format!(
            "The table has no row of names, so nothing tells which of its {} columns holds the labels; say \
             `labels=first`, `labels=last`, the number of a column, as in `labels=2`, or `labels=none`. If the first \
             row holds names, say `header=true`.",
            self.columns.len()
        );
        Fault::new(FormatErrorKind::TableOption, detail)
            .mended_by("labels", "last")
            .mended_by("labels", "first")
            .mended_by("header", "true")
            .mended_by("labels", "none")
    }

    /// The columns that an item of the option `ignore` or `kinds` means: one, or all from one to another.
    fn meant(
        &self,
        text: &str,
        names: &HashMap<&str, usize>,
        option: &str,
    ) -> Result<RangeInclusive<usize>, Fault> {
        // Of equal spellings the name of a column counts.
        let by_name = names.get(text).copied();
        let ends = by_name.is_none().then(|| text.split_once(BETWEEN));
        let Some((first, last)) = ends.flatten() else {
            if text == EVERY && option == "kinds" && by_name.is_none() {
                return Ok(0..=self.columns.len() - 1);
            }
            return self.place(text, by_name, option).map(|at| at..=at);
        };
        let place = |text: &str| self.place(text, names.get(text).copied(), option);
        let columns = place(first)?..=place(last)?;
        if columns.is_empty() {
            let detail = format!(
                "The option `{option}` names `{text}`, whose second column stands first; say `{last}{BETWEEN}{first}`."
            );
            return Err(Fault::new(FormatErrorKind::TableOption, detail));
        }
        Ok(columns)
    }

    /// Finds a column by its name or its number, which counts from 1, or from -1 at the end.
    pub(super) fn find(&self, name: &str, option: &str) -> Result<usize, Fault> {
        let by_name = self.columns.iter().position(|column| column.name == name);
        self.place(name, by_name, option)
    }

    /// The column that an option means. `by_name` is the column with this name. If the table has no names, columns
    /// have the names that answers use, such as `column_2`.
    fn place(&self, name: &str, by_name: Option<usize>, option: &str) -> Result<usize, Fault> {
        if let Some(at) = by_name {
            return Ok(at);
        }
        let count = self.columns.len();
        let by_number = name.parse::<i64>().ok().and_then(|number| match number {
            0 => None,
            1.. => usize::try_from(number - 1).ok().filter(|&at| at < count),
            _ => count.checked_sub(usize::try_from(number.unsigned_abs()).ok()?),
        });
        by_number.ok_or_else(|| {
            let detail = format!(
                "The option `{option}` names the column `{name}`, which the table does not have; the columns are {}.",
                self.listed()
            );
            let fault = Fault::new(FormatErrorKind::TableOption, detail);
            match option {
                "labels" => self.naming_the_labels(fault),
                _ => fault,
            }
        })
    }

    /// The column as the value of an option: its name, or its number if the name needs an escape or has another meaning
    /// there. A number that is the name of another column means that one, so then the name must do.
    pub(crate) fn said(&self, at: usize) -> String {
        let name = &self.columns[at].name;
        let number = (at + 1).to_string();
        if !self.has_header {
            return number;
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let has_meaning = ["first", "last", "none", "appended"].contains(&name.as_str());
        let is_said = (1..=SAID_BYTES_MAX).contains(&name.len())
            && name.bytes().all(is_plain)
            && !has_meaning
            && !name.contains(BETWEEN);
        let is_taken = || self.columns.iter().any(|column| column.name == number);
        match is_said || is_taken() {
            true => name.clone(),
            false => number,
        }
    }

    pub(super) fn listed(&self) -> String {
        let columns = self.columns.iter();
        listed(
            columns.map(|column| excerpt(column.name.as_bytes())),
            LISTED_MAX,
        )
    }

    pub(crate) fn about(&self, at: usize, fault: Fault) -> Fault {
        self.columns[at].about(&self.said(at), fault)
    }

    /// The columns that may turn out to have no features.
    ///
    /// # Errors
    /// When memory ends.
    pub(crate) fn open(&self) -> Result<Vec<usize>, NoMemory> {
        let is_open =
            |&at: &usize| self.columns[at].is_open() && self.columns[at].ignored.is_none();
        memory::collect((0..self.columns.len()).filter(is_open).map(Ok))
    }

    /// The columns that can have features.
    pub(crate) fn features(&self) -> impl Iterator<Item = usize> {
        let is_feature = |&at: &usize| {
            let column = &self.columns[at];
            !self.is_beside(at) && column.ignored.is_none() && column.no_feature().is_none()
        };
        (0..self.columns.len()).filter(is_feature)
    }
}
