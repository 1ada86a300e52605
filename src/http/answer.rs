//! Answers in JSON. A short one is written on the spot; a long one is written in the blocking pool, because writing
//! takes some milliseconds per megabyte.

use std::io::{self, Write};
use std::sync::Arc;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::http::computing::{begin, defect};

/// Bytes of the longest document that is written on the spot, in some tenths of a millisecond.
const SHORT_BYTES_MAX: usize = 64 * 1024;

/// A document in JSON. Every handler answers with this type instead of the one of `axum`.
pub struct Json<T>(pub T);

/// A long document that is not written yet: see [`write`].
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

/// Writes the document of an answer that is not written yet.
pub async fn write(mut response: Response) -> Response {
    let Some(Unwritten(write)) = response.extensions_mut().remove::<Unwritten>() else {
        return response;
    };
    match begin(None, move || write()).await {
        Ok(Ok(document)) => {
            *response.body_mut() = document.into();
            response
        }
        _ => defect().into_response(),
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn documents_of_every_length_are_written() {
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
            let response = write(response).await;
            assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, serde_json::to_vec(&text).unwrap());
        }
    }
}
