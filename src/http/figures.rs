//! `POST /v1/figures`: a figure that the client describes, as a picture.
//!
//! Clients without a library for pictures, such as the console, get theirs from here, so all pictures of the project
//! look alike. The kinds of figures and their limits are in [`halfspace_core::figures`].

use std::io::Read;

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::IntoResponse;
use halfspace_core::figures::Drawing;
use halfspace_formats::{ParseLimits, json};

use crate::http::app_state::App;
use crate::http::document::declared::{ANSWERED, BODY, problems};
use crate::http::extract::body::Effort;
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
    // The picture may be longer than the body, so the grant of the body covers the drawing too.
    let svg = body.read(&app, Effort::Unknown, move |reader| drawn(reader, &limits));
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], svg.await?))
}

fn drawn(reader: &mut dyn Read, limits: &ParseLimits) -> Result<String, Problem> {
    let drawing: Drawing = json::from_reader(reader, limits)?;
    let svg = drawing.to_svg().map_err(|error| {
        let (code, pointer) = match error.place.as_str() {
            "" => (Code::SCHEMA, String::new()),
            place => (Code::OUT_OF_RANGE, format!("/{place}")),
        };
        Problem::at(code, FieldError::at_pointer(pointer, error.reason))
    })?;
    let (bytes, bytes_max) = (svg.len(), limits.body_bytes_max);
    if bytes as u64 > bytes_max {
        let detail = format!(
            "The picture takes {bytes} bytes, more than answer_bytes_max: {bytes_max}. Describe fewer points."
        );
        return Err(Problem::new(Code::ANSWER_TOO_LONG, detail));
    }
    Ok(svg)
}
