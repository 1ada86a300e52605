//! Callbacks: one signed HTTP request that tells a client's server how a job ended.
//!
//! The form is that of Standard Webhooks 1.0 (<https://www.standardwebhooks.com>), which defines the headers, the
//! signature and the meaning of a response. This module delivers one callback and computes when to try again. The
//! store keeps the pending callbacks, `jobs` decides which worker delivers them, and the request that asked for a
//! callback is not known here.
//!
//! - [`document`] is the body of the request.
//! - [`client`] delivers one callback and connects only to permitted addresses.
//! - [`address`] decides which addresses are permitted.
//! - [`url`] checks the callback URL of a client.
//! - [`signature`] signs the request.
//! - [`schedule`] computes the delay before a retry.

pub mod address;
pub mod client;
pub mod document;
pub mod schedule;
pub mod signature;
#[cfg(test)]
mod tests;
pub mod url;

pub use address::{Allowed, RefusedAddress, parse_network};
pub use client::{CallbackClient, DeliveryError, system_roots};
pub use signature::{Secret, Signer};
pub use url::{CallbackUrl, CallbackUrlError};
