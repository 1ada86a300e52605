//! Deliveries to a test server on the loopback address that responds well, badly or not at all.

mod receiver;

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::RootCertStore;

use self::receiver::{Received, Receiver, ReceiverResponse, self_made};
use super::{
    Allowed, CallbackClient, CallbackUrl, CallbackUrlError, DeliveryError, Secret, Signer,
};
use crate::records::{JobId, Timestamp};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY: &str = r#"{"type":"job.succeeded"}"#;

/// Longer than any exchange within one machine takes.
const AMPLE: Duration = Duration::from_secs(30);

fn signer() -> Signer {
    let secret: Secret = SECRET.parse().unwrap();
    Signer::new(vec![secret]).unwrap()
}

fn loopback() -> Allowed {
    Allowed::new(vec!["127.0.0.0/8".parse().unwrap()])
}

/// A client that may connect to loopback and trusts no certificate.
fn client(limit: Duration) -> CallbackClient {
    CallbackClient::new(signer(), loopback(), RootCertStore::empty(), limit)
}

fn now() -> Timestamp {
    Timestamp::from_milliseconds(1_700_000_000_999)
}

fn id() -> JobId {
    JobId::new(now(), [5; 10])
}

async fn deliver(client: &CallbackClient, url: &str) -> Result<(), DeliveryError> {
    // The URL comes from the store. The client that accepted it permitted more addresses.
    let url = CallbackUrl::parse(url, &loopback()).unwrap();
    client.deliver(&url, id(), Bytes::from(BODY), now()).await
}

/// The outcome of a delivery to a receiver that gives this response.
async fn outcome(answer: ReceiverResponse) -> Result<(), DeliveryError> {
    let receiver = Receiver::plain(vec![answer]).await;
    let url = format!("http://{}/", receiver.address);
    deliver(&client(AMPLE), &url).await
}

fn assert_signed(received: &Received) {
    assert_eq!(received.header("webhook-id"), id().to_string());
    assert_eq!(received.header("webhook-timestamp"), "1700000000");
    let signature = signer().sign(&id().to_string(), 1_700_000_000, received.body.as_bytes());
    assert_eq!(received.header("webhook-signature"), signature);
    assert_eq!(received.body, BODY);
}

#[tokio::test]
async fn a_callback_arrives_signed_and_whole() {
    let mut receiver = Receiver::plain(vec![ReceiverResponse::status("204 No Content")]).await;
    let port = receiver.address.port();
    let url = format!("http://127.0.0.1:{port}/hook/a%20b?job=1&x=%C3%BC");
    deliver(&client(AMPLE), &url).await.unwrap();
    let received = receiver.request().await;
    assert_eq!(received.line, "POST /hook/a%20b?job=1&x=%C3%BC HTTP/1.1");
    assert_signed(&received);
    for (name, value) in [
        ("host", format!("127.0.0.1:{port}")),
        (
            "user-agent",
            format!("halfspace/{}", env!("CARGO_PKG_VERSION")),
        ),
        ("content-type", "application/json".to_owned()),
        ("content-length", BODY.len().to_string()),
        ("connection", "close".to_owned()),
    ] {
        assert_eq!(received.header(name), value);
    }
    assert_eq!(received.headers.len(), 8, "{received:?}");
}

#[tokio::test]
async fn callback_succeeds_only_with_a_2xx_status() {
    for line in ["200 OK", "202 Accepted", "299 Odd"] {
        outcome(ReceiverResponse::status(line)).await.unwrap();
    }
    for (line, expected) in [
        ("400 Bad Request", 400),
        ("404 Not Found", 404),
        ("429 Too Many Requests", 429),
        ("500 Internal Server Error", 500),
        ("600 Beyond", 600),
    ] {
        let error = outcome(ReceiverResponse::status(line)).await.unwrap_err();
        assert!(!error.is_final());
        let DeliveryError::Status { status, .. } = error else {
            panic!("{line}: {error}");
        };
        assert_eq!(status.as_u16(), expected);
    }
    let gone = outcome(ReceiverResponse::status("410 Gone"))
        .await
        .unwrap_err();
    assert!(matches!(gone, DeliveryError::Gone) && gone.is_final());
}

