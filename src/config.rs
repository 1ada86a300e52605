//! Every setting: its flag, environment variable, default and check, in one place.

mod given;

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::callbacks::{Network, Secret};
use crate::http::limits::Limits;
use crate::records::ApiKeyId;
use crate::records::schedule::Weight;
use crate::storage::{BlobUrl, DatabaseUrl, Hidden, S3Access};

pub use given::{early_log_format, given_settings, names_listen, unknown_variable};

/// No limit is larger: twice as much can still be counted.
const COUNT_MAX: u64 = 1 << 62;

/// Learning as a service: named learners run as durable jobs over HTTP.
#[derive(Debug, Parser)]
#[command(name = "halfspace", version, max_term_width = 100)]
pub struct CommandLine {
    /// What to do; `serve` when left out.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What can be set.
    #[command(flatten)]
    pub settings: Settings,
}

/// What the program can do.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Serves requests and computes jobs (the default).
    Serve,
    /// Brings the schema of the store up to date, and ends.
    Migrate,
    /// Writes a consistent copy of the embedded store, also while others serve it. To restore is to
    /// serve the copy, with --data-dir.
    Backup {
        /// The directory of the copy, which is not there yet or empty.
        directory: PathBuf,
    },
    /// Compares every record and blob of the store with the stored digests, also while others serve the
    /// store. Exit status 0: no damage; 1: damage; 2: the store cannot be checked.
    Check {
        /// Prints JSON: one line per damage, then the summary.
        #[arg(long)]
        json: bool,
    },
    /// Makes, lists and revokes API keys, also while others serve.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Prints the OpenAPI document.
    Openapi,
    /// Asks a running service whether it is alive: exit status 0 if so.
    Healthcheck,
}

/// What can be done with API keys.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum KeysCommand {
    /// Makes a key and prints its secret, which is shown this one time. From the first key on, every
    /// request needs one.
    Create(NewKey),
    /// Prints all keys, without their secrets, which nobody has.
    List,
    /// Ends the force of a key. What was made with it stays.
    Revoke {
        /// The key: `key_` and 32 hexadecimal digits.
        id: ApiKeyId,
    },
}

/// A key to be made.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// What people call it.
    #[arg(long, value_parser = short_name)]
    pub name: String,
    /// Jobs that wait at once; as the settings of the service say when left out.
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    pub jobs: Option<u64>,
    /// Bytes stored; as the settings of the service say when left out.
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    pub bytes: Option<u64>,
    /// Sessions; as the settings of the service say when left out.
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    pub sessions: Option<u64>,
    /// The weight among the keys: a key of weight 2 gets twice the computing of a key of weight 1. From
    /// 0.01 to 100.
    #[arg(long, default_value = "1", value_parser = weight)]
    pub weight: Weight,
    /// Gives the key all that was made while no key was needed, which nobody else can reach.
    #[arg(long)]
    pub adopt_anonymous: bool,
}

/// The addresses of a proxy. A network of every address names none.
fn proxies(text: &str) -> Result<Network, String> {
    let network = text.parse::<Network>().map_err(|error| error.to_string())?;
    if network.is_everything() {
        return Err("this network is every address, and would lift the limit for all".to_owned());
    }
    Ok(network)
}

fn weight(text: &str) -> Result<Weight, String> {
    let number = text.parse::<f64>().map_err(|error| error.to_string())?;
    Weight::try_from(number).map_err(|error| error.to_string())
}

fn short_name(text: &str) -> Result<String, String> {
    let is_short = (1..=256).contains(&text.chars().count());
    let name = (is_short && !text.contains(char::is_control)).then(|| text.to_owned());
    name.ok_or_else(|| "a name has 1 to 256 characters, on one line".to_owned())
}

