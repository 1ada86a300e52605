//! Predictions in the making: what a model says of examples, some at a time, into a document or into
//! lines on their way to the client.

use std::io::Read;
use std::ops::ControlFlow;

use halfspace_core::learners::examples::Examples;
use halfspace_core::learners::hypothesis::Decision;
use halfspace_core::learners::predict::decide_each;
use halfspace_core::learners::run::{Interrupt, StopFlag};
use halfspace_formats::{Format, LineSteps, Options, Parsed, StoredExamples};
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

use crate::jobs::LoadedModel;
use crate::records::Dataset;

use super::answer_lines::{LineWriter, PIECE_BYTES};
use super::attended::{begin, interrupted};
use super::limits::Limits;
use super::model_examples::{Whence, fit, fit_stored, misnamed, unread};
use super::predictions_text::{Document, push_line};
use super::problem::{Code, Problem};
use super::work::Work;

/// Bytes that the answer to a small body in lines may take.
const LINES_OF_SMALL_BODY: u64 = 8 << 20;

/// A model that answers.
pub struct Answering {
    model: LoadedModel,
    limits: Limits,
    stop: StopFlag,
    destination: Destination,
}

/// Where predictions go.
enum Destination {
    Document {
        document: Document,
        /// Since the first examples came.
        timer: Option<AbortOnDropHandle<()>>,
    },
    Lines {
        /// Not sent yet.
        text: Vec<u8>,
        writer: LineWriter,
    },
}

impl Answering {
    /// Predictions for a document, made in limited time.
    pub fn document(model: LoadedModel, limits: &Limits, stop: StopFlag) -> Self {
        let document = Document::new(limits.prediction_bytes_max);
        let timer = None;
        Self::new(
            model,
            limits,
            stop,
            Destination::Document { document, timer },
        )
    }

    /// Predictions a line each, sent as they are made.
    pub fn lines(model: LoadedModel, limits: &Limits, stop: StopFlag, writer: LineWriter) -> Self {
        let text = Vec::new();
        Self::new(model, limits, stop, Destination::Lines { text, writer })
    }

    fn new(model: LoadedModel, limits: &Limits, stop: StopFlag, destination: Destination) -> Self {
        Self {
            model,
            limits: limits.clone(),
            stop,
            destination,
        }
    }

    /// Whether a document comes of it.
    pub fn is_document(&self) -> bool {
        matches!(self.destination, Destination::Document { .. })
    }

    /// Whether it takes no longer to predict examples than to read them, and never waits: a document
    /// of a small model then needs no thread that may.
    pub fn is_light(&self) -> bool {
        let hypothesis = &self.model.hypothesis;
        self.is_document() && hypothesis.words_of_work() <= hypothesis.n() as u64
    }

    /// How much work the examples of a body are. Lines of a small body all wait for a client that does
    /// not read them, unless very few bytes may.
    pub fn work(&self, format: Format) -> Work {
        let hypothesis = &self.model.hypothesis;
        let few = !self.is_document() && self.limits.prediction_bytes_max < LINES_OF_SMALL_BODY;
        Work {
            format,
            n: Some(hypothesis.n()),
            words_each: match few {
                true => u64::MAX,
                false => hypothesis.words_of_work(),
            },
        }
    }

    /// Predicts lines as they come in, in the blocking pool.
    ///
    /// # Errors
    /// What is wrong with a line, and as for [`Self::take`].
    pub fn take_lines(&mut self, reader: impl Read, options: Options) -> Result<(), Problem> {
        let mut steps = LineSteps::new(reader, options);
        loop {
            let hypothesis = &self.model.hypothesis;
            let step = steps.next(|parsed| {
                // A line of whole numbers among real ones may be Boolean by itself.
                let is_alike = parsed.first_real.is_none() || !hypothesis.reads_bits();
                is_alike && fit(&self.model, parsed, Whence::Whole).is_ok()
            });
            match step? {
                None => return Ok(()),
                Some(step) => self.take(&step.parsed, Whence::Line(step.last_line))?,
            }
        }
    }

