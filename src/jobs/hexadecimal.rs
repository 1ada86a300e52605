//! Digests as text: two lower-case hexadecimal digits per byte.

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a digest from hexadecimal digits. Returns `None` unless there are 64 of them.
pub(super) fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != digest.len() || !rest.is_empty() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_back() {
        let digest: [u8; 32] = std::array::from_fn(|at| (at * 37) as u8);
        assert_eq!(unhex(&hex(&digest)), Some(digest));
        for wrong in ["", "0", &"0".repeat(63), &"g".repeat(64)] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }
}
