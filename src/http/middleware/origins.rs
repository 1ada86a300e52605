//! Protection against web pages of other origins.
//!
//! Such a page can neither change nor read anything unless the settings name its origin. Browsers state the origin of
//! a page in `Origin` and `Sec-Fetch-Site`, which the page cannot forge. Other clients send neither header, so they
//! never notice these checks.

use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use tower_http::cors::{AllowOrigin, CorsLayer};
use tower_http::csrf::{ConfigError, CsrfLayer, ProtectionError};

use crate::http::authenticator::Authenticator;
use crate::http::problem::{Code, Problem};

/// Origins of the web pages that may use the service; see `--cors-origins`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// Only pages of this service.
    #[default]
    Own,
    /// Pages of this service and of the listed origins.
    Listed(Vec<String>),
    /// Every page until the first API key is created; then [`Origins::Own`].
    All,
}

impl Origins {
    /// Parses the values of the setting.
    ///
    /// # Errors
    /// A message about the value that is not an origin.
    pub fn parse(values: &[String]) -> Result<Self, String> {
        match values {
            [] => Ok(Self::Own),
            [all] if all == "*" => Ok(Self::All),
            listed if listed.iter().any(|origin| origin == "*") => {
                Err("`*` cannot be combined with other origins".to_owned())
            }
            listed => {
                let origins = Self::Listed(listed.to_vec());
                let _ = origins.csrf().map_err(|error| error.to_string())?;
                let plain = listed.iter().find(|origin| !is_as_browsers_write(origin));
                match plain {
                    Some(origin) => Err(format!(
                        "`{origin}` is not an origin as browsers write it. Give the scheme, the \
                         host in lower case and a port other than the default, without a path, as \
                         in https://example.com"
                    )),
                    None => Ok(origins),
                }
            }
        }
    }

    /// The layer that refuses pages of other origins.
    pub fn guard(
        &self,
        authenticator: &Authenticator,
    ) -> Option<CsrfLayer<impl Fn(ProtectionError) -> Response + Clone + use<>>> {
        let (is_all, keys) = (*self == Self::All, authenticator.clone());
        let csrf = self.csrf().ok()?;
        let csrf = csrf.with_insecure_bypass(move |_, _| is_all && !keys.has_keys());
        Some(csrf.with_rejection_response(move |_: ProtectionError| foreign(is_all)))
    }

    fn csrf(&self) -> Result<CsrfLayer, ConfigError> {
        let trusted: &[String] = match self {
            Self::Listed(origins) => origins,
            Self::Own | Self::All => &[],
        };
        let mut origins = trusted.iter();
        origins.try_fold(CsrfLayer::new(), |layer, origin| {
            layer.add_trusted_origin(origin)
        })
    }

    /// The layer that lets browsers show answers to pages of other origins.
    pub fn cors(&self, authenticator: &Authenticator) -> Option<CorsLayer> {
        let origins = match self {
            // Without the layer, browsers hide every answer from pages of other origins.
            Self::Own => return None,
            Self::Listed(origins) => {
                AllowOrigin::list(origins.iter().filter_map(|origin| origin.parse().ok()))
            }
            Self::All => {
                let keys = authenticator.clone();
                AllowOrigin::predicate(move |_, _| !keys.has_keys())
            }
        };
        let layer = CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            .allow_headers([
                header::ACCEPT,
                header::AUTHORIZATION,
                header::CONTENT_ENCODING,
                header::CONTENT_TYPE,
                header::IF_MATCH,
                HeaderName::from_static("idempotency-key"),
                HeaderName::from_static("last-event-id"),
                HeaderName::from_static("prefer"),
                HeaderName::from_static("x-request-id"),
            ])
            .expose_headers([
                header::ETAG,
                header::LOCATION,
                header::RETRY_AFTER,
                HeaderName::from_static("idempotency-replayed"),
                HeaderName::from_static("preference-applied"),
                HeaderName::from_static("x-request-id"),
            ]);
        Some(layer)
    }
}

fn foreign(is_all: bool) -> Response {
    let detail = match is_all {
        true => {
            "A web page of another origin must not send this request: `*` in --cors-origins ended \
             when the first API key was created. The operator can list single origins there."
        }
        false => {
            "A web page of another origin must not send this request. The operator can allow \
             origins in --cors-origins."
        }
    };
    Problem::parameter(Code::FOREIGN_ORIGIN, "Origin", detail).into_response()
}

/// Returns whether browsers write this origin in exactly this way.
fn is_as_browsers_write(origin: &str) -> bool {
    // A `*` inside a host would be a literal name and match no page.
    let is_plain = HeaderValue::from_str(origin).is_ok() && !origin.contains('*');
    let parsed = url::Url::parse(origin);
    is_plain && parsed.is_ok_and(|url| url.origin().ascii_serialization() == origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        let parse = |values: &[&str]| {
            let values: Vec<_> = values.iter().map(|value| (*value).to_owned()).collect();
            Origins::parse(&values)
        };
        assert_eq!(parse(&[]), Ok(Origins::Own));
        assert_eq!(parse(&["*"]), Ok(Origins::All));
        assert!(parse(&["https://example.com", "http://localhost:3000"]).is_ok());
        for wrong in [
            "null",
            "example.com",
            "https://example.com/",
            "https://example.com:443",
            "https://Example.com",
            "ftp://example.com",
            "https://*.example.com",
            "",
            "https://",
        ] {
            assert!(parse(&[wrong]).is_err(), "{wrong}");
        }
        assert!(parse(&["*", "https://example.com"]).is_err());
    }
}
