//! Request bodies: from frames on a socket to a blocking reader, decompressed, limited, timed.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use halfspace_core::memory::{self, Grant};
use halfspace_formats::{self, ContentCoding, FormatError};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use crate::records::Owner;

use super::App;
use super::permits::OwnerPermit;
use super::problem::{Code, Problem};
use super::work::{SMALL_WORDS_MAX, Work};

/// Frames that may wait between the socket and the parser.
const FRAMES_WAITING: usize = 8;

/// A body no longer than this is collected before the parser starts. Such a body needs no permit when
/// uncompressed and little work.
pub const SMALL_BYTES_MAX: u64 = 64 * 1024;

/// How long a small body is collected if the answer may begin before the end of the body. A client that
/// reads each answer before sending more waits so long once.
const COLLECTED_WITHIN: Duration = Duration::from_millis(100);

/// A body must bring [`WINDOW_BYTES_MIN`] bytes in each window, or end in it.
pub const WINDOW: Duration = Duration::from_secs(30);

/// 16 KiB a second.
pub const WINDOW_BYTES_MIN: u64 = 30 * 16 * 1024;

/// How much work it is to take a body in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A small multiple of its bytes.
    AsItsBytes,
    /// At most this, for a body that is small.
    Bounded(Work),
    /// Possibly much for few bytes.
    Unknown,
    /// As much as its client likes, which may go on for long; but little of it is held at a time.
    /// At most this, for a body that is small and comes at once.
    Streamed(Work),
}

/// The memory that a request takes before its body is parsed: frames, and the buffers of a decoder.
const READING_BYTES: u64 = 256 << 10;

/// The memory that a request has taken, which the request holds until it is answered.
#[derive(Clone, Debug, Default)]
pub struct RequestMemory(Arc<Mutex<Vec<Grant>>>);

impl RequestMemory {
    fn hold(&self, grant: Grant) {
        let mut grants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        grants.push(grant);
    }
}

/// Lets a request hold the memory that it takes until it is answered.
pub async fn hold_memory(mut request: Request, next: Next) -> Response {
    let held = RequestMemory::default();
    request.extensions_mut().insert(held.clone());
    let response = next.run(request).await;
    drop(held);
    response
}

/// Reads a body as a stream in the blocking pool, under a permit of the owner. A small body of little
/// effort needs no permit, and is read on the spot when the effort is proportional to the bytes.
///
/// `parse` gets the decompressed bytes, of which there are at most `limits.body_bytes_max`.
///
/// With what was read comes the permit under which it was, to be held as long as there is as much
/// work with it.
///
/// # Errors
/// What `parse` says; a body that is too long, too slow, wrongly compressed or cut off.
pub async fn read<T: Send + 'static>(
    app: &App,
    parts: &Parts,
    body: Body,
    limits: &halfspace_formats::Limits,
    effort: Effort,
    parse: impl FnOnce(&mut dyn Read) -> Result<T, Problem> + Send + 'static,
) -> Result<(T, Option<OwnerPermit>), Problem> {
    let coding = content_coding(&parts.headers)?;
    let length = declared_length(&parts.headers).or(body.size_hint().exact());
    if coding == ContentCoding::Identity
        && length.is_some_and(|length| length > limits.body_bytes_max)
    {
        let (name, limit) = (limits.body_limit_name, limits.body_bytes_max);
        let detail = format!("The body is longer than {name} allows: {limit} bytes.");
        return Err(Problem::new(Code::TOO_LARGE, detail));
    }
    let mut frames = Frames::new(body);
    // A slow body holds neither a permit nor a thread before more than a small body has arrived.
    let is_whole = frames.begin(length, effort).await?;
    let work = match effort {
        _ if !is_whole || coding != ContentCoding::Identity => None,
        Effort::AsItsBytes => return Ok((parse(&mut frames.gathered().reader())?, None)),
        Effort::Bounded(work) | Effort::Streamed(work) => Some(work.words(&frames.gathered())),
        Effort::Unknown => None,
    };
    let permit = match effort {
        _ if work.is_some_and(|words| words <= SMALL_WORDS_MAX) => None,
        Effort::Streamed(_) => Some(app.permits.streams.try_take(&owner(parts)?)?),
        _ => Some(app.permits.uploads.take(&owner(parts)?).await?),
    };
    // A small body is parsed at once, so that the memory for all of it is taken before.
    let bytes = work.unwrap_or(0).min(SMALL_WORDS_MAX).saturating_mul(8);
    let grant = app.memory().try_take(READING_BYTES + bytes)?;
    if let Some(held) = parts.extensions.get::<RequestMemory>() {
        held.hold(grant.clone());
    }
    // The time until here was not the client's.
    frames.window_began = Instant::now();
    let (sender, receiver) = mpsc::channel(FRAMES_WAITING);
    let limits = limits.clone();
    let parsed = tokio::task::spawn_blocking(move || {
        let read = || {
            let source = FrameReader::new(receiver);
            let mut decoder = halfspace_formats::decoder(coding, source, &limits)?;
            let parsed = parse(&mut decoder)?;
            // A parser may stop before the end of the coding; damage there is damage too.
            io::copy(&mut decoder, &mut io::sink()).map_err(FormatError::from)?;
            Ok::<_, Problem>((parsed, permit))
        };
        grant.settled(read)
    });
    let fed = frames.feed(sender).await;
    let parsed = parsed.await;
    let parsed = parsed.map_err(|_| Problem::new(Code::INTERNAL, "The parser met a defect."))?;
    fed?;
    parsed
}

