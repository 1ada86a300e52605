//! Upper bounds of the memory that jobs take, from the shape of the data and the parameters.
//!
//! A job takes its bound when it is claimed. The shape does not tell how many support vectors a kernel will need or
//! how long exact numbers will grow; a job that needs more memory for those takes it where it looks at the stop flag:
//! see [`halfspace_core::memory::check`].

use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::task::{Task, grown_bytes, shown_examples, state_bytes};
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::predict::waiting_bytes;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::examples::{Examples, LabelKind, Shape};
use halfspace_core::separability::box_certificate;

/// Every job: the record, the progress and the buffers of a reader.
const JOB_BYTES: u64 = 640 << 10;

/// One feature of a model: the weight, the best weight so far, a state, and both weights in a document.
const FEATURE_BYTES: u64 = 256;

/// One feature of the blocks, the scores and the sums of the threads that compute a job together.
const HELPED_FEATURE_BYTES: u64 = 64;

/// Number of passes in which every example may be a stored mistake before the memory of a learner grows.
const PASSES: u64 = 4;

/// Number of mistakes on drawn examples that a learner may store before the memory of the learner grows.
const EXAMPLES_MIN: u64 = 16_384;

/// One stored example in the document of a model, in addition to one character per feature.
const VECTOR_BYTES: u64 = 100;

/// One subjob whose result is gathered.
const SUBJOB_BYTES: u64 = 4 << 10;

/// One entry of a row in a program of the solver: three copies, two of them in vectors that grow.
const SOLVER_ENTRY_BYTES: u64 = 48;

/// Examples in a program of the solver beyond four per coordinate.
const SOLVER_EXAMPLES: u64 = 8192;

/// One entry of the exact system: two copies as integers, the residues with their inverse, and the normal equations.
const EXACT_ENTRY_BYTES: u64 = 160;

/// The windows of dense data that are read in parts.
const DENSE_WINDOWS_BYTES: u64 = 4 << 20;

/// Those of sparse data, which take four times as much in memory as on the disk, in vectors that grow.
const SPARSE_WINDOWS_BYTES: u64 = 16 << 20;

/// The examples of a task that reads them in order, in memory or block by block.
fn examples_bytes(data: &dyn Examples, resident_bytes_max: u64) -> u64 {
    let whole = data.shape().memory_bytes();
    if whole <= resident_bytes_max {
        return whole;
    }
    let windows = match data.shape().entries {
        None => DENSE_WINDOWS_BYTES,
        Some(_) => SPARSE_WINDOWS_BYTES,
    };
    // A window, the window that replaces it, and a block that is read out of order.
    windows + 3 * data.block_bytes_max().min(whole)
}

fn input_bytes(input: Input<'_>, resident_bytes_max: u64) -> u64 {
    match input {
        Input::Sample { data, .. } => examples_bytes(data, resident_bytes_max),
        Input::Generated(_) => 0,
    }
}

/// The examples of a task that needs all of them at once, stored or drawn.
fn whole_bytes(input: Input<'_>) -> u64 {
    match input {
        Input::Sample { data, .. } => data.shape().memory_bytes(),
        Input::Generated(plan) => {
            let shape = Shape {
                n: plan.target.n(),
                examples: plan
                    .count
                    .and_then(|count| usize::try_from(count).ok())
                    .unwrap_or(0),
                is_real: false,
                entries: None,
                labels: LabelKind::SIGNS,
            };
            shape.memory_bytes()
        }
    }
}

/// A run that reads a body and holds so many bytes of it.
pub(super) fn reading(held_bytes: u64) -> u64 {
    JOB_BYTES.saturating_add(held_bytes)
}

/// A training that reads `planned` examples, if the number is known.
pub(super) fn training(
    task: &Task,
    input: Input<'_>,
    planned: Option<u64>,
    resident_bytes_max: u64,
) -> u64 {
    let passes = shown_examples(task, input)
        .unwrap_or(0)
        .saturating_mul(PASSES);
    let grown = grown_bytes(
        task,
        input,
        planned.unwrap_or(passes).min(passes.max(EXAMPLES_MIN)),
    );
    let model = (FEATURE_BYTES + HELPED_FEATURE_BYTES) * input.n() as u64 * task.members() as u64;
    let state = state_bytes(task, input).saturating_mul(2);
    let examples = input_bytes(input, resident_bytes_max);
    let parts = [examples, state, model, grown];
    parts.into_iter().fold(JOB_BYTES, u64::saturating_add)
}

