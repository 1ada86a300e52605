//! The bytes to which a compressed file expands, counted under the limits of a decompressed body.

use crate::error::Fault;
use crate::options::ParseLimits;

/// Counts the bytes to which compressed bytes expand.
pub(super) struct Expansion {
    /// What expands, as in "workbook".
    what: &'static str,
    compressed: u64,
    bytes: u64,
    limits: ParseLimits,
}

impl Expansion {
    /// Starts to count the bytes to which so many compressed bytes expand.
    pub(super) fn new(what: &'static str, compressed: u64, limits: &ParseLimits) -> Self {
        Self {
            what,
            compressed,
            bytes: 0,
            limits: limits.clone(),
        }
    }

    /// Counts bytes.
    ///
    /// # Errors
    /// When the bytes exceed the limit of a body or the limit of their ratio.
    pub(super) fn add(&mut self, bytes: u64) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(bytes);
        let (what, limits) = (self.what, &self.limits);
        if self.bytes > limits.body_bytes_max {
            return Err(Fault::too_large(
                &format!("The {what} is too large (counted after decompression)"),
                limits.body_limit_name,
                limits.body_bytes_max,
            ));
        }
        let ratio_max = limits.decompression_ratio_max;
        if self.bytes <= limits.decompressed_bytes_free
            || self.bytes <= self.compressed.saturating_mul(ratio_max)
        {
            return Ok(());
        }
        let what = format!(
            "{} compressed bytes of the {what} expand to {} bytes or more; above {} bytes the ratio is limited",
            self.compressed, self.bytes, limits.decompressed_bytes_free
        );
        Err(Fault::too_large(
            &what,
            "decompression_ratio_max",
            ratio_max,
        ))
    }
}