    /// Predicts examples, in the blocking pool unless it [is light](Self::is_light).
    ///
    /// # Errors
    /// Examples that the model does not take; an answer that is too long, takes too long, or that
    /// nobody waits for.
    pub fn take(&mut self, parsed: &Parsed, whence: Whence) -> Result<(), Problem> {
        fit(&self.model, parsed, whence)?;
        self.begin();
        match self.decide(&parsed.data, parsed.zero_bit_value)? {
            Some(interrupt) => Err(interrupted(&self.limits, interrupt)),
            None => Ok(()),
        }
    }

    /// Predicts a dataset, in the blocking pool: as it is read, once its digest is found to be right.
    ///
    /// # Errors
    /// As for [`Self::take`], and a dataset that is damaged.
    pub fn take_stored(
        &mut self,
        dataset: &Dataset,
        stored: &StoredExamples,
    ) -> Result<(), Problem> {
        let names = self.model.names.check_features(dataset.features.as_deref());
        names.map_err(misnamed)?;
        self.begin();
        fit_stored(&self.model, stored, &self.limits, &self.stop)?;
        match self.decide(stored, dataset.summary.zero_bit_value.into())? {
            Some(interrupt) => Err(unread(stored, &self.limits, interrupt)),
            None => Ok(()),
        }
    }

    /// Begins the time that a document may take.
    fn begin(&mut self) {
        if let Destination::Document { timer, .. } = &mut self.destination
            && timer.is_none()
        {
            *timer = begin(&self.limits, &self.stop);
        }
    }

    /// Why not all examples were decided, if they were not.
    fn decide(&mut self, examples: &dyn Examples, zero: f64) -> Result<Option<Interrupt>, Problem> {
        let mut left = examples.shape().examples;
        let mut told = Ok(());
        let hypothesis = &self.model.hypothesis;
        let decided = decide_each(hypothesis, examples, zero, &self.stop, |decisions, _| {
            left -= decisions.len();
            told = self.destination.push(decisions);
            match told {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        told?;
        if let Err(interrupt) = decided {
            return Ok(Some(interrupt));
        }
        if left > 0 {
            return Ok(self.stop.raised());
        }
        self.destination.send()?;
        Ok(None)
    }

    /// The document, once all examples were taken; nothing where lines were sent.
    ///
    /// # Errors
    /// When it is too long.
    pub fn finish(self) -> Result<String, Problem> {
        match self.destination {
            Destination::Lines { .. } => Ok(String::new()),
            Destination::Document { document, .. } => {
                let bytes_max = document.bytes_max;
                document.finish().ok_or_else(|| too_long(bytes_max))
            }
        }
    }
}

impl Destination {
    fn push(&mut self, decisions: &[Decision]) -> Result<(), Problem> {
        match self {
            Self::Document { document, .. } => {
                decisions.iter().for_each(|one| document.push(one));
                match document.is_too_long() {
                    true => Err(too_long(document.bytes_max)),
                    false => Ok(()),
                }
            }
            Self::Lines { text, .. } => {
                decisions.iter().for_each(|one| push_line(text, one));
                match text.len() >= PIECE_BYTES {
                    true => self.send(),
                    false => Ok(()),
                }
            }
        }
    }

    /// Sends what is ready, so that a client that waits for one answer before it sends the next
    /// example gets it.
    fn send(&mut self) -> Result<(), Problem> {
        match self {
            Self::Lines { text, writer } if !text.is_empty() => {
                Handle::current().block_on(writer.write(std::mem::take(text)))
            }
            _ => Ok(()),
        }
    }
}

fn too_long(bytes_max: u64) -> Problem {
    let detail = format!(
        "The answer would be longer than prediction_bytes_max: {bytes_max} bytes. Ask for it as \
         application/x-ndjson (Accept): lines are sent as they are made."
    );
    Problem::new(Code::TOO_LARGE, detail)
}
