//! The limits of the service. [`Limits`] documents each, and gives those that an operator can change a flag, an
//! environment variable, a default and a range. It also derives the quotas for the store and the limits for the readers
//! of request bodies.
//!
//! The routes check the limits; no limit knows its route. A doc comment says what is limited, then why, and last, if an
//! operator can set the limit, when. The pages `limits.md` and `settings.md` of the reference show these paragraphs.

use clap::builder::{RangedU64ValueParser, Resettable};
use clap::{Args, Command, FromArgMatches};
use halfspace_core::memory::MemoryBudget;
use serde::Serialize;
use utoipa::ToSchema;

use crate::records::schedule::ANSWER_SECONDS_DEFAULT;
use crate::records::session::{MODEL_ENTRIES_MAX, SESSION_NAMES_MAX};
use crate::storage::{Quotas, Usage};

/// The largest value of a limit. Twice this value still fits in 64 bits.
pub const COUNT_MAX: u64 = 1 << 62;

/// Longest time in seconds that a client may ask to wait.
pub const WAIT_SECONDS_MAX: u64 = 60;

/// Most pairs in a query. All pairs are held in memory and compared.
pub const QUERY_PAIRS_MAX: u64 = 1_000;

/// Jobs that one request may name.
pub const JOB_IDS_MAX: u32 = 1_000;

/// Examples per request to a session that is not a JSON document.
pub const SESSION_LINES_MAX: u64 = 1_000_000;

/// The default limits on stored bytes where the disk is larger.
const STORED_BYTES_DEFAULT: u64 = 1 << 40;
const STORED_BYTES_PER_KEY_DEFAULT: u64 = 1 << 38;
/// The default limit on the waiting jobs of a key, where the limit of all keys is no larger than its own default.
const JOBS_QUEUED_PER_KEY_DEFAULT: u64 = 20_000;
/// The largest limit of seconds: about 32 years.
const SECONDS_MAX: f64 = 1e9;

/// The default limits of the readers of all formats.
const FORMATS: halfspace_formats::ParseLimits = halfspace_formats::ParseLimits::DEFAULT;

/// Most dimensions of an example. A block of 64 rows of bits then takes 8 MiB.
pub const N_MAX: u64 = FORMATS.n_max as u64;

/// Bytes of a decompressed JSON body. What it says is held in memory as a whole.
const JSON_BODY_BYTES_MAX: u64 = 256 << 20;

/// Bytes of a body per second of computing, of which a slow machine still reads any format.
const READ_BYTES_PER_SECOND: f64 = (32_u64 << 20) as f64;

