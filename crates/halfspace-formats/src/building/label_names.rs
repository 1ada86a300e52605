//! Reads the labels of a body by their names: collects the values of the label column or of the field `y`, and gives
//! each value the code of its class.
//!
//! Two values are -1 and +1, by their meaning. More values are as many classes, in the order in which they first occur,
//! unless the request names the one that it wants to tell from the others.

use std::collections::HashMap;

use halfspace_core::bits::BLOCK_ROWS;
use halfspace_core::learners::sample::data::{Data, Labels};
use serde::Serialize;

use crate::cell::{Content, Family};
use crate::classes::{
    Classes, LabelRule, Recoding, bad_label, canonical, mixed_labels, threshold_of,
};
use crate::encoding::LabelEncoding;
use crate::error::{Fault, FormatError, FormatErrorKind, excerpt, listed, name};
use crate::numbers::middle;
use crate::options::Options;

/// The most classes of a body. A committee has one hypothesis for each, and every example is shown to all of them.
pub const CLASSES_MAX: usize = 4096;

/// The most classes whose names are whole numbers. More numbers are measurements, not names.
const WHOLE_CLASSES_MAX: usize = 100;

/// The largest number of bytes of a label, because models keep the names of their classes.
const LABEL_BYTES_MAX: usize = 1 << 16;

/// The number of label values that an error shows.
const SHOWN_MAX: usize = 12;

/// The number of label values that an error proposes for `positive`.
const PROPOSED_MAX: usize = 3;

/// The labels so far.
#[derive(Clone)]
pub(crate) struct LabelNames {
    /// The values in the order of their first rows.
    values: Vec<LabelValue>,
    /// The place of each value, by its text.
    places: HashMap<String, usize>,
    /// The first spellings with the positions of their values, so that most labels need no conversion.
    spellings: Vec<(Box<[u8]>, usize)>,
    /// What the values mean, as far as the request, a model or an encoding fixes it.
    meaning: Meaning,
    /// Whether the labels are a column of a table.
    is_column: bool,
}

#[derive(Clone)]
struct LabelValue {
    /// The spelling; numbers in their shortest form.
    text: String,
    content: Content,
    rows: u64,
    /// The code of its class if the meaning is fixed, otherwise its position among the values.
    code: u32,
}

/// The classes that the values mean.
#[derive(Clone)]
enum Meaning {
    /// The values decide.
    Open,
    /// Each value is a class.
    Each,
    /// Every label is 1 or -1, or 1 or 0.
    Signs,
    /// A model that is not known yet will decide.
    Later,
    /// The request says which value means +1, and every other value means -1.
    Stated(String),
    /// The same, for a model or a session whose labels have no names.
    Sign(String),
    /// These classes decide.
    Known(Classes),
}

/// A label value and its number of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct LabelCount {
    /// The value. A number is in its shortest form.
    pub value: String,
    /// Number of rows with the value.
    pub rows: u64,
}

/// The decision about the label values.
pub(crate) struct ReadLabels {
    pub(crate) classes: Classes,
    /// What the codes of the rows stand for, or `None` if they need no change.
    pub(crate) codes: Option<Recoding>,
}

impl LabelNames {
    /// Starts the labels of a body, or returns `None` if they are ignored. `like` has the labels of an encoding.
    ///
    /// # Errors
    /// If the request names another value for +1 than the model or session does.
    pub(crate) fn new(
        options: &Options,
        like: Option<&LabelEncoding>,
    ) -> Result<Option<Self>, Fault> {
        let open = || like.map_or(Meaning::Open, |like| Meaning::Known(like.classes.clone()));
        let names = Self::of(&options.label_rule, options.table.positive.as_deref(), open)?;
        Ok(names.map(|names| Self {
            is_column: true,
            ..names
        }))
    }

