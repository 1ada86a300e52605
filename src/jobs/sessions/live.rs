//! One session in memory: its restoration from the store, and the log entries and snapshots for the store.

use std::borrow::Cow;

use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::Run;
use halfspace_core::learners::engine::session::{LearnError, Session, SessionPlan};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::sample::data::{Data, Features, RealMatrix};
use halfspace_core::memory::{self, Grant, NoMemory};
use halfspace_formats::{RowsKind, Vocabulary};

use crate::records::Lineage;
use crate::records::session::{
    SentDigest, SessionRecord, SessionSpec, StoredSession, pack, push_part, take_part, unpack,
};
use crate::records::train::TrainSpec;

use crate::jobs::json_text::json_text;
use crate::jobs::tasks::error::ResolveError;
use crate::jobs::tasks::train::task_of;

/// A snapshot is due when the log since the last snapshot reaches this number of examples or [`LOG_BYTES_MAX`].
/// The log must also have a quarter of the snapshot's bytes or [`LOG_EXAMPLES_IN_ANY_CASE`] examples.
const LOG_EXAMPLES_MAX: u64 = 4096;
const LOG_BYTES_MAX: usize = 1 << 20;
const LOG_EXAMPLES_IN_ANY_CASE: u64 = 65_536;

/// A session in memory, with the sizes of its stored log and snapshot.
pub(crate) struct Live {
    pub(crate) session: Session,
    pub(crate) record: SessionRecord,
    pub(crate) memory: Grant,
    /// The data of the requests so far.
    pub(crate) lineage: Lineage,
    log_examples: u64,
    log_bytes: usize,
    snapshot_bytes: usize,
}

impl Live {
    /// Number of examples learnt.
    pub(crate) fn position(&self) -> u64 {
        self.session.counts().examples
    }

    /// Whether the session must be restored before its next use. The rule of an ended session over names has those of
    /// examples that it did not learn.
    pub(crate) fn must_be_restored(&self) -> bool {
        self.record.spec.names.is_open() && self.session.end().is_some()
    }

    /// The bytes that store the first `rows` examples of `data`, which the session has just learnt. `sent` is the
    /// digest of all data of the request, and `first_new` the first id of a name that they brought.
    pub(crate) fn log_entry(
        &mut self,
        data: &Data,
        rows: usize,
        sent: Option<SentDigest>,
        first_new: usize,
    ) -> Vec<u8> {
        let names = self.record.spec.names.vocabulary();
        let names = names.map(|own| own.bytes_from(first_new));
        let packed = pack(data, rows, sent.as_ref(), names.as_deref());
        if let Some(sent) = sent {
            self.lineage.add(None, Some(&hex::encode(sent)));
        }
        self.log_examples += rows as u64;
        self.log_bytes += packed.len();
        packed
    }

    /// Whether a snapshot should replace the log.
    pub(crate) fn is_snapshot_due(&self) -> bool {
        let is_long = self.log_examples >= LOG_EXAMPLES_MAX || self.log_bytes >= LOG_BYTES_MAX;
        let is_worth_it = 4 * self.log_bytes >= self.snapshot_bytes
            || self.log_examples >= LOG_EXAMPLES_IN_ANY_CASE;
        is_long && is_worth_it && !self.must_be_restored()
    }

    /// The present state, from which a new log begins.
    pub(crate) fn snapshot(&mut self) -> Vec<u8> {
        let names = self.record.spec.names.vocabulary();
        let mut snapshot = Vec::new();
        push_part(&mut snapshot, json_text(&self.lineage).as_bytes());
        if let Some(names) = names {
            push_part(&mut snapshot, &names.bytes_from(0));
        }
        snapshot.extend(self.session.snapshot());
        (self.log_examples, self.log_bytes) = (0, 0);
        self.snapshot_bytes = snapshot.len();
        snapshot
    }
}

/// Checks the learner and the settings of a stored session.
pub(crate) fn plan(spec: &SessionSpec) -> Result<SessionPlan, ResolveError> {
    let train = TrainSpec {
        learner: spec.learner.clone(),
        stop: spec.stop.clone(),
        multiclass: spec.multiclass,
        ..TrainSpec::of_defaults(&spec.learner.name)
    };
    let mut task = Task {
        // Classes that join are counted by the session.
        classes: if spec.open {
            0
        } else {
            spec.names.class_count()
        },
        open: spec.open,
        ..task_of(&train, Seed(spec.seed))?
    };
    let is_open = spec.names.is_open();
    if is_open {
        task.read_names().map_err(TaskError::Parameter)?;
    }
    if spec.active.is_some() && !task.needs_active_max() {
        let detail = "only a threshold over an open vocabulary follows from the number of names of an example; leave \
                      active out";
        return Err(ResolveError::Field {
            field: "active",
            detail: detail.to_owned(),
        });
    }
    task.active_max = spec.active;
    Ok(SessionPlan {
        task,
        n: match is_open {
            true => 0,
            false => usize::try_from(spec.n).unwrap_or(usize::MAX),
        },
        real: spec.values == RowsKind::Real,
        assume: spec.assume,
    })
}

