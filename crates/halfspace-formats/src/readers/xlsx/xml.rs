//! XML of a part as a stream of elements, within the limits on depth, tags and texts.
//!
//! Elements are known by their local names, because writers choose the prefixes and there are two sets of namespaces.
//! This module does not know workbooks.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::attributes::Attributes;
use quick_xml::events::{BytesRef, Event};

use super::package::Part;
use crate::error::{Fault, FormatError, FormatErrorKind, excerpt};

/// Deepest nesting of elements.
const DEPTH_MAX: usize = 64;

/// Bytes of the longest tag.
const TAG_BYTES_MAX: usize = 16 << 10;

/// A part of a workbook as XML.
pub(super) struct XmlPart<'p, 'o> {
    reader: Reader<EventSource<Part<'p, 'o>>>,
    buffer: Vec<u8>,
    /// The last start tag without its brackets, and the length of the element's name.
    tag: String,
    name_bytes: usize,
    depth: usize,
    text_bytes_max: usize,
    part_name: String,
}

/// The next thing in a part.
#[derive(PartialEq, Eq)]
enum Step {
    Start,
    End,
    Text,
}

impl<'p, 'o> XmlPart<'p, 'o> {
    /// Starts to read a part, and reads the tag of the root.
    ///
    /// # Errors
    /// When the part is not well-formed or lacks the root `root`.
    pub(super) fn new(part: Part<'p, 'o>, root: &[u8]) -> Result<Self, FormatError> {
        let text_bytes_max = part.limits.line_bytes_max;
        let part_name = part.name.clone();
        let mut reader = Reader::from_reader(EventSource {
            source: BufReader::with_capacity(64 * 1024, part),
            consumed: 0,
            consumed_max: text_bytes_max,
        });
        reader.config_mut().expand_empty_elements = true;
        let mut xml = Self {
            reader,
            buffer: Vec::new(),
            tag: String::new(),
            name_bytes: 0,
            depth: 0,
            text_bytes_max,
            part_name,
        };
        while xml.step(None)? != Step::Start {}
        if xml.name() != root {
            let shown = excerpt(xml.name());
            return Err(xml.wrong(&format!("the root is the element {shown}")));
        }
        Ok(xml)
    }

    /// Moves to the next child of the current element and returns true. After the last child, it moves behind the
    /// element and returns false.
    ///
    /// # Errors
    /// When the part is not well-formed or exceeds a limit.
    pub(super) fn child(&mut self) -> Result<bool, FormatError> {
        loop {
            match self.step(None)? {
                Step::Start => return Ok(true),
                Step::End => return Ok(false),
                Step::Text => {}
            }
        }
    }

    /// Reads the rest of the part after the root, because the checksum of the part is compared only at its end.
    ///
    /// # Errors
    /// When another element follows, or the bytes are damaged.
    pub(super) fn end(&mut self) -> Result<(), FormatError> {
        loop {
            match self.step(None)? {
                Step::Text => {}
                Step::End => return Ok(()),
                Step::Start => return Err(self.wrong("an element follows the root")),
            }
        }
    }

    /// Moves behind the current element.
    ///
    /// # Errors
    /// As for [`Self::child`].
    pub(super) fn skip(&mut self) -> Result<(), FormatError> {
        let depth = self.depth;
        while self.depth >= depth {
            self.step(None)?;
        }
        Ok(())
    }

    /// Appends the text of the current element, without the text of elements inside it, and moves behind the element.
    ///
    /// # Errors
    /// As for [`Self::child`], or when `text` becomes longer than a line.
    pub(super) fn text(&mut self, text: &mut Vec<u8>) -> Result<(), FormatError> {
        loop {
            match self.step(Some(text))? {
                Step::Start => self.skip()?,
                Step::End => return Ok(()),
                Step::Text => {}
            }
        }
    }

    /// The local name of the current element.
    pub(super) fn name(&self) -> &[u8] {
        local(&self.tag.as_bytes()[..self.name_bytes])
    }

    /// The attributes with these names, of the element that was begun last. A name without a prefix matches only
    /// attributes without one. A name that begins with a colon matches attributes with any prefix.
    ///
    /// # Errors
    /// When the attributes are not well-formed.
    pub(super) fn attributes<const N: usize>(
        &self,
        names: [&str; N],
    ) -> Result<[Option<Cow<'_, str>>; N], FormatError> {
        let mut values = [const { None }; N];
        let mut attributes = Attributes::new(&self.tag, self.name_bytes);
        // We do not check for duplicates, because this takes time that is quadratic in the number of attributes.
        for attribute in attributes.with_checks(false) {
            let attribute = attribute.map_err(|error| self.wrong(&error.to_string()))?;
            let key = attribute.key.as_ref();
            let is_named = |name: &&str| match name.strip_prefix(':') {
                Some(name) => key.contains(&b':') && local(key) == name.as_bytes(),
                None => key == name.as_bytes(),
            };
            if let Some(at) = names.iter().position(is_named) {
                let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
                values[at] = Some(value.map_err(|error| self.wrong(&error.to_string()))?);
            }
        }
        Ok(values)
    }

