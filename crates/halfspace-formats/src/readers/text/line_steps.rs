//! NDJSON while it arrives: lines are read as soon as they are complete, many in one step.
//!
//! Every line gives the same result as if it were alone, so the result does not depend on the pieces in which the
//! body arrives. Lines are read together only if this makes no difference. Memory holds one read and one line.

use std::io::{ErrorKind, Read};

use halfspace_core::memory;
use memchr::{memchr, memrchr};

use crate::building::parsed::Parsed;
use crate::error::{Fault, FormatError, Place};
use crate::options::Options;
use crate::readers::formats::{Format, parse_utf8};
use crate::readers::text::lines::empty_lines;
use crate::utf8_reader::Utf8Reader;

/// Bytes per read of the source.
const READ_BYTES: usize = 64 * 1024;

/// Largest number of lines read together.
const STEP_LINES_MAX: usize = 4096;

/// Reader of a stream of lines, step by step.
pub struct LineSteps<R> {
    reader: Utf8Reader<R>,
    options: Options,
    /// Bytes that arrived. `waiting[..read]` has been returned, and the whole lines end at `whole`.
    waiting: Vec<u8>,
    read: usize,
    whole: usize,
    is_ended: bool,
    /// Before this byte of `waiting` each line is its own step.
    singly_until: usize,
    /// Number of lines returned.
    lines: u64,
    has_examples: bool,
}

/// Examples of consecutive lines.
#[derive(Clone, Debug, PartialEq)]
pub struct LineStep {
    /// The examples in the order of their lines. Their places refer to the whole body.
    pub parsed: Parsed,
    /// Line of the last example, from 1.
    pub last_line: u64,
}

impl<R: Read> LineSteps<R> {
    /// Makes a reader of the lines of `reader`, each read with these options.
    pub fn new(reader: R, options: Options) -> Self {
        Self {
            reader: Utf8Reader::new(reader, options.charset, &options.limits),
            options,
            waiting: Vec::new(),
            read: 0,
            whole: 0,
            is_ended: false,
            singly_until: 0,
            lines: 0,
            has_examples: false,
        }
    }

    /// Returns the next step, or `None` at the end. Several examples form one step only if `fits` accepts them
    /// together. Otherwise each of them is its own step, even if `fits` would refuse it.
    ///
    /// # Errors
    /// The fault of a line, with its place in the body. All earlier lines have been returned by then. A body without
    /// examples is an error too.
    pub fn next(
        &mut self,
        mut fits: impl FnMut(&Parsed) -> bool,
    ) -> Result<Option<LineStep>, FormatError> {
        loop {
            if self.read == self.whole && !self.fill()? {
                if self.has_examples {
                    return Ok(None);
                }
                return parse_utf8(Format::Ndjson, &[], &self.options).map(|_| None);
            }
            let (bytes, lines) = empty_lines(&self.waiting[self.read..self.whole], u64::MAX);
            if bytes > 0 {
                self.pass(self.read + bytes, lines);
                continue;
            }
            let is_single = self.read < self.singly_until;
            let end = self.end_of(if is_single { 1 } else { STEP_LINES_MAX });
            let text = &self.waiting[self.read..end];
            let lines = lines_in(text);
            if !text.trim_ascii().is_empty() {
                let parsed = parse_utf8(Format::Ndjson, text, &self.options);
                let mut parsed = match parsed {
                    Ok(parsed) if lines == 1 || fits(&parsed) => parsed,
                    Err(error) if lines == 1 => return Err(placed(error, self.lines)),
                    _ => {
                        self.singly_until = end;
                        continue;
                    }
                };
                parsed.first_real = parsed.first_real.map(|place| after(place, self.lines));
                self.has_examples = true;
                self.pass(end, lines);
                let last_line = self.lines;
                return Ok(Some(LineStep { parsed, last_line }));
            }
            self.pass(end, lines);
        }
    }

    fn pass(&mut self, end: usize, lines: u64) {
        self.read = end;
        self.lines += lines;
    }

    /// The end of the next `lines` whole lines, or of all of them if there are fewer.
    fn end_of(&self, lines: usize) -> usize {
        let mut end = self.read;
        for _ in 0..lines {
            match memchr(b'\n', &self.waiting[end..self.whole]) {
                Some(at) => end += at + 1,
                None => return self.whole,
            }
        }
        end
    }

