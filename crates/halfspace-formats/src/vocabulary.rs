//! Names of features that nobody lists in advance: an example has some of them, and any example may bring new ones.
//!
//! While a body is read, a new name gets the next id. At its end, ids follow the bytes of the names, whatever the order
//! of names or lines. Every list of weights has this order.
//!
//! Where a value stands in a column, the name is `column=value`.
//!
//! The names stand in one text. The hash table keeps 32 bits of the hash beside the id, so growing reads no name, and a
//! search reads hardly any but the one that it finds. Clients choose the names, so the hash is seeded at random; copies
//! share the seed, which no answer shows, since the order of the table decides nothing.

use std::hash::BuildHasher;

use halfspace_core::bits::{Excerpt, SparseMatrix};
use halfspace_core::learners::sample::data::{Data, Features};
use halfspace_core::memory::{self, NoMemory};
use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};

use crate::error::{Fault, FormatErrorKind, excerpt};

/// The most bytes of a name.
pub const NAME_BYTES_MAX: usize = 1024;

/// Bytes of a name besides its text: where it ends, its place in the hash table with a byte that tells whether it is
/// taken, and a free place beside it.
const PLACE_BYTES: usize = size_of::<usize>() + 2 * (size_of::<Place>() + 1);

/// Bytes of the length of a name in the stored form.
const LENGTH_BYTES: usize = 2;

/// Distinct names with the ids 0, 1, 2 and so on. Names are only added.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// The names, one after the other.
    text: String,
    /// Where each name ends in the text.
    ends: Vec<usize>,
    table: HashTable<Place>,
    keys: DefaultHashBuilder,
}

/// A name in the hash table.
#[derive(Clone, Copy, Debug)]
struct Place {
    hash: u32,
    id: u32,
}

impl Place {
    /// The hash for the table, which reads its first and its last bits.
    fn table_hash(hash: u32) -> u64 {
        u64::from(hash) << u32::BITS | u64::from(hash)
    }
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}

impl Vocabulary {
    /// The vocabulary of these names in their order, or `None` if one occurs twice or is no name.
    pub fn of_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<Self> {
        let mut vocabulary = Self::default();
        vocabulary.add_all(names).then_some(vocabulary)
    }

