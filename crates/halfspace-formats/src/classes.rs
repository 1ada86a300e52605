//! The names of classes, and the rule by which they turn a label into a class.
//!
//! New data name their classes themselves (see `building/label_names.rs`). When a model, a session or an encoding reads
//! labels, its own names decide. What a label means must not depend on the order of the values in a body.

use std::collections::HashSet;

use halfspace_core::bits::BLOCK_ROWS;
use halfspace_core::learners::sample::classes::{BlockCodes, ClassCodes, planes_for};
use halfspace_core::learners::sample::data::{Data, Labels};
use serde::{Deserialize, Serialize};

use crate::cell::Content as Cell;
use crate::error::{Fault, FormatErrorKind, excerpt, listed};
use crate::numbers::{DecimalMark, EXACT_MAX, exact_decimal, parse_number, shortest};

/// The names of classes, in the order of their codes. There is only one while a session of open classes knows no other.
/// Of two classes, the first has the label -1 and the second the label +1. In JSON the names are a list, whose first
/// item is null if the first class means every value that is not the name of another class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Option<String>>", into = "Vec<Option<String>>")]
pub struct Classes {
    /// The name of code 0, or `None` if it means every value that is not another name.
    first: Option<String>,
    /// The names of the other codes.
    others: Vec<String>,
}

/// What decides the meaning of the labels of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LabelRule {
    /// New data: the values and the request.
    #[default]
    New,
    /// The classes of a model or a session. No other value is a label.
    Of(Classes),
    /// A session that learns new classes. Each value is one, and the codes have the order of the first examples.
    Open,
    /// A model that the request may name only after the data (see [`crate::Parsed::is_undecided`]).
    Later,
    /// Nothing, because a prediction ignores labels. Where a line without a label looks like one with a label, the
    /// label must be a number or one of these classes, unless a session learns new ones.
    Ignored(Option<Classes>),
}

impl LabelRule {
    /// The rule for labels that go to a model or a session. If it has no class names, its labels are 1 and -1, or 1
    /// and 0.
    pub fn of(classes: Option<&Classes>) -> Self {
        Self::Of(classes.cloned().unwrap_or_else(Classes::plain))
    }
}

impl From<Classes> for Vec<Option<String>> {
    fn from(classes: Classes) -> Self {
        let others = classes.others.into_iter().map(Some);
        [classes.first].into_iter().chain(others).collect()
    }
}

impl TryFrom<Vec<Option<String>>> for Classes {
    type Error = &'static str;

    fn try_from(names: Vec<Option<String>>) -> Result<Self, Self::Error> {
        let mut names = names.into_iter();
        let first = names.next().ok_or("there are no classes")?;
        let others = names
            .collect::<Option<Vec<_>>>()
            .ok_or("a class after the first has no name")?;
        match (&first, others.is_empty()) {
            (None, true) => Err("the only class has no name"),
            _ => Ok(Self { first, others }),
        }
    }
}

impl Classes {
    /// Two classes. Without a negative one, every value except the positive one means -1.
    pub fn new(negative: Option<String>, positive: String) -> Self {
        Self {
            first: negative,
            others: vec![positive],
        }
    }

    /// The numbers below a threshold and the others. The names of the classes tell how to read a number.
    pub(crate) fn of_threshold(threshold: f64) -> Self {
        let threshold = shortest(threshold);
        Self::new(
            Some(format!("<{threshold}")),
            format!("{AT_LEAST}{threshold}"),
        )
    }

    /// The number from which on labels are of the second class, if the classes are those of a threshold.
    fn threshold(&self) -> Option<f64> {
        let threshold = threshold_of(self.others.first()?)?;
        (*self == Self::of_threshold(threshold)).then_some(threshold)
    }

    /// Several classes with the names of these labels, spelled as the labels of data are: without blanks around them,
    /// and numbers in their shortest form.
    pub fn of_labels(labels: impl IntoIterator<Item = String>) -> Option<Self> {
        let spelled = |label: String| String::from_utf8(canonical(label.as_bytes()).0);
        let names = labels.into_iter().map(spelled);
        Self::of_names(names.collect::<Result<Vec<_>, _>>().ok()?)
    }

