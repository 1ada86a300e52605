//! Predicts the examples of one request with a model.
//!
//! [`Answering`] takes them from the lines of a body, from a parsed body or from a stored dataset. Its predictions go
//! into a JSON document, computed within `answer_seconds_max`, or into lines that are sent while examples are still
//! read and have no time limit.

use std::io::Read;
use std::ops::ControlFlow;

use halfspace_core::learners::decision::Decision;
use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_core::learners::predict::{decide_each, unknown_features};
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::examples::Examples;
use halfspace_formats::{Format, LineStep, LineSteps, Options, Parsed, StoredExamples};
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

use crate::jobs::{FittedExamples, LoadedModel, PresentSession, SessionOverNames};
use crate::records::Dataset;

use crate::http::computing::{interrupted, limit, limit_decisions};
use crate::http::extract::work::ExamplesWork;
use crate::http::limits::Limits;
use crate::http::models::answer_lines::{AnswerWriter, PIECE_BYTES};
use crate::http::models::examples::{Origin, check, fit, fit_stored, misnamed, unread};
use crate::http::models::predictions_text::{
    AskedScores, ClassTexts, PredictionsText, class_texts, push_line,
};
use crate::http::problem::{Code, Problem};

/// Upper bound in bytes on the answer to a small body in lines.
const LINES_OF_SMALL_BODY: u64 = 8 << 20;

/// A model with the destination and the limits of its predictions.
pub struct Answering {
    model: LoadedModel,
    limits: Limits,
    stop: StopFlag,
    asked: AskedScores,
    destination: PredictionSink,
}

/// The destination of predictions.
enum PredictionSink {
    Document {
        document: PredictionsText,
        /// The time limit. Starts with the first examples.
        timer: Option<AbortOnDropHandle<()>>,
    },
    Lines {
        /// Lines that are not sent yet.
        text: Vec<u8>,
        asked: AskedScores,
        classes: Option<ClassTexts>,
        writer: AnswerWriter,
    },
}

impl Answering {
    /// Predictions as one document, computed in limited time.
    pub fn document(
        model: LoadedModel,
        limits: &Limits,
        asked: AskedScores,
        stop: StopFlag,
    ) -> Self {
        let classes = model.names.class_names().as_deref().map(class_texts);
        let document = PredictionsText::new(limits.answer_bytes_max, classes, asked);
        let timer = None;
        Self::new(
            model,
            limits,
            asked,
            stop,
            PredictionSink::Document { document, timer },
        )
    }

    /// Predictions as one line per example, sent while further examples are predicted.
    pub fn lines(
        model: LoadedModel,
        limits: &Limits,
        asked: AskedScores,
        stop: StopFlag,
        writer: AnswerWriter,
    ) -> Self {
        let sink = PredictionSink::Lines {
            text: Vec::new(),
            asked,
            classes: model.names.class_names().as_deref().map(class_texts),
            writer,
        };
        Self::new(model, limits, asked, stop, sink)
    }

    fn new(
        model: LoadedModel,
        limits: &Limits,
        asked: AskedScores,
        stop: StopFlag,
        destination: PredictionSink,
    ) -> Self {
        Self {
            model,
            limits: limits.clone(),
            stop,
            asked,
            destination,
        }
    }

    /// Whether the predictions go into a document.
    pub fn is_document(&self) -> bool {
        matches!(self.destination, PredictionSink::Document { .. })
    }

    /// Upper bound on the work for the examples of a body. It is infinite if the answer to a small body might not fit
    /// into `answer_bytes_max`: all of its lines may have to wait for a client that does not read.
    pub fn work(&self, format: Format, options: &Options) -> ExamplesWork {
        let predictor = &self.model.predictor;
        let few = !self.is_document() && self.limits.answer_bytes_max < LINES_OF_SMALL_BODY;
        ExamplesWork {
            words_each: match few {
                true => u64::MAX,
                false => predictor.words_of_work(),
            },
            ..ExamplesWork::reading(format, Some(predictor.n()), options)
        }
    }

    /// The bound of [`Self::work`] for a session over names. With what separates it from the next one, a name has about
    /// four bytes.
    pub fn work_by_names(&self, format: Format, options: &Options) -> ExamplesWork {
        let classes = self.model.predictor.members().len() as u64;
        ExamplesWork {
            words_a_byte: (options.names_per_character() as u64)
                .saturating_mul(classes.div_ceil(4)),
            ..self.work(format, options)
        }
    }