#[tokio::test]
async fn callback_client_does_not_read_the_response_body() {
    let endless = "HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\nand so on";
    outcome(ReceiverResponse::Text(endless.to_owned()))
        .await
        .unwrap();
}

#[tokio::test]
async fn callback_redirect_is_a_failure_and_not_followed() {
    let mut elsewhere = Receiver::plain(vec![ReceiverResponse::status("200 OK")]).await;
    for status in [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::TEMPORARY_REDIRECT,
    ] {
        let location = format!("http://{}/", elsewhere.address);
        let answer = format!("HTTP/1.1 {status}\r\nlocation: {location}\r\n\r\n");
        let error = outcome(ReceiverResponse::Text(answer)).await.unwrap_err();
        assert!(!error.is_final());
        assert!(error.to_string().contains("not followed"), "{error}");
        let DeliveryError::Redirected { status: told } = error else {
            panic!("{status}: {error}");
        };
        assert_eq!(told, status);
    }
    // This request is the first to reach the receiver, so the client did not follow the redirect.
    let url = format!("http://{}/first", elsewhere.address);
    deliver(&client(AMPLE), &url).await.unwrap();
    assert_eq!(elsewhere.request().await.line, "POST /first HTTP/1.1");
}

#[tokio::test]
async fn callback_to_a_silent_receiver_times_out() {
    let mut receiver = Receiver::plain(vec![ReceiverResponse::Silence]).await;
    let url = format!("http://{}/", receiver.address);
    let error = deliver(&client(Duration::from_millis(50)), &url).await;
    let error = error.unwrap_err();
    assert!(matches!(error, DeliveryError::TimedOut { .. }), "{error}");
    assert_signed(&receiver.request().await);
}

#[tokio::test]
async fn callback_with_a_malformed_response_fails() {
    let long_head = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(100_000));
    let many_fields = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: x\r\n".repeat(1000));
    for answer in [
        ReceiverResponse::Close,
        ReceiverResponse::Text(String::new()),
        ReceiverResponse::Text("HTTP/1.1 200 OK\r\ncontent-le".to_owned()),
        ReceiverResponse::Text("SSH-2.0-OpenSSH_9.2\r\n".to_owned()),
        ReceiverResponse::Text(long_head),
        ReceiverResponse::Text(many_fields),
    ] {
        let error = outcome(answer).await.unwrap_err();
        assert!(matches!(error, DeliveryError::Exchange(_)), "{error}");
    }
}

#[tokio::test]
async fn callback_retry_repeats_the_same_message() {
    let answers = ["500 Internal Server Error", "200 OK"].map(ReceiverResponse::status);
    let mut receiver = Receiver::plain(answers.to_vec()).await;
    let url = format!("http://{}/", receiver.address);
    assert!(deliver(&client(AMPLE), &url).await.is_err());
    assert!(deliver(&client(AMPLE), &url).await.is_ok());
    let (first, second) = (receiver.request().await, receiver.request().await);
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_signed(&second);
}

#[tokio::test]
async fn callback_failure_carries_retry_after() {
    for (value, seconds) in [
        ("120", Some(120)),
        ("0", Some(0)),
        // 37 seconds after `now` without its milliseconds.
        ("Tue, 14 Nov 2023 22:13:57 GMT", Some(36)),
        ("Tue, 14 Nov 2023 22:13:19 GMT", None),
        ("-5", None),
        ("soon", None),
    ] {
        let head = format!("HTTP/1.1 503 Service Unavailable\r\nretry-after: {value}\r\n\r\n");
        let error = outcome(ReceiverResponse::Text(head)).await.unwrap_err();
        let asked = error.retry_after().map(|asked| asked.as_secs());
        assert_eq!(asked, seconds, "{value}");
    }
}