    /// The classes of these codes, or `None` if there are none.
    pub fn of_names(names: impl IntoIterator<Item = String>) -> Option<Self> {
        Self::try_from(names.into_iter().map(Some).collect::<Vec<_>>()).ok()
    }

    /// The labels 1 and -1 or 0, which are their own names.
    pub fn plain() -> Self {
        Self::new(Some("-1".to_owned()), "1".to_owned())
    }

    /// The number of classes.
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The name of each code. The first may be `None`, which means every value that is not another name.
    pub fn each(&self) -> impl Iterator<Item = Option<&str>> {
        let others = self.others.iter().map(|name| Some(name.as_str()));
        [self.first.as_deref()].into_iter().chain(others)
    }

    /// The bytes of the classes in the digest and in the stored form: their number in 4 bytes, then for each class,
    /// in the order of the codes, the number of bytes of its name in 4 bytes, and the name. Without names, or for
    /// plain labels, the names are `-1` and `1`. A class of all other values has 2^32 - 1 in place of the number, and
    /// no bytes. All numbers are little-endian.
    pub(crate) fn bytes_of(classes: Option<&Self>) -> Vec<u8> {
        let plain = Self::plain();
        let named = classes
            .filter(|classes| !classes.is_plain())
            .unwrap_or(&plain);
        let mut bytes = (named.count() as u32).to_le_bytes().to_vec();
        for name in named.each() {
            let length = name.map_or(u32::MAX, |name| name.len() as u32);
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(name.unwrap_or_default().as_bytes());
        }
        bytes
    }

