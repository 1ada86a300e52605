//! The callback of a job: the URL and the state of the delivery.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

/// The callback of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Callback {
    /// The URL that is notified when the job ends.
    pub url: String,
    pub state: CallbackState,
    /// Number of failed deliveries.
    pub failures: u32,
    /// The reason why the last delivery failed. Null if none failed and after a successful delivery.
    pub error: Option<String>,
}

/// The state of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallbackState {
    /// Not delivered yet. Either the job has not ended or no delivery has succeeded so far.
    Pending,
    /// The receiver accepted the callback.
    Delivered,
    /// The receiver refused further attempts, or the last attempt failed.
    GivenUp,
}

impl Callback {
    /// A new callback without any delivery.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            state: CallbackState::Pending,
            failures: 0,
            error: None,
        }
    }

    /// The host of the URL; empty if there is none. Concurrent deliveries are limited per host.
    #[must_use]
    pub fn host(&self) -> String {
        let url = url::Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(url::Url::host_str);
        // `host.example.` names the same host.
        let host = host.unwrap_or_default();
        host.strip_suffix('.').unwrap_or(host).to_owned()
    }

    /// A short text that stands for the URL.
    #[must_use]
    pub fn url_digest(&self) -> String {
        let digest: [u8; 32] = Sha256::digest(&self.url).into();
        hex::encode(&digest[..16])
    }
}
