//! The target of tensors of the Open Inference Protocol, inside the JSON or after it.

use halfspace_formats::{Datatype, ParseLimits, Parsed};
use halfspace::http::fuzzing;
use halfspace_core::learners::sample::data::DenseFeatures;
use serde_json::{Value, json};

/// The input is three bytes, n and the length of the JSON (0 for all of it), then the body.
pub fn tensor(bytes: &[u8]) {
    let Some((&[n, low, high], body)) = bytes.split_first_chunk::<3>() else {
        return;
    };
    let limits = ParseLimits {
        state_bytes_max: 1 << 20,
        body_bytes_max: 1 << 20,
        n_max: 256,
        ..ParseLimits::default()
    };
    let n = usize::from(n) + 1;
    let length = u64::from(u16::from_le_bytes([low, high]));
    let json_length = (length > 0).then_some(length);
    let Ok(parsed) = fuzzing::inference(body, json_length, n, &limits) else {
        return;
    };
    assert_eq!(parsed.data.n(), n);
    assert!(parsed.data.examples() > 0);
    if json_length.is_none() {
        as_octets(body, &parsed, n, &limits);
    }
}

/// The same values as octets after the JSON are the same examples.
fn as_octets(body: &[u8], parsed: &Parsed, n: usize, limits: &ParseLimits) {
    let Ok(mut request) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    let input = &mut request["inputs"][0];
    let datatype: Datatype = serde_json::from_value(input["datatype"].clone()).expect("read");
    let values: Vec<f64> = match parsed.data.features().packed().expect("memory") {
        DenseFeatures::Real(matrix) => matrix.values().to_vec(),
        DenseFeatures::Boolean(matrix) => {
            let bit = |row: usize, j: usize| match matrix.row(row).get(j) {
                true => 1.0,
                false => parsed.zero_bit_value,
            };
            let rows = 0..matrix.rows();
            rows.flat_map(|row| (0..n).map(move |j| (row, j)))
                .map(|(row, j)| bit(row, j))
                .collect()
        }
    };
    let octets: Vec<u8> = values.iter().flat_map(|&value| little_endian(datatype, value)).collect();
    let Some(fields) = input.as_object_mut() else {
        return;
    };
    fields.remove("data");
    fields.insert("parameters".to_owned(), json!({"binary_data_size": octets.len()}));
    let head = serde_json::to_vec(&request).expect("string keys");
    let length = head.len() as u64;
    let again = fuzzing::inference(&[head, octets].concat(), Some(length), n, limits);
    match again {
        // Rounded to 32 bits, real values may be bits.
        Ok(again) if datatype == Datatype::Fp32 => assert_eq!(again.data.n(), n),
        Ok(again) => {
            assert_eq!(again.data, parsed.data);
            assert_eq!(again.zero_bit_value, parsed.zero_bit_value);
        }
        Err(refused) => panic!("{}: {}", refused.code, refused.detail),
    }
}

fn little_endian(datatype: Datatype, value: f64) -> Vec<u8> {
    match datatype {
        Datatype::Bool | Datatype::Uint8 => vec![value as u8],
        Datatype::Uint16 => (value as u16).to_le_bytes().to_vec(),
        Datatype::Uint32 => (value as u32).to_le_bytes().to_vec(),
        Datatype::Uint64 => (value as u64).to_le_bytes().to_vec(),
        Datatype::Int8 => (value as i8).to_le_bytes().to_vec(),
        Datatype::Int16 => (value as i16).to_le_bytes().to_vec(),
        Datatype::Int32 => (value as i32).to_le_bytes().to_vec(),
        Datatype::Int64 => (value as i64).to_le_bytes().to_vec(),
        Datatype::Fp32 => (value as f32).to_le_bytes().to_vec(),
        Datatype::Fp64 => value.to_le_bytes().to_vec(),
    }
}
