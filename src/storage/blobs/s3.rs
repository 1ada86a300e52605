//! Blobs in an object store with the S3 protocol.
//!
//! Every request has a timeout and a few retries, after which it fails with a transient error. The error names the
//! request and the store's reason, but nothing else of the answer, because some stores repeat the request headers in
//! it.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsAuthorizer};
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpRequest, HttpRequestBody, ReqwestConnector,
};
use object_store::multipart::MultipartStore;
use object_store::{BackoffConfig, RetryConfig, path};
use url::Url;

use super::url::Bucket;
use crate::storage::error::StoreError;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long one request may take. A request transfers a few megabytes at most.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(20);

/// Retries of a failed request, and the time after which no retry starts.
const RETRIES_MAX: usize = 3;
const RETRY_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes per part sent to or fetched from a store. Object stores accept no part under 5 MiB except the last.
pub(super) const PART_BYTES: usize = 8 << 20;

/// Unfinished uploads per list request.
const UPLOADS_LISTED: &str = "1000";

/// A setting that is never displayed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretString(String);

impl SecretString {
    /// The secret itself, which the caller must not show.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretString {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("...")
    }
}

/// Address and credentials of an object store. An empty text counts as absent.
#[derive(Clone, Debug)]
pub struct S3Access {
    pub access_key_id: Option<SecretString>,
    pub secret_access_key: Option<SecretString>,
    pub session_token: Option<SecretString>,
    pub region: String,
    /// The address of the server. The default is Amazon's. Hidden, because a wrong value may contain a
    /// secret.
    pub endpoint_url: Option<SecretString>,
}

/// Checks that credentials fit into a request header. The library assumes this.
fn demand_visible(name: &str, text: Option<&String>) -> Result<(), String> {
    if text.is_none_or(|text| text.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Ok(());
    }
    Err(format!(
        "{name} contains a blank or a line break, perhaps at the end"
    ))
}

/// A configured bucket.
pub(super) struct S3 {
    pub(super) store: AmazonS3,
    bucket: Bucket,
    /// For the list of unfinished uploads, which the library does not offer.
    client: HttpClient,
    address: String,
    region: String,
}

/// An upload that was begun but not finished.
pub(super) struct UnfinishedUpload {
    key: path::Path,
    id: String,
    /// The time in the format of the store: RFC 3339 in UTC.
    pub(super) begun_at: String,
}

impl S3 {
    /// Prepares the client. Sends no request.
    ///
    /// # Errors
    /// The name of the wrong setting, without its value.
    pub(super) fn new(bucket: Bucket, access: &S3Access) -> Result<Self, String> {
        let endpoint = access.endpoint()?;
        let builder = builder(&bucket.name, access, endpoint.as_ref())?;
        let options = client_options(endpoint.as_ref());
        let failed = |error: object_store::Error| told(&error.to_string());
        let client = ReqwestConnector::default().connect(&options);
        let mut address = format!("https://s3.{}.amazonaws.com/", access.region);
        if let Some(url) = &endpoint {
            address = url.as_str().to_owned();
        }
        let store = builder.with_client_options(options).build();
        Ok(Self {
            store: store.map_err(failed)?,
            client: client.map_err(failed)?,
            address: format!("{}/{}", address.trim_end_matches('/'), bucket.name),
            region: access.region.clone(),
            bucket,
        })
    }

    /// At most 1,000 unfinished uploads. To list the others, remove these and call again.
    pub(super) async fn unfinished_uploads(&self) -> Result<Vec<UnfinishedUpload>, StoreError> {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("max-uploads", UPLOADS_LISTED)
            .append_pair("prefix", &self.bucket.prefix)
            .append_pair("uploads", "")
            .finish();
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        let uri = format!("{}?{query}", self.address).parse();
        *request.uri_mut() = uri.map_err(StoreError::other)?;
        let credentials = self.store.credentials().get_credential().await;
        let credentials = credentials.map_err(store_error)?;
        let authorizer = AwsAuthorizer::new(&credentials, "s3", &self.region);
        let signed = authorizer.try_authorize(&mut request, None);
        signed.map_err(store_error)?;
        let unanswered = |error| StoreError::unavailable(told(&with_cause(&error)));
        let answer = self.client.execute(request).await.map_err(unanswered)?;
        let status = answer.status();
        let body = answer.into_body().bytes().await.map_err(unanswered)?;
        let body = String::from_utf8_lossy(&body);
        if !status.is_success() {
            let reason = reason(&body).unwrap_or_default();
            let told = format!("unfinished uploads could not be listed: {status}{reason}");
            return Err(StoreError::unavailable(told));
        }
        let uploads = body.split("<Upload>").skip(1);
        Ok(uploads.filter_map(|text| self.upload(text)).collect())
    }

