//! One pass over the cells of a column: the distinct values and how many cells have each, from which the kind of the
//! column follows.
//!
//! A cell is kept as the code of its value. If a column has more than [`VALUES_MAX`] values, it must hold numbers,
//! and its later cells are kept as such.

use std::collections::HashMap;

use halfspace_core::memory;

use super::doubtful_texts::{ambiguous, doubtful_comma};
use super::number_form::{NumberForm, is_doubtful, is_number, is_time, is_word};
use crate::cell::{Cell, Content, is_code};
use crate::dates::DateOrder;
use crate::encoding::options::TableOptions;
use crate::encoding::{KindName, Written};
use crate::error::{Fault, FormatErrorKind, LIKELY_CHARSET, excerpt, not_utf8};
use crate::numbers::DecimalMark;
use crate::remedy::{Remedy, list_item};
use crate::written_number::{Notation, Thousands, WrittenNumber};

/// The largest number of values of a column that is kept as codes. A missing cell counts as a value.
pub(crate) const VALUES_MAX: usize = 256;

/// The largest size of a value, in bytes.
const VALUE_BYTES_MAX: usize = 1024;

/// If a column of numbers has at most this many other texts, they may have been meant as numbers.
const ODD_SPELLINGS_MAX: usize = 3;

/// At most this many different numbers may be words, such as ranks.
const RANKS_MAX: usize = 16;

/// No value of this text has occurred.
const NO_CODE: u16 = u16::MAX;

/// A value of a column.
pub(crate) struct ColumnValue {
    pub(crate) text: Box<str>,
    pub(crate) content: Content,
    /// The number of cells. For bare letters it is counted at the end, if the counts matter.
    pub(crate) cells: u64,
    /// The first row with the value, from 1.
    pub(crate) first_row: u64,
}

/// The form in which a cell is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KeptCell {
    Code(u8),
    /// A number, or NaN for a missing cell.
    Number(f64),
}

/// What the values of a column are once all of them are known.
pub(crate) struct Settled {
    /// The content of each value, in the order of the codes.
    pub(crate) contents: Vec<Content>,
    pub(crate) form: NumberForm,
}

/// The cells of a column so far.
pub(crate) struct ColumnScan {
    /// The values in the order of their first rows. The index of a value is its code.
    pub(crate) values: Vec<ColumnValue>,
    codes: HashMap<Box<[u8]>, u8>,
    /// The codes of the values of one byte, and of the empty text.
    short_codes: Box<[u16; VALUES_MAX]>,
    empty_code: u16,
    /// Whether the later cells are kept as numbers.
    pub(crate) is_numbers: bool,
    /// Whether it is decided what the values are, and how the numbers of a column of numbers are written.
    is_settled: bool,
    form: NumberForm,
    /// The number of missing cells that are not kept as a code, and the first row with one.
    missing_numbers: u64,
    missing_row: u64,
    kind: Option<KindName>,
    decimal: Option<DecimalMark>,
    dates: Option<DateOrder>,
    /// Whether the table declares all values of the column.
    is_declared: bool,
    /// The number of cells that came as numbers, and whether any may have been spelled longer than necessary.
    plain_numbers: u64,
    is_respelled: bool,
    /// Whether ambiguous texts are kept. The reader of the table refuses them.
    is_lenient: bool,
}

impl ColumnScan {
    /// Starts a column of the stated kind, whose cells are written as the request says.
    pub(crate) fn new(kind: Option<KindName>, options: &TableOptions) -> Self {
        Self {
            values: Vec::new(),
            codes: HashMap::new(),
            short_codes: Box::new([NO_CODE; VALUES_MAX]),
            empty_code: NO_CODE,
            is_numbers: false,
            is_settled: false,
            form: NumberForm::PLAIN,
            missing_numbers: 0,
            missing_row: 0,
            kind,
            decimal: options.decimal,
            dates: options.dates,
            is_declared: false,
            plain_numbers: 0,
            is_respelled: false,
            is_lenient: false,
        }
    }

    /// The column, whose numbers may be known to have marks between thousands.
    pub(crate) fn with_thousands(mut self, has_thousands: bool) -> Self {
        self.form.has_thousands = has_thousands;
        self
    }

    /// Starts a column that keeps ambiguous texts, to be judged at the end.
    pub(crate) fn lenient(options: &TableOptions) -> Self {
        Self {
            is_lenient: true,
            ..Self::new(None, options)
        }
    }

