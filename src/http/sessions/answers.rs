//! The answers to the examples of one request to a session, until the client reads them.
//!
//! They wait as compact records and become text when the client asks for the next piece.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use halfspace_core::learners::engine::run::CancelOnDrop;
use halfspace_core::learners::engine::session::Answered;
use serde::Serialize;
use utoipa::ToSchema;

use crate::jobs::Learnt;
use crate::records::names::label_number;

use crate::http::models::answer_lines::{AnswerQueue, AnswerReader, Waiting};

/// Answers per piece of text.
const PIECE_MAX: usize = 1024;

/// Approximate bytes per answer in text.
const ANSWER_BYTES: usize = 96;

/// The result of one example.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExampleAnswer<'a> {
    /// Position of the session after the example: the number of examples learnt.
    position: u64,
    /// Prediction before the example was learnt: 1 or -1 of two classes; of more and of open classes, the place of the
    /// class among those of the session, from 0. Null if a batch consumed the example without a test, or if no class
    /// was known.
    #[schema(value_type = Option<i8>)]
    prediction: Option<i64>,
    /// Name of the predicted class. Absent without a prediction, or if the classes of the session have no names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    predicted_class: Option<&'a str>,
    /// Whether the prediction was wrong.
    mistake: bool,
    /// Consistent examples since the last mistake.
    run_length: u64,
    /// Whether the session ended with this example.
    terminated: bool,
    /// Number of its names that the session had not learnt before. Absent without an open vocabulary.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    unseen: Option<u32>,
}

impl<'a> ExampleAnswer<'a> {
    /// Creates the result of the example that brought the session to `position`, with the names of the classes.
    pub fn new(
        position: u64,
        answered: &Answered,
        classes: Option<&'a [String]>,
        open: bool,
    ) -> Self {
        let count = match open {
            // The number of a class does not change when others join.
            true => usize::MAX,
            false => classes.map_or(2, <[_]>::len),
        };
        let class = |code: u32| classes.map(|names| names[code as usize].as_str());
        Self {
            position,
            prediction: answered.prediction.map(|code| label_number(code, count)),
            predicted_class: answered.prediction.and_then(class),
            mistake: answered.is_mistake,
            run_length: answered.run_length,
            terminated: answered.is_last,
            unseen: answered.unseen,
        }
    }
}

/// The writing end of the answers of one request.
pub type Answers = Arc<AnswerQueue<WaitingAnswers>>;

/// Answers that wait as compact records, with the names of the classes.
#[derive(Default)]
pub struct WaitingAnswers {
    answers: VecDeque<Answered>,
    /// Position before the first waiting answer. The positions of one request are consecutive.
    position: u64,
    classes: Option<Vec<String>>,
    /// Whether further classes may join.
    open: bool,
}

/// The two ends of the answers of a session, with the names of its classes. Dropping the reader does not stop the
/// session from learning.
pub fn answers(
    classes: Option<Vec<String>>,
    open: bool,
) -> (Answers, AnswerReader<WaitingAnswers>) {
    let waiting = WaitingAnswers {
        classes,
        open,
        ..WaitingAnswers::default()
    };
    AnswerQueue::ends(waiting, CancelOnDrop::default())
}

/// Adds the answers to some examples.
pub fn push(answers: &Answers, learnt: Learnt) {
    if learnt.answers.is_empty() {
        return;
    }
    answers.push(|waiting| {
        if waiting.answers.is_empty() {
            waiting.position = learnt.position;
        }
        if waiting.open {
            // The names of earlier answers keep their places.
            waiting.classes = learnt.classes;
        }
        waiting.answers.extend(learnt.answers);
    });
}

impl Waiting for WaitingAnswers {
    fn piece(&mut self) -> Option<Bytes> {
        let count = self.answers.len().min(PIECE_MAX);
        let mut text = Vec::with_capacity(count * ANSWER_BYTES);
        for answered in self.answers.drain(..count) {
            self.position += 1;
            let answer =
                ExampleAnswer::new(self.position, &answered, self.classes.as_deref(), self.open);
            // Writing to memory does not fail.
            let _ = serde_json::to_writer(&mut text, &answer);
            text.push(b'\n');
        }
        (count > 0).then(|| text.into())
    }
}