    /// Adds names. Returns false at the first one that is known already or is no name.
    fn add_all<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) -> bool {
        names.into_iter().all(|name| {
            let id = self.len();
            check(name).is_ok() && self.add(name) as usize == id
        })
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of the names in memory.
    pub fn bytes(&self) -> u64 {
        (self.text.len() + PLACE_BYTES * self.len()) as u64
    }

    /// The bytes of the names in the stored form.
    pub fn stored_bytes(&self) -> u64 {
        (self.text.len() + LENGTH_BYTES * self.len()) as u64
    }

    /// The id of a name, if it has one.
    pub fn id(&self, name: &str) -> Option<u32> {
        let hash = self.hash(name);
        let place = self.table.find(Place::table_hash(hash), |place| {
            place.hash == hash && self.name(place.id) == Some(name)
        });
        place.map(|place| place.id)
    }

    fn hash(&self, name: &str) -> u32 {
        (self.keys.hash_one(name) >> u32::BITS) as u32
    }

    /// The id of a name, which is new if the name is.
    pub(crate) fn add(&mut self, name: &str) -> u32 {
        let hash = self.hash(name);
        let Self {
            text, ends, table, ..
        } = self;
        let entry = table.entry(
            Place::table_hash(hash),
            |place| place.hash == hash && name_at(text, ends, place.id) == Some(name),
            |place| Place::table_hash(place.hash),
        );
        match entry {
            Entry::Occupied(known) => known.get().id,
            Entry::Vacant(free) => {
                let id = ends.len() as u32;
                text.push_str(name);
                ends.push(text.len());
                free.insert(Place { hash, id });
                id
            }
        }
    }

    /// The name of an id.
    pub fn name(&self, id: u32) -> Option<&str> {
        name_at(&self.text, &self.ends, id)
    }

    /// The names in the order of their ids.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let begins = std::iter::once(&0).chain(&self.ends);
        begins
            .zip(&self.ends)
            .map(|(&begin, &end)| &self.text[begin..end])
    }

    /// The bytes that [`Self::sorted`] needs.
    pub fn sorting_bytes(&self) -> u64 {
        self.bytes() + (self.len() * (size_of::<(u64, u32)>() + size_of::<u32>())) as u64
    }

    /// The same names in the order of their bytes, and their new ids.
    pub fn sorted(&self) -> (Self, Renumbering) {
        let mut names: Vec<(u64, u32)> = self.beginnings().zip(0..).collect();
        names.sort_unstable_by(|(beginning, id), (other, other_id)| {
            let rest = || self.name(*id).cmp(&self.name(*other_id));
            beginning.cmp(other).then_with(rest)
        });
        let mut ids = vec![0; names.len()];
        let mut text = String::with_capacity(self.text.len());
        let mut ends = Vec::with_capacity(self.len());
        for (place, &(_, id)) in (0..).zip(&names) {
            ids[id as usize] = place;
            text.push_str(self.name(id).unwrap_or_default());
            ends.push(text.len());
        }
        let (mut table, keys) = (self.table.clone(), self.keys.clone());
        table
            .iter_mut()
            .for_each(|place| place.id = ids[place.id as usize]);
        let sorted = Self {
            text,
            ends,
            table,
            keys,
        };
        // Examples without any name have one feature.
        let n = self.len().max(1);
        (sorted, Renumbering { ids, n })
    }

    /// The first bytes of each name behind those that all names have in common, as a number, so that most names compare
    /// without their text.
    fn beginnings(&self) -> impl Iterator<Item = u64> {
        let mut names = self.names().map(str::as_bytes);
        let first = names.next().unwrap_or_default();
        let common = names.fold(first.len(), |common, name| {
            let same = first[..common].iter().zip(name);
            same.take_while(|(one, other)| one == other).count()
        });
        self.names().map(move |name| {
            let mut beginning = [0; size_of::<u64>()];
            let rest = &name.as_bytes()[common..];
            let some = rest.len().min(beginning.len());
            beginning[..some].copy_from_slice(&rest[..some]);
            u64::from_be_bytes(beginning)
        })
    }

    /// These names and those of other data, in the order of their bytes.
    #[must_use]
    pub fn united(&self, given: &Self) -> Self {
        let mut names: Vec<&str> = self.names().chain(given.names()).collect();
        names.sort_unstable();
        names.dedup();
        Self::of_names(names).expect("distinct names")
    }

    /// The ids of the names of other data in place of their own. A name that is unknown here gets an id from
    /// [`Self::len`] on.
    pub fn renumbering(&self, given: &Self) -> Renumbering {
        // Examples without any name have one feature.
        let mut next = self.len().max(1) as u32;
        let ids = given.names().map(|name| {
            self.id(name).unwrap_or_else(|| {
                next += 1;
                next - 1
            })
        });
        Renumbering {
            ids: ids.collect(),
            n: next as usize,
        }
    }

    /// Ids for the names of other data in place of their own, and the new names by their ids there, in the order of
    /// their ids here. A new name gets the next id at the first of the rows that has it, and those of one row follow
    /// the order of their bytes. So it does not matter which rows come together.
    pub fn joined_by(&self, given: &Self, rows: &SparseMatrix) -> (Renumbering, Vec<u32>) {
        let mut ids: Vec<Option<u32>> = given.names().map(|name| self.id(name)).collect();
        let mut new = Vec::new();
        for row in 0..rows.rows() {
            let first = new.len();
            let row = rows.row(row).ids.iter().copied();
            new.extend(row.filter(|&id| ids[id as usize].is_none()));
            new[first..].sort_unstable_by_key(|&id| given.name(id));
            for (place, &id) in (self.len() + first..).zip(&new[first..]) {
                ids[id as usize] = Some(place as u32);
            }
        }
        let n = self.len() + new.len();
        // No row has the other names.
        let ids = ids.into_iter().map(|id| id.unwrap_or(n as u32)).collect();
        // Examples without any name have one feature.
        (Renumbering { ids, n: n.max(1) }, new)
    }

    /// Adds names of other data, by their ids there.
    pub fn join(&mut self, given: &Self, new: &[u32]) {
        for name in new.iter().filter_map(|&id| given.name(id)) {
            self.add(name);
        }
    }

    /// The stored form of the names from an id on, to which [`Self::add_bytes`] is the reverse.
    pub fn bytes_from(&self, first: usize) -> Vec<u8> {
        let ids = first as u32..self.len() as u32;
        bytes_of(ids.filter_map(|id| self.name(id)))
    }

    /// Adds the names of some bytes of [`Self::bytes_from`]. Returns `None` if the bytes are no names, or one of the
    /// names is known already.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.add_all(names_in(bytes)?).then_some(())
    }

    /// The stored form, which the digest covers too: for each name the number of its bytes in 2 bytes, little-endian,
    /// and the bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        bytes_of(self.names())
    }

    /// Reads the bytes of [`Self::to_bytes`].
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::of_names(names_in(bytes)?)
    }
}

/// The name of an id among names in a text.
fn name_at<'t>(text: &'t str, ends: &[usize], id: u32) -> Option<&'t str> {
    let id = id as usize;
    let begin = id
        .checked_sub(1)
        .map_or(Some(&0), |before| ends.get(before))?;
    Some(&text[*begin..*ends.get(id)?])
}

fn bytes_of<'n>(names: impl Iterator<Item = &'n str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for name in names {
        bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes
}

