//! The statements that all kinds of stored things share: they insert, find, list, delete and check things of any
//! kind, which describes its rows in [`Stored`].
//!
//! The rest is in the file of each kind, such as the filter of its list or what prevents a deletion.

use futures_util::future::BoxFuture;

use super::super::error::Result;
use super::super::quota::Usage;
use super::database::{Database, NewRow, Row, SqlValue, Statement, Transaction, statement};
use super::store::Store;
use super::{idempotency, rows, usage};
use crate::records::id::{Id, Kind};
use crate::records::{DataFacts, DatasetId, KeyClaim, Owner, Page, Slice, Timestamp};

/// A kind of stored thing.
pub trait Stored: Kind {
    /// A thing, as found by its id.
    type Thing: Send + Sync;
    /// A thing in a list, which may leave long parts out.
    type Item: Send;

    /// The table of the things.
    const TABLE: &'static str;
    /// The columns of an item of a list.
    const COLUMNS: &'static str;
    /// The further columns of a thing, each after a comma.
    const LONG_COLUMNS: &'static str = "";

    fn thing(row: &Row) -> Result<Self::Thing>;

    fn item(row: &Row) -> Result<Self::Item>;

    /// What a check compares beyond the digests of the rows.
    fn beyond(_: Self::Thing) -> Checked {
        Checked::default()
    }

    /// Reads the thing of any owner for a check. `None` if the thing was deleted meanwhile.
    fn check(
        database: &Database,
        id: &str,
    ) -> impl Future<Output = Result<Option<Checked>>> + Send {
        async move {
            let select = select::<Self>(" WHERE id = $1").bind(id);
            let row = database.optional(select).await?;
            let thing = row.as_ref().map(Self::thing).transpose()?;
            Ok(thing.map(Self::beyond))
        }
    }
}

/// A thing that is stored by writing its rows and nothing else.
pub trait Inserted: Sync {
    type Kind: Stored;

    /// The id, the owner and the creation.
    fn origin(&self) -> (Id<Self::Kind>, &Owner, Timestamp);

    /// The rows with their digests. The row in [`Stored::TABLE`] comes first.
    fn rows(&self) -> Result<Vec<NewRow>>;

    /// What the thing takes of the quotas.
    fn usage(&self) -> Usage {
        Usage::default()
    }
}

/// A kind whose things can always be deleted, with their rows and nothing else.
pub trait Deletable: Stored {}

/// What a check compares beyond the digests of a row.
#[derive(Debug, Default)]
pub struct Checked {
    /// The key of the blob with the examples, and its digest.
    pub data: Option<(String, Option<String>)>,
    /// The key of the blob with raw cells.
    pub cells: Option<String>,
    /// What is recorded of the examples.
    pub facts: Option<DataFacts>,
    /// The dataset that must be there.
    pub dataset: Option<DatasetId>,
    /// The state of a job, and the version of the program that wrote it.
    pub checkpoint: Option<(Vec<u8>, String)>,
}

impl Checked {
    /// Whether there is anything to compare. When a job has ended, there is nothing any more.
    pub fn is_open(&self) -> bool {
        self.data.is_some() || self.dataset.is_some() || self.checkpoint.is_some()
    }
}

/// A checked table of things with an id.
pub struct StoredTable {
    /// The things, in messages.
    pub things: &'static str,
    /// One of the things.
    pub noun: &'static str,
    /// The table, or what takes the place of one in a statement.
    pub(super) table: &'static str,
    /// The column of the id.
    pub(super) key: &'static str,
    /// See [`Stored::check`].
    pub(super) check: for<'a> fn(&'a Database, &'a str) -> BoxFuture<'a, Result<Option<Checked>>>,
}

impl StoredTable {
    /// The table of a kind.
    pub(super) const fn of<K: Stored>() -> Self {
        fn check<'a, K: Stored>(
            database: &'a Database,
            id: &'a str,
        ) -> BoxFuture<'a, Result<Option<Checked>>> {
            Box::pin(K::check(database, id))
        }
        Self {
            things: K::TABLE,
            noun: K::NOUN,
            table: K::TABLE,
            key: "id",
            check: check::<K>,
        }
    }
}