/// What can be set.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// The address to listen on.
    #[arg(
        long,
        env = "HALFSPACE_LISTEN",
        default_value = "127.0.0.1:8080",
        global = true
    )]
    pub listen: SocketAddr,
    /// The directory of the database file and the blobs.
    #[arg(
        long,
        env = "HALFSPACE_DATA_DIR",
        default_value = "./data",
        global = true
    )]
    pub data_dir: PathBuf,
    /// Where records are kept: `sqlite`, in the data directory, or `postgres://user@host/database`.
    #[arg(
        long,
        env = "HALFSPACE_DATABASE_URL",
        default_value = "sqlite",
        hide_env_values = true,
        global = true
    )]
    pub database_url: DatabaseUrl,
    /// Where blobs are kept: `folder`, in the data directory, `file:///folder`, or `s3://bucket/prefix`.
    #[arg(
        long,
        env = "HALFSPACE_BLOB_URL",
        default_value = "folder",
        hide_env_values = true,
        global = true
    )]
    pub blob_url: BlobUrl,
    /// How to reach an object store.
    #[command(flatten)]
    pub s3: S3Settings,
    /// What this process does: it answers requests, it computes jobs, or both.
    #[arg(long, env = "HALFSPACE_ROLE", default_value = "all", global = true)]
    pub role: Role,
    /// Jobs computed at once; the number of cores when left out.
    #[arg(long, env = "HALFSPACE_WORKERS", global = true,
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Seconds without a heartbeat after which a job is another worker's to take.
    #[arg(long, env = "HALFSPACE_LEASE_SECONDS", default_value_t = 15, global = true,
        value_parser = clap::value_parser!(u32).range(2..=3600))]
    pub lease_seconds: u32,
    /// Seconds of computing between two checkpoints of a job; more where one takes long.
    #[arg(long, env = "HALFSPACE_CHECKPOINT_SECONDS", default_value_t = 30, global = true,
        value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub checkpoint_seconds: u32,
    /// Days for which ended jobs are kept.
    #[arg(long, env = "HALFSPACE_RETENTION_DAYS", default_value_t = 30, global = true,
        value_parser = clap::value_parser!(u32).range(1..=36500))]
    pub retention_days: u32,
    /// Host names answered to besides the loopback ones, when listening on a loopback address.
    #[arg(
        long,
        env = "HALFSPACE_ALLOWED_HOSTS",
        value_delimiter = ',',
        global = true
    )]
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages, such as `https://example.com`, that may send requests and read answers, or
    /// `*` for all while no API key is made.
    #[arg(
        long,
        env = "HALFSPACE_CORS_ORIGINS",
        value_delimiter = ',',
        global = true
    )]
    pub cors_origins: Vec<String>,
    /// Addresses and networks of proxies, such as `10.0.0.7` or `10.0.0.0/8`. They may hold any number of
    /// connections; any other address holds at most half of them.
    #[arg(long, env = "HALFSPACE_TRUSTED_PROXIES", value_delimiter = ',', global = true,
        value_parser = proxies)]
    pub trusted_proxies: Vec<Network>,
    /// A second address for `/livez`, `/readyz`, `/metrics` and `/version` alone, with a separate thread.
    #[arg(long, env = "HALFSPACE_OPS_LISTEN", global = true)]
    pub ops_listen: Option<SocketAddr>,
    /// Secrets that sign callbacks, `whsec_` and 24 to 64 bytes in base64; none are sent without one.
    #[arg(long, env = "HALFSPACE_CALLBACK_SECRET", hide_env_values = true, value_delimiter = ',',
        global = true, value_parser = SecretParser)]
    pub callback_secret: Vec<Secret>,
    /// Networks, such as `10.0.0.0/8`, that callbacks may dial besides the public Internet.
    #[arg(
        long,
        env = "HALFSPACE_CALLBACK_ALLOW",
        value_delimiter = ',',
        global = true
    )]
    pub callback_allow: Vec<Network>,
    /// What to log: a level, or directives such as `info,halfspace=debug`.
    #[arg(long, env = "HALFSPACE_LOG", default_value = "info", global = true)]
    pub log: String,
    /// How to log.
    #[arg(
        long,
        env = "HALFSPACE_LOG_FORMAT",
        default_value = "text",
        global = true
    )]
    pub log_format: LogFormat,
    /// Which kernels of the bit core to use; `scalar` is the plain code that the others equal.
    #[arg(
        long,
        env = "HALFSPACE_KERNELS",
        default_value = "detected",
        global = true
    )]
    pub kernels: KernelsChoice,
    /// What is bounded.
    #[command(flatten)]
    pub limits: LimitSettings,
}

