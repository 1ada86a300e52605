//! What all pictures share: the text of the picture with its limit, the white background with title and description,
//! texts and lines.

use std::fmt::{self, Write};

use crate::memory::{self, NoMemory};

/// Width of a picture, in pixels.
pub const WIDTH: f64 = 960.0;
/// Height of a line of text, in pixels.
pub const LINE: f64 = 18.0;

/// The capacity, in bytes, with which the text of a limited picture begins.
const BYTES_MIN: usize = 4096;

/// The reason why a figure cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrawingError {
    /// A part of the figure has no picture.
    #[error("{reason}")]
    Refused {
        /// Where in the document of the figure the part stands, such as `heat_maps/maps/0/columns`. Empty for the
        /// whole.
        place: String,
        /// The reason.
        reason: String,
    },
    /// The picture would be longer than its limit.
    #[error("the picture takes more than {bytes_max} bytes")]
    TooLong {
        /// The limit.
        bytes_max: usize,
    },
    /// The memory of the work does not suffice for the picture.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
}

impl DrawingError {
    pub(super) fn at(place: impl Into<String>, reason: String) -> Self {
        let place = place.into();
        Self::Refused { place, reason }
    }

    /// The same reason where the figure is a part of this name.
    pub(super) fn below(self, part: &str) -> Self {
        match self {
            Self::Refused { place, reason } => Self::at(format!("{part}/{place}"), reason),
            other => other,
        }
    }
}

/// The outcome of drawing a part of a picture.
pub type Drawn = Result<(), DrawingError>;

/// The text of a picture while it is drawn. All of a picture goes through here piece by piece, escaped texts too, so
/// nothing grows beyond the limit.
#[derive(Debug)]
pub struct Svg {
    text: String,
    bytes_max: Option<usize>,
}

impl Svg {
    /// Draws a picture of at most `bytes_max` bytes in the memory that the grant of the work allows.
    ///
    /// # Errors
    /// Those of `draw`, as soon as the picture is longer or there is no memory for it.
    pub fn within(
        bytes_max: usize,
        draw: impl FnOnce(&mut Self) -> Drawn,
    ) -> Result<String, DrawingError> {
        let (text, bytes_max) = (String::new(), Some(bytes_max));
        let mut svg = Self { text, bytes_max };
        draw(&mut svg)?;
        Ok(svg.text)
    }

    /// Draws a figure that the program itself has made, which needs no limit.
    pub fn unlimited(draw: impl FnOnce(&mut Self) -> Drawn) -> String {
        let (text, bytes_max) = (String::new(), None);
        let mut svg = Self { text, bytes_max };
        draw(&mut svg).expect("only a limit or a foreign figure ends a drawing");
        svg.text
    }

    /// Appends a text as it is.
    pub fn push_str(&mut self, more: &str) -> Drawn {
        let bytes = self.text.len().saturating_add(more.len());
        if let Some(bytes_max) = self.bytes_max {
            if bytes > bytes_max {
                return Err(DrawingError::TooLong { bytes_max });
            }
            if bytes > self.text.capacity() {
                let capacity = bytes.max(2 * self.text.capacity()).max(BYTES_MIN);
                let capacity = capacity.min(bytes_max);
                // Both blocks exist while the text moves.
                memory::need(capacity as u64)?;
                self.text.reserve_exact(capacity - self.text.len());
            }
        }
        self.text.push_str(more);
        Ok(())
    }

    /// Appends a formatted text as it is: `write!` calls this method.
    pub fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> Drawn {
        self.append(text, Self::push_str)
    }

    /// Appends a formatted text, escaped for XML. Control characters become spaces, and U+FFFE and U+FFFF are dropped,
    /// because XML forbids them.
    pub fn escaped(&mut self, text: fmt::Arguments<'_>) -> Drawn {
        self.append(text, Self::push_escaped)
    }

    fn append(&mut self, text: fmt::Arguments<'_>, push: Push) -> Drawn {
        let drawn = Ok(());
        let mut pieces = Pieces {
            svg: self,
            push,
            drawn,
        };
        let written = pieces.write_fmt(text);
        // A number or a text of the project always has a notation, so only the picture itself can end the writing.
        debug_assert_eq!(written.is_err(), pieces.drawn.is_err());
        pieces.drawn
    }

    fn push_escaped(&mut self, text: &str) -> Drawn {
        let mut plain_from = 0;
        for (at, character) in text.char_indices() {
            let safe = match character {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&quot;",
                '\u{fffe}' | '\u{ffff}' => "",
                control if control.is_control() => " ",
                _ => continue,
            };
            self.push_str(&text[plain_from..at])?;
            self.push_str(safe)?;
            plain_from = at + character.len_utf8();
        }
        self.push_str(&text[plain_from..])
    }
}

/// How a piece of a formatted text is appended.
type Push = fn(&mut Svg, &str) -> Drawn;

/// Takes the pieces of a formatted text, and keeps the reason why one was not taken.
struct Pieces<'a> {
    svg: &'a mut Svg,
    push: Push,
    drawn: Drawn,
}

impl Write for Pieces<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.drawn = (self.push)(self.svg, piece);
        self.drawn.as_ref().map_err(|_| fmt::Error).copied()
    }
}

/// The beginning of a picture: title and description for readers who cannot see the picture, and white paper. The
/// description is what `describe` writes.
pub fn begin(
    svg: &mut Svg,
    height: f64,
    title: &str,
    describe: impl FnOnce(&mut Svg) -> Drawn,
) -> Drawn {
    write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-labelledby=\"figure-title figure-description\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#000\">\n\
         <title id=\"figure-title\">"
    )?;
    svg.escaped(format_args!("{title}"))?;
    svg.push_str("</title>\n<desc id=\"figure-description\">")?;
    describe(svg)?;
    writeln!(
        svg,
        "</desc>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>"
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
    pub fn write(&self, svg: &mut Svg, text: impl fmt::Display) -> Drawn {
        let Self { x, y, attributes } = self;
        write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\"{attributes}>")?;
        svg.escaped(format_args!("{text}"))?;
        svg.push_str("</text>\n")
    }
}

/// Draws a line of the grid.
pub fn grid_line(svg: &mut Svg, from: (f64, f64), to: (f64, f64)) -> Drawn {
    line(svg, from, to, " stroke=\"#ddd\"")
}

/// Draws a straight line.
pub fn line(svg: &mut Svg, from: (f64, f64), to: (f64, f64), attributes: &str) -> Drawn {
    writeln!(
        svg,
        "<line x1=\"{:.2}\" y1=\"{:.2}\" x2=\"{:.2}\" y2=\"{:.2}\"{attributes}/>",
        from.0, from.1, to.0, to.1
    )
}
