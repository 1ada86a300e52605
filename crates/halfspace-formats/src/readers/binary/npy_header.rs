//! Header of a `.npy` file: the kind of the values and the shape of the array, read and written.
//!
//! A header consists of the magic, a version, a length, and the text of a Python dictionary with exactly the keys
//! `descr`, `fortran_order` and `shape`. Versions 1.0 to 3.0 differ in the size of the length and in the encoding of
//! the text, but for an array of numbers the text is always ASCII. Source: `NumPy`, NEP 1 and `numpy.lib.format`.
//!
//! We do not use `npyz` 0.9, because its errors have no location in the body, and a header that declares 4 GiB makes it
//! allocate them: with a body of 72 bytes the address space of the process grew from 6 MiB to 4.0 GiB.

use std::io::{ErrorKind, Read};

use crate::error::{Fault, FormatError, FormatErrorKind, Place, excerpt};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Bytes of the longest accepted header, far more than an array of numbers needs.
const HEADER_BYTES_MAX: u32 = 0xffff;

/// Content of a header whose array can be read.
pub(crate) struct NpyHeader {
    pub(crate) kind: ValueKind,
    /// Rows of the array.
    pub(crate) rows: u64,
    /// Columns of the array.
    pub(crate) columns: u64,
    /// Byte of the body at which the values begin.
    pub(crate) bytes: u64,
}

/// Kind of the values of an array. Values of more than one byte are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float32,
    Float64,
}

impl ValueKind {
    /// Bytes of one value.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::Int8 | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }

    /// The kind that a dtype such as `<f8` names.
    fn from_dtype(dtype: &str) -> Result<Self, Fault> {
        let (order, name) = match dtype.strip_prefix(['<', '|', '>']) {
            Some(name) => (dtype.as_bytes()[0], name),
            None => (b' ', dtype),
        };
        let kind = match name {
            "b1" => Self::Bool,
            "i1" => Self::Int8,
            "i2" => Self::Int16,
            "i4" => Self::Int32,
            "i8" => Self::Int64,
            "u1" => Self::Uint8,
            "u2" => Self::Uint16,
            "u4" => Self::Uint32,
            "u8" => Self::Uint64,
            "f4" => Self::Float32,
            "f8" => Self::Float64,
            other => return Err(unsupported_dtype(dtype, other)),
        };
        match order {
            b'<' => Ok(kind),
            b'>' if kind.bytes() > 1 => Err(unsupported(format!(
                "The array is big-endian (`{dtype}`); send it as `<{name}`, for example \
                 x.astype('<{name}')."
            ))),
            b'|' | b'>' if kind.bytes() == 1 => Ok(kind),
            _ => Err(unsupported_dtype(dtype, name)),
        }
    }
}

/// The header of an array in C order, version 1.0, which the values follow. `dtype` names their type, such as `<f8`.
pub fn npy_header(dtype: &str, shape: &[usize]) -> Vec<u8> {
    let lengths: Vec<_> = shape.iter().map(usize::to_string).collect();
    // Python reads one number in parentheses as a number, unless a comma follows.
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape = lengths.join(", ");
    let text =
        format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape}{comma}), }}");
    // The magic, the version and the length take 10 bytes. The values begin at a multiple of 64.
    let length = (text.len() + 11).next_multiple_of(64) - 10;
    let text = format!("{text:width$}\n", width = length - 1);
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend((length as u16).to_le_bytes());
    header.extend(text.into_bytes());
    header
}

fn unsupported(detail: String) -> Fault {
    Fault::new(FormatErrorKind::Unsupported, detail)
}

/// Makes the fault of a dtype that is not supported.
fn unsupported_dtype(dtype: &str, name: &str) -> Fault {
    let what = match name.as_bytes().first() {
        Some(b'O') => "Python objects",
        Some(b'c') => "complex numbers",
        Some(b'S' | b'U' | b'a') => "strings",
        Some(b'M' | b'm') => "times",
        Some(b'V') => "records",
        Some(b'f') => "floats of another size",
        _ => "values of another type",
    };
    let shown = excerpt(dtype.as_bytes());
    unsupported(format!(
        "The array holds {what} (dtype {shown}); send bool, int8 to int64, uint8 to uint64, float32 \
         or float64."
    ))
}

/// Reads the header and leaves the reader at the first value.
///
/// # Errors
/// When the body is no such file or its array is not supported, with the byte of the fault.
pub(crate) fn read(reader: &mut dyn Read) -> Result<NpyHeader, FormatError> {
    let mut begin = [0; 8];
    read_exact(reader, &mut begin, 0)?;
    let at_byte = |fault: Fault, offset: usize| fault.placed(Some(Place::Byte(offset as u64)));
    if &begin[..6] != MAGIC {
        let detail = "The body is not an .npy file: its first bytes are not \\x93NUMPY.";
        return Err(at_byte(Fault::new(FormatErrorKind::Syntax, detail), 0));
    }
    let length_bytes = match (begin[6], begin[7]) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        (major, minor) => {
            let detail = format!(
                "The file has the version {major}.{minor}; the supported versions are 1.0, 2.0 and \
                 3.0."
            );
            return Err(at_byte(unsupported(detail), 6));
        }
    };
    let mut length = [0; 4];
    read_exact(reader, &mut length[..length_bytes], 8)?;
    let length = u32::from_le_bytes(length);
    if length > HEADER_BYTES_MAX {
        let detail = format!(
            "The header has {length} bytes; the header of an array of numbers is shorter than 64 \
             KiB."
        );
        return Err(at_byte(Fault::new(FormatErrorKind::Syntax, detail), 8));
    }
    let text_begins = 8 + length_bytes;
    let mut text = vec![0; length as usize];
    read_exact(reader, &mut text, text_begins)?;
    let array = Dictionary::read(&text);
    let array = array.map_err(|(offset, fault)| at_byte(fault, text_begins + offset))?;
    let [rows, columns] = array.shape;
    Ok(NpyHeader {
        kind: array.kind,
        rows,
        columns,
        bytes: (text_begins + text.len()) as u64,
    })
}

