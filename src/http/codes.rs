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
        "The text does not follow the syntax of its Content-Type. The error gives the line and the \
         column."
    SCHEMA "schema" 400 "The body does not match the schema"
        "A field is unknown, missing, duplicate or of the wrong type. The error gives the JSON \
         pointer of the field."
    OUT_OF_RANGE "out-of-range" 400 "A value is outside its range"
        "The error gives the place of the value and the permitted range."
    INVALID_PARAMETER "invalid-parameter" 400 "A parameter is unknown or outside its range"
        "The error names the parameter and the permitted values."
    UNEQUAL_LENGTH "unequal-length" 400 "Examples have different lengths"
        "All examples of one body must have the same number of features."
    WRONG_SHAPE "wrong-shape" 400 "The data of a tensor do not match its shape"
        "The number of values must equal the product of the shape. Nested lists must be rows of \
         that shape. The error gives the place of the surplus or missing values."
    EMPTY_DATA "empty-data" 400 "The data have no examples"
        "Send at least one example with at least one feature."
    BAD_BIT "bad-bit" 400 "A character is not a bit"
        "A bit string consists of the characters 0 and 1. Padding bits must be 0."
    BAD_VALUE "bad-value" 400 "A value is not a finite number"
        "Features must be finite numbers."
    BAD_LABEL "bad-label" 400 "A label is neither 1, -1 or 0 nor a known class"
        "New labels outside tables and LIBSVM must be 1 and -1, or 1 and 0. A model or a session reads its own class \
         names, which the detail lists. The option `labels` names the column of the labels."
    MIXED_LABELS "mixed-labels" 400 "The body mixes two codings of labels"
        "Use either the labels 1 and -1 or the labels 1 and 0 in one body."
    MIXED_LINES "mixed-lines" 400 "The lines have different forms"
        "Give a label on every line or on no line."
    BAD_INDEX "bad-index" 400 "An index is out of range"
        "LIBSVM indices go from 1 to n. Indices of sparse ARFF rows go from 0 to n - 1."
    INDEX_ORDER "index-order" 400 "The indices do not ascend"
        "The indices of a LIBSVM line or of a sparse ARFF row must ascend strictly."
    BAD_FORM "bad-form" 400 "The form does not hold one file after its fields"
        "Put the fields before the file or into the query, and send one file: \
         `curl -F labels=class -F file=@data.csv`."
    BAD_BASE64 "bad-base64" 400 "A base64 text is invalid"
        "Encode packed rows as standard base64 with padding."
    UNSUPPORTED "unsupported" 400 "The body uses an unsupported feature of its format"
        "The error names the unsupported feature and the supported alternatives."
    BAD_OPTION "bad-option" 400 "An option does not fit the format"
        "Some query parameters apply to some formats only. The error names the parameter."
    TOO_DEEP "too-deep" 400 "JSON is nested too deeply"
        "The limit json_depth_max of GET /v1/limits gives the permitted depth."
    TRUNCATED "truncated" 400 "The body ends too early"
        "The body or its compressed stream is truncated."
    BAD_CODING "bad-coding" 400 "The compressed body is damaged"
        "The bytes of the body are not valid for its Content-Encoding."
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
    WRONG_STATE "wrong-state" 409 "The state of the job does not allow the request"
        "An ended job cannot be cancelled; a job that has not ended cannot be deleted."
    DATASET_IN_USE "dataset-in-use" 409 "A job that has not ended uses the dataset"
        "The detail names the job. Cancel the job or wait for its end. Then delete the dataset."
    UNAUTHORIZED "unauthorized" 401 "The request needs an API key"
        "Send the secret of a valid key: `Authorization: Bearer <secret>`. The operator creates \
         keys with `halfspace keys create`."
    TOO_MANY_JOBS "too-many-jobs" 429 "Too many of your jobs are queued"
        "Retry after some of your jobs have started, or cancel some. GET /v1/limits reports the \
         limit and its use."
    TOO_MANY_BYTES "too-many-bytes" 429 "Your storage quota is full"
        "Delete datasets, models or sessions. Deletion is always possible. GET /v1/limits reports \
         the limit and its use."
    TOO_MANY_AT_ONCE "too-many-at-once" 429 "You use your share of concurrent requests"
        "A key gets a permit of a process only while the key holds fewer permits than are free. \
         Retry after one of your requests has ended. The detail names the limit; GET /v1/limits \
         reports its value."
    TOO_MANY_STREAMS "too-many-streams" 429 "Too many event streams are open"
        "Close a stream, or poll the job with GET /v1/jobs/{id}. GET /v1/limits reports the limits."
    TOO_MANY_SESSIONS "too-many-sessions" 429 "Too many sessions exist"
        "Delete a session. Models saved from the session remain. GET /v1/limits reports the limit."
    STALE_POSITION "stale-position" 412 "The session is at another position"
        "The problem reports the position. Resume there, and omit the examples that the session \
         has learnt."
    SESSION_ENDED "session-ended" 409 "The session has ended"
        "The session accepts no more examples. It still predicts, and can be saved as a model."
    SESSION_BUSY "session-busy" 503 "Another request is writing to the session"
        "Only one request can write at a time. Retry after the seconds in Retry-After."
    TOO_LARGE "too-large" 413 "A limit is exceeded"
        "The error names the limit and its value. GET /v1/limits lists all limits."
    UNSUPPORTED_MEDIA_TYPE "unsupported-media-type" 415 "The Content-Type is not supported"
        "The detail lists the supported media types."
    UNKNOWN_CODING "unknown-coding" 415 "The Content-Encoding is not supported"
        "Compress the body at most once, with gzip or zstd."
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
    NO_FEATURE_WEIGHTS "no-feature-weights" 422 "The model has no linear weights"
        "Only the kinds `binary-weights` and `linear` have one weight per feature. The detail gives the \
         reason."
    NO_RECEIPT "no-receipt" 422 "The model has no receipt"
        "Only a training has a receipt that the mistaken examples and the seed reproduce. The detail gives the reason."
    INEXACT_PROGRAM "inexact-program" 422 "The language cannot state the model exactly"
        "A program answers exactly like the service or is refused. The detail names the limit. Python \
         states every model."
    ANSWER_TOO_LONG "answer-too-long" 422 "The answer would be too long"
        "Ask for fewer examples at once, for predictions as application/x-ndjson, or store the data of a construction \
         with `\"store\": true`. The detail names the limit."
    INTRACTABLE "intractable" 422 "The request would take too long"
        "The cost grows exponentially with a part of the request. The detail names this part."
    TOO_MUCH_WORK "too-much-work" 422 "The computation exceeds the time limit of an answer"
        "Request predictions as application/x-ndjson, evaluate in a job, or send fewer examples. \
         GET /v1/limits reports the limit."
    WRONG_STOP "wrong-stop" 422 "The stop conditions do not fit"
        "The learner or the data do not allow this stop condition, or they need another one. The \
         detail names the field."
    WRONG_START "wrong-start" 422 "The training cannot start from the model"
        "The learner must be able to reach the hypothesis of the model with these parameters and \
         data. The detail names the difference."
    CALLBACK_NOT_CONFIGURED "callback-not-configured" 422 "Callbacks are not configured"
        "This service has no secret to sign callbacks. Omit `callback`, or ask the operator to set \
         --callback-secret."
    BAD_CALLBACK "bad-callback" 422 "The callback URL is not permitted"
        "A callback is a URL of http or https without user, password and fragment. The service \
         must be permitted to connect to its address. The detail names the fault."
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
    STORE_LIMIT "store-limit" 503 "The storage of the service is full"
        "The limit applies to all keys together. GET /v1/limits reports the limit. Deletion is \
         always possible."
    STOPPING "stopping" 503 "The service is starting or stopping"
        "Retry after the seconds in Retry-After."
    STALLED "stalled" 503 "A thread of the service is held up"
        "A defect: the log tells since when. Only /livez answers this. Restart the process; jobs continue from their \
         checkpoints."
    UNAVAILABLE "unavailable" 503 "The store does not respond"
        "Retry after the seconds in Retry-After."
    STORAGE_FULL "storage-full" 507 "The disk of the store is full"
        "Reading still works. Delete data, or free space on the disk of the data directory."
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