/// How to reach an object store: what others that speak S3 are told by the same variables.
#[derive(Args, Clone, Debug)]
pub struct S3Settings {
    /// Whom an object store knows this service as.
    #[arg(long, env = "AWS_ACCESS_KEY_ID", hide_env_values = true, global = true)]
    pub aws_access_key_id: Option<Hidden>,
    /// The secret to that.
    #[arg(
        long,
        env = "AWS_SECRET_ACCESS_KEY",
        hide_env_values = true,
        global = true
    )]
    pub aws_secret_access_key: Option<Hidden>,
    /// The token beside them, where they are passing ones.
    #[arg(long, env = "AWS_SESSION_TOKEN", hide_env_values = true, global = true)]
    pub aws_session_token: Option<Hidden>,
    /// The region of the bucket.
    #[arg(long, env = "AWS_REGION", default_value = "us-east-1", global = true)]
    pub aws_region: String,
    /// The address of an object store that is not Amazon's.
    #[arg(long, env = "AWS_ENDPOINT_URL", hide_env_values = true, global = true)]
    pub aws_endpoint_url: Option<Hidden>,
    /// Whether that address may be `http://` though it is another machine's.
    #[arg(long, env = "AWS_ALLOW_HTTP", global = true, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", action = clap::ArgAction::Set)]
    pub aws_allow_http: bool,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// It answers requests and computes jobs.
    All,
    /// It answers requests; others compute.
    Api,
    /// It computes jobs, and answers only whoever watches over it.
    Worker,
}

/// How to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Which kernels to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KernelsChoice {
    /// The best for this processor.
    Detected,
    /// The plain code.
    Scalar,
}