    /// Counts a cell whose value has occurred before, and returns the code of the value.
    ///
    /// Most cells take this path. It returns the bare code, which stays in a register, while a [`KeptCell`] would go
    /// through memory.
    #[inline]
    pub(crate) fn push_known(&mut self, text: &[u8]) -> Option<u8> {
        let code = match text {
            [byte] => u8::try_from(self.short_codes[usize::from(*byte)]).ok(),
            [] => u8::try_from(self.empty_code).ok(),
            _ if self.is_numbers => None,
            _ => self.codes.get(text).copied(),
        }?;
        self.values[usize::from(code)].cells += 1;
        Some(code)
    }

    /// The code of a letter or a digit that has occurred before. The cell is not counted, because only missing cells
    /// must be.
    #[inline]
    pub(crate) fn code_of(&self, letter: u8) -> Option<u8> {
        u8::try_from(self.short_codes[usize::from(letter)]).ok()
    }

    /// Reads the cell of row `row`, counted from 1.
    ///
    /// # Errors
    /// When the column has too many values, or the cell is ambiguous. The fault does not name the column.
    pub(crate) fn push(&mut self, cell: &Cell<&[u8]>, row: u64) -> Result<KeptCell, Fault> {
        if let Cell::Number(number, _) = cell
            && self.is_numbers
        {
            memory::check()?;
            return Ok(KeptCell::Number(*number));
        }
        let text = cell.spelling();
        match self.push_known(&text) {
            Some(code) => Ok(KeptCell::Code(code)),
            None => self.push_new(cell, &text, row),
        }
    }

    /// Adds the values that the table declares for the column. From now on other values are refused.
    ///
    /// # Errors
    /// As for [`Self::push`].
    pub(crate) fn declare<'v>(
        &mut self,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> Result<(), Fault> {
        for text in values {
            self.push(&Cell::Text(text), u64::MAX)?;
        }
        self.values.iter_mut().for_each(|value| value.cells = 0);
        self.is_declared = true;
        Ok(())
    }

    /// Reads a number of an earlier row. `is_respelled` tells that its text may have been longer than the shortest
    /// one.
    ///
    /// # Errors
    /// As for [`Self::push`].
    pub(crate) fn push_number(
        &mut self,
        number: f64,
        row: u64,
        is_respelled: bool,
    ) -> Result<KeptCell, Fault> {
        self.plain_numbers += 1;
        self.is_respelled |= is_respelled;
        match self.is_numbers {
            true => Ok(KeptCell::Number(number)),
            false => self.push(&Cell::Text(number.to_string().as_bytes()), row),
        }
    }

    fn push_new(&mut self, cell: &Cell<&[u8]>, text: &[u8], row: u64) -> Result<KeptCell, Fault> {
        // If rows are short, every cell may be a new value.
        memory::check()?;
        let content = self.read(cell)?;
        if self.is_declared && content != Content::Missing {
            let detail = format!("does not declare the value {}", excerpt(text));
            return Err(Fault::new(FormatErrorKind::BadValue, detail));
        }
        if !self.is_numbers && self.values.len() == VALUES_MAX {
            self.become_numbers(content, row)?;
        }
        if self.is_numbers {
            return self.push_number_cell(content, text, row);
        }
        let code = self.values.len() as u8;
        let wrong = |why: &str| {
            let detail = format!("has the value {}, which {why}", excerpt(text));
            Fault::new(FormatErrorKind::TableOption, detail)
        };
        if text.len() > VALUE_BYTES_MAX {
            let fault = wrong(&format!("is longer than {VALUE_BYTES_MAX} bytes"));
            return Err(fault.mended_by_kind("text"));
        }
        let spelling = str::from_utf8(text).map_err(|error| {
            let why = not_utf8(text, error.valid_up_to());
            let fault = Fault {
                kind: FormatErrorKind::Syntax,
                ..wrong(&why)
            };
            fault.mended_by("charset", LIKELY_CHARSET)
        })?;
        match text {
            [byte] => self.short_codes[usize::from(*byte)] = code.into(),
            [] => self.empty_code = code.into(),
            _ => drop(self.codes.insert(text.into(), code)),
        }
        self.values.push(ColumnValue {
            text: spelling.into(),
            content,
            cells: 1,
            first_row: row,
        });
        Ok(KeptCell::Code(code))
    }

