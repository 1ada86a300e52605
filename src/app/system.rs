//! The clock and the entropy of the system, which all other code takes as parameters.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::{StdRng, SysRng};
use rand::{SeedableRng, TryRng};

use crate::jobs::Ids;
use crate::records::{Clock, Timestamp};

use super::start_error::StartError;

#[derive(Debug)]
pub(super) struct SystemClock {
    begun: tokio::time::Instant,
}

impl SystemClock {
    pub(super) fn start() -> Self {
        let begun = tokio::time::Instant::now();
        Self { begun }
    }
}

impl Clock for SystemClock {
    // Only this function reads the time of day.
    #[expect(clippy::disallowed_methods)]
    fn now(&self) -> Timestamp {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let milliseconds = since_epoch.map_or(0, |since| since.as_millis());
        Timestamp::from_milliseconds(i64::try_from(milliseconds).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

/// The source of ids, seeds and times of a process.
pub(super) fn ids() -> Result<Ids, StartError> {
    let generator = StdRng::from_seed(entropy()?);
    Ok(Ids::new(Arc::new(SystemClock::start()), generator))
}

/// Draws 256 unpredictable bits. Nothing else asks the system for random numbers.
pub(super) fn entropy() -> Result<[u8; 32], StartError> {
    let mut drawn = [0; 32];
    let filled = SysRng.try_fill_bytes(&mut drawn);
    filled.map_err(|error| StartError::Random(error.to_string()))?;
    Ok(drawn)
}
