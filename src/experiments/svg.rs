//! An outcome as a picture.

use super::outcome::Outcome;

/// A picture of it.
pub fn picture(outcome: &Outcome) -> String {
    let title = outcome.title.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 600\" role=\"img\">\
         <title>{title}</title></svg>\n"
    )
}
