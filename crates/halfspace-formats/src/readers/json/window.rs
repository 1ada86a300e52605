//! The bytes of a document that were read but not yet parsed, shared by the JSON parser and the reader of a tensor.
//!
//! The parser takes one byte at a time. Between two elements of a list, the reader of a tensor may take whole
//! elements from the window, which the parser then never sees. The window keeps count, so that it knows the true
//! place of the next byte.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

use memchr::{memchr_iter, memrchr};

use crate::readers::json::depth::DepthCounter;

/// A window that both sides hold.
pub(crate) type SharedWindow = Rc<RefCell<Window>>;

/// Bytes of a document, and the place of the parser.
#[derive(Default)]
pub(crate) struct Window {
    buffer: Vec<u8>,
    /// The bytes that nobody took yet are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// The last byte that the parser took.
    last: u8,
    /// The line of the parser, from 1, and its bytes in the line.
    line: u64,
    column: u64,
    /// Line feeds that the parser did not see, and bytes that it did not see in its line `hidden_line`. The number of
    /// bytes is negative if the parser's line is longer than the line of the document. It must outlive its line,
    /// because after an error the parser takes further bytes, perhaps line feeds.
    lines_hidden: u64,
    columns_hidden: i64,
    hidden_line: u64,
    /// Elements of the innermost list that the parser did not see.
    pub(crate) elements_hidden: usize,
}

impl Window {
    /// Makes a window that holds at most `bytes` bytes.
    pub(crate) fn shared(bytes: usize) -> SharedWindow {
        Rc::new(RefCell::new(Self {
            buffer: vec![0; bytes],
            line: 1,
            ..Self::default()
        }))
    }

    /// The bytes that nobody took yet.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The last byte that the parser took.
    pub(crate) fn last(&self) -> u8 {
        self.last
    }

    /// Takes bytes that hold `elements` elements away from the parser. `has_lines` tells whether there may be line
    /// feeds between the elements.
    pub(crate) fn hide(&mut self, bytes: usize, elements: usize, has_lines: bool) {
        if self.hidden_line != self.line {
            (self.hidden_line, self.columns_hidden) = (self.line, 0);
        }
        let hidden = &self.buffer[self.start..self.start + bytes];
        match has_lines.then(|| memrchr(b'\n', hidden)).flatten() {
            Some(last) => {
                self.lines_hidden += memchr_iter(b'\n', hidden).count() as u64;
                self.columns_hidden = (bytes - last - 1) as i64 - self.column as i64;
            }
            None => self.columns_hidden += bytes as i64,
        }
        self.start += bytes;
        self.elements_hidden += elements;
    }

    /// Converts a line and column of the parser, after the last hidden byte, to those of the document.
    pub(crate) fn place(&self, line: u64, column: u64) -> (u64, u64) {
        let column = match line == self.hidden_line {
            true => column.saturating_add_signed(self.columns_hidden),
            false => column,
        };
        (line + self.lines_hidden, column)
    }

    fn take(&mut self) -> Option<u8> {
        let byte = *self.pending().first()?;
        self.start += 1;
        self.last = byte;
        self.column += 1;
        if byte == b'\n' {
            self.line += 1;
            self.column = 0;
        }
        Some(byte)
    }
}

/// Passes the bytes of a window to the parser, and fills the window from the source. The read fails where the nesting
/// becomes too deep. Elements that the parser does not see cannot nest.
pub(crate) struct WindowReader<R> {
    reader: R,
    window: SharedWindow,
    depth: DepthCounter,
}

impl<R: Read> WindowReader<R> {
    pub(crate) fn new(reader: R, window: SharedWindow, depth_max: usize) -> Self {
        let depth = DepthCounter::new(depth_max);
        Self {
            reader,
            window,
            depth,
        }
    }
}

impl<R: Read> Read for WindowReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let window = &mut *self.window.borrow_mut();
        if window.start == window.end {
            window.start = 0;
            window.end = 0;
            window.end = self.reader.read(&mut window.buffer)?;
        }
        // The parser asks for one byte at a time.
        match (buffer.first_mut(), window.take()) {
            (Some(to), Some(byte)) => {
                *to = byte;
                if self.depth.excess(&[byte]).is_some() {
                    let (line, column) = window.place(window.line, window.column);
                    return Err(self.depth.refusal(line, column));
                }
                Ok(1)
            }
            _ => Ok(0),
        }
    }
}
