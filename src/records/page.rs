//! Pages of lists, newest item first.
//!
//! A page begins after the last id of the previous one. Ids are in time order and never change, and new items come
//! before the first page, so a client that pages through a list sees no item twice and misses none.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::id::{Id, Kind};

/// The start of the next page. For clients a cursor is opaque text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor<K: Kind> {
    /// The last id of the previous page.
    pub last: Id<K>,
}

/// The text is not a cursor of this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cursor must be the `next_cursor` of an earlier page of the same list")]
pub struct ParseCursorError;

impl<K: Kind> fmt::Display for Cursor<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.last.to_string()))
    }
}

impl<K: Kind> FromStr for Cursor<K> {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| ParseCursorError)?;
        let id = str::from_utf8(&bytes).map_err(|_| ParseCursorError)?;
        Ok(Self {
            last: id.parse().map_err(|_| ParseCursorError)?,
        })
    }
}

impl<K: Kind> Serialize for Cursor<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Cursor<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A requested page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<K: Kind> {
    limit: u32,
    after: Option<Cursor<K>>,
}

impl<K: Kind> Page<K> {
    /// Number of items of a page by default.
    pub const LIMIT_DEFAULT: u32 = 20;
    /// The largest number of items of a page.
    pub const LIMIT_MAX: u32 = 100;

    /// The page of at most `limit` items after `after`, or the first page. `limit` is clamped to 1 to
    /// [`Page::LIMIT_MAX`].
    #[must_use]
    pub fn new(limit: u32, after: Option<Cursor<K>>) -> Self {
        Self {
            limit: limit.clamp(1, Self::LIMIT_MAX),
            after,
        }
    }

    /// The largest number of items of this page.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The start of the page; `None` for the first page.
    #[must_use]
    pub fn after(&self) -> Option<Cursor<K>> {
        self.after
    }
}

impl<K: Kind> Default for Page<K> {
    fn default() -> Self {
        Self::new(Self::LIMIT_DEFAULT, None)
    }
}

/// The items of one page, newest first, and the start of the next page.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice<T, K: Kind> {
    pub items: Vec<T>,
    /// The next page, if there are more items.
    pub next: Option<Cursor<K>>,
}

impl<T, K: Kind> Slice<T, K> {
    /// Makes a slice from a query for one item more than the page holds. If that item exists, there is another page.
    pub fn from_one_more(mut items: Vec<T>, page: &Page<K>, id: impl Fn(&T) -> Id<K>) -> Self {
        let limit = page.limit as usize;
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items
            .last()
            .filter(|_| more)
            .map(|item| Cursor { last: id(item) });
        Self { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::super::id::{JobId, JobKind, ModelId, ModelKind};
    use super::super::time::Timestamp;
    use super::*;

    fn id(milliseconds: i64) -> JobId {
        JobId::new(Timestamp::from_milliseconds(milliseconds), [7; 10])
    }

    #[test]
    fn cursors_round_trip_and_are_bound_to_their_kind() {
        let text = Cursor { last: id(3) }.to_string();
        assert!(!text.contains("job_"));
        assert_eq!(text.parse(), Ok(Cursor { last: id(3) }));
        assert_eq!(text.parse::<Cursor<ModelKind>>(), Err(ParseCursorError));
        let model = ModelId::new(Timestamp::from_milliseconds(3), [7; 10]);
        assert!(
            Cursor { last: model }
                .to_string()
                .parse::<Cursor<JobKind>>()
                .is_err()
        );
        for bad in ["", "!", "am9i", &format!("{text}="), &text[1..]] {
            assert_eq!(
                bad.parse::<Cursor<JobKind>>(),
                Err(ParseCursorError),
                "{bad}"
            );
        }
    }

    #[test]
    fn page_limit_is_clamped() {
        for (asked, kept) in [(0, 1), (1, 1), (100, 100), (101, 100), (u32::MAX, 100)] {
            assert_eq!(Page::<JobKind>::new(asked, None).limit(), kept);
        }
        assert_eq!(Page::<JobKind>::default().limit(), 20);
    }

    #[test]
    fn page_names_the_next_page_only_if_it_exists() {
        let page = Page::new(2, None);
        for (count, next) in [(0, None), (2, None), (3, Some(Cursor { last: id(2) }))] {
            let slice = Slice::from_one_more((1..=count).map(id).collect(), &page, |id| *id);
            assert_eq!(slice.next, next);
            assert!(slice.items.len() <= 2);
        }
    }
}