    /// Keeps a cell of a column of numbers.
    fn push_number_cell(
        &mut self,
        content: Content,
        text: &[u8],
        row: u64,
    ) -> Result<KeptCell, Fault> {
        match content {
            Content::Missing | Content::MissingAmongNumbers => {
                if self.missing_numbers == 0 && self.missing().1 == 0 {
                    self.missing_row = row;
                }
                self.missing_numbers += 1;
                Ok(KeptCell::Number(f64::NAN))
            }
            Content::Number(number) if self.form.notation == Notation::Plain => {
                Ok(KeptCell::Number(number))
            }
            Content::Written(written) if self.form.notation == written.notation => {
                let is_in_doubt = is_doubtful(&content) && self.decimal.is_none();
                if is_in_doubt && !self.form.has_thousands {
                    return Err(doubtful_comma(text));
                }
                self.form.has_thousands |= written.thousands == Thousands::Marked;
                self.form.has_time |= is_time(&content);
                Ok(KeptCell::Number(written.value))
            }
            Content::Number(_) | Content::Written(_) | Content::Flag(..) | Content::Text => {
                Err(too_many(&[text], row))
            }
        }
    }

    /// Reads a cell under the stated kind and decimal mark.
    fn read(&self, cell: &Cell<&[u8]>) -> Result<Content, Fault> {
        let content = cell.content(self.decimal.unwrap_or_default());
        if self.kind == Some(KindName::Nominal) {
            return Ok(match content {
                Content::Missing => Content::Missing,
                _ => Content::Text,
            });
        }
        let Cell::Text(text) = cell else {
            return Ok(content);
        };
        if let (Content::Text, Some(order)) = (content, self.dates)
            && let Some(date) = WrittenNumber::of_ordered_date(text, order)
        {
            return Ok(Content::Written(date));
        }
        match ambiguous(text, self.decimal) {
            Some(fault) if !self.is_lenient => Err(fault),
            _ => Ok(content),
        }
    }

    /// What the values are if the request states this kind. In a column of numbers all cells must be written alike.
    ///
    /// # Errors
    /// When a comma could stand before a fraction or between thousands, and no cell tells which.
    pub(crate) fn settled(&self, stated: Option<KindName>) -> Result<Settled, Fault> {
        let mut settled = Settled {
            contents: self.values.iter().map(|value| value.content).collect(),
            form: self.form,
        };
        if stated == Some(KindName::Nominal) || self.is_settled || self.is_declared {
            return Ok(settled);
        }
        let forms = || settled.contents.iter().filter_map(NumberForm::of);
        let has_thousands = self.form.has_thousands || forms().any(|form| form.has_thousands);
        if !has_thousands && self.decimal.is_none() {
            let mut values = self.values.iter();
            if let Some(value) = values.find(|value| is_doubtful(&value.content)) {
                return Err(doubtful_comma(value.text.as_bytes()));
            }
        }
        let Some(NumberForm { notation, .. }) = forms().next() else {
            return self.doubtful_dates().map_or(Ok(settled), Err);
        };
        let has_words = settled.contents.iter().any(is_word);
        if has_words && !matches!(stated, Some(KindName::Number | KindName::Date)) {
            return Ok(settled);
        }
        let of_other = |value: &&ColumnValue| {
            NumberForm::of(&value.content).is_some_and(|form| form.notation != notation)
        };
        if let Some(other) = self.values.iter().find(of_other) {
            return Err(self.two_notations(other));
        }
        settled.form = NumberForm {
            notation,
            has_thousands,
            has_time: forms().any(|form| form.has_time),
        };
        for content in &mut settled.contents {
            *content = match *content {
                Content::Written(written) => Content::Number(written.value),
                Content::MissingAmongNumbers => Content::Missing,
                content => content,
            };
        }
        Ok(settled)
    }

    /// The fault of a column whose numbers are written in several ways, of which `other` is not the first.
    fn two_notations(&self, other: &ColumnValue) -> Fault {
        let first = self.values.iter().find(|value| is_number(&value.content));
        let first = first.unwrap_or(other);
        let detail = format!(
            "has numbers in two forms, {} in row {} and {} in row {}; write them alike, or give the column the kind \
             nominal in `kinds=`",
            excerpt(first.text.as_bytes()),
            first.first_row,
            excerpt(other.text.as_bytes()),
            other.first_row
        );
        Fault::new(FormatErrorKind::TableOption, detail).mended_by_kind("nominal")
    }