#[tokio::test]
async fn callback_to_a_refused_address_opens_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let refuses = CallbackClient::new(signer(), Allowed::default(), RootCertStore::empty(), AMPLE);
    // A literal address, an IPv4-mapped one and a name.
    for host in ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost"] {
        let url = format!("http://{host}:{}/", address.port());
        let error = deliver(&refuses, &url).await.unwrap_err();
        let DeliveryError::Refused(refused) = error else {
            panic!("{host}: {error}");
        };
        assert_eq!(refused.kind, "loopback");
    }
    let own = TcpStream::connect(address).await.unwrap();
    let (_, first) = listener.accept().await.unwrap();
    assert_eq!(first, own.local_addr().unwrap());
}

#[tokio::test]
async fn callback_to_a_name_with_an_allowed_address_is_delivered() {
    let mut receiver = Receiver::plain(vec![ReceiverResponse::status("200 OK")]).await;
    let port = receiver.address.port();
    deliver(&client(AMPLE), &format!("http://localhost:{port}/"))
        .await
        .unwrap();
    let received = receiver.request().await;
    assert_eq!(received.header("host"), format!("localhost:{port}"));
}

#[tokio::test]
async fn callback_url_with_a_refused_literal_address_is_not_accepted() {
    let refuses = CallbackClient::new(signer(), Allowed::default(), RootCertStore::empty(), AMPLE);
    let error = refuses.accept("http://127.0.0.1/").unwrap_err();
    assert!(matches!(error, CallbackUrlError::Refused(_)), "{error}");
    assert!(refuses.accept("http://localhost/").is_ok());
    assert!(client(AMPLE).accept("http://127.0.0.1/").is_ok());
}

#[tokio::test]
async fn callback_to_an_unresolved_name_or_a_closed_port_fails() {
    // A label of more than 63 characters fails in the resolver without a query.
    let nowhere = format!("http://{}.invalid/", "a".repeat(70));
    let error = deliver(&client(AMPLE), &nowhere).await.unwrap_err();
    assert!(matches!(error, DeliveryError::Unresolved { .. }), "{error}");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = deliver(&client(AMPLE), &format!("http://{address}/")).await;
    let error = error.unwrap_err();
    assert!(matches!(error, DeliveryError::Connect { .. }), "{error}");
}

#[tokio::test]
async fn callback_https_needs_a_trusted_certificate_of_the_name() {
    let answers = || vec![ReceiverResponse::status("200 OK")];
    let trusting = |certificate| {
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        CallbackClient::new(signer(), loopback(), roots, AMPLE)
    };

    let (acceptor, certificate) = self_made("localhost");
    let mut receiver = Receiver::encrypted(answers(), acceptor.clone()).await;
    let url = format!("https://localhost:{}/", receiver.address.port());
    deliver(&trusting(certificate.clone()), &url).await.unwrap();
    assert_signed(&receiver.request().await);

    let receiver = Receiver::encrypted(answers(), acceptor.clone()).await;
    let url = format!("https://localhost:{}/", receiver.address.port());
    let error = deliver(&client(AMPLE), &url).await.unwrap_err();
    assert!(matches!(error, DeliveryError::Tls(_)), "{error}");

    let receiver = Receiver::encrypted(answers(), acceptor).await;
    let url = format!("https://{}/", receiver.address);
    let error = deliver(&trusting(certificate), &url).await.unwrap_err();
    assert!(matches!(error, DeliveryError::Tls(_)), "{error}");

    let receiver = Receiver::plain(answers()).await;
    let url = format!("https://{}/", receiver.address);
    let error = deliver(&client(Duration::from_millis(200)), &url).await;
    assert!(error.is_err(), "a plain server is not spoken to");
}
