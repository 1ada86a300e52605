//! [`Imports`]: which object of a bucket a request names, in which version and format, and how a job reads it.
//!
//! The request looks at the object once, and the job reads the version that the request saw. The work itself is the
//! task `import`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use halfspace_core::suggestions::question;
use halfspace_formats::{CellKeeper, CharsetFault, ContentCoding, Format, OPTION_NAMES, Options};
use tokio::runtime::Handle;

use crate::records::import::{ImportSpec, SourceVersion};
use crate::records::{JobError, Owner};
use crate::storage::sources::{SourceError, SourceObject};
use crate::storage::{ObjectFacts, StoreError};

use super::config::ImportConfig;
use super::datasets::Datasets;
use super::datasets::encoding_source::{EncodingFault, EncodingSource};
use super::error::JobsError;
use super::models::Models;

/// Time limit for the look at an object, for which a client waits.
const LOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// The media type of bytes about which a client said nothing.
const ANY_BYTES: &str = "application/octet-stream";

/// How this process imports objects of buckets.
pub struct Imports {
    config: Option<Arc<ImportConfig>>,
    datasets: Arc<Datasets>,
    models: Arc<Models>,
}

/// What a job reads, how, and where it stores the dataset.
#[derive(Clone)]
pub struct ImportInputs {
    pub(super) object: SourceObject,
    pub(super) format: Format,
    /// The stated compression. Without one, the first bytes tell.
    pub(super) coding: Option<ContentCoding>,
    pub(super) options: Options,
    pub(super) owner: Owner,
    pub(super) name: Option<String>,
    pub(super) datasets: Arc<Datasets>,
    pub(super) config: Arc<ImportConfig>,
    pub(super) runtime: Handle,
}

impl fmt::Debug for ImportInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImportInputs({:?})", self.object)
    }
}

