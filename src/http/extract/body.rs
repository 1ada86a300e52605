//! Reads request bodies: turns frames from a socket into a blocking reader for a parser.
//!
//! Decompression, byte limit, minimum rate, permit and memory grant of a body belong here. Only the caller's parser
//! knows the format.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use halfspace_core::memory::{self, ComputingTime, Grant, NoMemory};
use halfspace_formats::{self, ContentCoding, Format, FormatError};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use crate::records::Owner;

use crate::http::app_state::App;
use crate::http::computing;
use crate::http::extract::work::{ExamplesWork, INLINE_WORDS_MAX, SMALL_WORDS_MAX};
use crate::http::permits::OwnerPermit;
use crate::http::problem::{Code, Problem};

/// Frames that may wait between the socket and the parser, and frames that the parser takes at once. Taking several
/// wakes the thread of the socket less often.
const FRAMES_WAITING: usize = 4;

/// A body of at most this many bytes is collected before the parser starts. It needs no permit if it is not
/// compressed and causes little work.
pub const SMALL_BYTES_MAX: u64 = 64 * 1024;

/// Time to collect a small body if the answer may begin before the end of the body. A client that reads each
/// answer before sending more waits so long once.
const COLLECTED_WITHIN: Duration = Duration::from_millis(100);

/// Each window must bring [`WINDOW_BYTES_MIN`] bytes or the end of the body.
pub const WINDOW: Duration = Duration::from_secs(30);

/// 16 KiB per second.
pub const WINDOW_BYTES_MIN: u64 = 30 * 16 * 1024;

/// Counts the bytes of a body that have arrived, before decompression. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct SentBytes(Arc<AtomicU64>);

impl SentBytes {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Bound on the work of reading a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// The work is a small multiple of the bytes.
    AsItsBytes,
    /// A small body causes at most this work.
    Bounded(ExamplesWork),
    /// A small body and its answer cause at most this work. Little work is done on the spot.
    Brief(ExamplesWork),
    /// A few bytes may cause much work.
    Unknown,
    /// Body or answer may go on for long, but the server holds only a small part at a time, and parsing may block. A
    /// small body that arrives at once causes at most this work.
    Streamed(ExamplesWork),
}

/// What a body without a Content-Encoding may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Bytes with any beginning.
    Bytes,
    /// A file, which its first bytes show to be compressed.
    File,
}

impl Content {
    /// What a body of this format may be, or a body that is no data. Packed bits may begin like a compressed file.
    pub fn of(format: Option<Format>) -> Self {
        match format {
            Some(Format::Octets) => Self::Bytes,
            _ => Self::File,
        }
    }

    fn coding(self, begin: &[u8]) -> ContentCoding {
        match self {
            Self::Bytes => ContentCoding::Identity,
            Self::File => ContentCoding::of_bytes(begin),
        }
    }
}

/// Bytes of memory that a request takes before parsing: frames, the buffers of a decoder, and a document that is parsed
/// as a whole. With the examples of a small body they are a small grant, so that large bodies of others do not take the
/// memory of a small one.
const READING_BYTES: u64 = 768 << 10;

/// The memory grants of a request, held until its handler has answered or needs nothing more of the body.
#[derive(Clone, Debug, Default)]
pub struct RequestMemory(Arc<Mutex<Vec<Grant>>>);

impl RequestMemory {
    pub fn of(parts: &Parts) -> Self {
        parts.extensions.get().cloned().unwrap_or_default()
    }

    /// Gives the memory back before the answer, for a request that waits and has kept nothing of its body.
    pub fn release(&self) {
        let mut grants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        grants.clear();
    }

    pub fn hold(&self, grant: Grant) {
        let mut grants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        grants.push(grant);
    }

    /// Takes the grant for a part of the work of a request, which is held until the handler has answered.
    fn take(app: &App, parts: &Parts, bytes: u64) -> Result<Grant, NoMemory> {
        let grant = app.memory().try_take(bytes)?;
        if let Some(held) = parts.extensions.get::<Self>() {
            held.hold(grant.clone());
        }
        Ok(grant)
    }
}

