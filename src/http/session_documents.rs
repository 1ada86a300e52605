//! The documents of sessions.

use halfspace_core::learners::session::{Session, SessionEnd};
use halfspace_formats::{Assume, RowsKind};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::jobs::is_shown_inline;
use crate::records::hypothesis::HypothesisDocument;
use crate::records::session::SessionRecord;
use crate::records::train::{StopSpec, TerminationDocument};
use crate::records::{Model, ModelId, SessionId, Timestamp};

/// A session in a list.
#[derive(Serialize, ToSchema)]
pub struct SessionItem {
    pub id: SessionId,
    /// The learner's name.
    pub learner: String,
    /// Features an example.
    pub n: u64,
    /// Examples learnt.
    pub position: u64,
    pub created_at: Timestamp,
}

/// A page of sessions, newest first.
#[derive(Serialize, ToSchema)]
pub struct SessionList {
    pub items: Vec<SessionItem>,
    /// Where the next page begins; null on the last.
    pub next_cursor: Option<String>,
}

/// The learner of a session, its defaults filled in.
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
    /// Features an example.
    pub n: u64,
    /// What the features are.
    pub values: RowsKind,
    /// The declared distribution of the examples. Each example is compared with the declaration. After
    /// a refutation no confidence is claimed.
    pub assume: Option<Assume>,
    /// Of every random choice.
    pub seed: u64,
    /// When it ends.
    pub stop: StopSpec,
    /// Where it stands: the examples learnt. Also the ETag.
    pub position: u64,
    /// Examples read, tested or consumed in a batch.
    pub examples: u64,
    /// Tests of the hypothesis that it failed.
    pub mistakes: u64,
    /// Mistakes that changed it.
    pub updates: u64,
    /// Consistent examples since the last mistake.
    pub run_length: u64,
    /// What was learnt; null when it is longer than 256 KiB: then save it as a model.
    pub hypothesis: Option<HypothesisDocument>,
    /// Why no confidence is claimed, now or at the end, or why the rule's own claim is incomplete.
    pub confidence_detail: Option<String>,
    /// How and why the session ended; null while it goes on.
    pub termination: Option<TerminationDocument>,
    pub created_at: Timestamp,
}

/// A session as a model.
#[derive(Serialize, ToSchema)]
pub struct SavedModel {
    /// The model.
    pub id: ModelId,
    pub name: Option<String>,
    /// The learner that found the hypothesis.
    pub learner: String,
    /// The kind of hypothesis.
    pub kind: String,
    /// Features an example.
    pub n: u64,
    pub created_at: Timestamp,
}

impl From<SessionRecord> for SessionItem {
    fn from(record: SessionRecord) -> Self {
        Self {
            id: record.id,
            learner: record.spec.learner.name,
            n: record.spec.n,
            position: record.position,
            created_at: record.created_at,
        }
    }
}

impl From<Model> for SavedModel {
    fn from(model: Model) -> Self {
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

/// The document of a session as it stands.
pub fn answer(record: &SessionRecord, session: &Session) -> SessionAnswer {
    let (counts, spec) = (session.counts(), record.spec.clone());
    let hypothesis = HypothesisDocument::from(&session.hypothesis());
    SessionAnswer {
        id: record.id,
        learner: SessionLearner {
            name: spec.learner.name,
            params: session.plan().task.parameters.to_json(),
        },
        n: spec.n,
        values: spec.values,
        assume: spec.assume,
        seed: spec.seed,
        stop: spec.stop,
        position: counts.examples,
        examples: counts.examples,
        mistakes: counts.mistakes,
        updates: counts.updates,
        run_length: session.run_length(),
        hypothesis: is_shown_inline(&hypothesis).then_some(hypothesis),
        confidence_detail: session.confidence_detail().map(String::from),
        termination: session.end().map(|end| termination(session, end)),
        created_at: record.created_at,
    }
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
        threshold: watch.map(|watch| watch.threshold()),
        detail,
        confidence_detail: session.confidence_detail().map(String::from),
    }
}
