//! The pages of a chunk, read and checked before the crate `parquet` decodes their values.
//!
//! The page reader of the crate reserves the size that a header claims, and its decoders panic on some damaged pages.
//! Here a page counts against the limits of a body and the memory grant before a byte of it is reserved, and the crate
//! gets only pages that it can decode or refuse:
//!
//! - A dictionary has as many values as its bytes can hold, and a page refers to a dictionary only if there is one.
//! - The levels of a page, which mark missing values, are within the page.
//! - Byte arrays are replaced by their numbers (`texts`).

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use halfspace_core::memory;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;

use super::codec::Codec;
use super::delta;
use super::footer::Chunk;
use super::page_header::{Levels, PageHeader, PageKind};
use super::schema::{Meaning, Physical, Stored};
use super::texts::{Form, SharedTexts, Texts};
use super::thrift::ThriftError;
use crate::error::{Fault, FormatError, FormatErrorKind};
use crate::readers::expansion::Expansion;
use crate::readers::kept_body::KeptBody;

/// Bytes that are read for a header at first, and at most. Old programs put the longest values into a header.
const HEADER_BYTES: u64 = 512;
const HEADER_BYTES_MAX: u64 = 16 << 20;

/// The file while its columns are read.
pub(super) struct OpenFile {
    pub(super) body: KeptBody,
    /// The place of the footer, which ends the data.
    pub(super) end: u64,
    /// The decompressed bytes of all pages.
    pub(super) inflated: Expansion,
}

/// The file, which all columns read.
#[derive(Clone)]
pub(super) struct SharedFile(Arc<Mutex<OpenFile>>);

impl SharedFile {
    pub(super) fn new(file: OpenFile) -> Self {
        Self(Arc::new(Mutex::new(file)))
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut OpenFile) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The pages of a chunk.
pub(super) struct Pages {
    file: SharedFile,
    codec: Codec,
    stored: Stored,
    /// The values of byte arrays.
    texts: Option<SharedTexts>,
    place: u64,
    /// Values in the pages that were not read.
    values_left: u64,
    has_dictionary: bool,
    /// Whether a page of data was read, which no dictionary may follow.
    is_begun: bool,
}

/// A page of data, whose levels end where its values begin.
struct Section {
    content: Bytes,
    levels: usize,
    values: usize,
    are_runs: bool,
}

fn damaged(what: &str) -> Fault {
    let detail = format!("A page of the Parquet file is damaged: {what}.");
    Fault::new(FormatErrorKind::Syntax, detail)
}

/// Wraps an error, so that it passes through the crate.
fn wrapped(error: FormatError) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// The error that passed through the crate, or the fault of a page that the crate cannot decode.
pub(super) fn unwrapped(error: ParquetError) -> FormatError {
    match error {
        ParquetError::External(error) => match error.downcast::<FormatError>() {
            Ok(error) => *error,
            Err(error) => damaged(&error.to_string()).into(),
        },
        ParquetError::General(reason) | ParquetError::EOF(reason) => damaged(&reason).into(),
        error => damaged(&error.to_string()).into(),
    }
}

impl Pages {
    pub(super) fn new(
        file: SharedFile,
        stored: Stored,
        chunk: Chunk,
        texts: Option<SharedTexts>,
    ) -> Self {
        Self {
            file,
            codec: chunk.codec,
            stored,
            texts,
            place: chunk.place,
            values_left: chunk.values,
            has_dictionary: false,
            is_begun: false,
        }
    }

    fn next_page(&mut self) -> Result<Option<Page>, FormatError> {
        while self.values_left > 0 {
            let header = self.read_header()?;
            let is_read = match header.kind {
                PageKind::Data => header.values > 0,
                PageKind::Dictionary => true,
                PageKind::Other => false,
            };
            if !is_read {
                self.place += u64::from(header.compressed_size);
                continue;
            }
            let content = self.read_content(&header)?;
            let page = match header.kind {
                PageKind::Dictionary => self.dictionary(&header, content)?,
                _ => self.data(&header, content)?,
            };
            memory::check()?;
            return Ok(Some(page));
        }
        Ok(None)
    }

