//! `POST /v1/figures`: a figure that the client describes, as a picture.
//!
//! Clients without a library for pictures, such as the console, get theirs from here, so all pictures of the project
//! look alike. The kinds of figures and their limits are in [`halfspace_core::figures`].

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::IntoResponse;
use halfspace_core::figures::Drawing;

use crate::http::app_state::App;
use crate::http::computing::compute_figure;
use crate::http::document::declared::{BODY, COMPUTED, problems};
use crate::http::extract::data_body::read_json;
use crate::http::extract::{Caller, NoQuery};
use crate::http::problem::{Code, FieldError, Problem};

/// Draws a figure.
///
/// The body describes a chart, bars or heat maps. The result of an experiment is a chart, which you can
/// send as it is or with another title. Equal figures give equal bytes.
#[utoipa::path(post, path = "/v1/figures", tag = "experiments", request_body = Drawing,
    responses((status = 200, description = "The picture", body = String, content_type = "image/svg+xml")),
    extensions(("x-problems" = json!(problems(&[BODY, COMPUTED])))))]
pub async fn draw_figure(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    request: Request,
) -> Result<impl IntoResponse, Problem> {
    let drawing: Drawing = read_json(&app, request).await?;
    let svg = compute_figure(&app, &owner, move |_| {
        drawing.to_svg().map_err(|error| {
            let (code, pointer) = match error.place.as_str() {
                "" => (Code::SCHEMA, String::new()),
                place => (Code::OUT_OF_RANGE, format!("/{place}")),
            };
            Problem::at(code, FieldError::at_pointer(pointer, error.reason))
        })
    });
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], svg.await?))
}
