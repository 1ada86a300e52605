//! Tests of the stored form and the digest.

use super::*;
use crc_fast::crc64_nvme;

use crate::stored::layout::HEAD_BYTES;
use halfspace_core::learners::sample::classes::ClassCodes;
use halfspace_core::learners::sample::data::RealMatrix;

use crate::{BlocksError, Classes, Layout, digest, read_blocks, write_blocks};

fn stored(data: &Data) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_blocks(data, None, None, None, &mut bytes).expect("memory");
    bytes
}

fn labelled(rows: usize) -> Data {
    let line = |row: usize| format!("{} {}:1\n", row % 2, row % 70 + 1);
    let body: String = (0..rows).map(line).collect();
    let data = read(Format::Libsvm, &body).expect("good").data;
    Data::new(
        data.features().packed().expect("memory").into(),
        data.labels().clone(),
    )
}

fn real(rows: usize) -> Data {
    let line = |row: usize| format!("{},{row}.5,-1\n", row % 2);
    let body: String = (0..rows).map(line).collect();
    read(Format::Csv, &body).expect("good").data
}

#[test]
fn stored_data_are_read_back() {
    let half_space = read(Format::Ndjson, "101\n011\n").expect("good").data;
    let samples = [
        half_space,
        labelled(1),
        labelled(64),
        labelled(200),
        real(1),
        real(130),
    ];
    for data in samples {
        let bytes = stored(&data);
        assert_eq!(read_blocks(bytes.as_slice()).expect("own").0, data);
    }
}

