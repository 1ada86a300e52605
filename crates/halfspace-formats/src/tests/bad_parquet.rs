//! Tests of Parquet: damaged files, and files that expand to more than they may.

use halfspace_core::memory::MemoryBudget;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use super::parquet_tables::parquet as read_parquet;
use super::parquet_writer::{
    Column, Message, Raw, data_page, dictionary_page, ended, texts, unsigned, written,
};
use super::*;
use crate::{Spool, gather};

/// Reads a file within a budget, and returns the error with the peak of the memory.
fn measured(body: &[u8], budget: u64) -> (Result<Parsed, FormatError>, u64) {
    let grant = MemoryBudget::new(budget).try_take(1 << 20).expect("room");
    let options = Options {
        labels: Some(LabelsColumn::None),
        ..Options::default()
    };
    let read = grant.within(|| crate::parse(Format::Parquet, body, &options));
    (read, grant.peak())
}

/// Checks that a file is refused at this limit, at once.
fn refused_at(raw: &Raw, limit: &str) {
    let (read, peak) = measured(&raw.bytes(), 1 << 30);
    let error = read.expect_err(limit);
    assert!(
        matches!(error.kind, FormatErrorKind::TooLarge { limit: at, .. } if at == limit),
        "{error:?}"
    );
    assert!(peak < 24 << 20, "{peak}");
}

fn refused(raw: &Raw) -> FormatError {
    let (read, peak) = measured(&raw.bytes(), 1 << 30);
    assert!(peak < 4 << 20, "{peak}");
    read.expect_err("a damaged file")
}

/// Runs of levels after their length: `count` levels of one value.
fn levels(count: u64, level: u8) -> Vec<u8> {
    let run = [unsigned(count << 1), vec![level]].concat();
    [(run.len() as u32).to_le_bytes().to_vec(), run].concat()
}

fn raw(physical: i64, is_optional: bool, rows: i64, pages: Vec<(Message, Vec<u8>)>) -> Raw {
    Raw {
        physical,
        length: 3,
        is_optional,
        codec: 0,
        rows,
        pages,
    }
}

const INT32: i64 = 1;
const BYTES: i64 = 6;
const FIXED: i64 = 7;

#[test]
fn a_handwritten_file_is_read() {
    let content = [
        levels(2, 1),
        5_i32.to_le_bytes().into(),
        6_i32.to_le_bytes().into(),
    ]
    .concat();
    let page = data_page(content.len() as i64, &content, 2, 0);
    let (read, _) = measured(&raw(INT32, true, 2, vec![page]).bytes(), 1 << 30);
    assert_eq!(rows(&read.expect("two rows").data), ["[5.0]", "[6.0]"]);
}

#[test]
fn pages_that_claim_too_much_are_refused_before_their_memory() {
    // 2^31 bytes after decompression, from a few.
    for codec in [0, 1, 2, 4, 5, 6, 7] {
        let page = data_page(i64::from(i32::MAX), &[0; 20], 5, 0);
        let bomb = Raw {
            codec,
            ..raw(INT32, false, 5, vec![page])
        };
        refused_at(&bomb, "decompression_ratio_max");
    }
    // More than the counts and sizes of the format.
    for claim in [1 << 40, -1, i64::MAX] {
        for page in [
            data_page(claim, &[0; 20], 5, 0),
            data_page(20, &[0; 20], claim, 0),
        ] {
            let error = refused(&raw(INT32, false, 5, vec![page]));
            assert_eq!(error.kind, FormatErrorKind::Syntax, "{error}");
        }
        for physical in [INT32, BYTES, FIXED] {
            let dictionary = dictionary_page(20, &[0; 20], claim);
            let page = data_page(2, &[1, 2], 5, 8);
            let error = refused(&raw(physical, false, 5, vec![dictionary, page]));
            assert_eq!(error.kind, FormatErrorKind::Syntax, "{error}");
        }
    }
    let dictionary = dictionary_page(20, &[0; 20], i64::from(i32::MAX));
    let error = refused(&raw(BYTES, false, 5, vec![dictionary]));
    assert!(error.detail.contains("dictionary"), "{error}");
}

#[test]
fn a_page_that_expands_beyond_its_size_is_refused() {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&vec![0; 64 << 20]).unwrap();
    let content = gzip.finish().unwrap();
    let page = data_page(20, &content, 5, 0);
    let bomb = Raw {
        codec: 2,
        ..raw(INT32, false, 5, vec![page])
    };
    let error = refused(&bomb);
    assert_eq!(error.kind, FormatErrorKind::BadCoding, "{error}");
}

