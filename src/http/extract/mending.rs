//! Finds the repairs of a refused body: keeps its beginning while it is read, and has it read again under the options
//! that may mend it.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use halfspace_formats::{
    Format, FormatError, JsonRows, Options, TRIED_BYTES_MAX, gather_shown, repaired,
};

use crate::http::problem::Problem;

/// The beginning of a body, which is kept while the body is read. Clones share it.
#[derive(Clone, Default)]
pub struct KeptBody(Arc<Mutex<Vec<u8>>>);

impl KeptBody {
    /// A reader that keeps what it reads, up to [`TRIED_BYTES_MAX`] bytes and one buffer more.
    pub fn over<R: Read>(&self, source: R) -> Keeping<R> {
        Keeping {
            source,
            kept: self.clone(),
        }
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() <= TRIED_BYTES_MAX {
            kept.extend_from_slice(bytes);
        }
    }

    /// The whole body, unless it was too long to be kept.
    fn whole(&self) -> Option<Vec<u8>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let body = std::mem::take(&mut *kept);
        (body.len() <= TRIED_BYTES_MAX).then_some(body)
    }

    /// The problem of a body of this format with all its faults and their repairs. `problem` has the first fault, and
    /// stays as it is if the body cannot be read again.
    pub fn mend(&self, problem: Problem, format: Format, options: &Options) -> Problem {
        let Some(body) = self.whole() else {
            return problem;
        };
        let found = repaired(options, &mut |options, preview| {
            gather_shown(format, &*body, options, None, preview)
        });
        problem.with_defects(found, "")
    }
}

/// See [`KeptBody::over`].
pub struct Keeping<R> {
    source: R,
    kept: KeptBody,
}

impl<R: Read> Keeping<R> {
    /// Reads the rest of the body as far as it is kept.
    ///
    /// # Errors
    /// When the source fails.
    pub fn keep_rest(&mut self) -> io::Result<()> {
        io::copy(
            &mut self.by_ref().take(TRIED_BYTES_MAX as u64 + 1),
            &mut io::sink(),
        )
        .map(drop)
    }
}

impl<R: Read> Read for Keeping<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.kept.add(&buffer[..read]);
        Ok(read)
    }
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
    let found = repaired(options, &mut |options, preview| {
        rows.parse(options, Some(preview)).map(Into::into)
    });
    problem.with_defects(found, pointer)
}
