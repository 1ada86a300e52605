//! An NDJSON stream into a session: lines are learnt while the body comes in, several per step if several have
//! arrived.
//!
//! The client need not read its answers for this to continue, because they wait in [`Answers`].

use std::io::{self, Read};
use std::sync::mpsc;
use std::time::Duration;

use axum::body::BodyDataStream;
use bytes::{Buf, Bytes};
use futures_util::{FutureExt, StreamExt};
use halfspace_core::memory::Grant;
use halfspace_formats::{
    self, ContentCoding, Decoder, FormatError, FormatErrorKind, NdjsonPortions, Options, Place,
    Portion, Supply,
};
use tokio::time::timeout;

use crate::jobs::{SessionError, SessionWriter, WhenNotAll};

use crate::http::app_state::App;
use crate::http::authenticator::Access;
use crate::http::computing;
use crate::http::extract::body::content_coding;
use crate::http::extract::data_body::DataBody;
use crate::http::limits::SESSION_LINES_MAX;
use crate::http::middleware::drain_body;
use crate::http::problem::{Code, Occurrence, Problem, placed};
use crate::http::sessions::answers::{Answers, push};

/// Largest number of lines per learning step, and of features or names in these lines.
const STEP_LINES_MAX: u64 = 4096;
const STEP_FEATURES_MAX: u64 = 1 << 20;

/// Bytes that are read on a thread of the runtime, where each character begins at most one name. Even a text of so many
/// bytes takes less than a millisecond.
const INLINE_BYTES_MAX: usize = 16 << 10;

/// Features of the lines that are read before other tasks get the thread. Reading them takes some tenths of a
/// millisecond.
const READ_FEATURES_MAX: u64 = 1 << 16;

/// Why `portions` is present outside `read`.
const READ_APART: &str = "nobody looks at the lines while they are read";

/// A stream, the session that learns from it, and the answers. While the session learns from some lines, the next ones
/// are read.
pub struct Feed {
    access: Access,
    arriving: ArrivingLines,
    learning: Learning,
}

/// The lines of a stream.
struct ArrivingLines {
    app: App,
    frames: BodyDataStream,
    /// Sends frames to the source of `portions`. `None` once the body has ended.
    to_source: Option<mpsc::Sender<Bytes>>,
    /// None while a thread of the blocking pool reads.
    portions: Option<NdjsonPortions<Decoder<ReceivedBytes>>>,
    /// Bytes of the body that were not read yet.
    unread: usize,
    /// The most bytes that are read on a thread of the runtime: none if the body may expand.
    inline_bytes_max: usize,
    /// The memory of `portions`, between two steps that of a begun line.
    memory: Grant,
    step_lines: u64,
    /// Largest number of lines that are read at once.
    read_lines: u64,
}

/// The lines of one step, with their memory.
struct Step {
    portion: Portion,
    _memory: Grant,
}

/// The session that learns, and its answers.
struct Learning {
    writer: SessionWriter,
    answers: Answers,
    /// Position that the session must have. `None` before the first example of a request that accepts any
    /// position.
    position: Option<u64>,
    /// Latest known position of the session.
    stands: u64,
}

impl Feed {
    /// Creates the stream of a body. [`Options::n`] must be set.
    ///
    /// # Errors
    /// An unknown content coding, or an option that is not allowed.
    pub fn new(
        app: &App,
        writer: SessionWriter,
        body: DataBody,
        options: &Options,
        answers: Answers,
    ) -> Result<Self, Problem> {
        let coding = content_coding(&body.parts.headers)?;
        let access = Access::of(&body.parts.extensions)?;
        let (_, _, body) = body.into_parts();
        let (to_source, receiver) = mpsc::channel();
        let current = Bytes::new();
        let source = ReceivedBytes { receiver, current };
        let decoder = halfspace_formats::decoder(coding, source, &options.limits)?;
        let n = options.n.unwrap_or(1).max(1) as u64;
        let arriving = ArrivingLines {
            app: app.clone(),
            frames: body.into_data_stream(),
            to_source: Some(to_source),
            portions: Some(NdjsonPortions::new(decoder, options)?),
            unread: 0,
            inline_bytes_max: match coding {
                ContentCoding::Identity => INLINE_BYTES_MAX / options.names_per_character(),
                ContentCoding::Gzip | ContentCoding::Zstd => 0,
            },
            memory: app.memory().try_take(0)?,
            step_lines: (STEP_FEATURES_MAX / n).clamp(1, STEP_LINES_MAX),
            read_lines: (READ_FEATURES_MAX / n).clamp(1, STEP_LINES_MAX),
        };
        let learning = Learning {
            writer,
            answers,
            position: None,
            stands: 0,
        };
        Ok(Self {
            access,
            arriving,
            learning,
        })
    }