/// The owner of the request.
fn owner(parts: &Parts) -> Result<Owner, Problem> {
    let owner = parts.extensions.get::<Owner>().cloned();
    owner.ok_or_else(|| Problem::new(Code::INTERNAL, "Nobody asked whose the body is."))
}

/// Computes in the blocking pool, under a permit when the work equals that of a large body.
///
/// # Errors
/// What `work` says.
pub async fn compute<T: Send + 'static>(
    permit: Option<OwnerPermit>,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    let defect = |_| Problem::new(Code::INTERNAL, "The computation met a defect.");
    done.await.map_err(defect)?
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
    /// Frames that came in and were not handed on yet.
    begun: VecDeque<Bytes>,
}

impl Frames {
    fn new(body: Body) -> Self {
        Self {
            stream: body.into_data_stream(),
            window_began: Instant::now(),
            window_bytes: 0,
            begun: VecDeque::new(),
        }
    }

    /// Collects a body that may be small; whether the body is small and complete.
    async fn begin(&mut self, length: Option<u64>, effort: Effort) -> Result<bool, Problem> {
        let is_streamed = matches!(effort, Effort::Streamed(_));
        match length {
            Some(length) if length > SMALL_BYTES_MAX => Ok(false),
            // A client that sends no length may wait for an answer to the lines so far.
            None if is_streamed => Ok(false),
            _ if is_streamed => {
                let collected = timeout(COLLECTED_WITHIN, self.collect()).await;
                collected.unwrap_or(Ok(false))
            }
            _ => self.collect().await,
        }
    }

    /// Collects the beginning of a body; whether the body is complete. The bytes are kept when this is
    /// dropped.
    async fn collect(&mut self) -> Result<bool, Problem> {
        let mut bytes = 0;
        while bytes <= SMALL_BYTES_MAX {
            let Some(frame) = self.next().await? else {
                return Ok(true);
            };
            bytes += frame.len() as u64;
            self.begun.push_back(frame);
        }
        Ok(false)
    }

    /// All that was collected.
    fn gathered(&mut self) -> Bytes {
        if self.begun.len() > 1 {
            let all: Vec<u8> = self.begun.iter().flatten().copied().collect();
            self.begun = VecDeque::from([all.into()]);
        }
        self.begun.front().cloned().unwrap_or_default()
    }

    /// The next frame; none at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let deadline = self.window_began + WINDOW;
        let Ok(frame) = timeout_at(deadline, self.stream.next()).await else {
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

    /// Hands the frames to a parser until it has enough.
    async fn feed(&mut self, sender: mpsc::Sender<io::Result<Bytes>>) -> Result<(), Problem> {
        loop {
            // A parser that gives up does so at once, whenever the next frame comes.
            let frame = match self.begun.pop_front() {
                Some(frame) => Ok(Some(frame)),
                None => tokio::select! {
                    frame = self.next() => frame,
                    () = sender.closed() => return Ok(()),
                },
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
            let next = self.receiver.blocking_recv().ok_or_else(gone)??;
            // The thread of the connection allocated the frame.
            let read = std::mem::replace(&mut self.current, next);
            memory::foreign(|| drop(read));
            memory::check().map_err(|full| io::Error::other(FormatError::from(full)))?;
            self.ended = self.current.is_empty();
        }
        let length = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
