//! The form in which the numbers of a column are written, and what a value is as far as this matters.

use crate::cell::Content;
use crate::dates::{self, DatePart};
use crate::written_number::{Notation, Thousands};

/// How all numbers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NumberForm {
    pub(crate) notation: Notation,
    /// Whether marks stand between thousands for sure.
    pub(crate) has_thousands: bool,
    /// Whether a date has a time of day.
    pub(crate) has_time: bool,
}

impl NumberForm {
    pub(crate) const PLAIN: Self = Self {
        notation: Notation::Plain,
        has_thousands: false,
        has_time: false,
    };

    /// The parts of the dates of a column. Empty if it holds no dates.
    pub(crate) fn date_parts(self) -> Vec<DatePart> {
        let hour = self.has_time.then_some(DatePart::Hour);
        match self.notation {
            Notation::Date => DatePart::OF_DAY.into_iter().chain(hour).collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn of(content: &Content) -> Option<Self> {
        match content {
            Content::Number(_) => Some(Self::PLAIN),
            Content::Written(written) => Some(Self {
                notation: written.notation,
                has_thousands: written.thousands == Thousands::Marked,
                has_time: is_time(content),
            }),
            _ => None,
        }
    }
}

/// Whether a value is a number, however it is written.
pub(crate) fn is_number(content: &Content) -> bool {
    matches!(content, Content::Number(_) | Content::Written(_))
}

/// Whether a comma of the value may stand before a fraction or between thousands.
pub(crate) fn is_doubtful(content: &Content) -> bool {
    matches!(content, Content::Written(written) if written.thousands == Thousands::Doubtful)
}

/// Whether a value is a date with a time of day.
pub(crate) fn is_time(content: &Content) -> bool {
    matches!(content, Content::Written(written) if written.notation == Notation::Date && dates::has_time(written.value))
}

/// Whether a value is neither a number nor missing in a column of numbers.
pub(crate) fn is_word(content: &Content) -> bool {
    matches!(content, Content::Flag(..) | Content::Text)
}
