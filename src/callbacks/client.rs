//! Delivers one callback: resolves the name, checks the addresses, connects, signs, sends and judges the response.
//!
//! [`Allowed`] checks every address after the name is resolved, and the connection goes to one that it checked. There
//! is no second lookup in between, so a DNS answer that changes cannot redirect it. Each delivery opens its own
//! connection, ignores the proxies of the environment, follows no redirect, and reads only the head of the response,
//! up to fixed limits.
//!
//! We do not use `reqwest` here: version 0.13 reads response heads of up to 408 KiB, which no setting lowers, and it
//! reports a failed TLS handshake and a refused connection as the same kind of error, although the client may learn of
//! the former only.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::records::{JobId, Timestamp};
use crate::traces;

use super::address::{Allowed, RefusedAddress};
use super::signature::Signer;
use super::url::{CallbackUrl, CallbackUrlError, Destination};

/// Time limit of one attempt as a whole.
pub const DELIVERY_LIMIT: Duration = Duration::from_secs(10);

/// The largest number of addresses of a name to try. Each address gets an equal share of the time.
const ADDRESSES_MAX: usize = 4;

/// Limits of the response head, in bytes and in header fields.
const ANSWER_BYTES_MAX: usize = 16 * 1024;
const ANSWER_FIELDS_MAX: usize = 100;

const USER_AGENT: &str = concat!("halfspace/", env!("CARGO_PKG_VERSION"));

/// Delivers callbacks.
pub struct CallbackClient {
    signer: Signer,
    allowed: Allowed,
    tls: TlsConnector,
    limit: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The address is not permitted, or no address of the name is.
    #[error(transparent)]
    Refused(#[from] RefusedAddress),
    /// The name has no address.
    #[error("the name {name} was not resolved: {source}")]
    Unresolved { name: String, source: io::Error },
    /// The connection was refused or the host cannot be reached.
    #[error("no connection to {address}: {source}")]
    Connect {
        address: SocketAddr,
        source: io::Error,
    },
    /// No address accepted the connection in time.
    #[error("no connection within {} ms", .limit.as_millis())]
    Undialled { limit: Duration },
    /// The TLS handshake failed, for example because of an unknown or wrong certificate.
    #[error("TLS: {0}")]
    Tls(io::Error),
    /// The connection ended before a response, or the response was not HTTP.
    #[error("no answer: {0}")]
    Exchange(hyper::Error),
    /// The response did not arrive in time.
    #[error("no answer within {} ms", .limit.as_millis())]
    TimedOut { limit: Duration },
    /// The receiver redirects the request. We do not follow it, because the new address was never checked.
    #[error("the answer is {status}; redirects are not followed")]
    Redirected { status: StatusCode },
    /// The receiver wants no further attempts (410).
    #[error("the answer is 410 Gone")]
    Gone,
    /// Any other status outside 2xx.
    #[error("the answer is {status}")]
    Status {
        status: StatusCode,
        /// The delay that the receiver asks for.
        retry_after: Option<Duration>,
    },
}

impl DeliveryError {
    /// Whether no connection was made. The client learns no more than that, because any detail would reveal names and
    /// ports of a network that it cannot reach.
    #[must_use]
    pub fn is_before_connection(&self) -> bool {
        matches!(
            self,
            Self::Refused(_)
                | Self::Unresolved { .. }
                | Self::Connect { .. }
                | Self::Undialled { .. }
        )
    }

    /// Whether the receiver used up the time without an answer.
    #[must_use]
    pub fn has_timed_out(&self) -> bool {
        matches!(self, Self::Undialled { .. } | Self::TimedOut { .. })
    }

    /// Whether another attempt is pointless.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Gone)
    }

