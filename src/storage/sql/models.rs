//! The rows of models with their digests, and the filter of their list.

use super::super::error::Result;
use super::super::quota::Usage;
use super::super::terms::ModelFilter;
use super::database::{NewRow, Row};
use super::digests::DigestColumn::{Bytes, Number, Text};
use super::digests::DigestColumns;
use super::rows;
use super::store::Store;
use super::stored::{Deletable, Inserted, Stored};
use crate::records::id::ModelKind;
use crate::records::{Model, ModelId, ModelSummary, Owner, Page, Slice, Timestamp};

/// A model without the document, which lists do not read.
const MODEL: DigestColumns = DigestColumns {
    kind: "model",
    columns: &[
        Text("id"),
        Text("job"),
        Text("name"),
        Text("learner"),
        Text("kind"),
        Number("n"),
        Number("created_at"),
        Bytes("document_digest"),
    ],
};

const MODEL_DOCUMENT: DigestColumns = DigestColumns {
    kind: "document of model",
    columns: &[Text("id"), Text("document")],
};

impl Store {
    /// A page of the owner's models without their documents, newest first.
    pub async fn models(
        &self,
        owner: &Owner,
        filter: &ModelFilter,
        page: &Page<ModelKind>,
    ) -> Result<Slice<ModelSummary, ModelKind>> {
        let condition = " AND ($4 IS NULL OR learner = $4) AND ($5 IS NULL OR kind = $5)";
        let values = [
            filter.learner.as_deref().into(),
            filter.kind.as_deref().into(),
        ];
        self.list_if(owner, page, condition, values).await
    }
}

impl Stored for ModelKind {
    type Thing = Model;
    type Item = ModelSummary;

    const TABLE: &'static str = "models";
    const COLUMNS: &'static str = "id, owner, job, name, learner, kind, n, created_at, \
         (SELECT digest FROM model_digests WHERE model_digests.model = models.id) AS digest, \
         (SELECT document_digest FROM model_digests WHERE model_digests.model = models.id) \
         AS document_digest";
    const LONG_COLUMNS: &'static str = ", document";

    fn thing(row: &Row) -> Result<Model> {
        MODEL_DOCUMENT.check(row, "document_digest")?;
        Ok(Model {
            summary: Self::item(row)?,
            document: row.get("document")?,
        })
    }

    fn item(row: &Row) -> Result<ModelSummary> {
        MODEL.check(row, "digest")?;
        Ok(ModelSummary {
            id: rows::parsed(row, "id")?,
            owner: Owner::new(row.get::<String>("owner")?),
            job: rows::parsed_if(row, "job")?,
            name: row.get("name")?,
            learner: row.get("learner")?,
            kind: row.get("kind")?,
            n: rows::unsigned(row, "n")?,
            created_at: Timestamp::from_milliseconds(row.get("created_at")?),
        })
    }
}

impl Inserted for Model {
    type Kind = ModelKind;

    fn origin(&self) -> (ModelId, &Owner, Timestamp) {
        let summary = &self.summary;
        (summary.id, &summary.owner, summary.created_at)
    }

    fn rows(&self) -> Result<Vec<NewRow>> {
        let Model { summary, document } = self;
        let id = summary.id.to_string();
        let row = NewRow::of(
            ModelKind::TABLE,
            [
                ("id", id.as_str().into()),
                ("owner", summary.owner.as_str().into()),
                ("job", summary.job.map(|job| job.to_string()).into()),
                ("name", summary.name.as_deref().into()),
                ("learner", summary.learner.as_str().into()),
                ("kind", summary.kind.as_str().into()),
                ("n", rows::signed(summary.n)?.into()),
                ("created_at", summary.created_at.milliseconds().into()),
                ("document", document.as_str().into()),
            ],
        );
        let document = MODEL_DOCUMENT.of_rows(&[&row]);
        let digests = [("model", id.into()), ("document_digest", document.into())];
        let digests = NewRow::of("model_digests", digests);
        let digest = MODEL.of_rows(&[&row, &digests]);
        Ok(vec![row, digests.and("digest", digest)])
    }

    fn usage(&self) -> Usage {
        Usage {
            stored_bytes: self.document.len() as u64,
            ..Usage::default()
        }
    }
}

impl Deletable for ModelKind {}
