//! The byte arrays of a column: texts, and numbers that are stored as bytes.
//!
//! The crate `parquet` would make an object with a reference count for each value, and its decoders of byte arrays
//! trust the lengths in a page. So we decode the values of a page or of a dictionary at once into one block of bytes,
//! and let the crate read their numbers: `pages` puts the numbers in the place of the values.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use halfspace_core::memory;
use parquet::basic::Encoding;

use super::delta;
use crate::error::{Fault, FormatErrorKind};

/// Counts the bytes to which a page expands beyond its own.
pub(super) type Count<'c> = &'c mut dyn FnMut(u64) -> Result<(), Fault>;

/// The values of a dictionary or a page, numbered from `first`.
pub(super) struct Texts {
    first: usize,
    bytes: Bytes,
    /// Start and end of each value.
    places: Vec<[u32; 2]>,
}

impl Texts {
    /// The value of a number, unless it is not among these.
    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<&[u8]> {
        let [start, end] = *self.places.get(number.wrapping_sub(self.first))?;
        self.bytes.get(start as usize..end as usize)
    }

    fn end(&self) -> usize {
        self.first + self.places.len()
    }
}

/// The value of a number among parts in the order of their numbers.
#[inline]
pub(super) fn text(parts: &[Arc<Texts>], number: usize) -> &[u8] {
    let part = parts.partition_point(|part| part.end() <= number);
    let part = parts.get(part);
    part.and_then(|part| part.get(number)).unwrap_or_default()
}

/// The values of a chunk that may still be read.
#[derive(Default)]
struct TextTable {
    dictionary: Option<Arc<Texts>>,
    pages: Vec<Arc<Texts>>,
}

/// A table that the pages fill while the column is read.
#[derive(Clone, Default)]
pub(super) struct SharedTexts(Arc<Mutex<TextTable>>);

impl SharedTexts {
    /// Adds the values of a dictionary, or of a page.
    ///
    /// # Errors
    /// When there are more values than numbers.
    pub(super) fn add(&self, mut texts: Texts, is_dictionary: bool) -> Result<Vec<u8>, Fault> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = table.pages.last().or(table.dictionary.as_ref());
        texts.first = last.map_or(0, |texts| texts.end());
        let end = i32::try_from(texts.end()).map_err(|_| {
            let detail = "A row group of the Parquet file has more than 2^31 texts; write smaller row groups.";
            Fault::new(FormatErrorKind::Unsupported, detail)
        })?;
        // The crate copies the numbers of a dictionary.
        memory::need(2 * 4 * texts.places.len() as u64)?;
        let numbers = texts.first as i32..end;
        let numbers = numbers.flat_map(i32::to_le_bytes).collect();
        match is_dictionary {
            true => table.dictionary = Some(Arc::new(texts)),
            false => memory::push(&mut table.pages, Arc::new(texts))?,
        }
        Ok(numbers)
    }

    /// Forgets the pages before the last one, from which all values have been read.
    pub(super) fn forget_read(&self) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read = table.pages.len().saturating_sub(1);
        table.pages.drain(..read);
    }

    /// The values that a batch may refer to.
    pub(super) fn parts(&self, parts: &mut Vec<Arc<Texts>>) {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parts.clear();
        parts.extend(table.dictionary.iter().chain(&table.pages).cloned());
    }
}

/// The form of byte arrays in a column.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// The length of all values, if they have one.
    pub(super) length: Option<usize>,
    /// Whether the values are texts, so that blanks around them do not count.
    pub(super) is_text: bool,
}

impl Form {
    /// Decodes at most `most` values.
    ///
    /// # Errors
    /// When the values are damaged, or memory or a limit does not allow them.
    pub(super) fn decode(
        self,
        encoding: Encoding,
        data: Bytes,
        most: usize,
        count: Count<'_>,
    ) -> Result<Texts, Fault> {
        let (bytes, places) = match (encoding, self.length) {
            (Encoding::PLAIN, Some(length)) => {
                let places = even(data.len(), length, most)?;
                (data, places)
            }
            (Encoding::PLAIN, None) => {
                let places = prefixed(&data, most)?;
                (data, places)
            }
            (Encoding::DELTA_LENGTH_BYTE_ARRAY, None) => {
                let claimed = claimed(&data, most, count)?;
                let (lengths, start) = delta::lengths(&data, claimed)?;
                (data.clone(), adjacent(&lengths, start, data.len())?)
            }
            (Encoding::DELTA_BYTE_ARRAY, _) => shared_prefixes(&data, most, count)?,
            (Encoding::BYTE_STREAM_SPLIT, Some(length)) => split_streams(&data, length, most)?,
            (encoding, _) => {
                let detail = format!(
                    "The Parquet file has texts in the encoding {encoding}, which is not for texts."
                );
                return Err(Fault::new(FormatErrorKind::Syntax, detail));
            }
        };
        let mut texts = Texts {
            first: 0,
            bytes,
            places,
        };
        if self.is_text {
            texts.trim();
        }
        Ok(texts)
    }
}

