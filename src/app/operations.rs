//! The routes of operators on an address, a thread and a runtime of their own: they answer however busy
//! the service is.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

use axum::Router;
use tokio_util::sync::CancellationToken;

use crate::http::{self, ServeLimits};

/// Connections at once; probes and scrapers need few.
const CONNECTIONS_MAX: u64 = 64;

/// A second listener, not answering yet.
pub struct Operations {
    listener: TcpListener,
}

impl Operations {
    /// Listens on the address.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener })
    }

    /// The address, with the port that the system chose for port 0.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `stop`.
    ///
    /// # Errors
    /// When the system gives no thread.
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
                    Err(error) => tracing::error!(%error, "the operations listener is lost"),
                }
            });
        };
        let named = std::thread::Builder::new().name("operations".to_owned());
        named.spawn(served)
    }
}
