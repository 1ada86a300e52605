//! The URL of a callback, as a client gives it.
//!
//! One parser (WHATWG's, as in browsers) reads the text, and both the check of the address and the connection use its
//! result. `http://0x7f.1`, for example, is 127.0.0.1 for both.

use std::fmt;
use std::net::IpAddr;

use hyper::http::uri::PathAndQuery;
use url::{Host, Position, Url};

use super::address::{Allowed, RefusedAddress};

/// The largest length of a callback's URL in bytes, both as given and as parsed.
pub const URL_BYTES_MAX: usize = 2048;

/// The URL of a callback: http or https, without a user or a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackUrl {
    url: Url,
    /// Path and query, as the request line has them.
    target: PathAndQuery,
}

/// The reason why a text is not a valid callback URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackUrlError {
    /// The URL exceeds [`URL_BYTES_MAX`].
    #[error("a callback URL must have at most {URL_BYTES_MAX} bytes")]
    TooLong,
    /// The scheme is missing or is neither http nor https.
    #[error("a callback URL must begin with http:// or https://")]
    Scheme,
    /// The text is not a URL.
    #[error("the text is not a URL: {reason}")]
    Malformed { reason: String },
    /// The URL contains a user name or a password. Both would be stored and sent to the receiver.
    #[error("a callback URL must not contain a user or a password")]
    User,
    /// The URL has a fragment, which would never reach a server.
    #[error("a callback URL must not contain a fragment (#)")]
    Fragment,
    /// The URL contains a literal address that is not permitted.
    #[error(transparent)]
    Refused(#[from] RefusedAddress),
}

impl CallbackUrl {
    /// Parses the URL of a client. Only a literal address is checked here; those of a host name are checked at
    /// delivery.
    ///
    /// # Errors
    /// The first fault of the text.
    pub fn parse(text: &str, allowed: &Allowed) -> Result<Self, CallbackUrlError> {
        if text.len() > URL_BYTES_MAX {
            return Err(CallbackUrlError::TooLong);
        }
        // Browsers drop line breaks and read `\` as `/`. In a callback such characters are mistakes or
        // attacks.
        let odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
        if text.contains(odd) {
            let reason = "the URL contains a space, a control character or a backslash";
            return Err(malformed(reason));
        }
        let has_scheme = |scheme: &str| {
            let head = text.get(..scheme.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(scheme))
        };
        if !has_scheme("http://") && !has_scheme("https://") {
            return Err(CallbackUrlError::Scheme);
        }
        let url = Url::parse(text).map_err(malformed)?;
        if url.as_str().len() > URL_BYTES_MAX {
            return Err(CallbackUrlError::TooLong);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(CallbackUrlError::User);
        }
        if url.fragment().is_some() {
            return Err(CallbackUrlError::Fragment);
        }
        let target = url[Position::BeforePath..].parse().map_err(malformed)?;
        let url = Self { url, target };
        if let Destination::Address(address) = url.destination() {
            allowed.check(address)?;
        }
        Ok(url)
    }

    /// The parsed URL as text, which is what the store keeps.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Whether the scheme is https.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    #[must_use]
    pub fn destination(&self) -> Destination<'_> {
        match self.url.host() {
            Some(Host::Ipv4(address)) => Destination::Address(address.into()),
            Some(Host::Ipv6(address)) => Destination::Address(address.into()),
            Some(Host::Domain(name)) => Destination::Name(name),
            None => Destination::Name(""),
        }
    }

    /// The port, by default that of the scheme.
    #[must_use]
    pub fn port(&self) -> u16 {
        let port = self.url.port_or_known_default();
        port.expect("http and https have ports of their own")
    }

    /// Host and port, as in the header `host`.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }

    #[must_use]
    pub fn target(&self) -> &PathAndQuery {
        &self.target
    }
}

impl fmt::Display for CallbackUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The host of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination<'u> {
    /// A literal address.
    Address(IpAddr),
    /// A host name to resolve.
    Name(&'u str),
}

