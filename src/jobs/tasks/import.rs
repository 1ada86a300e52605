//! The task `import`: reads an object of a bucket and stores the examples as a dataset.
//!
//! The object passes the same readers as an upload, and its examples the same spool. The blob stays invisible until it
//! is whole, and the end of the job stores the row of the dataset. A run that is broken off leaves nothing behind, so
//! the next one begins at the start of the object, in the same version.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halfspace_core::learners::engine::run::{Counts, Interrupt, ProgressCells, Run, StopFlag};
use halfspace_formats::{
    self, CellKeeper, ContentCoding, Format, FormatError, FormatErrorKind, NotReserved, Parsed,
    ParsedRows, Spool,
};

use crate::records::import::{ImportResult, ImportSpec, SourceVersion};
use crate::records::task::DataSpec;
use crate::records::{Dataset, JobError, Progress};
use crate::storage::sources::reader::{READER_BYTES, SourceWatch};
use crate::storage::sources::{SourceError, SourceReader};
use crate::storage::{JobEnd, StoreError};

use super::error::ResolveError;
use super::memory_bound;
use super::task::{About, Allowance, Inputs, Task};
use crate::jobs::completion::{failure, over_quota};
use crate::jobs::datasets::begun_dataset::BegunDataset;
use crate::jobs::datasets::reservations::Reservation;
use crate::jobs::datasets::store::{NewDataset, assume_refusal};
use crate::jobs::datasets::stored::ReadError;
use crate::jobs::datasets::stored_ratio::StoredRatio;
use crate::jobs::error::JobsError;
use crate::jobs::imports::{ImportInputs, source_error};

/// Bytes of an object that a slow machine reads per second, for the expected time.
const BYTES_PER_SECOND: f64 = 50e6;

/// The least expected time. An import is never computed within the request, which would store no dataset.
const SECONDS_MIN: f64 = 1.0;

/// An object to be stored as a dataset.
#[derive(Debug)]
pub(super) struct Import {
    source: String,
    version: SourceVersion,
    inputs: ImportInputs,
    /// The bytes of the dataset count here until its row counts them.
    reserved: Mutex<Option<Reservation>>,
    /// The reason why the object or the store could not be read, which may pass.
    unread: Mutex<Option<StoreError>>,
}

/// What became of an import.
pub(super) enum Imported {
    Stored(Box<Dataset>),
    Cancelled,
    Failed(JobError),
}

/// The reason why there is no dataset.
enum Fault {
    Source(SourceError),
    Format(FormatError),
    Jobs(JobsError),
    Refused { code: &'static str, detail: String },
}

impl From<JobsError> for Fault {
    fn from(error: JobsError) -> Self {
        Self::Jobs(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Jobs(error.into())
    }
}

impl From<FormatError> for Fault {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}

impl Task for Import {
    type Spec = ImportSpec;
    type Output = Imported;

    fn new(spec: &ImportSpec, described: &DataSpec, inputs: Inputs) -> Result<Self, ResolveError> {
        let (Some(inputs), Some(version)) = (inputs.import, described.source.clone()) else {
            return Err(ResolveError::NoData);
        };
        Ok(Self {
            source: spec.source.clone(),
            version,
            inputs,
            reserved: Mutex::default(),
            unread: Mutex::default(),
        })
    }

    fn check(&mut self, _: &Allowance) -> Result<(), ResolveError> {
        Ok(())
    }

    fn run(&self, _: Option<&[u8]>, run: &Run) -> Result<Imported, Interrupt> {
        // The writer of the blob and the reservation find the runtime of the service here.
        let _entered = self.inputs.runtime.enter();
        let imported = self.import(run);
        match imported {
            Ok(dataset) => Ok(Imported::Stored(Box::new(dataset))),
            Err(fault) => self.unfinished(fault, run),
        }
    }

    fn complete(&self, imported: Imported, about: &About<'_>) -> JobEnd {
        let dataset = match imported {
            Imported::Stored(dataset) => *dataset,
            Imported::Failed(error) => return failure(about.ids.now(), error, about.job),
            Imported::Cancelled => {
                return JobEnd {
                    result: None,
                    ..about.end(&(), true)
                };
            }
        };
        let result = ImportResult::new(&dataset, &self.source, &self.version, about.seconds);
        JobEnd {
            dataset: Some(dataset),
            progress: Progress {
                fraction: Some(1.0),
                bytes: Some(self.version.bytes),
                bytes_total: Some(self.version.bytes),
                ..Progress::default()
            },
            ..about.end(&result, false)
        }
    }