/// The document of a model that stores examples. [`FEATURE_BYTES`] covers the document of another hypothesis, of which
/// a committee has one per class.
pub(in crate::jobs) fn document(predictor: &Predictor) -> u64 {
    let n = predictor.n() as u64;
    let stored = |hypothesis: &Hypothesis| match hypothesis {
        Hypothesis::Kernel(own) => vectors_bytes(own.len(), own.characters()),
        Hypothesis::KernelWinnow(own) => vectors_bytes(own.support().len(), own.characters()),
        _ => 0,
    };
    let members = predictor.members();
    let others = (members.len() as u64 - 1).saturating_mul(FEATURE_BYTES * n);
    members.iter().map(stored).fold(others, u64::saturating_add)
}

fn vectors_bytes(vectors: usize, characters: usize) -> u64 {
    vectors as u64 * VECTOR_BYTES + characters as u64
}

/// An evaluation of a model on examples.
pub(super) fn evaluation(input: Input<'_>, resident_bytes_max: u64) -> u64 {
    let examples = match input {
        Input::Sample { .. } => input_bytes(input, resident_bytes_max),
        // A full vector is copied into one of twice the size, so drawn examples take up to three times their
        // bytes.
        Input::Generated(_) => whole_bytes(input).saturating_mul(3),
    };
    JOB_BYTES
        .saturating_add(examples)
        .saturating_add(HELPED_FEATURE_BYTES * input.n() as u64)
        .saturating_add(waiting_bytes(input.examples().unwrap_or(u64::MAX)))
}

/// A question about the whole sample. The solver's programs have at most `coordinates_max` coordinates.
pub(super) fn certificate(input: Input<'_>, coordinates_max: usize) -> u64 {
    // Sparse examples are packed beside their own form.
    let packed = match input {
        Input::Sample { data, .. } if data.shape().entries.is_some() => {
            data.shape().packed().memory_bytes()
        }
        Input::Sample { .. } | Input::Generated(_) => 0,
    };
    let examples = evaluation(input, u64::MAX).saturating_add(packed);
    let (n, count) = (input.n() as u64, input.examples().unwrap_or(0));
    // An attempt counts the updates of each example and sorts them.
    let attempt = count
        .saturating_mul(32)
        .saturating_add(n.saturating_mul(FEATURE_BYTES));
    if n > coordinates_max as u64 {
        return examples.saturating_add(attempt);
    }
    let rows = count.min(4 * n + SOLVER_EXAMPLES);
    let program = rows.saturating_mul((n + 2) * SOLVER_ENTRY_BYTES);
    let exact = (n + 2).saturating_mul((n + 2) * EXACT_ENTRY_BYTES);
    let parts = [attempt, program, exact];
    parts.into_iter().fold(examples, u64::saturating_add)
}

/// A version space: the coded examples, or the program that excludes binary weights in the box from -1 to 1.
pub(super) fn version_space(input: Input<'_>) -> u64 {
    let (n, count) = (input.n() as u64, input.examples().unwrap_or(0));
    let sides = (2 * n).saturating_mul(n + 2);
    certificate(input, box_certificate::N_MAX)
        .saturating_add(count.saturating_mul(16))
        .saturating_add(sides.saturating_mul(SOLVER_ENTRY_BYTES))
}

/// A job that gathers the results of its subjobs.
pub(super) fn gathering(subjobs: u32) -> u64 {
    JOB_BYTES + u64::from(subjobs) * SUBJOB_BYTES
}

/// A training of a grid, before the learner is known.
pub(super) fn any_training(input: Input<'_>, resident_bytes_max: u64) -> u64 {
    let rows = input.examples().unwrap_or(0).saturating_mul(8);
    let examples = input_bytes(input, resident_bytes_max);
    let model = FEATURE_BYTES * input.n() as u64;
    JOB_BYTES
        .saturating_add(examples)
        .saturating_add(rows)
        .saturating_add(model)
}