    /// Reads the header of the next page, and moves to its content.
    fn read_header(&mut self) -> Result<PageHeader, FormatError> {
        let mut window = HEADER_BYTES;
        loop {
            let read = self.file.with(|file| {
                let bytes = window.min(file.end.saturating_sub(self.place));
                file.body.read_up_to(self.place, bytes)
            })?;
            let is_cut = read.len() as u64 == window && window < HEADER_BYTES_MAX;
            match PageHeader::read(&read) {
                Ok((header, length)) => {
                    self.place += length as u64;
                    return Ok(header);
                }
                Err(ThriftError::End) if is_cut => window *= 32,
                Err(error) => return Err(error.fault("header of a page").into()),
            }
        }
    }

    /// Reads and decompresses the content of a page, once its sizes have been counted.
    fn read_content(&mut self, header: &PageHeader) -> Result<Bytes, FormatError> {
        let (size, compressed_size) = (u64::from(header.size), u64::from(header.compressed_size));
        let read = self.file.with(|file| {
            if compressed_size > file.end.saturating_sub(self.place) {
                let detail = "A page of the Parquet file is truncated.";
                return Err(Fault::new(FormatErrorKind::Truncated, detail).into());
            }
            file.inflated.add(size)?;
            memory::need(size + compressed_size)?;
            file.body.read_up_to(self.place, compressed_size)
        })?;
        self.place += compressed_size;
        let is_same = |sum| checksum(&read) == sum;
        if !header.checksum.is_none_or(is_same) {
            return Err(damaged("its checksum differs").into());
        }
        let (plain, is_compressed) = match header.levels {
            Levels::Before {
                repetition,
                definition,
                is_compressed,
            } => (repetition as usize + definition as usize, is_compressed),
            Levels::Runs | Levels::Bits => (0, true),
        };
        if self.codec == Codec::Uncompressed || !is_compressed {
            return Ok(read.into());
        }
        let mut content = vec![0; header.size as usize];
        let parts = read.split_at_checked(plain);
        let ((levels, compressed), (levels_to, values_to)) = parts
            .zip(content.split_at_mut_checked(plain))
            .ok_or_else(|| damaged("its levels are longer than the page"))?;
        levels_to.copy_from_slice(levels);
        // A page of missing values may have no bytes after its levels.
        if !values_to.is_empty() {
            self.codec.decompress(compressed, values_to)?;
        }
        Ok(content.into())
    }

    fn dictionary(&mut self, header: &PageHeader, content: Bytes) -> Result<Page, FormatError> {
        let encoding = header.encoding()?;
        let is_plain = matches!(encoding, Encoding::PLAIN | Encoding::RLE_DICTIONARY);
        let values = header.values as usize;
        let bytes = match self.stored.physical {
            Physical::Int32 | Physical::Float => values.checked_mul(4),
            Physical::Int64 | Physical::Double => values.checked_mul(8),
            Physical::Int96 => values.checked_mul(12),
            Physical::Bytes => values.checked_mul(4),
            Physical::Fixed(length) => values.checked_mul(length),
            Physical::Boolean => None,
        };
        let is_whole = bytes.is_some_and(|bytes| bytes <= content.len());
        if !is_plain || !is_whole || self.has_dictionary || self.is_begun {
            return Err(damaged("its dictionary is wrong").into());
        }
        self.has_dictionary = true;
        memory::need(content.len() as u64)?;
        let buf = match &self.texts {
            None => content,
            Some(texts) => {
                let read = self.decode(Encoding::PLAIN, content, values)?;
                if read.len() != values {
                    return Err(damaged("its dictionary has fewer values than it states").into());
                }
                texts.add(read, true)?.into()
            }
        };
        Ok(Page::DictionaryPage {
            buf,
            num_values: header.values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        })
    }

    /// Decodes byte arrays.
    fn decode(&self, encoding: Encoding, data: Bytes, most: usize) -> Result<Texts, Fault> {
        let form = Form {
            length: match self.stored.physical {
                Physical::Fixed(length) => Some(length),
                _ => None,
            },
            is_text: self.stored.meaning == Meaning::Plain,
        };
        let mut count = |bytes| self.file.with(|file| file.inflated.add(bytes));
        form.decode(encoding, data, most, &mut count)
    }