/// Runs a parser under its grant for at most `read_seconds_max` seconds of computing. A parser that ends because the
/// memory or the time ended says so, whatever its own error is.
fn granted<T>(
    grant: &Grant,
    seconds_max: f64,
    parse: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    let time = ComputingTime {
        spent: crate::memory::thread_time,
        most: Duration::try_from_secs_f64(seconds_max).unwrap_or(Duration::MAX),
    };
    let parsed = grant.within_time(time, parse);
    crate::memory::return_after(grant);
    match (&parsed, grant.refused()) {
        (Err(_), _) if grant.is_late() => {
            let detail = format!(
                "Reading the body takes more than read_seconds_max seconds of computing: {seconds_max}. Send fewer or \
                 smaller examples at once."
            );
            Err(Problem::new(Code::TOO_LARGE, detail))
        }
        (Err(_), Some(refusal)) => Err(refusal.into()),
        _ => parsed,
    }
}

/// Ends the reading of a body when its request is gone, because the pool does not.
struct EndOnDrop(Option<Grant>);

impl EndOnDrop {
    /// The work has ended.
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if let Some(grant) = &self.0 {
            grant.end_time();
        }
    }
}

/// Reads a body as a stream in the blocking pool, under a permit of the owner. A small body of little work needs no
/// permit, and is parsed on the spot if the work is proportional to the bytes or takes microseconds.
///
/// `parse` receives the decompressed bytes, at most `limits.body_bytes_max`. Hold the permit, if one is returned,
/// until the work on the result ends.
///
/// # Errors
/// Errors of `parse`; a body that is too long, too slow, wrongly compressed or cut off; a lack of permits or of
/// memory.
pub async fn read<T: Send + 'static>(
    app: &App,
    parts: &Parts,
    body: Body,
    limits: &halfspace_formats::ParseLimits,
    (effort, content): (Effort, Content),
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
    let is_streamed = matches!(effort, Effort::Streamed(_));
    let is_whole = frames.begin(length, is_streamed).await?;
    let coded = move |begin: &[u8]| match coding {
        ContentCoding::Identity => content.coding(begin),
        stated => stated,
    };
    let work = match effort {
        _ if !is_whole || coded(&frames.gathered()) != ContentCoding::Identity => None,
        Effort::AsItsBytes => return Ok((on_the_spot(app, parts, &mut frames, parse)?, None)),
        Effort::Bounded(work) | Effort::Brief(work) | Effort::Streamed(work) => {
            Some(work.words(&frames.gathered()))
        }
        Effort::Unknown => None,
    };
    if let (Effort::Brief(_), Some(..=INLINE_WORDS_MAX)) = (effort, work) {
        return Ok((on_the_spot(app, parts, &mut frames, parse)?, None));
    }
    let permit = match effort {
        _ if work.is_some_and(|words| words <= SMALL_WORDS_MAX) => None,
        Effort::Streamed(_) => Some(app.permits.streams.try_take(&owner(parts)?)?),
        _ => Some(app.permits.uploads.take(&owner(parts)?).await?),
    };
    // A small body is parsed at once, so the memory for the whole result is taken before.
    let bytes = work.unwrap_or(0).min(SMALL_WORDS_MAX).saturating_mul(8);
    let grant = RequestMemory::take(app, parts, READING_BYTES + bytes)?;
    // The client is not charged for the time until here.
    frames.window_began = Instant::now();
    let (sender, receiver) = mpsc::channel(FRAMES_WAITING);
    let sent = sent_bytes(parts);
    let limits = limits.clone();
    let seconds_max = match effort {
        // Predictions are computed while the body is read, and the answer shows how far they are.
        Effort::Streamed(_) => f64::INFINITY,
        _ => app.limits.read_seconds_max(),
    };
    let reading = EndOnDrop(Some(grant.clone()));
    let parsed = computing::begin(None, move || {
        granted(&grant, seconds_max, || {
            let mut source = FrameReader::new(receiver, sent);
            // A client may wait for the answer to its first bytes, so that one reading must do.
            let mut begin = [0; 4];
            let read = source.read(&mut begin).map_err(FormatError::from)?;
            let begin = &begin[..read];
            let source = Read::chain(begin, source);
            let mut decoder = halfspace_formats::decoder(coded(begin), source, &limits)?;
            let parsed = parse(&mut decoder)?;
            // The parser may stop before the end of the compressed data. Damage after that point is an error
            // too.
            io::copy(&mut decoder, &mut io::sink()).map_err(FormatError::from)?;
            Ok((parsed, permit))
        })
    });
    let fed = frames.feed(sender).await;
    let parsed = parsed.await.map_err(|_| computing::defect())?;
    reading.disarm();
    fed?;
    parsed
}