fn names_in(mut bytes: &[u8]) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() {
        let name;
        (name, bytes) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        names.push(str::from_utf8(name).ok()?);
    }
    bytes.is_empty().then_some(names)
}

/// What stands between a column and a value, a word, characters or places, or between a namespace and a feature, in the
/// names that the column or the namespace gives.
const MARKS: [char; 5] = ['=', ':', '~', '@', '^'];

/// The name of the feature that a value in a column stands for: `column=value`.
pub(crate) fn name_of(column: &str, value: &str) -> String {
    let mut name = String::with_capacity(column.len() + 1 + value.len());
    push_prefix(column, '=', &mut name);
    name + value
}

/// Appends the part of the names of a column up to its mark. A `\\` before each mark and `\\` of the column tells where
/// the column ends, so that no two columns have names in common.
pub(crate) fn push_prefix(column: &str, mark: char, into: &mut String) {
    push_escaped(column, &MARKS, into);
    into.push(mark);
}

/// Appends a text with a `\\` before each of the marks and each `\\` in it.
pub(crate) fn push_escaped(text: &str, marks: &[char], into: &mut String) {
    for character in text.chars() {
        if marks.contains(&character) || character == '\\' {
            into.push('\\');
        }
        into.push(character);
    }
}

/// The beginnings of a name up to each of its marks.
pub(crate) fn prefixes_in(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices(MARKS)
        .map(|(at, mark)| &name[..at + mark.len()])
}

/// Checks that a text can be a name.
///
/// # Errors
/// An empty or a long text.
pub(crate) fn check(name: &str) -> Result<(), Fault> {
    let detail = match name.len() {
        1..=NAME_BYTES_MAX => return Ok(()),
        0 => "The name of a feature is empty; it has at least one character.".to_owned(),
        length => format!(
            "The name {} has {length} bytes; a name has at most {NAME_BYTES_MAX}.",
            excerpt(name.as_bytes())
        ),
    };
    Err(Fault::new(FormatErrorKind::BadName, detail))
}

/// The ids that features get in place of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbering {
    /// The new id of each id.
    ids: Vec<u32>,
    /// The number of features afterwards.
    n: usize,
}

impl Renumbering {
    /// The number of features afterwards.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The new id of each id.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The same ids at the places of those below `known`, and behind these places those from `known` on.
    pub fn excerpt(self, known: usize) -> (Self, Excerpt) {
        let first_unknown = known.max(1);
        let own = self.ids.iter().copied();
        let excerpt = Excerpt::new(own.filter(|&id| (id as usize) < known).collect());
        let place = |id: u32| match excerpt.place(id) {
            Some(place) => place,
            None => (excerpt.n() + id as usize - first_unknown) as u32,
        };
        let ids = self.ids.into_iter().map(place).collect();
        let n = excerpt.n() + self.n - first_unknown;
        (Self { ids, n }, excerpt)
    }

