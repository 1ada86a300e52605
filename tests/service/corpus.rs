//! The corpus of the fuzz targets, made from requests of the tests.
//!
//! If `HALFSPACE_FUZZ_CORPUS` is set, the tests write their requests to the directory that it names: see
//! `scripts/fuzz`.

use std::path::PathBuf;

use halfspace::http::fuzzing;
use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_formats::{
    BitOrder, Format, Header, LabelsColumn, Options, ParseLimits, RowsKind, TableOptions,
    UnlabelledMeans,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

#[allow(dead_code, reason = "the targets read what is written here")]
#[path = "../../fuzz/src/input.rs"]
mod input;

use input::Input;

/// Longest body that is kept.
const BODY_BYTES_MAX: usize = 4000;

/// Keeps the useful inputs of a request. `header` returns a header by name.
pub fn keep<'a>(path: &str, header: impl Fn(&str) -> Option<&'a str>, body: &[u8]) {
    let Some(corpus) = std::env::var_os("HALFSPACE_FUZZ_CORPUS") else {
        return;
    };
    let corpus = PathBuf::from(corpus);
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path.split('/').collect();
    if !query.is_empty() {
        let learner = CATALOGUE
            .iter()
            .position(|entry| parts.contains(&entry.name));
        let learner = learner.and_then(|at| u8::try_from(at).ok()).unwrap_or(0);
        write(&corpus, "query", &[&[learner], query.as_bytes()].concat());
    }
    if body.is_empty() || body.len() > BODY_BYTES_MAX {
        return;
    }
    if let Some(coding) = header("content-encoding") {
        let coding = u8::from(coding == "zstd");
        write(&corpus, "coding", &[&[coding, 255, 255, 6], body].concat());
        return;
    }
    if path == "/v1/models" {
        write(&corpus, "model", body);
    } else if parts.last() == Some(&"infer") {
        let length = header("inference-header-content-length");
        let length = length
            .and_then(|text| text.parse::<u16>().ok())
            .unwrap_or(0);
        let json = body
            .get(..usize::from(length))
            .filter(|json| !json.is_empty());
        let json = serde_json::from_slice::<Value>(json.unwrap_or(body)).unwrap_or_default();
        let shape = json["inputs"][0]["shape"].as_array();
        let n = shape.and_then(|shape| shape.last()?.as_u64()).unwrap_or(3);
        let n = u8::try_from(n.saturating_sub(1)).unwrap_or(2);
        let [low, high] = length.to_le_bytes();
        write(&corpus, "tensor", &[&[n, low, high], body].concat());
    } else if let Some(format) = header("content-type").and_then(Format::from_media_type) {
        let read = fuzzing::dataset_query(query, &ParseLimits::default());
        let options = read.map(|(_, options)| options).unwrap_or_default();
        let target = format!("{format:?}").to_lowercase();
        write(&corpus, &target, &Input::to_bytes(&options, body));
    }
}

fn write(corpus: &std::path::Path, target: &str, input: &[u8]) {
    let name: String = Sha256::digest(input)[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let directory = corpus.join(target);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(name), input).unwrap();
}
