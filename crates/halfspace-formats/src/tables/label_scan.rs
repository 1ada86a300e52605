//! The values of the label column, and the decision which of them means +1.

use serde::Serialize;

use super::cell::{Content, Family};
use super::encoding::LabelEncoding;
use crate::building::classes::{Classes, LabelRule, canonical};
use crate::building::labels::mixed_labels;
use crate::error::{Fault, FormatErrorKind, excerpt, name};
use crate::options::Options;

/// The largest number of values of a label column.
const VALUES_MAX: usize = 256;

/// The largest number of bytes of a label. Models keep the names of their classes.
const LABEL_BYTES_MAX: usize = 1 << 16;

/// The number of label values that an error shows.
const SHOWN_MAX: usize = 12;

/// The labels so far.
#[derive(Clone)]
pub(crate) struct LabelScan {
    /// The values in the order of their first rows. The index of a value is its code.
    values: Vec<LabelValue>,
    /// The codes of the first spellings, so that most labels need no conversion.
    spellings: Vec<(Box<[u8]>, usize)>,
    /// The meaning that the request, a model or an encoding fixes.
    meaning: Meaning,
}

#[derive(Clone)]
struct LabelValue {
    /// The spelling; numbers in their shortest form.
    text: String,
    content: Content,
    rows: u64,
    is_positive: bool,
}

/// The values that mean +1 and -1.
#[derive(Clone)]
enum Meaning {
    /// The values decide.
    Open,
    /// The request says which value means +1. Every other value means -1.
    Stated(String),
    /// As above, for a model or a session whose labels have no names.
    Sign(String),
    /// These classes decide.
    Known(Classes),
}

/// A label value and its number of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LabelCount {
    /// The value. A number is in its shortest form.
    pub value: String,
    /// Number of rows with the value.
    pub rows: u64,
}

/// The decision about the label values.
pub(crate) struct ReadLabels {
    /// The label of each code.
    pub(crate) is_positive: Vec<bool>,
    pub(crate) classes: Classes,
}

impl LabelScan {
    /// Starts the labels of a body. `like` has the labels of an encoding. None if labels are ignored.
    ///
    /// # Errors
    /// When the request says that another value means +1 than the model or session does.
    pub(crate) fn new(
        options: &Options,
        like: Option<&LabelEncoding>,
    ) -> Result<Option<Self>, Fault> {
        let positive = options.table.positive.as_deref();
        let stated = |positive: &str| spelled(positive.as_bytes()).map(|(text, _)| text);
        let meaning = match (&options.label_rule, positive) {
            (LabelRule::Ignored, _) => return Ok(None),
            (LabelRule::Of(classes), Some(positive)) if classes.is_plain() => {
                Meaning::Sign(stated(positive)?)
            }
            (LabelRule::Of(classes), Some(positive))
                if !matches!(classes.read(positive.as_bytes()), Ok(true)) =>
            {
                let detail = format!(
                    "positive={positive} contradicts the model or session, whose class {} has the label +1; leave \
                     `positive` out.",
                    excerpt(classes.positive().as_bytes())
                );
                return Err(Fault::new(FormatErrorKind::TableOption, detail));
            }
            (LabelRule::Of(classes), _) => Meaning::Known(classes.clone()),
            (LabelRule::New | LabelRule::Later, Some(positive)) => {
                Meaning::Stated(stated(positive)?)
            }
            (LabelRule::New | LabelRule::Later, None) => {
                like.map_or(Meaning::Open, |like| Meaning::Known(like.classes()))
            }
        };
        Ok(Some(Self {
            meaning,
            ..Self::open()
        }))
    }

    /// Starts labels whose values decide.
    pub(crate) fn open() -> Self {
        Self {
            values: Vec::new(),
            spellings: Vec::new(),
            meaning: Meaning::Open,
        }
    }

    /// Whether a model, a session or an encoding decides.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.meaning, Meaning::Known(_))
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

    /// Reads a label and returns its code. If the meaning is fixed, the code of +1 is 1 and all other codes are 0.
    ///
    /// # Errors
    /// When the label is missing or unknown, or when there are too many values.
    pub(crate) fn push(&mut self, text: &[u8]) -> Result<u8, Fault> {
        let of_text = self
            .spellings
            .iter()
            .find(|(spelling, _)| **spelling == *text);
        let code = match of_text {
            Some((_, code)) => *code,
            None => self.push_spelling(text)?,
        };
        let value = &mut self.values[code];
        value.rows += 1;
        Ok(match &self.meaning {
            Meaning::Open => code as u8,
            _ => u8::from(value.is_positive),
        })
    }

    fn push_spelling(&mut self, text: &[u8]) -> Result<usize, Fault> {
        let (spelling, content) = spelled(text)?;
        if content == Content::Missing {
            let detail = "The label is missing; `missing=drop` leaves such rows out.";
            return Err(Fault::new(FormatErrorKind::BadLabel, detail));
        }
        let code = match self.values.iter().position(|value| value.text == spelling) {
            Some(code) => code,
            None => self.add(text, spelling, content)?,
        };
        if self.spellings.len() < SHOWN_MAX {
            self.spellings.push((text.into(), code));
        }
        Ok(code)
    }

