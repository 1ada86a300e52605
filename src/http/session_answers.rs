//! Answers on their way to a client that may not read them yet: kept packed, written out when they
//! are asked for.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::Stream;
use halfspace_core::learners::session::Answered;
use tokio::sync::Notify;

use crate::jobs::Learnt;

use super::problem::Problem;
use super::session_examples::ExampleAnswer;
use super::session_stream::Late;

/// Answers written out at once.
const PIECE_MAX: usize = 1024;

/// Bytes of an answer, about.
const ANSWER_BYTES: usize = 96;

/// The answers of one request; a clone is the same.
#[derive(Clone)]
pub struct Answers(Arc<Shared>);

struct Shared {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Default)]
struct Waiting {
    answers: VecDeque<Answered>,
    /// The position before the first of them: those of one request follow one another.
    position: u64,
    last: Option<Bytes>,
    /// Whether an example was answered, so that the status is decided.
    has_begun: bool,
    refused: Option<Problem>,
    is_over: bool,
}

impl Answers {
    /// No answers yet.
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            waiting: Mutex::default(),
            changed: Notify::new(),
        }))
    }

    /// Adds the answers to some examples.
    pub fn push(&self, learnt: Learnt) {
        let mut waiting = self.waiting();
        if waiting.answers.is_empty() {
            waiting.position = learnt.position;
        }
        waiting.has_begun |= !learnt.answers.is_empty();
        waiting.answers.extend(learnt.answers);
        drop(waiting);
        self.0.changed.notify_one();
    }

    /// Ends with what is wrong, the session standing at `position`: as the last line, or, when no
    /// example was answered, instead of an answer.
    pub fn fail(&self, problem: Problem, late: &Late, position: u64) {
        let mut waiting = self.waiting();
        if waiting.has_begun {
            waiting.last = Some(late.line(problem, position));
        } else {
            waiting.refused = Some(problem.at_position_unless_told(position));
        }
        drop(waiting);
        self.0.changed.notify_one();
    }

    /// Decides the status before anything is answered.
    ///
    /// # Errors
    /// What the request was refused with meanwhile.
    pub fn begin(&self) -> Result<(), Problem> {
        let mut waiting = self.waiting();
        waiting.has_begun = true;
        waiting.refused.take().map_or(Ok(()), Err)
    }

    /// Waits until an example is answered, or none ever will be.
    ///
    /// # Errors
    /// What the request was refused with.
    pub async fn begun(&self) -> Result<(), Problem> {
        loop {
            {
                let mut waiting = self.waiting();
                if let Some(problem) = waiting.refused.take() {
                    return Err(problem);
                }
                if waiting.has_begun || waiting.is_over {
                    return Ok(());
                }
            }
            self.0.changed.notified().await;
        }
    }

    /// Nothing follows.
    pub fn end(&self) {
        self.waiting().is_over = true;
        self.0.changed.notify_one();
    }

    /// The next piece of text; none at the end.
    async fn next(&self) -> Option<Bytes> {
        loop {
            {
                let mut waiting = self.waiting();
                if !waiting.answers.is_empty() {
                    return Some(waiting.piece());
                }
                if let Some(last) = waiting.last.take() {
                    return Some(last);
                }
                if waiting.is_over {
                    return None;
                }
            }
            self.0.changed.notified().await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        let waiting = self.0.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn piece(&mut self) -> Bytes {
        let count = self.answers.len().min(PIECE_MAX);
        let mut text = Vec::with_capacity(count * ANSWER_BYTES);
        for answered in self.answers.drain(..count) {
            self.position += 1;
            let answer = ExampleAnswer::new(self.position, &answered);
            // Writing to memory does not fail.
            let _ = serde_json::to_writer(&mut text, &answer);
            text.push(b'\n');
        }
        text.into()
    }
}

/// The answers as the body of a response.
pub fn stream(answers: Answers) -> impl Stream<Item = Result<Bytes, Infallible>> {
    futures_util::stream::unfold(answers, async |answers| {
        let piece = answers.next().await?;
        Some((Ok(piece), answers))
    })
}
