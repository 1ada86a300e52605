//! The table of error codes: the stable name, the HTTP status, the title and the help text of each code.

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
        "The text is not what its Content-Type says. The error names the line and column."
    SCHEMA "schema" 400 "The body has another shape than the one asked for"
        "A field is unknown, missing, given twice or of another type. The error points at it."
    OUT_OF_RANGE "out-of-range" 400 "A value is outside its range"
        "The error points at the value and says which range is right."
    INVALID_PARAMETER "invalid-parameter" 400 "A parameter is unknown or outside its range"
        "The error names the parameter and says what would be right."
    UNEQUAL_LENGTH "unequal-length" 400 "Examples have different lengths"
        "All examples of one body have the same number of features."
    WRONG_SHAPE "wrong-shape" 400 "A tensor does not hold what its shape says"
        "A tensor has as many values as the product of its shape, and lists in it are rows of that \
         shape. The error points at what is too many or too few."
    EMPTY_DATA "empty-data" 400 "There are no examples"
        "A sample has at least one example of at least one feature."
    BAD_BIT "bad-bit" 400 "A character is no bit"
        "A bit string is made of the characters 0 and 1; padding bits are 0."
    BAD_VALUE "bad-value" 400 "A value is no finite number"
        "Features are finite numbers."
    BAD_LABEL "bad-label" 400 "A label is none of 1, -1 and 0"
        "Labels are 1 and -1, or 1 and 0."
    MIXED_LABELS "mixed-labels" 400 "Labels are coded in two ways"
        "One body has either labels 1 and -1 or labels 1 and 0."
    MIXED_LINES "mixed-lines" 400 "Lines are of different kinds"
        "Either every line has a label or none has."
    BAD_INDEX "bad-index" 400 "An index is no number from 1 to n"
        "LIBSVM indices count from 1, those of sparse ARFF rows from 0."
    INDEX_ORDER "index-order" 400 "Indices do not ascend"
        "The indices of a LIBSVM line, and of a sparse ARFF row, ascend strictly."
    BAD_BASE64 "bad-base64" 400 "A base64 text does not decode"
        "Packed rows are standard base64 with padding."
    UNSUPPORTED "unsupported" 400 "The body has something that is not read here"
        "The format has it and the service does not. The error names it and what would be read."
    BAD_OPTION "bad-option" 400 "An option does not fit the format"
        "Some query parameters are for some formats only."
    TOO_DEEP "too-deep" 400 "JSON is nested too deeply"
        "GET /v1/limits says how deep arrays and objects may nest."
    TRUNCATED "truncated" 400 "The body ends too early"
        "The body, or its compression, was cut off."
    BAD_CODING "bad-coding" 400 "The compressed body is damaged"
        "The body is not what its Content-Encoding says."
    UNREADABLE "unreadable" 400 "The body could not be read"
        "The connection broke while the body was coming in."
    FOREIGN_HOST "foreign-host" 403 "The Host header names another host"
        "A service on a loopback address answers only to loopback names, so that no web page can \
         reach it by a name of its own. Allow a name with --allowed-hosts."
    FOREIGN_ORIGIN "foreign-origin" 403 "A web page of another origin sent the request"
        "Browsers state the origin of a page in the headers Origin and Sec-Fetch-Site. Requests that \
         change something are accepted from pages of this service and of the origins in --cors-origins. \
         Clients that are no browsers are unaffected."
    NOT_FOUND "not-found" 404 "There is nothing here"
        "The path names nothing that exists."
    METHOD_NOT_ALLOWED "method-not-allowed" 405 "The method is not for this path"
        "The Allow header names the methods there are."
    NOT_ACCEPTABLE "not-acceptable" 406 "None of the accepted media types can be given"
        "The detail names the media types there are."
    TIMEOUT "timeout" 408 "The body came too slowly"
        "A body must come in at 16 KiB a second or faster."
    WRONG_STATE "wrong-state" 409 "The state of the thing does not allow this"
        "An ended job cannot be cancelled; a job that has not ended cannot be deleted."
    DATASET_IN_USE "dataset-in-use" 409 "A job that has not ended reads the dataset"
        "The detail names a job. Cancel it, or wait for its end, and delete the dataset then."
    UNAUTHORIZED "unauthorized" 401 "A key is needed"
        "Send the secret of a key that is in force: `Authorization: Bearer <secret>`. Whoever runs the \
         service makes keys with `halfspace keys create`."
    TOO_MANY_JOBS "too-many-jobs" 429 "As many of your jobs wait as may"
        "Try again when some have begun, or cancel some. GET /v1/limits tells the limit and its use."
    TOO_MANY_BYTES "too-many-bytes" 429 "You have stored as much as you may"
        "Delete datasets, models or sessions, which always works. GET /v1/limits tells the limit and \
         its use."
    TOO_MANY_AT_ONCE "too-many-at-once" 429 "You do as much at once as your share allows"
        "Of the permits of a process a key takes one only while it holds fewer than are free. Try again \
         when one of your requests has ended. The detail names the limit, which GET /v1/limits tells."
    TOO_MANY_STREAMS "too-many-streams" 429 "There are as many event streams as may be"
        "Close one, or look at the job now and then: GET /v1/jobs/{id}. GET /v1/limits tells the limits."
    TOO_MANY_SESSIONS "too-many-sessions" 429 "There are as many sessions as may be"
        "Delete a session; models that were saved of it stay. GET /v1/limits tells the limit."
    STALE_POSITION "stale-position" 412 "The session stands at another position"
        "The problem names the position. Go on from there, and leave out what it has learnt."
    SESSION_ENDED "session-ended" 409 "The session has ended"
        "It learns no more. It still predicts, and can be saved as a model."
    SESSION_BUSY "session-busy" 503 "Another request is writing to the session"
        "One request writes at a time. Try again after the seconds that Retry-After names."
    TOO_LARGE "too-large" 413 "A limit is exceeded"
        "The error names the limit and its value. GET /v1/limits lists them all."
    UNSUPPORTED_MEDIA_TYPE "unsupported-media-type" 415 "The Content-Type is not read here"
        "The detail names the media types there are."
    UNKNOWN_CODING "unknown-coding" 415 "The Content-Encoding is not read here"
        "Bodies may be compressed once, with gzip or zstd."
    UNKNOWN_LEARNER "unknown-learner" 422 "There is no such learner"
        "GET /v1/learners lists them."
    NOT_ON_LINE "not-on-line" 422 "The learner needs the whole sample"
        "A session learns one example at a time; train this learner as a job."
    UNKNOWN_DATASET "unknown-dataset" 422 "There is no such dataset"
        "GET /v1/datasets lists them. What was deleted cannot be read any more."
    UNKNOWN_MODEL "unknown-model" 422 "There is no such model"
        "GET /v1/models lists them. What was deleted cannot be used any more."
    UNKNOWN_MODEL_FORMAT "unknown-model-format" 422 "The model is of a form that is not read here"
        "The file is of a later version, or of another program. The detail names the form there is."
    MODEL_ALTERED "model-altered" 422 "The model was altered after its export"
        "Its sha256 is not that of its content. Export it again; only its name may be changed."
    WRONG_MODEL "wrong-model" 422 "The model does not fit together"
        "Parameters, hypothesis and learner of a file must belong to each other. The error points at \
         what does not."
    WRONG_DATA "wrong-data" 422 "The data do not fit"
        "The catalogue says which data a learner takes; a model takes data of its own n and kind."
    ANSWER_TOO_LONG "answer-too-long" 422 "The answer would be too long"
        "Have the data stored as a dataset (`\"store\": true`): the answer then names it."
    INTRACTABLE "intractable" 422 "This would take time beyond all bounds"
        "The cost grows exponentially with something in the request; the detail says with what."
    TOO_MUCH_WORK "too-much-work" 422 "This takes longer than an answer may"
        "Have predictions answered as application/x-ndjson, while they are computed; have a job \
         evaluate; or send the examples in parts. GET /v1/limits tells the limit."
    WRONG_STOP "wrong-stop" 422 "The stop conditions do not fit"
        "The learner or the data do not allow this stop condition, or need another."
    WRONG_START "wrong-start" 422 "The training cannot begin from that model"
        "Its hypothesis must be one that the learner, with these parameters and data, could have \
         come to. The detail says what differs."
    CALLBACK_NOT_CONFIGURED "callback-not-configured" 422 "Callbacks are not configured"
        "This service has no secret to sign callbacks with. Leave the callback out."
    BAD_CALLBACK "bad-callback" 422 "The callback cannot be called"
        "A callback is a URL of http or https, without user, password and fragment, of an address \
         that this service may dial. The detail says what is wrong with this one."
    IDEMPOTENCY_IN_FLIGHT "idempotency-in-flight" 409 "A request under this key has no answer yet"
        "Send the request again after the seconds that Retry-After names: it is then answered with \
         what was made."
    IDEMPOTENCY_GONE "idempotency-gone" 410 "What was made under this key is gone"
        "It was deleted, and is not made a second time. A new request needs a new key."
    IDEMPOTENCY_MISMATCH "idempotency-mismatch" 422 "Another request was sent under this key"
        "A key stands for one request: path, query, Content-Type and body. A new request needs a new \
         key."
    DATA_CORRUPT "data-corrupt" 500 "What is stored is damaged"
        "A blob or a row is missing, cut off, or without the digest that it had when it was written. The \
         log names it under the request id, and `halfspace check` names all that is damaged. Restore \
         the thing from a backup or an export, or delete it."
    INTERNAL "internal" 500 "The service has a defect"
        "Nothing you did; the log has more under the request id."
    TOO_MANY_CONNECTIONS "too-many-connections" 503 "The client's address holds too many connections"
        "One address may hold half of the connections that the limit connections_max allows. Requests \
         on this connection are refused, except /livez and /readyz. Close other connections, or ask the \
         operator to name your proxy in --trusted-proxies."
    QUEUE_FULL "queue-full" 503 "The service has too much to do"
        "Try again after the seconds that Retry-After names."
    NO_MEMORY "no-memory" 503 "There is no memory for the request now"
        "Other requests and jobs have taken the memory for work. Send the request again later, or fewer \
         examples at once. Datasets take little memory, whatever their size."
    STORE_LIMIT "store-limit" 503 "The service has stored as much as it may"
        "The limit is of all owners together; GET /v1/limits tells it. Deleting always works."
    STOPPING "stopping" 503 "The service is starting or stopping"
        "Try again after the seconds that Retry-After names."
    UNAVAILABLE "unavailable" 503 "The store does not answer"
        "Try again after the seconds that Retry-After names."
    STORAGE_FULL "storage-full" 507 "The store is full"
        "Reading still works, and so may deleting; else make room on the disk of the data directory."
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

    /// The HTTP status.
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
    fn codes_are_unique_and_errors() {
        for code in Code::ALL {
            assert!(code.status().is_client_error() || code.status().is_server_error());
            assert_eq!(Code::find(code.name()), Some(*code));
        }
    }
}
