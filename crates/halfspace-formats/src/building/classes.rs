//! The names of the two classes, and the one rule by which they read a label.
//!
//! New data name their classes themselves, see `tables/label_scan.rs`. Wherever a model, a session or an encoding meets
//! labels, its own names decide: no reader gives a label to a value by its order among the values of a body.

use halfspace_core::bits::BitVector;
use halfspace_core::learners::sample::data::{Data, Labels};
use serde::{Deserialize, Serialize};

use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::tables::cell::{Content as Cell, DecimalMark};

/// The names of the labels -1 and +1. In JSON they are a list of two, whose first item is null if every value but the
/// second means -1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "[Option<String>; 2]", into = "[Option<String>; 2]")]
pub struct Classes {
    negative: Option<String>,
    positive: String,
}

/// Who says what the labels of a body mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LabelRule {
    /// New data: the values and the request decide.
    #[default]
    New,
    /// The classes of a model or a session decide, and no other value is a label.
    Of(Classes),
    /// A model that the request names, perhaps after the data: see [`crate::Parsed::foreign`].
    Later,
    /// Nobody: a prediction ignores labels.
    Ignored,
}

impl LabelRule {
    /// The rule for labels that a model or a session meets. Without names its labels are 1 and -1, or 1 and 0.
    pub fn of(classes: Option<&Classes>) -> Self {
        Self::Of(classes.cloned().unwrap_or_else(Classes::plain))
    }

    /// Returns the classes that are known before the body.
    pub(crate) fn known(&self) -> Option<&Classes> {
        match self {
            Self::Of(classes) => Some(classes),
            Self::New | Self::Later | Self::Ignored => None,
        }
    }
}

impl From<Classes> for [Option<String>; 2] {
    fn from(classes: Classes) -> Self {
        [classes.negative, Some(classes.positive)]
    }
}

impl TryFrom<[Option<String>; 2]> for Classes {
    type Error = &'static str;

    fn try_from([negative, positive]: [Option<String>; 2]) -> Result<Self, Self::Error> {
        let positive = positive.ok_or("the label +1 has no name")?;
        Ok(Self { negative, positive })
    }
}

impl Classes {
    /// Two classes. Without a negative one, every value but the positive one means -1.
    pub fn new(negative: Option<String>, positive: String) -> Self {
        Self { negative, positive }
    }

    /// The labels 1 and -1 or 0, which are their own names.
    pub fn plain() -> Self {
        Self::new(Some("-1".to_owned()), "1".to_owned())
    }

    /// The name of the label +1.
    pub fn positive(&self) -> &str {
        &self.positive
    }

    /// The name of the label -1, unless every other value has this label.
    pub fn negative(&self) -> Option<&str> {
        self.negative.as_deref()
    }

    /// Whether every value but one means -1.
    pub fn is_against_rest(&self) -> bool {
        self.negative.is_none()
    }

    /// Whether the labels are 1 and -1, or 1 and 0.
    pub fn is_plain(&self) -> bool {
        self.positive == "1" && matches!(self.negative(), Some("0" | "-1"))
    }

    /// The names of the labels -1 and +1 as an answer shows them. Plain labels have none.
    pub fn names(&self) -> Option<[String; 2]> {
        let negative = || match self.negative() {
            Some(negative) => negative.to_owned(),
            None => format!("not {}", self.positive),
        };
        (!self.is_plain()).then(|| [negative(), self.positive.clone()])
    }

    /// Whether 1, 0 and -1 can only mean the labels themselves, because no class is named by a number.
    pub(crate) fn reads_signs(&self) -> bool {
        self.is_plain() || !self.names_a_number()
    }

    fn names_a_number(&self) -> bool {
        let mut names = self.negative().into_iter().chain([self.positive()]);
        names.any(|name| matches!(canonical(name.as_bytes()).1, Cell::Number(_)))
    }

    /// Reads a label by its name.
    ///
    /// # Errors
    /// A label that the classes do not have.
    pub(crate) fn read(&self, label: &[u8]) -> Result<bool, Fault> {
        let (spelling, _) = canonical(label);
        let is = |name: &str| canonical(name.as_bytes()).0 == spelling;
        let sign = match &*spelling {
            b"1" => Some(true),
            b"0" | b"-1" => Some(false),
            _ => None,
        };
        let read = match self.negative() {
            _ if is(&self.positive) => Some(true),
            Some(negative) if is(negative) => Some(false),
            Some(_) => sign.filter(|_| self.reads_signs()),
            // A 1 beside a class with another word could be either label.
            None => Some(false).filter(|_| sign != Some(true) || self.names_a_number()),
        };
        read.ok_or_else(|| self.unknown(label))
    }

