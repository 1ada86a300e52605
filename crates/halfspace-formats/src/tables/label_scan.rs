//! The values of the label column, and the decision which of them means +1.

use super::cell::{Cell, DecimalMark, Family};
use super::encoding::{LabelEncoding, class_names};
use super::preview::LabelCount;
use crate::error::{Fault, FormatErrorKind, excerpt, legible, name};

/// The largest number of values of a label column.
const VALUES_MAX: usize = 256;

/// The number of label values that an error shows.
const SHOWN_MAX: usize = 12;

/// The labels so far.
#[derive(Clone)]
pub(crate) struct LabelScan {
    /// The values in the order of their first rows. The index of a value is its code.
    values: Vec<LabelValue>,
    /// The codes of the first spellings, so that most labels need no conversion.
    spellings: Vec<(Box<[u8]>, usize)>,
    /// The meaning that the request or an encoding fixes.
    meaning: Meaning,
}

#[derive(Clone)]
struct LabelValue {
    /// The spelling; numbers in their shortest form.
    text: Vec<u8>,
    cell: Cell,
    rows: u64,
}

/// The values that mean +1 and -1.
#[derive(Clone)]
enum Meaning {
    /// The values decide.
    Open,
    /// One value means +1. Every other value means -1.
    OneAgainstRest(Vec<u8>),
    /// Two values, +1 first.
    Two([Vec<u8>; 2]),
}

/// The decision about the label values.
pub(crate) struct ReadLabels {
    /// The label of each code.
    pub(crate) is_positive: Vec<bool>,
    pub(crate) positive: String,
    /// `None` if several values mean -1.
    pub(crate) negative: Option<String>,
}

impl ReadLabels {
    /// Returns the names of the labels -1 and +1, unless the labels are 1 and -1, or 1 and 0.
    pub(crate) fn class_names(&self) -> Option<[String; 2]> {
        class_names(&self.positive, self.negative.as_deref())
    }
}

impl LabelScan {
    /// Starts the labels. `positive` is the value that the request states, and `like` the labels of an encoding.
    pub(crate) fn new(positive: Option<&str>, like: Option<&LabelEncoding>) -> Self {
        let text = |value: &str| canonical(value.as_bytes()).0;
        let meaning = match (positive, like) {
            (Some(positive), _) => Meaning::OneAgainstRest(text(positive)),
            (None, Some(like)) => match &like.negative {
                Some(negative) => Meaning::Two([text(&like.positive), text(negative)]),
                None => Meaning::OneAgainstRest(text(&like.positive)),
            },
            (None, None) => Meaning::Open,
        };
        Self {
            values: Vec::new(),
            spellings: Vec::new(),
            meaning,
        }
    }

    /// Fixes the values of +1 and -1 if they are open.
    pub(crate) fn declare(&mut self, positive: &[u8], negative: &[u8]) {
        if matches!(self.meaning, Meaning::Open) {
            self.meaning = Meaning::Two([canonical(positive).0, canonical(negative).0]);
        }
    }

    /// Reads a label and returns its code. If one value against the rest or two values are fixed, the code of +1 is 1
    /// and all other codes are 0.
    ///
    /// # Errors
    /// When the label is missing or unknown, or when there are too many values.
    pub(crate) fn push(&mut self, text: &[u8]) -> Result<u8, Fault> {
        let spelled = self
            .spellings
            .iter()
            .find(|(spelling, _)| **spelling == *text);
        let code = match spelled {
            Some((_, code)) => *code,
            None => self.push_spelling(text)?,
        };
        let value = &mut self.values[code];
        value.rows += 1;
        Ok(match &self.meaning {
            Meaning::Open => code as u8,
            Meaning::OneAgainstRest(positive) | Meaning::Two([positive, _]) => {
                u8::from(value.text == *positive)
            }
        })
    }

    fn push_spelling(&mut self, text: &[u8]) -> Result<usize, Fault> {
        let (spelling, cell) = canonical(name(text)?.as_bytes());
        if cell == Cell::Missing {
            let detail = "The label is missing; `missing=drop` leaves such rows out.";
            return Err(Fault::new(FormatErrorKind::BadLabel, detail));
        }
        let code = match self.values.iter().position(|value| value.text == spelling) {
            Some(code) => code,
            None => self.add(text, spelling, cell)?,
        };
        if self.spellings.len() < SHOWN_MAX {
            self.spellings.push((text.into(), code));
        }
        Ok(code)
    }

