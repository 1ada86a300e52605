//! The binary format of the states that sessions store and from which trainings resume.
//!
//! A number takes eight bytes in little-endian order, and writer and reader agree on the order of the numbers. What
//! follows from the parameters is left out, because a rule is first built from them and then restored.

use crate::learners::engine::random::Generator;

/// The bytes are not a valid snapshot of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a snapshot of a learner's state is damaged")]
pub struct SnapshotError;

#[derive(Clone, Debug)]
pub struct SnapshotWriter {
    bytes: Vec<u8>,
    bytes_max: usize,
    /// Whether something was left out because the snapshot would exceed its limit.
    is_over: bool,
}

impl Default for SnapshotWriter {
    fn default() -> Self {
        Self::of_at_most(usize::MAX)
    }
}

impl SnapshotWriter {
    /// A writer for a snapshot that is of no use if it is longer than `bytes_max`.
    pub fn of_at_most(bytes_max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            bytes_max,
            is_over: false,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.bytes_max - self.bytes.len() < bytes.len() {
            self.is_over = true;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    pub fn number(&mut self, number: u64) {
        self.add(&number.to_le_bytes());
    }

    /// Adds numbers whose count the reader knows.
    pub fn numbers(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.number(number);
        }
    }

    /// Adds bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.add(bytes);
    }

    pub fn generator(&mut self, generator: &Generator) {
        let text = serde_json::to_vec(generator);
        self.bytes(&text.expect("a generator is four numbers"));
    }

    /// The snapshot of a writer without a limit.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// The snapshot. None if it would exceed its limit.
    pub fn finish_within(self) -> Option<Vec<u8>> {
        (!self.is_over).then_some(self.bytes)
    }
}

#[derive(Clone, Debug)]
pub struct SnapshotReader<'a> {
    bytes: &'a [u8],
}

impl<'a> SnapshotReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The next number.
    ///
    /// # Errors
    /// An error if fewer than eight bytes are left.
    pub fn number(&mut self) -> Result<u64, SnapshotError> {
        let (number, rest) = self.bytes.split_first_chunk().ok_or(SnapshotError)?;
        self.bytes = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// The next `count` numbers.
    ///
    /// # Errors
    /// An error if fewer numbers are left.
    pub fn numbers(&mut self, count: usize) -> Result<Vec<u64>, SnapshotError> {
        if self.bytes.len() / size_of::<u64>() < count {
            return Err(SnapshotError);
        }
        (0..count).map(|_| self.number()).collect()
    }

    /// The next number, as a count of items that take at least eight bytes each.
    ///
    /// # Errors
    /// An error if the rest is too short for so many items.
    pub fn count(&mut self) -> Result<usize, SnapshotError> {
        let count = usize::try_from(self.number()?).map_err(|_| SnapshotError)?;
        if count > self.bytes.len() / size_of::<u64>() {
            return Err(SnapshotError);
        }
        Ok(count)
    }

    /// The next bytes that were written with their length.
    ///
    /// # Errors
    /// An error if fewer bytes are left.
    pub fn bytes(&mut self) -> Result<&'a [u8], SnapshotError> {
        let length = usize::try_from(self.number()?).map_err(|_| SnapshotError)?;
        let (bytes, rest) = self.bytes.split_at_checked(length).ok_or(SnapshotError)?;
        self.bytes = rest;
        Ok(bytes)
    }

    /// The next generator.
    ///
    /// # Errors
    /// An error if the next bytes are not a generator.
    pub fn generator(&mut self) -> Result<Generator, SnapshotError> {
        serde_json::from_slice(self.bytes()?).map_err(|_| SnapshotError)
    }

    /// Checks that the snapshot has no further bytes.
    ///
    /// # Errors
    /// An error if bytes are left.
    pub fn end(self) -> Result<(), SnapshotError> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            Err(SnapshotError)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_longer_than_its_limit_is_none() {
        let written = |bytes_max| {
            let mut writer = SnapshotWriter::of_at_most(bytes_max);
            writer.numbers([1, 2]);
            writer.bytes(b"three");
            writer.number(4);
            writer.finish_within()
        };
        assert_eq!(written(36), None);
        let whole = written(37).expect("as long as it may be");
        assert_eq!(whole, written(usize::MAX).expect("room"));
        let mut reader = SnapshotReader::new(&whole);
        assert_eq!(reader.numbers(2), Ok(vec![1, 2]));
        assert_eq!(reader.bytes(), Ok(&b"three"[..]));
        assert_eq!((reader.number(), reader.end()), (Ok(4), Ok(())));
    }
}
