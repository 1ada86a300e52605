//! A queue of answers between the computation and the client that reads them.
//!
//! The queue holds lines, or records that become lines when the client asks for them. [`AnswerQueue::write`] waits
//! while it is full: a client may therefore send examples before it reads, but once the queue is full the computation
//! waits, and with it the sending. If the client reads less than 16 KiB per second over 30 seconds, a waiting write
//! fails. This module knows nothing of predictions.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::Notify;
use tokio::time::timeout;

use halfspace_core::learners::engine::run::CancelOnDrop;

use crate::http::extract::body::{WINDOW, WINDOW_BYTES_MIN};
use crate::http::problem::{Code, Occurrence, Problem};

/// Size in bytes up to which waiting lines are joined into one piece.
pub const PIECE_BYTES: usize = 64 * 1024;

pub trait Waiting: Default {
    /// Takes the next piece of text, if an answer waits.
    fn piece(&mut self) -> Option<Bytes>;
}

/// The writing end of an answer in lines.
pub type AnswerWriter = Arc<AnswerQueue<WaitingLines>>;

/// The writing end of an answer, shared between all who write to it.
pub struct AnswerQueue<W> {
    state: Mutex<QueueState<W>>,
    /// Notified when the reader finds a new piece or the end.
    changed: Notify,
    /// Notified when the writer may find space or the end.
    space: Notify,
}

/// The reading end of an answer. The response streams from this end to the client.
pub struct AnswerReader<W: Waiting> {
    shared: Arc<AnswerQueue<W>>,
    _cancel_on_drop: CancelOnDrop,
}

struct QueueState<W> {
    waiting: W,
    /// The problem that ended the answer, as its last line.
    last: Option<Bytes>,
    /// Whether the status of the response is fixed.
    has_begun: bool,
    end: Option<AnswerEnd>,
    /// Whether later lines are refused: the answer has failed, or its reader was dropped.
    is_closed: bool,
}

enum AnswerEnd {
    /// The answer is complete.
    Whole,
    /// The answer is a problem. No line was written.
    Refused(Box<Problem>),
}

/// Lines that wait, about `bytes_max` bytes at most.
#[derive(Default)]
pub struct WaitingLines {
    bytes_max: usize,
    pieces: VecDeque<Vec<u8>>,
    /// Bytes in all pieces.
    bytes: usize,
}

/// The two ends of an answer in lines, between which about `bytes_max` bytes may wait. Dropping the reader drops
/// `cancel_on_drop`, which stops the computation.
pub fn answer_lines(
    bytes_max: u64,
    cancel_on_drop: CancelOnDrop,
) -> (AnswerWriter, AnswerReader<WaitingLines>) {
    let lines = WaitingLines {
        bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
        ..WaitingLines::default()
    };
    AnswerQueue::ends(lines, cancel_on_drop)
}

impl AnswerQueue<WaitingLines> {
    /// Writes whole lines. Waits while the queue is full.
    ///
    /// # Errors
    /// [`Code::TIMEOUT`] if the client reads too slowly; [`Code::UNREADABLE`] if the client has left or the
    /// answer has ended.
    pub async fn write(&self, lines: Vec<u8>) -> Result<(), Problem> {
        let bytes_max = self.state().waiting.bytes_max;
        if !self.has_space(bytes_max) {
            // The bytes that the slowest permitted client reads in one window, at most half of the limit.
            // Waiting for so much space avoids another wait at each line.
            let space = (WINDOW_BYTES_MIN as usize).min(bytes_max / 2);
            let freed = async {
                while !self.has_space(bytes_max - space) {
                    self.space.notified().await;
                }
            };
            if timeout(WINDOW, freed).await.is_err() {
                let detail = "The client reads the answers at less than 16 KiB per second, and the \
                              unread answers fill answer_bytes_max.";
                return Err(Problem::new(Code::TIMEOUT, detail));
            }
        }
        match self.push(|waiting| waiting.push(lines)) {
            true => Ok(()),
            false => Err(Problem::new(
                Code::UNREADABLE,
                "The client no longer reads the answer.",
            )),
        }
    }

    /// Whether fewer than `bytes` bytes wait. Also true once no line can be written any more, so that a waiting
    /// writer sees the end.
    fn has_space(&self, bytes: usize) -> bool {
        let state = self.state();
        state.waiting.bytes < bytes.max(1) || !state.is_open()
    }
}

impl<W: Waiting> AnswerQueue<W> {
    /// The two ends of an answer. Dropping the reader drops `cancel_on_drop`.
    pub fn ends(waiting: W, cancel_on_drop: CancelOnDrop) -> (Arc<Self>, AnswerReader<W>) {
        let state = QueueState {
            waiting,
            last: None,
            has_begun: false,
            end: None,
            is_closed: false,
        };
        let shared = Arc::new(Self {
            state: Mutex::new(state),
            changed: Notify::new(),
            space: Notify::new(),
        });
        let reader = AnswerReader {
            shared: Arc::clone(&shared),
            _cancel_on_drop: cancel_on_drop,
        };
        (shared, reader)
    }

    /// Adds an answer at once. Returns whether somebody will read it.
    pub fn push(&self, add: impl FnOnce(&mut W)) -> bool {
        let mut state = self.state();
        let is_open = state.is_open();
        if is_open {
            state.has_begun = true;
            add(&mut state.waiting);
        }
        drop(state);
        self.changed.notify_one();
        is_open
    }

    /// Whether a line was written, from which point the status of the response is fixed.
    pub fn has_begun(&self) -> bool {
        self.state().has_begun
    }

