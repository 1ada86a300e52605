//! `multipart/form-data`: turns a form with a file into the request whose body is that file.
//!
//! The fields before the file become query parameters, and the file's type or name becomes the Content-Type, so that
//! handlers, idempotency keys and limits see one kind of request only. A fingerprint covers the fields and the bytes
//! of the file, but not the boundary.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::uri::{PathAndQuery, Uri};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use form_urlencoded::Serializer;
use futures_util::{Stream, stream};
use halfspace_formats::{Charset, Format};
use multer::{Field, Multipart};
use tokio::time::timeout;

use crate::http::extract::body::WINDOW;
use crate::http::problem::{Code, Problem};

/// Longest headers of one part.
const PART_HEADERS_BYTES_MAX: u64 = 8 << 10;

/// Bytes of the form before the file: its fields and their headers.
const FIELDS_BYTES_MAX: u64 = 64 << 10;

/// Types that clients give to files of any format. curl and browsers guess from the name of the file, and browsers on
/// Windows take the type of a spreadsheet for CSV.
const ANY_FILE: [&str; 3] = [
    "application/octet-stream",
    "text/plain",
    "application/vnd.ms-excel",
];

/// Passes a form on as the request whose body is the file of the form. Other requests pass unchanged.
///
/// # Errors
/// A form that is malformed, slow or compressed. A form without exactly one file after the fields.
pub async fn unfold(request: Request, next: Next) -> Result<Response, Problem> {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if request.method() != Method::POST || !essence.eq_ignore_ascii_case("multipart/form-data") {
        return Ok(next.run(request).await);
    }
    let boundary = multer::parse_boundary(content_type).map_err(malformed)?;
    let Ok(unfolded) = timeout(WINDOW, unfolded(request, boundary)).await else {
        let detail = format!(
            "The file of the form did not begin within {} seconds; send fewer fields, or send them faster.",
            WINDOW.as_secs()
        );
        return Err(Problem::new(Code::TIMEOUT, detail));
    };
    Ok(next.run(unfolded?).await)
}

async fn unfolded(request: Request, boundary: String) -> Result<Request, Problem> {
    let (mut parts, body) = request.into_parts();
    if parts.headers.contains_key(header::CONTENT_ENCODING) {
        let detail = "A form cannot be compressed. Compress the file inside it under a name that ends in .gz or .zst, \
                      or send the compressed file as the body.";
        return Err(Problem::parameter(
            Code::UNSUPPORTED_MEDIA_TYPE,
            "Content-Encoding",
            detail,
        ));
    }
    let room = Room(Arc::new(AtomicU64::new(FIELDS_BYTES_MAX)));
    let frames = Frames {
        frames: body.into_data_stream(),
        room: room.clone(),
    };
    let mut form = Multipart::new(frames, boundary);
    let mut fields = Vec::new();
    let file = loop {
        let field = form.next_field().await.map_err(malformed)?;
        let field = field.ok_or_else(|| {
            wrong("The form has no file. Add one, as in `curl -F file=@data.csv`.")
        })?;
        let name = checked_name(&field)?;
        if is_file(&field) {
            break field;
        }
        let text = field.bytes().await.map_err(malformed)?;
        let text = str::from_utf8(&text).map_err(|_| {
            wrong(format!(
                "The field `{name}` is not UTF-8; convert its text to UTF-8."
            ))
        })?;
        fields.push((name, text.to_owned()));
    };
    let (content_type, coding) = content_type(&file)?;
    parts.headers.insert(header::CONTENT_TYPE, content_type);
    if let Some(coding) = coding {
        let coding = HeaderValue::from_static(coding);
        parts.headers.insert(header::CONTENT_ENCODING, coding);
    }
    // The length of the form is not the length of the file.
    parts.headers.remove(header::CONTENT_LENGTH);
    add_to_query(&mut parts, &fields)?;
    room.0.store(u64::MAX, Ordering::Relaxed);
    Ok(Request::from_parts(
        parts,
        Body::from_stream(only_file(form, file, room)),
    ))
}

/// The bytes of the file. Anything after the file but the end of the form is an error.
fn only_file(
    form: Multipart<'static>,
    file: Field<'static>,
    room: Room,
) -> impl Stream<Item = Result<Bytes, Problem>> {
    stream::try_unfold((form, Some(file)), move |(mut form, file)| {
        let room = room.clone();
        async move {
            let Some(mut file) = file else {
                return Ok(None);
            };
            if let Some(chunk) = file.chunk().await.map_err(malformed)? {
                return Ok(Some((chunk, (form, Some(file)))));
            }
            drop(file);
            room.0.store(PART_HEADERS_BYTES_MAX, Ordering::Relaxed);
            let Some(after) = form.next_field().await.map_err(malformed)? else {
                return Ok(None);
            };
            let name = checked_name(&after)?;
            Err(match is_file(&after) {
                true => wrong("The form has two files. Send one file per request."),
                false => wrong(format!(
                    "The field `{name}` stands after the file. Put fields before the file, or into the query."
                )),
            })
        }
    })
}

/// Whether a part is the file: a part with a file name, or a part named `file`.
fn is_file(field: &Field) -> bool {
    field.file_name().is_some() || field.name() == Some("file")
}