/// Limits in force. The error of a refused request names its limit as here.
#[derive(Args, Clone, Debug, PartialEq, Serialize, ToSchema)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Features per example, unless the examples come as LIBSVM and have few active ones.
    ///
    /// A block of 64 rows of bits then takes 8 MiB. Indices go up to 2^32 - 2, and the memory of a task limits what it
    /// can do with them.
    #[arg(skip = N_MAX)]
    pub n_max: u64,
    /// Distinct names of features in a body or a model.
    ///
    /// A model has a weight for each name, and each class of a committee has its own.
    #[arg(skip = FORMATS.names_max as u64)]
    pub names_max: u64,
    /// Names of an example together with their conjunctions.
    ///
    /// 1,447 names have 1,047,628 conjunctions of at most two names.
    #[arg(skip = halfspace_formats::EXAMPLE_NAMES_MAX)]
    pub example_names_max: u64,
    /// Classes that the labels of new data may name.
    ///
    /// A training has a hypothesis for each class, and shows every example to all of them.
    #[arg(skip = halfspace_formats::CLASSES_MAX as u64)]
    pub classes_max: u64,
    /// Bytes of a body after decompression, in any format except JSON, and of the examples that are stored from it as a
    /// dataset, packed or as doubles.
    ///
    /// Eight uploads at once then take at most 32 GiB of disk.
    ///
    /// Set it higher when datasets are larger than 4 GiB, and lower to refuse large uploads before they take disk and
    /// time.
    #[arg(long, env = "HALFSPACE_BODY_BYTES_MAX", default_value_t = FORMATS.body_bytes_max,
        global = true, value_parser = count())]
    pub body_bytes_max: u64,
    /// Bytes of an object of a bucket that becomes a dataset, after decompression, and of the examples that are stored
    /// from it. Objects of JSON have the limit `json_body_bytes_max`.
    ///
    /// No connection of a client waits for an import, so it may be larger than a body; a job that reads Parquet or XLSX
    /// keeps the object on disk meanwhile.
    ///
    /// Set it higher when objects are larger than 8 GiB, together with `--blob-cache-bytes-max` if the blobs are in a
    /// bucket, and lower when the disk below `--data-dir` is small.
    #[arg(long, env = "HALFSPACE_SOURCE_BYTES_MAX", default_value_t = 8 << 30,
        global = true, value_parser = count())]
    pub source_bytes_max: u64,
    /// Bytes of a decompressed JSON body.
    ///
    /// What a JSON body says is held in memory as a whole; for more data, choose a format that is read in parts.
    #[arg(skip = JSON_BODY_BYTES_MAX)]
    pub json_body_bytes_max: u64,
    /// Average number of decompressed bytes per compressed byte, in bodies of more than 16 MiB after decompression.
    ///
    /// DEFLATE packs at most 1,032 bytes into one, so this refuses bombs and hardly any data.
    #[arg(skip = FORMATS.decompression_ratio_max)]
    pub decompression_ratio_max: u64,
    /// Average number of stored bytes per byte of the body as sent, in datasets of more than 64 MiB.
    ///
    /// A few bytes of a compressed body may stand for gibibytes; 64 MiB are eight dense rows of 1,048,576 numbers.
    #[arg(skip = 1000_u64)]
    pub stored_ratio_max: u64,
    /// Depth of nested arrays and objects in JSON.
    ///
    /// It bounds the recursion of the parser; requests of this API nest about ten levels deep.
    #[arg(skip = FORMATS.json_depth_max as u32)]
    pub json_depth_max: u32,
    /// Bytes per line.
    ///
    /// A row of 1,048,576 numbers of 32 characters each is so long.
    #[arg(skip = FORMATS.line_bytes_max as u64)]
    pub line_bytes_max: u64,
    /// Bytes of the packed data of a job. The same number limits the state of the job besides its data.
    ///
    /// A process computes several jobs at once, so a single one gets a part of its memory.
    ///
    /// Set it higher when workers have gigabytes to spare and clients ask for separability or margins of larger data.
    #[arg(long, env = "HALFSPACE_STATE_BYTES_MAX", default_value_t = FORMATS.state_bytes_max,
        global = true, value_parser = count())]
    pub state_bytes_max: u64,
    /// Bytes of memory for one request or job while no other request or job uses memory.
    ///
    /// What needs more can never run in this process, so waiting would be no use.
    #[arg(skip = MemoryBudget::unlimited().bytes_max())]
    pub memory_bytes_max: u64,
    /// Seconds of computing that a job may ask for.
    ///
    /// A forgotten job frees its worker after a day.
    ///
    /// Set it lower when no job may compute for a day, and higher when a training needs longer.
    #[arg(long, env = "HALFSPACE_SECONDS_MAX", default_value_t = 86_400.0, global = true,
        value_parser = seconds)]
    pub seconds_max: f64,
    /// Estimated seconds of one core for an experiment, a grid or a comparison, summed over all its parts.
    ///
    /// One request can plan ten thousand trainings, so their sum has a limit of its own.
    ///
    /// Set it higher when sweeps on a cluster need more than a day of one core.
    #[arg(long, env = "HALFSPACE_PARTS_SECONDS_MAX", default_value_t = 86_400.0,
        global = true, value_parser = seconds)]
    pub parts_seconds_max: f64,
    /// Points of the grid of an experiment.
    ///
    /// A figure hardly shows more points, and each part of the job keeps counts of all of them.
    #[arg(skip = halfspace_core::experiments::POINTS_MAX)]
    pub experiment_points_max: u64,
    /// Trainings per grid.
    ///
    /// Each training is a job in the queue, where a key may have 20,000.
    #[arg(skip = crate::records::grid::TRAININGS_MAX)]
    pub grid_trainings_max: u32,
    /// Learners per comparison.
    ///
    /// Five settings of each of the 17 learners fit.
    #[arg(skip = crate::records::compare::LEARNERS_MAX as u64)]
    pub compare_learners_max: u64,
    /// Folds per comparison.
    ///
    /// Each fold is one more training of every learner.
    #[arg(skip = crate::records::compare::FOLDS_MAX)]
    pub compare_folds_max: u32,
    /// Jobs per request that cancels or deletes several jobs.
    ///
    /// The client waits while one job after the other is cancelled or deleted.
    #[arg(skip = JOB_IDS_MAX)]
    pub job_ids_max: u32,
    /// Bytes of the requests of all parts of a job. Each training of a grid and each part of an experiment
    /// has a request of its own.
    ///
    /// All of these requests are made and stored at once.
    #[arg(skip = crate::records::job::PARTS_REQUEST_BYTES_MAX)]
    pub parts_request_bytes_max: u64,
    /// Waiting jobs of all keys together.
    ///
    /// Waiting jobs take rows of the store and keep their data, even if no process computes them.
    ///
    /// Set it higher when HalfspaceQueueFull fires although the workers keep up on average.
    #[arg(long, env = "HALFSPACE_JOBS_QUEUED_MAX", default_value_t = 100_000, global = true,
        value_parser = count())]
    pub jobs_queued_max: u64,
    /// Waiting jobs per key; by default 20,000, or a fifth of `jobs_queued_max` if that is more.
    ///
    /// One key must not fill the queue alone.
    ///
    /// Set it when keys without a quota of their own may queue fewer or more jobs.
    #[arg(long, env = "HALFSPACE_JOBS_QUEUED_PER_KEY_MAX", global = true, value_parser = count())]
    #[schema(value_type = u64)]
    pub jobs_queued_per_key_max: Option<u64>,
    /// Stored bytes of all keys together: datasets, data of jobs that have not ended, models, and the states and logs
    /// of sessions. The default is 1 TiB, and while blobs are files at most the bytes stored at the start and nine
    /// tenths of the free disk.
    ///
    /// A full disk stops everything that writes, so uploads are refused before.
    ///
    /// Set it when a bucket has a limit of its own, or when other programs need the disk too.
    #[arg(long, env = "HALFSPACE_STORED_BYTES_MAX", global = true, value_parser = count())]
    #[schema(value_type = u64)]
    pub stored_bytes_max: Option<u64>,
    /// Stored bytes per key; by default 256 GiB, or a quarter of `stored_bytes_max` if that is more. A disk that lowers
    /// the default of `stored_bytes_max` makes this one at most half of it.
    ///
    /// One key must not fill the store alone.
    ///
    /// Set it when keys without a quota of their own may store less or more.
    #[arg(long, env = "HALFSPACE_STORED_BYTES_PER_KEY_MAX", global = true, value_parser = count())]
    #[schema(value_type = u64)]
    pub stored_bytes_per_key_max: Option<u64>,
    /// Parameters in the query of a URL.
    ///
    /// All pairs are held in memory and compared.
    #[arg(skip = QUERY_PAIRS_MAX)]
    pub query_pairs_max: u64,
    /// Concurrent large bodies of all keys together. A key may begin another one only while the key holds
    /// fewer permits than are free. One key therefore holds at most half of the permits, rounded up.
    /// Callers of an open service, which has no keys, may hold all permits. Each body may use up to
    /// `state_bytes_max` of memory; dataset uploads spill to disk instead.
    ///
    /// Each body holds a thread and memory for as long as its client sends.
    ///
    /// Set it higher when HalfspaceQueueFull fires for large bodies while cores and disk have room.
    #[arg(long, env = "HALFSPACE_UPLOADS_MAX", default_value_t = 8, global = true,
        value_parser = clap::value_parser!(u64).range(2..=10_000))]
    pub uploads_max: u64,
    /// Bytes of memory for the examples of an incoming dataset; further examples go to disk. No client can exceed it.
    ///
    /// Eight uploads then hold 128 MiB, and twice that while their vectors grow.
    #[arg(skip = 16_u64 << 20)]
    #[serde(skip)]
    pub upload_memory_bytes_max: u64,
    /// Concurrent predictions that are answered line by line. Keys share them as `uploads_max` describes.
    ///
    /// Each stream holds a thread for as long as its client sends.
    ///
    /// Set it higher when HalfspaceQueueFull fires for predictions in lines while cores have room.
    #[arg(long, env = "HALFSPACE_STREAMS_MAX", default_value_t = 64, global = true,
        value_parser = clap::value_parser!(u64).range(1..=400))]
    pub streams_max: u64,
    /// Concurrent event streams of all keys together: a quarter of `connections_max`. Keys share them as `uploads_max`
    /// describes.
    ///
    /// A stream holds its connection, and most connections must stay free for requests.
    #[arg(skip)]
    #[schema(value_type = u64)]
    pub event_streams_max: Option<u64>,
    /// Sessions per key.
    ///
    /// Sessions stay until somebody deletes them, and each keeps its state and log in the store.
    ///
    /// Set it when keys without a quota of their own may hold fewer or more sessions.
    #[arg(long, env = "HALFSPACE_SESSIONS_MAX", default_value_t = 10_000, global = true,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub sessions_max: u64,
    /// Lines of one NDJSON stream into a session. In other formats except JSON, the examples of one
    /// request.
    ///
    /// A request keeps other writers from its session, and further examples can follow in another one.
    #[arg(skip = SESSION_LINES_MAX)]
    pub session_lines_max: u64,
    /// Seconds without data after which a stream into a session ends. Other requests can then write to the
    /// session.
    ///
    /// Another writer waits 35 seconds for its turn, so a silent stream must end before.
    #[arg(skip = 30_u64)]
    pub session_idle_seconds: u64,
    /// Concurrent constructions. Keys share them as `uploads_max` describes.
    ///
    /// A construction computes for up to 20 seconds and holds its rows in memory.
    #[arg(skip = 2_u64)]
    pub constructions_max: u64,
    /// Concurrent computations of answers that need no examples, such as figures of theorems and documents of models.
    /// Keys share them as `uploads_max` describes.
    ///
    /// Most of them take milliseconds, some up to `answer_seconds_max`; with sixteen, the short ones pass a few long
    /// ones.
    #[arg(skip = 16_u64)]
    pub computations_max: u64,
    /// Concurrent connections.
    ///
    /// Each connection takes a file handle and buffers.
    ///
    /// Set it higher when more clients hold connections at once, and lower when the system allows fewer open files.
    #[arg(long, env = "HALFSPACE_CONNECTIONS_MAX", default_value_t = 1024, global = true,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub connections_max: u64,
    /// Characters per name.
    ///
    /// A name stands on one line of lists and figures.
    #[arg(skip = 256_u32)]
    pub name_characters_max: u32,
    /// Seconds of computing for one answer, such as an evaluation, a figure of a theorem, predictions in one JSON
    /// document, or the examples of a request to a session.
    ///
    /// A client and its proxy wait for the answer that long.
    ///
    /// Set it below the time-out of your proxy when that is shorter.
    #[arg(long, env = "HALFSPACE_ANSWER_SECONDS_MAX", default_value_t = ANSWER_SECONDS_DEFAULT, global = true,
        value_parser = seconds)]
    pub answer_seconds_max: f64,
    /// Seconds of computing to read one body: an upload, a preview, or the examples of a request. A second per 32 MiB
    /// of `body_bytes_max`, or of `json_body_bytes_max` if that is larger.
    ///
    /// Larger bodies may take longer, and a core reads any format at this pace, so only a body made to be slow is
    /// refused.
    #[arg(skip)]
    #[schema(value_type = f64)]
    pub read_seconds_max: Option<f64>,
    /// Bytes of a document of predictions, of a page of examples and its values, of the data that a construction
    /// returns, and of a figure that you describe, both its description and its picture. Predictions come without
    /// scores when the scores would exceed the limit. A longer answer is refused. In an answer of lines, the limit
    /// applies to the bytes that the client has not read yet.
    ///
    /// Such an answer is held in memory until the client has read it; data that are larger have datasets and lines.
    #[arg(skip = 16_u64 << 20)]
    pub answer_bytes_max: u64,
    /// Bytes of an imported model after decompression.
    ///
    /// A model of two classes of 16,777,216 names takes about 600 MB if the names have 12 characters.
    #[arg(skip = 1_u64 << 30)]
    pub model_bytes_max: u64,
    /// Features times classes of a session of more than two classes.
    ///
    /// A session of more weights would not fit the documents of its hypothesis.
    #[arg(skip = MODEL_ENTRIES_MAX)]
    pub model_entries_max: u64,
    /// Names of features of a session with an open vocabulary.
    ///
    /// The session writes all of them to disk again and again, each with its weights.
    #[arg(skip = SESSION_NAMES_MAX)]
    pub session_names_max: u64,
    /// Features up to which the exact analysis of Directed Drift and the stopping rule `exact` are
    /// available.
    ///
    /// Up to here the numbers stay inside the range of doubles and take milliseconds.
    #[arg(skip = halfspace_core::learners::drift::drift_chain::N_MAX as u64)]
    pub exact_analysis_n_max: u64,
    /// Points, and also dimensions, in the count of separable dichotomies.
    ///
    /// The count then has about 3,000 digits.
    #[arg(skip = halfspace_core::theory::cover::DICHOTOMIES_MAX)]
    pub dichotomies_max: u64,
    /// Digits of a `theta`.
    ///
    /// 2^33,000 has about so many digits, and each comparison takes time with their number.
    #[arg(skip = halfspace_core::learners::arithmetic::decimal::DIGITS_MAX as u64)]
    pub theta_digits_max: u64,
    /// Features up to which a version space is enumerated.
    ///
    /// The enumeration looks at up to 2^n hypotheses, so each further feature doubles its time.
    #[arg(skip = halfspace_core::separability::version_space::N_MAX as u64)]
    pub version_space_n_max: u64,
}