#[test]
fn a_billion_nulls_are_refused() {
    let billion = 1_000_000_000;
    for physical in [0, INT32, 2, 3, 4, 5, BYTES, FIXED] {
        let content = levels(billion, 0);
        let page = data_page(content.len() as i64, &content, billion as i64, 0);
        refused_at(
            &raw(physical, true, billion as i64, vec![page]),
            "decompression_ratio_max",
        );
    }
    // The same number of equal values of a dictionary.
    let dictionary = dictionary_page(4, &[0; 4], 1);
    let content = [vec![0], unsigned(billion << 1)].concat();
    let page = data_page(content.len() as i64, &content, billion as i64, 8);
    let pages = vec![dictionary, page];
    refused_at(
        &raw(INT32, false, billion as i64, pages.clone()),
        "decompression_ratio_max",
    );
    // Fewer rows than the page has.
    let error = refused(&raw(INT32, false, 5, pages));
    assert!(
        error.detail.contains("more values than its column"),
        "{error}"
    );
}

/// Differences without bits: `count` times the same integer.
fn equal(count: u64, value: u8) -> Vec<u8> {
    let head = [
        unsigned(128),
        unsigned(4),
        unsigned(count),
        unsigned(u64::from(value) << 1),
    ];
    let blocks = vec![0; 5 * (count as usize / 128 + 1)];
    [head.concat(), blocks].concat()
}

#[test]
fn texts_that_expand_are_refused() {
    // 2^26 empty texts, whose lengths take 2.5 MB.
    let count = 1 << 26;
    let content = equal(count, 0);
    let page = data_page(content.len() as i64, &content, count as i64, 6);
    let mut bomb = raw(BYTES, false, count as i64, vec![page]);
    let (read, peak) = measured(&bomb.bytes(), 64 << 20);
    assert!(read.is_err());
    assert!(peak < 64 << 20, "{peak}");
    // A text of 1 MiB, and 4,000 texts with the same prefix.
    let texts = 4_000;
    let long = 1 << 20;
    let of_lengths = |first: u64, others: u64| {
        let difference = others as i64 - first as i64;
        let mut bytes = [
            unsigned(128),
            unsigned(4),
            unsigned(texts),
            unsigned(first << 1),
        ]
        .concat();
        let mut steps = vec![difference];
        steps.resize(texts as usize, 0);
        for block in steps[..texts as usize - 1].chunks(128) {
            // Only the first block has a difference that is not 0, in 32 bits.
            let least = block.iter().copied().min().unwrap_or(0).min(0);
            bytes.extend(unsigned((least << 1 ^ least >> 63) as u64));
            let is_wide = block.iter().any(|step| step - least != 0);
            bytes.extend([if is_wide { 32 } else { 0 }; 4]);
            if is_wide {
                let mut padded = block.to_vec();
                padded.resize(128, least);
                bytes.extend(
                    padded
                        .iter()
                        .flat_map(|step| ((step - least) as u32).to_le_bytes()),
                );
            }
        }
        bytes
    };
    let mut content = of_lengths(0, long);
    content.extend(of_lengths(long, 0));
    content.resize(content.len() + long as usize, b'x');
    let page = data_page(content.len() as i64, &content, texts as i64, 7);
    bomb = raw(BYTES, false, texts as i64, vec![page]);
    let (read, peak) = measured(&bomb.bytes(), 256 << 20);
    let error = read.expect_err("4 GB");
    assert!(
        matches!(
            error.kind,
            FormatErrorKind::NoMemory(_) | FormatErrorKind::TooLarge { .. }
        ),
        "{error:?}"
    );
    assert!(peak < 64 << 20, "{peak}");
}

#[test]
fn footers_that_claim_too_much_are_refused() {
    let lists = |schema: &[Message]| {
        let footer = Message::default()
            .integer(1, 1)
            .list(2, schema)
            .integer(3, 0)
            .list(4, &[]);
        ended(b"PAR1".to_vec(), footer)
    };
    let group = |children| {
        Message::default()
            .integer(3, 0)
            .text(4, "g")
            .integer(5, children)
    };
    // A group in a group, and so on, and a group with 2^40 children.
    let deep: Vec<_> = std::iter::repeat_n(group(1), 100_000).collect();
    for schema in [
        &deep[..],
        &[group(1 << 40)],
        &[group(1), group(1)],
        &[],
        &[group(-1)],
    ] {
        let (read, peak) = measured(&lists(schema), 64 << 20);
        assert_eq!(read.expect_err("a footer").kind, FormatErrorKind::Syntax);
        assert!(peak < 8 << 20, "{peak}");
    }
    // A list of 2^60 elements.
    let mut long = b"PAR1\x15\x02\x29\xfc".to_vec();
    long.extend(unsigned(1 << 60));
    let length = long.len() as u32 - 4;
    long.extend(length.to_le_bytes());
    long.extend(b"PAR1");
    let (read, _) = measured(&long, 64 << 20);
    assert_eq!(read.expect_err("a list").kind, FormatErrorKind::Truncated);
}