    /// The delay before the next attempt that the receiver asks for.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// The root certificates that this system trusts. Unreadable certificates are skipped.
#[must_use]
pub fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

impl CallbackClient {
    /// `limit` is the time limit per attempt: [`DELIVERY_LIMIT`], except in tests.
    #[must_use]
    pub fn new(signer: Signer, allowed: Allowed, roots: RootCertStore, limit: Duration) -> Self {
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has cipher suites for both versions of TLS")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            signer,
            allowed,
            tls: TlsConnector::from(Arc::new(config)),
            limit,
        }
    }

    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Parses the callback URL of a client.
    ///
    /// # Errors
    /// The fault of the URL, such as a literal address that is not permitted.
    pub fn accept(&self, text: &str) -> Result<CallbackUrl, CallbackUrlError> {
        CallbackUrl::parse(text, &self.allowed)
    }

    /// Delivers the JSON document `body`, signed with the time `now`.
    ///
    /// The id lets receivers recognise repeated deliveries. We use that of the job, which ends only once.
    ///
    /// # Errors
    /// Any outcome but a response of success (2xx) within the time limit.
    pub async fn deliver(
        &self,
        url: &CallbackUrl,
        id: JobId,
        body: Bytes,
        now: Timestamp,
    ) -> Result<(), DeliveryError> {
        let request = self.request(url, id, body, now);
        let limit = self.limit;
        let deadline = Instant::now() + limit;
        let dialled = timeout_at(deadline, self.dial(url)).await;
        let stream = dialled.map_err(|_| DeliveryError::Undialled { limit })??;
        let exchanged = timeout_at(deadline, self.exchange(stream, url, request)).await;
        let (status, headers) = exchanged.map_err(|_| DeliveryError::TimedOut { limit })??;
        judged(status, &headers, now)
    }

    fn request(
        &self,
        url: &CallbackUrl,
        id: JobId,
        body: Bytes,
        now: Timestamp,
    ) -> Request<Full<Bytes>> {
        let id = id.to_string();
        let seconds = now.milliseconds().div_euclid(1000);
        let signature = self.signer.sign(&id, seconds, &body);
        let fields = [
            ("host", url.authority()),
            ("user-agent", USER_AGENT),
            ("content-type", "application/json"),
            ("connection", "close"),
            ("webhook-id", &id),
            ("webhook-timestamp", &seconds.to_string()),
            ("webhook-signature", &signature),
        ];
        let trace_parent = traces::current().map(|parent| parent.to_string());
        let trace_parent = trace_parent.as_deref().map(|text| ("traceparent", text));
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = url.target().clone().into();
        for (name, value) in fields.into_iter().chain(trace_parent) {
            let value = HeaderValue::from_str(value).expect("hosts, ids and base64 are ASCII");
            request.headers_mut().insert(name, value);
        }
        request
    }

    async fn exchange(
        &self,
        stream: TcpStream,
        url: &CallbackUrl,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, HeaderMap), DeliveryError> {
        if !url.is_encrypted() {
            return answer(stream, request).await;
        }
        let name = server_name(url).map_err(DeliveryError::Tls)?;
        let stream = self.tls.connect(name, stream).await;
        answer(stream.map_err(DeliveryError::Tls)?, request).await
    }

    /// Connects to the first permitted address that accepts the connection.
    async fn dial(&self, url: &CallbackUrl) -> Result<TcpStream, DeliveryError> {
        let found = resolved(url).await?;
        let addresses = permitted(found, &self.allowed)?;
        let limit = self.limit / u32::try_from(addresses.len()).unwrap_or(1).max(1);
        let mut failure = DeliveryError::Undialled { limit: self.limit };
        for address in addresses {
            match timeout(limit, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(source)) => failure = DeliveryError::Connect { address, source },
                Err(_) => {}
            }
        }
        Err(failure)
    }
}

