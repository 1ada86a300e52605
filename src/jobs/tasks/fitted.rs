//! The data of a training that holds examples out: only the others decide values, thresholds, scales and what fills
//! missing cells. The table is encoded once more, from its raw cells.

use std::sync::Arc;

use halfspace_core::learners::engine::check;
use halfspace_core::learners::engine::run::{Interrupt, Run};
use halfspace_core::learners::engine::task::{self, Task};
use halfspace_core::learners::sample::examples::Examples;
use halfspace_formats::TableEncoding;

use crate::records::Names;

use super::data::TaskData;
use crate::jobs::datasets::stored::ReadError;

/// The data with features that the examples of a training decide.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub(super) data: Arc<TaskData>,
    pub(super) names: Names,
    /// Digest of the examples.
    pub(super) sha256: String,
}

impl Fitted {
    /// Encodes the table for the examples that the task does not hold out. `None` if nothing about the features depends
    /// on the examples, or if the task starts from a model, which fixes the features.
    ///
    /// # Errors
    /// The interrupt that came first.
    pub(super) fn of(
        task: &Task,
        data: &TaskData,
        names: &Names,
        run: &Run,
    ) -> Result<Option<Self>, Interrupt> {
        let (Some(cells), Some(table)) = (data.raw_cells(), &names.table) else {
            return Ok(None);
        };
        if task.start.is_some() || !table.depends_on_rows() {
            return Ok(None);
        }
        let Some(holdout) = task::holdout(task, data.input())? else {
            return Ok(None);
        };
        let classes = names.classes.as_ref();
        let encoded = cells.encoded(table, classes, &holdout.shows(), &run.stop);
        let (examples, own) = match encoded {
            Ok(Some(encoded)) => encoded,
            Ok(None) => return Ok(None),
            Err(error) => return Err(suspension(run).unwrap_or_else(|| cells.fail(error))),
        };
        if examples.shape().examples as u64 != data.input().examples().unwrap_or(0) {
            let detail = "The raw cells of the table are not those of the examples.";
            cells.note(ReadError::Corrupt(detail.to_owned()));
            return Err(Interrupt::Unreadable);
        }
        let sha256 = hex::encode(examples.sha256());
        let encoded = data.encoded(examples);
        // Other features are other examples for the learner.
        if let Err(error) = check::check_accepted(task, encoded.input(), u64::MAX) {
            cells.note(ReadError::Unfit(error.to_string()));
            return Err(Interrupt::Unreadable);
        }
        let own_table = own.table.as_deref().map(|own| TableEncoding {
            label: table.label.clone(),
            missing: table.missing.clone(),
            ..own.clone()
        });
        Ok(Some(Self {
            sha256,
            data: Arc::new(encoded),
            names: Names {
                classes: names.classes.clone(),
                table: own_table.map(Arc::new),
                ..own.kept()
            },
        }))
    }
}

/// Why the run must end here, if it must. A limit on time or a cancellation must not: the training reports what it
/// learnt before, for which it needs the examples.
fn suspension(run: &Run) -> Option<Interrupt> {
    let raised = run.stop.raised()?;
    (!matches!(raised, Interrupt::TimeLimit | Interrupt::Cancelled)).then_some(raised)
}