#[test]
fn other_files_are_no_parquet() {
    let good = include_bytes!("parquet_files/zstd.parquet");
    let mut encrypted = good.to_vec();
    encrypted[..4].copy_from_slice(b"PARE");
    let end = encrypted.len() - 4;
    encrypted[end..].copy_from_slice(b"PARE");
    for (body, kind, said) in [
        (&encrypted[..], FormatErrorKind::Unsupported, "is encrypted"),
        (
            &good[..good.len() - 1],
            FormatErrorKind::Truncated,
            "is truncated",
        ),
        (&good[..100], FormatErrorKind::Truncated, "is truncated"),
        (b"PAR1", FormatErrorKind::Truncated, "is truncated"),
        (
            b"ARROW1\0\0 and more",
            FormatErrorKind::Unsupported,
            "write the table as Parquet",
        ),
        (
            b"FEA1 and more",
            FormatErrorKind::Unsupported,
            "write the table as Parquet",
        ),
        (
            b"a,b\n1,2\n",
            FormatErrorKind::Syntax,
            "is not a Parquet file",
        ),
    ] {
        let error = read_parquet(body, &Options::default()).expect_err(said);
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.detail.contains(said), "{error}");
    }
    // An encryption that leaves the footer legible.
    let algorithm = Message::default().message(1, Message::default());
    let root = Message::default().text(4, "m").integer(5, 0);
    let footer = Message::default()
        .integer(1, 1)
        .list(2, &[root])
        .message(8, algorithm);
    let error = read_parquet(&ended(b"PAR1".to_vec(), footer), &Options::default());
    assert!(
        error
            .expect_err("encrypted")
            .detail
            .contains("is encrypted")
    );
    let lzo = Raw {
        codec: 3,
        ..raw(INT32, false, 1, vec![data_page(4, &[0; 4], 1, 0)])
    };
    assert!(refused(&lzo).detail.contains("LZO"));
}

#[test]
fn damaged_pages_are_refused() {
    let page = |content: &[u8], encoding| data_page(content.len() as i64, content, 5, encoding);
    let pages = [
        // No dictionary, unknown encodings, too few values, lengths that are too long.
        (INT32, page(&[2, 3, 4], 8)),
        (INT32, page(&[0; 30], 10)),
        (INT32, page(&[0; 12], 0)),
        (INT32, page(&[0; 7], 9)),
        (INT32, page(&[0; 48], 9)),
        (INT32, page(&[0; 7], 5)),
        (INT32, page(&[0x80, 1, 4, 0, 0], 5)),
        (INT32, page(&[0x80, 1, 4, 9, 0], 5)),
        (BYTES, page(&[9; 30], 0)),
        (BYTES, page(&[0; 30], 6)),
        (BYTES, page(&[0; 30], 7)),
        (BYTES, page(&[0; 30], 9)),
        (FIXED, page(&[0; 10], 0)),
        (FIXED, page(&[0; 90], 9)),
        (0, page(&[9; 30], 3)),
        (0, page(&[], 0)),
    ];
    for (number, (physical, page)) in pages.into_iter().enumerate() {
        let error = refused(&raw(physical, false, 5, vec![page.clone()]));
        let kinds = [FormatErrorKind::Syntax, FormatErrorKind::Unsupported];
        assert!(kinds.contains(&error.kind), "{number}: {error}");
        refused(&raw(physical, true, 5, vec![page]));
    }
    let levels_beyond = [u32::MAX.to_le_bytes().to_vec(), vec![0; 20]].concat();
    let error = refused(&raw(INT32, true, 5, vec![page(&levels_beyond, 0)]));
    assert!(error.detail.contains("levels"), "{error}");
    let mut wrong_sum = page(&[0; 20], 0);
    wrong_sum.0 = Message::default()
        .integer(1, 0)
        .integer(2, 20)
        .integer(3, 20)
        .integer(4, 7)
        .message(5, Message::default().integer(1, 5).integer(2, 0));
    assert!(
        refused(&raw(INT32, false, 5, vec![wrong_sum]))
            .detail
            .contains("checksum")
    );
}