    /// Reads the bytes of [`Self::bytes_of`].
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let take = |bytes: &mut &[u8], count: usize| {
            let (taken, rest) = bytes.split_at_checked(count)?;
            *bytes = rest;
            Some(taken.to_vec())
        };
        let number = |bytes: &mut &[u8]| Some(u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?));
        let count = number(&mut bytes)?;
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(match number(&mut bytes)? {
                u32::MAX => None,
                length => Some(String::from_utf8(take(&mut bytes, length as usize)?).ok()?),
            });
        }
        Self::try_from(names).ok().filter(|_| bytes.is_empty())
    }

    /// The name of the label +1 of two classes, which is the last class.
    pub fn positive(&self) -> &str {
        self.others.last().map_or("", String::as_str)
    }

    /// The name of the label -1 of two classes, unless this is the label of every other value.
    pub fn negative(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// One of these classes against all others.
    ///
    /// # Errors
    /// A label that is none of these classes.
    pub fn one_of(&self, label: &str) -> Result<Self, String> {
        let code = self.code(label)?;
        let names: Vec<Option<&str>> = self.each().collect();
        let negative = match names.as_slice() {
            [one, other] => [other, one][code as usize].map(str::to_owned),
            _ => None,
        };
        match names[code as usize] {
            Some(positive) => Ok(Self::new(negative, positive.to_owned())),
            None => Err(format!(
                "{} is one of the labels whose names are lost.",
                excerpt(label.as_bytes())
            )),
        }
    }

    /// These classes, followed by those of `given` that are not among them. The spelling alone decides.
    #[must_use]
    pub fn joined_by(mut self, given: &Self) -> Self {
        let spelling = |name: Option<&str>| name.map(|name| canonical(name.as_bytes()).0);
        let mut known: HashSet<_> = self.each().map(spelling).collect();
        for name in given.each().flatten() {
            if known.insert(spelling(Some(name))) {
                self.others.push(name.to_owned());
            }
        }
        self
    }

    /// The first `count` classes, of which there must be one.
    #[must_use]
    pub fn first(mut self, count: usize) -> Self {
        self.others.truncate(count.saturating_sub(1));
        self
    }

    /// Whether two of the names mean the same label, as 1 and 1.0 do.
    pub fn overlap(&self) -> bool {
        let names = self.each().flatten();
        let mut names: Vec<_> = names.map(|name| canonical(name.as_bytes()).0).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Whether every value except one means -1.
    pub fn is_against_rest(&self) -> bool {
        self.first.is_none()
    }

    /// Whether the labels are 1 and -1, or 1 and 0.
    pub fn is_plain(&self) -> bool {
        self.others == ["1"] && matches!(self.negative(), Some("0" | "-1"))
    }

    /// The names of the classes for an answer. Plain labels have none.
    pub fn names(&self) -> Option<Vec<String>> {
        let first = || match self.negative() {
            Some(first) => first.to_owned(),
            None => format!("not {}", self.others.join(", ")),
        };
        (!self.is_plain()).then(|| {
            [first()]
                .into_iter()
                .chain(self.others.iter().cloned())
                .collect()
        })
    }

    /// Whether 1, 0 and -1 can only mean the labels themselves. This is so if there are two classes and neither has a
    /// number as its name.
    pub(crate) fn reads_signs(&self) -> bool {
        self.is_plain() || self.count() == 2 && !self.names_a_number()
    }

    fn names_a_number(&self) -> bool {
        let mut names = self.each().flatten();
        names.any(|name| matches!(canonical(name.as_bytes()).1, Cell::Number(_)))
    }

    /// The code of the class that a label names.
    ///
    /// # Errors
    /// A label that the classes do not have.
    pub fn code(&self, label: &str) -> Result<u32, String> {
        self.read(label.as_bytes()).map_err(|fault| fault.detail)
    }

    /// Reads a label by its name, and returns the code of its class.
    ///
    /// # Errors
    /// A label that the classes do not have.
    pub(crate) fn read(&self, label: &[u8]) -> Result<u32, Fault> {
        let (spelling, content) = canonical(label);
        if let (Some(threshold), Cell::Number(number)) = (self.threshold(), content) {
            return Ok(u32::from(number >= threshold));
        }
        let is =
            |name: Option<&str>| name.is_some_and(|name| canonical(name.as_bytes()).0 == spelling);
        let sign = match &*spelling {
            b"1" => Some(1),
            b"0" | b"-1" => Some(0),
            _ => None,
        };
        let named = self.each().position(is).map(|code| code as u32);
        let read = named.or_else(|| match self.first {
            Some(_) => sign.filter(|_| self.reads_signs()),
            // Next to a class with another word, a 1 could mean either label.
            None => Some(0).filter(|_| sign != Some(1) || self.names_a_number()),
        });
        read.ok_or_else(|| self.unknown(label))
    }

    /// Makes the fault of a label that no class has.
    fn unknown(&self, label: &[u8]) -> Fault {
        let (shown, positive) = (excerpt(label), excerpt(self.positive().as_bytes()));
        let detail = match self.negative() {
            _ if self.is_plain() => {
                format!("{} {NEW_CLASSES}", bad_label(label).detail)
            }
            None => format!(
                "{shown} could mean the label +1 or a value other than {positive}; write {positive} for +1, and any \
                 other word or -1 for the rest."
            ),
            Some(_) if self.threshold().is_some() => {
                format!(
                    "{shown} is not a number, and the classes are {}.",
                    self.listed()
                )
            }
            Some(_) => format!(
                "{shown} is not a label; the labels are {}. Correct the label, leave the example out, or train on \
                 examples of all classes. {NEW_CLASSES}",
                self.listed()
            ),
        };
        Fault::new(FormatErrorKind::UnknownLabel, detail)
    }

    /// Lists the names in an error.
    fn listed(&self) -> String {
        let quoted = |name: &str| excerpt(name.as_bytes()).to_string();
        if let ([positive], Some(negative)) = (self.others.as_slice(), self.negative()) {
            return format!("{} (+1) and {} (-1)", quoted(positive), quoted(negative));
        }
        listed(self.each().flatten().map(quoted), LISTED_MAX)
    }

    /// Maps the codes of other data, whose classes are `given`, to the codes of these classes. `occurs` tells whether
    /// examples have a code.
    ///
    /// # Errors
    /// A value that is not a label here, with the labels that are.
    pub fn recoding(&self, given: &Self, occurs: impl Fn(u32) -> bool) -> Result<Recoding, String> {
        let is_same_rest =
            self.is_against_rest() && self.canonical_others() == given.canonical_others();
        let read = |name: Option<&str>| match name {
            Some(name) => self.read(name.as_bytes()).map_err(|fault| fault.detail),
            None if is_same_rest => Ok(0),
            None => Err(format!(
                "The data have {} against the rest, and the names of the rest are lost. Upload the data again with \
                 the option `encoding` and the id of the model.",
                excerpt(given.positive().as_bytes())
            )),
        };
        let codes = given
            .each()
            .zip(0..)
            .map(|(name, code)| match occurs(code) {
                true => read(name).map(Some),
                false => Ok(None),
            });
        Ok(Recoding {
            codes: codes.collect::<Result<_, _>>()?,
            classes: self.count(),
        })
    }

    fn canonical_others(&self) -> Vec<Vec<u8>> {
        let names = self.others.iter();
        names.map(|name| canonical(name.as_bytes()).0).collect()
    }
}

/// What the name of the class of large numbers begins with.
const AT_LEAST: &str = ">=";

/// The number from which on labels are of this class.
pub(crate) fn threshold_of(name: &str) -> Option<f64> {
    parse_number(name.strip_prefix(AT_LEAST)?.as_bytes()).ok()
}

/// Who learns a label that is not known.
const NEW_CLASSES: &str = "A session opened with a list of `classes` reads their names, and one with classes=open \
    learns new ones.";

/// The largest number of names that an error lists.
const LISTED_MAX: usize = 12;

/// The codes that examples get in place of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recoding {
    /// The new code of each code, or `None` if no example has it.
    codes: Vec<Option<u32>>,
    /// The number of classes of the new codes.
    classes: usize,
}

