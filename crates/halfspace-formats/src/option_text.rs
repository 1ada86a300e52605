//! Sets an option of data from its name and its value as text.
//!
//! The names and spellings are the same wherever a request states such an option: in the query, in the fields of a
//! form, and in the members next to the rows of a JSON table, which cannot state the charset.

use std::str::FromStr;

use crate::charset::Charset;
use crate::classes::{Classes, threshold_of};
use crate::dates::DateOrder;
use crate::encoding::options::{
    BINS_MAX, DELIMITERS, Numbers, Scaling, StatedWeights, TableOptions, Unknown,
};
use crate::encoding::{KindName, Missing};
use crate::numbers::{DecimalMark, parse_number};
use crate::options::{BitOrder, FirstIndex, FormatOption, Header, LabelsColumn, Options};
use crate::remedy::list_item;

/// The names of all options of data.
pub const OPTION_NAMES: [&str; 29] = [
    "labels",
    "weights",
    "positive",
    "label_threshold",
    "ignore",
    "kinds",
    "numbers",
    "bins",
    "scale",
    "missing",
    "missing_values",
    "unknown",
    "delimiter",
    "comment",
    "decimal",
    "dates",
    "sheet",
    "header",
    "bit_order",
    "n",
    "vocabulary",
    "first_index",
    "words",
    "characters",
    "window",
    "lower_case",
    "occurrences",
    "conjunctions",
    CHARSET,
];

/// The option that says how to read the bytes of a body. The body itself cannot state it.
const CHARSET: &str = "charset";

const NUMBERS: [(&str, Numbers); 2] = [
    ("real", Numbers::Real),
    ("thermometer", Numbers::Thermometer),
];

const SCALES: [(&str, Scaling); 3] = [
    ("none", Scaling::None),
    ("standard", Scaling::Standard),
    ("range", Scaling::Range),
];

const TREATMENTS: [(&str, Missing); 7] = [
    ("value", Missing::Value),
    ("drop", Missing::Drop),
    ("refuse", Missing::Refuse),
    ("mean", Missing::Mean),
    ("median", Missing::Median),
    ("most-frequent", Missing::MostFrequent),
    ("indicator", Missing::Indicator),
];

const MARKS: [(&str, DecimalMark); 2] = [(".", DecimalMark::Point), (",", DecimalMark::Comma)];

const ORDERS: [(&str, DateOrder); 2] = [("dmy", DateOrder::Dmy), ("mdy", DateOrder::Mdy)];

/// Whether the option of this name is a list, to which a request may add items by naming the option again.
pub fn is_list(name: &str) -> bool {
    ["ignore", "kinds", "missing_values"].contains(&name)
}

/// The names of the options that a table in JSON may state beside its rows.
pub fn row_option_names() -> impl Iterator<Item = &'static str> {
    OPTION_NAMES.into_iter().filter(|name| *name != CHARSET)
}

impl Options {
    /// Sets the option `name` to the value that `text` spells. Returns false if no option has the name.
    ///
    /// # Errors
    /// The allowed spellings of the value.
    pub fn set(&mut self, name: &str, text: &str) -> Result<bool, String> {
        if self.table.set(name, text)? {
            return Ok(true);
        }
        let table = &mut self.table;
        match name {
            "labels" => self.labels = Some(LabelsColumn::of(text)),
            "ignore" => table.ignore = name_list(text)?,
            "kinds" => self.set_kinds(kinds(text)?),
            "delimiter" => {
                let [comma, semicolon, bar, tab, blank] =
                    DELIMITERS.map(|(spelling, byte)| (spelling, Some(byte)));
                let delimiters = [("auto", None), comma, semicolon, bar, tab, blank];
                table.delimiter = one_of(text, delimiters)?;
            }
            "comment" => match text.as_bytes() {
                [byte] if byte.is_ascii_punctuation() && *byte != b'"' => {
                    table.comment = Some(*byte)
                }
                _ => return Err(format!("`{text}` is not a punctuation mark such as # or %")),
            },
            "header" => {
                let headers = [
                    ("auto", Header::Auto),
                    ("true", Header::True),
                    ("false", Header::False),
                ];
                self.header = one_of(text, headers)?;
            }
            "bit_order" => {
                let orders = [("big", BitOrder::Big), ("little", BitOrder::Little)];
                self.bit_order = Some(one_of(text, orders)?);
            }
            "n" => self.n = Some(whole(text)?),
            "vocabulary" => {
                // With `auto` a model or a session that reads the body decides too.
                self.open_vocabulary |= one_of(text, [("auto", false), ("open", true)])?;
            }
            "first_index" => {
                let indices = [
                    ("auto", None),
                    ("0", Some(FirstIndex::Zero)),
                    ("1", Some(FirstIndex::One)),
                ];
                self.first_index = one_of(text, indices)?;
            }
            CHARSET => self.charset = Some(Charset::of(text)?),
            "words" | "characters" | "window" if text == "auto" => {}
            _ => return self.extraction.set(name, text),
        }
        Ok(true)
    }