/// The addresses of a URL, at least one. They are not checked yet.
async fn resolved(url: &CallbackUrl) -> Result<Vec<SocketAddr>, DeliveryError> {
    match url.destination() {
        Destination::Address(address) => Ok(vec![SocketAddr::new(address, url.port())]),
        Destination::Name(name) => {
            let unresolved = |source| DeliveryError::Unresolved {
                name: name.to_owned(),
                source,
            };
            let found = tokio::net::lookup_host((name, url.port())).await;
            let found: Vec<_> = found.map_err(unresolved)?.collect();
            if found.is_empty() {
                return Err(unresolved(io::ErrorKind::NotFound.into()));
            }
            Ok(found)
        }
    }
}

/// The first few permitted addresses, in their order.
fn permitted(found: Vec<SocketAddr>, allowed: &Allowed) -> Result<Vec<SocketAddr>, RefusedAddress> {
    let mut refused = None;
    let mut addresses = Vec::new();
    for address in found {
        match allowed.check(address.ip()) {
            Ok(()) => addresses.push(address),
            Err(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    addresses.truncate(ADDRESSES_MAX);
    match refused {
        Some(refusal) if addresses.is_empty() => Err(refusal),
        _ => Ok(addresses),
    }
}

/// The name that the receiver's certificate must contain.
fn server_name(url: &CallbackUrl) -> io::Result<ServerName<'static>> {
    match url.destination() {
        Destination::Address(address) => Ok(ServerName::IpAddress(address.into())),
        Destination::Name(name) => ServerName::try_from(name.to_owned()).map_err(io::Error::other),
    }
}

/// Sends the request and reads the head of the response. The connection ends with this function, and the body
/// stays unread.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, HeaderMap), DeliveryError> {
    let handshake = http1::Builder::new()
        .max_buf_size(ANSWER_BYTES_MAX)
        .max_headers(ANSWER_FIELDS_MAX)
        .handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.map_err(DeliveryError::Exchange)?;
    let mut answer = pin!(sender.send_request(request));
    let mut connection = pin!(connection);
    let answered = tokio::select! {
        biased;
        answered = &mut answer => answered,
        // An ended connection has already stored the response, or the reason why there is none.
        _ = &mut connection => answer.await,
    };
    let (head, _) = answered.map_err(DeliveryError::Exchange)?.into_parts();
    Ok((head.status, head.headers))
}

/// Judges a response by the status codes of the standard.
fn judged(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Result<(), DeliveryError> {
    if status.is_success() {
        Ok(())
    } else if status == StatusCode::GONE {
        Err(DeliveryError::Gone)
    } else if status.is_redirection() {
        Err(DeliveryError::Redirected { status })
    } else {
        let retry_after = retry_after(headers, now);
        Err(DeliveryError::Status {
            status,
            retry_after,
        })
    }
}

/// The delay in the header `Retry-After`, given as a number of seconds or as a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    let milliseconds = i64::try_from(date.unix_timestamp_nanos() / 1_000_000).ok()?;
    let ahead = milliseconds.checked_sub(now.milliseconds())?;
    u64::try_from(ahead).ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callback_client_dials_only_permitted_addresses_of_a_name() {
        let of = |addresses: &[&str]| {
            let found = addresses.iter().map(|address| address.parse().unwrap());
            permitted(found.collect(), &Allowed::default())
        };
        let text = |found: Vec<SocketAddr>| found.iter().map(ToString::to_string).collect();
        let mixed = [
            "10.0.0.1:80",
            "1.1.1.1:80",
            "[::1]:80",
            "[2606:4700::1111]:80",
        ];
        let dialled: Vec<String> = text(of(&mixed).unwrap());
        assert_eq!(dialled, ["1.1.1.1:80", "[2606:4700::1111]:80"]);
        let refused = of(&["10.0.0.1:80", "127.0.0.1:80"]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the service does not connect to 10.0.0.1: private; the operator permits networks with --callback-allow"
        );
        assert_eq!(of(&["1.1.1.1:1"; 100]).unwrap().len(), ADDRESSES_MAX);
        assert!(of(&[]).unwrap().is_empty());
    }
}
