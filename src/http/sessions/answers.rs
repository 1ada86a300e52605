//! The answers to the examples of one request to a session, until the client reads them.
//!
//! Answers wait as compact records. Their text is written when the client asks for the next piece.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::Stream;
use halfspace_core::learners::engine::session::Answered;
use serde::Serialize;
use tokio::sync::Notify;
use utoipa::ToSchema;

use crate::jobs::Learnt;

use crate::http::problem::{Occurrence, Problem};

/// Answers per piece of text.
const PIECE_MAX: usize = 1024;

/// Approximate bytes per answer in text.
const ANSWER_BYTES: usize = 96;

/// The result of one example.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExampleAnswer<'a> {
    /// Position of the session after the example: the number of examples learnt.
    position: u64,
    /// Prediction before the example was learnt, 1 or -1. Null if a batch consumed the example without a
    /// test.
    prediction: Option<i8>,
    /// Name of the predicted class. Absent if the classes of the session have no names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    predicted_class: Option<&'a str>,
    /// Whether the prediction was wrong.
    mistake: bool,
    /// Consistent examples since the last mistake.
    run_length: u64,
    /// Whether the session ended with this example.
    terminated: bool,
}

impl<'a> ExampleAnswer<'a> {
    /// Creates the result of the example that brought the session to `position`, with the names of the classes.
    pub fn new(position: u64, answered: &Answered, classes: Option<&'a [String]>) -> Self {
        let class = |is_positive| classes.map(|names| names[usize::from(is_positive)].as_str());
        let sign = |is_positive| if is_positive { 1 } else { -1 };
        Self {
            position,
            prediction: answered.prediction.map(sign),
            predicted_class: answered.prediction.and_then(class),
            mistake: answered.is_mistake,
            run_length: answered.run_length,
            terminated: answered.is_last,
        }
    }
}

/// The answers of one request. Clones share the answers.
#[derive(Clone)]
pub struct Answers(Arc<AnswerQueue>);

struct AnswerQueue {
    /// The names of the classes.
    classes: Option<Vec<String>>,
    waiting: Mutex<WaitingAnswers>,
    changed: Notify,
}

#[derive(Default)]
struct WaitingAnswers {
    answers: VecDeque<Answered>,
    /// Position before the first waiting answer. The positions of one request are consecutive.
    position: u64,
    last: Option<Bytes>,
    /// Whether the status is decided. An answered example decides the status, and so does
    /// [`Answers::begin`].
    has_begun: bool,
    refused: Option<Problem>,
    is_over: bool,
}

impl Answers {
    /// Creates an empty list of answers with these names of the labels -1 and +1.
    pub fn new(classes: Option<Vec<String>>) -> Self {
        Self(Arc::new(AnswerQueue {
            classes,
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

    /// Ends the answers with a problem, for a session at `position`. The problem is the last line, or the
    /// whole response if the status is not decided yet.
    pub fn fail(&self, problem: Problem, occurrence: &Occurrence, position: u64) {
        let mut waiting = self.waiting();
        if waiting.has_begun {
            let problem = problem.at_position_unless_told(position);
            waiting.last = Some(problem.document(occurrence).line().into());
        } else {
            waiting.refused = Some(problem.at_position_unless_told(position));
        }
        drop(waiting);
        self.0.changed.notify_one();
    }

    /// Decides the status before any example is answered.
    ///
    /// # Errors
    /// The problem that has refused the request meanwhile.
    pub fn begin(&self) -> Result<(), Problem> {
        let mut waiting = self.waiting();
        waiting.has_begun = true;
        waiting.refused.take().map_or(Ok(()), Err)
    }

    /// Waits until the status is decided or the answers have ended.
    ///
    /// # Errors
    /// The problem that refused the request.
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

    /// Marks the end of the answers.
    pub fn end(&self) {
        self.waiting().is_over = true;
        self.0.changed.notify_one();
    }

    /// Returns the next piece of text, or `None` at the end.
    async fn next(&self) -> Option<Bytes> {
        loop {
            {
                let mut waiting = self.waiting();
                if !waiting.answers.is_empty() {
                    return Some(waiting.piece(self.0.classes.as_deref()));
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

    fn waiting(&self) -> MutexGuard<'_, WaitingAnswers> {
        let waiting = self.0.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingAnswers {
    fn piece(&mut self, classes: Option<&[String]>) -> Bytes {
        let count = self.answers.len().min(PIECE_MAX);
        let mut text = Vec::with_capacity(count * ANSWER_BYTES);
        for answered in self.answers.drain(..count) {
            self.position += 1;
            let answer = ExampleAnswer::new(self.position, &answered, classes);
            // Writing to memory does not fail.
            let _ = serde_json::to_writer(&mut text, &answer);
            text.push(b'\n');
        }
        text.into()
    }
}

/// Returns the answers as the body of a response.
pub fn stream(answers: Answers) -> impl Stream<Item = Result<Bytes, Infallible>> {
    futures_util::stream::unfold(answers, async |answers| {
        let piece = answers.next().await?;
        Some((Ok(piece), answers))
    })
}