/// The reason why an object cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportRefusal {
    #[error("this service reads no buckets, because the operator has not set --sources")]
    NotConfigured,
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("the object has {bytes} bytes, more than {limit_name}: {limit}")]
    TooLarge {
        bytes: u64,
        limit_name: &'static str,
        limit: u64,
    },
    /// The stated format is none.
    #[error("{0}")]
    Format(String),
    /// Nothing tells the format.
    #[error(
        "neither the Content-Type of the object nor the extension of its key tells the format; set `format` to one of \
         {0}"
    )]
    NoFormat(String),
    #[error("the Content-Encoding of the object is not supported; the codings are gzip and zstd")]
    Coding,
    #[error("{detail}")]
    Parameter { name: String, detail: String },
    /// The Content-Type of the object, or the stated format, cannot tell the charset.
    #[error(transparent)]
    Charset(#[from] CharsetFault),
    /// The encoding cannot be used.
    #[error(transparent)]
    Encoding(EncodingFault),
    #[error(transparent)]
    Jobs(#[from] JobsError),
}

impl ImportRefusal {
    /// The error of a job that meets the refusal when it begins.
    ///
    /// # Errors
    /// The error of a store, which may answer later.
    pub(super) fn into_job_error(self) -> Result<JobError, StoreError> {
        let code = match self {
            Self::Source(SourceError::Store(error)) | Self::Jobs(JobsError::Store(error)) => {
                return Err(error);
            }
            Self::Source(error) => return Ok(source_error(&error)),
            Self::NotConfigured => "source-refused",
            Self::TooLarge { .. } => "too-large",
            _ => "bad-data",
        };
        Ok(JobError {
            code: code.to_owned(),
            detail: self.to_string(),
        })
    }
}

/// The error of a job whose source cannot be read.
pub(super) fn source_error(error: &SourceError) -> JobError {
    let code = match error {
        SourceError::Missing => "source-missing",
        SourceError::Changed => "source-changed",
        _ => "source-refused",
    };
    JobError {
        code: code.to_owned(),
        detail: error.to_string(),
    }
}

impl Imports {
    pub(super) fn new(
        config: Option<ImportConfig>,
        datasets: &Arc<Datasets>,
        models: &Arc<Models>,
    ) -> Self {
        Self {
            config: config.map(Arc::new),
            datasets: Arc::clone(datasets),
            models: Arc::clone(models),
        }
    }

    /// Asks for the present version of the object that a request names, and decides on its format.
    ///
    /// # Errors
    /// The object cannot be read as data, or the store does not answer.
    pub async fn look(&self, spec: &ImportSpec) -> Result<SourceVersion, ImportRefusal> {
        let config = self.config()?;
        let looked = tokio::time::timeout(LOOK_TIMEOUT, config.sources.look(&spec.source)).await;
        let late = |_| {
            let told = "the object store does not respond in time";
            Err(SourceError::Store(StoreError::unavailable(told)))
        };
        let facts = looked.unwrap_or_else(late)?;
        Ok(SourceVersion {
            media_type: media_type(spec, &facts)?,
            bytes: facts.bytes,
            etag: facts.etag,
            content_encoding: facts.content_encoding,
        })
    }

    /// What a job needs to read this version of the object. Sends no request to the bucket.
    ///
    /// # Errors
    /// A wrong or forbidden request, or errors of the store.
    pub async fn inputs(
        &self,
        owner: &Owner,
        name: Option<&str>,
        spec: &ImportSpec,
        version: &SourceVersion,
    ) -> Result<ImportInputs, ImportRefusal> {
        let config = self.config()?;
        let object = config
            .sources
            .object(&spec.source, version.bytes, &version.etag)?;
        let format = Format::from_media_type(&version.media_type);
        let format = format.ok_or_else(|| ImportRefusal::NoFormat(extensions()))?;
        let limits = match format {
            Format::Json => &config.json_limits,
            _ => &config.limits,
        };
        if version.bytes > limits.body_bytes_max {
            return Err(ImportRefusal::TooLarge {
                bytes: version.bytes,
                limit_name: limits.body_limit_name,
                limit: limits.body_bytes_max,
            });
        }
        let coding = version.content_encoding.as_deref();
        let coding = coding.map(ContentCoding::from_header).transpose();
        let mut options = Options {
            limits: limits.clone(),
            assume: spec.assume,
            cells: Some(CellKeeper::default()),
            ..Options::default()
        };
        let encoding = set_options(&mut options, spec)?;
        options.take_charset(&version.media_type)?;
        if let Some(encoding) = encoding {
            let found = encoding.find(&self.models, &self.datasets, owner).await?;
            let (names, n) = found;
            EncodingSource::apply(&mut options, names, n).map_err(ImportRefusal::Encoding)?;
        }
        Ok(ImportInputs {
            object,
            format,
            coding: coding.map_err(|_| ImportRefusal::Coding)?,
            options,
            owner: owner.clone(),
            name: name.map(str::to_owned),
            datasets: Arc::clone(&self.datasets),
            config: Arc::clone(config),
            runtime: Handle::current(),
        })
    }

    fn config(&self) -> Result<&Arc<ImportConfig>, ImportRefusal> {
        self.config.as_ref().ok_or(ImportRefusal::NotConfigured)
    }
}

/// Sets the options of the request. Returns the encoding that the data must have.
fn set_options(
    options: &mut Options,
    spec: &ImportSpec,
) -> Result<Option<EncodingSource>, ImportRefusal> {
    let mut encoding = None;
    for (name, text) in &spec.parameters {
        let set = match name.as_str() {
            "encoding" => text.parse().map(|source| {
                encoding = Some(source);
                true
            }),
            name => options.set(name, text),
        };
        let detail = match set {
            Ok(true) => continue,
            Ok(false) => unknown(name),
            Err(detail) => detail,
        };
        let name = name.clone();
        return Err(ImportRefusal::Parameter { name, detail });
    }
    Ok(encoding)
}

fn unknown(name: &str) -> String {
    let question = question(name, OPTION_NAMES);
    let known = OPTION_NAMES.join(", ");
    format!("unknown parameter{question}; the parameters are: {known}, encoding")
}

/// The media type as which an object is read: the stated one, or that of the object, or that of its extension. Clients
/// of buckets call any file bytes, so that type counts only if nothing else tells.
fn media_type(spec: &ImportSpec, facts: &ObjectFacts) -> Result<String, ImportRefusal> {
    if let Some(stated) = &spec.format {
        let by_extension = || Format::from_file_name(&format!(".{stated}"));
        let format = Format::from_media_type(stated).or_else(by_extension);
        return match format {
            Some(_) if stated.contains('/') => Ok(stated.clone()),
            Some(format) => Ok(format.media_type().to_owned()),
            None => {
                let detail = format!("the formats are {} and their media types", extensions());
                Err(ImportRefusal::Format(detail))
            }
        };
    }
    let sent = facts.media_type.as_deref().unwrap_or_default();
    let of_object = Format::from_media_type(sent);
    if of_object.is_some_and(|format| format != Format::Octets) {
        return Ok(sent.to_owned());
    }
    let key = spec.source.as_str();
    let packed = [".gz", ".zst"].iter().find_map(|end| key.strip_suffix(end));
    match Format::from_file_name(packed.unwrap_or(key)) {
        Some(format) => Ok(format.media_type().to_owned()),
        None if of_object.is_some() => Ok(ANY_BYTES.to_owned()),
        None => Err(ImportRefusal::NoFormat(extensions())),
    }
}

fn extensions() -> String {
    Format::file_extensions().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(source: &str, format: Option<&str>) -> ImportSpec {
        ImportSpec {
            source: source.to_owned(),
            format: format.map(str::to_owned),
            parameters: std::collections::BTreeMap::new(),
            assume: None,
            max_seconds: None,
        }
    }

    fn told(source: &str, format: Option<&str>, sent: Option<&str>) -> Option<String> {
        let facts = ObjectFacts {
            bytes: 1,
            etag: "1".to_owned(),
            media_type: sent.map(str::to_owned),
            content_encoding: None,
        };
        media_type(&spec(source, format), &facts).ok()
    }

    #[test]
    fn import_takes_the_stated_type_then_that_of_the_object_then_the_extension() {
        const PARQUET: &str = "application/vnd.apache.parquet";
        let key = "s3://bucket/a/b.parquet";
        for (key, format, sent, expected) in [
            (key, None, None, Some(PARQUET)),
            (key, None, Some("application/octet-stream"), Some(PARQUET)),
            (key, None, Some("binary/octet-stream"), Some(PARQUET)),
            (key, None, Some("text/csv"), Some("text/csv")),
            (
                key,
                Some("tsv"),
                Some("text/csv"),
                Some("text/tab-separated-values"),
            ),
            (
                key,
                Some("text/csv; charset=utf-8"),
                None,
                Some("text/csv; charset=utf-8"),
            ),
            (key, Some("doc"), Some("text/csv"), None),
            (
                "s3://bucket/b.csv.gz",
                None,
                Some("application/gzip"),
                Some("text/csv"),
            ),
            ("s3://bucket/b.CSV.zst", None, None, Some("text/csv")),
            (
                "s3://bucket/b",
                None,
                Some("application/octet-stream"),
                Some(ANY_BYTES),
            ),
            ("s3://bucket/b", None, Some("text/plain"), None),
            ("s3://bucket.csv/b", None, None, None),
        ] {
            assert_eq!(
                told(key, format, sent).as_deref(),
                expected,
                "{key} {format:?} {sent:?}"
            );
        }
    }
}