    /// Starts the labels of examples that are no table, or returns `None` if labels are ignored. The values decide,
    /// unless a model does or the request says which value means +1.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(crate) fn beside(rule: &LabelRule, positive: Option<&str>) -> Result<Option<Self>, Fault> {
        Self::of(rule, positive, || match rule {
            LabelRule::Later => Meaning::Later,
            _ => Meaning::Open,
        })
    }

    /// Starts labels whose meaning is `open` unless a model or the request fixes it.
    fn of(
        rule: &LabelRule,
        positive: Option<&str>,
        open: impl FnOnce() -> Meaning,
    ) -> Result<Option<Self>, Fault> {
        let stated = |positive: &str| spelled(positive.as_bytes()).map(|(text, _)| text);
        let meaning = match (rule, positive) {
            (LabelRule::Ignored(_), _) => return Ok(None),
            (LabelRule::Of(classes), Some(positive)) => match classes.read(positive.as_bytes()) {
                Ok(code) if code + 1 == classes.count() as u32 => Meaning::Known(classes.clone()),
                Err(_) if classes.is_plain() && threshold_of(positive).is_none() => {
                    Meaning::Sign(stated(positive)?)
                }
                _ => {
                    let detail = format!(
                        "positive={positive} contradicts the named classes, of which {} has the label +1; leave \
                         `positive` out.",
                        excerpt(classes.positive().as_bytes())
                    );
                    return Err(Fault::new(FormatErrorKind::TableOption, detail));
                }
            },
            (LabelRule::Of(classes), None) => Meaning::Known(classes.clone()),
            (LabelRule::Open, None) => Meaning::Each,
            (LabelRule::Open, Some(_)) => {
                let detail =
                    "classes=open makes each value of the labels a class; leave `positive` out.";
                return Err(Fault::new(FormatErrorKind::TableOption, detail));
            }
            (LabelRule::New | LabelRule::Later, Some(positive)) => match threshold_of(positive) {
                Some(threshold) => Meaning::Known(Classes::of_threshold(threshold)),
                None => Meaning::Stated(stated(positive)?),
            },
            (LabelRule::New | LabelRule::Later, None) => open(),
        };
        Ok(Some(Self::with(meaning)))
    }

    /// Starts labels whose values decide.
    pub(crate) fn open() -> Self {
        Self::with(Meaning::Open)
    }

    /// Starts labels that are 1 and -1, or 1 and 0.
    pub(crate) fn of_signs() -> Self {
        Self::with(Meaning::Signs)
    }

    fn with(meaning: Meaning) -> Self {
        Self {
            values: Vec::new(),
            places: HashMap::new(),
            spellings: Vec::new(),
            meaning,
            is_column: false,
        }
    }

    /// Whether no label was read, and the request says nothing about labels.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.stated().is_none()
    }

    /// The value that means +1 by the request alone.
    pub(crate) fn stated(&self) -> Option<&str> {
        match &self.meaning {
            Meaning::Stated(positive) | Meaning::Sign(positive) => Some(positive),
            _ => None,
        }
    }

    /// Whether only a model can read the labels.
    pub(crate) fn is_foreign(&self) -> bool {
        let is_plain = |value: &LabelValue| matches!(&*value.text, "1" | "0" | "-1");
        matches!(self.meaning, Meaning::Later) && !self.values.iter().all(is_plain)
    }

    /// Whether each label has its final code when it is read.
    pub(crate) fn are_coded(&self) -> bool {
        !matches!(self.meaning, Meaning::Open | Meaning::Later)
    }

    /// Whether a model, a session or an encoding decides, so that a label may be any name.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.meaning, Meaning::Known(_) | Meaning::Each)
    }

    /// The text of the label with this code, unless [`Self::are_coded`].
    pub(crate) fn text(&self, code: u32) -> Option<&str> {
        Some(&self.values.get(code as usize)?.text)
    }

    /// Fixes the values of +1 and -1 if they are open.
    ///
    /// # Errors
    /// When a value is no text.
    pub(crate) fn declare(&mut self, positive: &[u8], negative: &[u8]) -> Result<(), Fault> {
        if matches!(self.meaning, Meaning::Open) {
            let [(positive, _), (negative, _)] = [spelled(positive)?, spelled(negative)?];
            self.meaning = Meaning::Known(Classes::new(Some(negative), positive));
        }
        Ok(())
    }

    /// Reads a label and returns its code. If the meaning is fixed, this is the code of its class. Otherwise
    /// [`Self::finish`] says what the codes stand for.
    ///
    /// # Errors
    /// When the label is missing or unknown, or when there are too many values.
    pub(crate) fn push(&mut self, text: &[u8]) -> Result<u32, Fault> {
        let mut spellings = self.spellings.iter();
        let at = match spellings.find(|(spelling, _)| **spelling == *text) {
            Some((_, at)) => *at,
            None => {
                if self.values.len() >= CLASSES_MAX
                    && let Some(code) = self.uncounted(text)?
                {
                    return Ok(code);
                }
                self.push_spelling(text)?
            }
        };
        let value = &mut self.values[at];
        value.rows += 1;
        Ok(value.code)
    }

    /// The code of a label beside [`CLASSES_MAX`] others, of which no more are counted if all but one are one class.
    fn uncounted(&self, text: &[u8]) -> Result<Option<u32>, Fault> {
        if let Meaning::Known(classes) = &self.meaning {
            return classes.read(text).map(Some);
        }
        let (spelling, content) = spelled(text)?;
        let is_rest = self.stated().is_some_and(|positive| positive != spelling);
        Ok((is_rest && content != Content::Missing).then_some(0))
    }

    /// Returns the place of the value of a spelling.
    fn push_spelling(&mut self, text: &[u8]) -> Result<usize, Fault> {
        let (spelling, content) = spelled(text)?;
        if content == Content::Missing {
            return Err(match self.meaning {
                Meaning::Signs | Meaning::Later => bad_label(text),
                _ if self.is_column => {
                    let detail = "The label is missing; `missing=drop` leaves such rows out.";
                    Fault::new(FormatErrorKind::BadLabel, detail).mended_by("missing", "drop")
                }
                _ => {
                    let detail = "The label is missing; add the label, or omit the example.";
                    Fault::new(FormatErrorKind::BadLabel, detail)
                }
            });
        }
        let at = match self.places.get(&spelling) {
            Some(at) => *at,
            None => self.add(text, spelling, content)?,
        };
        if self.spellings.len() < SHOWN_MAX {
            self.spellings.push((text.into(), at));
        }
        Ok(at)
    }

    fn add(&mut self, label: &[u8], text: String, content: Content) -> Result<usize, Fault> {
        let at = self.values.len();
        let plain = || Classes::plain().read(label);
        let (code, reads_signs) = match &self.meaning {
            Meaning::Open | Meaning::Each => (at as u32, false),
            Meaning::Later => (at as u32, plain().is_ok()),
            Meaning::Signs => (plain()?, true),
            Meaning::Stated(positive) | Meaning::Sign(positive) => {
                (u32::from(text == *positive), false)
            }
            Meaning::Known(classes) => (classes.read(label)?, classes.reads_signs()),
        };
        let has = |sign: &str| text == sign || self.places.contains_key(sign);
        if reads_signs && matches!(&*text, "0" | "-1") && has("0") && has("-1") {
            return Err(mixed_labels(label));
        }
        if at >= CLASSES_MAX && self.stated().is_none() {
            let detail = format!(
                "The labels have more different values than classes_max: {CLASSES_MAX}; send examples of fewer \
                 classes, or name one with `positive` to tell it from all others."
            );
            return Err(self.halved(Fault::new(FormatErrorKind::BadLabel, detail)));
        }
        self.places.insert(text.clone(), at);
        self.values.push(LabelValue {
            text,
            content,
            rows: 0,
            code,
        });
        Ok(at)
    }

    /// Decides the label of each value.
    ///
    /// # Errors
    /// When the values leave open which of them means +1. The detail lists the values and their counts, and says how
    /// to settle it.
    pub(crate) fn finish(mut self) -> Result<ReadLabels, Fault> {
        let of_code = |classes| ReadLabels {
            classes,
            codes: None,
        };
        self.check_stated()?;
        match std::mem::replace(&mut self.meaning, Meaning::Open) {
            Meaning::Open => self.decided(),
            Meaning::Each => Ok(of_code(self.each())),
            Meaning::Known(classes) => Ok(of_code(classes)),
            Meaning::Sign(_) => Ok(of_code(Classes::plain())),
            Meaning::Signs => Ok(of_code(self.signs())),
            Meaning::Later => Ok(self.into_read()),
            Meaning::Stated(positive) => {
                let mut rest = self.values.iter().filter(|value| value.code == 0);
                let only = rest.next().filter(|_| rest.next().is_none());
                let negative = only.map(|only| only.text.clone());
                Ok(of_code(Classes::new(negative, positive)))
            }
        }
    }

    /// Checks that a label has the value that the request states.
    fn check_stated(&self) -> Result<(), Fault> {
        let Some(positive) = self.stated() else {
            return Ok(());
        };
        if self.values.iter().any(|value| value.code == 1) {
            return Ok(());
        }
        let found = match self.values.is_empty() {
            true => "the examples have no labels".to_owned(),
            false => self.counted(),
        };
        let shown = excerpt(positive.as_bytes());
        let detail = format!("No label is {shown}: {found}. Correct `positive`, or leave it out.");
        let fault = Fault::new(FormatErrorKind::TableOption, detail);
        let values = self.values.iter().take(PROPOSED_MAX);
        Err(values.fold(fault, |fault, value| {
            fault.mended_by("positive", &*value.text)
        }))
    }

    /// Each value as a class, in the order of their first rows.
    fn each(self) -> Classes {
        let names = self.values.into_iter().map(|value| value.text);
        Classes::of_names(names).expect("a label was read")
    }

    /// The classes of the labels 1 and -1, or 1 and 0.
    fn signs(&self) -> Classes {
        let has_zero = self.values.iter().any(|value| value.text == "0");
        let negative = if has_zero { "0" } else { "-1" };
        Classes::new(Some(negative.to_owned()), "1".to_owned())
    }

    /// The classes of labels that a model will read later: the values in their order, or the signs.
    fn into_read(self) -> ReadLabels {
        let is_plain = self
            .values
            .iter()
            .all(|value| matches!(&*value.text, "1" | "0" | "-1"));
        if is_plain {
            let codes = self.values.iter().map(|value| u32::from(value.text == "1"));
            return ReadLabels {
                codes: Some(Recoding::new(codes, 2)),
                classes: self.signs(),
            };
        }
        let names: Vec<String> = self.values.into_iter().map(|value| value.text).collect();
        let classes = match <[String; 1]>::try_from(names) {
            // The other class of one value has no name.
            Ok([only]) => {
                return ReadLabels {
                    classes: Classes::new(None, only),
                    codes: Some(Recoding::new([1], 2)),
                };
            }
            Err(names) => Classes::of_names(names),
        };
        ReadLabels {
            classes: classes.unwrap_or_else(Classes::plain),
            codes: None,
        }
    }

    /// Decides the label of each value by the values alone.
    fn decided(mut self) -> Result<ReadLabels, Fault> {
        let texts: Vec<&str> = self.values.iter().map(|value| &*value.text).collect();
        match texts.as_slice() {
            // Both stand for the negative label, in one coding or the other.
            ["0", other @ "-1"] | ["-1", other @ "0"] => {
                return Err(mixed_labels(other.as_bytes()));
            }
            [_, _, _, ..] => return self.many(),
            _ => {}
        }
        let Some(positive) = self.positive() else {
            let first = self.values.first().map_or("", |value| &value.text);
            let detail = format!(
                "The labels have 1 value: {}. A training needs examples of two classes or more; if this class stands \
                 against others that come later, say `positive={first}`.",
                self.counted()
            );
            let fault = Fault::new(FormatErrorKind::TableOption, detail);
            return Err(match first {
                "" => fault,
                first => fault.mended_by("positive", first),
            });
        };
        let codes = (0..self.values.len()).map(|at| u32::from(Some(at) == positive));
        let codes = Recoding::new(codes, 2);
        let named = |at: Option<usize>| at.map(|at| self.values[at].text.clone());
        let other = (0..self.values.len()).find(|&at| Some(at) != positive);
        // If only one label occurs, the other is the other word of the family, or the other number.
        let absent = |at: Option<usize>| match at.map(|at| self.values[at].content) {
            Some(Content::Flag(family, flag)) => family.words()[usize::from(!flag)].to_owned(),
            Some(Content::Number(1.0)) => "-1".to_owned(),
            _ => "1".to_owned(),
        };
        let classes = Classes::new(
            Some(named(other).unwrap_or_else(|| absent(positive))),
            named(positive).unwrap_or_else(|| absent(other)),
        );
        self.values.clear();
        Ok(ReadLabels {
            classes,
            codes: Some(codes),
        })
    }

    /// Makes each value a class, in the order of their first rows.
    ///
    /// # Errors
    /// When the values are numbers that measure something.
    fn many(mut self) -> Result<ReadLabels, Fault> {
        let number = |value: &LabelValue| value.content.number();
        let numbers: Option<Vec<f64>> = self.values.iter().map(number).collect();
        if let Some(numbers) = numbers {
            let rows: u64 = self.values.iter().map(|value| value.rows).sum();
            let are_names = numbers.iter().all(|number| number.fract() == 0.0)
                && numbers.len() <= WHOLE_CLASSES_MAX
                && rows >= 2 * numbers.len() as u64;
            if !are_names {
                let detail = format!(
                    "The labels hold {} numbers: {}. Whole numbers are classes if there are at most \
                     {WHOLE_CLASSES_MAX} of them and each occurs twice on average. To make two classes, say \
                     `label_threshold={}` for the numbers from this one on against those below it, or `positive={}` \
                     for one number against all others.",
                    numbers.len(),
                    self.counted(),
                    middle(&numbers, self.values.iter().map(|value| value.rows)),
                    self.values[0].text
                );
                return Err(self.halved(Fault::new(FormatErrorKind::TableOption, detail)));
            }
        }
        let names = self.values.drain(..).map(|value| value.text);
        Ok(ReadLabels {
            classes: Classes::of_names(names).expect("more than two values"),
            codes: None,
        })
    }

    /// Adds the threshold that makes two classes of about the same size, if the labels are numbers.
    fn halved(&self, fault: Fault) -> Fault {
        let numbers = self.values.iter().map(|value| value.content.number());
        let Some(numbers) = numbers.collect::<Option<Vec<f64>>>() else {
            return fault;
        };
        let threshold = middle(&numbers, self.values.iter().map(|value| value.rows));
        fault.mended_by("label_threshold", threshold.to_string())
    }

    /// The code of +1 if the values tell it. `Some(None)` means that all labels are -1.
    fn positive(&self) -> Option<Option<usize>> {
        let rank = |value: &LabelValue| match value.content {
            Content::Number(number) => Some(number),
            Content::Flag(Family::TrueFalse | Family::YesNo, flag) => {
                Some(f64::from(u8::from(flag)))
            }
            _ => None,
        };
        match self.values.as_slice() {
            // Without labels there is nothing to decide.
            [] => Some(None),
            [one] => match rank(one) {
                Some(1.0) => Some(Some(0)),
                Some(0.0 | -1.0) => Some(None),
                _ => None,
            },
            [first, second] => {
                let is_second = match (rank(first), rank(second)) {
                    // Whole numbers can be the same double and still differ in their digits.
                    (Some(one), Some(other)) if one == other => {
                        let digits = |value: &LabelValue| (value.text.len(), value.text.clone());
                        (digits(second) > digits(first)) == (one > 0.0)
                    }
                    (Some(first), Some(second)) => second > first,
                    _ => second.text > first.text,
                };
                Some(Some(usize::from(is_second)))
            }
            _ => None,
        }
    }

    /// The values with their numbers of rows, in the order of their first rows.
    pub(crate) fn counts(&self) -> Vec<LabelCount> {
        let count = |value: &LabelValue| LabelCount {
            value: value.text.clone(),
            rows: value.rows,
        };
        self.values.iter().map(count).collect()
    }

    /// Names the values and their numbers of rows in an error.
    fn counted(&self) -> String {
        let counted =
            |value: &LabelValue| format!("{} ({})", excerpt(value.text.as_bytes()), value.rows);
        listed(self.values.iter().map(counted), SHOWN_MAX)
    }
}

