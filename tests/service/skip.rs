//! The one way to skip a test that this machine cannot run.

use std::fmt::Display;

/// Prints why a test is skipped. With `HALFSPACE_TESTS_COMPLETE=1`, which continuous integration sets, no test may be
/// skipped, so the test fails instead.
#[expect(clippy::disallowed_methods, reason = "the variable is for the tests")]
pub fn skipped(reason: impl Display) {
    let is_complete = std::env::var("HALFSPACE_TESTS_COMPLETE").is_ok_and(|value| value == "1");
    assert!(
        !is_complete,
        "HALFSPACE_TESTS_COMPLETE=1, but this test was skipped: {reason}"
    );
    eprintln!("skipped: {reason}");
}