/// What is bounded; see `GET /v1/limits`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub struct LimitSettings {
    /// Features an example.
    #[arg(long, env = "HALFSPACE_N_MAX", default_value_t = 1 << 20, global = true,
        value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub n_max: u64,
    /// Bytes of a decompressed body in a line format.
    #[arg(long, env = "HALFSPACE_BODY_BYTES_MAX", default_value_t = 4 << 30, global = true)]
    pub body_bytes_max: u64,
    /// Bytes of a decompressed JSON body.
    #[arg(long, env = "HALFSPACE_JSON_BODY_BYTES_MAX", default_value_t = 256 << 20, global = true)]
    pub json_body_bytes_max: u64,
    /// Bytes that one byte of a compressed body may become on average.
    #[arg(long, env = "HALFSPACE_DECOMPRESSION_RATIO_MAX", default_value_t = 1000, global = true,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub decompression_ratio_max: u64,
    /// Bytes that any compressed body may become at any ratio.
    #[arg(long, env = "HALFSPACE_DECOMPRESSED_BYTES_FREE", default_value_t = 16 << 20,
        global = true)]
    pub decompressed_bytes_free: u64,
    /// Nested arrays and objects in JSON.
    #[arg(long, env = "HALFSPACE_JSON_DEPTH_MAX", default_value_t = 32, global = true,
        value_parser = clap::value_parser!(u32).range(8..=100))]
    pub json_depth_max: u32,
    /// Bytes in a line.
    #[arg(long, env = "HALFSPACE_LINE_BYTES_MAX", default_value_t = 32 << 20, global = true,
        value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub line_bytes_max: u64,
    /// Bytes that the examples of a dataset may take stored, packed or as doubles.
    #[arg(long, env = "HALFSPACE_DATASET_BYTES_MAX", default_value_t = 4 << 30, global = true)]
    pub dataset_bytes_max: u64,
    /// Bytes of the packed data of a job, and of its state beside them.
    #[arg(long, env = "HALFSPACE_STATE_BYTES_MAX", default_value_t = 1 << 30, global = true)]
    pub state_bytes_max: u64,
    /// Bytes of memory of the process, at least 128 MiB. Requests and jobs share all but 64 MiB of it. When
    /// left out, 70 % of the memory of the machine or of the control group around the process.
    #[arg(long, env = "HALFSPACE_MEMORY_BYTES_MAX", global = true)]
    pub memory_bytes_max: Option<u64>,
    /// Bytes of stored data that a job holds in memory as a whole; larger data are read in parts.
    #[arg(long, env = "HALFSPACE_RESIDENT_BYTES_MAX", default_value_t = 64 << 20, global = true)]
    pub resident_bytes_max: u64,
    /// Bytes on disk of the blobs that were fetched from an object store to be read.
    #[arg(long, env = "HALFSPACE_BLOB_CACHE_BYTES_MAX", default_value_t = 10 << 30, global = true)]
    pub blob_cache_bytes_max: u64,
    /// Seconds of computing that a job may ask for.
    #[arg(long, env = "HALFSPACE_SECONDS_MAX", default_value_t = 86_400.0, global = true,
        value_parser = positive)]
    pub seconds_max: f64,
    /// Seconds of one core that an experiment may be estimated to take.
    #[arg(long, env = "HALFSPACE_EXPERIMENT_SECONDS_MAX", default_value_t = 14_400.0,
        global = true, value_parser = positive)]
    pub experiment_seconds_max: f64,
    /// Jobs that wait at once, of all keys.
    #[arg(long, env = "HALFSPACE_JOBS_QUEUED_MAX", default_value_t = 100_000, global = true,
        value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    pub jobs_queued_max: u64,
    /// Jobs that wait at once, of one key.
    #[arg(long, env = "HALFSPACE_JOBS_QUEUED_PER_KEY_MAX", default_value_t = 20_000, global = true,
        value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    pub jobs_queued_per_key_max: u64,
    /// Bytes stored, of all keys: datasets, data of jobs that have not ended, models, sessions.
    #[arg(long, env = "HALFSPACE_STORED_BYTES_MAX", default_value_t = 1 << 40, global = true,
        value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    pub stored_bytes_max: u64,
    /// Bytes stored, of one key.
    #[arg(long, env = "HALFSPACE_STORED_BYTES_PER_KEY_MAX", default_value_t = 1 << 38,
        global = true, value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    pub stored_bytes_per_key_max: u64,
    /// Concurrent large bodies, shared by all keys. Each may use the limit of state bytes in memory.
    #[arg(long, env = "HALFSPACE_UPLOADS_MAX", default_value_t = 8, global = true,
        value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub uploads_max: u64,
    /// Bytes that the examples of a dataset take in memory while they come in; more wait on disk.
    #[arg(long, env = "HALFSPACE_UPLOAD_MEMORY_BYTES_MAX", default_value_t = 16 << 20,
        global = true)]
    pub upload_memory_bytes_max: u64,
    /// Concurrent predictions line by line, shared by all keys.
    #[arg(long, env = "HALFSPACE_STREAMS_MAX", default_value_t = 64, global = true,
        value_parser = clap::value_parser!(u64).range(1..=400))]
    pub streams_max: u64,
    /// Concurrent event streams, shared by all keys.
    #[arg(long, env = "HALFSPACE_EVENT_STREAMS_MAX", default_value_t = 256, global = true,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub event_streams_max: u64,
    /// Concurrent event streams of one key.
    #[arg(long, env = "HALFSPACE_EVENT_STREAMS_PER_KEY_MAX", default_value_t = 64, global = true,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub event_streams_per_key_max: u64,
    /// Sessions of one key.
    #[arg(long, env = "HALFSPACE_SESSIONS_MAX", default_value_t = 10_000, global = true,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub sessions_max: u64,
    /// Seconds after which a stream into a session that brings nothing loses its turn.
    #[arg(long, env = "HALFSPACE_SESSION_IDLE_SECONDS", default_value_t = 30, global = true,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub session_idle_seconds: u64,
    /// Connections at once.
    #[arg(long, env = "HALFSPACE_CONNECTIONS_MAX", default_value_t = 1024, global = true,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub connections_max: u64,
    /// Seconds of computing that a document of predictions, or an evaluation, may take.
    #[arg(long, env = "HALFSPACE_ANSWER_SECONDS_MAX", default_value_t = 60.0, global = true,
        value_parser = positive)]
    pub answer_seconds_max: f64,
    /// Deaths of processes after which a job that ran alone in each of them fails; attempts to read the data.
    #[arg(long, env = "HALFSPACE_ATTEMPTS_MAX", default_value_t = 5, global = true,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub attempts_max: u32,
}

