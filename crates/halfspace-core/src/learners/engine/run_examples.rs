//! The source of the examples of a run: generated or stored, with or without a hold-out.

use crate::bits::BitVector;
use crate::learners::engine::holdout::{Holdout, HoldoutPart};
use crate::learners::engine::input::Input;
use crate::learners::engine::pruning::Pruned;
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::engine::task::{self, Task};
use crate::learners::sample::block::BlockFeatures;
use crate::learners::sample::data::Data;
use crate::learners::sample::examples::Examples;
use crate::learners::sample::generate::{Generated, Plan};
use crate::learners::sample::selected::Selected;
use crate::learners::sample::source::{Presented, Stream};

/// The source of the examples of a run.
pub(crate) struct RunExamples<'a> {
    task: &'a Task,
    pub(crate) holdout: Option<Holdout>,
    /// The features that the hypothesis of the run keeps, once the run has ended. None for all.
    pub(crate) pruned: Option<Pruned>,
    source: ExampleSource<'a>,
}

#[derive(Clone, Copy)]
enum ExampleSource<'a> {
    /// Drawn each time they are read.
    Generated(&'a Plan),
    /// In memory or elsewhere.
    Stored(&'a dyn Examples),
}

impl<'a> RunExamples<'a> {
    /// The examples of a task. If the learner needs generated examples as a sample, `materialised` has them.
    ///
    /// # Errors
    /// An interrupt if the labels, which a stratified hold-out needs, cannot be read.
    pub(crate) fn new(
        task: &'a Task,
        input: Input<'a>,
        materialised: Option<&'a Data>,
    ) -> Result<Self, Interrupt> {
        Ok(Self {
            task,
            pruned: None,
            // The hold-out is computed from the examples that exist. An interrupt may have cut drawing short
            // and ends the run at once.
            holdout: match materialised {
                Some(data) => task::holdout(task, Input::Sample { data, assume: None })?,
                None => task::holdout(task, input)?,
            },
            source: match (input, materialised) {
                (Input::Generated(plan), None) => ExampleSource::Generated(plan),
                (Input::Generated(_), Some(data)) => ExampleSource::Stored(data),
                (Input::Sample { data, .. }, _) => ExampleSource::Stored(data),
            },
        })
    }

    /// The examples that the learner is shown.
    ///
    /// # Errors
    /// [`Interrupt::Memory`] if there is no memory for the order of weighted examples.
    pub(crate) fn shown(&self) -> Result<ShownExamples<'a>, Interrupt> {
        Ok(match self.source {
            ExampleSource::Generated(plan) => {
                ShownExamples::Drawn(self.drawn(plan, HoldoutPart::Shown))
            }
            ExampleSource::Stored(examples) => {
                let sample = self.weighted(examples)?;
                match self.task.pruning.minimum_count {
                    None => ShownExamples::AtRest(Box::new(sample)),
                    Some(minimum) => {
                        ShownExamples::Selected(Box::new(Selected::frequent(sample, minimum)))
                    }
                }
            }
        })
    }

    /// A part of the examples in their own order, with the features that the hypothesis keeps.
    pub(crate) fn stream(&self, part: HoldoutPart) -> Box<dyn Stream + 'a> {
        match (self.source, &self.pruned) {
            (ExampleSource::Generated(plan), _) => self.drawn(plan, part),
            (ExampleSource::Stored(examples), None) => Box::new(self.at_rest(examples, part)),
            (ExampleSource::Stored(examples), Some(pruned)) => {
                let chosen = pruned.chosen.clone();
                Box::new(Selected::chosen(self.at_rest(examples, part), chosen))
            }
        }
    }

    /// The largest number of active features in an example that the learner is shown.
    ///
    /// # Errors
    /// The interrupt that left no result.
    pub(crate) fn active_max(&self, run: &Run) -> Result<u64, Interrupt> {
        let mut stream = self.stream(HoldoutPart::Shown);
        let mut most = 0;
        while let Some(block) = stream.next_block()? {
            match run.stop.raised() {
                Some(why @ (Interrupt::Suspended | Interrupt::Unreadable | Interrupt::Memory)) => {
                    return Err(why);
                }
                // The number must not depend on the clock, because a threshold follows from it.
                Some(Interrupt::TimeLimit | Interrupt::Cancelled) | None => {}
            }
            if let BlockFeatures::Sparse(rows) = block.features {
                let counts = (0..rows.rows()).map(|row| rows.row(row).ids.len() as u64);
                most = counts.fold(most, u64::max);
            }
        }
        Ok(most)
    }

    fn drawn(&self, plan: &Plan, part: HoldoutPart) -> Box<dyn Stream + 'a> {
        let Task { entry, seed, .. } = self.task;
        let drawn = Generated::new(plan.clone(), *seed, entry.presentation);
        match &self.holdout {
            None => Box::new(drawn),
            Some(holdout) => Box::new(holdout.clone().of_drawn(part, drawn)),
        }
    }

    fn at_rest(&self, examples: &'a dyn Examples, part: HoldoutPart) -> Presented<'a> {
        let presentation = self.task.entry.presentation;
        match &self.holdout {
            None => Presented::new(examples, presentation),
            Some(holdout) => Presented::of_rows(examples, presentation, holdout.rows(part)),
        }
    }

    /// The examples that the learner is shown, as often as their weights say.
    fn weighted(&self, examples: &'a dyn Examples) -> Result<Presented<'a>, Interrupt> {
        let Some(weights) = &self.task.weights else {
            return Ok(self.at_rest(examples, HoldoutPart::Shown));
        };
        let presentation = self.task.entry.presentation;
        let rows = task::shown_rows(self.holdout.as_ref(), examples);
        Presented::weighted(examples, presentation, &rows, weights)
    }

    /// The number of examples of a part, out of `examples` in total. `None` if there is no such part.
    pub(crate) fn count(&self, part: HoldoutPart, examples: u64) -> Option<u64> {
        match (&self.holdout, part) {
            (Some(holdout), _) => Some(holdout.count(part)),
            (None, HoldoutPart::Shown) => Some(examples),
            (None, HoldoutPart::HeldOut) => None,
        }
    }

    /// Turns rows (see [`Stream::row`]) into places among the examples that the learner is shown.
    pub(crate) fn places(&self, rows: &BitVector) -> BitVector {
        let (Some(holdout), ExampleSource::Stored(_)) = (&self.holdout, self.source) else {
            return rows.clone();
        };
        let shown = holdout.rows(HoldoutPart::Shown);
        let mut places = BitVector::zeros(shown.len());
        for (place, &row) in shown.iter().enumerate() {
            places.set(place, rows.get(row as usize));
        }
        places
    }

    /// Turns rows (see [`Stream::row`]) into rows of the data, held-out examples included.
    pub(crate) fn data_rows(&self, rows: Vec<u64>) -> Vec<u64> {
        let (Some(holdout), ExampleSource::Generated(_)) = (&self.holdout, self.source) else {
            return rows;
        };
        let shown = holdout.rows(HoldoutPart::Shown);
        let data_row = |row: u64| u64::from(shown[row as usize]);
        rows.into_iter().map(data_row).collect()
    }

    /// Whether it may take long to read all examples again, because they are drawn or not in memory.
    pub(crate) fn is_slow(&self) -> bool {
        match self.source {
            ExampleSource::Generated(_) => true,
            ExampleSource::Stored(examples) => examples.in_memory().is_none(),
        }
    }
}

/// The examples that a learner is shown.
pub(crate) enum ShownExamples<'a> {
    Drawn(Box<dyn Stream + 'a>),
    AtRest(Box<Presented<'a>>),
    /// Without the features that too few examples have.
    Selected(Box<Selected<'a>>),
}

impl ShownExamples<'_> {
    pub(crate) fn as_stream(&mut self) -> &mut dyn Stream {
        match self {
            Self::Drawn(stream) => &mut **stream,
            Self::AtRest(sample) => &mut **sample,
            Self::Selected(sample) => &mut **sample,
        }
    }
}