impl Recoding {
    /// The new code of each code, for this number of classes.
    pub(crate) fn new(codes: impl IntoIterator<Item = u32>, classes: usize) -> Self {
        Self {
            codes: codes.into_iter().map(Some).collect(),
            classes,
        }
    }

    pub fn is_identity(&self) -> bool {
        let mut codes = self.codes.iter().zip(0..);
        planes_for(self.codes.len()) == planes_for(self.classes)
            && codes.all(|(code, own)| code.is_none_or(|code| code == own))
    }

    /// The number of bit planes after recoding, for examples that had `before` planes.
    pub(crate) fn planes(&self, before: usize) -> usize {
        match self.is_identity() {
            true => before,
            false => planes_for(self.classes),
        }
    }

    /// The new code of an example, or 0 if its code was not known to occur.
    pub(crate) fn of_code(&self, code: u32) -> u32 {
        let new = self.codes.get(code as usize).copied();
        new.flatten().unwrap_or(0)
    }

    pub(crate) fn of_block(&self, codes: BlockCodes) -> BlockCodes {
        codes.recoded(&self.codes, planes_for(self.classes))
    }

    pub(crate) fn of_codes(&self, codes: &ClassCodes) -> ClassCodes {
        codes.recoded(&self.codes, planes_for(self.classes))
    }