    /// Sets the option `name` like [`Self::set`]. The items of a list come behind those that it has.
    ///
    /// # Errors
    /// As for [`Self::set`].
    pub(crate) fn add(&mut self, name: &str, text: &str) -> Result<bool, String> {
        match is_list(name) {
            true => self.extend(name, text, true),
            false => self.set(name, text),
        }
    }

    /// Sets an option that the body states next to its rows. An option of the query replaces that of the body, and adds
    /// to it if it is a list.
    ///
    /// # Errors
    /// As for [`Self::set`].
    pub fn set_within(&mut self, name: &str, text: &str) -> Result<bool, String> {
        if is_list(name) {
            return self.extend(name, text, false);
        }
        let mut options = FormatOption::all();
        let is_stated = options.any(|option| option.name == name && option.is_stated(self));
        match is_stated {
            // The value must be valid all the same.
            true => self.clone().set(name, text),
            false => self.set(name, text),
        }
    }

    /// Adds items to a list, behind or before those that it has.
    fn extend(&mut self, name: &str, text: &str, are_behind: bool) -> Result<bool, String> {
        fn join<T>(before: Vec<T>, items: &mut Vec<T>, are_behind: bool) {
            let new = std::mem::replace(items, before);
            let at = if are_behind { items.len() } else { 0 };
            items.splice(at..at, new).for_each(drop);
        }
        let table = &mut self.table;
        let ignore = std::mem::take(&mut table.ignore);
        let kinds = std::mem::take(&mut table.kinds);
        let words = std::mem::take(&mut table.missing_values);
        let is_set = self.set(name, text);
        let table = &mut self.table;
        join(ignore, &mut table.ignore, are_behind);
        join(kinds, &mut table.kinds, are_behind);
        join(words, &mut table.missing_values, are_behind);
        is_set
    }

    /// Sets the kinds of columns. The words of a text are names that nobody lists.
    fn set_kinds(&mut self, kinds: Vec<(String, KindName)>) {
        self.open_vocabulary |= kinds.iter().any(|(_, kind)| *kind == KindName::Text);
        self.table.kinds = kinds;
    }
}

