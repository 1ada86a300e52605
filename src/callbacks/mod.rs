//! Callbacks: one signed request that tells a client's server how its job ended.
//!
//! The form is Standard Webhooks 1.0 (<https://www.standardwebhooks.com>): its headers, its
//! signature, its meaning of an answer. Here is how one callback is delivered, and when it is tried
//! again; what waits to be delivered is the store's, and who delivers it is `jobs`. Of the request
//! that asked for the callback nothing is known here.
//!
//! - [`client`] delivers one callback, to addresses that may be dialled and no others.
//! - [`address`] says which those are, [`url`] what a client may name.
//! - [`signature`] signs; [`schedule`] says when to try again.

pub mod address;
pub mod client;
pub mod schedule;
pub mod signature;
#[cfg(test)]
mod tests;
pub mod url;

pub use address::{Allowed, Network, RefusedAddress};
pub use client::{CallbackClient, DeliveryError, system_roots};
pub use signature::{Secret, Signer};
pub use url::{CallbackUrl, CallbackUrlError};