    /// An upload below our prefix. The key of another prefix may begin with the same characters.
    fn upload(&self, text: &str) -> Option<UnfinishedUpload> {
        let key = path::Path::parse(element(text, "Key")?).ok()?;
        let prefix = path::Path::parse(&self.bucket.prefix).ok()?;
        key.prefix_match(&prefix).map(drop)?;
        Some(UnfinishedUpload {
            id: element(text, "UploadId")?.to_owned(),
            begun_at: element(text, "Initiated")?.to_owned(),
            key,
        })
    }

    pub(super) async fn abort(&self, upload: &UnfinishedUpload) -> Result<(), StoreError> {
        let aborted = self.store.abort_multipart(&upload.key, &upload.id).await;
        match aborted {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(store_error(error)),
        }
    }
}

/// Prepares a client for objects of others in a bucket, which follows no redirect: it would lead out of the bucket that
/// the operator allows.
///
/// # Errors
/// The name of the wrong setting, without its value.
pub(in crate::storage) fn source_store(
    bucket: &str,
    access: &S3Access,
) -> Result<AmazonS3, String> {
    let endpoint = access.endpoint()?;
    let builder = builder(bucket, access, endpoint.as_ref())?
        .with_client_options(client_options(endpoint.as_ref()))
        .with_http_connector(NoRedirects {
            is_http: is_http(endpoint.as_ref()),
        });
    builder.build().map_err(|error| told(&error.to_string()))
}

/// Makes HTTP clients that follow no redirect.
#[derive(Debug)]
struct NoRedirects {
    is_http: bool,
}

impl HttpConnector for NoRedirects {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(EXCHANGE_TIMEOUT)
            .https_only(!self.is_http)
            .build();
        let client = client.map_err(|error| object_store::Error::Generic {
            store: "S3",
            source: Box::new(error),
        })?;
        Ok(HttpClient::new(client))
    }
}

fn is_http(endpoint: Option<&Url>) -> bool {
    endpoint.is_some_and(|url| url.scheme() == "http")
}

fn client_options(endpoint: Option<&Url>) -> ClientOptions {
    ClientOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_timeout(EXCHANGE_TIMEOUT)
        .with_allow_http(is_http(endpoint))
}

/// A client of a bucket without its HTTP client. Also provides the cryptography of HTTP clients, so call it first.
fn builder(
    bucket: &str,
    access: &S3Access,
    endpoint: Option<&Url>,
) -> Result<AmazonS3Builder, String> {
    let set = |hidden: &Option<SecretString>| {
        let text = hidden.as_ref().map(|hidden| hidden.0.clone());
        text.filter(|text| !text.is_empty())
    };
    let (Some(id), Some(secret)) = (set(&access.access_key_id), set(&access.secret_access_key))
    else {
        let told = "s3:// needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
        return Err(told.to_owned());
    };
    let token = set(&access.session_token);
    demand_visible("AWS_ACCESS_KEY_ID", Some(&id))?;
    demand_visible("AWS_SECRET_ACCESS_KEY", Some(&secret))?;
    demand_visible("AWS_SESSION_TOKEN", token.as_ref())?;
    // The library's client uses the process-wide cryptography provider. An existing provider is no error.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(&access.region)
        .with_access_key_id(id)
        .with_secret_access_key(secret)
        .with_retry(retries())
        // Some stores do not support bulk deletes.
        .with_config(AmazonS3ConfigKey::DisableBulkDelete, "true");
    if let Some(token) = token {
        builder = builder.with_token(token);
    }
    if let Some(url) = endpoint {
        builder = builder.with_endpoint(url.as_str().trim_end_matches('/'));
    }
    Ok(builder)
}

impl S3Access {
    /// Whether the blobs pass a network unencrypted. The requests are signed, so the secret key itself never does.
    pub fn is_unencrypted(&self) -> bool {
        let url = self.endpoint().ok().flatten();
        url.is_some_and(|url| url.scheme() == "http" && !is_loopback(&url))
    }

    fn endpoint(&self) -> Result<Option<Url>, String> {
        let Some(SecretString(text)) = self.endpoint_url.as_ref().filter(|url| !url.0.is_empty())
        else {
            return Ok(None);
        };
        let wrong = |why: &str| Err(format!("AWS_ENDPOINT_URL: {why}"));
        let Ok(url) = text.parse::<Url>() else {
            return wrong("not a URL");
        };
        if !["http", "https"].contains(&url.scheme()) || !url.has_host() {
            return wrong("the URL needs http:// or https:// and a host");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("the URL must not contain credentials");
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return wrong("the URL must end after the host and the port");
        }
        Ok(Some(url))
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(1),
            base: 2.0,
        },
        max_retries: RETRIES_MAX,
        retry_timeout: RETRY_TIMEOUT,
    }
}

/// Converts an error of the library.
pub(in crate::storage) fn store_error(error: object_store::Error) -> StoreError {
    let told = told(&with_cause(&error));
    let is_full = |sign: &&str| told.contains(*sign);
    if ["507 ", "StorageFull", "QuotaExceeded"].iter().any(is_full) {
        StoreError::Full(told.into())
    } else {
        count_error();
        StoreError::unavailable(told)
    }
}

