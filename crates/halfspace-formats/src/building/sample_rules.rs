//! The rules on values, lengths and limits that hold for dense and for sparse examples.

use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::classes::Classes;
use crate::error::{Fault, FormatErrorKind, Place};
use crate::options::ParseLimits;
use crate::stored::header::RowsKind;
use crate::stored::spool::NotReserved;

/// What a builder knows of its examples, whatever their layout.
pub(crate) struct SampleRules {
    pub(crate) limits: ParseLimits,
    /// Features per example, if the caller fixed the number.
    pub(crate) fixed_n: Option<usize>,
    /// Kind of the features, if the caller fixed the kind.
    pub(crate) kind: Option<RowsKind>,
    /// Features per example so far.
    pub(crate) n: usize,
    /// Low values that occurred explicitly. If both occur, the data are real.
    pub(crate) zero_seen: bool,
    pub(crate) minus_seen: bool,
    /// Place of the value that made the data real.
    pub(crate) first_real: Option<Place>,
    /// The classes of the labels.
    pub(crate) classes: Option<Classes>,
}

impl SampleRules {
    /// Makes the rules for examples of `fixed_n` features, or of any number.
    ///
    /// # Errors
    /// When a fixed `n` is 0 or over the limit.
    pub(crate) fn new(limits: &ParseLimits, fixed_n: Option<usize>) -> Result<Self, Fault> {
        let n = fixed_n.unwrap_or(0);
        if fixed_n == Some(0) {
            let detail = "The option n is 0; an example has at least one feature.";
            return Err(Fault::new(FormatErrorKind::EmptyData, detail));
        }
        limits.check_n(n)?;
        Ok(Self {
            limits: limits.clone(),
            fixed_n,
            kind: None,
            n,
            zero_seen: false,
            minus_seen: false,
            first_real: None,
            classes: None,
        })
    }

    /// Checks that nobody fixed the number of features, because names have none.
    ///
    /// # Errors
    /// When n is fixed.
    pub(crate) fn check_no_n(fixed_n: Option<usize>) -> Result<(), Fault> {
        let Some(n) = fixed_n else { return Ok(()) };
        let detail = format!(
            "The features have names, but n = {n} numbered features are expected; write bits or numbers, or leave n \
             out if the request gives it."
        );
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }

    /// Makes the fault of an infinite value, or of no number.
    #[cold]
    pub(crate) fn not_finite(value: f64) -> Fault {
        let detail = format!("{value} is not finite; a value is a finite number.");
        Fault::new(FormatErrorKind::BadValue, detail)
    }

    /// Notes a value other than 1. Returns whether the values so far are still two-valued.
    #[inline]
    pub(crate) fn is_low(&mut self, value: f64) -> bool {
        if value == 0.0 && !self.minus_seen {
            self.zero_seen = true;
        } else if value == -1.0 && !self.zero_seen {
            self.minus_seen = true;
        } else {
            return false;
        }
        true
    }

    /// Checks that data may be real.
    pub(crate) fn check_real(&self) -> Result<(), Fault> {
        if self.kind != Some(RowsKind::Boolean) {
            return Ok(());
        }
        let detail = "The value is not Boolean; the values of all examples must be 0/1, or all must be -1/1.";
        Err(Fault::new(FormatErrorKind::NotBoolean, detail))
    }

    /// Makes the fault of examples whose bytes exceed the limit.
    #[cold]
    pub(crate) fn too_large(&self, rows: usize, n: usize, bytes: u64) -> Fault {
        let (limit, name) = (self.limits.state_bytes_max, self.limits.state_limit_name);
        let what = format!("{rows} examples of {n} features take {bytes} bytes");
        Fault::too_large(&what, name, limit)
    }

    /// Makes the fault of examples for whose stored form no room could be reserved.
    #[cold]
    pub(crate) fn not_reserved(_: NotReserved) -> Fault {
        let detail = "The examples exceed the storage quota.";
        Fault::new(FormatErrorKind::NotReserved, detail)
    }

    /// Checks that `rows` examples are a sample.
    pub(crate) fn check_present(&self, rows: usize) -> Result<(), Fault> {
        let detail = match (rows, self.n) {
            (0, _) => "The data have no examples; send at least one.",
            (_, 0) => {
                "No example has a feature; send at least one feature, or set the option n, or `vocabulary=open` if \
                 features have names."
            }
            _ => return Ok(()),
        };
        Err(Fault::new(FormatErrorKind::EmptyData, detail))
    }

    /// The sample of the rows. `low` is the value that a 0 bit had in the body.
    pub(crate) fn parsed(self, data: ParsedRows, low: f64) -> Parsed<ParsedRows> {
        Parsed {
            first_real: self.first_real,
            zero_bit_value: low,
            classes: self.classes,
            ..Parsed::of(data)
        }
    }
}