impl Default for Limits {
    /// The limits of a service without settings.
    fn default() -> Self {
        let command = Self::augment_args(Command::new("limits"));
        let command = command.mut_args(|argument| argument.env(Resettable::Reset));
        let matches = command.get_matches_from(["limits"]);
        Self::from_arg_matches(&matches).expect("every limit has a default")
    }
}

impl Limits {
    /// The quotas of all owners together and of each owner.
    pub fn quotas(&self) -> Quotas {
        Quotas {
            in_all: Usage {
                jobs_queued: self.jobs_queued_max,
                stored_bytes: self.stored_bytes_max(),
                ..Usage::ENDLESS
            },
            per_owner: Usage {
                jobs_queued: self.jobs_queued_per_key_max(),
                stored_bytes: self.stored_bytes_per_key_max(),
                sessions: self.sessions_max,
            },
        }
    }

    /// Lowers the default limits on stored bytes to the size of a disk with `free` free bytes and `used` stored bytes.
    #[must_use]
    pub fn on_disk(mut self, free: u64, used: u64) -> Self {
        if self.stored_bytes_max.is_none() {
            let in_all = used.saturating_add(free / 10 * 9).min(STORED_BYTES_DEFAULT);
            let per_key = (in_all / 2).min(STORED_BYTES_PER_KEY_DEFAULT);
            self.stored_bytes_max = Some(in_all);
            self.stored_bytes_per_key_max.get_or_insert(per_key);
        }
        self
    }