fn checked_name(field: &Field) -> Result<String, Problem> {
    let headers = field.headers().iter();
    let bytes: usize = headers
        .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len())
        .sum();
    if bytes as u64 > PART_HEADERS_BYTES_MAX {
        return Err(too_long_headers());
    }
    let name = field.name().ok_or_else(|| {
        wrong("A part of the form has no name; name each field, as in `-F labels=class`.")
    })?;
    Ok(name.to_owned())
}

/// Endings of the names of compressed files, and the coding of their bytes.
const COMPRESSED: [(&str, &str); 2] = [(".gz", "gzip"), (".zst", "zstd")];

/// The Content-Type and the Content-Encoding of the file as a body. The name decides if the type says nothing. The type
/// of a compressed file says nothing, because clients state the type of the archive. A charset beside the type counts.
fn content_type(file: &Field) -> Result<(HeaderValue, Option<&'static str>), Problem> {
    let file_name = file.file_name().unwrap_or_default();
    let compressed = COMPRESSED.iter().find_map(|(ending, coding)| {
        let name = file_name.strip_suffix(ending)?;
        Some((name, *coding))
    });
    let (name, coding) = match compressed {
        Some((name, coding)) => (name, Some(coding)),
        None => (file_name, None),
    };

    let given = file.headers().get(header::CONTENT_TYPE);
    let given = given
        .and_then(|value| value.to_str().ok())
        .unwrap_or(ANY_FILE[0]);
    let essence = given.split(';').next().unwrap_or_default().trim();
    let says_nothing = ANY_FILE.iter().any(|any| essence.eq_ignore_ascii_case(any));
    let format = match says_nothing || coding.is_some() {
        true => Format::from_file_name(name),
        false => Format::from_media_type(given),
    };
    let format = format.ok_or_else(|| {
        let (types, names) = (Format::media_types(), Format::file_extensions());
        let instead = Format::instead_of(given).or_else(|| Format::instead_of(name));
        let detail = format!(
            "The file {:?} of the type {given:?} has no known format. Give the part one of the types {}, as in \
             `curl -F 'file=@data;type=text/csv'`, or a file name that ends in .{}.{}",
            file_name,
            types.collect::<Vec<_>>().join(", "),
            names.collect::<Vec<_>>().join(", ."),
            instead.unwrap_or_default()
        );
        Problem::new(Code::UNSUPPORTED_MEDIA_TYPE, detail)
    })?;
    let media_type = format.media_type();
    let own = match Charset::label_in(given) {
        Some(label) => HeaderValue::try_from(format!("{media_type}; charset={label}")),
        None => Ok(HeaderValue::from_static(media_type)),
    };
    let own = own.map_err(|_| {
        wrong(
            "The charset of the file is unreadable; name one, as in `type=text/csv;charset=utf-8`.",
        )
    })?;
    Ok((own, coding))
}

fn add_to_query(parts: &mut Parts, fields: &[(String, String)]) -> Result<(), Problem> {
    if fields.is_empty() {
        return Ok(());
    }
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let query = Serializer::new(query).extend_pairs(fields).finish();
    let mut uri = parts.uri.clone().into_parts();
    let path = format!("{}?{query}", parts.uri.path());
    let long = |_| {
        wrong(
            "The fields of the form are longer than a URL may be; name columns by number to shorten them.",
        )
    };
    uri.path_and_query = Some(PathAndQuery::try_from(path).map_err(long)?);
    parts.uri = Uri::from_parts(uri).map_err(|_| {
        wrong("The fields of the form are no parameters; name them as in `-F labels=class`.")
    })?;
    Ok(())
}

fn wrong(detail: impl Into<String>) -> Problem {
    Problem::new(Code::SCHEMA, detail)
}

fn too_long_headers() -> Problem {
    wrong(format!(
        "The headers of a part are longer than {PART_HEADERS_BYTES_MAX} bytes; shorten the name of the file or field."
    ))
}

/// The problem of a form that `multer` refuses.
fn malformed(error: multer::Error) -> Problem {
    match error {
        multer::Error::StreamReadFailed(error) => Problem::of_body(error),
        error => wrong(format!(
            "The form is malformed: {error}. Send it as `curl -F file=@data.csv` does, or send the file as the body."
        )),
    }
}

/// Bytes that the form may still bring.
#[derive(Clone)]
struct Room(Arc<AtomicU64>);

/// The frames of a form. `multer` holds headers and fields in memory, so the stream ends with an error when they bring
/// more bytes than there is room for.
struct Frames {
    frames: BodyDataStream,
    room: Room,
}

impl Stream for Frames {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let room = self.room.0.load(Ordering::Relaxed);
        if room == 0 {
            let detail = format!(
                "The fields before the file are longer than {FIELDS_BYTES_MAX} bytes, or the headers of a part are \
                 longer than {PART_HEADERS_BYTES_MAX} bytes."
            );
            return Poll::Ready(Some(Err(axum::Error::new(wrong(detail)))));
        }
        let polled = Pin::new(&mut self.frames).poll_next(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let left = match room {
                u64::MAX => room,
                room => room.saturating_sub(frame.len() as u64),
            };
            self.room.0.store(left, Ordering::Relaxed);
        }
        polled
    }
}