    fn data(&mut self, header: &PageHeader, content: Bytes) -> Result<Page, FormatError> {
        let values = u64::from(header.values);
        let Some(left) = self.values_left.checked_sub(values) else {
            return Err(damaged("it has more values than its column").into());
        };
        self.values_left = left;
        self.is_begun = true;
        let mut encoding = header.encoding()?;
        let mut section = self.section(header, content)?;
        let data = section.content.slice(section.values..);
        let mut missing = 0;
        match (encoding, &self.texts) {
            // If all values are missing, there may be no dictionary and no numbers.
            (Encoding::RLE_DICTIONARY, _) if data.is_empty() || !self.has_dictionary => {
                encoding = section.without_values();
            }
            (Encoding::RLE_DICTIONARY, _) => {}
            (_, Some(texts)) => {
                let read = self.decode(encoding, data, header.values as usize)?;
                section.replace(&texts.add(read, false)?);
                encoding = Encoding::PLAIN;
            }
            (Encoding::DELTA_BINARY_PACKED, None) => match delta::claimed(&data) {
                _ if data.is_empty() => encoding = section.without_values(),
                Some(0) => encoding = section.without_values(),
                Some(claimed) if claimed <= values => {}
                _ => return Err(delta::damaged().into()),
            },
            (Encoding::BYTE_STREAM_SPLIT, None) => {
                let length = match self.stored.physical {
                    Physical::Int64 | Physical::Double => 8,
                    _ => 4,
                };
                let stated = (data.len() / length) as u64;
                // The crate takes the number of values from the number of missing ones.
                let fewer = values.checked_sub(stated);
                missing = fewer.ok_or_else(|| damaged("it has more values than it states"))?;
            }
            _ => {}
        }
        Ok(section.page(header.values, missing as u32, encoding))
    }

    /// Finds the levels and the values of a page.
    fn section(&self, header: &PageHeader, content: Bytes) -> Result<Section, Fault> {
        let optional = self.stored.is_optional;
        let (levels, values) = match header.levels {
            Levels::Before {
                repetition,
                definition,
                ..
            } => {
                let (repetition, definition) = (repetition as usize, definition as usize);
                let values = repetition + definition;
                (if optional { repetition } else { values }, values)
            }
            Levels::Runs | Levels::Bits if !optional => (0, 0),
            Levels::Runs => {
                let length = content.first_chunk().copied().map(u32::from_le_bytes);
                (
                    4,
                    4 + length.map_or(usize::MAX >> 1, |length| length as usize),
                )
            }
            Levels::Bits => (0, (header.values as usize).div_ceil(8)),
        };
        if values > content.len() {
            return Err(damaged("its levels are longer than the page"));
        }
        Ok(Section {
            content,
            levels,
            values,
            are_runs: header.levels != Levels::Bits || !optional,
        })
    }
}

impl Section {
    /// Drops the values, and returns the encoding of no values.
    fn without_values(&mut self) -> Encoding {
        self.content.truncate(self.values);
        Encoding::PLAIN
    }

    /// Puts other values in the place of these.
    fn replace(&mut self, values: &[u8]) {
        let levels = &self.content[self.levels..self.values];
        self.values = levels.len();
        self.levels = 0;
        self.content = [levels, values].concat().into();
    }

    fn page(self, num_values: u32, num_nulls: u32, encoding: Encoding) -> Page {
        let buf = self.content.slice(self.levels..);
        match self.are_runs {
            true => Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                num_rows: num_values,
                def_levels_byte_len: (self.values - self.levels) as u32,
                rep_levels_byte_len: 0,
                is_compressed: false,
                statistics: None,
            },
            #[expect(deprecated, reason = "old programs write it")]
            false => Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding: Encoding::BIT_PACKED,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            },
        }
    }
}

/// The checksum of gzip, which Parquet uses.
fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, bytes) as u32
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        self.next_page().map_err(wrapped)
    }

    // Only a reader that skips rows calls these two.
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        Err(ParquetError::NYI("pages are read in order".to_owned()))
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        Err(ParquetError::NYI("pages are read in order".to_owned()))
    }
}
