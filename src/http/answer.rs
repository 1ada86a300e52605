//! Answers in JSON. Writing takes some milliseconds per megabyte, so only a short answer is written on the spot, and a
//! long one in the blocking pool.

use std::io::{self, Write};
use std::sync::Arc;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use halfspace_core::memory::{Grant, MemoryBudget};
use serde::{Serialize, Serializer};

use crate::http::computing::{begin, defect};
use crate::http::problem::Problem;
use crate::memory::return_after;

/// Bytes of the longest document that is written on the spot, in some tenths of a millisecond.
const SHORT_BYTES_MAX: usize = 64 * 1024;

/// A document in JSON. Every handler answers with this type instead of the one of `axum`.
pub struct Json<T>(pub T);

/// A long document that is not written yet: see [`write()`].
#[derive(Clone)]
struct Unwritten(Arc<dyn Fn() -> serde_json::Result<Vec<u8>> + Send + Sync>);

/// Takes the bytes of a short document, and fails at the first byte of a longer one.
#[derive(Default)]
struct ShortDocument(Vec<u8>);

impl Write for ShortDocument {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > SHORT_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<T: Serialize + Send + Sync + 'static> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let mut short = ShortDocument::default();
        let written = serde_json::to_writer(&mut short, &self.0);
        let mut response = match written {
            Ok(()) => short.0.into_response(),
            Err(error) if error.is_io() => {
                let write = Arc::new(move || serde_json::to_vec(&self.0));
                let mut response = ().into_response();
                response.extensions_mut().insert(Unwritten(write));
                response
            }
            Err(_) => return defect().into_response(),
        };
        let media_type = HeaderValue::from_static("application/json");
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, media_type);
        response
    }
}

/// A value with its memory grant, held until the document is written, or until the client has the written bytes.
pub struct Held<T>(pub T, #[expect(dead_code, reason = "held")] pub Grant);

impl<T: Serialize> Serialize for Held<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl AsRef<[u8]> for Held<Vec<u8>> {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Writes the document of an answer that is still unwritten. If there is no memory for it, the client is told to
/// retry, and the refusal keeps the `Location`.
pub async fn write(mut response: Response, memory: &MemoryBudget) -> Response {
    let Some(Unwritten(write)) = response.extensions_mut().remove::<Unwritten>() else {
        return response;
    };
    let memory = memory.clone();
    let written = begin(None, move || {
        let grant = memory.try_take(0)?;
        let document = grant.settled(|| write());
        drop(write);
        return_after(&grant);
        match grant.refused() {
            Some(refusal) => Err(Problem::from(refusal)),
            None => Ok(Held(document.map_err(|_| defect())?, grant)),
        }
    });
    match written.await.unwrap_or_else(|_| Err(defect())) {
        Ok(document) => {
            *response.body_mut() = Bytes::from_owner(document).into();
            response
        }
        Err(problem) => {
            let mut refusal = problem.into_response();
            if let Some(location) = response.headers_mut().remove(header::LOCATION) {
                refusal.headers_mut().insert(header::LOCATION, location);
            }
            refusal
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn json_answers_of_every_length_are_written() {
        for length in [
            0,
            10,
            SHORT_BYTES_MAX - 2,
            SHORT_BYTES_MAX - 1,
            3 * SHORT_BYTES_MAX,
        ] {
            let text = "x".repeat(length);
            let response = Json(text.clone()).into_response();
            let is_unwritten = response.extensions().get::<Unwritten>().is_some();
            assert_eq!(is_unwritten, length + 2 > SHORT_BYTES_MAX);
            let response = write(response, &MemoryBudget::unlimited()).await;
            assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, serde_json::to_vec(&text).unwrap());
        }
    }

    #[tokio::test]
    async fn a_long_document_holds_its_memory_until_it_is_sent() {
        let memory = MemoryBudget::new(64 << 20);
        let long = || Json("x".repeat(2 << 20)).into_response();
        let response = write(long(), &memory).await;
        assert_eq!(response.status(), 200);
        assert!(memory.taken() > 2 << 20);
        drop(response);
        assert_eq!(memory.taken(), 0);
    }

    #[tokio::test]
    async fn long_answer_without_memory_is_503_with_its_location() {
        let memory = MemoryBudget::new(64 << 20);
        let _others = memory.try_take(52 << 20).expect("room");
        let location = [(header::LOCATION, "/v1/jobs/1")];
        let long = (location, Json("x".repeat(8 << 20))).into_response();
        let refused = write(long, &memory).await;
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()[header::LOCATION], "/v1/jobs/1");
    }
}
