//! A socket with a minimum reading rate: a write that stays pending for too long ends the connection.
//!
//! The clock runs only while a write is pending, so a client that has read everything a quiet event stream sent keeps
//! its connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use metrics::counter;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::connections::Activity;

/// Bytes that a client must read per window: 16 KiB per second in a window of 30 s.
const WINDOW_BYTES_MIN: u64 = 480 * 1024;

/// A TCP stream that fails with [`io::ErrorKind::TimedOut`] when the client does not read.
pub struct WriteRate {
    stream: TcpStream,
    activity: Arc<Activity>,
    /// Time that writes may be pending before [`WINDOW_BYTES_MIN`] bytes are written.
    window: Duration,
    /// Bytes written in this window.
    written: u64,
    /// Time that the completed writes of this window were pending.
    waited: Duration,
    /// The pending write.
    pending: Option<Pending>,
}

struct Pending {
    since: Instant,
    /// Fires at the end of the window.
    timer: Pin<Box<Sleep>>,
}

impl WriteRate {
    /// Wraps a stream, and reports its progress to `activity`.
    pub fn new(stream: TcpStream, activity: Arc<Activity>, window: Duration) -> Self {
        Self {
            stream,
            activity,
            window,
            written: 0,
            waited: Duration::ZERO,
            pending: None,
        }
    }

    fn wrote(&mut self, bytes: usize) {
        self.activity.moved();
        match self.pending.take() {
            Some(pending) => {
                self.waited += pending.since.elapsed();
                self.written += bytes as u64;
                if self.written >= WINDOW_BYTES_MIN {
                    self.restart();
                }
            }
            // No write was pending, so the client has read all earlier bytes.
            None => self.restart(),
        }
    }

    fn restart(&mut self) {
        self.written = 0;
        self.waited = Duration::ZERO;
    }

    /// Returns pending until the window ends.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] at the end of the window.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.activity.blocked();
        let left = self.window.saturating_sub(self.waited);
        let pending = self.pending.get_or_insert_with(|| Pending {
            since: Instant::now(),
            timer: Box::pin(sleep(left)),
        });
        std::task::ready!(pending.timer.as_mut().poll(context));
        counter!("halfspace_rejects_total", "reason" => "slow-reader").increment(1);
        self.activity.abort();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn timed(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Pending => self.wait(context),
            Poll::Ready(Ok(bytes)) => {
                self.wrote(bytes);
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        }
    }
}

impl Drop for WriteRate {
    fn drop(&mut self) {
        if self.activity.is_aborted() {
            // With a linger of zero, the kernel drops the bytes that the client did not read.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncWrite for WriteRate {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.timed(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.timed(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl AsyncRead for WriteRate {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before && self.pending.is_none() {
            self.activity.moved();
        }
        read
    }
}