#[test]
fn stored_blocks_start_where_the_layout_says() {
    let data = labelled(200);
    let bytes = stored(&data);
    let layout = Layout::read(bytes.as_slice()).expect("own");
    let header = layout.header();
    assert_eq!((header.n, header.examples, layout.blocks()), (70, 200, 4));
    let Features::Boolean(matrix) = data.features() else {
        panic!("Boolean");
    };
    let start = layout.block_offset(2).expect("small") as usize;
    let size = layout.block_bytes().expect("small") as usize;
    assert_eq!(size, (2 * 64 + 2) * 8);
    let words: Vec<_> = bytes[start..start + size]
        .chunks(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
        .collect();
    assert_eq!(words[..128], *matrix.block(2).words());
    let Some(labels) = data.labels().signs() else {
        panic!("labelled");
    };
    assert_eq!(words[128], labels.words()[2]);
}

/// The stored data with changed bytes and matching checks, so that only the structure reveals the damage.
fn forged(good: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut forged = good.to_vec();
    forged[at..at + bytes.len()].copy_from_slice(bytes);
    if at < HEAD_BYTES {
        let check = crc64_nvme(&forged[..HEAD_BYTES]);
        forged[HEAD_BYTES..][..8].copy_from_slice(&check.to_le_bytes());
        return forged;
    }
    let layout = Layout::read(good).expect("own");
    let start = |block: usize| layout.block_offset(block).expect("small") as usize;
    let block = (0..).take_while(|&block| start(block) <= at).last();
    let block = block.expect("a block");
    let end = layout.block_end(block).expect("small") as usize - 8;
    let check = layout.check_of(
        layout.unit(block, 0),
        crc64_nvme(&forged[start(block)..end]),
    );
    forged[end..][..8].copy_from_slice(&check.to_le_bytes());
    forged
}

fn refusal(good: &[u8], at: usize, byte: u8) -> BlocksError {
    read_blocks(forged(good, at, &[byte]).as_slice()).expect_err("damaged")
}

#[test]
fn damaged_headers_of_stored_data_are_refused() {
    let good = stored(&labelled(70));
    let changed = |at, byte| refusal(&good, at, byte);
    assert!(matches!(changed(0, b'x'), BlocksError::Magic));
    assert!(matches!(changed(8, 7), BlocksError::Version(7)));
    for (at, byte) in [
        (12, 9),
        (13, 9),
        (14, 8),
        (15, 0),
        (15, 17),
        (16, 0),
        (24, 0),
        (32, 0),
        (23, 0xff),
    ] {
        assert!(matches!(changed(at, byte), BlocksError::Header(_)), "{at}");
    }
    for length in [0, 7, 39, 48, 49, good.len() - 1] {
        let cut = read_blocks(&good[..length]).expect_err("cut off");
        assert!(matches!(cut, BlocksError::Truncated), "{length}");
    }
    let longer = [good.as_slice(), &[0]].concat();
    let error = read_blocks(longer.as_slice()).expect_err("longer");
    assert!(matches!(error, BlocksError::Trailing));
    // A header that promises rows which are absent takes no memory. Its check is part of the checks of the first
    // block.
    assert!(matches!(changed(30, 0x7f), BlocksError::Check { rows, .. } if rows.start == 0));
}

#[test]
fn damaged_blocks_of_stored_data_are_refused() {
    let good = stored(&labelled(70));
    // Bit 70 of the first row, where n is 70; then row 70, where there are 70 rows from 0.
    let second_block = 48 + (2 * 64 + 2) * 8;
    for (at, byte) in [
        (48 + 64 * 8, 1 << 6),
        (second_block + 6 * 8, 1),
        // Before the check of the block, and the names: their length, 15 bytes and their check.
        (good.len() - 32 - 16, 1 << 6),
    ] {
        assert!(matches!(refusal(&good, at, byte), BlocksError::StrayBits));
    }
    let not_finite = forged(&stored(&real(1)), 48, &f64::NAN.to_le_bytes());
    let error = read_blocks(not_finite.as_slice()).expect_err("nan");
    assert!(matches!(error, BlocksError::NotFinite));
}

#[test]
fn any_flipped_bit_of_stored_data_is_found() {
    for data in [labelled(70), real(3)] {
        let mut bytes = stored(&data);
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read_blocks(bytes.as_slice()).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn data_digest_depends_on_the_rows_not_on_their_text() {
    let same = [
        (
            Format::Ndjson,
            "{\"x\":\"101\",\"y\":1}\n{\"x\":\"010\",\"y\":0}\n",
        ),
        (
            Format::Ndjson,
            "{\"x\":[1,-1,1],\"y\":1}\n{\"x\":[-1,1,-1],\"y\":-1}\n",
        ),
        (Format::Csv, "1,1,0,1\n-1,0,1,0\n"),
        (Format::Csv, "y,a,b,c\n1,1,-1,1\n0,-1,1,-1\n"),
        (Format::Libsvm, "1 1:1 3:1\n-1 2:1\n"),
        (Format::Libsvm, "1 1:1 2:-1 3:1\n0 2:1\n"),
        (
            Format::Json,
            r#"{"labelled":{"examples":[{"x":"101","y":1},{"x":"010","y":-1}]}}"#,
        ),
        (
            Format::Json,
            r#"{"packed":{"n":3,"rows":"oEA=","labels":"gA=="}}"#,
        ),
    ];
    let digests =
        same.map(|(format, body)| digest(&read(format, body).expect(body).data, None, None, None));
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    let others = [
        (Format::Libsvm, "1 1:1 3:1\n1 2:1\n"),
        (Format::Libsvm, "1 1:1 3:1\n-1 2:1\n-1 2:1\n"),
        (Format::Libsvm, "-1 2:1\n1 1:1 3:1\n"),
        (Format::Libsvm, "1 1:1 3:1\n-1 2:1 4:0\n-1 4:1"),
        (Format::Ndjson, "101\n010\n"),
        (Format::Csv, "1,1,0,1\n-1,0,0.5,0\n"),
    ];
    let mut seen = vec![digests[0]];
    for (format, body) in others {
        let digest = digest(&read(format, body).expect(body).data, None, None, None);
        assert!(!seen.contains(&digest), "{body}");
        seen.push(digest);
    }
    let real = |body| digest(&read(Format::Csv, body).expect(body).data, None, None, None);
    assert_eq!(real("1,-0.0,2\n"), real("1,0,2.0\n"));
}

#[test]
fn data_digest_is_the_documented_one() {
    use sha2::{Digest, Sha256};

    let data = read(Format::Libsvm, "1 1:1 66:1\n-1 2:1\n")
        .expect("good")
        .data;
    let mut bytes = b"halfspace-data-2".to_vec();
    bytes.extend([0, 1]);
    for long in [66, 2] {
        bytes.extend(u64::to_le_bytes(long));
    }
    // The first row has the features 0 and 65 and the label +1, the second row has feature 1.
    bytes.extend([1, 2, 0, 0, 0, 0, 0, 0, 0, 65, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend([1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    let expected = |names: &[u8]| -> [u8; 32] { Sha256::digest([&bytes, names].concat()).into() };
    let plain = b"\x02\0\0\0\x02\0\0\0-1\x01\0\0\x001";
    assert_eq!(digest(&data, None, None, None), expected(plain));
    let zero = Classes::new(Some("0".to_owned()), "1".to_owned());
    assert_eq!(digest(&data, Some(&zero), None, None), expected(plain));
    let rest = Classes::new(None, "yes".to_owned());
    let named = b"\x02\0\0\0\xff\xff\xff\xff\x03\0\0\0yes";
    assert_eq!(digest(&data, Some(&rest), None, None), expected(named));
}

/// Rows of five classes, whose codes take three planes.
fn many_classes(n: usize, is_real: bool) -> (Data, Classes) {
    let codes = (0..150_u32).map(|row| row % 7 % 5);
    let mut planes = vec![vec![0; 3]; 3];
    for (row, code) in codes.enumerate() {
        for (plane, words) in planes.iter_mut().enumerate() {
            words[row / 64] |= u64::from(code >> plane & 1) << (row % 64);
        }
    }
    let value = |at: usize| (at % 11) as f64;
    let features = match is_real {
        true => Features::Real(RealMatrix::from_values(
            n,
            (0..150 * n).map(value).collect(),
        )),
        false => labelled(150).features().clone(),
    };
    let labels = Labels::Labelled(ClassCodes::from_planes(150, planes));
    let names = ["e", "d", "c", "b", "a"].map(str::to_owned);
    (
        Data::new(features, labels),
        Classes::of_names(names).expect("several"),
    )
}

#[test]
fn many_classes_are_stored_with_their_names() {
    for (n, is_real) in [(70, false), (3, true), (70, true)] {
        let (data, classes) = many_classes(n, is_real);
        let mut bytes = Vec::new();
        write_blocks(&data, Some(&classes), None, None, &mut bytes).expect("memory");
        let read = read_blocks(bytes.as_slice()).expect("own");
        assert_eq!(read, (data.clone(), Some(classes.clone()), None, None));
        let other = Classes::of_names(["d", "e", "c", "b", "a"].map(str::to_owned));
        assert_ne!(
            digest(&data, Some(&classes), None, None),
            digest(&data, other.as_ref(), None, None)
        );
        // Names for more or fewer planes are no names of these rows.
        let few = Classes::new(None, "a".to_owned());
        let mut bytes = Vec::new();
        write_blocks(&data, Some(&few), None, None, &mut bytes).expect("memory");
        assert!(matches!(
            read_blocks(bytes.as_slice()),
            Err(BlocksError::Header("the classes"))
        ));
        if is_real && n > 3 {
            // Even 670,000 flips say no more than those of three features.
            continue;
        }
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read_blocks(bytes.as_slice()).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