    fn memory_bytes(&self, _: u64) -> u64 {
        memory_bound::reading(
            self.inputs
                .config
                .memory_bytes_max
                .saturating_add(READER_BYTES),
        )
    }

    fn expected_seconds(&self, limit: f64) -> f64 {
        let expected = self.version.bytes as f64 / BYTES_PER_SECOND;
        expected.min(limit).max(SECONDS_MIN)
    }

    /// A body that is kept is read once more.
    fn examples_planned(&self) -> Option<u64> {
        let times = if self.is_kept() { 2 } else { 1 };
        Some(self.version.bytes.saturating_mul(times))
    }

    fn source_bytes(&self) -> Option<u64> {
        Some(self.version.bytes)
    }

    fn read_error(&self) -> ReadError {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        match unread.take() {
            Some(error) => ReadError::Store(error),
            None => ReadError::Broken("the object could not be read".to_owned()),
        }
    }
}

impl Import {
    /// Whether the reader keeps the whole object before it reads the examples.
    fn is_kept(&self) -> bool {
        matches!(self.inputs.format, Format::Parquet | Format::Xlsx)
    }

    fn import(&self, run: &Run) -> Result<Dataset, Fault> {
        let inputs = &self.inputs;
        let (datasets, runtime) = (&inputs.datasets, &inputs.runtime);
        // An earlier reservation would count twice.
        *self.reservation() = None;
        let reserved = runtime.block_on(datasets.reservations.reserve(&inputs.owner, 1))?;
        *self.reservation() = Some(reserved.clone());
        runtime.block_on(datasets.ensure_space())?;
        let begun = datasets.begin()?;
        let reader = SourceReader::new(inputs.object.clone(), run.stop.clone(), runtime.clone());
        let watch = reader.watch();
        let reading = Reading::new(run, watch.clone());
        let parsed = match self.parsed(reader, &reading, &begun, &reserved) {
            Ok(parsed) => parsed,
            Err(fault) => {
                runtime.block_on(begun.abort());
                return Err(watch.failure().map_or(fault, Fault::Source));
            }
        };
        let new = NewDataset {
            owner: inputs.owner.clone(),
            name: inputs.name.clone(),
            cells: inputs.options.cells.as_ref().and_then(CellKeeper::take),
            parsed,
            assume: inputs.options.assume,
            seed: None,
            key: None,
            reserved: Some(reserved),
            begun,
        };
        Ok(datasets.write_here(new, || reading.look(), runtime)?)
    }

    fn reservation(&self) -> MutexGuard<'_, Option<Reservation>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the examples of the object. Examples beyond the memory go to the spool or to the blob.
    fn parsed(
        &self,
        mut source: SourceReader,
        reading: &Arc<Reading>,
        begun: &BegunDataset,
        reserved: &Reservation,
    ) -> Result<Parsed<ParsedRows>, Fault> {
        let inputs = &self.inputs;
        let watch = source.watch();
        let ratio = StoredRatio::new(inputs.config.stored_ratio_max, move || watch.bytes());
        let spool = self.spool(reading, reserved, &ratio);
        let spool = spool.storing(begun.compared_max, begun.target());
        let mut first = [0; 4];
        let read = source.read(&mut first).map_err(FormatError::from)?;
        let first = &first[..read];
        let coding = match (inputs.coding, inputs.format) {
            (Some(coding), _) => coding,
            // Packed bits may begin like a compressed file.
            (None, Format::Octets) => ContentCoding::Identity,
            (None, _) => ContentCoding::of_bytes(first),
        };
        let whole = Shown {
            reader: Read::chain(first, source),
            reading: Arc::clone(reading),
        };
        let options = &inputs.options;
        let mut decoder = halfspace_formats::decoder(coding, whole, &options.limits)?;
        let gathered = halfspace_formats::gather(inputs.format, &mut decoder, options, spool);
        let parsed = gathered.map_err(|error| match error.kind {
            FormatErrorKind::NotReserved => match reserved.refusal() {
                Some(over) => Fault::Jobs(JobsError::OverQuota(over)),
                None => Fault::Refused {
                    code: "too-large",
                    detail: ratio.refusal(),
                },
            },
            _ => Fault::Format(error),
        })?;
        // The parser may stop before the end of the compressed data. Damage after that point is an error too.
        io::copy(&mut decoder, &mut io::sink()).map_err(FormatError::from)?;
        match assume_refusal(parsed.data.header().labels, options.assume) {
            None => Ok(parsed),
            Some(detail) => Err(Fault::Refused {
                code: "bad-data",
                detail: format!("assume: {detail}"),
            }),
        }
    }

