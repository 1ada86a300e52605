//! The rows of datasets with their digests, and their deletion. A dataset cannot be deleted while an unfinished job
//! reads it.

use super::super::blobs::Blobs;
use super::super::error::Result;
use super::super::error::StoreError;
use super::super::lease::DeleteDatasetOutcome;
use super::super::quota::Usage;
use super::database::{NewRow, Row, Transaction, statement};
use super::digests::DigestColumn::{Bytes, Number, Text};
use super::digests::DigestColumns;
use super::rows;
use super::store::Store;
use super::stored::{Checked, Inserted, Stored};
use crate::records::dataset::Repetitions;
use crate::records::id::DatasetKind;
use crate::records::{DataFacts, Dataset, DatasetId, DatasetSummary, Job, Names, Owner, Timestamp};

/// A dataset without the names, which lists do not read.
const DATASET: DigestColumns = DigestColumns {
    kind: "dataset",
    columns: &[
        Text("id"),
        Text("name"),
        Number("n"),
        Text("kind"),
        Text("value_kind"),
        Number("zero_bit_value"),
        Text("assume"),
        Number("examples"),
        Text("class_examples"),
        Number("duplicates"),
        Number("contradictions"),
        Text("uncounted"),
        Text("sha256"),
        Number("bytes"),
        Number("cells_bytes"),
        Text("data_key"),
        Number("created_at"),
        Bytes("names_digest"),
        Number("seed"),
    ],
};

const DATASET_NAMES: DigestColumns = DigestColumns {
    kind: "names of dataset",
    columns: &[
        Text("id"),
        Text("features"),
        Text("classes"),
        Text("encoding"),
    ],
};

impl Store {
    /// Deletes the owner's dataset, unless a job that has not ended reads it.
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

impl Stored for DatasetKind {
    type Thing = Dataset;
    type Item = DatasetSummary;

    const TABLE: &'static str = "datasets";
    const COLUMNS: &'static str = "id, owner, name, n, kind, value_kind, zero_bit_value, assume, examples, \
         class_examples, duplicates, contradictions, uncounted, sha256, bytes, cells_bytes, data_key, created_at, \
         seed, \
         (SELECT digest FROM dataset_digests WHERE dataset_digests.dataset = datasets.id) \
         AS digest, \
         (SELECT names_digest FROM dataset_digests WHERE dataset_digests.dataset = datasets.id) \
         AS names_digest";
    const LONG_COLUMNS: &'static str = ", features, classes, encoding";

    fn thing(row: &Row) -> Result<Dataset> {
        DATASET_NAMES.check(row, "names_digest")?;
        Ok(Dataset {
            summary: Self::item(row)?,
            names: Names {
                features: rows::from_json_if(row, "features")?,
                classes: rows::from_json_if(row, "classes")?,
                table: rows::from_json_if(row, "encoding")?,
            },
        })
    }

    fn item(row: &Row) -> Result<DatasetSummary> {
        DATASET.check(row, "digest")?;
        let repetitions = match row.get::<Option<String>>("uncounted")? {
            Some(reason) => Repetitions::Uncounted(reason),
            None => Repetitions::Counted {
                duplicates: rows::unsigned(row, "duplicates")?,
                contradictions: rows::unsigned_if(row, "contradictions")?,
            },
        };
        let assume: Option<String> = row.get("assume")?;
        Ok(DatasetSummary {
            id: rows::parsed(row, "id")?,
            owner: Owner::new(row.get::<String>("owner")?),
            name: row.get("name")?,
            facts: DataFacts {
                n: rows::unsigned(row, "n")?,
                kind: rows::from_word(row.get("kind")?)?,
                values: rows::from_word(row.get("value_kind")?)?,
                zero_bit_value: rows::small(row, "zero_bit_value")?,
                assume: assume.map(rows::from_word).transpose()?,
                examples: rows::unsigned(row, "examples")?,
                class_examples: rows::from_json_if(row, "class_examples")?,
                repetitions,
                sha256: row.get("sha256")?,
            },
            seed: rows::unsigned_if(row, "seed")?,
            bytes: rows::unsigned(row, "bytes")?,
            cells_bytes: rows::unsigned(row, "cells_bytes")?,
            data_key: row.get("data_key")?,
            created_at: Timestamp::from_milliseconds(row.get("created_at")?),
        })
    }

