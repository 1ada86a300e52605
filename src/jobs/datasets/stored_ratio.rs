//! The limit on the stored bytes of a dataset per byte of the data as they were sent.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a dataset that may be stored at any ratio: eight dense rows of 1,048,576 numbers.
const STORED_BYTES_FREE: u64 = 64 << 20;

/// The limit, and what it refused. Clones share the refusal.
#[derive(Clone)]
pub struct StoredRatio {
    /// Bytes that have arrived so far, before decompression.
    sent: Arc<dyn Fn() -> u64 + Send + Sync>,
    ratio_max: u64,
    /// The last stored size that was refused.
    refused: Arc<AtomicU64>,
}

impl StoredRatio {
    pub fn new(ratio_max: u64, sent: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self {
            sent: Arc::new(sent),
            ratio_max,
            refused: Arc::default(),
        }
    }

    /// Returns whether so many stored bytes are within the limit for the data so far.
    pub fn admits(&self, bytes: u64) -> bool {
        let is_within =
            bytes <= STORED_BYTES_FREE || bytes <= (self.sent)().saturating_mul(self.ratio_max);
        if !is_within {
            self.refused.store(bytes, Ordering::Relaxed);
        }
        is_within
    }

    /// A sentence about the refused size.
    pub fn refusal(&self) -> String {
        format!(
            "{} bytes of the body stand for {} stored bytes or more; above {} bytes the limit stored_ratio_max is {}. \
             Dense examples are stored with all their features: fewer features, or only 0 and 1, take less.",
            (self.sent)(),
            self.refused.load(Ordering::Relaxed),
            STORED_BYTES_FREE,
            self.ratio_max
        )
    }
}

impl fmt::Debug for StoredRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredRatio({})", self.ratio_max)
    }
}
