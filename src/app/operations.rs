//! A second listener for the operations routes. It has its own address, thread and runtime, so these routes
//! respond even when the service is busy.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

use axum::Router;
use tokio_util::sync::CancellationToken;

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
    pub fn serve(self, router: Router, stop: CancellationToken) -> io::Result<JoinHandle<()>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let limits = ServeLimits {
            connections_max: CONNECTIONS_MAX,
            ..ServeLimits::default()
        };
        let served = move || {
            runtime.block_on(async {
                match tokio::net::TcpListener::from_std(self.listener) {
                    Ok(listener) => http::serve(listener, router, limits, stop).await,
                    Err(error) => tracing::error!(%error, "the operations listener failed"),
                }
            });
        };
        let named = std::thread::Builder::new().name("operations".to_owned());
        named.spawn(served)
    }
}
