//! Digest of data. Equal data have the same digest in every format.
//!
//! The digest is the SHA-256 of these bytes, with all integers little-endian:
//!
//! 1. the 16 bytes `halfspace-data-2`;
//! 2. one byte for the kind of the rows (0 Boolean, 1 real) and one for the kind of the labels (0 half-space, 1
//!    labelled, 2 unlabelled), with the codes of [`crate::stored::layout`];
//! 3. n and the number of rows, 8 bytes each;
//! 4. each row in order and, in labelled data, the code of its class after each row, 4 bytes;
//! 5. in labelled data the number of classes, 4 bytes, and in the order of their codes the name of each class: the
//!    number of its bytes, 4 bytes, and the bytes. The labels 1 and -1, or 1 and 0, are named `-1` and `1`. A class
//!    that means all other values has no name; 2^32 - 1 then stands in place of the number of bytes;
//! 6. if features have names, how many, 8 bytes, and each name in the order of the ids: the number of its bytes, 2
//!    bytes, and the bytes. Ids follow the bytes of the names. So the digest has each name once instead of in every
//!    row;
//! 7. if the examples have weights, the 8 bytes `-weights`, which no number of names is, and the thousandths of each
//!    weight, 4 bytes.
//!
//! The bytes of a row are those of [`crate::stored::canonical`], which do not depend on its layout. In a Boolean row,
//! bit 1 is the value 1, and bit 0 is the value 0 or -1.

use std::convert::Infallible;
use std::panic;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use sha2::{Digest, Sha256};

use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::examples::{Examples, Shape};
use halfspace_core::learners::sample::weights::Weight;

use crate::classes::Classes;
use crate::stored::header::LabelsKind;
use crate::stored::layout::stored_bytes;
use crate::stored::parts::{RowsPart, for_each_part};
use crate::vocabulary::Vocabulary;

const TAG: &[u8; 16] = b"halfspace-data-2";

/// What stands before the weights.
const WEIGHTS_TAG: &[u8; 8] = b"-weights";

/// Bytes per update of the hash, because many rows are short.
const CHUNK_BYTES: usize = 64 * 1024;

/// Chunks that may wait for the thread of the hash.
const CHUNKS_WAITING: usize = 8;

/// Stored bytes from which a thread for the hash saves time.
const THREAD_BYTES_MIN: u64 = 4 << 20;

/// The digest of the canonical rows, of the names of their classes, which are 1 and -1 without names, of those of their
/// features, and of the weights of the rows.
pub fn digest(
    data: &Data,
    classes: Option<&Classes>,
    vocabulary: Option<&Vocabulary>,
    weights: Option<&[Weight]>,
) -> [u8; 32] {
    let mut digest = RowsDigest::new(&data.shape());
    digest.add(data);
    digest.finish(classes, vocabulary, weights)
}

/// Digest of rows that arrive one after the other.
pub(crate) struct RowsDigest {
    hash: Hash,
    chunk: Vec<u8>,
    is_labelled: bool,
}

impl RowsDigest {
    /// Starts the digest of data with this header.
    pub(crate) fn new(header: &Shape) -> Self {
        let mut hash = Sha256::new();
        hash.update(TAG);
        hash.update([
            u8::from(header.is_real),
            LabelsKind::of(header.labels).code(),
        ]);
        hash.update((header.n as u64).to_le_bytes());
        hash.update((header.examples as u64).to_le_bytes());
        let chunk = Vec::with_capacity(CHUNK_BYTES);
        let hash = Hash::OnThisThread(hash);
        Self {
            hash,
            chunk,
            is_labelled: header.labels.is_labelled(),
        }
    }

    /// Moves the hash of large data to another thread, so that the caller reads and writes rows meanwhile. If the
    /// system refuses a thread, it stays on this one.
    pub(crate) fn on_a_thread(mut self, header: &Shape) -> Self {
        let is_large = stored_bytes(header).is_none_or(|bytes| bytes >= THREAD_BYTES_MIN);
        if let Hash::OnThisThread(hash) = &self.hash
            && is_large
            && let Some(thread) = HashThread::start(hash.clone())
        {
            self.hash = Hash::OnAThread(thread);
        }
        self
    }