/// The classes of labels that were left for a model to read (see [`Parsed::is_undecided`](crate::Parsed)) if no model
/// reads them after all, and what the codes of the examples stand for then.
///
/// # Errors
/// As if the values had decided from the start.
pub fn classes_alone(read: &Classes, data: &Data) -> Result<(Classes, Recoding), FormatError> {
    let unplaced = |fault: Fault| fault.placed(None);
    let mut counts = vec![0; read.count()];
    if let Labels::Labelled(codes) = data.labels() {
        for first in (0..codes.rows()).step_by(BLOCK_ROWS) {
            let rows = BLOCK_ROWS.min(codes.rows() - first);
            let see = |code: u32, rows| counts[code as usize] += u64::from(rows);
            codes.block(first).count(rows, see);
        }
    }
    let mut labels = LabelNames::open();
    // A single value stands against all others, which have no name.
    let named = read.each().zip(counts);
    for (name, rows) in named.filter_map(|(name, rows)| Some((name?, rows))) {
        let at = labels.push(name.as_bytes()).map_err(unplaced)?;
        labels.values[at as usize].rows = rows;
    }
    let decided = labels.finish().map_err(unplaced)?;
    let codes = decided.codes;
    let new = |at: u32| codes.as_ref().map_or(at, |codes| codes.of_code(at));
    let mut places = 0..;
    let recoded = read.each().map(|name| match name {
        Some(_) => new(places.next().unwrap_or_default()),
        None => 0,
    });
    let codes = Recoding::new(recoded, decided.classes.count());
    Ok((decided.classes, codes))
}

