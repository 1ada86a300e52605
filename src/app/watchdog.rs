//! The thread that accepts the connections of the service, answers `/livez`, and watches the runtime.
//!
//! Nothing else runs on this thread and its runtime. Even when loops occupy all other threads, it therefore still
//! answers the liveness probe and reports the stall.

use std::io;
use std::sync::Arc;

use axum::Router;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::http::{self, RuntimeWatch, ServeLimits};

/// Serves connections until `stop`. Every request but `/livez` is answered on the caller's runtime. The receiver that
/// is returned learns when serving has ended.
///
/// # Errors
/// The thread or its runtime cannot be started.
pub fn serve(
    listener: TcpListener,
    router: Router,
    limits: ServeLimits,
    watch: Arc<RuntimeWatch>,
    stop: CancellationToken,
) -> io::Result<oneshot::Receiver<()>> {
    let (listener, runtime) = (listener.into_std()?, Handle::current());
    on_own_thread("watchdog", async move || {
        let listener = TcpListener::from_std(listener)?;
        tokio::select! {
            () = http::serve(listener, router, runtime, limits, stop) => {}
            () = watch.keep() => {}
        }
        Ok(())
    })
}

/// Runs a future on a thread and a runtime of its own. The receiver that is returned learns when it has ended.
///
/// # Errors
/// The thread or its runtime cannot be started.
pub fn on_own_thread(
    name: &'static str,
    run: impl AsyncFnOnce() -> io::Result<()> + Send + 'static,
) -> io::Result<oneshot::Receiver<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (ended, receiver) = oneshot::channel();
    let ran = move || {
        if let Err(error) = runtime.block_on(run()) {
            tracing::error!(%error, thread = name, "the thread failed");
        }
        let _ = ended.send(());
    };
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(ran)?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use axum::routing::get;

    use crate::http::StallLimits;

    use super::*;

    /// A generous limit, in requests of at least some hundredths of a millisecond each.
    const REQUESTS_MAX: u32 = 1_000_000;

    /// The body of an answer over a new connection.
    fn body(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let head = "HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        // Like a client, in one piece: the first bytes decide where a connection is answered.
        let request = format!("GET {path} {head}");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Ends the loops, also when the test fails: the runtime waits for them.
    struct Held(Arc<AtomicBool>);

    impl Drop for Held {
        fn drop(&mut self) {
            self.0.store(false, Ordering::Relaxed);
        }
    }

    /// Asks for liveness until the stalled milliseconds are as expected.
    fn wait_for(address: SocketAddr, is_expected: impl Fn(u64) -> bool) {
        let mut stalled = (0..REQUESTS_MAX).map(|_| body(address, "/livez").parse().unwrap());
        assert!(stalled.any(is_expected), "the watch does not see it");
    }

    #[test]
    fn watchdog_finds_a_stall_while_liveness_is_answered() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let _entered = runtime.enter();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let watch = RuntimeWatch::new(runtime.handle().clone(), StallLimits::default());
        let told = Arc::clone(&watch);
        let stalled = get(async move || told.stalled().as_millis().to_string());
        let router = Router::new()
            .route("/livez", stalled)
            .route("/other", get(async || "other"));
        let stop = CancellationToken::new();
        let limits = ServeLimits::default();
        let served = serve(listener, router, limits, watch, stop.clone()).unwrap();
        for loops in [1, 2] {
            assert_eq!(body(address, "/other"), "other");
            let is_held = Arc::new(AtomicBool::new(true));
            let held = Held(Arc::clone(&is_held));
            for _ in 0..loops {
                let is_held = Arc::clone(&is_held);
                runtime.spawn(async move {
                    while is_held.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            wait_for(address, |stalled| stalled >= 2_000);
            drop(held);
            wait_for(address, |stalled| stalled == 0);
        }
        assert_eq!(body(address, "/other"), "other");
        stop.cancel();
        runtime.block_on(served).unwrap();
    }
}