    /// The examples with the new ids. Only sparse rows have names.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn of(&self, data: &Data) -> Result<Data, NoMemory> {
        let Features::Sparse(rows) = data.features() else {
            return Ok(data.clone());
        };
        let features = Features::Sparse(self.of_rows(rows)?);
        Ok(Data::new(features, data.labels().clone()))
    }

    /// The rows with the new ids.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn of_rows(&self, rows: &SparseMatrix) -> Result<SparseMatrix, NoMemory> {
        memory::need(rows.bytes())?;
        let mut renumbered = SparseMatrix::new(self.n, rows.is_real());
        let mut entries = Vec::new();
        for row in (0..rows.rows()).map(|row| rows.row(row)) {
            if row.values.is_none() {
                renumbered.push_unsorted(row.ids.iter().map(|&id| self.ids[id as usize]));
                continue;
            }
            entries.clear();
            entries.extend(row.entries().map(|(id, value)| (self.ids[id], value)));
            entries.sort_unstable_by_key(|entry| entry.0);
            entries
                .iter()
                .for_each(|&(id, value)| renumbered.push(id, value));
            renumbered.end_row();
        }
        Ok(renumbered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfspace_core::bits::SparseRow;
    use halfspace_core::learners::sample::data::Labels;
    use proptest::prelude::*;

    fn vocabulary(names: &[&str]) -> Vocabulary {
        Vocabulary::of_names(names.iter().copied()).expect("names")
    }

    #[test]
    fn vocabulary_survives_its_stored_form() {
        for names in [
            &[][..],
            &["w=the"],
            &["b", "a", "é", "w\u{0}=", "\u{10ffff}"],
        ] {
            let own = vocabulary(names);
            let bytes = own.to_bytes();
            assert_eq!(bytes.len() as u64, own.stored_bytes());
            let again = Vocabulary::from_bytes(&bytes).expect("the stored form");
            assert_eq!(again, own);
            assert_eq!(again.names().collect::<Vec<_>>(), names);
            if let Some((_, less)) = bytes.split_last() {
                assert_eq!(Vocabulary::from_bytes(less), None);
            }
        }
        assert_eq!(Vocabulary::of_names(["a", "a"]), None);
        assert_eq!(Vocabulary::of_names([""]), None);
    }

    /// Rows bring their names in the same order, whether they come together or one by one.
    #[test]
    fn names_of_rows_join_in_the_order_of_the_rows() {
        let given = vocabulary(&["a", "b", "c", "d", "unused"]);
        let rows = |some: &[&[u32]]| {
            let mut rows = SparseMatrix::new(5, false);
            for &ids in some {
                rows.push_row(SparseRow { ids, values: None });
            }
            rows
        };
        let all: [&[u32]; 3] = [&[2, 3], &[], &[0, 1, 2]];
        let own = vocabulary(&["x", "b"]);
        // The order of the given names does not matter.
        let given_otherwise = vocabulary(&["d", "c", "unused", "b", "a"]);
        let otherwise: [&[u32]; 3] = [&[0, 1], &[], &[1, 3, 4]];
        let (others, new) = own.joined_by(&given_otherwise, &rows(&otherwise));
        assert_eq!((others.ids, new), (vec![3, 2, 5, 1, 4], vec![1, 0, 4]));
        let (together, new) = own.joined_by(&given, &rows(&all));
        assert_eq!(
            (together.ids.as_slice(), together.n()),
            (&[4, 1, 2, 3, 5][..], 5)
        );
        assert_eq!(new, [2, 3, 0]);
        let mut single = own.clone();
        for row in all {
            let (_, new) = single.joined_by(&given, &rows(&[row]));
            single.join(&given, &new);
        }
        assert_eq!(
            single.names().collect::<Vec<_>>(),
            ["x", "b", "c", "d", "a"]
        );
        let mut stored = own.clone();
        assert_eq!(stored.add_bytes(&single.bytes_from(own.len())), Some(()));
        assert_eq!(stored, single);
        assert_eq!(stored.add_bytes(&single.bytes_from(4)), None);
    }

    proptest! {
        /// Names that begin alike, that are beginnings of others, and with bytes of 0, which are also no byte there.
        #[test]
        fn sorted_names_are_found_at_their_places(
            common in "[a\u{0}]{0,9}",
            rests in prop::collection::hash_set("[ab\u{0}\u{e9}]{1,10}", 0..40),
        ) {
            let mut names: Vec<String> = rests.iter().map(|rest| format!("{common}{rest}")).collect();
            let own = Vocabulary::of_names(names.iter().map(String::as_str)).expect("names");
            let (sorted, ids) = own.sorted();
            let before = names.clone();
            names.sort_unstable();
            prop_assert_eq!(sorted.names().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
            for (id, name) in (0..).zip(&names) {
                prop_assert_eq!(sorted.id(name), Some(id));
            }
            for (name, &id) in before.iter().zip(ids.ids()) {
                prop_assert_eq!(sorted.name(id), Some(name.as_str()));
            }
            prop_assert_eq!(sorted.id("b"), names.iter().position(|name| name == "b").map(|at| at as u32));
            let mut more = sorted;
            prop_assert_eq!(more.add("never seen") as usize, names.len());
        }
    }

    #[test]
    fn unknown_names_get_ids_after_the_known_ones() {
        let (own, given) = (
            vocabulary(&["a", "b", "c"]),
            vocabulary(&["x", "c", "a", "y"]),
        );
        let new = own.renumbering(&given);
        assert_eq!((new.ids.as_slice(), new.n()), (&[3, 2, 0, 4][..], 5));
        let mut rows = SparseMatrix::new(4, true);
        rows.push_row(SparseRow {
            ids: &[0, 1, 2],
            values: Some(&[1.0, 2.0, 3.0]),
        });
        rows.push_row(SparseRow {
            ids: &[],
            values: Some(&[]),
        });
        let data = Data::new(Features::Sparse(rows), Labels::Unlabelled);
        let Features::Sparse(rows) = new.of(&data).expect("memory").features().clone() else {
            panic!("sparse rows");
        };
        assert_eq!(rows.n(), 5);
        assert_eq!(rows.row(0).ids, [0, 2, 3]);
        assert_eq!(rows.row(0).values, Some(&[3.0, 2.0, 1.0][..]));
        let united = own.united(&given);
        assert_eq!(
            united.names().collect::<Vec<_>>(),
            ["a", "b", "c", "x", "y"]
        );
        let (sorted, new) = given.sorted();
        assert_eq!(sorted.names().collect::<Vec<_>>(), ["a", "c", "x", "y"]);
        assert_eq!(new.ids, [2, 1, 0, 3]);
    }
}
