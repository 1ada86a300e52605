//! Integers as packed differences (DELTA_BINARY_PACKED), as far as the lengths of byte arrays need them.
//!
//! The decoder of the crate `parquet` reads columns of integers in this encoding. It does not tell where the numbers
//! end, though, and its decoder of byte arrays reserves as many lengths as a page claims and trusts each of them.

use super::thrift::{ThriftError, ThriftReader};
use crate::error::{Fault, FormatErrorKind};

/// The fault of lengths that cannot be read.
pub(super) fn damaged() -> Fault {
    let detail = "A page of the Parquet file is damaged: the lengths of its values are wrong.";
    Fault::new(FormatErrorKind::Syntax, detail)
}

/// The head of packed differences.
struct Head {
    /// Values per block and per part of a block.
    block: usize,
    part: usize,
    values: u64,
    first: i64,
}

impl Head {
    fn read(bytes: &[u8], at: &mut usize) -> Option<Self> {
        let block = usize::try_from(unsigned(bytes, at)?).ok()?;
        let parts = usize::try_from(unsigned(bytes, at)?).ok()?;
        let values = unsigned(bytes, at)?;
        let first = signed(bytes, at)?;
        let part = block.checked_div(parts)?;
        let is_whole = block > 0 && part.is_multiple_of(32) && part * parts == block;
        let is_bounded = block <= 1 << 20;
        (is_whole && is_bounded).then_some(Self {
            block,
            part,
            values,
            first,
        })
    }
}

/// The number of integers that the bytes claim to hold, or `None` if the head is wrong.
pub(super) fn claimed(bytes: &[u8]) -> Option<u64> {
    Some(Head::read(bytes, &mut 0)?.values)
}

/// Reads lengths, at most `most`, and returns them with the place of their end.
///
/// # Errors
/// When the bytes are damaged, or a length is negative.
pub(super) fn lengths(bytes: &[u8], most: usize) -> Result<(Vec<u32>, usize), Fault> {
    read(bytes, most).ok_or_else(damaged)
}

fn read(bytes: &[u8], most: usize) -> Option<(Vec<u32>, usize)> {
    let mut at = 0;
    let head = Head::read(bytes, &mut at)?;
    let count = usize::try_from(head.values)
        .ok()
        .filter(|&count| count <= most)?;
    let mut lengths = Vec::with_capacity(count);
    let mut value = head.first;
    if count > 0 {
        lengths.push(u32::try_from(value).ok()?);
    }
    while lengths.len() < count {
        let least = signed(bytes, &mut at)?;
        let widths = bytes.get(at..at + head.block / head.part)?;
        at += widths.len();
        for &width in widths {
            // The widths after the last value may be anything.
            if lengths.len() == count {
                break;
            }
            let packed = bytes.get(at..at.checked_add(usize::from(width) * head.part / 8)?)?;
            at += packed.len();
            for number in 0..head.part.min(count - lengths.len()) {
                let difference = unpacked(packed, number, width)?;
                value = value.wrapping_add(least).wrapping_add(difference as i64);
                // The differences of 32-bit integers wrap.
                value = i64::from(value as i32);
                lengths.push(u32::try_from(value).ok()?);
            }
        }
    }
    Some((lengths, at))
}

/// The integer of `width` bits, at most 56, at the position `number`.
fn unpacked(packed: &[u8], number: usize, width: u8) -> Option<u64> {
    if width > 56 {
        return None;
    }
    let bit = number * usize::from(width);
    let rest = packed.get(bit / 8..)?;
    let mut word = [0; 8];
    let taken = rest.len().min(8);
    word[..taken].copy_from_slice(&rest[..taken]);
    let shifted = u64::from_le_bytes(word) >> (bit % 8);
    Some(shifted & ((1 << width) - 1))
}

fn unsigned(bytes: &[u8], at: &mut usize) -> Option<u64> {
    number(bytes, at, ThriftReader::unsigned)
}

fn signed(bytes: &[u8], at: &mut usize) -> Option<i64> {
    number(bytes, at, ThriftReader::integer)
}

/// Reads a number, which has the form of a number of Thrift.
fn number<'b, T>(
    bytes: &'b [u8],
    at: &mut usize,
    read: impl Fn(&mut ThriftReader<'b>) -> Result<T, ThriftError>,
) -> Option<T> {
    let mut reader = ThriftReader::new(bytes.get(*at..)?);
    let number = read(&mut reader).ok()?;
    *at += reader.read();
    Some(number)
}