impl Store {
    /// Stores a thing. If its id is already stored, nothing changes.
    pub async fn insert(&self, thing: &impl Inserted, key: Option<&KeyClaim>) -> Result<()> {
        self.ensure_row_space().await?;
        let (id, owner, created_at) = thing.origin();
        let mut transaction = self.database.begin().await?;
        idempotency::claim(&mut transaction, key, owner, id, created_at).await?;
        let asked = insert(&mut transaction, thing).await?;
        usage::admit(&mut transaction, &self.quotas, owner, &asked).await?;
        transaction.commit().await
    }

    /// The owner's thing with this id.
    pub async fn find<K: Stored>(&self, owner: &Owner, id: Id<K>) -> Result<Option<K::Thing>> {
        let select = select::<K>(" WHERE id = $1 AND owner = $2");
        let select = select.bind(id.to_string()).bind(owner.as_str());
        let row = self.database.optional(select).await?;
        row.as_ref().map(K::thing).transpose()
    }

    /// A page of the owner's things, newest first.
    pub async fn list<K: Stored>(
        &self,
        owner: &Owner,
        page: &Page<K>,
    ) -> Result<Slice<K::Item, K>> {
        self.list_if(owner, page, "", []).await
    }

    /// A page of those of the owner's things that fulfil a condition, whose parameters begin with `$4`.
    pub(super) async fn list_if<K: Stored, const VALUES: usize>(
        &self,
        owner: &Owner,
        page: &Page<K>,
        condition: &'static str,
        values: [SqlValue; VALUES],
    ) -> Result<Slice<K::Item, K>> {
        let select = statement(
            "SELECT {columns} FROM {table} WHERE owner = $1 AND id < $2{condition} ORDER BY id DESC LIMIT $3",
        );
        let select = select
            .with("{columns}", K::COLUMNS)
            .with("{table}", K::TABLE);
        let mut select = select
            .with("{condition}", condition)
            .bind(owner.as_str())
            .bind(rows::before(page))
            .bind(page.limit() + 1);
        for value in values {
            select = select.bind(value);
        }
        let found = self.database.all(select).await?;
        let read = |row: &Row| Ok((rows::parsed(row, "id")?, K::item(row)?));
        let items = found.iter().map(read).collect::<Result<Vec<_>>>()?;
        let slice = Slice::from_one_more(items, page, |(id, _)| *id);
        Ok(Slice {
            items: slice.items.into_iter().map(|(_, item)| item).collect(),
            next: slice.next,
        })
    }

    /// Deletes the owner's thing. Returns whether it existed.
    pub async fn delete<K: Deletable>(&self, owner: &Owner, id: Id<K>) -> Result<bool> {
        self.with_reserve(|| async move {
            let mut transaction = self.database.begin().await?;
            let delete = statement("DELETE FROM {table} WHERE id = $1 AND owner = $2")
                .with("{table}", K::TABLE)
                .bind(id.to_string())
                .bind(owner.as_str());
            let deleted = transaction.execute(delete).await?;
            transaction.commit().await?;
            Ok(deleted > 0)
        })
        .await
    }
}

/// Stores the rows of a thing unless its id is stored already. Returns what was added to the usage of the owner.
pub(super) async fn insert(transaction: &mut Transaction, thing: &impl Inserted) -> Result<Usage> {
    let mut tail = " ON CONFLICT (id) DO NOTHING";
    for row in thing.rows()? {
        if transaction.execute(Statement::insert([row], tail)).await? == 0 {
            return Ok(Usage::default());
        }
        tail = "";
    }
    Ok(thing.usage())
}

/// Reads whole things.
pub(super) fn select<K: Stored>(condition: &'static str) -> Statement {
    statement("SELECT {columns}{long} FROM {table}{condition}")
        .with("{columns}", K::COLUMNS)
        .with("{long}", K::LONG_COLUMNS)
        .with("{table}", K::TABLE)
        .with("{condition}", condition)
}
