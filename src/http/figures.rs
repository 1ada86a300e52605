//! `POST /v1/figures`: a figure that the client describes, as a picture.
//!
//! Clients without a library for pictures, such as the console, get theirs from here, so all pictures of the project
//! look alike. The kinds of figures and their limits are in [`halfspace_core::figures`].

use std::io::{self, Read};

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::IntoResponse;
use bytes::Bytes;
use halfspace_core::figures::{Drawing, DrawingError};
use halfspace_core::memory;
use halfspace_formats::{ParseLimits, json};

use crate::http::app_state::App;
use crate::http::document::declared::{ANSWERED, BODY, problems};
use crate::http::extract::body::{Effort, RequestMemory};
use crate::http::extract::data_body::DataBody;
use crate::http::extract::{Caller, NoQuery};
use crate::http::problem::{Code, FieldError, Problem};

/// Draws a figure.
///
/// The body describes a chart, bars or heat maps. The result of an experiment is a chart, which you can
/// send as it is or with another title. Equal figures give equal bytes. Neither the body nor the picture
/// may take more than `answer_bytes_max` bytes.
#[utoipa::path(post, path = "/v1/figures", tag = "experiments", request_body = Drawing,
    responses((status = 200, description = "The picture", body = String, content_type = "image/svg+xml")),
    extensions(("x-problems" = json!(problems(&[BODY, ANSWERED])))))]
pub async fn draw_figure(
    State(app): State<App>,
    _: Caller,
    _: NoQuery,
    request: Request,
) -> Result<impl IntoResponse, Problem> {
    let mut body = DataBody::json(&app, request)?;
    body.limits.body_bytes_max = app.limits.answer_bytes_max;
    body.limits.body_limit_name = "answer_bytes_max";
    let limits = body.limits.clone();
    let memory = RequestMemory::of(&body.parts);
    let drawing = move |reader: &mut dyn Read| drawn(&mut Asking(reader), &limits);
    let text = body.read(&app, Effort::Unknown, drawing).await?;
    let picture = Bytes::from_owner(HeldPicture {
        text,
        _memory: memory,
    });
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], picture))
}

fn drawn(reader: &mut dyn Read, limits: &ParseLimits) -> Result<String, Problem> {
    let drawing: Drawing = json::from_reader(reader, limits)?;
    let bytes_max = usize::try_from(limits.body_bytes_max).unwrap_or(usize::MAX);
    drawing.to_svg(bytes_max).map_err(|error| match error {
        DrawingError::Refused { place, reason } if place.is_empty() => {
            Problem::at(Code::SCHEMA, FieldError::at_pointer(place, reason))
        }
        DrawingError::Refused { place, reason } => {
            let pointer = format!("/{place}");
            Problem::at(Code::OUT_OF_RANGE, FieldError::at_pointer(pointer, reason))
        }
        DrawingError::TooLong { bytes_max } => {
            let detail = format!(
                "The picture takes more bytes than answer_bytes_max: {bytes_max}. Describe fewer points, or shorten \
                 the title, labels and notes."
            );
            Problem::new(Code::ANSWER_TOO_LONG, detail)
        }
        DrawingError::NoMemory(full) => full.into(),
    })
}

/// Asks for memory before each piece of the body, because the parsed figure, whose lists double, takes several times
/// the bytes of its text.
struct Asking<'a>(&'a mut dyn Read);

impl Read for Asking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        memory::need_to_double().map_err(io::Error::other)?;
        self.0.read(buffer)
    }
}

/// A picture whose memory is held until it is sent, because a client may read slowly.
struct HeldPicture {
    text: String,
    _memory: RequestMemory,
}

impl AsRef<[u8]> for HeldPicture {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}