    /// These limits with the derived ones filled in, as `GET /v1/limits` reports them.
    #[must_use]
    pub fn in_force(self) -> Self {
        Self {
            jobs_queued_per_key_max: Some(self.jobs_queued_per_key_max()),
            stored_bytes_max: Some(self.stored_bytes_max()),
            stored_bytes_per_key_max: Some(self.stored_bytes_per_key_max()),
            event_streams_max: Some(self.event_streams_max()),
            read_seconds_max: Some(self.read_seconds_max()),
            ..self
        }
    }

    fn jobs_queued_per_key_max(&self) -> u64 {
        let default = JOBS_QUEUED_PER_KEY_DEFAULT.max(self.jobs_queued_max / 5);
        self.jobs_queued_per_key_max.unwrap_or(default)
    }

    fn stored_bytes_max(&self) -> u64 {
        self.stored_bytes_max.unwrap_or(STORED_BYTES_DEFAULT)
    }

    /// An open service has one owner, so whoever raises the limit in all must get more for one key too.
    fn stored_bytes_per_key_max(&self) -> u64 {
        let default = STORED_BYTES_PER_KEY_DEFAULT.max(self.stored_bytes_max() / 4);
        self.stored_bytes_per_key_max.unwrap_or(default)
    }

    /// Concurrent event streams.
    pub fn event_streams_max(&self) -> u64 {
        let of_connections = (self.connections_max / 4).max(1);
        self.event_streams_max.unwrap_or(of_connections)
    }