    /// Sets the current position of the session, and the one that the request expects, if any.
    pub fn at(mut self, position: Option<u64>, stands: u64) -> Self {
        (self.learning.position, self.learning.stands) = (position, stands);
        self
    }

    /// Learns until the body ends, an error occurs or the key of the request is revoked. A problem becomes the last
    /// line of the answer, or the whole response if its status is not decided yet.
    pub async fn run(mut self, occurrence: Occurrence) {
        let access = self.access.clone();
        let fed = tokio::select! {
            fed = self.feed() => fed,
            problem = access.ended() => Err(problem),
        };
        let Learning {
            writer,
            answers,
            stands,
            ..
        } = self.learning;
        let frames = self.arriving.frames;
        drop(writer);
        if let Err(problem) = fed {
            answers.fail(problem.at_position_unless_told(stands), &occurrence);
            // Drains the body, so that a client that sends before it reads gets the answer.
            drain_body::forget(frames).await;
        }
        answers.end();
    }

    async fn feed(&mut self) -> Result<(), Problem> {
        let Self {
            arriving, learning, ..
        } = self;
        let mut step = None;
        loop {
            let learnt = async {
                match step.take() {
                    Some(step) => learning.learn(step).await,
                    None => Ok(()),
                }
            };
            let (learnt, read) = tokio::join!(learnt, arriving.read_step());
            learnt?;
            if arriving.portions.is_none() {
                // The reader panicked.
                return read.map(drop);
            }
            if arriving.portions().lines() > SESSION_LINES_MAX {
                let detail = format!(
                    "The stream has more lines than session_lines_max: {SESSION_LINES_MAX}. Send the others in \
                     another request."
                );
                return Err(Problem::new(Code::TOO_LARGE, detail));
            }
            step = arriving.take_step()?;
            match (read, &step) {
                (Ok(Supply::More), _) | (Ok(Supply::Pending), Some(_)) => {}
                (Ok(Supply::Pending), None) => {
                    let frame = arriving.frame().await?;
                    arriving.supply(frame)?;
                }
                (end, _) => {
                    if let Some(last) = step {
                        learning.learn(last).await?;
                    }
                    return end.map(drop);
                }
            }
        }
    }
}

impl ArrivingLines {
    /// The lines that were read, if there are any.
    fn take_step(&mut self) -> Result<Option<Step>, Problem> {
        let portions = self.portions.as_mut().expect(READ_APART);
        let Some(portion) = portions.take()? else {
            self.memory.shrink_to(portions.line_bytes());
            return Ok(None);
        };
        let rest = self.app.memory().try_take(portions.line_bytes())?;
        Ok(Some(Step {
            portion,
            _memory: std::mem::replace(&mut self.memory, rest),
        }))
    }

    /// Reads the lines of one step, or the lines that have arrived.
    async fn read_step(&mut self) -> Result<Supply, Problem> {
        let lines = self.portions().lines();
        // A line beyond the limit is read in a step of its own, after the allowed lines were learnt.
        let last = if lines < SESSION_LINES_MAX {
            SESSION_LINES_MAX.min(lines + self.step_lines)
        } else {
            lines + 1
        };
        while self.portions().lines() < last && (self.portions().names() as u64) < STEP_FEATURES_MAX
        {
            let wanted = (last - self.portions().lines()).min(self.read_lines);
            match self.read(wanted).await?.map_err(of_session)? {
                // Other tasks need this thread, and blank lines may never end.
                Supply::More => tokio::task::yield_now().await,
                Supply::Pending => match self.frames.next().now_or_never() {
                    Some(frame) => self.supply(frame)?,
                    None => return Ok(Supply::Pending),
                },
                Supply::End => return Ok(Supply::End),
            }
        }
        Ok(Supply::More)
    }

