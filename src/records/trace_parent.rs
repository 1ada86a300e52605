//! The position of a piece of work in a distributed trace, in the form of the header `traceparent` (W3C
//! recommendation "Trace Context").
//!
//! The propagator of `opentelemetry_sdk` 0.33 also accepts ids with fewer than 32 or 16 digits and clears all flags but
//! the first. A job keeps this text in its row, so we accept only what the recommendation allows and keep what we got.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use std::str::FromStr;

/// The trace and the span that caused a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: NonZeroU128,
    pub span: NonZeroU64,
    /// Bit 0: the caller records this trace.
    pub flags: u8,
}

/// The text is not a `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the value is not a traceparent: version, trace, span and flags in hexadecimal, joined by -"
)]
pub struct ParseTraceParentError;

impl FromStr for TraceParent {
    type Err = ParseTraceParentError;

    /// A version above 0 may have further fields, which are ignored as the recommendation demands.
    fn from_str(text: &str) -> Result<Self, ParseTraceParentError> {
        let mut fields = text.split('-');
        let mut field = |digits: usize| {
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let field = fields
                .next()
                .filter(|field| field.len() == digits && field.bytes().all(is_digit));
            field.ok_or(ParseTraceParentError)
        };
        let (version, trace, span, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
        if version == "ff" || version == "00" && fields.next().is_some() {
            return Err(ParseTraceParentError);
        }
        let invalid = |_| ParseTraceParentError;
        Ok(Self {
            trace: NonZeroU128::new(u128::from_str_radix(trace, 16).map_err(invalid)?)
                .ok_or(ParseTraceParentError)?,
            span: NonZeroU64::new(u64::from_str_radix(span, 16).map_err(invalid)?)
                .ok_or(ParseTraceParentError)?,
            flags: u8::from_str_radix(flags, 16).map_err(invalid)?,
        })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "00-{:032x}-{:016x}-{:02x}",
            self.trace, self.span, self.flags
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_read_and_written() {
        let read: TraceParent = VALID.parse().unwrap();
        assert_eq!((read.span.get(), read.flags), (0xb7ad_6b71_6920_3331, 1));
        assert_eq!(read.to_string(), VALID);
        let later = format!("{}-more", VALID.replacen("00", "01", 1));
        assert_eq!(later.parse(), Ok(read));
    }

    #[test]
    fn a_wrong_traceparent_is_refused() {
        for text in [
            String::new(),
            VALID.to_uppercase(),
            VALID.replacen("00", "ff", 1),
            format!("{VALID}-more"),
            VALID.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            VALID.replace("b7ad6b7169203331", &"0".repeat(16)),
            VALID.replace("b7ad6b7169203331", "+7ad6b7169203331"),
            VALID[..VALID.len() - 1].to_owned(),
        ] {
            assert_eq!(
                text.parse::<TraceParent>(),
                Err(ParseTraceParentError),
                "{text}"
            );
        }
    }
}
