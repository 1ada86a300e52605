//! What all pictures share: the white background with title and description, texts and lines.

use std::fmt::Write;

/// Width of a picture, in pixels.
pub const WIDTH: f64 = 960.0;
/// Height of a line of text, in pixels.
pub const LINE: f64 = 18.0;

/// The beginning of a picture: title and description for readers who cannot see the picture, and white paper.
pub fn begin(height: f64, title: &str, description: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-labelledby=\"figure-title figure-description\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#000\">\n\
         <title id=\"figure-title\">{}</title>\n<desc id=\"figure-description\">{}</desc>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n",
        escaped(title),
        escaped(description),
    )
}

/// Start and look of a text.
pub struct Text {
    x: f64,
    y: f64,
    attributes: &'static str,
}

impl Text {
    /// A text whose base line begins at this position.
    pub fn new(x: f64, y: f64) -> Self {
        let attributes = "";
        Self { x, y, attributes }
    }

    /// The text with these attributes, which begin with a space.
    pub fn with(self, attributes: &'static str) -> Self {
        Self { attributes, ..self }
    }

    /// Writes the text.
    pub fn write(&self, svg: &mut String, text: &str) {
        let Self { x, y, attributes } = self;
        let text = escaped(text);
        // `writeln!` into a `String` cannot fail.
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\"{attributes}>{text}</text>"
        );
    }
}

/// Escapes a text for XML. Control characters become spaces, and U+FFFE and U+FFFF are dropped, because XML
/// forbids them.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

/// Draws a line of the grid.
pub fn grid_line(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    line(svg, from, to, " stroke=\"#ddd\"");
}

/// Draws a straight line.
pub fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), attributes: &str) {
    let _ = writeln!(
        svg,
        "<line x1=\"{:.2}\" y1=\"{:.2}\" x2=\"{:.2}\" y2=\"{:.2}\"{attributes}/>",
        from.0, from.1, to.0, to.1
    );
}