/// Fills the buffer. `offset` is the position in the body of the first byte to read.
fn read_exact(reader: &mut dyn Read, buffer: &mut [u8], offset: usize) -> Result<(), FormatError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => {
                let detail = "The body ends inside the header of a .npy file.";
                let fault = Fault::new(FormatErrorKind::Truncated, detail);
                return Err(fault.placed(Some(Place::Byte((offset + filled) as u64))));
            }
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A fault and its byte in the dictionary's text, from 0.
type Misplaced = (usize, Fault);

/// The array that the dictionary describes.
struct Dictionary {
    kind: ValueKind,
    shape: [u64; 2],
}

impl Dictionary {
    fn read(text: &[u8]) -> Result<Self, Misplaced> {
        let mut parser = Parser { text, at: 0 };
        let (mut kind, mut order, mut shape) = (None, None, None);
        parser.expect(b'{')?;
        while !parser.take(b'}') {
            let start = parser.start();
            let key = parser.string()?;
            parser.expect(b':')?;
            let is_new = match key {
                "descr" => kind.replace(parser.dtype()?).is_none(),
                "fortran_order" => order.replace(parser.c_order()?).is_none(),
                "shape" => shape.replace(parser.two_dimensions()?).is_none(),
                _ => false,
            };
            if !is_new {
                let shown = excerpt(key.as_bytes());
                let detail = format!(
                    "The header has the unexpected key {shown}; the keys are descr, fortran_order \
                     and shape."
                );
                return Err((start, Fault::new(FormatErrorKind::Syntax, detail)));
            }
            if !parser.take(b',') {
                parser.expect(b'}')?;
                break;
            }
        }
        let end = parser.start();
        if end < text.len() {
            return Err(parser.unexpected("nothing"));
        }
        match (kind, order, shape) {
            (Some(kind), Some(()), Some(shape)) => Ok(Self { kind, shape }),
            _ => {
                let detail = "The header lacks one of descr, fortran_order and shape.";
                Err((end, Fault::new(FormatErrorKind::Syntax, detail)))
            }
        }
    }
}

/// Parser of the few kinds of Python literals in such a dictionary.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    /// Skips white space and returns the position of the next token.
    fn start(&mut self) -> usize {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.at
    }

    fn take(&mut self, byte: u8) -> bool {
        let start = self.start();
        let is_next = self.text.get(start) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Result<(), Misplaced> {
        if self.take(byte) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{}`", char::from(byte))))
    }

    fn unexpected(&mut self, expected: &str) -> Misplaced {
        let start = self.start();
        let found = match &self.text[start..] {
            [] => "it ends".to_owned(),
            rest => format!("{} stands", excerpt(rest)),
        };
        let detail = format!("Where the header needs {expected}, {found}.");
        (start, Fault::new(FormatErrorKind::Syntax, detail))
    }

    /// Reads a quoted text without escapes.
    fn string(&mut self) -> Result<&'a str, Misplaced> {
        let start = self.start();
        let rest = &self.text[start..];
        let read = match rest.split_first() {
            Some((quote @ (b'\'' | b'"'), inner)) => {
                let end = inner.iter().position(|byte| byte == quote);
                end.and_then(|end| std::str::from_utf8(&inner[..end]).ok())
            }
            _ => None,
        };
        let read = read.ok_or_else(|| self.unexpected("a string"))?;
        self.at = start + read.len() + 2;
        Ok(read)
    }

    fn dtype(&mut self) -> Result<ValueKind, Misplaced> {
        let start = self.start();
        if self.text.get(start) == Some(&b'[') {
            let detail = "The array is structured; send a plain array of numbers.".to_owned();
            return Err((start, unsupported(detail)));
        }
        let dtype = self.string()?;
        ValueKind::from_dtype(dtype).map_err(|fault| (start, fault))
    }

    /// Reads the order of the array, which must be row by row.
    fn c_order(&mut self) -> Result<(), Misplaced> {
        let start = self.start();
        let rest = &self.text[start..];
        if rest.starts_with(b"False") {
            self.at = start + 5;
            return Ok(());
        }
        if rest.starts_with(b"True") {
            let detail = "The array is in Fortran order; send it in C order, for example \
                          numpy.ascontiguousarray(x).";
            return Err((start, unsupported(detail.to_owned())));
        }
        Err(self.unexpected("True or False"))
    }

    /// Reads a shape, which must have two dimensions.
    fn two_dimensions(&mut self) -> Result<[u64; 2], Misplaced> {
        let start = self.start();
        self.expect(b'(')?;
        let (mut shape, mut dimensions) = ([0; 2], 0_usize);
        while !self.take(b')') {
            let length = self.number()?;
            if let Some(place) = shape.get_mut(dimensions) {
                *place = length;
            }
            dimensions += 1;
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        if dimensions == 2 {
            return Ok(shape);
        }
        let detail = format!(
            "The array has {dimensions} dimensions; send two, with one row per example, for \
             example x.reshape(rows, -1)."
        );
        Err((start, unsupported(detail)))
    }

    fn number(&mut self) -> Result<u64, Misplaced> {
        let start = self.start();
        let rest = &self.text[start..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&rest[..digits]).ok();
        let number = number.and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| self.unexpected("a length below 2^64"))?;
        self.at = start + digits;
        Ok(number)
    }
}