    /// Seconds of computing to read one body.
    pub fn read_seconds_max(&self) -> f64 {
        let largest = self.body_bytes_max.max(JSON_BODY_BYTES_MAX);
        let of_bytes = largest as f64 / READ_BYTES_PER_SECOND;
        self.read_seconds_max.unwrap_or(of_bytes)
    }

    /// The limits for readers of every format except JSON.
    pub fn of_lines(&self) -> halfspace_formats::ParseLimits {
        let whole = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        halfspace_formats::ParseLimits {
            n_max: whole(self.n_max),
            names_max: whole(self.names_max),
            line_bytes_max: whole(self.line_bytes_max),
            state_bytes_max: self.state_bytes_max,
            state_limit_name: "state_bytes_max",
            body_bytes_max: self.body_bytes_max,
            body_limit_name: "body_bytes_max",
            decompression_ratio_max: self.decompression_ratio_max,
            json_depth_max: self.json_depth_max as usize,
            ..FORMATS
        }
    }

    /// The limits for readers of every format except JSON whose examples are stored as a dataset.
    pub fn of_datasets(&self) -> halfspace_formats::ParseLimits {
        halfspace_formats::ParseLimits {
            state_bytes_max: self.body_bytes_max,
            state_limit_name: "body_bytes_max",
            ..self.of_lines()
        }
    }

