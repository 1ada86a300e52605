//! Statements that insert, read, list and delete datasets, with the digests of their rows. An unfinished job
//! pins the dataset that it reads.

use super::super::error::Result;
use super::super::error::StoreError;
use super::super::lease::DeleteDatasetOutcome;
use super::super::quota::Usage;
use super::database::{SqlValue, Transaction, statement};
use super::digests::{DATASET, DATASET_NAMES};
use super::rows::dataset_columns;
use super::{Store, idempotency, rows, usage};
use crate::records::dataset::Repetitions;
use crate::records::id::DatasetKind;
use crate::records::{Dataset, DatasetId, DatasetSummary, Job, KeyClaim, Owner, Page, Slice};

impl Store {
    /// Stores a dataset whose blob is already stored. If the id is already stored, nothing changes.
    pub async fn insert_dataset(&self, dataset: &Dataset, key: Option<&KeyClaim>) -> Result<()> {
        self.ensure_row_space().await?;
        let summary = &dataset.summary;
        let (counted, uncounted) = counted(summary);
        let (owner, created_at) = (&summary.owner, summary.created_at);
        let mut transaction = self.database.begin().await?;
        idempotency::claim(&mut transaction, key, owner, summary.id, created_at).await?;
        let names = [
            rows::json_if(dataset.names.features.as_ref())?,
            rows::json_if(dataset.names.classes.as_ref())?,
            rows::json_if(dataset.names.table.as_ref())?,
        ];
        let insert = statement(
            "INSERT INTO datasets (id, owner, name, n, kind, value_kind, zero_bit_value, assume, \
             examples, positives, duplicates, contradictions, uncounted, sha256, bytes, data_key, \
             created_at, features, classes, encoding, seed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
             $12, $13, $14, $15, $16, $17, $18, $19, $20, $21) ON CONFLICT (id) DO NOTHING",
        )
        .bind(summary.id.to_string())
        .bind(summary.owner.as_str())
        .bind(summary.name.as_deref())
        .bind(rows::signed(summary.facts.n)?)
        .bind(rows::word(&summary.facts.kind)?)
        .bind(rows::word(&summary.facts.values)?)
        .bind(i64::from(summary.facts.zero_bit_value))
        .bind(summary.facts.assume.as_ref().map(rows::word).transpose()?)
        .bind(rows::signed(summary.facts.examples)?)
        .bind(signed_if(summary.facts.positives)?)
        .bind(signed_if(counted.map(|(duplicates, _)| duplicates))?)
        .bind(signed_if(
            counted.and_then(|(_, contradictions)| contradictions),
        )?)
        .bind(uncounted)
        .bind(summary.facts.sha256.as_str())
        .bind(rows::signed(summary.bytes)?)
        .bind(summary.data_key.as_str())
        .bind(summary.created_at.milliseconds())
        .bind(names[0].clone())
        .bind(names[1].clone())
        .bind(names[2].clone())
        .bind(signed_if(summary.seed)?);
        if transaction.execute(insert).await? == 1 {
            write_digests(&mut transaction, summary, names).await?;
            let asked = Usage {
                stored_bytes: summary.bytes,
                ..Usage::default()
            };
            usage::admit(&mut transaction, &self.quotas, owner, &asked).await?;
        }
        transaction.commit().await
    }

    /// The owner's dataset with this id.
    pub async fn dataset(&self, owner: &Owner, id: DatasetId) -> Result<Option<Dataset>> {
        let select = concat!(
            "SELECT ",
            dataset_columns!(),
            ", features, classes, encoding FROM datasets WHERE id = $1 AND owner = $2"
        );
        let select = statement(select).bind(id.to_string()).bind(owner.as_str());
        let row = self.database.optional(select).await?;
        row.as_ref().map(rows::dataset).transpose()
    }

    /// A page of the owner's datasets without the names of features and classes, newest first.
    pub async fn datasets(
        &self,
        owner: &Owner,
        page: &Page<DatasetKind>,
    ) -> Result<Slice<DatasetSummary, DatasetKind>> {
        let select = concat!(
            "SELECT ",
            dataset_columns!(),
            " FROM datasets WHERE owner = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        );
        let select = statement(select)
            .bind(owner.as_str())
            .bind(rows::before(page))
            .bind(page.limit() + 1);
        let found = self.database.all(select).await?;
        let items = found
            .iter()
            .map(rows::dataset_summary)
            .collect::<Result<Vec<_>>>()?;
        Ok(Slice::from_one_more(items, page, |dataset| dataset.id))
    }

    /// Deletes the owner's dataset, unless a job that has not ended reads the dataset.
    pub async fn delete_dataset(
        &self,
        owner: &Owner,
        id: DatasetId,
    ) -> Result<DeleteDatasetOutcome> {
        self.with_reserve(|| async move {
            let mut transaction = self.database.begin().await?;
            // The lock keeps jobs on the dataset from being inserted between the check and the deletion.
            let select = statement(
                "SELECT data_key FROM datasets WHERE id = $1 AND owner = $2 {for update}",
            )
            .bind(id.to_string())
            .bind(owner.as_str());
            let found = transaction.optional(select).await?;
            let Some(found) = found else {
                return Ok(DeleteDatasetOutcome::NotFound);
            };
            let select = statement(PIN).bind(id.to_string());
            let pin = transaction.optional(select).await?;
            if let Some(pin) = pin {
                let job = rows::parsed(&pin, "id")?;
                return Ok(DeleteDatasetOutcome::Pinned { job });
            }
            let delete = statement("DELETE FROM datasets WHERE id = $1").bind(id.to_string());
            transaction.execute(delete).await?;
            transaction.commit().await?;
            let data_key = found.get("data_key")?;
            Ok(DeleteDatasetOutcome::Deleted { data_key })
        })
        .await
    }
}