    /// The fault of a column in which every text is a date, but nothing tells the day from the month.
    fn doubtful_dates(&self) -> Option<Fault> {
        let texts = || {
            let texts = self.values.iter();
            texts.filter(|value| value.content != Content::Missing)
        };
        let are_dates = |order| {
            let is_date = |value: &ColumnValue| {
                WrittenNumber::of_ordered_date(value.text.as_bytes(), order).is_some()
            };
            texts().all(is_date)
        };
        let first = texts().next().filter(|_| self.dates.is_none())?;
        let [is_dmy, is_mdy] = [DateOrder::Dmy, DateOrder::Mdy].map(are_dates);
        (is_dmy || is_mdy).then(|| {
            let detail = format!(
                "has the value {}, which may be a date; say `dates=dmy` if the day comes first, `dates=mdy` if the \
                 month does, or give the column the kind nominal in `kinds=`",
                excerpt(first.text.as_bytes())
            );
            let mut fault = Fault::new(FormatErrorKind::TableOption, detail);
            for (order, is_one) in [("dmy", is_dmy), ("mdy", is_mdy)] {
                if is_one {
                    fault = fault.mended_by("dates", order);
                }
            }
            fault.mended_by_kind("nominal")
        })
    }

    /// Decides what the values are, after the last cell.
    ///
    /// # Errors
    /// As for [`Self::settled`].
    pub(crate) fn settle(&mut self) -> Result<(), Fault> {
        let Settled { contents, form } = self.settled(self.kind)?;
        for (value, content) in self.values.iter_mut().zip(contents) {
            value.content = content;
        }
        self.form = form;
        self.is_settled = true;
        Ok(())
    }

    /// How the numbers of the column are written, if later rows must know it.
    pub(crate) fn written(&self) -> Option<Written> {
        match (self.form.notation, self.dates) {
            (Notation::Percent, _) => Some(Written::Percent),
            (Notation::Date, order) => order.map(Written::of_dates),
            _ => Some(Written::Thousands).filter(|_| self.form.has_thousands),
        }
    }

    /// Whether no cell so far is a word, so that the column may hold numbers.
    pub(crate) fn may_be_numbers(&self) -> bool {
        self.kind != Some(KindName::Nominal)
            && !self.values.iter().any(|value| is_word(&value.content))
    }

    /// Whether the column has numbers and other texts, so that the numbers of cells matter.
    pub(crate) fn is_mixed(&self) -> bool {
        let has = |is: fn(&Content) -> bool| self.values.iter().any(|value| is(&value.content));
        self.kind.is_none() && has(is_number) && has(is_word)
    }

    /// Replaces the number of cells of each value by `count`, for the rows that did not come as numbers.
    pub(crate) fn recount(&mut self, count: &[u64]) {
        let mut plain = self.plain_numbers;
        for (value, &count) in self.values.iter_mut().zip(count) {
            value.cells = count;
            if is_number(&value.content) {
                value.cells += std::mem::take(&mut plain);
            }
        }
    }

    /// The fault of a column of numbers whose few other cells would turn every number into a word. A column has words
    /// if its numbers are few and occur repeatedly, such as 2, 3, 4 and 5more.
    pub(crate) fn odd_cells(&self) -> Option<Fault> {
        if !self.is_mixed() {
            return None;
        }
        let cells = |values: &[&ColumnValue]| values.iter().map(|value| value.cells).sum::<u64>();
        let numbers: Vec<_> = self
            .values
            .iter()
            .filter(|value| is_number(&value.content))
            .collect();
        let words: Vec<_> = self
            .values
            .iter()
            .filter(|value| is_word(&value.content))
            .collect();
        let (number_cells, word_cells) = (cells(&numbers), cells(&words));
        let is_fraction = |value: &&ColumnValue| match value.content {
            Content::Number(number) => number.fract() != 0.0,
            _ => false,
        };
        let is_code = |value: &&ColumnValue| is_code(value.text.as_bytes());
        let is_respelled =
            self.is_respelled || self.plain_numbers > 0 && numbers.iter().any(is_fraction);
        if !is_respelled && (words.len() > ODD_SPELLINGS_MAX || numbers.iter().any(is_code)) {
            return None;
        }
        let measures = numbers.iter().any(is_fraction)
            || numbers.len() > RANKS_MAX
            || 2 * numbers.len() as u64 > number_cells;
        let is_odd = is_respelled
            || 20 * number_cells >= 19 * (number_cells + word_cells)
            || number_cells > word_cells && measures;
        let odd = words.iter().min_by_key(|value| value.first_row)?;
        is_odd.then(|| {
            let shown = excerpt(odd.text.as_bytes());
            let row = odd.first_row;
            let word = list_item(&odd.text);
            let detail = format!(
                "has {number_cells} numbers beside other cells ({word_cells}), such as {shown} in row {row}; \
                 `missing_values={word}` reads such cells as missing, and `kinds=` with the kind nominal reads every \
                 value as a word"
            );
            Fault::new(FormatErrorKind::TableOption, detail)
                .mended_as_missing(words.iter().map(|value| value.text.as_bytes()))
                .mended_by_kind("nominal")
        })
    }