    /// Predicts with another model of the same session from now on, for which further classes may have joined.
    pub fn use_model(&mut self, model: LoadedModel) {
        if model.names.classes != self.model.names.classes {
            let classes = model.names.class_names();
            self.destination.rename_classes(classes.as_deref());
        }
        self.model = model;
    }

    /// Predicts lines while they arrive. Runs in the blocking pool.
    ///
    /// # Errors
    /// An invalid line, and the errors of [`Self::take`].
    pub fn take_lines(&mut self, reader: impl Read, options: Options) -> Result<(), Problem> {
        let mut steps = LineSteps::new(reader, options);
        while let Some(step) = next_step(&mut steps, &self.model)? {
            self.take(&step.parsed, Origin::Line(step.last_line))?;
        }
        Ok(())
    }

    /// Predicts lines by a session while they arrive. Runs in the blocking pool under a permit, because it waits there
    /// while the session learns.
    ///
    /// # Errors
    /// An invalid line, the errors of [`Self::take_by`], and those of the session.
    pub fn take_lines_by(
        &mut self,
        session: &SessionOverNames,
        reader: impl Read,
        options: Options,
    ) -> Result<(), Problem> {
        let mut steps = LineSteps::new(reader, options);
        while let Some(step) = next_step(&mut steps, &session.nameless)? {
            let present = Handle::current().block_on(session.present())?;
            self.take_by(present, &step.parsed, Origin::Line(step.last_line))?;
        }
        Ok(())
    }

    /// Predicts examples by a session over names. Blocks only while the queue of answer lines is full.
    ///
    /// # Errors
    /// As for [`Self::take`], and those of the session.
    pub fn take_by(
        &mut self,
        present: PresentSession,
        parsed: &Parsed,
        whence: Origin,
    ) -> Result<(), Problem> {
        let Some(given) = &parsed.vocabulary else {
            // Only names fit.
            return self.take(parsed, whence);
        };
        let FittedExamples {
            model,
            data,
            memory,
        } = present.fit(given, &parsed.data)?;
        self.use_model(model);
        check(&self.model, &data, parsed, whence)?;
        let taken = self.take_data(parsed, &data);
        // The copy of the weights stays until then.
        drop(memory);
        taken
    }

    /// Predicts examples. Blocks only while the queue of answer lines is full.
    ///
    /// # Errors
    /// Examples that do not fit the model; an answer that is too long or takes too long; a client that has left.
    pub fn take(&mut self, parsed: &Parsed, whence: Origin) -> Result<(), Problem> {
        let data = fit(&self.model, parsed, whence)?;
        self.take_data(parsed, &data)
    }

    /// Predicts examples that have the ids of the model.
    fn take_data(&mut self, parsed: &Parsed, data: &Data) -> Result<(), Problem> {
        if let (PredictionSink::Document { document, .. }, Some(table)) =
            (&mut self.destination, &parsed.table)
        {
            let table = serde_json::to_string(table);
            document.set_table(table.expect("strings and finite numbers"));
        }
        if let PredictionSink::Document { timer, .. } = &mut self.destination {
            let predictor = &self.model.predictor;
            *timer = limit_decisions(&self.limits, &self.stop, predictor, data);
        }
        match self.decide(data, parsed.zero_bit_value)? {
            Some(interrupt) => Err(interrupted(&self.limits, interrupt)),
            None => Ok(()),
        }
    }

    /// Verifies the digest of a dataset, then predicts the examples while it reads them. Runs in the blocking pool.
    ///
    /// # Errors
    /// As for [`Self::take`], and a damaged dataset.
    pub fn take_stored(
        &mut self,
        dataset: &Dataset,
        stored: &StoredExamples,
    ) -> Result<(), Problem> {
        let (own, given) = (&self.model.names, &dataset.names);
        let checked = own.check_encoding(given);
        let checked = checked.and_then(|()| own.check_features(given));
        checked.map_err(misnamed)?;
        if let Some(names) = own.vocabulary() {
            let renamed = stored.rename(names);
            renamed.map_err(|interrupt| unread(stored, &self.limits, interrupt))?;
        }
        if let PredictionSink::Document { timer, .. } = &mut self.destination {
            *timer = limit(&self.limits, &self.stop);
        }
        fit_stored(&self.model, stored, &self.limits, &self.stop)?;
        match self.decide(stored, dataset.summary.facts.zero_bit_value.into())? {
            Some(interrupt) => Err(unread(stored, &self.limits, interrupt)),
            None => Ok(()),
        }
    }