    /// Makes the fault of a label that no class has.
    fn unknown(&self, label: &[u8]) -> Fault {
        let (shown, positive) = (excerpt(label), excerpt(self.positive.as_bytes()));
        let detail = match self.negative() {
            _ if self.is_plain() => {
                return bad_label(label);
            }
            Some(negative) => format!(
                "{shown} is not a label; the labels are {positive} (+1) and {} (-1). Correct the label, leave the \
                 example out, or train on examples of all classes.",
                excerpt(negative.as_bytes())
            ),
            None => format!(
                "{shown} could mean the label +1 or a value other than {positive}; write {positive} for +1, and any \
                 other word or -1 for the rest."
            ),
        };
        Fault::new(FormatErrorKind::BadLabel, detail)
    }

    /// Finds the labels that the classes give to the examples of other data, whose classes are `given`. `occur` tells
    /// which of the labels -1 and +1 the examples have.
    ///
    /// # Errors
    /// A value that is not a label here, with the labels that are.
    pub fn relabel(&self, given: &Self, occur: [bool; 2]) -> Result<Relabelling, String> {
        let read = |name: Option<&str>| match name {
            Some(name) => self.read(name.as_bytes()).map_err(|fault| fault.detail),
            None if self.is_against_rest() && canonical_name(self) == canonical_name(given) => {
                Ok(false)
            }
            None => Err(format!(
                "The data have {} against the rest, and the names of the rest are lost. Upload the data again with \
                 the option `encoding` and the id of the model.",
                excerpt(given.positive.as_bytes())
            )),
        };
        let sides = [given.negative(), Some(given.positive())];
        let [negative, positive] = [0, 1].map(|side| occur[side].then(|| read(sides[side])));
        Ok(match (negative.transpose()?, positive.transpose()?) {
            (None, None) => Relabelling::IDENTITY,
            (Some(negative), None) => Relabelling([negative, !negative]),
            (None, Some(positive)) => Relabelling([!positive, positive]),
            (Some(negative), Some(positive)) => Relabelling([negative, positive]),
        })
    }
}

/// Returns which of the labels -1 and +1 occur. Examples without labels have neither.
pub fn occurring(data: &Data) -> [bool; 2] {
    match data.labels() {
        Labels::Labelled(labels) => {
            let positives = labels.ones();
            [positives < labels.n() as u64, positives > 0]
        }
        Labels::HalfSpace | Labels::Unlabelled => [false; 2],
    }
}

fn canonical_name(classes: &Classes) -> Vec<u8> {
    canonical(classes.positive.as_bytes()).0
}

/// The labels that examples with the labels -1 and +1 get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relabelling([bool; 2]);

impl Relabelling {
    /// Each example keeps its label.
    pub const IDENTITY: Self = Self([false, true]);

    /// Whether each example keeps its label.
    pub fn is_identity(&self) -> bool {
        *self == Self::IDENTITY
    }

    /// Whether examples with different labels keep different labels.
    pub fn is_one_to_one(self) -> bool {
        self.0[0] != self.0[1]
    }

    /// Returns the examples with their new labels. Examples without labels stay as they are.
    pub fn of(self, data: Data) -> Data {
        let Labels::Labelled(labels) = data.labels() else {
            return data;
        };
        if self.is_identity() {
            return data;
        }
        let words = labels.words().iter().map(|&word| self.of_word(word));
        let labels = BitVector::from_words(labels.n(), words.collect());
        data.with_labels(Labels::Labelled(labels))
    }

    /// Returns the new labels of 64 examples.
    fn of_word(self, labels: u64) -> u64 {
        let [negative, positive] = self.0.map(|is_positive| if is_positive { !0 } else { 0 });
        labels & positive | !labels & negative
    }
}