    /// Reads lines, on another thread if there is much to read.
    async fn read(&mut self, wanted: u64) -> Result<Result<Supply, FormatError>, Problem> {
        let mut portions = self.portions.take().expect(READ_APART);
        let bytes = self.unread + portions.begun_bytes();
        let memory = self.memory.clone();
        let read = move || {
            let read = memory.resettled(|| portions.read(wanted));
            (portions, read)
        };
        let (portions, read) = match bytes <= self.inline_bytes_max {
            true => read(),
            // Without a permit: each stream reads on one thread at most, and its session is its permit.
            false => {
                let read = computing::begin(None, read).await;
                read.map_err(|_| computing::defect())?
            }
        };
        self.portions = Some(portions);
        if let Ok(Supply::Pending | Supply::End) = read {
            self.unread = 0;
        }
        Ok(read)
    }

    fn portions(&self) -> &NdjsonPortions<Decoder<ReceivedBytes>> {
        self.portions.as_ref().expect(READ_APART)
    }

    /// Waits for the next frame of the body.
    async fn frame(&mut self) -> Result<Option<Result<Bytes, axum::Error>>, Problem> {
        let stopping = self.app.jobs.stopping.clone();
        let idle_seconds = self.app.limits.session_idle_seconds;
        let idle = Duration::from_secs(idle_seconds);
        let frame = tokio::select! {
            frame = timeout(idle, self.frames.next()) => frame,
            () = stopping.cancelled() => return Err(SessionError::Stopping.into()),
        };
        frame.map_err(|_| {
            let detail = format!(
                "The stream sent no data for longer than session_idle_seconds: {idle_seconds}. Another request may \
                 wait for the session. Send the other examples in a new request."
            );
            Problem::new(Code::TIMEOUT, detail)
        })
    }

    /// Passes a frame, or the end of the body, to the source.
    fn supply(&mut self, frame: Option<Result<Bytes, axum::Error>>) -> Result<(), Problem> {
        let broken = |_| {
            Problem::new(
                Code::UNREADABLE,
                "The connection broke before the end of the body.",
            )
        };
        match (frame.transpose().map_err(broken)?, &self.to_source) {
            (Some(frame), Some(to_source)) => {
                self.unread += frame.len();
                // The receiver lives as long as `self`.
                let _ = to_source.send(frame);
            }
            _ => self.to_source = None,
        }
        Ok(())
    }
}

impl Learning {
    async fn learn(&mut self, step: Step) -> Result<(), Problem> {
        let Portion { parsed, lines } = step.portion;
        let when_not_all = WhenNotAll::LearnFirst;
        let learnt = self.writer.learn(parsed, self.position, when_not_all);
        let mut learnt = learnt
            .await
            .map_err(|error| at_line(error, lines.first()))?;
        let rest = learnt.rest.take();
        let refused = lines.get(learnt.answers.len());
        self.stands = learnt.stands();
        self.position = Some(self.stands);
        push(&self.answers, learnt);
        rest.map_or(Ok(()), |error| Err(at_line(error, refused)))
    }
}

/// The problem for a body at fault. The session determines n and the classes, so an example of another length or of
/// another class is data that the session does not accept.
pub fn of_session(error: FormatError) -> Problem {
    if let FormatErrorKind::UnequalLength | FormatErrorKind::UnknownLabel = error.kind {
        let detail = error.to_string();
        return Problem::new(Code::WRONG_DATA, detail).with(placed(error.place, error.detail));
    }
    error.into()
}

/// Converts an error into a problem, with the line if the error is about an example.
fn at_line(error: SessionError, line: Option<&u64>) -> Problem {
    let (SessionError::Unfit(_), Some(&line)) = (&error, line) else {
        return error.into();
    };
    let place = Place::Line { line, column: 1 };
    let field = placed(Some(place), error.to_string());
    Problem::from(error).with(field)
}

/// A reader over the received part of a body, which never blocks.
struct ReceivedBytes {
    receiver: mpsc::Receiver<Bytes>,
    current: Bytes,
}

impl Read for ReceivedBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.receiver.try_recv() {
                Ok(frame) => self.current = frame,
                Err(mpsc::TryRecvError::Empty) => return Err(io::ErrorKind::WouldBlock.into()),
                Err(mpsc::TryRecvError::Disconnected) => return Ok(0),
            }
        }
        let length = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
