//! The parts of an XLSX file: members of a zip archive, inflated within the limits of a body.
//!
//! The directory of an archive is at its end, so the whole body is kept, in memory or in a temporary file, before the
//! first part is read. This module does not know XML.

use std::io::{self, ErrorKind, Read};

use halfspace_core::memory;
use memchr::memmem;
use zip::ZipArchive;
use zip::read::{ArchiveOffset, Config, ZipFile};
use zip::result::ZipError;

use crate::error::{Fault, FormatError, FormatErrorKind};
use crate::options::ParseLimits;
use crate::readers::expansion::Expansion;
use crate::readers::kept_body::KeptBody;
use crate::stored::spool::OpenSpool;

/// What expands, in errors.
const WHAT: &str = "workbook";

/// Largest number of parts in an archive, and of records in a list inside a part.
pub(super) const RECORDS_MAX: usize = 10_000;

/// Largest number of bytes of the archive's directory.
const DIRECTORY_BYTES_MAX: u64 = 16 << 20;

/// The end of the directory is within this many last bytes of an archive: the record and a comment.
const END_BYTES_MAX: u64 = 22 + u16::MAX as u64;

/// The bytes of the ZIP64 record before the end of the directory.
const END64_BYTES: u64 = 56;
const LOCATOR_BYTES: u64 = 20;

/// First bytes of an OLE container.
const OLE: &[u8] = b"\xd0\xcf\x11\xe0";

/// First bytes of the first member of an archive.
const MEMBER: &[u8] = b"PK\x03\x04";

/// The parts of a workbook.
pub(super) struct Package<'o> {
    archive: ZipArchive<KeptBody>,
    limits: &'o ParseLimits,
    body_bytes: u64,
    /// The inflated bytes of all parts.
    inflated: Expansion,
}

impl<'o> Package<'o> {
    /// Keeps the body and reads the directory of the archive.
    ///
    /// # Errors
    /// When the body is no archive, or the errors of the source.
    pub(super) fn new(
        reader: &mut dyn Read,
        limits: &'o ParseLimits,
        open: Option<(u64, OpenSpool)>,
    ) -> Result<Self, FormatError> {
        let mut body = KeptBody::keep(reader, limits, open)?;
        let body_bytes = body.length();
        check_directory(&mut body)?;
        let config = Config {
            archive_offset: ArchiveOffset::Known(0),
        };
        let archive = ZipArchive::with_config(config, body).map_err(bad_archive)?;
        memory::check()?;
        if archive.has_duplicate_names() {
            let detail = "Two parts of the workbook have one name.";
            return Err(Fault::new(FormatErrorKind::Syntax, detail).into());
        }
        Ok(Self {
            archive,
            limits,
            body_bytes,
            inflated: Expansion::new(WHAT, body_bytes, limits),
        })
    }

    /// Starts to count the bytes to which the whole body expands.
    pub(super) fn expansion(&self) -> Expansion {
        Expansion::new(WHAT, self.body_bytes, self.limits)
    }

    /// Whether the workbook has a part.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Returns a part for reading.
    ///
    /// # Errors
    /// When the part is missing or encrypted.
    pub(super) fn part(&mut self, name: &str) -> Result<Part<'_, 'o>, FormatError> {
        let Some(index) = self.find(name) else {
            let detail = format!("The file has no part `{name}`, which a workbook needs.");
            return Err(Fault::new(FormatErrorKind::Syntax, detail).into());
        };
        let member = self.archive.by_index(index).map_err(bad_archive)?;
        // The size that the member declares may reach beyond the end of the body.
        let compressed = member.compressed_size().min(self.body_bytes);
        Ok(Part {
            member,
            name: name.to_owned(),
            limits: self.limits,
            inflated: Expansion::new(WHAT, compressed, self.limits),
            total: &mut self.inflated,
        })
    }

    /// Finds a part, in any case and with slashes in either direction.
    fn find(&self, name: &str) -> Option<usize> {
        let is_name = |raw: &[u8]| {
            let raw = raw.strip_prefix(b"/").unwrap_or(raw);
            let slashed = raw
                .iter()
                .map(|&byte| if byte == b'\\' { b'/' } else { byte });
            slashed
                .map(|byte| byte.to_ascii_lowercase())
                .eq(name.bytes().map(|byte| byte.to_ascii_lowercase()))
        };
        let exact = self.archive.index_for_name(name);
        exact.or_else(|| self.archive.file_names_raw().position(is_name))
    }
}