    /// Makes the error of XML that no workbook has.
    pub(super) fn wrong(&self, detail: &str) -> FormatError {
        let detail = format!(
            "The part `{}` of the workbook is wrong before byte {}: {detail}.",
            self.part_name,
            self.reader.buffer_position()
        );
        Fault::new(FormatErrorKind::Syntax, detail).into()
    }

    /// Reads up to the next tag or text, and appends a text to `text`, if given.
    fn step(&mut self, text: Option<&mut Vec<u8>>) -> Result<Step, FormatError> {
        loop {
            self.buffer.clear();
            self.reader.get_mut().consumed = 0;
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event,
                Err(error) => return Err(self.bad_xml(error)),
            };
            let chunk = match event {
                Event::Start(start) => {
                    self.name_bytes = start.name().as_ref().len();
                    self.tag.clear();
                    match str::from_utf8(&start) {
                        Ok(tag) if tag.len() <= TAG_BYTES_MAX => self.tag.push_str(tag),
                        Ok(_) => return Err(self.wrong("a tag is too long")),
                        Err(_) => return Err(self.wrong("a tag is not UTF-8")),
                    }
                    self.depth += 1;
                    if self.depth > DEPTH_MAX {
                        let detail = format!(
                            "The part `{}` of the workbook nests deeper than {DEPTH_MAX} elements.",
                            self.part_name
                        );
                        let kind = FormatErrorKind::TooDeep { limit: DEPTH_MAX };
                        return Err(Fault::new(kind, detail).into());
                    }
                    return Ok(Step::Start);
                }
                Event::End(_) => {
                    self.depth -= 1;
                    return Ok(Step::End);
                }
                Event::Text(chunk) => chunk.xml10_content(),
                Event::CData(chunk) => chunk.xml10_content(),
                Event::GeneralRef(reference) => match character(&reference) {
                    Some(chunk) => Ok(chunk),
                    None => return Err(self.wrong("an entity is not one of XML itself")),
                },
                Event::DocType(_) => {
                    return Err(self.wrong("a document type declaration is not allowed"));
                }
                Event::Eof if self.depth == 0 && self.name_bytes > 0 => return Ok(Step::End),
                Event::Eof => return Err(self.wrong("the part ends too early")),
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
            };
            let Ok(chunk) = chunk else {
                return Err(self.wrong("a text is not UTF-8"));
            };
            if let Some(text) = text {
                if text.len() + chunk.len() > self.text_bytes_max {
                    return Err(too_long(self.text_bytes_max).into());
                }
                text.extend_from_slice(chunk.as_bytes());
            }
            return Ok(Step::Text);
        }
    }

    /// Recovers a fault of the part from an error of the XML reader.
    fn bad_xml(&self, error: quick_xml::Error) -> FormatError {
        match error {
            quick_xml::Error::Io(error) => match Arc::try_unwrap(error) {
                Ok(error) => error.into(),
                Err(error) => self.wrong(&error.to_string()),
            },
            error => self.wrong(&error.to_string()),
        }
    }
}

/// Makes the fault of a text that is longer than a line may be.
pub(super) fn too_long(line_bytes_max: usize) -> Fault {
    let what = "A text or a row of the workbook is too long";
    Fault::too_large(what, "line_bytes_max", line_bytes_max as u64)
}

/// The name without its prefix.
fn local(name: &[u8]) -> &[u8] {
    match memchr::memchr(b':', name) {
        Some(colon) => &name[colon + 1..],
        None => name,
    }
}

/// The text of a character reference or of an entity that XML itself defines.
fn character(reference: &BytesRef<'_>) -> Option<Cow<'static, str>> {
    match reference.resolve_char_ref() {
        Ok(Some(character)) => Some(character.to_string().into()),
        Ok(None) => {
            let name = reference.decode().ok()?;
            resolve_predefined_entity(&name).map(Cow::Borrowed)
        }
        Err(_) => None,
    }
}

/// A source of XML that fails once one tag or text is too long.
struct EventSource<R> {
    source: BufReader<R>,
    /// Bytes of the current tag or text.
    consumed: usize,
    consumed_max: usize,
}

impl<R: Read> Read for EventSource<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer)
    }
}

impl<R: Read> BufRead for EventSource<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed > self.consumed_max {
            return Err(too_long(self.consumed_max).into_io());
        }
        self.source.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.consumed += bytes;
        self.source.consume(bytes);
    }
}