impl Default for Relabelling {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// Makes the fault of a label that is neither 1 nor -1 nor 0.
pub(crate) fn bad_label(label: &[u8]) -> Fault {
    let detail = format!(
        "{} is not a label; labels are 1 and -1, or 1 and 0.",
        excerpt(label)
    );
    Fault::new(FormatErrorKind::BadLabel, detail)
}

/// Returns the spelling by which labels are compared: numbers in their shortest form, and other text as it is.
pub(crate) fn canonical(text: &[u8]) -> (Vec<u8>, Cell) {
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

    fn two(negative: &str, positive: &str) -> Classes {
        Classes::new(Some(negative.to_owned()), positive.to_owned())
    }

    fn read(classes: &Classes, label: &str) -> Option<bool> {
        classes.read(label.as_bytes()).ok()
    }

    #[test]
    fn classes_read_every_spelling_of_their_names() {
        let numbers = two("1", "2");
        for label in ["2", "2.0", "2e0", "+2", "20e-1"] {
            assert_eq!(read(&numbers, label), Some(true), "{label}");
        }
        assert_eq!(read(&numbers, "1.0"), Some(false));
        for label in ["0", "-1", "3", "two", ""] {
            assert_eq!(read(&numbers, label), None, "{label}");
        }
        let plain = two("0", "1");
        assert_eq!(
            ["1", "0", "-1"].map(|label| read(&plain, label)),
            [Some(true), Some(false), Some(false)]
        );
        assert_eq!(read(&plain, "2"), None);
    }

    #[test]
    fn signs_are_read_only_beside_names_that_are_no_numbers() {
        let words = two("no", "yes");
        assert_eq!(
            ["yes", "no", "1", "-1", "0", "Yes"].map(|label| read(&words, label)),
            [
                Some(true),
                Some(false),
                Some(true),
                Some(false),
                Some(false),
                None
            ]
        );
        let rest = Classes::new(None, "setosa".to_owned());
        assert_eq!(
            ["setosa", "other", "-1", "1"].map(|label| read(&rest, label)),
            [Some(true), Some(false), Some(false), None]
        );
        let three = Classes::new(None, "3".to_owned());
        assert_eq!(
            ["3.0", "1", "-1"].map(|label| read(&three, label)),
            [Some(true), Some(false), Some(false)]
        );
    }

    #[test]
    fn data_of_other_classes_are_mapped_by_name_or_refused() {
        let own = two("1", "2");
        let of = |given: &Classes, occur| own.relabel(given, occur).map(|found| found.0);
        assert_eq!(of(&two("1", "2"), [true; 2]), Ok([false, true]));
        assert_eq!(of(&two("2", "1"), [true; 2]), Ok([true, false]));
        assert_eq!(of(&two("0", "1"), [false, true]), Ok([true, false]));
        assert!(
            of(&two("0", "1"), [true, true])
                .unwrap_err()
                .contains("`0`")
        );
        assert!(
            of(&two("2", "3"), [false, true])
                .unwrap_err()
                .contains("`3`")
        );
        assert!(of(&Classes::new(None, "2".to_owned()), [true, true]).is_err());
        let rest = Classes::new(None, "c".to_owned());
        let of = |given: &Classes, occur| rest.relabel(given, occur).map(|found| found.0);
        assert_eq!(of(&two("a", "b"), [true; 2]), Ok([false, false]));
        assert_eq!(of(&two("c", "d"), [true; 2]), Ok([true, false]));
        assert_eq!(of(&rest, [true; 2]), Ok([false, true]));
        assert!(of(&Classes::new(None, "d".to_owned()), [true; 2]).is_err());
    }

    #[test]
    fn relabelled_words_have_the_new_labels() {
        for map in [[false, true], [true, false], [false, false], [true, true]] {
            let word = Relabelling(map).of_word(0b01);
            assert_eq!([word >> 1 & 1 == 1, word & 1 == 1], map);
        }
    }

    #[test]
    fn classes_keep_their_form_in_json() {
        for (classes, text) in [
            (two("no", "yes"), r#"["no","yes"]"#),
            (Classes::new(None, "3".to_owned()), r#"[null,"3"]"#),
        ] {
            assert_eq!(serde_json::to_string(&classes).unwrap(), text);
            assert_eq!(serde_json::from_str::<Classes>(text).unwrap(), classes);
        }
        assert!(serde_json::from_str::<Classes>(r#"["3",null]"#).is_err());
    }
}
