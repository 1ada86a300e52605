//! Request bodies: from frames on a socket to a blocking reader, decompressed, limited, timed.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, header};
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;

use crate::formats::{self, ContentCoding, FormatError};

use super::App;
use super::problem::{Code, Problem};

/// How long a body waits until another has been read.
const PERMIT_PATIENCE: Duration = Duration::from_secs(5);

/// Frames that may wait between the socket and the parser.
const FRAMES_WAITING: usize = 8;

/// A body no longer than this, uncompressed, is collected and parsed on the spot
/// when that is little work.
const SMALL_BYTES_MAX: u64 = 64 * 1024;

/// A body must bring [`WINDOW_BYTES_MIN`] bytes in each window, or end in it.
pub const WINDOW: Duration = Duration::from_secs(30);

/// 16 KiB a second.
pub const WINDOW_BYTES_MIN: u64 = 30 * 16 * 1024;

/// How much work it is to take a body in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A small multiple of its bytes.
    AsItsBytes,
    /// Possibly much for few bytes.
    Unknown,
    /// As much as its client likes, which may go on for long; but little of it is held at a time.
    Streamed,
}

/// Reads a body as a stream in the blocking pool, or a small one of little effort on the spot.
///
/// `parse` gets the decompressed bytes, of which there are at most `limits.body_bytes_max`.
///
/// With what was read comes the permit under which it was, to be held as long as there is as much
/// work with it; a small body needs none.
///
/// # Errors
/// What `parse` says; a body that is too long, too slow, wrongly compressed or cut off.
pub async fn read<T: Send + 'static>(
    app: &App,
    headers: &HeaderMap,
    body: Body,
    limits: &formats::Limits,
    effort: Effort,
    parse: impl FnOnce(&mut dyn Read) -> Result<T, Problem> + Send + 'static,
) -> Result<(T, Option<OwnedSemaphorePermit>), Problem> {
    let coding = content_coding(headers)?;
    let length = declared_length(headers);
    let mut frames = Frames::new(body);
    if coding == ContentCoding::Identity {
        if length.is_some_and(|length| length > limits.body_bytes_max) {
            let (name, limit) = (limits.body_limit_name, limits.body_bytes_max);
            let detail = format!("The body is longer than {name} allows: {limit} bytes.");
            return Err(Problem::new(Code::TOO_LARGE, detail));
        }
        let is_small = length.is_some_and(|length| length <= SMALL_BYTES_MAX);
        if is_small && effort == Effort::AsItsBytes {
            let bytes = frames.collect().await?;
            return Ok((parse(&mut bytes.reader())?, None));
        }
    }
    let permit = match effort {
        Effort::AsItsBytes | Effort::Unknown => permit(app).await?,
        Effort::Streamed => stream_permit(app)?,
    };
    // The time until here was not the client's.
    frames.window_began = Instant::now();
    let (sender, receiver) = mpsc::channel(FRAMES_WAITING);
    let limits = limits.clone();
    let parsed = tokio::task::spawn_blocking(move || {
        let source = FrameReader::new(receiver);
        let mut decoder = formats::decoder(coding, source, &limits)?;
        let parsed = parse(&mut decoder)?;
        // A parser may stop before the end of the coding; damage there is damage too.
        io::copy(&mut decoder, &mut io::sink()).map_err(FormatError::from)?;
        Ok::<_, Problem>((parsed, Some(permit)))
    });
    let fed = frames.feed(sender).await;
    let parsed = parsed.await;
    let parsed = parsed.map_err(|_| Problem::new(Code::INTERNAL, "The parser met a defect."))?;
    fed?;
    parsed
}

/// Computes in the blocking pool, under a permit, what is as much work as reading a large body.
///
/// # Errors
/// What `work` says.
pub async fn compute<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    let defect = |_| Problem::new(Code::INTERNAL, "The computation met a defect.");
    done.await.map_err(defect)?
}

/// The right to hold as much as a large body, be it sent along or read from the store.
///
/// # Errors
/// 503 when too many are held for too long.
pub async fn permit(app: &App) -> Result<OwnedSemaphorePermit, Problem> {
    let permit = Arc::clone(&app.uploads).acquire_owned();
    match tokio::time::timeout(PERMIT_PATIENCE, permit).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => {
            let limit = app.limits.uploads_max;
            let detail = format!("{limit} bodies are being read, as many as uploads_max allows.");
            Err(Problem::new(Code::QUEUE_FULL, detail))
        }
    }
}