impl TableOptions {
    /// Sets an option about the labels or the cells of a self. Returns false if none has the name.
    fn set(&mut self, name: &str, text: &str) -> Result<bool, String> {
        match name {
            "positive" | "label_threshold" => {
                let positive = match name {
                    "label_threshold" => Classes::of_threshold(finite(text)?).positive().to_owned(),
                    _ => text.to_owned(),
                };
                let is_threshold = |text: &str| threshold_of(text).is_some();
                let before = self.positive.as_deref().map(is_threshold);
                if before.is_some_and(|before| before != is_threshold(&positive)) {
                    return Err("`positive` and `label_threshold` contradict each other".to_owned());
                }
                self.positive = Some(positive);
            }
            "numbers" => {
                self.numbers = one_of(text, NUMBERS)?;
            }
            "bins" => {
                let bins = whole(text)?;
                if !(1..=BINS_MAX).contains(&bins) {
                    return Err(format!("`{bins}` is not from 1 to {BINS_MAX}"));
                }
                self.bins = Some(bins);
            }
            "missing" => {
                self.missing = Some(one_of(text, TREATMENTS)?);
            }
            "scale" => self.scale = one_of(text, SCALES)?,
            "missing_values" => self.missing_values = name_list(text)?,
            "weights" => self.weights = Some(StatedWeights::of(text)),
            "unknown" => {
                self.unknown =
                    one_of(text, [("refuse", Unknown::Refuse), ("zero", Unknown::Zero)])?;
            }
            "decimal" => {
                self.decimal = Some(one_of(text, MARKS)?);
            }
            "dates" => {
                self.dates = Some(one_of(text, ORDERS)?);
            }
            "sheet" => self.sheet = Some(text.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl TableOptions {
    /// The names and values of the options that decide what the cells of known columns are and how they become
    /// features, so that a part of the rows can be read in the same way.
    pub(crate) fn fitting_options(&self) -> Vec<(String, String)> {
        let words: Vec<String> = self
            .missing_values
            .iter()
            .map(|word| list_item(word))
            .collect();
        let missing = self.missing.as_ref();
        let options = [
            ("numbers", spelling(&self.numbers, &NUMBERS)),
            ("bins", self.bins.map(|bins| bins.to_string())),
            ("scale", spelling(&self.scale, &SCALES)),
            (
                "missing",
                missing.and_then(|missing| spelling(missing, &TREATMENTS)),
            ),
            (
                "missing_values",
                Some(words.join(",")).filter(|words| !words.is_empty()),
            ),
            (
                "decimal",
                self.decimal
                    .as_ref()
                    .and_then(|mark| spelling(mark, &MARKS)),
            ),
            (
                "dates",
                self.dates
                    .as_ref()
                    .and_then(|order| spelling(order, &ORDERS)),
            ),
        ];
        let options = options.into_iter();
        let stated = options.filter_map(|(name, text)| Some((name.to_owned(), text?)));
        stated.collect()
    }
}

impl LabelsColumn {
    /// The position that the text names: `first`, `last`, `none`, `appended` or a column.
    pub fn of(text: &str) -> Self {
        match text {
            "first" => Self::First,
            "last" => Self::Last,
            "none" => Self::None,
            "appended" => Self::Appended,
            _ => Self::Named(text.to_owned()),
        }
    }
}

impl StatedWeights {
    /// The column that the text names: `none`, `first`, `last` or a column.
    fn of(text: &str) -> Self {
        match text {
            "none" => Self::None,
            "first" => Self::First,
            "last" => Self::Last,
            _ => Self::Named(text.to_owned()),
        }
    }
}

/// The spelling of the value, if it has one.
fn spelling<T: PartialEq>(value: &T, spellings: &[(&'static str, T)]) -> Option<String> {
    let mut spellings = spellings.iter();
    let found = spellings.find(|(_, own)| own == value);
    found.map(|(spelling, _)| (*spelling).to_owned())
}

/// The value of the spelling.
fn one_of<T, const N: usize>(text: &str, spellings: [(&str, T); N]) -> Result<T, String> {
    let known = spellings
        .each_ref()
        .map(|(spelling, _)| *spelling)
        .join(", ");
    let mut spellings = spellings.into_iter();
    let found = spellings.find(|(spelling, _)| *spelling == text);
    let value = found.map(|(_, value)| value);
    value.ok_or_else(|| format!("`{text}` is not one of {known}"))
}

/// Reads a whole number.
fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "not a whole number".to_owned())
}

fn finite(text: &str) -> Result<f64, String> {
    parse_number(text.as_bytes()).map_err(|_| format!("`{text}` is not a finite number"))
}

/// Splits a list at its commas. A name that contains a comma must be quoted, as in CSV.
///
/// # Errors
/// A quote that is not closed.
pub fn name_list(text: &str) -> Result<Vec<String>, String> {
    let mut items = Vec::new();
    let mut item = String::new();
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => item.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => items.push(std::mem::take(&mut item)),
            _ => item.push(character),
        }
    }
    items.push(item);
    match quoted {
        true => Err("a quote is not closed".to_owned()),
        false => Ok(items),
    }
}

/// Reads a list of `column:kind`. In each item the last colon precedes the kind.
fn kinds(text: &str) -> Result<Vec<(String, KindName)>, String> {
    let kind = |item: String| {
        let split = item.rsplit_once(':');
        let (column, kind) = split.ok_or_else(|| format!("`{item}` is not column:kind"))?;
        let kind = one_of(
            kind,
            [
                ("boolean", KindName::Boolean),
                ("nominal", KindName::Nominal),
                ("number", KindName::Number),
                ("date", KindName::Date),
                ("text", KindName::Text),
                ("ignored", KindName::Ignored),
            ],
        )?;
        Ok((column.to_owned(), kind))
    };
    name_list(text)?.into_iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, text: &str) -> Result<Options, String> {
        let mut options = Options::default();
        assert!(options.set(name, text)?);
        Ok(options)
    }

    #[test]
    fn option_names_are_all_accepted() {
        let mut options = Options::default();
        for name in OPTION_NAMES {
            assert_ne!(options.set(name, "\u{1}"), Ok(false), "{name}");
        }
        assert_eq!(options.set("label", "first"), Ok(false));
    }

    #[test]
    fn option_ignore_reads_quoted_columns() {
        let ignored = |text: &str| set("ignore", text).map(|options| options.table.ignore);
        assert_eq!(
            ignored("id,age"),
            Ok(vec!["id".to_owned(), "age".to_owned()])
        );
        assert_eq!(
            ignored(r#""a,b","say ""so""""#),
            Ok(vec!["a,b".to_owned(), r#"say "so""#.to_owned()])
        );
        assert_eq!(ignored(r#""a,b"#), Err("a quote is not closed".to_owned()));
    }

    #[test]
    fn option_kinds_splits_at_the_last_colon() {
        let kinds = |text: &str| set("kinds", text).map(|options| options.table.kinds);
        assert_eq!(
            kinds(r#"age:number,"12:30, at night":nominal"#),
            Ok(vec![
                ("age".to_owned(), KindName::Number),
                ("12:30, at night".to_owned(), KindName::Nominal)
            ])
        );
        assert_eq!(kinds("age"), Err("`age` is not column:kind".to_owned()));
        let expected = "`words` is not one of boolean, nominal, number, date, text, ignored";
        assert_eq!(kinds("age:words"), Err(expected.to_owned()));
    }

    #[test]
    fn option_errors_state_the_accepted_values() {
        assert_eq!(set("bins", "0").unwrap_err(), "`0` is not from 1 to 255");
        assert_eq!(set("bins", "x").unwrap_err(), "not a whole number");
        assert_eq!(
            set("delimiter", ":").unwrap_err(),
            "`:` is not one of auto, ,, ;, |, tab, blank"
        );
    }
}