    /// The limits for readers of every format except JSON whose examples come from a bucket.
    pub fn of_sources(&self) -> halfspace_formats::ParseLimits {
        halfspace_formats::ParseLimits {
            body_bytes_max: self.source_bytes_max,
            body_limit_name: "source_bytes_max",
            state_bytes_max: self.source_bytes_max,
            state_limit_name: "source_bytes_max",
            ..self.of_lines()
        }
    }

    /// The limits for readers of JSON.
    pub fn of_json(&self) -> halfspace_formats::ParseLimits {
        halfspace_formats::ParseLimits {
            body_bytes_max: self.json_body_bytes_max,
            body_limit_name: "json_body_bytes_max",
            ..self.of_lines()
        }
    }
}

/// The range of a limit of bytes or things. No limit is 0, because a service without any would only refuse.
fn count() -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(1..=COUNT_MAX)
}

/// The range of a limit of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let positive = number.filter(|number: &f64| *number > 0.0 && *number <= SECONDS_MAX);
    positive.ok_or_else(|| format!("{text} is not a number above 0 and at most {SECONDS_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_limits_follow_the_settings() {
        let limits = Limits {
            connections_max: 400,
            body_bytes_max: 1 << 30,
            ..Limits::default()
        };
        let derived = limits.in_force();
        assert_eq!(derived.event_streams_max, Some(100));
        assert_eq!(derived.read_seconds_max, Some(32.0));
        let small = Limits {
            connections_max: 1,
            body_bytes_max: 1,
            ..Limits::default()
        };
        assert_eq!(small.event_streams_max(), 1);
        assert_eq!(small.read_seconds_max(), 8.0);
        let queue = Limits {
            jobs_queued_max: 500_000,
            ..Limits::default()
        };
        assert_eq!(queue.in_force().jobs_queued_per_key_max, Some(100_000));
        let queue = Limits::default().in_force();
        assert_eq!(queue.jobs_queued_per_key_max, Some(20_000));
    }

    #[test]
    fn default_limits_on_stored_bytes_fit_the_disk() {
        let of = |limits: Limits| (limits.stored_bytes_max(), limits.stored_bytes_per_key_max());
        let default = Limits::default();
        assert_eq!(of(default.clone().on_disk(1000, 100)), (1000, 500));
        assert_eq!(of(default.clone().on_disk(u64::MAX, 0)), (1 << 40, 1 << 38));
        let given = |in_all, per_key| Limits {
            stored_bytes_max: in_all,
            stored_bytes_per_key_max: per_key,
            ..Limits::default()
        };
        assert_eq!(of(given(Some(70), Some(60)).on_disk(10, 0)), (70, 60));
        assert_eq!(of(given(None, Some(60)).on_disk(1000, 100)), (1000, 60));
        // The default as a given number holds, and the limit per key follows a larger limit in all.
        assert_eq!(
            of(given(Some(1 << 40), None).on_disk(10, 0)),
            (1 << 40, 1 << 38)
        );
        assert_eq!(
            of(given(Some(1 << 42), None).on_disk(10, 0)),
            (1 << 42, 1 << 40)
        );
        assert_eq!(of(given(Some(70), None)), (70, 1 << 38));
        assert_eq!(of(default), (1 << 40, 1 << 38));
    }
}
