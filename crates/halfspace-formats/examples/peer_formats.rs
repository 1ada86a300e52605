//! Runs the readers of this library for `benches/peers/formats.py`, which compares them with pandas and polars.
//!
//! Each input line is a request, and each output line is its answer in JSON. In an answer, `seconds` is the real time
//! of the work, including the reading of the file.
#![expect(clippy::disallowed_methods, reason = "a comparison measures real time")]

mod inference;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufRead, BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use halfspace_formats::{EXAMPLES_MAX, Format, Options, ParsedRows, Spool, gather, parse};
use serde::Deserialize;
use serde_json::json;

use inference::read_tensor;

/// The memory of an upload before its rows move to a file.
const UPLOAD_MEMORY_BYTES: u64 = 16 << 20;

/// Bytes that are written before the next sync begins.
const SYNC_BYTES: usize = 32 << 20;

/// Bytes per write, as in the blobs of the server.
const PART_BYTES: usize = 1 << 20;

type Failure = Box<dyn std::error::Error>;

/// One line of the input.
#[derive(Deserialize)]
struct Request {
    work: Work,
    file: PathBuf,
    /// The features of a tensor.
    #[serde(default)]
    n: usize,
    /// The lengths of the sequences of words in texts.
    words: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Work {
    /// Reads the data of the file, in the format that its name tells.
    Parse,
    /// Reads the request of the Open Inference Protocol in the file.
    Infer,
    /// Stores the data of the file beside the file, durably.
    Store,
    /// Copies the file, durably.
    Copy,
}

fn main() -> Result<(), Failure> {
    for line in io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let begun = Instant::now();
        let rows = match request.work {
            Work::Parse => read(&request)?,
            Work::Infer => infer(&request)?,
            Work::Store => store(&request)?,
            Work::Copy => copy(&request)?,
        };
        let seconds = begun.elapsed().as_secs_f64();
        println!("{}", json!({"seconds": seconds, "rows": rows}));
        io::stdout().flush()?;
    }
    Ok(())
}

fn format(request: &Request) -> Result<Format, Failure> {
    let name = request.file.to_string_lossy();
    Ok(Format::from_file_name(&name).ok_or("the name has no known extension")?)
}

fn read(request: &Request) -> Result<usize, Failure> {
    let (file, mut options) = (File::open(&request.file)?, Options::default());
    if let Some(words) = &request.words {
        options.set("words", words)?;
    }
    let parsed = parse(format(request)?, file, &options)?;
    Ok(black_box(parsed).data.examples())
}

fn infer(request: &Request) -> Result<usize, Failure> {
    let file = File::open(&request.file)?;
    Ok(black_box(read_tensor(file, request.n)?).examples())
}

fn store(request: &Request) -> Result<usize, Failure> {
    let (spooled, stored) = (
        request.file.with_extension("spool"),
        request.file.with_extension("stored"),
    );
    // A body whose directory is at its end is kept in a file of its own.
    let opened = AtomicUsize::new(0);
    let open = move || {
        let number = opened.fetch_add(1, Ordering::Relaxed);
        File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(spooled.with_extension(format!("spool{number}")))
    };
    let to = File::create(&stored)?;
    let target = BufWriter::with_capacity(PART_BYTES, SyncedFile::new(to.try_clone()?));
    let spool = Spool::new(UPLOAD_MEMORY_BYTES, open).storing(EXAMPLES_MAX, target);
    let file = File::open(&request.file)?;
    let mut parsed = gather(format(request)?, file, &Options::default(), spool)?;
    if !matches!(parsed.data, ParsedRows::Stored(_)) {
        parsed.store(&to, EXAMPLES_MAX)?;
    }
    to.sync_all()?;
    fs::remove_file(stored)?;
    Ok(parsed.data.header().examples)
}

/// A file whose pages go to the disk while the file grows, like the blobs of the server.
struct SyncedFile {
    file: File,
    unsynced_bytes: usize,
    sync: Option<JoinHandle<io::Result<()>>>,
}

impl SyncedFile {
    fn new(file: File) -> Self {
        Self {
            file,
            unsynced_bytes: 0,
            sync: None,
        }
    }
}

impl Write for SyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_syncing = self.sync.as_ref().is_some_and(|sync| !sync.is_finished());
        if self.unsynced_bytes >= SYNC_BYTES && !is_syncing {
            let file = self.file.try_clone()?;
            self.sync = Some(thread::spawn(move || file.sync_data()));
            self.unsynced_bytes = 0;
        }
        let written = self.file.write(bytes)?;
        self.unsynced_bytes += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn copy(request: &Request) -> Result<usize, Failure> {
    let target = request.file.with_extension("copy");
    let (mut from, mut to) = (File::open(&request.file)?, File::create(&target)?);
    let mut piece = vec![0; 1 << 20];
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            break;
        }
        to.write_all(&piece[..read])?;
    }
    to.sync_all()?;
    fs::remove_file(target)?;
    Ok(0)
}