    /// Whether examples with different codes keep different codes.
    pub fn is_one_to_one(&self) -> bool {
        let mut codes: Vec<u32> = self.codes.iter().flatten().copied().collect();
        codes.sort_unstable();
        codes.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// The examples with their new codes. Examples without labels stay as they are.
    pub fn of(&self, data: Data) -> Data {
        match data.labels() {
            Labels::Labelled(codes) if !self.is_identity() => {
                let codes = self.of_codes(codes);
                data.with_labels(Labels::Labelled(codes))
            }
            _ => data,
        }
    }
}

/// Tells which codes the examples have.
pub fn occurring(data: &Data) -> Vec<bool> {
    let Labels::Labelled(codes) = data.labels() else {
        return Vec::new();
    };
    let mut occurs = Vec::new();
    for first in (0..codes.rows()).step_by(BLOCK_ROWS) {
        let rows = BLOCK_ROWS.min(codes.rows() - first);
        codes.block(first).count(rows, |code, count| {
            let code = code as usize;
            occurs.resize(occurs.len().max(code + 1), false);
            occurs[code] |= count > 0;
        });
    }
    occurs
}

/// Whether a label of this text is missing, so that no class can have it as its name.
pub fn is_missing(name: &str) -> bool {
    canonical(name.as_bytes()).1 == Cell::Missing
}

/// What a label may be, in errors.
pub(crate) const LABEL: &str = "the name of a class as a number or text, or 1 or -1, or 1 or 0";

/// Makes the fault of an example without a label where a model with classes needs one.
pub(crate) fn unlabelled() -> Fault {
    let detail =
        "The example has no label, but only labels tell the classes of the model; add the label.";
    Fault::new(FormatErrorKind::BadLabel, detail)
}

/// Makes the fault of a body with both 0 and -1, of which this label came second.
pub(crate) fn mixed_labels(label: &[u8]) -> Fault {
    let (found, earlier) = match parse_number(label) {
        Ok(0.0) => (0, -1),
        _ => (-1, 0),
    };
    let detail = format!(
        "The label {found} occurs in a body that also has the label {earlier}; use either \
         1 and -1, or 1 and 0."
    );
    Fault::new(FormatErrorKind::MixedLabels, detail).mended_by("positive", "0")
}

/// Makes the fault of a label that is neither 1 nor -1 nor 0.
pub(crate) fn bad_label(label: &[u8]) -> Fault {
    let detail = format!(
        "{} is not a label; labels are 1 and -1, or 1 and 0.",
        excerpt(label)
    );
    Fault::new(FormatErrorKind::BadLabel, detail)
}

/// Refuses a label that came as a double and may have lost digits.
pub(crate) fn check_digits(label: f64) -> Result<(), Fault> {
    if !label.is_finite() || label.abs() < EXACT_MAX as f64 {
        return Ok(());
    }
    let detail =
        format!("The label {label} is beyond 2^53, where doubles lose digits; send it as a text.");
    Err(Fault::new(FormatErrorKind::BadLabel, detail))
}

/// The spelling by which labels are compared: a number in its shortest form, any other text without blanks around it.
pub(crate) fn canonical(text: &[u8]) -> (Vec<u8>, Cell) {
    let text = text.trim_ascii();
    let cell = Cell::of(text, DecimalMark::Point);
    let spelling = match cell {
        // From here on doubles are not exact.
        Cell::Number(number) if number.abs() >= EXACT_MAX as f64 => exact_decimal(text),
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
        classes.read(label.as_bytes()).ok().map(|code| code == 1)
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
        let of = |own: &Classes, given: &Classes, occur: [bool; 2]| {
            let found = own.recoding(given, |code| occur[code as usize])?;
            Ok([0, 1].map(|code| found.codes[code].map(|code: u32| code == 1)))
        };
        let both = |codes: [bool; 2]| Ok::<_, String>(codes.map(Some));
        assert_eq!(of(&own, &two("1", "2"), [true; 2]), both([false, true]));
        assert_eq!(of(&own, &two("2", "1"), [true; 2]), both([true, false]));
        assert_eq!(
            of(&own, &two("0", "1"), [false, true]),
            Ok([None, Some(false)])
        );
        let unknown = |given: &Classes, occur| of(&own, given, occur).unwrap_err();
        assert!(unknown(&two("0", "1"), [true, true]).contains("`0`"));
        assert!(unknown(&two("2", "3"), [false, true]).contains("`3`"));
        assert!(of(&own, &Classes::new(None, "2".to_owned()), [true, true]).is_err());
        let rest = Classes::new(None, "c".to_owned());
        assert_eq!(of(&rest, &two("a", "b"), [true; 2]), both([false, false]));
        assert_eq!(of(&rest, &two("c", "d"), [true; 2]), both([true, false]));
        assert_eq!(of(&rest, &rest, [true; 2]), both([false, true]));
        assert!(of(&rest, &Classes::new(None, "d".to_owned()), [true; 2]).is_err());
    }

    #[test]
    fn many_classes_are_read_by_their_names() {
        let names = ["a", "2", "c"].map(str::to_owned);
        let own = Classes::of_names(names).unwrap();
        assert_eq!(
            ["c", "2.0", "a"].map(|label| own.read(label.as_bytes()).unwrap()),
            [2, 1, 0]
        );
        let unknown = own.read(b"1").unwrap_err().detail;
        assert!(
            unknown.contains("the labels are `a`, `2`, `c`"),
            "{unknown}"
        );
        let given = Classes::of_names(["c", "x", "a"].map(str::to_owned)).unwrap();
        assert_eq!(
            own.recoding(&given, |code| code != 1),
            Ok(Recoding {
                codes: vec![Some(2), None, Some(0)],
                classes: 3,
            })
        );
        assert!(own.recoding(&given, |_| true).unwrap_err().contains("`x`"));
        assert!(Classes::of_names(Vec::new()).is_none());
    }

    #[test]
    fn new_classes_follow_the_known_ones() {
        let of = |names: &[&str]| Classes::of_names(names.iter().map(|&name| name.to_owned()));
        let own = of(&["b", "1"]).unwrap();
        let given = of(&["c", "1.0", "a", "b"]).unwrap();
        let joined = own.clone().joined_by(&given);
        assert_eq!(Some(joined.clone()), of(&["b", "1", "c", "a"]));
        let recoding = joined.recoding(&given, |_| true).unwrap();
        assert_eq!(
            [0, 1, 2, 3].map(|code| recoding.of_code(code)),
            [2, 1, 3, 0]
        );
        assert_eq!(joined.first(2), own);
        // A sign is no label of its own where every value is a class.
        let words = of(&["no", "yes"]).unwrap();
        let signs = of(&["1"]).unwrap();
        assert_eq!(Some(words.joined_by(&signs)), of(&["no", "yes", "1"]));
    }

    #[test]
    fn names_that_read_the_same_labels_overlap() {
        for (first, second) in [("1", "1.0"), ("a", "a"), ("yes", " yes"), ("0", "-0")] {
            assert!(two(first, second).overlap(), "{first} {second}");
        }
        for (first, second) in [
            ("1", "-1"),
            ("a", "A"),
            ("9007199254740993", "9007199254740992"),
        ] {
            assert!(!two(first, second).overlap(), "{first} {second}");
        }
        assert!(!Classes::new(None, "1".to_owned()).overlap());
    }

    #[test]
    fn classes_keep_their_bytes() {
        let many = Classes::of_names(["a", "", "c"].map(str::to_owned)).unwrap();
        for classes in [two("no", "yes"), Classes::new(None, "3".to_owned()), many] {
            let bytes = Classes::bytes_of(Some(&classes));
            assert_eq!(Classes::from_bytes(&bytes), Some(classes));
            assert!((0..bytes.len()).all(|end| Classes::from_bytes(&bytes[..end]).is_none()));
            assert_eq!(Classes::from_bytes(&[&bytes[..], &[0]].concat()), None);
        }
        let plain = Classes::bytes_of(Some(&two("0", "1")));
        assert_eq!(Classes::bytes_of(None), plain);
        assert_eq!(Classes::from_bytes(&plain), Some(Classes::plain()));
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
        for text in [r#"["3",null]"#, "[null]", "[]"] {
            assert!(serde_json::from_str::<Classes>(text).is_err(), "{text}");
        }
    }
}
