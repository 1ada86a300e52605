//! Corpus of the fuzz targets: the bodies that the tests of the formats read.
//!
//! If the variable `HALFSPACE_FUZZ_CORPUS` is set, the tests write their bodies to the directory that it names (see
//! `scripts/fuzz`).

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Mutex;

use sha2::{Digest, Sha256};

use super::first_label;
use super::{
    BitOrder, Format, FormatError, Header, LabelsColumn, Options, ParseLimits, Parsed,
    UnlabelledMeans,
};
use crate::{Preview, Previewed, RowsKind, TableOptions};

#[path = "../../../../fuzz/src/input.rs"]
mod input;

use input::Input;

/// Inputs per test and format. There is a limit because a property test reads hundreds of similar bodies.
const INPUTS_MAX: u32 = 50;

/// Bytes of the longest body in the corpus.
const BODY_BYTES_MAX: usize = 4000;

/// Reads a body as data, and adds the bytes that were read to the corpus. A preview must not change the outcome.
///
/// In these tests, the tables without names have the label first.
pub fn parse(format: Format, reader: impl Read, options: &Options) -> Result<Parsed, FormatError> {
    let body = Vec::new();
    let mut kept = RecordingReader { reader, body };
    let parsed = crate::parse(format, &mut kept, options);
    let is_open = |error: &FormatError| error.detail.starts_with("The table has no row of names");
    if parsed.as_ref().err().is_some_and(is_open) {
        io::copy(&mut kept, &mut io::sink())?;
        return parse(format, kept.body.as_slice(), &first_label(format, options));
    }
    keep(format, options, &kept.body);
    let is_of_content = |error: &FormatError| error.kind.is_of_content();
    if parsed.as_ref().err().is_none_or(is_of_content) {
        let (again, _) = previewed(format, &kept.body, options);
        assert_eq!(again, parsed, "the outcome with a preview");
    }
    parsed
}

/// Reads a body with a preview of three rows.
pub fn previewed(
    format: Format,
    body: &[u8],
    options: &Options,
) -> (Result<Parsed, FormatError>, Previewed) {
    let preview = Preview::new(3);
    let parsed = crate::gather_shown(format, body, options, None, &preview);
    let mut parsed = parsed.map_err(|error| preview.explained(error).unwrap_or_else(|error| error));
    let shown = preview
        .finish(parsed.as_mut().ok())
        .expect("rows in memory");
    (parsed.map(Parsed::in_memory), shown)
}

struct RecordingReader<R> {
    reader: R,
    body: Vec<u8>,
}

impl<R: Read> Read for RecordingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.body.extend_from_slice(&buffer[..read]);
        Ok(read)
    }
}

/// Writes a body and its options to the corpus.
pub fn keep(format: Format, options: &Options, body: &[u8]) {
    static KEPT: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);
    let Some(corpus) = std::env::var_os("HALFSPACE_FUZZ_CORPUS") else {
        return;
    };
    if body.len() > BODY_BYTES_MAX {
        return;
    }
    // Each test runs on its own thread, which has the name of the test.
    let test = format!("{:?} {format:?}", std::thread::current().name());
    let mut kept = KEPT.lock().unwrap();
    let count = kept.get_or_insert_default().entry(test).or_default();
    *count += 1;
    if *count > INPUTS_MAX {
        return;
    }
    let input = Input::to_bytes(options, body);
    let name: String = Sha256::digest(&input)[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let directory = PathBuf::from(corpus).join(format!("{format:?}").to_lowercase());
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(name), input).unwrap();
}

#[test]
fn fuzz_input_encodes_the_options_of_its_body() {
    let named = || Some(LabelsColumn::Named("y".to_owned()));
    for labels in [
        None,
        Some(LabelsColumn::First),
        Some(LabelsColumn::Appended),
        named(),
    ] {
        for (header, bit_order, values, unlabelled, n) in [
            (Header::Auto, None, None, UnlabelledMeans::HalfSpace, None),
            (
                Header::False,
                Some(BitOrder::Little),
                Some(RowsKind::Real),
                UnlabelledMeans::Nothing,
                Some(255),
            ),
        ] {
            let options = Options {
                labels: labels.clone(),
                header,
                bit_order,
                values,
                unlabelled,
                n,
                ..Options::default()
            };
            let bytes = Input::to_bytes(&options, b"body");
            let input = Input::from_bytes(&bytes).expect("a prefix");
            let limits = ParseLimits::default();
            assert!(input.options.limits.n_max < limits.n_max);
            assert_eq!(
                Options {
                    limits,
                    ..input.options
                },
                options
            );
            assert_eq!(
                (input.body, input.piece, input.memory_bytes_max),
                (&b"body"[..], 7, 144)
            );
        }
    }
    assert!(Input::from_bytes(b"short").is_none());
}
