//! How a body that brings data is to be read: its format, its limits, the options of tables.

use std::io::{self, Read};

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use halfspace_formats::{self, BitOrder, Format, FormatError, Header, LabelsColumn, json};

use super::App;
use super::body::{self, Effort};
use super::idempotency::RequestDigest;
use super::linger::{Returned, lend};
use super::permits::OwnerPermit;
use super::problem::{Code, Problem};
use super::work::Work;

/// A body of a known format, still to be read.
pub struct DataBody {
    /// How the body is written.
    pub format: Format,
    /// What its reader keeps to.
    pub limits: halfspace_formats::Limits,
    /// The request around it.
    pub parts: Parts,
    body: Body,
}

impl DataBody {
    /// A body in any format that data are accepted in.
    ///
    /// # Errors
    /// 415, with the formats there are.
    pub fn new(app: &App, request: Request) -> Result<Self, Problem> {
        let format = media_type(request.headers()).ok_or_else(|| {
            let known = Format::media_types().collect::<Vec<_>>().join(", ");
            let detail = match given(request.headers()) {
                Some(given) => {
                    format!("The Content-Type {given:?} is not read; use one of {known}.")
                }
                None => format!("The body needs a Content-Type: one of {known}."),
            };
            Problem::new(Code::UNSUPPORTED_MEDIA_TYPE, detail)
        })?;
        let (parts, body) = request.into_parts();
        let limits = match format {
            Format::Json => app.limits.of_json(),
            _ => app.limits.of_lines(),
        };
        Ok(Self {
            format,
            limits,
            parts,
            body,
        })
    }

    /// A body that is one JSON document.
    ///
    /// # Errors
    /// 415 for anything else.
    pub fn json(app: &App, request: Request) -> Result<Self, Problem> {
        if media_type(request.headers()) != Some(Format::Json) {
            let detail = match given(request.headers()) {
                Some(given) => {
                    format!("The body must be application/json, and not {given:?}.")
                }
                None => "The body needs a Content-Type, which is application/json.".to_owned(),
            };
            return Err(Problem::new(Code::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        Self::new(app, request)
    }

    /// How much work it is to take the body in, whose examples have `n` features where that is known:
    /// a sparse format makes much of a few bytes.
    pub fn effort(&self, n: Option<usize>) -> Effort {
        if self.format.is_dense() {
            Effort::AsItsBytes
        } else {
            Effort::Bounded(Work::reading(self.format, n))
        }
    }

    /// So many bytes what is in the body takes at least when it is stored, as far as that is known
    /// before it is read: the length of octets, which are packed already.
    pub fn stored_least(&self) -> u64 {
        let headers = &self.parts.headers;
        let is_packed = self.format == Format::Octets;
        if !is_packed || headers.contains_key(header::CONTENT_ENCODING) {
            return 1;
        }
        body::declared_length(headers).unwrap_or(1)
    }

    /// Sees to it that what is left of the body when its reader has enough comes back.
    pub fn lend(&mut self) -> Returned {
        let (body, returned) = lend(std::mem::take(&mut self.body));
        self.body = body;
        returned
    }

    /// The body as it comes in, for who reads it in a way of his own.
    pub fn into_parts(self) -> (halfspace_formats::Limits, Parts, Body) {
        (self.limits, self.parts, self.body)
    }

    /// Reads the body: see [`body::read`].
    ///
    /// # Errors
    /// What is wrong with the body, and what `parse` says.
    pub async fn read<T: Send + 'static>(
        self,
        app: &App,
        effort: Effort,
        parse: impl FnOnce(&mut dyn Read) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (read, _) = self.read_held(app, effort, parse).await?;
        Ok(read)
    }

    /// Reads the body, and hands on the permit that says that there is room for what was read.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub async fn read_held<T: Send + 'static>(
        self,
        app: &App,
        effort: Effort,
        parse: impl FnOnce(&mut dyn Read) -> Result<T, Problem> + Send + 'static,
    ) -> Result<(T, Option<OwnerPermit>), Problem> {
        let digest = self.parts.extensions.get::<RequestDigest>().cloned();
        let parse = move |reader: &mut dyn Read| {
            let Some(digest) = digest else {
                return parse(reader);
            };
            let mut reader = digest.over(reader);
            let parsed = parse(&mut reader)?;
            // A parser may stop early, and the digest is of the whole.
            io::copy(&mut reader, &mut io::sink()).map_err(FormatError::from)?;
            Ok(parsed)
        };
        body::read(app, &self.parts, self.body, &self.limits, effort, parse).await
    }
}

/// Reads a body that is one JSON document.
///
/// # Errors
/// What is wrong with the body.
pub async fn read_json<T: DeserializeOwned + Send + 'static>(
    app: &App,
    request: Request,
) -> Result<T, Problem> {
    let body = DataBody::json(app, request)?;
    let (effort, limits) = (Effort::AsItsBytes, body.limits.clone());
    let read = body.read(app, effort, move |reader| {
        Ok(json::from_reader::<T>(reader, &limits)?)
    });
    read.await
}

fn given(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE)?.to_str().ok()
}

fn media_type(headers: &HeaderMap) -> Option<Format> {
    given(headers).and_then(Format::from_media_type)
}

/// Where the query says that labels stand.
pub fn labels(text: String) -> LabelsColumn {
    match text.as_str() {
        "first" => LabelsColumn::First,
        "last" => LabelsColumn::Last,
        "none" => LabelsColumn::None,
        "appended" => LabelsColumn::Appended,
        _ => LabelsColumn::Named(text),
    }
}

/// Whether the query says that a table begins with names.
///
/// # Errors
/// 400 for any other text.
pub fn header_option(text: &str) -> Result<Header, Problem> {
    match text {
        "auto" => Ok(Header::Auto),
        "true" => Ok(Header::True),
        "false" => Ok(Header::False),
        other => {
            let detail = format!("`{other}` is none of auto, true, false");
            let code = Code::INVALID_PARAMETER;
            Err(Problem::parameter(code, "header", detail))
        }
    }
}

/// Which bit of an octet the query says comes first.
///
/// # Errors
/// 400 for any other text.
pub fn bit_order(text: &str) -> Result<BitOrder, Problem> {
    match text {
        "big" => Ok(BitOrder::Big),
        "little" => Ok(BitOrder::Little),
        other => {
            let detail = format!("`{other}` is none of big, little");
            let code = Code::INVALID_PARAMETER;
            Err(Problem::parameter(code, "bit_order", detail))
        }
    }
}

/// A binary body, as the OpenAPI document describes one.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "a shape: the body is read as a stream")]
pub struct Octets(Vec<u8>);
