//! Delays between the attempts to deliver a callback.
//!
//! They follow the example schedule of Standard Webhooks 1.0: ten attempts over a little more than three days. Each
//! delay grows at random by up to a fifth, so that callbacks that failed together are not retried together. A retry
//! never comes earlier than the schedule says, but the receiver may ask for a later one, by up to a day.

use std::time::Duration;

/// Seconds from the first failure to the next attempt, then from the second failure, and so on. After the
/// tenth failure there is no further attempt.
const DELAYS_SECONDS: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// The longest delay that a receiver may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(86_400);

/// The delay after failure number `failures`, counted from 1, or `None` if that was the last attempt.
///
/// With `retry_after` the receiver may postpone a retry but not bring it forward. Draw a new `random` number for each
/// call.
#[must_use]
pub fn retry_delay(failures: u32, retry_after: Option<Duration>, random: u64) -> Option<Duration> {
    let index = usize::try_from(failures.checked_sub(1)?).ok()?;
    let milliseconds = DELAYS_SECONDS.get(index)? * 1000;
    let jitter = random % (milliseconds / 5 + 1);
    let delay = Duration::from_millis(milliseconds + jitter);
    let asked = retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
    Some(delay.max(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn callback_retry_delays_are_those_of_the_standard() {
        let delays: Vec<_> = (1..)
            .map_while(|failures| retry_delay(failures, None, 0))
            .collect();
        assert_eq!(delays.len(), 9);
        // The total of the standard's column "time since start": 75:35:05.
        let all: Duration = delays.iter().sum();
        assert_eq!(all, 75 * HOUR + Duration::from_secs(35 * 60 + 5));
        assert_eq!(delays[..2], [5, 300].map(Duration::from_secs));
        assert_eq!(retry_delay(0, None, 0), None);
        assert_eq!(retry_delay(u32::MAX, None, 0), None);
    }

    #[test]
    fn callback_retry_jitter_adds_up_to_a_fifth() {
        for (random, milliseconds) in [(0, 5000), (1, 5001), (1000, 6000), (1001, 5000)] {
            let delay = retry_delay(1, None, random);
            assert_eq!(delay, Some(Duration::from_millis(milliseconds)));
        }
        for random in [u64::MAX, u64::MAX / 3, 12_345_678_901] {
            let delay = retry_delay(9, None, random).unwrap();
            assert!(delay >= 24 * HOUR && delay <= 24 * HOUR * 6 / 5);
        }
    }

    #[test]
    fn callback_retry_after_is_obeyed_up_to_a_day() {
        let asked =
            |failures, seconds| retry_delay(failures, Some(Duration::from_secs(seconds)), 0);
        assert_eq!(asked(1, 60), Some(Duration::from_secs(60)));
        assert_eq!(asked(1, 1), Some(Duration::from_secs(5)));
        assert_eq!(asked(2, 60), Some(Duration::from_secs(300)));
        assert_eq!(asked(1, u64::MAX), Some(24 * HOUR));
        assert_eq!(asked(10, 60), None);
    }
}