    /// Keeps later cells as numbers, because the column has too many values for codes.
    fn become_numbers(&mut self, next: Content, row: u64) -> Result<(), Fault> {
        let words = self.values.iter().filter(|value| is_word(&value.content));
        let mut words: Vec<&ColumnValue> = words.collect();
        words.sort_by_key(|value| value.first_row);
        if !words.is_empty() {
            let words: Vec<&[u8]> = words.iter().map(|value| value.text.as_bytes()).collect();
            let dates = self.doubtful_dates();
            return Err(dates.unwrap_or_else(|| too_many(&words, row)));
        }
        if is_word(&next) || self.kind == Some(KindName::Boolean) {
            return Err(too_many(&[], row));
        }
        self.settle()?;
        let is_open =
            |value: &&ColumnValue| !matches!(value.content, Content::Number(_) | Content::Missing);
        if let Some(other) = self.values.iter().find(is_open) {
            return Err(too_many(&[other.text.as_bytes()], row));
        }
        self.short_codes.fill(NO_CODE);
        self.empty_code = NO_CODE;
        self.is_numbers = true;
        Ok(())
    }

    /// Whether the column has as many values as a scan keeps, which are not only numbers.
    pub(crate) fn is_full_of_words(&self) -> bool {
        self.values.len() == VALUES_MAX && !self.is_numbers
    }

    /// Whether the column has no value and no missing cell.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The number of missing cells and the first row with one, or zeros.
    pub(crate) fn missing(&self) -> (u64, u64) {
        self.missing_of(self.values.iter().map(|value| value.content))
    }

    /// As [`Self::missing`], if the values are these.
    pub(crate) fn missing_of(&self, contents: impl IntoIterator<Item = Content>) -> (u64, u64) {
        let coded = self.values.iter().zip(contents);
        let coded = coded.filter(|(_, content)| *content == Content::Missing);
        let (cells, row) = coded.fold((0, 0), |(cells, row), (value, _)| {
            let first = if row == 0 {
                value.first_row
            } else {
                value.first_row.min(row)
            };
            (cells + value.cells, first)
        });
        let first = if row == 0 { self.missing_row } else { row };
        (cells + self.missing_numbers, first)
    }
}

/// Makes the fault of a column that has more values than there are codes in the rows up to this one, and not all of
/// them numbers but `words`, in the order of their rows. Few of them may be missing cells. If nearly every row has a
/// value of its own, the column names the rows.
fn too_many(words: &[&[u8]], row: u64) -> Fault {
    let such = match words.first() {
        None => String::new(),
        Some(word) => format!(", among them the text {}", excerpt(word)),
    };
    let detail = format!(
        "has more than {VALUES_MAX} different values{such}; `vocabulary=open` takes any number of words, `kinds=` \
         with the kind text makes names of the words of a text, and if the column has numbers, `missing_values=` reads \
         other texts as missing cells"
    );
    let mut fault = Fault::new(FormatErrorKind::TableOption, detail);
    if (1..=ODD_SPELLINGS_MAX).contains(&words.len()) {
        fault = fault.mended_as_missing(words.iter().copied());
    }
    if 8 * row <= 9 * VALUES_MAX as u64 {
        fault = fault.with(Remedy::Ignore);
    }
    fault.mended_by("vocabulary", "open")
}