/// Checks that the body is an archive with a directory of bounded size, because the reader of archives trusts the
/// numbers in it.
fn check_directory(body: &mut KeptBody) -> Result<(), FormatError> {
    let bytes = body.length();
    let wrong = |kind, detail: &str| Err(Fault::new(kind, detail).into());
    let start = body.read_up_to(0, 4)?;
    let tail_start = bytes.saturating_sub(END_BYTES_MAX + LOCATOR_BYTES);
    let tail = body.read_up_to(tail_start, END_BYTES_MAX + LOCATOR_BYTES)?;
    let mut has_end = false;
    for at in memmem::find_iter(&tail, b"PK\x05\x06") {
        let Some(end) = tail[at..].first_chunk::<22>() else {
            continue;
        };
        has_end = true;
        let end_start = tail_start + at as u64;
        let count = u64::from(u16::from_le_bytes([end[10], end[11]]));
        let first = u64::from(u32::from_le_bytes([end[16], end[17], end[18], end[19]]));
        let mut directories = vec![(count, first)];
        let before = tail[..at].last_chunk::<20>();
        if let Some(locator) = before.filter(|locator| locator.starts_with(b"PK\x06\x07")) {
            let end64_start = word(locator, 8);
            let end64 = body.read_up_to(end64_start, END64_BYTES)?;
            let is_adjacent =
                end64_start.checked_add(END64_BYTES + LOCATOR_BYTES) == Some(end_start);
            if !is_adjacent || end64.len() as u64 != END64_BYTES {
                return wrong(FormatErrorKind::Syntax, "The zip directory is damaged.");
            }
            directories.retain(|&(count, first)| {
                count != u64::from(u16::MAX) && first != u64::from(u32::MAX)
            });
            directories.push((word(&end64, 32), word(&end64, 48)));
        }
        for (count, first) in directories {
            if count > RECORDS_MAX as u64 || end_start.saturating_sub(first) > DIRECTORY_BYTES_MAX {
                let detail = format!(
                    "The workbook has more than {RECORDS_MAX} parts. Export the sheet as CSV."
                );
                return wrong(FormatErrorKind::Unsupported, &detail);
            }
        }
    }
    match start.as_slice() {
        _ if has_end => Ok(()),
        [] => wrong(
            FormatErrorKind::EmptyData,
            "The body is empty; send a workbook.",
        ),
        OLE => wrong(
            FormatErrorKind::Unsupported,
            "The workbook is encrypted or has the old format .xls; save the workbook as .xlsx without a password.",
        ),
        MEMBER => wrong(
            FormatErrorKind::Truncated,
            "The workbook is truncated: the directory at the end of the file is missing.",
        ),
        _ => wrong(
            FormatErrorKind::Syntax,
            "The body is not a workbook in the format .xlsx, which is a zip archive.",
        ),
    }
}

/// The 64-bit number at `at`.
fn word(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes[at..].first_chunk().copied();
    bytes.map_or(u64::MAX, u64::from_le_bytes)
}

fn bad_archive(error: ZipError) -> FormatError {
    let (kind, detail) = match error {
        ZipError::Io(error) => return bad_read(error, "directory").into(),
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => (
            FormatErrorKind::Unsupported,
            "The workbook is encrypted; save the workbook without a password.".to_owned(),
        ),
        error @ (ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_)) => (
            FormatErrorKind::Unsupported,
            format!("The zip archive cannot be read: {error}."),
        ),
        error => (
            FormatErrorKind::Syntax,
            format!("The zip archive is damaged: {error}."),
        ),
    };
    Fault::new(kind, detail).into()
}

/// Distinguishes damage of a part from errors of the file that keeps the body.
fn bad_read(error: io::Error, part: &str) -> Fault {
    match error.downcast::<Fault>() {
        Ok(fault) => fault,
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            let detail = format!("The part `{part}` of the workbook is truncated.");
            Fault::new(FormatErrorKind::Truncated, detail)
        }
        Err(error) => {
            let detail = format!("The part `{part}` of the workbook is damaged: {error}.");
            Fault::new(FormatErrorKind::BadCoding, detail)
        }
    }
}

/// A part while it is read. A read fails once a limit is exceeded.
pub(super) struct Part<'p, 'o> {
    member: ZipFile<'p, KeptBody>,
    pub(super) name: String,
    pub(super) limits: &'o ParseLimits,
    inflated: Expansion,
    total: &'p mut Expansion,
}

impl Read for Part<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self.member.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            read => read.map_err(|error| bad_read(error, &self.name).into_io())?,
        };
        let counted = self.inflated.add(read as u64);
        let counted = counted.and_then(|()| self.total.add(read as u64));
        // Texts grow while they are inflated.
        let counted = counted.and_then(|()| Ok(memory::check()?));
        counted.map_err(Fault::into_io)?;
        Ok(read)
    }
}