/// Reads a secret. A refusal tells what is wrong without the secret, which clap's own would repeat.
#[derive(Clone)]
struct SecretParser;

impl TypedValueParser for SecretParser {
    type Value = Secret;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Secret, clap::Error> {
        let read = value.to_string_lossy().parse::<Secret>();
        read.map_err(|error| {
            let message = format!("invalid value for '--callback-secret': {error}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let positive = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
    positive.ok_or_else(|| format!("{text} is no positive number"))
}

impl Settings {
    /// Jobs computed at once; none where others compute.
    pub fn workers(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        match self.role {
            Role::Api => 0,
            Role::All | Role::Worker => self.workers.map_or_else(cores, usize::from),
        }
    }

    /// How to reach an object store.
    pub fn s3_access(&self) -> S3Access {
        let set = self.s3.clone();
        S3Access {
            access_key_id: set.aws_access_key_id,
            secret_access_key: set.aws_secret_access_key,
            session_token: set.aws_session_token,
            region: set.aws_region,
            endpoint_url: set.aws_endpoint_url,
            allow_http: set.aws_allow_http,
        }
    }

    /// The limits in force.
    pub fn limits(&self) -> Limits {
        let set = &self.limits;
        Limits {
            n_max: set.n_max,
            body_bytes_max: set.body_bytes_max,
            json_body_bytes_max: set.json_body_bytes_max,
            decompression_ratio_max: set.decompression_ratio_max,
            decompressed_bytes_free: set.decompressed_bytes_free,
            json_depth_max: set.json_depth_max,
            line_bytes_max: set.line_bytes_max,
            dataset_bytes_max: set.dataset_bytes_max,
            state_bytes_max: set.state_bytes_max,
            resident_bytes_max: set.resident_bytes_max,
            seconds_max: set.seconds_max,
            experiment_seconds_max: set.experiment_seconds_max,
            jobs_queued_max: set.jobs_queued_max,
            jobs_queued_per_key_max: set.jobs_queued_per_key_max,
            stored_bytes_max: set.stored_bytes_max,
            stored_bytes_per_key_max: set.stored_bytes_per_key_max,
            uploads_max: set.uploads_max,
            upload_memory_bytes_max: set.upload_memory_bytes_max,
            streams_max: set.streams_max,
            event_streams_max: set.event_streams_max,
            event_streams_per_key_max: set.event_streams_per_key_max,
            sessions_max: set.sessions_max,
            session_idle_seconds: set.session_idle_seconds,
            connections_max: set.connections_max,
            answer_seconds_max: set.answer_seconds_max,
            attempts_max: set.attempts_max,
            ..Limits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn settings_stand_before_or_after_the_command() {
        for line in [
            ["halfspace", "--listen", "127.0.0.1:1", "serve"],
            ["halfspace", "serve", "--listen", "127.0.0.1:1"],
        ] {
            let read = CommandLine::try_parse_from(line).expect("a command line");
            assert_eq!(read.settings.listen.port(), 1);
        }
    }

    #[test]
    fn defaults_of_settings_and_limits_agree() {
        let read = CommandLine::try_parse_from(["halfspace"]).expect("a command line");
        assert_eq!(read.settings.limits(), Limits::default());
    }

    #[test]
    fn a_bad_setting_is_named() {
        for (line, named) in [
            (["halfspace", "--workers", "0"], "--workers"),
            (["halfspace", "--lease-seconds", "x"], "--lease-seconds"),
            (["halfspace", "--seconds-max", "NaN"], "--seconds-max"),
            (["halfspace", "--wrkers", "1"], "--wrkers"),
            (
                ["halfspace", "--callback-allow", "10/8"],
                "--callback-allow",
            ),
            (
                ["halfspace", "--callback-allow", "10.0.0.1/8"],
                "10.0.0.0/8",
            ),
            (
                ["halfspace", "--trusted-proxies", "proxy.example"],
                "--trusted-proxies",
            ),
            (
                ["halfspace", "--trusted-proxies", "0.0.0.0/0"],
                "--trusted-proxies",
            ),
            (["halfspace", "--ops-listen", "9000"], "--ops-listen"),
        ] {
            let error = CommandLine::try_parse_from(line).expect_err("a bad setting");
            assert!(error.to_string().contains(named), "{error}");
        }
    }

    #[test]
    fn the_password_of_the_database_is_not_shown() {
        let url = "postgres://ada:s3cret@db.example/half";
        let line = ["halfspace", "--database-url", url];
        let read = CommandLine::try_parse_from(line).expect("a command line");
        let shown = format!("{read:?}");
        assert!(shown.contains("postgres://ada@db.example"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
        // Whoever reads the command line refuses nothing of it, since he would show it.
        let line = ["halfspace", "--database-url", "s3cret"];
        let read = CommandLine::try_parse_from(line).expect("a command line");
        assert!(!format!("{read:?}").contains("s3cret"));
        let help = CommandLine::command().render_long_help().to_string();
        assert!(help.contains("[env: HALFSPACE_DATABASE_URL]"), "{help}");
    }

    #[test]
    fn what_opens_an_object_store_is_not_shown() {
        let line = [
            "halfspace",
            "--blob-url=s3cret",
            "--aws-access-key-id=s3cret",
            "--aws-secret-access-key=s3cret",
            "--aws-session-token=s3cret",
            "--aws-endpoint-url=https://s3cret",
        ];
        let read = CommandLine::try_parse_from(line).expect("a command line");
        assert!(!format!("{read:?}").contains("s3cret"), "{read:?}");
        let help = CommandLine::command().render_long_help().to_string();
        for variable in [
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_ENDPOINT_URL",
        ] {
            assert!(help.contains(&format!("[env: {variable}]")), "{help}");
        }
    }

    #[test]
    fn a_secret_is_not_shown_right_or_wrong() {
        let key = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let good = format!("whsec_{key},whsec_{key}");
        let command = CommandLine::command();
        let mut arguments = command.get_arguments();
        let argument = arguments.find(|argument| argument.get_long() == Some("callback-secret"));
        // Or `--help` would print the variable's value.
        assert!(argument.is_some_and(clap::Arg::is_hide_env_values_set));
        let line = ["halfspace", "--callback-secret", &good];
        let read = CommandLine::try_parse_from(line).expect("a command line");
        assert_eq!(read.settings.callback_secret.len(), 2);
        assert!(!format!("{read:?}").contains(key));
        for bad in [
            key.to_owned(),
            format!("whsec_{key}{key}{key}"),
            format!("whsec_{key}!"),
        ] {
            let line = ["halfspace", "--callback-secret", &bad];
            let error = CommandLine::try_parse_from(line).expect_err("a bad secret");
            assert!(error.to_string().contains("--callback-secret"), "{error}");
            assert!(!format!("{error} {error:?}").contains(key), "{error}");
        }
    }

    #[test]
    fn an_unknown_variable_is_found() {
        let names = ["PATH", "HALFSPACE_WORKERS", "HALFSPACE_WRKERS"].map(str::to_owned);
        assert_eq!(unknown_variable(names).as_deref(), Some("HALFSPACE_WRKERS"));
    }
}