    fn add(&mut self, label: &[u8], text: String, content: Content) -> Result<usize, Fault> {
        let is_positive = match &self.meaning {
            Meaning::Open => false,
            Meaning::Stated(positive) | Meaning::Sign(positive) => text == *positive,
            Meaning::Known(classes) => {
                let is_positive = classes.read(label)?;
                let has = |sign: &str| text == sign || self.values.iter().any(|v| v.text == sign);
                if classes.reads_signs() && matches!(&*text, "0" | "-1") && has("0") && has("-1") {
                    return Err(mixed_labels(label));
                }
                is_positive
            }
        };
        if self.values.len() == VALUES_MAX {
            let detail = format!(
                "The label column has more than {VALUES_MAX} different values; name the label column with `labels`."
            );
            return Err(Fault::new(FormatErrorKind::BadLabel, detail));
        }
        self.values.push(LabelValue {
            text,
            content,
            rows: 0,
            is_positive,
        });
        Ok(self.values.len() - 1)
    }

    /// Decides the label of each value.
    ///
    /// # Errors
    /// When the values leave open which of them means +1. The detail has the values, their counts and the remedy.
    pub(crate) fn finish(mut self) -> Result<ReadLabels, Fault> {
        let of_code = |classes| ReadLabels {
            is_positive: vec![false, true],
            classes,
        };
        match std::mem::replace(&mut self.meaning, Meaning::Open) {
            Meaning::Open => self.decided(),
            Meaning::Known(classes) => Ok(of_code(classes)),
            Meaning::Sign(_) => Ok(of_code(Classes::plain())),
            Meaning::Stated(positive) => {
                let mut rest = self.values.iter().filter(|value| !value.is_positive);
                if rest.clone().count() == self.values.len() {
                    let shown = excerpt(positive.as_bytes());
                    let detail = format!("No label is {shown}: {}.", self.counted());
                    return Err(Fault::new(FormatErrorKind::TableOption, detail));
                }
                let negative = match (rest.next(), rest.next()) {
                    (Some(one), None) => Some(one.text.clone()),
                    _ => None,
                };
                Ok(of_code(Classes::new(negative, positive)))
            }
        }
    }

    /// Decides the label of each value by the values alone.
    fn decided(mut self) -> Result<ReadLabels, Fault> {
        let Some(positive) = self.positive() else {
            let number = self.values.len();
            let values = if number == 1 { "value" } else { "values" };
            let first = self.values.first().map_or("", |value| &value.text);
            let detail = format!(
                "The labels have {number} {values}: {}. Say which value means +1, as in `positive={first}`.",
                self.counted()
            );
            return Err(Fault::new(FormatErrorKind::TableOption, detail));
        };
        let is_positive = (0..self.values.len())
            .map(|code| Some(code) == positive)
            .collect();
        let named = |code: Option<usize>| code.map(|code| self.values[code].text.clone());
        let other = (0..self.values.len()).find(|&code| Some(code) != positive);
        // The label that does not occur has the other word of the family, or the other number.
        let absent = |code: Option<usize>| match code.map(|code| self.values[code].content) {
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
            is_positive,
            classes,
        })
    }

    /// Returns the code of +1 if the values tell it: `Some(None)` if all labels are -1.
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
                    (Some(first), Some(second)) => second > first,
                    _ => second.text > first.text,
                };
                Some(Some(usize::from(is_second)))
            }
            _ => None,
        }
    }

    /// Returns the values with their numbers of rows, in the order of their first rows.
    pub(crate) fn counts(&self) -> Vec<LabelCount> {
        let count = |value: &LabelValue| LabelCount {
            value: value.text.clone(),
            rows: value.rows,
        };
        self.values.iter().map(count).collect()
    }

    /// Names the values and their numbers of rows in an error.
    fn counted(&self) -> String {
        let shown = self.values.iter().take(SHOWN_MAX);
        let mut texts: Vec<String> = shown
            .map(|value| format!("{} ({})", excerpt(value.text.as_bytes()), value.rows))
            .collect();
        if self.values.len() > SHOWN_MAX {
            texts.push("...".to_owned());
        }
        texts.join(", ")
    }
}

/// Returns the spelling by which labels are compared. A class has a short name in UTF-8, or none.
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
        let mut scan = LabelScan::open();
        for label in labels {
            scan.push(label.as_bytes())?;
        }
        scan.finish()
    }

    fn stated(positive: &str) -> LabelScan {
        let mut options = Options::default();
        options.table.positive = Some(positive.to_owned());
        LabelScan::new(&options, None).unwrap().unwrap()
    }

    #[test]
    fn two_values_are_read_as_meant_or_sorted() {
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
            let codes: Vec<bool> = labels
                .iter()
                .map(|label| canonical(label.as_bytes()).0 == positive.as_bytes())
                .collect();
            assert_eq!(read.is_positive, codes, "{labels:?}");
        }
    }

    #[test]
    fn one_value_or_three_need_the_option() {
        assert_eq!(read(&["1", "1"]).unwrap().is_positive, [true]);
        assert_eq!(read(&["0"]).unwrap().is_positive, [false]);
        let three = read(&["a", "b", "a", "c"]).err().unwrap().detail;
        assert!(
            three.contains("3 values: `a` (2), `b` (1), `c` (1)") && three.contains("`positive=a`"),
            "{three}"
        );
        assert!(read(&["setosa"]).is_err());
    }

    #[test]
    fn one_value_against_the_rest() {
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
