//! Statements that insert, read, list and delete models, with the digests of their rows.

use super::super::error::Result;
use super::super::quota::Usage;
use super::super::terms::ModelFilter;
use super::database::{SqlValue, Transaction, statement};
use super::digests::{MODEL, MODEL_DOCUMENT};
use super::rows::model_columns;
use super::{Store, idempotency, rows, usage};
use crate::records::id::ModelKind;
use crate::records::{KeyClaim, Model, ModelId, ModelSummary, Owner, Page, Slice};

impl Store {
    /// Stores a model. If the id is already stored, nothing changes.
    pub async fn insert_model(&self, model: &Model, key: Option<&KeyClaim>) -> Result<()> {
        self.ensure_row_space().await?;
        let mut transaction = self.database.begin().await?;
        let (owner, created_at) = (&model.owner, model.created_at);
        idempotency::claim(&mut transaction, key, owner, model.id, created_at).await?;
        let asked = Usage {
            stored_bytes: insert(&mut transaction, model).await?,
            ..Usage::default()
        };
        usage::admit(&mut transaction, &self.quotas, owner, &asked).await?;
        transaction.commit().await
    }

    /// The owner's model with this id.
    pub async fn model(&self, owner: &Owner, id: ModelId) -> Result<Option<Model>> {
        let select = concat!(
            "SELECT ",
            model_columns!(),
            ", document FROM models WHERE id = $1 AND owner = $2"
        );
        let select = statement(select).bind(id.to_string()).bind(owner.as_str());
        let row = self.database.optional(select).await?;
        row.as_ref().map(rows::model).transpose()
    }

    /// A page of the owner's models without their documents, newest first.
    pub async fn models(
        &self,
        owner: &Owner,
        filter: &ModelFilter,
        page: &Page<ModelKind>,
    ) -> Result<Slice<ModelSummary, ModelKind>> {
        let select = concat!(
            "SELECT ",
            model_columns!(),
            " FROM models WHERE owner = $1 AND id < $2 \
             AND ($3 IS NULL OR learner = $3) AND ($4 IS NULL OR kind = $4) \
             ORDER BY id DESC LIMIT $5"
        );
        let select = statement(select)
            .bind(owner.as_str())
            .bind(rows::before(page))
            .bind(filter.learner.as_deref())
            .bind(filter.kind.as_deref())
            .bind(page.limit() + 1);
        let found = self.database.all(select).await?;
        let items = found
            .iter()
            .map(rows::model_summary)
            .collect::<Result<Vec<_>>>()?;
        Ok(Slice::from_one_more(items, page, |model| model.id))
    }

    /// Deletes the owner's model. Returns whether the model existed.
    pub async fn delete_model(&self, owner: &Owner, id: ModelId) -> Result<bool> {
        self.with_reserve(|| async move {
            let mut transaction = self.database.begin().await?;
            let delete = statement("DELETE FROM models WHERE id = $1 AND owner = $2")
                .bind(id.to_string())
                .bind(owner.as_str());
            let deleted = transaction.execute(delete).await?;
            transaction.commit().await?;
            Ok(deleted > 0)
        })
        .await
    }
}

/// Stores the model unless the id is already stored. Returns the number of stored bytes.
pub(super) async fn insert(transaction: &mut Transaction, model: &Model) -> Result<u64> {
    let bytes = model.document.len() as u64;
    let digests = digests(model)?;
    let insert = statement(
        "INSERT INTO models (id, owner, job, name, learner, kind, n, created_at, document) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING",
    )
    .bind(model.id.to_string())
    .bind(model.owner.as_str())
    .bind(model.job.map(|job| job.to_string()))
    .bind(model.name.as_deref())
    .bind(model.learner.as_str())
    .bind(model.kind.as_str())
    .bind(rows::signed(model.n)?)
    .bind(model.created_at.milliseconds())
    .bind(model.document.as_str());
    if transaction.execute(insert).await? == 0 {
        return Ok(0);
    }
    let [digest, document_digest] = digests;
    let insert =
        statement("INSERT INTO model_digests (model, digest, document_digest) VALUES ($1, $2, $3)")
            .bind(model.id.to_string())
            .bind(digest)
            .bind(document_digest);
    transaction.execute(insert).await?;
    Ok(bytes)
}

/// The digests of a model and of its document.
fn digests(model: &Model) -> Result<[Vec<u8>; 2]> {
    let id = || SqlValue::from(model.id.to_string());
    let document = MODEL_DOCUMENT.of([id(), model.document.as_str().into()]);
    let digest = MODEL.of([
        id(),
        model.job.map(|job| job.to_string()).into(),
        model.name.as_deref().into(),
        model.learner.as_str().into(),
        model.kind.as_str().into(),
        rows::signed(model.n)?.into(),
        model.created_at.milliseconds().into(),
        document.as_slice().into(),
    ]);
    Ok([digest, document])
}
