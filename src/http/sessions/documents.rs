//! The documents of sessions: a session, an item of the list, and a model saved from a session.

use std::sync::Arc;

use halfspace_core::certificates::{self, Certificates};
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::session::{Session, SessionEnd};
use halfspace_formats::{Assume, RowsKind, TableEncoding, Vocabulary};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::jobs::{INLINE_HYPOTHESIS_BYTES_MAX, hypothesis_to_write, is_shown_inline};
use crate::records::hypothesis::HypothesisDocument;
use crate::records::names::VocabularyKind;
use crate::records::session::SessionRecord;
use crate::records::train::{BoundDocument, StopSpec, TerminationDocument};
use crate::records::{Model, ModelId, Names, SessionId, Timestamp};

/// A session in a list.
#[derive(Serialize, ToSchema)]
pub struct SessionItem {
    pub id: SessionId,
    /// Name of the learner.
    pub learner: String,
    /// Features per example. With an open vocabulary, the number of names so far.
    pub n: u64,
    /// Number of examples learnt.
    pub position: u64,
    /// Tests that the hypothesis failed.
    pub mistakes: u64,
    /// Whether the session has ended and accepts no more examples.
    pub terminated: bool,
    pub created_at: Timestamp,
    /// Time of the last examples. Null before the first example.
    pub written_at: Option<Timestamp>,
}

/// A page of sessions, newest first.
#[derive(Serialize, ToSchema)]
pub struct SessionList {
    pub items: Vec<SessionItem>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The learner of a session, with all defaults filled in.
#[derive(Serialize, ToSchema)]
pub struct SessionLearner {
    pub name: String,
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
}

/// A session.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub struct SessionAnswer {
    pub id: SessionId,
    pub learner: SessionLearner,
    /// Features per example. With an open vocabulary, the number of names so far.
    pub n: u64,
    /// Whether an example is a set of names. Absent for a fixed number of features.
    #[serde(skip_serializing_if = "VocabularyKind::is_fixed")]
    pub vocabulary: VocabularyKind,
    /// Largest number of names of an example, as the request declared it. Null if it declared none.
    pub active: Option<u64>,
    /// Names of an open vocabulary in the order of their bytes, which the hypothesis has, too. Null together with the
    /// hypothesis, and for a fixed number of features.
    pub features: Option<Vec<String>>,
    /// Encoding of raw rows and texts; null without one.
    #[schema(value_type = Option<TableEncoding>)]
    pub table: Option<Arc<TableEncoding>>,
    /// Kind of the features.
    pub values: RowsKind,
    /// Declared origin of the examples. The service compares each example with a declared distribution. After a
    /// refutation the session claims nothing.
    pub assume: Option<Assume>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Conditions under which the session ends.
    pub stop: StopSpec,
    /// Names of the classes in the order of their hypotheses. Null if they have no names. Of open classes, those whose
    /// examples have come.
    pub classes: Option<Vec<String>>,
    /// Whether each class joins at its first example.
    pub open: bool,
    /// How more than two classes are learnt. Null if the request left it open.
    pub multiclass: Option<Multiclass>,
    /// Position of the session: the number of examples learnt. The ETag has the same number.
    pub position: u64,
    /// Examples read: tested, or consumed in a batch.
    pub examples: u64,
    /// Tests that the hypothesis failed.
    pub mistakes: u64,
    /// Mistakes that changed the hypothesis.
    pub updates: u64,
    /// Consistent examples since the last mistake.
    pub run_length: u64,
    /// Bound of the learner's theorem on the mistakes, if it follows without the examples, which a session does not
    /// keep. Its `respected` is therefore null.
    pub bound: Option<BoundDocument>,
    /// Reason why there is no bound.
    pub bound_detail: Option<String>,
    /// Confidence rule that can end the session, also one that the learner follows by default. Null if no confidence
    /// ends the session.
    pub stop_rule: Option<SessionStopRule>,
    /// Current hypothesis. Null if it is longer than 256 KiB, or the names of an open vocabulary are; save the session
    /// as a model then. Also null before the first example of open classes.
    pub hypothesis: Option<HypothesisDocument>,
    /// Reason why the session claims no confidence now or at its end, or why the rule's own claim is
    /// incomplete.
    pub confidence_detail: Option<String>,
    /// How and why the session ended; null while the session is open.
    pub termination: Option<TerminationDocument>,
    pub created_at: Timestamp,
    #[serde(flatten)]
    pub certified: Certificates,
}

/// The confidence rule that can end a session.
#[derive(Serialize, ToSchema)]
pub struct SessionStopRule {
    /// Name of the rule.
    pub rule: &'static str,
    /// Confidence at which the session ends.
    pub confidence: f64,
    /// Consistent examples in a row that end the session at present. Null if no number of them does.
    pub threshold: Option<u64>,
}

