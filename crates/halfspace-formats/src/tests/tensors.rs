//! Tests of tensors in JSON: the reader of bytes and the parser alone give the same examples and the same faults.

use std::io::Read;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::readers::json::from_reader_of_tensors;
use crate::{Datatype, TensorList};

/// A request of the Open Inference Protocol.
#[derive(Deserialize)]
struct Inference {
    inputs: Vec<InferenceInput>,
}

#[derive(Deserialize)]
struct InferenceInput {
    data: TensorList,
}

/// A source that returns at most `size` bytes per read.
struct Pieces<'a> {
    left: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = self.size.min(buffer.len());
        self.left.read(&mut buffer[..size])
    }
}

/// Reads a tensor from pieces. With pieces of one byte no element is ever whole, so the parser alone reads it.
fn tensor_in_pieces(
    body: &str,
    n: usize,
    datatype: Datatype,
    size: usize,
) -> Result<Parsed, FormatError> {
    let source = Pieces {
        left: body.as_bytes(),
        size,
    };
    let read: Inference = from_reader_of_tensors(source, &ParseLimits::default(), n)?;
    let tensor = read.inputs.into_iter().next().expect("a tensor");
    tensor.data.into_parsed(datatype, 2, true)
}

fn tensor_list() -> impl Strategy<Value = String> {
    let element = prop_oneof![
        40 => prop_oneof!["[01]", "[01][.]0", "true", "false"],
        1 => prop_oneof![
            "-?[0-9]{1,20}", "-?[0-9]{0,3}[.][0-9]{0,18}(e-?[0-9]{0,3})?", "[01][a-z ]", "null", "\"1\"", "\\[1,0\\]",
            "1e999", "-0", "", "[-+]?[01]",
        ],
    ];
    let comma = prop_oneof![
        Just(","),
        Just(", "),
        Just(" ,"),
        Just(",\n"),
        Just(",\r\n\t ")
    ];
    let list = (prop::collection::vec(element, 0..300), comma, 0_usize..4).prop_map(
        |(elements, comma, comma_last)| {
            let last = if comma_last == 0 { comma } else { "" };
            format!("[{}{last}]", elements.join(comma))
        },
    );
    let uniform = ("[01]|1[.]0|0|true", 0_usize..300)
        .prop_map(|(element, count)| format!("[{}]", vec![element; count].join(", ")));
    let rows = prop::collection::vec(list.clone(), 0..4);
    prop_oneof![
        list,
        uniform,
        rows.prop_map(|rows| format!("[{}]", rows.join(", ")))
    ]
}

#[test]
fn deep_json_after_a_tensor_is_refused_at_its_place() {
    let kind = FormatErrorKind::TooDeep { limit: 32 };
    for (element, line) in [("0, ", 1), ("0,\n", 9_001), ("0.25,", 1), ("true,", 1)] {
        let elements = element.repeat(9_000);
        let before = format!("{{\"inputs\": [{{\"data\": [{elements}1], \"more\": ");
        let body = format!("{before}{}", "[".repeat(100_000));
        // Three brackets and braces are open before the deep list.
        let column = before.rsplit('\n').next().expect("a line").len() as u64 + 30;
        for size in [1, 1_000, usize::MAX] {
            let error = tensor_in_pieces(&body, 9, Datatype::Fp64, size).expect_err("deep");
            assert_eq!(
                (error.kind, error.place),
                (kind, Some(at(line, column))),
                "{element}"
            );
        }
    }
}

#[test]
fn a_number_without_its_exponent_is_refused_at_its_place() {
    for list in ["[[0,0], [0e,\n0,\n]]", "[0e,\n0]", "[0,0e ,1]"] {
        let body = format!("{{\"inputs\": [{{\"data\":\n {list}}}]}}");
        for n in 1..5 {
            let by_parser = tensor_in_pieces(&body, n, Datatype::Fp64, 1);
            for size in 2..40 {
                let by_bytes = tensor_in_pieces(&body, n, Datatype::Fp64, size);
                assert_eq!(by_bytes, by_parser, "{list} {n} {size}");
            }
        }
    }
}

proptest! {
    #[test]
    fn a_tensor_is_the_same_by_the_bytes_and_by_the_parser(
        list in tensor_list(), n in 1_usize..200, size in 2_usize..2000, kind in 0_usize..3,
    ) {
        let body = format!("{{\"inputs\": [{{\"data\":\n {list}}}]}}");
        let datatype = [Datatype::Bool, Datatype::Fp64, Datatype::Int8][kind];
        let by_parser = tensor_in_pieces(&body, n, datatype, 1);
        prop_assert_eq!(tensor_in_pieces(&body, n, datatype, usize::MAX), by_parser.clone());
        prop_assert_eq!(tensor_in_pieces(&body, n, datatype, size), by_parser);
    }

    #[test]
    fn whole_tensors_are_the_same_by_the_bytes_and_by_the_parser(
        bits in prop::collection::vec(0_u8..2, 2..500),
        spelling in prop_oneof![Just(["0", "1"]), Just(["0.0", "1.0"]), Just(["false", "true"]), Just(["-1", "1"])],
        comma in prop_oneof![Just(","), Just(", "), Just(",\n"), Just(" ,")],
        nested in any::<bool>(),
        odd in prop::option::of((0_usize..500, prop_oneof!["2", "0.5", "-1", "1e999", "true", "x", "\"1\""])),
        size in 2_usize..2000,
    ) {
        let n = bits.len() / 2;
        let mut elements: Vec<String> =
            bits[..2 * n].iter().map(|&bit| spelling[usize::from(bit)].to_owned()).collect();
        if let Some((at, odd)) = odd && let Some(element) = elements.get_mut(at) {
            *element = odd;
        }
        let list = match nested {
            false => elements.join(comma),
            true => format!("[{}]{comma}[{}]", elements[..n].join(comma), elements[n..].join(comma)),
        };
        let body = format!("{{\"inputs\": [{{\"data\": [{list}]}}]}}");
        for datatype in [Datatype::Bool, Datatype::Fp64] {
            let by_parser = tensor_in_pieces(&body, n, datatype, 1);
            prop_assert_eq!(tensor_in_pieces(&body, n, datatype, usize::MAX), by_parser.clone());
            prop_assert_eq!(tensor_in_pieces(&body, n, datatype, size), by_parser);
        }
    }
}
