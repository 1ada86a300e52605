//! Compresses answers for clients that accept gzip. Long documents become text only here, because compression needs
//! their bytes.
//!
//! A short answer is compressed on the spot, a longer one in the blocking pool. If the answer of a path never changes
//! while the process lives, it is compressed once and kept. Streams stay as they are, because compression would delay
//! their lines.
//!
//! The compression of `tower-http` 0.7, of which we use other layers, works while a thread of the runtime polls the
//! answer, and compresses the files of the console anew for each request.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use halfspace_core::memory::MemoryBudget;
use http_body_util::BodyExt;
use tokio::sync::Semaphore;

use crate::http::answer;
use crate::http::computing::begin;

/// Bytes of the smallest answer that is compressed. A smaller one fits into one packet.
const COMPRESSED_BYTES_MIN: u64 = 1024;

/// Bytes of the largest answer that is compressed on the spot, in some tenths of a millisecond.
const SHORT_BYTES_MAX: usize = 16 * 1024;

/// Compressed bytes of all answers that are kept. The files of the program take about a tenth.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Media types of documents and of the console's files.
const COMPRESSED: [&str; 5] = [
    "application/json",
    "image/svg+xml",
    "text/css",
    "text/html",
    "text/javascript",
];

/// Marks an answer whose body never changes for its path while the process lives.
#[derive(Clone, Copy, Debug)]
pub struct Constant;

/// Compresses answers, and keeps the constant ones.
#[derive(Debug)]
pub struct Compressor {
    kept: Mutex<HashMap<String, Bytes>>,
    /// One permit per long answer that is compressed at present.
    long: Semaphore,
    /// The memory for long answers.
    memory: MemoryBudget,
}

impl Compressor {
    /// Creates a compressor that compresses as many long answers at once as there are cores.
    pub fn new(memory: MemoryBudget) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Self {
            kept: Mutex::default(),
            long: Semaphore::new(cores),
            memory,
        })
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, Bytes>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The compressed form of the body of an answer; `None` if there is none.
    async fn compressed(&self, body: Bytes, uri: &Uri, is_constant: bool) -> Option<Bytes> {
        // Another spelling of a path has the same body.
        let key = uri.path();
        let is_constant = is_constant && !key.contains('%');
        if !is_constant && body.len() <= SHORT_BYTES_MAX {
            return gzip(&body, Compression::fast());
        }
        if !is_constant {
            let _turn = self.long.acquire().await.ok()?;
            return begin(None, move || gzip(&body, Compression::fast()))
                .await
                .ok()?;
        }
        let known = || self.kept().get(key).cloned();
        if let Some(kept) = known() {
            return Some(kept);
        }
        let _turn = self.long.acquire().await.ok()?;
        // Another request may have compressed the body meanwhile.
        if let Some(kept) = known() {
            return Some(kept);
        }
        let packed = begin(None, move || gzip(&body, Compression::best()));
        let packed = packed.await.ok()??;
        let mut kept = self.kept();
        let bytes = kept.values().map(Bytes::len).sum::<usize>();
        if bytes + packed.len() <= KEPT_BYTES_MAX {
            kept.insert(key.to_owned(), packed.clone());
        }
        Some(packed)
    }
}

/// Writes and compresses the body of an answer.
pub async fn compress(
    State(compressor): State<Arc<Compressor>>,
    request: Request,
    next: Next,
) -> Response {
    let (accepts, uri) = (accepts_gzip(request.headers()), request.uri().clone());
    let mut response = answer::write(next.run(request).await, &compressor.memory).await;
    let length = response.body().size_hint().exact();
    if length.is_none_or(|length| length < COMPRESSED_BYTES_MIN) || !is_compressible(&response) {
        return response;
    }
    let vary = HeaderValue::from_static("accept-encoding");
    response.headers_mut().append(header::VARY, vary);
    if !accepts {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // The whole body is there, so this does not wait.
    let Ok(body) = body.collect().await else {
        return Response::from_parts(head, Body::empty());
    };
    let body = body.to_bytes();
    let is_constant = head.extensions.get::<Constant>().is_some() && head.status == StatusCode::OK;
    let Some(packed) = compressor.compressed(body.clone(), &uri, is_constant).await else {
        return Response::from_parts(head, body.into());
    };
    head.headers.remove(header::CONTENT_LENGTH);
    let coding = HeaderValue::from_static("gzip");
    head.headers.insert(header::CONTENT_ENCODING, coding);
    Response::from_parts(head, packed.into())
}

fn gzip(body: &[u8], level: Compression) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 3), level);
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn is_compressible(response: &Response) -> bool {
    let headers = response.headers();
    let media_type = headers.get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    let is_known = |text: &str| COMPRESSED.iter().any(|known| text.starts_with(known));
    !headers.contains_key(header::CONTENT_ENCODING) && media_type.is_some_and(is_known)
}

/// Whether the Accept-Encoding header names gzip, or everything, with a weight other than 0.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let texts: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
    let weight = |name: &str| {
        texts
            .iter()
            .flat_map(|text| text.split(','))
            .find_map(|coding| {
                let (coding, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
                let (_, weight) = weight.split_once('=')?;
                let is_named = coding.trim().eq_ignore_ascii_case(name);
                is_named.then(|| weight.trim().parse::<f32>().unwrap_or(0.0))
            })
    };
    weight("gzip")
        .or(weight("*"))
        .is_some_and(|weight| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_accepted_by_name_or_by_a_star_with_a_weight() {
        for (text, accepts) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip;q=0.0, *", false),
            ("br", false),
            ("", false),
            ("*;q=0", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            assert_eq!(accepts_gzip(&headers), accepts, "{text}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[tokio::test]
    async fn constant_answers_are_compressed_once_and_others_each_time() {
        let compressor = Compressor::new(MemoryBudget::unlimited());
        let body = Bytes::from(vec![b'x'; 100_000]);
        let uri = |text: &'static str| Uri::from_static(text);
        for _ in 0..2 {
            let packed = compressor
                .compressed(body.clone(), &uri("/docs/a.js"), true)
                .await;
            assert!(packed.is_some_and(|packed| packed.len() < 1000));
        }
        compressor
            .compressed(body.clone(), &uri("/docs/%61.js"), true)
            .await;
        compressor
            .compressed(body.clone(), &uri("/v1/jobs"), false)
            .await;
        let kept: Vec<_> = compressor.kept().keys().cloned().collect();
        assert_eq!(kept, ["/docs/a.js"]);
        // A kept answer is not computed again.
        let kept = compressor
            .compressed(Bytes::new(), &uri("/docs/a.js"), true)
            .await;
        assert!(kept.is_some_and(|kept| kept.len() > 30));
    }
}