/// Collects the beginning of a body of lines, which is read afterwards. Returns whether this is a whole small body that
/// arrived at once and is not compressed.
///
/// # Errors
/// An unknown content coding; a body that is too slow or cut off.
pub async fn collect(parts: &Parts, body: &mut Body) -> Result<bool, Problem> {
    let length = declared_length(&parts.headers).or(body.size_hint().exact());
    let mut frames = Frames::new(std::mem::take(body));
    let is_whole = frames.begin(length, true).await?;
    if is_whole {
        *body = frames.gathered().into();
        return Ok(content_coding(&parts.headers)? == ContentCoding::Identity);
    }
    let begun = futures_util::stream::iter(frames.begun.into_iter().map(Ok));
    *body = Body::from_stream(begun.chain(frames.stream));
    Ok(false)
}

/// The counter of the caller, or one that nobody reads.
fn sent_bytes(parts: &Parts) -> SentBytes {
    parts.extensions.get().cloned().unwrap_or_default()
}

/// Parses a small body at once.
fn on_the_spot<T>(
    app: &App,
    parts: &Parts,
    frames: &mut Frames,
    parse: impl FnOnce(&mut dyn Read) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let body = frames.gathered();
    sent_bytes(parts).add(body.len());
    let grant = RequestMemory::take(app, parts, body.len() as u64)?;
    granted(&grant, app.limits.read_seconds_max(), || {
        parse(&mut body.reader())
    })
}

/// The owner that authentication found for the request.
pub fn owner(parts: &Parts) -> Result<Owner, Problem> {
    let owner = parts.extensions.get::<Owner>().cloned();
    owner.ok_or_else(|| {
        Problem::new(
            Code::INTERNAL,
            "The request has no owner because of a defect in the service.",
        )
    })
}

/// Makes examples from a part of a document, such as rows that stayed text, in the blocking pool and under the limits
/// of a body. Hold the grant as long as the result.
///
/// # Errors
/// Errors of `parse`, and a lack of memory or time.
pub async fn make_examples<T: Send + 'static>(
    app: &App,
    parse: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<(T, Grant), Problem> {
    let grant = app.memory().try_take(0)?;
    let (held, seconds_max) = (grant.clone(), app.limits.read_seconds_max());
    let making = EndOnDrop(Some(held.clone()));
    let parsed = computing::begin(None, move || granted(&grant, seconds_max, parse));
    let parsed = parsed.await.map_err(|_| computing::defect())??;
    making.disarm();
    Ok((parsed, held))
}

/// The compression that the Content-Encoding header names.
///
/// # Errors
/// An unsupported coding, or several codings.
pub fn content_coding(headers: &HeaderMap) -> Result<ContentCoding, Problem> {
    let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(value) = values.next() else {
        return Ok(ContentCoding::Identity);
    };
    let text = match values.next() {
        Some(_) => "several codings",
        None => value.to_str().unwrap_or("unreadable"),
    };
    ContentCoding::from_header(text).map_err(|error| {
        Problem::parameter(
            Code::UNSUPPORTED_MEDIA_TYPE,
            "Content-Encoding",
            error.detail,
        )
    })
}

/// The value of the Content-Length header in bytes.
pub fn declared_length(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get(header::CONTENT_LENGTH)?;
    value.to_str().ok()?.parse().ok()
}