    fn spool(&self, reading: &Arc<Reading>, reserved: &Reservation, ratio: &StoredRatio) -> Spool {
        let config = &self.inputs.config;
        let (scratch, opened) = (config.scratch.clone(), Arc::clone(reading));
        // The first file of such a reader holds the object.
        let is_next_kept = AtomicBool::new(self.is_kept());
        let open = move || {
            Ok(ScratchFile {
                file: scratch.file()?,
                is_object: is_next_kept.swap(false, Ordering::Relaxed),
                reading: Arc::clone(&opened),
            })
        };
        let (held, within) = (reserved.clone(), ratio.clone());
        Spool::new(config.memory_bytes_max, open).reserving(move |bytes| {
            match within.admits(bytes) {
                true => held.grow_to(bytes).map_err(|_| NotReserved),
                false => Err(NotReserved),
            }
        })
    }

    /// How a run without a dataset ends. What may pass is tried again.
    fn unfinished(&self, fault: Fault, run: &Run) -> Result<Imported, Interrupt> {
        *self.reservation() = None;
        let failed = |code: &str, detail: String| {
            let code = code.to_owned();
            Ok(Imported::Failed(JobError { code, detail }))
        };
        match run.stop.raised() {
            Some(Interrupt::Cancelled) => return Ok(Imported::Cancelled),
            Some(Interrupt::TimeLimit) => {
                let detail = "the import exceeded the time limit of the job; set `max_seconds`, or import a smaller \
                              object";
                return failed("time-limit", detail.to_owned());
            }
            Some(interrupt) => return Err(interrupt),
            None => {}
        }
        let store_error = match fault {
            Fault::Refused { code, detail } => return failed(code, detail),
            Fault::Source(SourceError::Store(error)) => error,
            Fault::Source(error) => return Ok(Imported::Failed(source_error(&error))),
            Fault::Format(error) => match error.kind {
                FormatErrorKind::NoMemory(_) => return Err(Interrupt::Memory),
                FormatErrorKind::Spool(kind) => io::Error::new(kind, error.detail).into(),
                FormatErrorKind::TooLarge { .. } => return failed("too-large", error.to_string()),
                _ => return failed("bad-data", error.to_string()),
            },
            Fault::Jobs(JobsError::OverQuota(over)) => {
                return Ok(Imported::Failed(over_quota(&over)));
            }
            Fault::Jobs(JobsError::NoMemory(_)) => return Err(Interrupt::Memory),
            Fault::Jobs(JobsError::Store(error)) => error,
            Fault::Jobs(error) => return failed("internal", error.to_string()),
        };
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        *unread = Some(store_error);
        Err(Interrupt::Unreadable)
    }
}

/// How far an import is, shared by everything that reads or writes for it.
#[derive(Debug)]
struct Reading {
    stop: StopFlag,
    progress: ProgressCells,
    source: SourceWatch,
    /// Bytes of the kept object that were read again.
    again: AtomicU64,
}

impl Reading {
    fn new(run: &Run, source: SourceWatch) -> Arc<Self> {
        Arc::new(Self {
            stop: run.stop.clone(),
            progress: run.progress.clone(),
            source,
            again: AtomicU64::new(0),
        })
    }

    /// Shows the progress, and waits while the run is paused.
    ///
    /// # Errors
    /// The run must end.
    fn look(&self) -> io::Result<()> {
        self.progress.show(&Counts {
            examples: self.source.bytes(),
            updates: self.again.load(Ordering::Relaxed),
            ..Counts::default()
        });
        match self.stop.raised() {
            None => Ok(()),
            Some(_) => Err(io::Error::other("the import was stopped")),
        }
    }
}

/// The object, whose progress is shown.
struct Shown<R> {
    reader: R,
    reading: Arc<Reading>,
}

impl<R: Read> Read for Shown<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reading.look()?;
        self.reader.read(buffer)
    }
}

/// A temporary file of an import.
struct ScratchFile {
    file: std::fs::File,
    /// Whether the file holds the object.
    is_object: bool,
    reading: Arc<Reading>,
}

impl Read for ScratchFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reading.look()?;
        let read = self.file.read(buffer)?;
        if self.is_object {
            self.reading.again.fetch_add(read as u64, Ordering::Relaxed);
        }
        Ok(read)
    }
}

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.reading.look()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for ScratchFile {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.file.seek(place)
    }
}