/// The parts of a stored snapshot: the JSON text of the lineage, the names of an open vocabulary and the state of the
/// session. The names are added to the vocabulary. `None` if the snapshot is damaged.
fn parts_of<'s>(
    mut stored: &'s [u8],
    vocabulary: Option<&mut Vocabulary>,
) -> Option<(Lineage, &'s [u8])> {
    let lineage = serde_json::from_slice(take_part(&mut stored)?).ok()?;
    if let Some(vocabulary) = vocabulary {
        vocabulary.add_bytes(take_part(&mut stored)?)?;
    }
    Some((lineage, stored))
}

/// The computation was told to stop.
pub(crate) struct Interrupted;

/// Restores a session as of its last stored append. Returns `None` if the stored state is damaged.
pub(crate) fn revived(
    stored: StoredSession,
    memory: Grant,
    run: &Run,
) -> Result<Option<Live>, Interrupted> {
    let learner = memory.clone();
    learner.settled(|| learnt_again(stored, memory, run))
}

fn learnt_again(
    stored: StoredSession,
    memory: Grant,
    run: &Run,
) -> Result<Option<Live>, Interrupted> {
    let StoredSession {
        mut record,
        snapshot,
        log,
    } = stored;
    let Ok(plan) = plan(&record.spec) else {
        return Ok(None);
    };
    let n = plan.n;
    // The names are part of the state.
    record.spec.names.vocabulary_mut();
    let restored = match &snapshot {
        None => Session::new(plan).ok().map(|new| (Lineage::unknown(), new)),
        Some(snapshot) => parts_of(snapshot, record.spec.names.vocabulary_mut())
            .and_then(|(lineage, state)| Some((lineage, Session::restore(plan, state).ok()?))),
    };
    let Some((mut lineage, mut session)) = restored else {
        return Ok(None);
    };
    let mut log_examples = 0;
    for bytes in &log {
        let Some((data, sent)) = unpack(n, record.spec.names.vocabulary_mut(), bytes) else {
            return Ok(None);
        };
        if let Some(sent) = sent {
            lineage.add(None, Some(&hex::encode(sent)));
        }
        log_examples += data.examples() as u64;
        match session.learn(&data, run) {
            Ok(_) => {}
            Err(LearnError::Unfit { .. }) => return Ok(None),
            Err(LearnError::Interrupted) => return Err(Interrupted),
        }
    }
    let live = Live {
        session,
        lineage,
        log_examples,
        log_bytes: log.iter().map(Vec::len).sum(),
        snapshot_bytes: snapshot.map_or(0, |snapshot| snapshot.len()),
        record,
        memory,
    };
    let names = live.record.spec.names.vocabulary();
    let is_whole = live.position() == live.record.position
        && names.is_none_or(|names| names.len() == live.session.n());
    Ok(is_whole.then_some(live))
}

/// The examples in the value type of the session. Boolean examples are converted for a session of real values.
///
/// # Errors
/// An error if the memory grant is too small for the values.
pub(crate) fn as_values(
    data: &Data,
    zero: f64,
    values: RowsKind,
) -> Result<Cow<'_, Data>, NoMemory> {
    let (features, n) = (data.features(), data.n());
    if features.is_real() || values == RowsKind::Boolean {
        return Ok(Cow::Borrowed(data));
    }
    let features = match features {
        Features::Sparse(matrix) if zero == 0.0 => Features::Sparse(matrix.clone().with(n, true)),
        features => {
            memory::need((features.rows() * n * size_of::<f64>()) as u64)?;
            let rows = (0..features.rows()).filter_map(|row| features.bits(row));
            let value = |bit| if bit { 1.0 } else { zero };
            let values = rows.flat_map(|bits| (0..n).map(move |j| value(bits.get(j))));
            Features::Real(RealMatrix::from_values(n, values.collect()))
        }
    };
    Ok(Cow::Owned(Data::new(features, data.labels().clone())))
}
