//! A second listener for the operations routes, with an address, a thread and a runtime of its own, so that these
//! routes respond even when the service is busy.

use std::io;
use std::net::{SocketAddr, TcpListener};

use axum::Router;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::watchdog::on_own_thread;
use crate::http::{self, ServeLimits};

/// The largest number of concurrent connections. Probes and scrapers need few.
const CONNECTIONS_MAX: u64 = 64;

/// A bound listener that does not answer requests yet.
pub struct Operations {
    listener: TcpListener,
}

impl Operations {
    /// Binds the listener to an address.
    ///
    /// # Errors
    /// The system refuses the address.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener })
    }

    /// The address, with the port that the system chose for port 0.
    ///
    /// # Errors
    /// The system does not return the address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until `stop`.
    ///
    /// # Errors
    /// The runtime or the thread cannot be started.
    pub fn serve(self, router: Router, stop: CancellationToken) -> io::Result<()> {
        let limits = ServeLimits {
            connections_max: CONNECTIONS_MAX,
            ..ServeLimits::default()
        };
        on_own_thread("operations", async move || {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            http::serve(listener, router, Handle::current(), limits, stop).await;
            Ok(())
        })
        .map(drop)
    }
}