/// The frames of a body while they arrive.
struct Frames {
    stream: BodyDataStream,
    window_began: Instant,
    window_bytes: u64,
    /// Frames that arrived and were not passed to the parser yet.
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

    /// Collects a body that may be small, or what arrives of it at once if the answer may begin before its end
    /// (`is_streamed`). Returns whether the body is small and complete.
    async fn begin(&mut self, length: Option<u64>, is_streamed: bool) -> Result<bool, Problem> {
        match length {
            Some(length) if length > SMALL_BYTES_MAX => Ok(false),
            // A client that sends no length may wait for an answer to the first lines.
            None if is_streamed => Ok(false),
            _ if is_streamed => {
                let collected = timeout(COLLECTED_WITHIN, self.collect()).await;
                collected.unwrap_or(Ok(false))
            }
            _ => self.collect().await,
        }
    }

    /// Collects the beginning of a body and returns whether the body is complete. The collected frames stay
    /// if the future is dropped.
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

    /// All collected frames in one buffer.
    fn gathered(&mut self) -> Bytes {
        if self.begun.len() > 1 {
            let all: Vec<u8> = self.begun.iter().flatten().copied().collect();
            self.begun = VecDeque::from([all.into()]);
        }
        self.begun.front().cloned().unwrap_or_default()
    }

    /// The next frame, or `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let deadline = self.window_began + WINDOW;
        let Ok(frame) = timeout_at(deadline, self.stream.next()).await else {
            let detail = "The body arrived at less than 16 KiB per second; send it faster, or in smaller requests.";
            return Err(Problem::new(Code::TIMEOUT, detail));
        };
        let Some(frame) = frame else { return Ok(None) };
        let frame = frame.map_err(|error| Problem::of_body(error.into()))?;
        self.window_bytes += frame.len() as u64;
        if self.window_bytes >= WINDOW_BYTES_MIN {
            self.window_began = Instant::now();
            self.window_bytes = 0;
        }
        Ok(Some(frame))
    }

    /// Sends the frames to the parser until the body ends or the parser stops.
    async fn feed(&mut self, sender: mpsc::Sender<io::Result<Bytes>>) -> Result<(), Problem> {
        loop {
            // When the parser stops, this loop ends without waiting for the next frame.
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
                    // The parser must not take a broken body for a complete one.
                    let broken = io::Error::from(io::ErrorKind::ConnectionAborted);
                    let _ = sender.send(Err(broken)).await;
                    return Err(problem);
                }
            };
            // The client is not charged for the time that the parser takes.
            let handed = Instant::now();
            if sender.send(Ok(frame)).await.is_err() {
                return Ok(());
            }
            self.window_began += handed.elapsed();
        }
    }
}

/// Marks the end of the body. Empty frames of a body are skipped, so no other frame looks the same.
const END: Bytes = Bytes::new();

/// Blocking reader over the frames of the channel.
///
/// `StreamReader` and `SyncIoBridge` of `tokio-util` do not fit. They would count the frames of the connection's
/// thread as memory that this thread frees.
struct FrameReader {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    /// Frames that were taken and not read yet.
    taken: Vec<io::Result<Bytes>>,
    current: Bytes,
    ended: bool,
    sent: SentBytes,
}

impl FrameReader {
    fn new(receiver: mpsc::Receiver<io::Result<Bytes>>, sent: SentBytes) -> Self {
        Self {
            sent,
            receiver,
            taken: Vec::with_capacity(FRAMES_WAITING),
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
            // A sender that was dropped before the end belonged to a request whose client left.
            let gone = || io::Error::from(io::ErrorKind::ConnectionAborted);
            if self.taken.is_empty() {
                self.receiver
                    .blocking_recv_many(&mut self.taken, FRAMES_WAITING);
                self.taken.reverse();
            }
            let next = self.taken.pop().ok_or_else(gone)??;
            // The connection's thread allocated the frame, so the memory count of this thread must not
            // change.
            let read = std::mem::replace(&mut self.current, next);
            self.sent.add(self.current.len());
            memory::foreign(|| drop(read));
            self.ended = self.current.is_empty();
        }
        let length = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