fn malformed(reason: impl fmt::Display) -> CallbackUrlError {
    CallbackUrlError::Malformed {
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<CallbackUrl, CallbackUrlError> {
        CallbackUrl::parse(text, &Allowed::default())
    }

    #[test]
    fn callback_url_is_parsed_into_its_parts() {
        for (text, encrypted, destination, port, authority, target) in [
            (
                "http://example.com",
                false,
                "example.com",
                80,
                "example.com",
                "/",
            ),
            (
                "HTTPS://Example.COM/a?b=c",
                true,
                "example.com",
                443,
                "example.com",
                "/a?b=c",
            ),
            (
                "https://example.com:443/",
                true,
                "example.com",
                443,
                "example.com",
                "/",
            ),
            (
                "http://example.com:8080?x",
                false,
                "example.com",
                8080,
                "example.com:8080",
                "/?x",
            ),
            (
                "http://bücher.example/ü|[]^`{}\"'<>?ü|[]^`{}\"'<>",
                false,
                "xn--bcher-kva.example",
                80,
                "xn--bcher-kva.example",
                "/%C3%BC|[]^%60%7B%7D%22'%3C%3E?%C3%BC|[]^`{}%22%27%3C%3E",
            ),
        ] {
            let url = parse(text).unwrap();
            assert_eq!(url.is_encrypted(), encrypted, "{text}");
            assert_eq!(url.destination(), Destination::Name(destination), "{text}");
            assert_eq!((url.port(), url.authority()), (port, authority), "{text}");
            assert_eq!(url.target().as_str(), target, "{text}");
        }
        let url = parse("http://[2606:4700::1111]:81/").unwrap();
        let address = "2606:4700::1111".parse().unwrap();
        assert_eq!(url.destination(), Destination::Address(address));
        assert_eq!(url.authority(), "[2606:4700::1111]:81");
    }

    #[test]
    fn callback_url_refuses_other_schemes_users_and_fragments() {
        use CallbackUrlError::{Fragment, Scheme, TooLong, User};
        for (text, error) in [
            ("", Scheme),
            ("example.com", Scheme),
            ("//example.com", Scheme),
            ("ftp://example.com", Scheme),
            ("file:///etc/passwd", Scheme),
            ("http:example.com", Scheme),
            ("http:/example.com", Scheme),
            ("javascript:alert(1)", Scheme),
            ("http://user@example.com", User),
            ("http://:password@example.com", User),
            ("https://user:password@example.com", User),
            ("http://example.com#part", Fragment),
            ("http://example.com/#", Fragment),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        for text in [
            "http://",
            "https://?",
            "http://exa mple.com",
            "http://example.com/a b",
            " http://a",
            "http://exam\nple.com",
            "http://example.com\\@b",
            "http://a:99999",
            "http://[::1",
            "http://[fe80::1%25eth0]/",
            "http://1.2.3.4.5/",
            "http://256.1.1.1/",
            "http://a<b/",
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                matches!(error, CallbackUrlError::Malformed { .. }),
                "{text}: {error}"
            );
        }
        let longest = format!("http://example.com/{}", "a".repeat(URL_BYTES_MAX - 19));
        assert!(parse(&longest).is_ok());
        assert_eq!(parse(&format!("{longest}a")), Err(TooLong));
        // The parser encodes each of these characters as six, so the URL is short as given and too long as
        // sent.
        let swelling = format!("http://example.com/{}", "ü".repeat(900));
        assert_eq!(parse(&swelling), Err(TooLong));
    }

    #[test]
    fn callback_url_literal_address_is_read_in_every_notation() {
        for (text, address) in [
            ("http://127.0.0.1/", "127.0.0.1"),
            ("http://127.1/", "127.0.0.1"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f000001/", "127.0.0.1"),
            ("http://0X7F.0.0.01/", "127.0.0.1"),
            ("http://0177.0.0.1/", "127.0.0.1"),
            ("http://127.0.0.1./", "127.0.0.1"),
            ("http://%31%32%37.0.0.1/", "127.0.0.1"),
            ("http://１２７．０．０．１/", "127.0.0.1"),
            ("http://127。0。0。1/", "127.0.0.1"),
            ("http://0/", "0.0.0.0"),
            ("https://10.0.0.1:8443/x", "10.0.0.1"),
            (
                "http://169.254.169.254/latest/meta-data/",
                "169.254.169.254",
            ),
            ("http://[::1]/", "::1"),
            ("http://[0:0:0:0:0:0:0:1]/", "::1"),
            ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
            ("http://[::ffff:7f00:1]/", "127.0.0.1"),
            ("http://[fd00::1]/", "fd00::1"),
        ] {
            let error = parse(text).unwrap_err();
            let CallbackUrlError::Refused(refused) = error else {
                panic!("{text}: {error}");
            };
            assert_eq!(refused.address.to_string(), address, "{text}");
        }
        let allowed = Allowed::new(vec!["127.0.0.0/8".parse().unwrap()]);
        assert!(CallbackUrl::parse("http://0x7f.1:9/", &allowed).is_ok());
        assert!(CallbackUrl::parse("http://10.0.0.1/", &allowed).is_err());
    }

    proptest! {
        /// The stored text of a URL parses to the same URL.
        #[test]
        fn callback_url_parses_to_itself_again(text in "https?://[a-z0-9.]{1,12}(:[0-9]{1,4})?/\\PC{0,24}") {
            if let Ok(url) = parse(&text) {
                prop_assert_eq!(parse(url.as_str()), Ok(url));
            }
        }
    }
}