/// The right to be answered line by line. Nobody knows when one is free again: nobody waits.
///
/// # Errors
/// 503 when too many are held.
pub fn stream_permit(app: &App) -> Result<OwnedSemaphorePermit, Problem> {
    let permit = Arc::clone(&app.streams).try_acquire_owned();
    permit.map_err(|_| {
        let limit = app.limits.streams_max;
        let detail =
            format!("{limit} bodies are answered in lines, as many as streams_max allows.");
        Problem::new(Code::QUEUE_FULL, detail)
    })
}

/// How a body says that it is compressed.
///
/// # Errors
/// A coding that is not read.
pub fn content_coding(headers: &HeaderMap) -> Result<ContentCoding, Problem> {
    let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(value) = values.next() else {
        return Ok(ContentCoding::Identity);
    };
    let text = match values.next() {
        Some(_) => "several codings",
        None => value.to_str().unwrap_or("unreadable"),
    };
    ContentCoding::from_header(text)
        .map_err(|error| Problem::parameter(Code::UNKNOWN_CODING, "Content-Encoding", error.detail))
}

/// The length that the head of a request names.
pub fn declared_length(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get(header::CONTENT_LENGTH)?;
    value.to_str().ok()?.parse().ok()
}

/// The frames of a body as they come in.
struct Frames {
    stream: BodyDataStream,
    window_began: Instant,
    window_bytes: u64,
}

impl Frames {
    fn new(body: Body) -> Self {
        Self {
            stream: body.into_data_stream(),
            window_began: Instant::now(),
            window_bytes: 0,
        }
    }

    /// The next frame; none at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let deadline = self.window_began + WINDOW;
        let Ok(frame) = tokio::time::timeout_at(deadline, self.stream.next()).await else {
            let detail = "The body came in at less than 16 KiB a second.";
            return Err(Problem::new(Code::TIMEOUT, detail));
        };
        let Some(frame) = frame else { return Ok(None) };
        let broken = |_| Problem::new(Code::UNREADABLE, "The connection broke inside the body.");
        let frame = frame.map_err(broken)?;
        self.window_bytes += frame.len() as u64;
        if self.window_bytes >= WINDOW_BYTES_MIN {
            self.window_began = Instant::now();
            self.window_bytes = 0;
        }
        Ok(Some(frame))
    }

    /// All frames of a small body.
    async fn collect(mut self) -> Result<Bytes, Problem> {
        let Some(first) = self.next().await? else {
            return Ok(Bytes::new());
        };
        let mut all = Vec::new();
        while let Some(frame) = self.next().await? {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&frame);
        }
        Ok(if all.is_empty() { first } else { all.into() })
    }

    /// Hands the frames to a parser until it has enough.
    async fn feed(&mut self, sender: mpsc::Sender<io::Result<Bytes>>) -> Result<(), Problem> {
        loop {
            // A parser that gives up does so at once, whenever the next frame comes.
            let frame = tokio::select! {
                frame = self.next() => frame,
                () = sender.closed() => return Ok(()),
            };
            let frame = match frame {
                Ok(Some(frame)) if frame.is_empty() => continue,
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    let _ = sender.send(Ok(END)).await;
                    return Ok(());
                }
                Err(problem) => {
                    // The parser must not take a broken body for a whole one.
                    let broken = io::Error::from(io::ErrorKind::ConnectionAborted);
                    let _ = sender.send(Err(broken)).await;
                    return Err(problem);
                }
            };
            // The time that the parser takes is not the client's.
            let handed = Instant::now();
            if sender.send(Ok(frame)).await.is_err() {
                return Ok(());
            }
            self.window_began += handed.elapsed();
        }
    }
}

/// The frame after the last one, which no frame of a body looks like.
const END: Bytes = Bytes::new();

/// The blocking end of the channel.
struct FrameReader {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
    ended: bool,
}

impl FrameReader {
    fn new(receiver: mpsc::Receiver<io::Result<Bytes>>) -> Self {
        Self {
            receiver,
            current: Bytes::new(),
            ended: false,
        }
    }
}

impl Read for FrameReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        if self.current.is_empty() {
            // A sender that is gone before the end went with its client.
            let gone = || io::Error::from(io::ErrorKind::ConnectionAborted);
            self.current = self.receiver.blocking_recv().ok_or_else(gone)??;
            self.ended = self.current.is_empty();
        }
        let length = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
