//! The table of error codes: the stable name, the HTTP status, the title and the help text of each.

use axum::http::StatusCode;

/// A kind of error. The name never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    name: &'static str,
    status: u16,
    title: &'static str,
    help: &'static str,
}

macro_rules! codes {
    ($($constant:ident $name:literal $status:literal $title:literal $help:literal)*) => {
        impl Code {
            $(#[doc = $title] pub const $constant: Self = Self {
                name: $name, status: $status, title: $title, help: $help,
            };)*

            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$constant),*];
        }
    };
}

codes! {
    SYNTAX "syntax" 400 "The body does not follow its format"
        "The text does not follow the syntax of its Content-Type, or the bytes are not valid for their \
         Content-Encoding. The error gives the place."
    SCHEMA "schema" 400 "The body does not match the schema"
        "A field is unknown, missing, duplicate or of the wrong type. The error gives the JSON \
         pointer of the field. In a form, put the fields before the file or into the query, and send one file: \
         `curl -F labels=class -F file=@data.csv`."
    OUT_OF_RANGE "out-of-range" 400 "A value is outside its range"
        "The error gives the place of the value and the permitted range."
    INVALID_PARAMETER "invalid-parameter" 400 "A parameter is unknown or outside its range"
        "The error names the parameter and the permitted values."
    WRONG_SHAPE "wrong-shape" 400 "Examples have different lengths, or a tensor another shape"
        "All examples of one body must have the same number of features. The number of values of a tensor must equal \
         the product of its shape, and nested lists must be rows of that shape. The error gives the place of the \
         surplus or missing values."
    EMPTY_DATA "empty-data" 400 "The data have no examples or no features"
        "Send at least one example with at least one feature."
    BAD_VALUE "bad-value" 400 "A value is neither a bit nor a finite number"
        "Features must be finite numbers. A bit string consists of the characters 0 and 1, and packed bits are \
         standard base64 with padding bits of 0."
    BAD_LABEL "bad-label" 400 "A label is neither 1, -1 or 0 nor a known class, or is missing"
        "New labels outside tables and LIBSVM must be 1 and -1, or 1 and 0, in one coding, on every line or on none. A \
         model or a session reads its own class names, which the detail lists. The option `labels` names the column \
         of the labels."
    BAD_INDEX "bad-index" 400 "An index is out of range or out of order"
        "LIBSVM indices go from 1 to n, those of sparse ARFF rows from 0 to n - 1. The indices of a line or row must \
         ascend strictly."
    BAD_NAME "bad-name" 400 "A feature has no valid name, or two values"
        "A name has 1 to 1024 bytes of UTF-8. An example gives each name once, or each time with the same value, and \
         either all features have names or none."
    UNSUPPORTED "unsupported" 400 "The body uses an unsupported feature of its format"
        "The error names the unsupported feature and the supported alternatives."
    BAD_OPTION "bad-option" 400 "An option does not fit the format"
        "Some query parameters apply to some formats only. The error names the parameter."
    TOO_DEEP "too-deep" 400 "JSON is nested too deeply"
        "The limit json_depth_max of GET /v1/limits gives the permitted depth."
    TRUNCATED "truncated" 400 "The body ends too early"
        "The body or its compressed stream is truncated."
    UNREADABLE "unreadable" 400 "The body could not be read"
        "The connection broke before the end of the body."
    FOREIGN_HOST "foreign-host" 403 "The Host header names another host"
        "A service on a loopback address accepts only loopback host names. This rule prevents \
         attacks of web pages by DNS rebinding. The operator can allow names with --allowed-hosts."
    FOREIGN_ORIGIN "foreign-origin" 403 "A web page of another origin sent the request"
        "Browsers state the origin of a page in the headers Origin and Sec-Fetch-Site. The service \
         accepts changes only from its own pages and from the origins in --cors-origins. Clients \
         other than browsers are unaffected."
    NOT_FOUND "not-found" 404 "The resource does not exist"
        "The path does not match a route, or the id in the path is unknown."
    METHOD_NOT_ALLOWED "method-not-allowed" 405 "The path does not support this method"
        "The Allow header lists the supported methods."
    NOT_ACCEPTABLE "not-acceptable" 406 "The accepted media types are not available"
        "The detail lists the available media types."
    TIMEOUT "timeout" 408 "The body arrived too slowly"
        "Send the body at 16 KiB per second or faster."
    WRONG_STATE "wrong-state" 409 "The state of the job or session does not allow the request"
        "An ended job cannot be cancelled. A job that has not ended cannot be deleted, and neither can its dataset: \
         cancel the job or wait for its end. A session that has ended accepts no more examples, but still predicts and \
         can be saved as a model."
    UNAUTHORIZED "unauthorized" 401 "The request needs an API key"
        "Send the secret of a valid key: `Authorization: Bearer <secret>`. The operator creates \
         keys with `halfspace keys create`."
    TOO_MANY_JOBS "too-many-jobs" 429 "Too many of your jobs are queued"
        "Retry after some of your jobs have started, or cancel some. GET /v1/limits reports the \
         limit and its use."
    TOO_MANY_AT_ONCE "too-many-at-once" 429 "Too many requests of this kind at once"
        "A key gets a permit of a process only while the key holds fewer permits than are free. \
         Retry after one of your requests has ended. Instead of following a job, you can poll it with \
         GET /v1/jobs/{id}. The detail names the limit; GET /v1/limits reports its value."
    QUOTA_FULL "quota-full" 429 "Your quota is full"
        "Delete datasets, models or sessions; a retry alone does not help. Deletion is always possible, and models \
         saved from a session remain. GET /v1/limits reports the limit and its use."
    STALE_POSITION "stale-position" 412 "The session is at another position"
        "The problem reports the position. Resume there, and omit the examples that the session \
         has learnt."
    SESSION_BUSY "session-busy" 503 "Another request is writing to the session"
        "Only one request can write at a time. Retry after the seconds in Retry-After."
    TOO_LARGE "too-large" 413 "A limit is exceeded"
        "The error names the limit and its value. GET /v1/limits lists all limits."
    UNSUPPORTED_MEDIA_TYPE "unsupported-media-type" 415 "The Content-Type or Content-Encoding is not supported"
        "The detail lists the supported media types. Compress the body at most once, with gzip or zstd."
    UNKNOWN_LEARNER "unknown-learner" 422 "The learner does not exist"
        "GET /v1/learners lists all learners."
    NOT_ON_LINE "not-on-line" 422 "The learner needs the whole sample"
        "A session learns one example at a time. Train this learner in a job."
    TABLE_OPTION "table-option" 422 "An option does not fit the table, or the table needs an option"
        "The detail names the columns or values of the table and the query parameter that helps."
    UNKNOWN_DATASET "unknown-dataset" 422 "The dataset does not exist"
        "GET /v1/datasets lists all datasets. A deleted dataset cannot be read."
    UNKNOWN_MODEL "unknown-model" 422 "The model does not exist"
        "GET /v1/models lists all models. A deleted model cannot be used."
    UNKNOWN_MODEL_FORMAT "unknown-model-format" 422 "The format of the model file is not supported"
        "A later version or another program wrote the file. The detail names the supported format."
    MODEL_ALTERED "model-altered" 422 "The model file was changed after its export"
        "The sha256 of the file does not match the content. Export the model again. You can change \
         only its name."
    WRONG_MODEL "wrong-model" 422 "The parts of the model file do not match"
        "The parameters, the hypothesis and the learner must match. The error gives the JSON \
         pointer of the mismatch."
    WRONG_DATA "wrong-data" 422 "The data do not fit the learner or the model"
        "GET /v1/learners lists the data that each learner accepts. A model accepts data with its \
         own n and kind."
    INEXPRESSIBLE "inexpressible" 422 "The model has no such form"
        "Only the kinds `binary-weights` and `linear` have one weight per feature, and only a training has a receipt \
         that the mistaken examples and the seed reproduce. A program answers exactly like the service or is \
         refused; Python states every model. The detail gives the reason."
    ANSWER_TOO_LONG "answer-too-long" 422 "The answer would be too long"
        "Ask for fewer examples at once, for predictions as application/x-ndjson, or store the data of a construction \
         with `\"store\": true`. Describe a figure of fewer points or shorter texts. The detail names the limit."
    INTRACTABLE "intractable" 422 "The request would take too long"
        "The cost grows exponentially with a part of the request, or the answer takes longer than \
         answer_seconds_max. The detail names this part or the limit. Request predictions as application/x-ndjson, \
         evaluate in a job, or send fewer examples."
    WRONG_STOP "wrong-stop" 422 "The stop conditions do not fit"
        "The learner or the data do not allow this stop condition, or they need another one. The \
         detail names the field."
    WRONG_START "wrong-start" 422 "The training cannot start from the model"
        "The learner must be able to reach the hypothesis of the model with these parameters and \
         data. The detail names the difference."
    BAD_SOURCE "bad-source" 422 "The source is not permitted or cannot be read"
        "A source is an object of a bucket, s3://bucket/key, within a prefix that the operator allows with --sources. \
         Credentials, queries, fragments, percent-encoding and `..` are refused, and no redirect is followed. The \
         detail names the fault."
    BAD_CALLBACK "bad-callback" 422 "The callback URL is not permitted"
        "A callback is a URL of http or https without user, password and fragment. The service \
         must be permitted to connect to its address, and have a secret to sign callbacks (--callback-secret). The \
         detail names the fault."
    IDEMPOTENCY_IN_FLIGHT "idempotency-in-flight" 409 "An earlier request under this key is still \
                                                       in progress"
        "Retry after the seconds in Retry-After. The answer then shows the thing that the earlier \
         request created."
    IDEMPOTENCY_GONE "idempotency-gone" 410 "The thing created under this key was deleted"
        "The service does not create the thing again. Use a new key for a new request."
    IDEMPOTENCY_MISMATCH "idempotency-mismatch" 422 "The key belongs to a different request"
        "A key belongs to one request: path, query, Content-Type and body. Use a new key for a new \
         request."
    DATA_CORRUPT "data-corrupt" 500 "The stored data are damaged"
        "A blob or a row is missing, truncated, or differs from its digest. The log names the \
         damaged item under the request id. `halfspace check` lists all damage. Restore the item \
         from a backup or an export, or delete the item."
    INTERNAL "internal" 500 "The service has a defect"
        "The request is not at fault. The log has the details under the request id."
    TOO_MANY_CONNECTIONS "too-many-connections" 503 "The client's address holds too many connections"
        "One address can hold at most half of the connections that connections_max allows. \
         Requests on this connection are refused, except /livez and /readyz. Close other \
         connections, or ask the operator to add your proxy to --trusted-proxies."
    QUEUE_FULL "queue-full" 503 "The service is overloaded"
        "Retry after the seconds in Retry-After."
    NO_MEMORY "no-memory" 503 "The service has no free memory for the request"
        "Other requests and jobs use the memory. Retry later, or send fewer examples at once. \
         Uploads of datasets need little memory at any size."
    STOPPING "stopping" 503 "The service is starting or stopping"
        "Retry after the seconds in Retry-After."
    STALLED "stalled" 503 "A thread of the service is held up"
        "A defect: the log tells since when. Only /livez answers this. Restart the process; jobs continue from their \
         checkpoints."
    UNAVAILABLE "unavailable" 503 "The store does not respond"
        "Retry after the seconds in Retry-After."
    STORAGE_FULL "storage-full" 507 "The storage of the service is full"
        "The disk is full, or all keys together use stored_bytes_max: the detail says which. Reading and deleting \
         still work. Delete data, or ask the operator to free space on the disk or to raise the limit."
}

impl Code {
    /// The code with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name == name)
    }

    /// The name in answers and in `/problems/{code}`.
    pub fn name(self) -> &'static str {
        self.name
    }

    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// A short summary, the same for every occurrence.
    pub fn title(self) -> &'static str {
        self.title
    }

    /// The meaning of the code and the remedy.
    pub fn help(self) -> &'static str {
        self.help
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_codes_are_unique_and_have_error_statuses() {
        for code in Code::ALL {
            assert!(code.status().is_client_error() || code.status().is_server_error());
            assert_eq!(Code::find(code.name()), Some(*code));
        }
    }
}
