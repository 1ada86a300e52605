//! Digest and repetitions of rows that arrive one after the other.
//!
//! Rows are collected in chunks. In large data a thread of its own takes the chunks in order, while the calling thread
//! reads and writes the next rows.

use std::panic;
use std::sync::mpsc::{Receiver, SendError, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use sha2::{Digest, Sha256};

use halfspace_core::bits::words_for;
use halfspace_core::learners::sample::repetitions::{RepetitionCounter, RepetitionCounts};

use crate::stored::blocks::{BlocksHeader, LabelsKind, RowsKind};
use crate::stored::digest::begun;

/// Bytes per chunk, unless a row is longer.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes of the chunks that may wait for the thread.
const WAITING_BYTES: usize = 8 * CHUNK_BYTES;

/// Stored bytes from which a thread saves time.
const THREAD_BYTES_MIN: u64 = 4 << 20;

/// Digest and repetitions of the rows so far.
pub(crate) struct RowFacts {
    /// Canonical rows, each with the byte of its label if the data have labels.
    chunk: Vec<u8>,
    chunk_bytes: usize,
    place: Place,
}

/// The thread that takes the chunks.
enum Place {
    Here(ChunkFacts),
    Beside(FactsThread),
}

impl RowFacts {
    /// Repetitions are counted among at most `examples_max` examples.
    pub(crate) fn new(header: &BlocksHeader, examples_max: usize) -> Self {
        let facts = ChunkFacts::new(header, examples_max);
        let rows = (CHUNK_BYTES / facts.row_bytes()).max(1);
        let chunk_bytes = rows * facts.row_bytes();
        let bytes = header.stored_bytes();
        let place = match bytes.is_none_or(|bytes| bytes >= THREAD_BYTES_MIN) {
            true => FactsThread::start(facts, chunk_bytes),
            false => Place::Here(facts),
        };
        Self {
            chunk: Vec::with_capacity(chunk_bytes),
            chunk_bytes,
            place,
        }
    }

    /// Adds the canonical bytes of the next row, and the label in labelled data.
    pub(crate) fn push(&mut self, row: &[u8], label: Option<bool>) {
        self.chunk.extend_from_slice(row);
        self.chunk.extend(label.map(u8::from));
        if self.chunk.len() >= self.chunk_bytes {
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        match &mut self.place {
            Place::Here(facts) => {
                facts.add(&self.chunk);
                self.chunk.clear();
            }
            Place::Beside(thread) => thread.add(&mut self.chunk),
        }
    }

    /// Returns the digest, and the repetitions if they were counted.
    pub(crate) fn finish(mut self) -> ([u8; 32], Option<RepetitionCounts>) {
        self.pass_on();
        let facts = match self.place {
            Place::Here(facts) => facts,
            Place::Beside(thread) => thread.finish(),
        };
        (facts.hash.finalize().into(), facts.repetitions.finish())
    }
}

/// Digest and repetitions of whole chunks.
struct ChunkFacts {
    hash: Sha256,
    repetitions: RepetitionCounter,
    /// Bytes of a row without its label.
    values_bytes: usize,
    is_labelled: bool,
}

impl ChunkFacts {
    fn new(header: &BlocksHeader, examples_max: usize) -> Self {
        let is_labelled = header.labels == LabelsKind::Labelled;
        let words = match header.kind {
            RowsKind::Boolean => words_for(header.n),
            RowsKind::Real => header.n,
        };
        Self {
            hash: begun(header),
            repetitions: RepetitionCounter::new(header.rows, is_labelled, examples_max),
            values_bytes: words * size_of::<u64>(),
            is_labelled,
        }
    }

    fn row_bytes(&self) -> usize {
        self.values_bytes + usize::from(self.is_labelled)
    }

    fn add(&mut self, chunk: &[u8]) {
        self.hash.update(chunk);
        for row in chunk.chunks_exact(self.row_bytes()) {
            let (values, label) = row.split_at(self.values_bytes);
            let label = label.first().map(|&label| label == 1);
            self.repetitions.push(values, label);
        }
    }
}

/// A thread that takes chunks in order.
struct FactsThread {
    chunks: SyncSender<Vec<u8>>,
    /// Empty chunks to be filled again.
    emptied: Receiver<Vec<u8>>,
    /// Returns the facts that were handed over.
    thread: JoinHandle<Option<ChunkFacts>>,
}

impl FactsThread {
    /// Starts a thread for the facts. The facts stay here if the system refuses a thread.
    fn start(facts: ChunkFacts, chunk_bytes: usize) -> Place {
        let (chunks, receiver) = sync_channel::<Vec<u8>>(WAITING_BYTES / chunk_bytes);
        let (sender, emptied) = channel();
        let (hand_over, begin) = channel::<ChunkFacts>();
        let work = move || {
            let mut facts = begin.recv().ok()?;
            for mut chunk in receiver {
                facts.add(&chunk);
                chunk.clear();
                // Nobody takes the chunk after the last row.
                let _ = sender.send(chunk);
            }
            Some(facts)
        };
        let thread = thread::Builder::new().name("row-facts".to_owned());
        let Ok(thread) = thread.spawn(work) else {
            return Place::Here(facts);
        };
        match hand_over.send(facts) {
            Ok(()) => Place::Beside(Self {
                chunks,
                emptied,
                thread,
            }),
            Err(SendError(facts)) => Place::Here(facts),
        }
    }

    /// Takes the chunk and leaves an empty one.
    fn add(&mut self, chunk: &mut Vec<u8>) {
        let empty = self.emptied.try_recv();
        let empty = empty.unwrap_or_else(|_| Vec::with_capacity(chunk.capacity()));
        // The thread ends early only by a panic, which `finish` passes on.
        let _ = self.chunks.send(std::mem::replace(chunk, empty));
    }

    fn finish(self) -> ChunkFacts {
        drop(self.chunks);
        let facts = self.thread.join();
        let facts = facts.unwrap_or_else(|reason| panic::resume_unwind(reason));
        facts.expect("the facts were handed over")
    }
}