/// A model saved from a session.
#[derive(Serialize, ToSchema)]
pub struct SavedModel {
    /// Id of the model.
    pub id: ModelId,
    pub name: Option<String>,
    /// Learner that found the hypothesis.
    pub learner: String,
    /// Kind of hypothesis.
    pub kind: String,
    /// Features per example.
    pub n: u64,
    pub created_at: Timestamp,
}

impl From<SessionRecord> for SessionItem {
    fn from(record: SessionRecord) -> Self {
        Self {
            id: record.id,
            mistakes: record.tally.mistakes,
            terminated: record.tally.terminated,
            written_at: record.tally.written_at,
            learner: record.spec.learner.name,
            n: record.spec.n,
            position: record.position,
            created_at: record.created_at,
        }
    }
}

impl From<Model> for SavedModel {
    fn from(Model { summary: model, .. }: Model) -> Self {
        Self {
            id: model.id,
            name: model.name,
            learner: model.learner,
            kind: model.kind,
            n: model.n,
            created_at: model.created_at,
        }
    }
}

/// The document of a session in its current state.
pub fn answer(record: &SessionRecord, session: &Session) -> SessionAnswer {
    let (counts, spec) = (session.counts(), record.spec.clone());
    let (hypothesis, features) = hypothesis(&spec.names, session).unzip();
    let bound = session.bound();
    SessionAnswer {
        id: record.id,
        learner: SessionLearner {
            name: spec.learner.name,
            params: session.plan().task.parameters.to_json(),
        },
        n: spec.n,
        vocabulary: spec.names.vocabulary_kind(),
        active: spec.active,
        features: features.flatten(),
        table: spec.names.table.clone(),
        values: spec.values,
        assume: spec.assume,
        seed: spec.seed,
        stop: spec.stop,
        classes: record.class_names(),
        open: spec.open,
        multiclass: spec.multiclass,
        position: counts.examples,
        examples: counts.examples,
        mistakes: counts.mistakes,
        updates: counts.updates,
        run_length: session.run_length(),
        bound: bound.as_ref().ok().map(BoundDocument::from),
        bound_detail: bound.err().map(Into::into),
        stop_rule: session.watch().map(|watch| SessionStopRule {
            rule: watch.rule().name(),
            confidence: watch.confidence_asked(),
            threshold: watch.threshold(),
        }),
        hypothesis,
        confidence_detail: session.confidence_detail().map(String::from),
        termination: session.end().map(|end| termination(session, end)),
        created_at: record.created_at,
        certified: certified(session),
    }
}

/// The present hypothesis and the names of an open vocabulary in the order of its features, unless one is too long.
fn hypothesis(
    names: &Names,
    session: &Session,
) -> Option<(HypothesisDocument, Option<Vec<String>>)> {
    // So many names are too long, whatever they are.
    let is_long = |own: &Vocabulary| {
        let some: Vec<_> = own.names().take(INLINE_HYPOTHESIS_BYTES_MAX).collect();
        !is_shown_inline(&some)
    };
    if names.vocabulary().is_some_and(|own| is_long(own)) {
        return None;
    }
    let (names, predictor) = names.clone().in_order(hypothesis_to_write(session).ok()??);
    let hypothesis = HypothesisDocument::from(&predictor);
    let features = || names.vocabulary().and_then(|_| names.feature_list());
    is_shown_inline(&hypothesis).then(|| (hypothesis, features()))
}

/// Returns the certificates of the session in its current state.
fn certified(session: &Session) -> Certificates {
    let plan = session.plan();
    let fresh = session.fresh().map_err(String::from);
    let fresh = fresh.map(|()| plan.assume.unwrap_or(Assume::Independent));
    let confidence = plan.task.confidence.unwrap_or(certificates::CONFIDENCE);
    certificates::of_session(plan.task.entry, session.tested(), fresh, confidence)
}

fn termination(session: &Session, end: &SessionEnd) -> TerminationDocument {
    let watch = session.watch();
    let (reason, detail) = match end {
        SessionEnd::Confident => ("confident", session.end_note()),
        SessionEnd::Limit(name) => ("limit", Some(name.clone())),
    };
    TerminationDocument {
        reason: reason.to_owned(),
        rule: watch.map(|watch| watch.rule().name().to_owned()),
        confidence: session.confidence(),
        per_hypothesis_confidence: session.per_hypothesis_confidence(),
        run_length: Some(session.run_length()),
        threshold: watch.and_then(|watch| watch.threshold()),
        detail,
        confidence_detail: session.confidence_detail().map(String::from),
    }
}