/// Stores the digests of a dataset and of its names.
async fn write_digests(
    transaction: &mut Transaction,
    summary: &DatasetSummary,
    names: [Option<String>; 3],
) -> Result<()> {
    let (counted, uncounted) = counted(summary);
    let id = || SqlValue::from(summary.id.to_string());
    let [features, classes, encoding] = names.map(SqlValue::from);
    let names = DATASET_NAMES.of([id(), features, classes, encoding]);
    let digest = DATASET.of([
        id(),
        summary.name.as_deref().into(),
        rows::signed(summary.facts.n)?.into(),
        rows::word(&summary.facts.kind)?.into(),
        rows::word(&summary.facts.values)?.into(),
        i64::from(summary.facts.zero_bit_value).into(),
        summary
            .facts
            .assume
            .as_ref()
            .map(rows::word)
            .transpose()?
            .into(),
        rows::signed(summary.facts.examples)?.into(),
        signed_if(summary.facts.positives)?.into(),
        signed_if(counted.map(|(duplicates, _)| duplicates))?.into(),
        signed_if(counted.and_then(|(_, contradictions)| contradictions))?.into(),
        uncounted.into(),
        summary.facts.sha256.as_str().into(),
        rows::signed(summary.bytes)?.into(),
        summary.data_key.as_str().into(),
        summary.created_at.milliseconds().into(),
        names.as_slice().into(),
        signed_if(summary.seed)?.into(),
    ]);
    let insert = statement(
        "INSERT INTO dataset_digests (dataset, digest, names_digest) VALUES ($1, $2, $3)",
    )
    .bind(summary.id.to_string())
    .bind(digest)
    .bind(names);
    transaction.execute(insert).await.map(|_| ())
}

/// Duplicates and contradictions, or the reason why they were not counted.
fn counted(summary: &DatasetSummary) -> (Option<(u64, Option<u64>)>, Option<&str>) {
    match &summary.facts.repetitions {
        Repetitions::Counted {
            duplicates,
            contradictions,
        } => (Some((*duplicates, *contradictions)), None),
        Repetitions::Uncounted(reason) => (None, Some(reason)),
    }
}

fn signed_if(number: Option<u64>) -> Result<Option<i64>> {
    number.map(rows::signed).transpose()
}

/// An unfinished job that reads the dataset. The last two conditions name the partial index.
pub(super) const PIN: &str = "SELECT id FROM jobs \
     WHERE dataset = $1 AND dataset IS NOT NULL AND finished_at IS NULL LIMIT 1";

/// Refuses an unfinished job whose owner has no such dataset. The lock in this transaction pins the dataset
/// for the job.
pub(super) async fn demand_of(transaction: &mut Transaction, job: &Job) -> Result<()> {
    let Some(id) = job.dataset.filter(|_| !job.status.is_ended()) else {
        return Ok(());
    };
    let select = statement("SELECT 1 FROM datasets WHERE id = $1 AND owner = $2 {for share}")
        .bind(id.to_string())
        .bind(job.owner.as_str());
    let found = transaction.optional(select).await?;
    found.map(|_| ()).ok_or(StoreError::DatasetMissing(id))
}

/// The blobs of datasets; see [`Store::data_keys_in_use`].
pub(super) const DATA_KEYS: &str =
    "SELECT data_key FROM datasets WHERE data_key > $1 ORDER BY data_key LIMIT $2";