impl Texts {
    /// Values that were written here, numbered from 0.
    pub(super) fn written(bytes: Vec<u8>, places: Vec<[u32; 2]>) -> Self {
        Self {
            first: 0,
            bytes: bytes.into(),
            places,
        }
    }

    /// The number of values.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    fn trim(&mut self) {
        for [start, end] in &mut self.places {
            let text = &self.bytes[*start as usize..*end as usize];
            let is_bare = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_whitespace());
            if is_bare(text.first()) && is_bare(text.last()) {
                continue;
            }
            let before = text.len() - text.trim_ascii_start().len();
            *start += before as u32;
            *end = *start + text.trim_ascii().len() as u32;
        }
    }
}

fn damaged() -> Fault {
    delta::damaged()
}

/// Places of values of one length.
fn even(bytes: usize, length: usize, most: usize) -> Result<Vec<[u32; 2]>, Fault> {
    let count = (bytes / length).min(most);
    memory::need_of::<[u32; 2]>(count)?;
    let place = |at: usize| [(at * length) as u32, ((at + 1) * length) as u32];
    Ok((0..count).map(place).collect())
}

/// Places of values that have their lengths before them.
fn prefixed(data: &[u8], most: usize) -> Result<Vec<[u32; 2]>, Fault> {
    memory::need_of::<[u32; 2]>((data.len() / 4).min(most))?;
    let mut places = Vec::new();
    let mut at = 0;
    while at < data.len() && places.len() < most {
        let length = data[at..].first_chunk().copied().map(u32::from_le_bytes);
        let start = at + 4;
        let end = length.and_then(|length| start.checked_add(length as usize));
        at = end.filter(|&end| end <= data.len()).ok_or_else(damaged)?;
        places.push([start as u32, at as u32]);
    }
    Ok(places)
}

/// The number of lengths that follow, after it was counted with their memory.
fn claimed(data: &[u8], most: usize, count: Count<'_>) -> Result<usize, Fault> {
    let claimed = delta::claimed(data).and_then(|claimed| usize::try_from(claimed).ok());
    let claimed = claimed.filter(|&claimed| claimed <= most);
    let claimed = claimed.ok_or_else(damaged)?;
    // A length and a place, but the lengths of many values may take no bytes in the page.
    let bytes = claimed as u64 * size_of::<[u32; 3]>() as u64;
    count(bytes)?;
    memory::need(bytes)?;
    Ok(claimed)
}

/// Places of values one after the other.
fn adjacent(lengths: &[u32], start: usize, end: usize) -> Result<Vec<[u32; 2]>, Fault> {
    let mut at = start;
    let mut places = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let start = at;
        at += length as usize;
        if at > end {
            return Err(damaged());
        }
        places.push([start as u32, at as u32]);
    }
    Ok(places)
}

/// Values of which each shares a prefix with the one before.
fn shared_prefixes(
    data: &[u8],
    most: usize,
    count: Count<'_>,
) -> Result<(Bytes, Vec<[u32; 2]>), Fault> {
    let prefixes = claimed(data, most, count)?;
    let (prefixes, start) = delta::lengths(data, prefixes)?;
    let data = &data[start..];
    let suffixes = claimed(data, prefixes.len(), count)?;
    let (suffixes, start) = delta::lengths(data, suffixes)?;
    if suffixes.len() != prefixes.len() {
        return Err(damaged());
    }
    let suffixes = adjacent(&suffixes, start, data.len())?;
    let sum: u64 = prefixes.iter().map(|&prefix| u64::from(prefix)).sum();
    let bytes_in_all = sum + data.len() as u64;
    if u32::try_from(bytes_in_all).is_err() {
        return Err(damaged());
    }
    count(sum)?;
    memory::need(bytes_in_all)?;
    let mut bytes: Vec<u8> = Vec::with_capacity(bytes_in_all as usize);
    let mut places = Vec::with_capacity(suffixes.len());
    let mut before = [0_u32; 2];
    for (&prefix, [start, end]) in prefixes.iter().zip(suffixes) {
        if prefix > before[1] - before[0] {
            return Err(damaged());
        }
        let first = bytes.len();
        bytes.extend_from_within(before[0] as usize..(before[0] + prefix) as usize);
        bytes.extend_from_slice(&data[start as usize..end as usize]);
        before = [first as u32, bytes.len() as u32];
        places.push(before);
    }
    Ok((bytes.into(), places))
}

/// Values of one length, of which the first bytes come first, then the second ones, and so on.
fn split_streams(data: &[u8], length: usize, most: usize) -> Result<(Bytes, Vec<[u32; 2]>), Fault> {
    let values = data.len() / length;
    if values > most {
        return Err(damaged());
    }
    memory::need(data.len() as u64)?;
    let mut bytes = Vec::with_capacity(values * length);
    for value in 0..values {
        bytes.extend((0..length).map(|byte| data[byte * values + value]));
    }
    let places = even(bytes.len(), length, values)?;
    Ok((bytes.into(), places))
}
