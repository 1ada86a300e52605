//! A bounded queue of answer lines between the computation and the client that reads the answer.
//!
//! [`AnswerWriter`] waits while the queue is full. A client that sends all of its examples before it reads is
//! therefore served until the queue is full. Then the computation waits, which stops the client's sending
//! too. A write to a full queue fails if the client reads less than 16 KiB per second over 30 seconds. This
//! module knows nothing of predictions.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::Notify;
use tokio::time::timeout;

use halfspace_core::learners::engine::run::CancelOnDrop;

use crate::http::extract::body::{WINDOW, WINDOW_BYTES_MIN};
use crate::http::problem::{Code, Problem};

/// Size in bytes up to which waiting lines are joined into one piece.
pub const PIECE_BYTES: usize = 64 * 1024;

/// Returns the two ends of an answer. About `bytes_max` bytes may wait between the ends. Dropping the reader
/// drops `cancel_on_drop`, which stops the computation.
pub fn answer_lines(bytes_max: u64, cancel_on_drop: CancelOnDrop) -> (AnswerWriter, AnswerReader) {
    let shared = Arc::new(LineQueue {
        bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
        state: Mutex::default(),
        changed: Notify::new(),
        space: Notify::new(),
    });
    let reader = AnswerReader {
        shared: Arc::clone(&shared),
        _cancel_on_drop: cancel_on_drop,
    };
    (AnswerWriter { shared }, reader)
}

/// The writing end of an answer. A clone writes to the same answer.
#[derive(Clone)]
pub struct AnswerWriter {
    shared: Arc<LineQueue>,
}

/// The reading end of an answer. The response streams from this end to the client.
pub struct AnswerReader {
    shared: Arc<LineQueue>,
    _cancel_on_drop: CancelOnDrop,
}

struct LineQueue {
    bytes_max: usize,
    state: Mutex<LineState>,
    /// Notified when the reader finds a new piece or the end.
    changed: Notify,
    /// Notified when the writer may find space or the end.
    space: Notify,
}

#[derive(Default)]
struct LineState {
    pieces: VecDeque<Vec<u8>>,
    /// Bytes in all pieces.
    bytes: usize,
    has_begun: bool,
    /// Whether the last line was written. Later writes fail.
    has_last: bool,
    end: Option<AnswerEnd>,
    /// Whether the reader was dropped.
    is_unread: bool,
}

enum AnswerEnd {
    /// The answer is complete.
    Whole,
    /// The answer is a problem. No line was written.
    Refused(Box<Problem>),
}

impl AnswerWriter {
    /// Writes whole lines. Waits while the queue is full.
    ///
    /// # Errors
    /// [`Code::TIMEOUT`] if the client reads too slowly; [`Code::UNREADABLE`] if the client has left or the
    /// answer has ended.
    pub async fn write(&self, lines: Vec<u8>) -> Result<(), Problem> {
        if !self.has_space(self.shared.bytes_max) {
            // The bytes that the slowest permitted client reads in one window, at most half of the limit.
            // Waiting for so much space avoids another wait at each line.
            let space = (WINDOW_BYTES_MIN as usize).min(self.shared.bytes_max / 2);
            let freed = async {
                while !self.has_space(self.shared.bytes_max - space) {
                    self.shared.space.notified().await;
                }
            };
            if timeout(WINDOW, freed).await.is_err() {
                let detail = "The client reads the answers at less than 16 KiB per second, and the \
                              unread answers fill prediction_bytes_max.";
                return Err(Problem::new(Code::TIMEOUT, detail));
            }
        }
        let mut state = self.shared.state();
        if !state.is_open() {
            return Err(Problem::new(
                Code::UNREADABLE,
                "The client no longer reads the answer.",
            ));
        }
        state.push(lines);
        drop(state);
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Whether fewer than `bytes` bytes wait. Also true if no line can be written any more, so that a waiting
    /// writer sees the end.
    fn has_space(&self, bytes: usize) -> bool {
        let state = self.shared.state();
        state.bytes < bytes.max(1) || !state.is_open()
    }

    /// Whether a line was written. From then on the status of the response is fixed.
    pub fn has_begun(&self) -> bool {
        self.shared.state().has_begun
    }

    /// Writes the last line even if the queue is full. Later lines are refused.
    pub fn push_last(&self, line: Vec<u8>) {
        let mut state = self.shared.state();
        if !state.has_last {
            state.push(line);
            state.has_last = true;
        }
        drop(state);
        self.shared.changed.notify_one();
        self.shared.space.notify_one();
    }

    /// Ends a complete answer.
    pub fn end_whole(&self) {
        self.end(AnswerEnd::Whole);
    }

    /// Answers with a problem. No line may have been written before.
    pub fn refuse(&self, problem: Problem) {
        self.end(AnswerEnd::Refused(Box::new(problem)));
    }

    fn end(&self, end: AnswerEnd) {
        self.shared.state().end.get_or_insert(end);
        self.shared.changed.notify_one();
        self.shared.space.notify_one();
    }
}

impl AnswerReader {
    /// Waits until the first line is written or the answer ends.
    ///
    /// # Errors
    /// The problem that was passed to [`AnswerWriter::refuse`].
    pub async fn begun(&mut self) -> Result<(), Problem> {
        loop {
            {
                let mut state = self.shared.state();
                if state.has_begun {
                    return Ok(());
                }
                match state.end.take() {
                    Some(AnswerEnd::Refused(problem)) => return Err(*problem),
                    end => state.end = end,
                }
                if state.end.is_some() {
                    return Ok(());
                }
            }
            self.shared.changed.notified().await;
        }
    }

    /// The next piece, or `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            {
                let mut state = self.shared.state();
                if let Some(piece) = state.pieces.pop_front() {
                    state.bytes -= piece.len();
                    self.shared.space.notify_one();
                    return Some(piece.into());
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

impl Drop for AnswerReader {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_unread = true;
        state.pieces.clear();
        state.bytes = 0;
        drop(state);
        self.shared.space.notify_one();
    }
}

impl LineQueue {
    fn state(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LineState {
    /// Whether more lines may be written.
    fn is_open(&self) -> bool {
        !self.is_unread && !self.has_last && self.end.is_none()
    }

    fn push(&mut self, lines: Vec<u8>) {
        self.has_begun = true;
        self.bytes += lines.len();
        match self.pieces.back_mut() {
            Some(last) if last.len() + lines.len() <= PIECE_BYTES => last.extend(lines),
            _ => self.pieces.push_back(lines),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(bytes_max: u64) -> (AnswerWriter, AnswerReader) {
        answer_lines(bytes_max, CancelOnDrop::default())
    }

    #[tokio::test]
    async fn lines_come_out_as_they_went_in() {
        let (writer, mut reader) = ends(1 << 20);
        let mut sent = Vec::new();
        for line in 0..20_000 {
            let line = format!("line {line}\n").into_bytes();
            sent.extend_from_slice(&line);
            writer.write(line).await.unwrap();
        }
        writer.push_last(b"last\n".to_vec());
        writer.end_whole();
        sent.extend_from_slice(b"last\n");
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
    async fn who_writes_waits_for_who_reads() {
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
    async fn who_reads_no_more_stops_who_writes() {
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
    async fn what_is_refused_at_once_is_no_answer() {
        let (writer, mut reader) = ends(10);
        writer.refuse(Problem::not_found("model"));
        assert_eq!(reader.begun().await, Err(Problem::not_found("model")));
    }
}