    /// Predicts examples. Returns the interrupt if some examples were left undecided.
    fn decide(&mut self, examples: &dyn Examples, zero: f64) -> Result<Option<Interrupt>, Problem> {
        let examples_count = examples.shape().examples;
        let mut left = examples_count;
        let mut told = Ok(());
        let known = self.model.predictor.n();
        let may_have_unseen = self.model.names.is_open() || examples.shape().n > known;
        let unseen = match may_have_unseen {
            false => None,
            true => match unknown_features(examples, known, &self.stop) {
                Ok(counts) => Some(counts),
                Err(interrupt) => return Ok(Some(interrupt)),
            },
        };
        let predictor = &self.model.predictor;
        let (scores, stop) = (self.asked.of_decision(), &self.stop);
        let decided = decide_each(predictor, examples, zero, scores, stop, |decisions, _| {
            let first = examples_count - left;
            let unseen = unseen.as_ref().map(|all| &all[first..]);
            left -= decisions.len();
            told = self.destination.push(decisions, unseen);
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

    /// The complete document, or an empty text if the predictions were sent as lines.
    ///
    /// # Errors
    /// A document that is too long.
    pub fn finish(self) -> Result<String, Problem> {
        match self.destination {
            PredictionSink::Lines { .. } => Ok(String::new()),
            PredictionSink::Document { document, .. } => {
                let bytes_max = document.bytes_max;
                document.finish().ok_or_else(|| too_long(bytes_max))
            }
        }
    }
}

/// The next lines for a model.
///
/// # Errors
/// An invalid line.
pub fn next_step<R: Read>(
    steps: &mut LineSteps<R>,
    model: &LoadedModel,
) -> Result<Option<LineStep>, Problem> {
    let step = steps.next(|parsed| {
        // A line of whole numbers between lines of real numbers counts as Boolean if read alone.
        let is_alike = parsed.first_real.is_none() || !model.predictor.reads_bits();
        is_alike && fit(model, parsed, Origin::Whole).is_ok()
    });
    Ok(step?)
}

impl PredictionSink {
    /// Names the classes of the next predictions, which begin with those that had names before.
    fn rename_classes(&mut self, names: Option<&[String]>) {
        let texts = names.map(class_texts);
        match self {
            Self::Document { document, .. } => document.rename_classes(texts),
            Self::Lines { classes, .. } => *classes = texts,
        }
    }

    /// `unseen` has the number of unknown features of each example, if there may be some.
    fn push(&mut self, decisions: &[Decision], unseen: Option<&[u32]>) -> Result<(), Problem> {
        let unseen = |at: usize| unseen.map(|counts| counts[at]);
        let all = decisions.iter().enumerate();
        match self {
            Self::Document { document, .. } => {
                all.for_each(|(at, one)| document.push(one, unseen(at)));
                match document.is_too_long() {
                    true => Err(too_long(document.bytes_max)),
                    false => Ok(()),
                }
            }
            Self::Lines {
                text,
                asked,
                classes,
                ..
            } => {
                let classes = classes.as_ref();
                all.for_each(|(at, one)| push_line(text, one, classes, *asked, unseen(at)));
                match text.len() >= PIECE_BYTES {
                    true => self.send(),
                    false => Ok(()),
                }
            }
        }
    }

    /// Sends the waiting lines. A client may wait for an answer before sending the next example.
    fn send(&mut self) -> Result<(), Problem> {
        match self {
            Self::Lines { text, writer, .. } if !text.is_empty() => {
                Handle::current().block_on(writer.write(std::mem::take(text)))
            }
            _ => Ok(()),
        }
    }
}

fn too_long(bytes_max: u64) -> Problem {
    let detail = format!(
        "The answer would be longer than answer_bytes_max: {bytes_max} bytes. To receive the \
         lines as they are computed, send Accept: application/x-ndjson."
    );
    Problem::new(Code::ANSWER_TOO_LONG, detail)
}