    /// Adds the next rows.
    pub(crate) fn add(&mut self, rows: &Data) {
        let mut bytes = Vec::new();
        let see = |part: RowsPart<'_>| {
            part.for_each_row(&mut bytes, |row, label| self.push(row, label));
            Ok::<(), Infallible>(())
        };
        let Ok(()) = for_each_part(rows, see);
    }

    /// Adds the canonical bytes of the next row, and the code of its class if there is one.
    pub(crate) fn push(&mut self, row: &[u8], label: Option<u32>) {
        self.push_bytes(row);
        if let Some(code) = label {
            self.push_bytes(&code.to_le_bytes());
        }
    }

    fn push_bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = CHUNK_BYTES - self.chunk.len();
            let (now, later) = bytes.split_at(bytes.len().min(space));
            self.chunk.extend_from_slice(now);
            if self.chunk.len() == CHUNK_BYTES {
                self.hash.update(&mut self.chunk);
            }
            bytes = later;
        }
    }

    /// Adds the names of the classes, which are 1 and -1 if there are none, those of the features, and the weights.
    pub(crate) fn finish(
        mut self,
        classes: Option<&Classes>,
        vocabulary: Option<&Vocabulary>,
        weights: Option<&[Weight]>,
    ) -> [u8; 32] {
        if self.is_labelled {
            self.push_bytes(&Classes::bytes_of(classes));
        }
        if let Some(vocabulary) = vocabulary {
            self.push_bytes(&(vocabulary.len() as u64).to_le_bytes());
            self.push_bytes(&vocabulary.to_bytes());
        }
        if let Some(weights) = weights {
            self.push_bytes(WEIGHTS_TAG);
            for weight in weights {
                self.push_bytes(&weight.thousandths().to_le_bytes());
            }
        }
        self.hash.update(&mut self.chunk);
        match self.hash {
            Hash::OnThisThread(hash) => hash.finalize().into(),
            Hash::OnAThread(thread) => thread.finish(),
        }
    }
}

/// The running hash.
enum Hash {
    OnThisThread(Sha256),
    OnAThread(HashThread),
}

impl Hash {
    /// Adds the bytes of a chunk and empties the chunk.
    fn update(&mut self, chunk: &mut Vec<u8>) {
        match self {
            Self::OnThisThread(hash) => {
                hash.update(&*chunk);
                chunk.clear();
            }
            Self::OnAThread(thread) => thread.update(chunk),
        }
    }
}

/// A thread that hashes chunks in order while another reads and writes the rows.
struct HashThread {
    chunks: SyncSender<Vec<u8>>,
    /// Empty chunks to be filled again.
    emptied: Receiver<Vec<u8>>,
    thread: JoinHandle<Sha256>,
}

impl HashThread {
    /// Returns `None` if the system refuses a thread.
    fn start(mut hash: Sha256) -> Option<Self> {
        let (chunks, receiver) = sync_channel::<Vec<u8>>(CHUNKS_WAITING);
        let (sender, emptied) = channel();
        let work = move || {
            for mut chunk in receiver {
                hash.update(&chunk);
                chunk.clear();
                // If the rows ended early, nobody takes the chunk.
                let _ = sender.send(chunk);
            }
            hash
        };
        let thread = thread::Builder::new().name("digest".to_owned()).spawn(work);
        Some(Self {
            chunks,
            emptied,
            thread: thread.ok()?,
        })
    }

    fn update(&mut self, chunk: &mut Vec<u8>) {
        let empty = self.emptied.try_recv();
        let empty = empty.unwrap_or_else(|_| Vec::with_capacity(CHUNK_BYTES));
        // This thread ends early only by a panic, which `finish` passes on.
        let _ = self.chunks.send(std::mem::replace(chunk, empty));
    }

    /// Returns the digest of all chunks.
    fn finish(self) -> [u8; 32] {
        drop(self.chunks);
        let hash = self.thread.join();
        let hash = hash.unwrap_or_else(|reason| panic::resume_unwind(reason));
        hash.finalize().into()
    }
}