/// Whether the store does not support the operation and did nothing.
pub(super) fn is_not_implemented(error: &object_store::Error) -> bool {
    let is_named = || element(&with_cause(error), "Code") == Some("NotImplemented");
    matches!(error, object_store::Error::NotImplemented { .. }) || is_named()
}

/// The text of an error with its deepest cause, such as a refused connection.
pub(in crate::storage) fn with_cause(error: &dyn Error) -> String {
    let text = error.to_string();
    let deepest = std::iter::successors(error.source(), |&cause| cause.source()).last();
    match deepest.map(ToString::to_string) {
        Some(cause) if !text.contains(&cause) => format!("{text}: {cause}"),
        _ => text,
    }
}

/// The part of an error's text that may be displayed: everything except the body of an answer, from which
/// only the code and the message are taken.
fn told(text: &str) -> String {
    const STATUS: &str = "status code: ";
    let shown = match text.find(STATUS) {
        Some(at) => {
            let status = at + STATUS.len();
            let length = text[status..].find(':').unwrap_or(text.len() - status);
            &text[..status + length]
        }
        None => text.find("error response: ").map_or(text, |at| &text[..at]),
    };
    let body = &text[shown.len()..];
    format!("{shown}{}", reason(body).unwrap_or_default())
}

/// The reason given by the store.
fn reason(body: &str) -> Option<String> {
    let code = element(body, "Code")?;
    let message = element(body, "Message").unwrap_or_default();
    Some(format!(": {code}: {message}"))
}

/// The text of the first XML element with this name.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (inside, _) = rest.split_once(&format!("</{name}>"))?;
    Some(inside.trim())
}

/// Counts errors for operators, because a service without its blobs still reports ready.
pub(super) fn count_error() {
    metrics::counter!("halfspace_blob_store_errors_total").increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> S3Access {
        let hidden = |text: &str| Some(text.parse::<SecretString>().unwrap());
        S3Access {
            access_key_id: hidden("ada"),
            secret_access_key: hidden("s3cret"),
            session_token: None,
            region: "us-east-1".to_owned(),
            endpoint_url: None,
        }
    }

    fn refused(change: impl FnOnce(&mut S3Access)) -> Option<String> {
        let mut access = access();
        change(&mut access);
        let bucket = Bucket {
            name: "half".to_owned(),
            prefix: String::new(),
        };
        let refused = S3::new(bucket, &access).err();
        assert!(!format!("{access:?} {refused:?}").contains("s3cret"));
        refused
    }

    #[test]
    fn s3_error_names_a_wrong_setting_without_its_value() {
        assert_eq!(refused(|_| {}), None);
        let told = refused(|access| access.secret_access_key = Some(SecretString::default()));
        assert!(told.unwrap().contains("AWS_SECRET_ACCESS_KEY"));
        for endpoint in [
            "s3cret",
            "ftp://s3cret",
            "https://ada:s3cret@host",
            "https://host/s3cret",
        ] {
            let told = refused(|access| access.endpoint_url = Some(endpoint.parse().unwrap()));
            assert!(told.unwrap().contains("AWS_ENDPOINT_URL"), "{endpoint}");
        }
        for endpoint in [
            "",
            "https://host:1",
            "http://127.0.0.1:9000",
            "http://localhost:9000/",
            "http://s3:9000",
        ] {
            let told = refused(|access| access.endpoint_url = Some(endpoint.parse().unwrap()));
            assert_eq!(told, None, "{endpoint}");
        }
        for (endpoint, is_unencrypted) in [
            ("", false),
            ("https://s3:9000", false),
            ("http://localhost:9000", false),
            ("http://s3:9000", true),
        ] {
            let endpoint_url = Some(endpoint.parse().unwrap());
            let access = S3Access {
                endpoint_url,
                ..access()
            };
            assert_eq!(access.is_unencrypted(), is_unencrypted, "{endpoint}");
        }
    }

    #[test]
    fn s3_error_shows_only_code_and_message_of_an_answer() {
        let answer = "Error performing GET http://h/b in 3ms - Server returned non-2xx status code: \
            403 Forbidden: <?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code>\
            <Message>The signature does not match.</Message>\
            <CanonicalRequest>x-amz-security-token:s3cret</CanonicalRequest></Error>";
        let shown = told(answer);
        assert!(
            shown.ends_with("403 Forbidden: SignatureDoesNotMatch: The signature does not match.")
        );
        let shown = told("Server returned non-2xx status code: 502 Bad Gateway: <html>s3cret");
        assert_eq!(
            shown,
            "Server returned non-2xx status code: 502 Bad Gateway"
        );
        assert_eq!(
            told("Server returned error response: s3cret"),
            "Server returned "
        );
        assert_eq!(told("no route"), "no route");
    }
}
