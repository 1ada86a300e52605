//! Finds the repairs of a refused body: keeps its beginning while it is read, and has it read again under the options
//! that may mend it.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use halfspace_core::memory;
use halfspace_formats::{
    Format, FormatError, JsonRows, Options, TRIED_BYTES_MAX, gather_shown, repaired,
};

use crate::http::problem::Problem;

/// A body that is kept while it is read. Clones share it.
#[derive(Clone, Default)]
pub struct KeptBody(Arc<Mutex<Kept>>);

enum Kept {
    Beginning(Vec<u8>),
    /// The body is too long, its end is not known, or there was no memory for it.
    Nothing,
}

impl Default for Kept {
    fn default() -> Self {
        Self::Beginning(Vec::new())
    }
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) {
        let Self::Beginning(kept) = self else { return };
        let length = kept.len() + bytes.len();
        let grows = length > kept.capacity();
        if length > TRIED_BYTES_MAX || grows && memory::need(2 * length as u64).is_err() {
            *self = Self::Nothing;
            return;
        }
        kept.extend_from_slice(bytes);
    }
}

impl KeptBody {
    /// Parses a body, and keeps the whole of it if it is refused with repairs.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn parse<T>(
        &self,
        source: &mut dyn Read,
        parse: impl FnOnce(&mut dyn Read) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let mut reader = Keeping {
            source,
            kept: self.clone(),
        };
        let parsed = parse(&mut reader);
        let is_mended = parsed.as_ref().is_err_and(Problem::has_repairs);
        // What is not needed is freed by the thread that took it.
        if !is_mended || reader.keep_rest().is_err() {
            self.set(Kept::Nothing);
        }
        parsed
    }

    fn set(&self, kept: Kept) -> Kept {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut own, kept)
    }

    /// The body, if the whole of it was kept.
    pub fn whole(&self) -> Option<Vec<u8>> {
        match self.set(Kept::Nothing) {
            Kept::Beginning(body) => Some(body),
            Kept::Nothing => None,
        }
    }
}

/// Keeps what it reads.
struct Keeping<'r> {
    source: &'r mut dyn Read,
    kept: KeptBody,
}

impl Keeping<'_> {
    /// Reads the rest of the body as far as it can be kept.
    fn keep_rest(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        while matches!(
            *self.kept.0.lock().unwrap_or_else(PoisonError::into_inner),
            Kept::Beginning(_)
        ) {
            match self.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Read for Keeping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        let mut kept = self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.add(&buffer[..read]);
        Ok(read)
    }
}

/// The problem of a body of this format with all its faults and their repairs. `problem` has the first fault.
pub fn mended(problem: Problem, body: &[u8], format: Format, options: &Options) -> Problem {
    let found = repaired(options, body.len(), &mut |options, preview| {
        gather_shown(format, body, options, None, preview)
    });
    problem.with_defects(found, "")
}

/// The problem of rows that stand at `pointer` in a JSON body, with all their faults and their repairs. The names of
/// the options are those of the members beside the rows.
pub fn mended_rows(
    error: FormatError,
    rows: &JsonRows,
    options: &Options,
    pointer: &str,
) -> Problem {
    let problem = Problem::from(error.under(pointer));
    if !problem.has_repairs() || rows.length() > TRIED_BYTES_MAX {
        return problem;
    }
    let found = repaired(options, rows.length(), &mut |options, preview| {
        rows.parse(options, Some(preview)).map(Into::into)
    });
    problem.with_defects(found, pointer)
}
