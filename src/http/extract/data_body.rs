//! How a request body with data is read: chooses the format, the limits and the options of tables, and leaves the
//! reading itself to [`body`].

use std::io::{self, Read};

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use halfspace_formats::{self, Format, FormatError, Options, TRIED_BYTES_MAX, json};

use crate::http::app_state::App;
use crate::http::extract::body::{self, Content, Effort, SentBytes};
use crate::http::extract::idempotency::RequestDigest;
use crate::http::extract::mending::{KeptBody, mended};
use crate::http::extract::work::ExamplesWork;
use crate::http::middleware::drain_body::{Leftover, lend};
use crate::http::permits::OwnerPermit;
use crate::http::problem::{Code, Problem};

/// The Content-Type of `curl --data` without a header.
const FORM: &str = "application/x-www-form-urlencoded";

/// A body of a known format that has not been read yet.
pub struct DataBody {
    pub format: Format,
    pub limits: halfspace_formats::ParseLimits,
    pub parts: Parts,
    body: Body,
    /// The options under which the body is read, if a refusal is to come with repairs.
    mended_under: Option<Options>,
}

impl DataBody {
    /// Accepts a body in any data format.
    ///
    /// # Errors
    /// 415 with the supported formats.
    pub fn new(app: &App, request: Request) -> Result<Self, Problem> {
        let format = media_type(request.headers()).ok_or_else(|| {
            let known = Format::media_types().collect::<Vec<_>>().join(", ");
            let detail = match given(request.headers()) {
                Some(FORM) => format!(
                    "The Content-Type {FORM:?} is the default of curl. State the type of the data, as in -H \
                     'content-type: text/csv'; the types are {known}."
                ),
                Some(given) => {
                    let instead = Format::instead_of(given).unwrap_or_default();
                    format!("The Content-Type {given:?} is not supported; use one of {known}.{instead}")
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
            mended_under: None,
        })
    }

    /// Reads the body under these options, which the caller passes to the parser. A refusal then comes with repairs.
    #[must_use]
    pub fn under(self, options: &Options) -> Self {
        Self {
            mended_under: Some(options.clone()),
            ..self
        }
    }

    /// Accepts a body that is one JSON document.
    ///
    /// # Errors
    /// 415 for any other Content-Type.
    pub fn json(app: &App, request: Request) -> Result<Self, Problem> {
        if media_type(request.headers()) != Some(Format::Json) {
            let detail = match given(request.headers()) {
                Some(given) => {
                    format!("The Content-Type {given:?} is not supported; use application/json.")
                }
                None => "The body needs the Content-Type application/json.".to_owned(),
            };
            return Err(Problem::new(Code::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        Self::new(app, request)
    }

    /// Bound on the work of reading the body under these options, which are settled. A table in JSON may state others
    /// beside its rows, so no JSON is read on the spot.
    pub fn effort(&self, options: &Options) -> Effort {
        let work = ExamplesWork::reading(self.format, options.n, options);
        let is_told = self.format.is_dense() && self.format != Format::Json;
        match is_told && work.words_a_byte == 0 && !work.is_decoded {
            true => Effort::AsItsBytes,
            false => Effort::Bounded(work),
        }
    }

    /// Lower bound on the stored bytes of the data, before any are read. Octets are packed already, so for them it is
    /// the declared length.
    pub fn stored_least(&self) -> u64 {
        let headers = &self.parts.headers;
        let is_packed = self.format == Format::Octets;
        if !is_packed || headers.contains_key(header::CONTENT_ENCODING) {
            return 1;
        }
        body::declared_length(headers).unwrap_or(1)
    }

    /// The count of the body's bytes that have arrived.
    pub fn sent_bytes(&mut self) -> SentBytes {
        let sent = self.parts.extensions.get_or_insert_default::<SentBytes>();
        sent.clone()
    }

    /// A handle to what the reader leaves unread of the body.
    pub fn lend(&mut self) -> Leftover {
        let (body, returned) = lend(std::mem::take(&mut self.body));
        self.body = body;
        returned
    }

    /// Collects the beginning of the body: see [`body::collect`].
    ///
    /// # Errors
    /// As for [`body::collect`].
    pub async fn collect(&mut self) -> Result<bool, Problem> {
        body::collect(&self.parts, &mut self.body).await
    }

    /// Splits the request for a caller that reads the body differently.
    pub fn into_parts(self) -> (halfspace_formats::ParseLimits, Parts, Body) {
        (self.limits, self.parts, self.body)
    }

    /// Reads the body: see [`body::read`].
    ///
    /// # Errors
    /// Errors in the body, and errors of `parse`.
    pub async fn read<T: Send + 'static>(
        self,
        app: &App,
        effort: Effort,
        parse: impl FnOnce(&mut dyn Read) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (read, _) = self.read_held(app, effort, parse).await?;
        Ok(read)
    }

    /// Reads the body and returns the permit, if one was taken. Hold it as long as the result.
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
        let headers = &self.parts.headers;
        let is_too_long = !headers.contains_key(header::CONTENT_ENCODING)
            && body::declared_length(headers).is_some_and(|bytes| bytes > TRIED_BYTES_MAX as u64);
        let mended_under = self.mended_under.filter(|_| !is_too_long);
        let kept = mended_under.as_ref().map(|_| KeptBody::default());
        let keeping = kept.clone();
        let parse = move |reader: &mut dyn Read| match keeping {
            Some(keeping) => keeping.parse(reader, parse),
            None => parse(reader),
        };
        let parse = move |reader: &mut dyn Read| {
            let Some(digest) = digest else {
                return parse(reader);
            };
            let mut reader = digest.over(reader);
            let parsed = parse(&mut reader)?;
            // The parser may stop early, but the digest covers the whole body.
            io::copy(&mut reader, &mut io::sink()).map_err(FormatError::from)?;
            Ok(parsed)
        };
        let how = (effort, Content::of(Some(self.format)));
        let read = body::read(app, &self.parts, self.body, &self.limits, how, parse).await;
        let whole = kept.and_then(|kept| kept.whole());
        match (read, mended_under, whole) {
            (Err(problem), Some(options), Some(whole)) if problem.has_repairs() => {
                // Readings are work of the pool. While it is taken, the first fault must do.
                let Ok(permit) = app.permits.uploads.try_take(&body::owner(&self.parts)?) else {
                    return Err(problem);
                };
                let (format, untried) = (self.format, problem.clone());
                let mend = move || Ok((mended(problem, &whole, format, &options), permit));
                let mended = body::make_examples(app, mend).await;
                Err(mended.map_or(untried, |((mended, _), _)| mended))
            }
            (read, _, _) => read,
        }
    }
}

/// Reads a body that is one JSON document.
///
/// # Errors
/// Errors in the body.
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

/// A binary body.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "a shape: the body is read as a stream")]
pub struct Octets(Vec<u8>);