/// Files with every encoding, as small as they can be.
fn samples() -> Vec<Vec<u8>> {
    let files: [&[u8]; 6] = [
        include_bytes!("parquet_files/none.parquet"),
        include_bytes!("parquet_files/snappy.parquet"),
        include_bytes!("parquet_files/gzip.parquet"),
        include_bytes!("parquet_files/brotli.parquet"),
        include_bytes!("parquet_files/zstd.parquet"),
        include_bytes!("parquet_files/lz4.parquet"),
    ];
    let mut files: Vec<_> = files.into_iter().map(<[u8]>::to_vec).collect();
    let fields = "optional int32 a; optional binary b; optional fixed_len_byte_array(2) c; optional boolean d; \
                  optional double e";
    let columns = || {
        vec![
            Column::Int32(
                (0..9)
                    .map(|row| (row % 4 > 0).then_some(row * 1000))
                    .collect(),
            ),
            texts(&["aa", "", "aab", "b", "aab", "aabc", "", "b", "c"]),
            Column::Fixed(
                (0..9)
                    .map(|row| (row % 3 > 0).then(|| vec![b'a', row]))
                    .collect(),
            ),
            Column::Booleans((0..9).map(|row| Some(row % 2 == 0)).collect()),
            Column::Doubles((0..9).map(|row| Some(f64::from(row) / 4.0)).collect()),
        ]
    };
    use parquet::basic::Encoding;
    use parquet::file::properties::WriterVersion;
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for encoding in [
            None,
            Some(Encoding::PLAIN),
            Some(Encoding::DELTA_BYTE_ARRAY),
            Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
        ] {
            let builder = WriterProperties::builder().set_writer_version(version);
            let builder = match encoding {
                None => builder,
                Some(encoding) => {
                    let is_plain = encoding == Encoding::PLAIN;
                    let or = |other| if is_plain { Encoding::PLAIN } else { other };
                    builder
                        .set_dictionary_enabled(false)
                        .set_column_encoding("a".into(), or(Encoding::DELTA_BINARY_PACKED))
                        .set_column_encoding("b".into(), encoding)
                        .set_column_encoding("c".into(), or(Encoding::BYTE_STREAM_SPLIT))
                        .set_column_encoding("d".into(), or(Encoding::RLE))
                        .set_column_encoding("e".into(), or(Encoding::BYTE_STREAM_SPLIT))
                }
            };
            files.push(written(fields, &[columns()], builder.build()));
        }
    }
    files
}

/// Reads a damaged file in all ways, within a small budget.
fn survives(body: &[u8]) {
    let (read, peak) = measured(body, 32 << 20);
    assert!(peak <= 32 << 20, "{peak}");
    if let Ok(parsed) = read {
        assert!(parsed.data.examples() <= 1 << 20);
    }
}

#[test]
fn truncated_parquet_is_an_error_at_every_length() {
    for body in samples() {
        for length in 0..body.len() {
            let (read, _) = measured(&body[..length], 32 << 20);
            read.expect_err("a truncated file");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn parquet_with_other_bytes_is_an_error_or_a_table(
        sample in 0_usize..14,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.2, (any::<prop::sample::Index>(), 1_usize..20)),
    ) {
        let mut body = samples().swap_remove(sample);
        for (place, byte) in changes {
            let place = place.index(body.len());
            body[place] = byte;
        }
        if let Some((place, bytes)) = cut {
            let place = place.index(body.len());
            body.drain(place..(place + bytes).min(body.len()));
        }
        survives(&body);
    }
}

#[test]
fn errors_of_the_source_and_the_spool_are_kept() {
    let body = include_bytes!("parquet_files/zstd.parquet");
    let spool = Spool::new(0, || {
        Err::<std::io::Cursor<Vec<u8>>, _>(std::io::ErrorKind::StorageFull.into())
    });
    let error = gather(Format::Parquet, body.as_slice(), &Options::default(), spool);
    assert_eq!(
        error.map(drop).expect_err("no file").kind,
        FormatErrorKind::Spool(std::io::ErrorKind::StorageFull)
    );
    let short = Options {
        limits: ParseLimits {
            body_bytes_max: 100,
            ..ParseLimits::DEFAULT
        },
        ..Options::default()
    };
    let error = read_parquet(body, &short).expect_err("too long");
    assert!(matches!(
        error.kind,
        FormatErrorKind::TooLarge {
            limit: "body_bytes_max",
            ..
        }
    ));
}