    fn add(&mut self, text: &[u8], spelling: Vec<u8>, cell: Cell) -> Result<usize, Fault> {
        if let Meaning::Two(two) = &self.meaning
            && !two.contains(&spelling)
        {
            let [positive, negative] = two.each_ref().map(|text| excerpt(text));
            let detail = format!(
                "{} is not a label; the labels are {positive} and {negative}.",
                excerpt(text)
            );
            return Err(Fault::new(FormatErrorKind::BadLabel, detail));
        }
        if self.values.len() == VALUES_MAX {
            let detail = format!(
                "The label column has more than {VALUES_MAX} different values; name the label column with `labels`."
            );
            return Err(Fault::new(FormatErrorKind::BadLabel, detail));
        }
        self.values.push(LabelValue {
            text: spelling,
            cell,
            rows: 0,
        });
        Ok(self.values.len() - 1)
    }

    /// Decides the label of each value.
    ///
    /// # Errors
    /// When the values leave open which of them means +1. The detail has the values, their counts and the remedy.
    pub(crate) fn finish(mut self) -> Result<ReadLabels, Fault> {
        let shown = |text: &[u8]| legible(text, str::to_owned);
        if let Meaning::Two([positive, negative]) = &self.meaning {
            return Ok(ReadLabels {
                is_positive: vec![false, true],
                positive: shown(positive),
                negative: Some(shown(negative)),
            });
        }
        if let Meaning::OneAgainstRest(positive) = &self.meaning {
            let mut rest = self.values.iter().filter(|value| value.text != *positive);
            if rest.clone().count() == self.values.len() {
                let detail = format!("No label is {}: {}.", excerpt(positive), self.counted());
                return Err(Fault::new(FormatErrorKind::TableOption, detail));
            }
            let negative = match (rest.next(), rest.next()) {
                (Some(one), None) => Some(shown(&one.text)),
                _ => None,
            };
            return Ok(ReadLabels {
                is_positive: vec![false, true],
                positive: shown(positive),
                negative,
            });
        }
        let Some(positive) = self.positive() else {
            let number = self.values.len();
            let values = if number == 1 { "value" } else { "values" };
            let first = self
                .values
                .first()
                .map_or(String::new(), |value| shown(&value.text));
            let detail = format!(
                "The labels have {number} {values}: {}. Say which value means +1, as in `positive={first}`.",
                self.counted()
            );
            return Err(Fault::new(FormatErrorKind::TableOption, detail));
        };
        let is_positive = (0..self.values.len())
            .map(|code| Some(code) == positive)
            .collect();
        let named = |code: Option<usize>| code.map(|code| shown(&self.values[code].text));
        let other = (0..self.values.len()).find(|&code| Some(code) != positive);
        // The label that does not occur has the other word of the family, or the other number.
        let absent = |code: Option<usize>| match code.map(|code| self.values[code].cell) {
            Some(Cell::Flag(family, flag)) => family.words()[usize::from(!flag)].to_owned(),
            Some(Cell::Number(1.0)) => "-1".to_owned(),
            _ => "1".to_owned(),
        };
        let labels = ReadLabels {
            is_positive,
            positive: named(positive).unwrap_or_else(|| absent(other)),
            negative: Some(named(other).unwrap_or_else(|| absent(positive))),
        };
        self.values.clear();
        Ok(labels)
    }

    /// Returns the code of +1 if the values tell it: `Some(None)` if all labels are -1.
    fn positive(&self) -> Option<Option<usize>> {
        let rank = |value: &LabelValue| match value.cell {
            Cell::Number(number) => Some(number),
            Cell::Flag(Family::TrueFalse | Family::YesNo, flag) => Some(f64::from(u8::from(flag))),
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
            value: legible(&value.text, str::to_owned),
            rows: value.rows,
        };
        self.values.iter().map(count).collect()
    }

    /// Names the values and their numbers of rows in an error.
    fn counted(&self) -> String {
        let shown = self.values.iter().take(SHOWN_MAX);
        let mut texts: Vec<String> = shown
            .map(|value| format!("{} ({})", excerpt(&value.text), value.rows))
            .collect();
        if self.values.len() > SHOWN_MAX {
            texts.push("...".to_owned());
        }
        texts.join(", ")
    }
}

/// Returns the spelling by which labels are compared: numbers in their shortest form, and other text as it is.
fn canonical(text: &[u8]) -> (Vec<u8>, Cell) {
    let cell = Cell::of(text, DecimalMark::Point);
    let spelling = match cell {
        Cell::Number(number) => (number + 0.0).to_string().into_bytes(),
        _ => text.to_vec(),
    };
    (spelling, cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: &[&str]) -> Result<ReadLabels, Fault> {
        let mut scan = LabelScan::new(None, None);
        for label in labels {
            scan.push(label.as_bytes())?;
        }
        scan.finish()
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
                (read.positive.as_str(), read.negative.as_deref()),
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
        let mut scan = LabelScan::new(Some("b"), None);
        let codes = ["a", "b", "c"].map(|label| scan.push(label.as_bytes()).unwrap());
        assert_eq!(codes, [0, 1, 0]);
        let read = scan.finish().unwrap();
        assert_eq!((read.positive.as_str(), &read.negative), ("b", &None));
        let mut scan = LabelScan::new(Some("x"), None);
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