    /// Fails with a problem. It becomes the last line, even if the queue is full, or the whole response if the status
    /// is still open. Later lines are refused.
    pub fn fail(&self, problem: Problem, occurrence: &Occurrence) {
        let mut state = self.state();
        if state.has_begun {
            let last = || problem.document(occurrence).line().into();
            state.last = (!state.is_closed).then(last);
        } else {
            state.end = Some(AnswerEnd::Refused(Box::new(problem)));
        }
        state.is_closed = true;
        drop(state);
        self.notify();
    }

    pub fn end(&self) {
        self.state().end.get_or_insert(AnswerEnd::Whole);
        self.notify();
    }

    fn notify(&self) {
        self.changed.notify_one();
        self.space.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, QueueState<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Waiting> AnswerReader<W> {
    /// Waits until the first line is written or the answer ends.
    ///
    /// # Errors
    /// The problem with which the answer failed.
    pub async fn begun(&mut self) -> Result<(), Problem> {
        loop {
            {
                let mut state = self.shared.state();
                state.refused()?;
                if state.has_begun || state.end.is_some() {
                    return Ok(());
                }
            }
            self.shared.changed.notified().await;
        }
    }

    /// Fixes the status of the response before any line is written.
    ///
    /// # Errors
    /// The problem with which the answer has failed meanwhile.
    pub fn begin(&mut self) -> Result<(), Problem> {
        let mut state = self.shared.state();
        state.has_begun = true;
        state.refused()
    }

    /// The next piece, or `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            {
                let mut state = self.shared.state();
                let piece = state.waiting.piece();
                if let Some(piece) = piece.or_else(|| state.last.take()) {
                    self.shared.space.notify_one();
                    return Some(piece);
                }
                if state.end.is_some() {
                    return None;
                }
            }
            self.shared.changed.notified().await;
        }
    }

    /// The answer as the body of a response.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        futures_util::stream::unfold(self, async |mut reader| {
            let piece = reader.next().await?;
            Some((Ok(piece), reader))
        })
    }
}

impl<W: Waiting> Drop for AnswerReader<W> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_closed = true;
        state.waiting = W::default();
        drop(state);
        self.shared.space.notify_one();
    }
}

impl<W> QueueState<W> {
    /// Whether more lines may be written.
    fn is_open(&self) -> bool {
        !self.is_closed && self.end.is_none()
    }

    /// The problem that is the whole response.
    fn refused(&mut self) -> Result<(), Problem> {
        match self.end.take() {
            Some(AnswerEnd::Refused(problem)) => return Err(*problem),
            end => self.end = end,
        }
        Ok(())
    }
}

impl WaitingLines {
    fn push(&mut self, lines: Vec<u8>) {
        self.bytes += lines.len();
        match self.pieces.back_mut() {
            Some(last) if last.len() + lines.len() <= PIECE_BYTES => last.extend(lines),
            _ => self.pieces.push_back(lines),
        }
    }
}

impl Waiting for WaitingLines {
    fn piece(&mut self) -> Option<Bytes> {
        let piece = self.pieces.pop_front()?;
        self.bytes -= piece.len();
        Some(piece.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(bytes_max: u64) -> (AnswerWriter, AnswerReader<WaitingLines>) {
        answer_lines(bytes_max, CancelOnDrop::default())
    }

    #[tokio::test]
    async fn answer_lines_keep_text_and_order() {
        let (writer, mut reader) = ends(1 << 20);
        let mut sent = Vec::new();
        for line in 0..20_000 {
            let line = format!("line {line}\n").into_bytes();
            sent.extend_from_slice(&line);
            writer.write(line).await.unwrap();
        }
        let (problem, occurrence) = (Problem::not_found("model"), Occurrence::default());
        sent.extend(problem.document(&occurrence).line());
        writer.fail(problem, &occurrence);
        writer.end();
        assert!(reader.begun().await.is_ok() && writer.has_begun());
        let mut read = Vec::new();
        while let Some(piece) = reader.next().await {
            assert!(piece.len() <= PIECE_BYTES);
            read.extend_from_slice(&piece);
        }
        assert_eq!(read, sent);
        assert!(writer.write(b"more\n".to_vec()).await.is_err());
    }

    #[tokio::test]
    async fn answer_lines_writer_waits_for_the_reader() {
        let (writer, mut reader) = ends(100);
        for _ in 0..10 {
            writer.write(vec![b'x'; 10]).await.unwrap();
        }
        let blocked = writer.write(vec![b'y'; 10]);
        let mut blocked = Box::pin(blocked);
        assert!(futures_util::poll!(&mut blocked).is_pending());
        assert_eq!(reader.next().await.unwrap().len(), 100);
        blocked.await.unwrap();
        assert_eq!(reader.next().await.unwrap().len(), 10);
    }

    #[tokio::test]
    async fn dropped_reader_stops_the_writer_of_answer_lines() {
        let cancel_on_drop = CancelOnDrop::default();
        let stop = cancel_on_drop.flag();
        let (writer, reader) = answer_lines(10, cancel_on_drop);
        writer.write(vec![b'x'; 10]).await.unwrap();
        let mut blocked = Box::pin(writer.write(vec![b'x'; 10]));
        assert!(futures_util::poll!(&mut blocked).is_pending());
        drop(reader);
        assert!(blocked.await.is_err() && stop.raised().is_some());
    }

    #[tokio::test]
    async fn answer_lines_that_fail_first_begin_with_a_problem() {
        let (writer, mut reader) = ends(10);
        writer.fail(Problem::not_found("model"), &Occurrence::default());
        assert_eq!(reader.begun().await, Err(Problem::not_found("model")));
    }
}
