//! Why a command ends without a result, and its exit status.

use std::process::ExitCode;

#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub struct Failure {
    detail: String,
    is_usage: bool,
}

impl Failure {
    /// The command line is wrong: exit status 2.
    pub fn usage(detail: String) -> Self {
        Self {
            detail,
            is_usage: true,
        }
    }

    /// The work failed: exit status 1.
    pub fn work(detail: String) -> Self {
        Self {
            detail,
            is_usage: false,
        }
    }

    /// The exit status.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(if self.is_usage { 2 } else { 1 })
    }
}
