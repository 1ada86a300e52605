//! Exact nonnegative decimals of any size, for thresholds that no floating-point number represents.
//!
//! `bigdecimal` and `dashu` do not fit: both accept more notations than a request may contain, and neither uses the
//! integers of `num-bigint` 0.5, with which the exact sums compute.

use std::fmt;

use num_bigint::BigUint;

/// Largest number of digits of a decimal, before and after the point together.
pub const DIGITS_MAX: usize = 10_000;

/// The nonnegative number `digits / 10^places`.
///
/// Invariant: `digits` ends in 0 only if `places` is 0, so equal decimals have equal fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    digits: BigUint,
    places: u32,
}

impl Decimal {
    /// Parses digits with at most one point between them, such as `12`, `0.5` or `1024.25`.
    ///
    /// # Errors
    /// Returns a message with the fault and the accepted form, which quotes the text only if it is short.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let is_pointed = text.contains('.');
        if whole.is_empty() || is_pointed == fraction.is_empty() || !is_digits(whole) {
            return Err(not_plain(text));
        }
        if !is_digits(fraction) {
            return Err(not_plain(text));
        }
        let count = whole.len() + fraction.len();
        if count > DIGITS_MAX {
            return Err(format!(
                "the number has {count} digits, more than theta_digits_max: {DIGITS_MAX}"
            ));
        }
        let fraction = fraction.trim_end_matches('0');
        let all = format!("{whole}{fraction}");
        let digits = BigUint::parse_bytes(all.as_bytes(), 10).expect("nothing but digits");
        let places = fraction.len() as u32;
        Ok(Self { digits, places })
    }

    /// Parses a JSON number exactly, including an exponent. Returns `None` if it is negative, has more than
    /// [`DIGITS_MAX`] digits, or has an exponent beyond this limit in magnitude.
    pub fn of_json_number(text: &str) -> Option<Self> {
        let (plain, exponent) = match text.split_once(['e', 'E']) {
            Some((plain, exponent)) => (plain, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
        let size = exponent.unsigned_abs() as usize;
        if size > DIGITS_MAX {
            return None;
        }
        let zeros = "0".repeat(size);
        let (whole, fraction) = if exponent < 0 {
            let padded = format!("{zeros}{whole}");
            let (whole, below) = padded.split_at(padded.len() - size);
            let whole = if whole.is_empty() { "0" } else { whole };
            (whole.to_owned(), format!("{below}{fraction}"))
        } else {
            let padded = format!("{fraction}{zeros}");
            let (above, fraction) = padded.split_at(size);
            (format!("{whole}{above}"), fraction.to_owned())
        };
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        Self::parse(&format!("{whole}{point}{fraction}")).ok()
    }

    /// Creates `digits / 10^places`. The arguments must satisfy the invariant of the type.
    pub(crate) fn of_digits(digits: BigUint, places: u32) -> Self {
        Self { digits, places }
    }

    pub fn whole(number: BigUint) -> Self {
        Self {
            digits: number,
            places: 0,
        }
    }

    /// This number reduced by a share of itself, and raised by it. The share is below 1.
    pub fn around(&self, share: &Self) -> [Self; 2] {
        let one = BigUint::from(10_u32).pow(share.places);
        [&one - &share.digits, &one + &share.digits].map(|factor| {
            let (mut digits, mut places) = (&self.digits * factor, self.places + share.places);
            while places > 0 && &digits % 10_u32 == BigUint::ZERO {
                (digits, places) = (digits / 10_u32, places - 1);
            }
            Self { digits, places }
        })
    }

    /// Digits without the point.
    pub fn digits(&self) -> &BigUint {
        &self.digits
    }

    /// Number of digits after the point.
    pub fn places(&self) -> u32 {
        self.places
    }

    pub fn is_zero(&self) -> bool {
        self.digits == BigUint::ZERO
    }

    /// Natural logarithm, also for numbers outside the range of `f64`. The logarithm of 0 is minus infinity.
    pub fn ln(&self) -> f64 {
        let drop = self.digits.bits().saturating_sub(64);
        let leading = u64::try_from(&self.digits >> drop).expect("64 bits are left");
        libm::log(leading as f64) + drop as f64 * core::f64::consts::LN_2
            - f64::from(self.places) * core::f64::consts::LN_10
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Self {
        Self::whole(BigUint::from(number))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.places as usize;
        let text = format!("{:0>width$}", self.digits.to_string(), width = places + 1);
        let (whole, fraction) = text.split_at(text.len() - places);
        to.write_str(whole)?;
        if places > 0 {
            write!(to, ".{fraction}")?;
        }
        Ok(())
    }
}

fn not_plain(text: &str) -> String {
    let shown = if text.len() <= 40 { text } else { "the text" };
    format!("{shown:?} is not a plain decimal such as \"12\" or \"0.5\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_shown_in_its_shortest_form() {
        for (text, shown) in [
            ("0", "0"),
            ("007", "7"),
            ("0.50", "0.5"),
            ("12.000", "12"),
            ("0.0001", "0.0001"),
            ("120", "120"),
            (
                "340282366920938463463374607431768211456",
                "340282366920938463463374607431768211456",
            ),
        ] {
            let decimal = Decimal::parse(text).expect("plain");
            assert_eq!(decimal.to_string(), shown);
            assert_eq!(Decimal::parse(shown), Ok(decimal));
        }
    }

    #[test]
    fn decimal_keeps_the_digits_of_json_numbers() {
        for (text, plain) in [
            ("1.7", "1.7"),
            ("17e-1", "1.7"),
            ("0.17E1", "1.7"),
            ("1.70000000000000001", "1.70000000000000001"),
            ("17e-3", "0.017"),
            ("1.5e+2", "150"),
            ("2", "2"),
            ("2.000", "2"),
            ("1e3", "1000"),
        ] {
            let read = Decimal::of_json_number(text).expect(text);
            assert_eq!(read.to_string(), plain, "{text}");
        }
        for text in ["-1", "1e100000", "1e-99999999999"] {
            assert_eq!(Decimal::of_json_number(text), None, "{text}");
        }
    }

    #[test]
    fn decimal_around_a_share_is_exact() {
        let parse = |text: &str| Decimal::parse(text).expect("plain");
        assert_eq!(
            parse("240").around(&parse("0.2")),
            [parse("192"), parse("288")]
        );
        assert_eq!(
            parse("0.5").around(&parse("0.25")),
            [parse("0.375"), parse("0.625")]
        );
    }

    #[test]
    fn decimal_refuses_other_notations() {
        for text in [
            "", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0x1", "1.2.3", " 1", "inf", "١",
        ] {
            assert!(Decimal::parse(text).is_err(), "{text}");
        }
        let long = "9".repeat(DIGITS_MAX);
        assert!(Decimal::parse(&long).is_ok());
        let error = Decimal::parse(&format!("{long}.5")).expect_err("too long");
        assert_eq!(
            error,
            "the number has 10001 digits, more than theta_digits_max: 10000"
        );
    }

    #[test]
    fn decimal_beyond_f64_has_a_logarithm() {
        let parse = |text: &str| Decimal::parse(text).expect("plain");
        assert!((parse("0.5").ln() - 0.5_f64.ln()).abs() < 1e-15);
        assert!((parse("1000").ln() - 1000_f64.ln()).abs() < 1e-14);
        let large = Decimal::whole(BigUint::from(1_u32) << 30_000);
        assert!((large.ln() / (30_000.0 * 2_f64.ln()) - 1.0).abs() < 1e-14);
        let small = format!("0.{}1", "0".repeat(5_000));
        assert!((parse(&small).ln() / (-5_001.0 * 10_f64.ln()) - 1.0).abs() < 1e-14);
    }
}