/// The spelling by which labels are compared. The name of a class must be short and in UTF-8.
fn spelled(text: &[u8]) -> Result<(String, Content), Fault> {
    if text.len() > LABEL_BYTES_MAX {
        let detail = format!(
            "The label has more than {LABEL_BYTES_MAX} bytes; name the label column with `labels`."
        );
        return Err(Fault::new(FormatErrorKind::BadLabel, detail));
    }
    let (spelling, content) = canonical(name(text)?.as_bytes());
    let spelling = String::from_utf8(spelling).expect("the spelling of a text is a text");
    Ok((spelling, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: &[&str]) -> Result<ReadLabels, Fault> {
        let mut scan = LabelNames::open();
        for label in labels {
            scan.push(label.as_bytes())?;
        }
        scan.finish()
    }

    fn stated(positive: &str) -> LabelNames {
        let mut options = Options::default();
        options.table.positive = Some(positive.to_owned());
        LabelNames::new(&options, None).unwrap().unwrap()
    }

    #[test]
    fn two_label_values_are_read_by_meaning_or_sorted() {
        let cases = [
            (["1", "-1"], "1", "-1"),
            (["-1", "1.0"], "1", "-1"),
            (["0", "1"], "1", "0"),
            (["2", "1"], "2", "1"),
            (["10", "9"], "10", "9"),
            (["True", "False"], "True", "False"),
            (["no", "yes"], "yes", "no"),
            (["p", "e"], "p", "e"),
            (["ill", "healthy"], "ill", "healthy"),
        ];
        for (labels, positive, negative) in cases {
            let read = read(&labels).unwrap();
            assert_eq!(
                (read.classes.positive(), read.classes.negative()),
                (positive, Some(negative))
            );
            let codes = labels
                .iter()
                .map(|label| u32::from(canonical(label.as_bytes()).0 == positive.as_bytes()));
            assert_eq!(read.codes, Some(Recoding::new(codes, 2)), "{labels:?}");
        }
    }

    #[test]
    fn labels_of_one_value_need_a_sign_or_the_option_positive() {
        assert_eq!(
            read(&["1", "1"]).unwrap().codes,
            Some(Recoding::new([1], 2))
        );
        assert_eq!(read(&["0"]).unwrap().codes, Some(Recoding::new([0], 2)));
        assert!(
            read(&["setosa"])
                .err()
                .unwrap()
                .detail
                .contains("`positive=setosa`")
        );
    }

    #[test]
    fn more_than_two_values_are_classes_in_the_order_of_their_first_rows() {
        for (labels, names) in [
            (vec!["b", "a", "b", "c"], vec!["b", "a", "c"]),
            (vec!["2", "0", "1.0", "0", "1", "2.0"], vec!["2", "0", "1"]),
            (vec!["1", "0", "-1", "1", "0", "-1"], vec!["1", "0", "-1"]),
        ] {
            let read = read(&labels).unwrap();
            let found: Vec<_> = read.classes.each().flatten().collect();
            assert_eq!((found, read.codes), (names, None));
        }
    }

    #[test]
    fn numbers_that_measure_something_are_no_classes() {
        let whole: Vec<String> = (0..101)
            .flat_map(|at| [at.to_string(), at.to_string()])
            .collect();
        for labels in [
            whole.iter().map(String::as_str).collect(),
            vec!["151", "75", "141"],
            vec!["1.5", "2.5", "3.5", "1.5", "2.5", "3.5"],
        ] {
            let detail = read(&labels).err().unwrap().detail;
            assert!(
                detail.contains("numbers: ") && detail.contains("`positive="),
                "{detail}"
            );
        }
        let hundred: Vec<&str> = whole[..200].iter().map(String::as_str).collect();
        assert_eq!(read(&hundred).unwrap().classes.count(), 100);
    }

    #[test]
    fn more_classes_than_the_limit_are_refused_with_the_limit() {
        let names: Vec<String> = (0..=CLASSES_MAX).map(|at| format!("c{at}")).collect();
        let mut labels = LabelNames::open();
        for name in &names[..CLASSES_MAX] {
            labels.push(name.as_bytes()).unwrap();
        }
        let detail = labels
            .push(names[CLASSES_MAX].as_bytes())
            .unwrap_err()
            .detail;
        assert!(detail.contains("classes_max: 4096"), "{detail}");
    }

    #[test]
    fn class_against_the_rest_reads_any_number_of_other_labels() {
        let rest = Classes::new(None, "b".to_owned());
        let mut labels = LabelNames::beside(&LabelRule::Of(rest.clone()), None)
            .unwrap()
            .unwrap();
        for at in 0..2 * CLASSES_MAX {
            assert_eq!(labels.push(format!("v{at}").as_bytes()).unwrap(), 0);
        }
        assert_eq!(labels.push(b"b").unwrap(), 1);
        assert_eq!(labels.finish().unwrap().classes, rest);
    }

    #[test]
    fn labels_for_a_later_model_keep_all_their_names() {
        let mut labels = LabelNames::beside(&LabelRule::Later, None)
            .unwrap()
            .unwrap();
        let codes = ["c", "a", "2.0", "c"].map(|label| labels.push(label.as_bytes()).unwrap());
        assert!(labels.is_foreign() && codes == [0, 1, 2, 0]);
        let read = labels.finish().unwrap();
        let names: Vec<_> = read.classes.each().collect();
        assert_eq!(
            (names, read.codes),
            (vec![Some("c"), Some("a"), Some("2")], None)
        );
        let mut signs = LabelNames::beside(&LabelRule::Later, None)
            .unwrap()
            .unwrap();
        assert_eq!(
            ["1", "0"].map(|label| signs.push(label.as_bytes()).unwrap()),
            [0, 1]
        );
        assert!(!signs.is_foreign() && signs.push(b"-1").is_err());
        let read = signs.finish().unwrap();
        assert!(read.classes.is_plain());
        assert_eq!(read.codes, Some(Recoding::new([1, 0], 2)));
    }

    #[test]
    fn label_value_against_the_rest_is_positive() {
        let mut scan = stated("b");
        let codes = ["a", "b", "c"].map(|label| scan.push(label.as_bytes()).unwrap());
        assert_eq!(codes, [0, 1, 0]);
        let read = scan.finish().unwrap();
        assert_eq!(read.classes, Classes::new(None, "b".to_owned()));
        let mut scan = stated("x");
        scan.push(b"a").unwrap();
        assert!(
            scan.finish()
                .err()
                .unwrap()
                .detail
                .contains("No label is `x`: `a` (1)")
        );
    }
}
