//! Signs callbacks, and reads the secrets with which they are signed.
//!
//! This is the symmetric scheme of Standard Webhooks 1.0. A signature is `v1,` and the base64 of an HMAC-SHA256 over
//! the message id, the time of the attempt in seconds and the body, joined by full stops. A secret is written as
//! `whsec_` and the base64 of its 24 to 64 bytes. To replace a secret, an operator configures the old and the new one
//! side by side for a while: each callback then carries two signatures, and receivers accept it if one of them matches.
//!
//! We do not use the crate `standardwebhooks` 1.0: it accepts secrets of any length and signs with only one, and it
//! would save us just the few lines that compute the HMAC.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The prefix of a written secret.
const PREFIX: &str = "whsec_";

/// The length of a secret in bytes, as the standard demands.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A key that signs callbacks. `Debug` output hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

/// The fault of a written secret. The message never quotes the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSecretError {
    /// The prefix `whsec_` is missing.
    #[error("a secret must begin with whsec_, followed by its bytes in base64")]
    Prefix,
    /// The text after the prefix is not base64.
    #[error("the text after whsec_ is not padded base64 of the standard alphabet")]
    Base64,
    /// The secret is too short to be safe or too long for the standard.
    #[error("a secret must have 24 to 64 bytes; this secret has {bytes}")]
    Length { bytes: usize },
}

impl FromStr for Secret {
    type Err = ParseSecretError;

    fn from_str(text: &str) -> Result<Self, ParseSecretError> {
        let encoded = text.strip_prefix(PREFIX).ok_or(ParseSecretError::Prefix)?;
        let key = BASE64.decode(encoded);
        let key = key.map_err(|_| ParseSecretError::Base64)?;
        if !SECRET_BYTES.contains(&key.len()) {
            return Err(ParseSecretError::Length { bytes: key.len() });
        }
        Ok(Self(key))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Signs messages with one secret or with each of several secrets.
#[derive(Clone, Debug)]
pub struct Signer(Vec<Secret>);

impl Signer {
    /// `None` if there is no secret.
    #[must_use]
    pub fn new(secrets: Vec<Secret>) -> Option<Self> {
        (!secrets.is_empty()).then_some(Self(secrets))
    }

    /// The value of the header `webhook-signature`: one signature per secret, in the order of the secrets.
    ///
    /// Neither `id` nor a time contains a full stop, so no two messages give the same signed bytes.
    #[must_use]
    pub fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        debug_assert!(
            !id.contains('.'),
            "{id} must have no dot, which separates the id from the time"
        );
        let signatures = self.0.iter().map(|secret| {
            let mut mac =
                Hmac::<Sha256>::new_from_slice(&secret.0).expect("HMAC takes a key of any length");
            mac.update(format!("{id}.{seconds}.").as_bytes());
            mac.update(body);
            format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
        });
        signatures.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer(secrets: &[&str]) -> Signer {
        let secrets = secrets.iter().map(|secret| secret.parse().unwrap());
        Signer::new(secrets.collect()).unwrap()
    }

    /// A test vector of the standard's reference libraries.
    struct Vector {
        secret: &'static str,
        id: &'static str,
        seconds: i64,
        body: &'static str,
        signature: &'static str,
    }

    const VECTORS: [Vector; 2] = [
        Vector {
            secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            seconds: 1_614_265_330,
            body: r#"{"test": 2432232314}"#,
            signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        },
        Vector {
            secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
            id: "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
            seconds: 1_649_367_553,
            body: r#"{"email":"test@example.com","username":"test_user"}"#,
            signature: "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
        },
    ];

    #[test]
    fn signatures_are_those_of_the_reference_libraries() {
        for vector in VECTORS {
            let signer = signer(&[vector.secret]);
            let signed = signer.sign(vector.id, vector.seconds, vector.body.as_bytes());
            assert_eq!(signed, vector.signature);
        }
    }

    #[test]
    fn signature_covers_id_time_and_body() {
        let [vector, _] = VECTORS;
        let signer = signer(&[vector.secret]);
        let sign = |id, seconds, body: &str| signer.sign(id, seconds, body.as_bytes());
        let whole = sign(vector.id, vector.seconds, vector.body);
        assert_ne!(sign("msg_other", vector.seconds, vector.body), whole);
        assert_ne!(sign(vector.id, vector.seconds + 1, vector.body), whole);
        assert_ne!(sign(vector.id, vector.seconds, "{}"), whole);
    }

    #[test]
    fn signer_with_two_secrets_gives_two_signatures_in_order() {
        let [one, other] = VECTORS;
        let sign = |secrets: &[&str]| signer(secrets).sign(one.id, one.seconds, b"{}");
        let (first, second) = (sign(&[one.secret]), sign(&[other.secret]));
        let both = sign(&[one.secret, other.secret]);
        assert_eq!(both, format!("{first} {second}"));
        assert!(Signer::new(Vec::new()).is_none());
    }

    #[test]
    fn bad_callback_secret_is_refused_without_showing_it() {
        let of = |bytes: usize| format!("whsec_{}", BASE64.encode(vec![7; bytes]));
        for (text, error) in [
            (String::new(), ParseSecretError::Prefix),
            (
                "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned(),
                ParseSecretError::Prefix,
            ),
            (
                "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned(),
                ParseSecretError::Prefix,
            ),
            ("whsec_".to_owned(), ParseSecretError::Length { bytes: 0 }),
            (
                "whsec_not base64 at all!".to_owned(),
                ParseSecretError::Base64,
            ),
            (
                of(32).trim_end_matches('=').to_owned(),
                ParseSecretError::Base64,
            ),
            (of(23), ParseSecretError::Length { bytes: 23 }),
            (of(65), ParseSecretError::Length { bytes: 65 }),
        ] {
            let refused = text.parse::<Secret>().unwrap_err();
            assert_eq!(refused, error, "{text}");
            let key = text.strip_prefix(PREFIX).unwrap_or(&text);
            assert!(key.is_empty() || !refused.to_string().contains(key));
        }
        for bytes in [24, 32, 64] {
            assert!(of(bytes).parse::<Secret>().is_ok());
        }
    }

    #[test]
    fn signer_debug_output_hides_the_secret() {
        let signer = signer(&[VECTORS[0].secret]);
        assert_eq!(format!("{signer:?}"), "Signer([Secret(..)])");
    }
}