    /// Reads until there is a whole line. Returns false at the end.
    fn fill(&mut self) -> Result<bool, FormatError> {
        self.waiting.drain(..self.read);
        (self.read, self.whole, self.singly_until) = (0, 0, 0);
        while self.whole == 0 && !self.is_ended {
            let before = self.waiting.len();
            if before + READ_BYTES > self.waiting.capacity() {
                // The buffer doubles, and both blocks exist while the bytes move.
                memory::need(2 * (self.waiting.capacity() + READ_BYTES) as u64)?;
            }
            self.waiting.resize(before + READ_BYTES, 0);
            let read = self.reader.read(&mut self.waiting[before..]);
            self.waiting
                .truncate(before + read.as_ref().map_or(0, |&read| read));
            match read {
                Ok(0) => {
                    self.is_ended = true;
                    self.whole = before;
                }
                Ok(_) => {
                    let last = memrchr(b'\n', &self.waiting[before..]);
                    self.whole = last.map_or(0, |last| before + last + 1);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            self.check_length()?;
        }
        Ok(self.whole > 0)
    }

    /// Refuses an unfinished line before it grows beyond the limit. Whole lines are checked by the line reader.
    fn check_length(&self) -> Result<(), FormatError> {
        let limit = self.options.limits.line_bytes_max;
        if self.whole > 0 || self.waiting.len() <= limit {
            return Ok(());
        }
        let fault = Fault::too_large("The line is too long", "line_bytes_max", limit as u64);
        Err(fault.at(self.lines + 1, limit))
    }
}

/// Counts the lines of a text. The last line may lack its line feed.
fn lines_in(text: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', text).count() as u64;
    ends + u64::from(text.last() != Some(&b'\n'))
}

/// Moves the place of an error to the line of the whole body.
fn placed(mut error: FormatError, lines_before: u64) -> FormatError {
    error.place = error.place.map(|place| after(place, lines_before));
    error
}

fn after(place: Place, lines: u64) -> Place {
    match place {
        Place::Line { line, column } => Place::Line {
            line: line + lines,
            column,
        },
        place => place,
    }
}

#[cfg(test)]
mod tests {
    use halfspace_core::learners::sample::data::Features;

    use super::*;
    use crate::{FormatErrorKind, UnlabelledMeans};

    /// Returns a text in pieces of a fixed length.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = self.0.len().min(self.1).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    /// The lines of the examples with their first bits, and the error at the end.
    fn read(text: &[u8], piece: usize, limit: usize) -> (Vec<(u64, bool)>, Option<FormatError>) {
        let mut options = Options {
            unlabelled: UnlabelledMeans::Nothing,
            ..Options::default()
        };
        options.limits.line_bytes_max = limit;
        let mut steps = LineSteps::new(Pieces(text, piece), options);
        let mut seen = Vec::new();
        loop {
            let before = steps.lines + 1;
            match steps.next(|parsed| parsed.first_real.is_none()) {
                Ok(None) => return (seen, None),
                Err(error) => return (seen, Some(error)),
                Ok(Some(step)) => {
                    let examples = step.parsed.data.examples() as u64;
                    assert!((before..=step.last_line).count() as u64 >= examples);
                    let Features::Boolean(matrix) = step.parsed.data.features() else {
                        assert_eq!(examples, 1);
                        seen.push((step.last_line, true));
                        continue;
                    };
                    let lines = step.last_line + 1 - examples..;
                    let bits = (0..matrix.rows()).map(|row| matrix.row(row).get(0));
                    seen.extend(lines.zip(bits));
                }
            }
        }
    }

    #[test]
    fn ndjson_lines_are_read_alike_in_pieces_of_any_size() {
        let texts: [&str; 7] = [
            "10\n01\n11\n",
            "{\"x\": \"10\"}\n{\"x\": [0, 1], \"y\": 1}\n\"11\"\n00",
            "10\n[0.5]\n",
            "{\"x\": [1, -1]}\n{\"x\": [0, 1]}\n{\"x\": [0.5, 1]}\n{\"x\": [1, 1]}\n",
            "10\n011\n1\n",
            "10\r\n01\r\nx0\r\n",
            "{\"x\": \"10\", \"y\": 0}\n{\"x\": \"01\", \"y\": -1}\n",
        ];
        for text in texts {
            let whole = read(text.as_bytes(), usize::MAX, 100);
            for piece in 1..=text.len() {
                assert_eq!(
                    read(text.as_bytes(), piece, 100),
                    whole,
                    "{text} by {piece}"
                );
            }
        }
    }

    #[test]
    fn ndjson_error_names_its_line_in_the_body() {
        let (seen, error) = read(b"10\n\n01\n{\"x\": \"1z\"}\n11\n", 1, 100);
        assert_eq!(seen, [(1, true), (3, false)]);
        let place = error.expect("a bad bit").place;
        assert_eq!(place, Some(Place::Line { line: 4, column: 9 }));
    }

    #[test]
    fn ndjson_body_without_examples_is_refused() {
        for text in [b"".as_slice(), b"\n\n", b"  \r\n"] {
            let (_, error) = read(text, usize::MAX, 100);
            assert_eq!(error.expect("empty").kind, FormatErrorKind::EmptyData);
        }
    }

    #[test]
    fn a_line_over_the_limit_is_refused_before_its_end() {
        for text in [b"10\n10101".as_slice(), b"10\n10101\n"] {
            for piece in [1, 100] {
                let (seen, error) = read(text, piece, 4);
                assert_eq!(seen, [(1, true)]);
                let error = error.expect("too long");
                let place = Some(Place::Line { line: 2, column: 5 });
                assert_eq!(error.place, place);
                assert!(matches!(error.kind, FormatErrorKind::TooLarge { .. }));
            }
        }
    }
}