    fn beyond(dataset: Dataset) -> Checked {
        let DatasetSummary {
            data_key,
            facts,
            cells_bytes,
            ..
        } = dataset.summary;
        Checked {
            cells: (cells_bytes > 0).then(|| Blobs::cells_key(&data_key)),
            data: Some((data_key, Some(facts.sha256.clone()))),
            facts: Some(facts),
            ..Checked::default()
        }
    }
}

impl Inserted for Dataset {
    type Kind = DatasetKind;

    fn origin(&self) -> (DatasetId, &Owner, Timestamp) {
        let summary = &self.summary;
        (summary.id, &summary.owner, summary.created_at)
    }

    fn rows(&self) -> Result<Vec<NewRow>> {
        let Dataset { summary, names } = self;
        let facts = &summary.facts;
        let (duplicates, contradictions, uncounted) = match &facts.repetitions {
            Repetitions::Counted {
                duplicates,
                contradictions,
            } => (Some(*duplicates), *contradictions, None),
            Repetitions::Uncounted(reason) => (None, None, Some(reason.as_str())),
        };
        let id = summary.id.to_string();
        let assume = facts.assume.as_ref().map(rows::word).transpose()?;
        let row = NewRow::of(
            DatasetKind::TABLE,
            [
                ("id", id.as_str().into()),
                ("owner", summary.owner.as_str().into()),
                ("name", summary.name.as_deref().into()),
                ("n", rows::signed(facts.n)?.into()),
                ("kind", rows::word(&facts.kind)?.into()),
                ("value_kind", rows::word(&facts.values)?.into()),
                ("zero_bit_value", i64::from(facts.zero_bit_value).into()),
                ("assume", assume.into()),
                ("examples", rows::signed(facts.examples)?.into()),
                (
                    "class_examples",
                    rows::json_if(facts.class_examples.as_ref())?.into(),
                ),
                ("duplicates", signed_if(duplicates)?.into()),
                ("contradictions", signed_if(contradictions)?.into()),
                ("uncounted", uncounted.into()),
                ("sha256", facts.sha256.as_str().into()),
                ("bytes", rows::signed(summary.bytes)?.into()),
                ("cells_bytes", rows::signed(summary.cells_bytes)?.into()),
                ("data_key", summary.data_key.as_str().into()),
                ("created_at", summary.created_at.milliseconds().into()),
                ("features", rows::json_if(names.features.as_ref())?.into()),
                ("classes", rows::json_if(names.classes.as_ref())?.into()),
                ("encoding", rows::json_if(names.table.as_ref())?.into()),
                ("seed", signed_if(summary.seed)?.into()),
            ],
        );
        let names = DATASET_NAMES.of_rows(&[&row]);
        let digests = [("dataset", id.into()), ("names_digest", names.into())];
        let digests = NewRow::of("dataset_digests", digests);
        let digest = DATASET.of_rows(&[&row, &digests]);
        Ok(vec![row, digests.and("digest", digest)])
    }

    fn usage(&self) -> Usage {
        Usage {
            stored_bytes: self.summary.bytes,
            ..Usage::default()
        }
    }
}

fn signed_if(number: Option<u64>) -> Result<Option<i64>> {
    number.map(rows::signed).transpose()
}

/// An unfinished job that reads the dataset. The last two conditions name the partial index.
pub(super) const PIN: &str = "SELECT id FROM jobs \
     WHERE dataset = $1 AND dataset IS NOT NULL AND finished_at IS NULL LIMIT 1";

/// Refuses an unfinished job whose owner has no such dataset. The lock that this takes pins the dataset for the job.
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
