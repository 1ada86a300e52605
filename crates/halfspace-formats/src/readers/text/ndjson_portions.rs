//! NDJSON in portions, for callers that learn from lines while later lines arrive.

use std::io::{self, ErrorKind, Read};

use crate::building::parsed::Parsed;
use crate::classes::LabelRule;
use crate::error::{Fault, FormatError, FormatErrorKind};
use crate::options::{FormatOption, Options, UnlabelledMeans};
use crate::readers::text::lines::{Line, LineReader};
use crate::readers::text::ndjson::{EXAMPLE, ExampleLines};
use crate::tables::objects::with_names;
use crate::utf8_reader::Utf8Reader;

/// Approximate bytes of text per portion. If a caller must not wait for the body, it must not compute for long
/// either.
const PORTION_BYTES: u64 = 256 * 1024;

/// Reader of a body in portions, for callers that cannot wait for its end. The rules against mixed lines, labels and
/// values hold across all portions.
pub struct NdjsonPortions<R> {
    lines: LineReader<Ration<Utf8Reader<R>>>,
    examples: ExampleLines,
    /// The options for rows, if there is an encoding.
    encoded: Option<Options>,
    unlabelled: UnlabelledMeans,
    /// Number of lines read.
    read: u64,
    /// Line numbers of the examples that were not taken yet.
    lines_of_examples: Vec<u64>,
}

/// State of the source after some lines were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// More lines may be available now.
    More,
    /// No line is available now, because the source returned [`std::io::ErrorKind::WouldBlock`].
    Pending,
    /// The body has ended.
    End,
}

/// A source that returns `WouldBlock` after `left` bytes, until `left` is raised.
struct Ration<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Ration<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let read = self.reader.read(&mut buffer[..length])?;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Some examples of a body, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Portion {
    /// The examples.
    pub parsed: Parsed,
    /// Line number of each example, from 1.
    pub lines: Vec<u64>,
}

impl<R: Read> NdjsonPortions<R> {
    /// The bytes of memory that a line may take once it has begun.
    pub fn line_bytes(&self) -> u64 {
        self.lines.buffer_bytes()
    }

    /// The bytes that were taken from the source and belong to no line yet.
    pub fn begun_bytes(&self) -> usize {
        self.lines.pending_bytes()
    }

    /// Makes a reader before the first line. You should set [`Options::n`], because otherwise each portion has its
    /// own n.
    ///
    /// # Errors
    /// When the options do not fit NDJSON or exceed a limit.
    pub fn new(reader: R, options: &Options) -> Result<Self, FormatError> {
        options.refuse("NDJSON", &FormatOption::NOT_OF_OBJECTS)?;
        options.refuse("a stream of lines", &[FormatOption::CHARSET])?;
        let mut options = options.clone();
        if options.label_rule == LabelRule::New {
            // The values of later lines cannot decide what the labels of this one mean.
            options.label_rule = LabelRule::of(None);
        }
        let options = &options;
        let examples = ExampleLines::new(options, None)?;
        if examples.builder.reads_stated_labels() {
            let detail = "The option `positive` needs all labels of a body, but each line of a stream is learnt before \
                          the next arrives; leave it out.";
            return Err(Fault::new(FormatErrorKind::BadOption, detail).into());
        }
        if options.table.encoding.is_none() {
            options.refuse_columns(EXAMPLE)?;
            options.check_scales(EXAMPLE)?;
        }
        let encoded = options
            .table
            .encoding
            .is_some()
            .then(|| with_names(options));
        let reader = Utf8Reader::new(reader, None, &options.limits);
        let ration = Ration { reader, left: 0 };
        Ok(Self {
            lines: LineReader::new(ration, options.limits.line_bytes_max),
            examples,
            encoded,
            unlabelled: options.unlabelled,
            read: 0,
            lines_of_examples: Vec::new(),
        })
    }

    /// Reads `lines_max` lines, or fewer if the source has no more for now or the lines are long.
    ///
    /// # Errors
    /// The fault of a line, with its place. You can still take the examples before this line.
    pub fn read(&mut self, lines_max: u64) -> Result<Supply, FormatError> {
        self.lines.source().left = PORTION_BYTES;
        let last = self.read.saturating_add(lines_max);
        while self.read < last {
            match self.read_line(last) {
                Ok(true) => {}
                Ok(false) => return Ok(Supply::End),
                Err(error) if error.kind == FormatErrorKind::NotYet => {
                    return Ok(match self.lines.source().left {
                        0 => Supply::More,
                        _ => Supply::Pending,
                    });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Supply::More)
    }

    /// The number of lines read so far, including blank lines.
    pub fn lines(&self) -> u64 {
        self.read
    }

    /// The number of names of the examples that were not taken yet, if features have names.
    pub fn names(&self) -> usize {
        self.examples.builder.named_entries()
    }

    /// Returns the examples since the last call, if there are any.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn take(&mut self) -> Result<Option<Portion>, FormatError> {
        if self.examples.builder.rows() == 0 {
            return Ok(None);
        }
        let rest = self.examples.builder.for_the_rest()?;
        let gathered =
            std::mem::replace(&mut self.examples.builder, rest).finish(self.unlabelled)?;
        let parsed = gathered.in_memory();
        let mut lines = std::mem::take(&mut self.lines_of_examples);
        // If the last line was refused, it has no example.
        lines.truncate(parsed.data.examples());
        Ok(Some(Portion { parsed, lines }))
    }

    /// Reads a line. After a blank line, also skips empty lines up to line `last`. Returns false at the end.
    fn read_line(&mut self, last: u64) -> Result<bool, FormatError> {
        let Some(line) = self.lines.next_line()? else {
            return Ok(false);
        };
        self.read = line.number;
        let text = line.text.trim_ascii_end();
        if text.is_empty() {
            self.lines.pass_empty_lines(last - self.read);
            self.read = self.lines.number();
            return Ok(true);
        }
        self.lines_of_examples.push(line.number);
        self.examples
            .read(Line { text, ..line }, self.encoded.as_ref())?;
        Ok(true)
    }
}
