//! The settings of the program: flag, environment variable, default, check and help text of each, in one place.
//! Limits are in [`crate::http::limits`], which also reports them to clients.
//!
//! The doc comments of settings become the help text of the command line and the table in
//! `docs/reference/settings.md`. The first paragraph says what the setting means, the last one, "Set it when ...", who
//! needs another value than the default and when. A setting without such a person becomes a constant.

pub mod given;
mod learning;
pub mod removed;
mod secret_files;

use std::ffi::OsStr;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use halfspace_formats::Format;
use ipnet::IpNet;

use crate::callbacks::{Secret, parse_network};
use crate::http::limits::{COUNT_MAX, Limits};
use crate::jobs::JobsConfig;
use crate::records::schedule::Weight;
use crate::records::{ApiKeyId, Role};
use crate::storage::{
    BlobUrl, DatabaseLocation, DatabaseUrl, S3Access, SecretString, SourcesSetting,
};

pub use learning::{
    CompareCommand, EncodeCommand, ExplainCommand, ImportCommand, Input, LearnersCommand,
    LearningCommand, ModelCommand, Place, TheoryCommand, TrainCommand, known_format,
};

/// Learning as a service: named learners run as durable jobs over HTTP.
#[derive(Debug, Parser)]
#[command(name = "halfspace", version, max_term_width = 100)]
pub struct CommandLine {
    /// The command to run; `serve` by default.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The settings, which are the same for all commands.
    #[command(flatten)]
    pub settings: Settings,
}

/// The commands of the program.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Learning(LearningCommand),
    /// Serves requests and computes jobs (the default).
    Serve(ServeCommand),
    /// Upgrades the schema of the store and exits.
    Migrate,
    /// Writes a consistent copy of the embedded store, even while a service uses the store. To restore the
    /// copy, serve it with --data-dir.
    Backup {
        /// Directory for the copy. It must be empty or not exist yet.
        directory: PathBuf,
    },
    /// Compares every record and blob of the store with the stored digests, even while a service uses the
    /// store. Exit status 0: no damage; 1: damage; 2: the store cannot be checked.
    Check {
        /// Prints JSON: one line per damage, then the summary.
        #[arg(long)]
        json: bool,
    },
    /// Replays the training of a receipt and compares the results. Exit status 0: all are equal; 1: the printed
    /// one differs; 2: the receipt or the data cannot be read.
    Verify(Replay),
    /// Creates, lists and revokes API keys, even while a service uses the store.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Prints the OpenAPI document.
    Openapi,
    /// Checks that a running service is alive. Exit status 0: alive.
    Healthcheck,
}

/// The life of a service that another program starts for itself.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ServeCommand {
    /// Stops at the end of standard input, so that the service ends with the program that started it.
    #[arg(long)]
    pub stop_with_input: bool,
    /// Keeps the data in a temporary directory, which the service removes at its end.
    #[arg(long)]
    pub temporary: bool,
}

/// A receipt to replay, with its data.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The receipt, as `GET /v1/models/{id}/receipt` returns it.
    pub receipt: PathBuf,
    /// The file with the examples of the training. Generated examples need no file.
    pub data: Option<PathBuf>,
    /// Format of the file: a file extension such as `csv`, or a media type. By default the extension of the name
    /// determines the format.
    #[arg(long, value_parser = learning::format)]
    pub format: Option<Format>,
    /// Parameter of the data, as in the query of the request that sent the data. May be repeated.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = learning::pair)]
    pub parameters: Vec<(String, String)>,
    /// Seconds after which the replay is given up, with exit status 2.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub max_seconds: u64,
}

/// The commands for API keys.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum KeysCommand {
    /// Creates a key and prints the secret, which is never shown again. As soon as a key exists, every
    /// request needs a key.
    Create(NewKey),
    /// Prints all keys. The secrets are not stored and cannot be printed.
    List,
    /// Revokes a key. Everything made with the key remains.
    Revoke {
        /// Id of the key: `key_` and 32 hexadecimal digits.
        id: ApiKeyId,
    },
}

/// The settings of a new key.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Name of the key, for the list of keys.
    #[arg(long, value_parser = short_name)]
    pub name: String,
    /// Largest number of queued jobs of this key; by default the limit of the service.
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    pub jobs: Option<u64>,
    /// Largest number of bytes stored by this key; by default the limit of the service.
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    pub bytes: Option<u64>,
    /// Largest number of sessions of this key; by default the limit of the service.
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=COUNT_MAX))]
    pub sessions: Option<u64>,
    /// Weight of this key among all keys, from 0.01 to 100. A key of weight 2 gets twice the computing time
    /// of a key of weight 1.
    #[arg(long, default_value = "1", value_parser = weight)]
    pub weight: Weight,
    /// Transfers everything made without a key to this key. No other key can reach it.
    #[arg(long)]
    pub adopt_anonymous: bool,
}

/// Parses the network of a proxy. A network of all addresses is rejected, because it would lift the limit for
/// every client.
fn proxies(text: &str) -> Result<IpNet, String> {
    let network = parse_network(text).map_err(|error| error.to_string())?;
    if network.prefix_len() == 0 {
        return Err(
            "the network contains every address and would remove the limit for all clients"
                .to_owned(),
        );
    }
    Ok(network)
}

/// The longest base path. Longer paths would leave no room for the target of a request.
const BASE_PATH_LENGTH_MAX: usize = 256;

/// The first segments of the paths of the service. A base path that begins with one of them would hide these paths.
const OWN_SEGMENTS: [&str; 10] = [
    "console",
    "docs",
    "livez",
    "metrics",
    "openapi.json",
    "problems",
    "readyz",
    "v1",
    "v2",
    "version",
];

/// Checks a base path. `/` alone means no base path.
fn base_path(text: &str) -> Result<String, String> {
    let path = text.trim_end_matches('/');
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let is_segment =
        |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain);
    let mut segments = path
        .strip_prefix('/')
        .into_iter()
        .flat_map(|rest| rest.split('/'));
    let own = OWN_SEGMENTS
        .iter()
        .find(|own| segments.clone().next() == Some(own));
    if let Some(own) = own {
        return Err(format!(
            "the path must not begin with `/{own}`, which is a path of the service"
        ));
    }
    if path.len() > BASE_PATH_LENGTH_MAX {
        return Err(format!(
            "the path must have at most {BASE_PATH_LENGTH_MAX} characters"
        ));
    }
    match path.is_empty() || path.starts_with('/') && segments.all(is_segment) {
        true => Ok(path.to_owned()),
        false => Err(
            "the path must begin with `/` and consist of letters, digits, `-`, `_`, `.` and `~` between single \
             slashes, without the segments `.` and `..`"
                .to_owned(),
        ),
    }
}

/// Resolves an address and a port, such as `localhost:8080`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|error| error.to_string())?;
    found
        .next()
        .ok_or_else(|| "the name has no address".to_owned())
}

fn weight(text: &str) -> Result<Weight, String> {
    let number = text.parse::<f64>().map_err(|error| error.to_string())?;
    Weight::try_from(number).map_err(|error| error.to_string())
}

fn short_name(text: &str) -> Result<String, String> {
    let is_short = (1..=256).contains(&text.chars().count());
    let name = (is_short && !text.contains(char::is_control)).then(|| text.to_owned());
    name.ok_or_else(|| "the name must have 1 to 256 characters on one line".to_owned())
}

/// The settings of the service.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// Address and port to listen on.
    ///
    /// Set it when other machines must reach the service, or when the port is taken.
    #[arg(
        long,
        env = "HALFSPACE_LISTEN",
        default_value = "127.0.0.1:8080",
        value_parser = address,
        global = true
    )]
    pub listen: SocketAddr,
    /// Directory of the database file and the blobs.
    ///
    /// Set it when the data belong on another disk or in a volume.
    #[arg(
        long,
        env = "HALFSPACE_DATA_DIR",
        default_value = "./data",
        global = true
    )]
    pub data_dir: PathBuf,
    /// Database of the records: `sqlite` in the data directory, or `postgres://user@host/database`.
    ///
    /// Set it when several processes share one store in PostgreSQL.
    #[arg(
        long,
        env = "HALFSPACE_DATABASE_URL",
        default_value = "sqlite",
        hide_env_values = true,
        global = true
    )]
    pub database_url: DatabaseUrl,
    /// Password of the PostgreSQL database. A password in `--database-url` has precedence.
    ///
    /// Set it, as `PGPASSWORD_FILE`, when your platform hands out the password apart from the address.
    #[arg(long, env = "PGPASSWORD", hide_env_values = true, global = true)]
    pub database_password: Option<SecretString>,
    /// Place of the blobs: `folder` in the data directory, `file:///folder`, or `s3://bucket/prefix`.
    ///
    /// Set it when processes on several machines share the blobs.
    #[arg(
        long,
        env = "HALFSPACE_BLOB_URL",
        default_value = "folder",
        hide_env_values = true,
        global = true
    )]
    pub blob_url: BlobUrl,
    /// The access to an object store.
    #[command(flatten)]
    pub s3: S3Settings,
    /// Prefixes of buckets, such as `s3://bucket/prefix/`, whose objects clients may store as datasets. A prefix covers
    /// whole segments of keys. The service reads them with its own access to the object store, for every client.
    /// Without prefixes nothing is fetched.
    ///
    /// Set it when tables lie in a bucket.
    #[arg(
        long,
        env = "HALFSPACE_SOURCES",
        value_delimiter = ',',
        hide_env_values = true,
        global = true
    )]
    pub sources: Vec<SourcesSetting>,
    /// Seconds to wait at the start for a database and an object store that do not answer yet. `migrate` and `keys`
    /// wait for the database too.
    ///
    /// Set it when the database or the object store starts together with the service, as in Compose.
    #[arg(long, env = "HALFSPACE_WAIT_FOR_STORES", default_value_t = 0, value_name = "SECONDS", global = true,
        value_parser = clap::value_parser!(u32).range(..=3600))]
    pub wait_for_stores: u32,
    /// Role of this process: answer requests, compute jobs, or both.
    ///
    /// Set it when some processes answer and others compute.
    #[arg(long, env = "HALFSPACE_ROLE", default_value = "all", global = true)]
    pub role: Role,
    /// Number of jobs that this process computes at once; by default the number of cores, or the CPU quota of its
    /// control group if that is lower.
    ///
    /// Set it when other programs need the cores, or when memory allows fewer jobs at once.
    #[arg(long, env = "HALFSPACE_WORKERS", global = true,
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Seconds without a heartbeat after which another worker may claim a job.
    ///
    /// Set it higher when machines or the database pause for longer, as in a live migration or a failover, and lower
    /// when jobs must move on sooner after a crash.
    #[arg(long, env = "HALFSPACE_LEASE_SECONDS", default_value_t = JobsConfig::default().lease_seconds, global = true,
        value_parser = clap::value_parser!(u32).range(2..=3600))]
    pub lease_seconds: u32,
    /// Seconds of computing between two checkpoints of a job. The interval grows if a checkpoint takes long.
    ///
    /// Set it higher when `halfspace_checkpoint_bytes_total` loads the write-ahead log of PostgreSQL, and lower when
    /// machines are taken away without notice.
    #[arg(long, env = "HALFSPACE_CHECKPOINT_SECONDS", global = true,
        default_value_t = JobsConfig::default().checkpoint_every.as_secs() as u32,
        value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub checkpoint_seconds: u32,
    /// Deaths of worker processes after which a job fails. A death counts only if the job ran alone in the
    /// process. The same number limits the attempts to read the data of a job.
    ///
    /// Set it higher when machines die often for other reasons, such as spot instances, so that a long job is not
    /// blamed.
    #[arg(long, env = "HALFSPACE_ATTEMPTS_MAX", default_value_t = JobsConfig::default().attempts_max, global = true,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub attempts_max: u32,
    /// Days to keep a job after its end.
    ///
    /// Set it when ended jobs must go sooner or stay longer.
    #[arg(long, env = "HALFSPACE_RETENTION_DAYS", default_value_t = JobsConfig::default().retention_days, global = true,
        value_parser = clap::value_parser!(u32).range(1..=36500))]
    pub retention_days: u32,
    /// Path below which a proxy publishes the service, such as `/learn`. Answers name this path in `Location`, in links
    /// and in problems. The service also answers requests without the path.
    ///
    /// Set it when a proxy publishes the service below a path.
    #[arg(long, env = "HALFSPACE_BASE_PATH", default_value = "", hide_default_value = true, global = true,
        value_parser = base_path)]
    pub base_path: String,
    /// Further host names to accept when listening on a loopback address. Loopback names are always accepted.
    ///
    /// Set it when a proxy on the same machine passes on the public `Host` header.
    #[arg(
        long,
        env = "HALFSPACE_ALLOWED_HOSTS",
        value_delimiter = ',',
        global = true
    )]
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages, such as `https://example.com`, that may send requests and read responses. `*`
    /// allows all origins as long as no API key exists.
    ///
    /// Set it when web pages of another origin use the API.
    #[arg(
        long,
        env = "HALFSPACE_CORS_ORIGINS",
        value_delimiter = ',',
        global = true
    )]
    pub cors_origins: Vec<String>,
    /// Addresses and networks of proxies, such as `10.0.0.7` or `10.0.0.0/8`. A proxy may hold any number of
    /// connections; any other address holds at most half of them.
    ///
    /// Set it when clients arrive through a proxy, since all of them have its address.
    #[arg(long, env = "HALFSPACE_TRUSTED_PROXIES", value_delimiter = ',', global = true,
        value_parser = proxies)]
    pub trusted_proxies: Vec<IpNet>,
    /// Second address for `/livez`, `/readyz`, `/metrics` and `/version` only. A separate thread answers them
    /// even under load.
    ///
    /// Set it when probes and metrics must stay off the public address.
    #[arg(long, env = "HALFSPACE_OPS_LISTEN", global = true, value_parser = address)]
    pub ops_listen: Option<SocketAddr>,
    /// Secrets that sign callbacks: `whsec_` and 24 to 64 bytes in base64. Without a secret the service sends
    /// no callbacks.
    ///
    /// Set it when jobs send callbacks, and to two secrets while you rotate.
    #[arg(long, env = "HALFSPACE_CALLBACK_SECRET", hide_env_values = true, value_delimiter = ',',
        global = true, value_parser = SecretParser)]
    pub callback_secret: Vec<Secret>,
    /// Networks, such as `10.0.0.0/8`, that callbacks may connect to besides the public Internet.
    ///
    /// Set it when receivers of callbacks are in a private network.
    #[arg(long, env = "HALFSPACE_CALLBACK_ALLOW", value_delimiter = ',', global = true,
        value_parser = parse_network)]
    pub callback_allow: Vec<IpNet>,
    /// Log level, or log directives such as `info,halfspace=debug`.
    ///
    /// Set it to `debug` or to directives while you look for a fault.
    #[arg(long, env = "HALFSPACE_LOG", default_value = "info", global = true)]
    pub log: String,
    /// Format of the log.
    ///
    /// Set it to `json` when a collector reads the log.
    #[arg(
        long,
        env = "HALFSPACE_LOG_FORMAT",
        default_value = "text",
        global = true
    )]
    pub log_format: LogFormat,
    /// Collector that receives traces over OTLP (HTTP, protobuf), such as `http://collector:4318`. Without a collector
    /// no traces are recorded.
    ///
    /// Set it when you collect traces.
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_ENDPOINT",
        value_name = "URL",
        global = true
    )]
    pub otlp_endpoint: Option<String>,
    /// Memory of the process in bytes, at least 128 MiB. Requests and jobs share all but 64 MiB of the
    /// memory. By default 70 % of the memory of the machine or of the process's control group.
    ///
    /// Set it when the process shares the machine with others outside a control group.
    #[arg(long, env = "HALFSPACE_MEMORY_BYTES_MAX", global = true)]
    pub memory_bytes_max: Option<u64>,
    /// Bytes of stored data that a job loads into memory as a whole. A job reads larger data in parts. All processes
    /// over one store need the same number, because the process that accepts a job computes the memory that the job
    /// needs.
    ///
    /// Set it higher when workers have memory to spare and shuffled trainings on large datasets are slow.
    #[arg(long, env = "HALFSPACE_RESIDENT_BYTES_MAX", default_value_t = JobsConfig::default().resident_bytes_max,
        global = true, value_parser = clap::value_parser!(u64).range(1..=COUNT_MAX))]
    pub resident_bytes_max: u64,
    /// Disk space for blobs that are cached from an object store, in bytes. It must be larger than the largest blob,
    /// which has 33/32 of `--body-bytes-max` or of `--state-bytes-max`, and with `--sources` of `--source-bytes-max`.
    ///
    /// Set it lower when the disk below `--data-dir` is small, and higher when the cache often misses or blobs are
    /// larger.
    #[arg(long, env = "HALFSPACE_BLOB_CACHE_BYTES_MAX", default_value_t = 10 << 30, global = true,
        value_parser = clap::value_parser!(u64).range(1..=COUNT_MAX))]
    pub blob_cache_bytes_max: u64,
    /// The limits of the service.
    #[command(flatten)]
    pub limits: Limits,
}

/// The access to an object store. Other S3 clients use the same environment variables.
#[derive(Args, Clone, Debug)]
pub struct S3Settings {
    /// S3 access key ID.
    ///
    /// Set it when the blobs or sources are in a bucket.
    #[arg(long, env = "AWS_ACCESS_KEY_ID", hide_env_values = true, global = true)]
    pub aws_access_key_id: Option<SecretString>,
    /// S3 secret access key.
    ///
    /// Set it when the blobs or sources are in a bucket.
    #[arg(
        long,
        env = "AWS_SECRET_ACCESS_KEY",
        hide_env_values = true,
        global = true
    )]
    pub aws_secret_access_key: Option<SecretString>,
    /// S3 session token, for temporary credentials. It is read once, so it expires under a running service.
    ///
    /// Set it when the keys are temporary, for commands such as `check`.
    #[arg(long, env = "AWS_SESSION_TOKEN", hide_env_values = true, global = true)]
    pub aws_session_token: Option<SecretString>,
    /// Region of the bucket.
    ///
    /// Set it when the bucket is in another region.
    #[arg(long, env = "AWS_REGION", default_value = "us-east-1", global = true)]
    pub aws_region: String,
    /// Address of an S3-compatible object store other than Amazon's. With `http://` the data pass unencrypted, and the
    /// start warns if that leaves the machine.
    ///
    /// Set it when the bucket is not at Amazon but in MinIO, SeaweedFS or Ceph.
    #[arg(long, env = "AWS_ENDPOINT_URL", hide_env_values = true, global = true)]
    pub aws_endpoint_url: Option<SecretString>,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Readable lines.
    Text,
    /// One JSON object per line.
    Json,
}

/// Parses a secret. The error message of clap would repeat the secret, so this parser writes a message
/// without it.
#[derive(Clone)]
struct SecretParser;

impl TypedValueParser for SecretParser {
    type Value = Secret;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Secret, clap::Error> {
        let read = value.to_string_lossy().parse::<Secret>();
        read.map_err(|error| {
            // A setting that has a flag has neither a variable nor a file here: see `command_line`.
            let file = argument.and_then(secret_files::file_of);
            let variable = argument.and_then(|argument| argument.get_env()?.to_str());
            let place = match (file, variable) {
                (Some(file), _) => format!(" in the file that {file} names"),
                (None, Some(variable)) => format!(" in {variable}"),
                (None, None) => String::new(),
            };
            let message = format!("invalid value for '--callback-secret'{place}: {error}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

impl Settings {
    /// The place of the database.
    ///
    /// # Errors
    /// The mistake in the setting, without any part that could be a password.
    pub fn database(&self) -> Result<DatabaseLocation, String> {
        self.database_url.place(self.database_password.as_ref())
    }

    /// Number of jobs that this process computes at once; 0 in the role `api`.
    pub fn workers(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        match self.role {
            Role::Api => 0,
            Role::All | Role::Worker => self.workers.map_or_else(cores, usize::from),
        }
    }

    /// The settings of a service that keeps everything in this directory.
    #[must_use]
    pub fn in_directory(self, directory: &Path) -> Self {
        Self {
            data_dir: directory.to_owned(),
            database_url: DatabaseUrl::embedded(),
            blob_url: BlobUrl::in_data_dir(),
            role: Role::All,
            ..self
        }
    }

    /// The access to an object store.
    pub fn s3_access(&self) -> S3Access {
        let set = self.s3.clone();
        S3Access {
            access_key_id: set.aws_access_key_id,
            secret_access_key: set.aws_secret_access_key,
            session_token: set.aws_session_token,
            region: set.aws_region,
            endpoint_url: set.aws_endpoint_url,
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
        assert_eq!(read.settings.limits, Limits::default());
    }

    #[test]
    fn error_of_a_bad_setting_names_it() {
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
    fn a_base_path_has_plain_segments_between_slashes() {
        for (text, path) in [
            ("", ""),
            ("/", ""),
            ("/learn/", "/learn"),
            ("/a.b/c-d_e~1", "/a.b/c-d_e~1"),
        ] {
            assert_eq!(base_path(text).as_deref(), Ok(path));
        }
        let long = format!("/{}", "a".repeat(BASE_PATH_LENGTH_MAX));
        // A browser reads `//name` as the address of another host.
        for text in [
            "learn", "//name", "/a//b", "/./a", "/a/..", "/a b", "/a%2Fb", "/a?b", "/a#b", "/a\\b",
            "/a\nb", "/é", "/a:b", "/a;b", "/{a}", "/*a", "/<a>", "/livez", "/v1/", "/docs/a",
            &long,
        ] {
            let line = ["halfspace", "--base-path", text];
            let error = CommandLine::try_parse_from(line).expect_err(text);
            assert!(error.to_string().contains("--base-path"), "{error}");
        }
    }

    #[test]
    fn base_path_hides_no_route() {
        let document: serde_json::Value = serde_json::from_str(&crate::http::document()).unwrap();
        for path in document["paths"].as_object().unwrap().keys() {
            let first = path.split('/').nth(1).unwrap();
            assert!(first.is_empty() || OWN_SEGMENTS.contains(&first), "{path}");
        }
    }

    #[test]
    fn database_password_is_not_shown() {
        let url = "postgres://ada:s3cret@db.example/half";
        let line = ["halfspace", "--database-url", url];
        let read = CommandLine::try_parse_from(line).expect("a command line");
        let shown = format!("{read:?}");
        assert!(shown.contains("postgres://ada@db.example"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
        // The command line is parsed without a check of the URL. The error message of a check would show the
        // URL.
        let line = ["halfspace", "--database-url", "s3cret"];
        let read = CommandLine::try_parse_from(line).expect("a command line");
        assert!(!format!("{read:?}").contains("s3cret"));
        let help = CommandLine::command().render_long_help().to_string();
        assert!(help.contains("[env: HALFSPACE_DATABASE_URL]"), "{help}");
    }

    #[test]
    fn object_store_credentials_are_not_shown() {
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
    fn callback_secret_is_not_shown() {
        let key = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let good = format!("whsec_{key},whsec_{key}");
        let command = CommandLine::command();
        let mut arguments = command.get_arguments();
        let argument = arguments.find(|argument| argument.get_long() == Some("callback-secret"));
        // Without this attribute `--help` would print the value of the variable.
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

    /// The next number beyond each end of a range is refused, and so is what is no number.
    #[test]
    fn every_limit_has_a_range_above_zero() {
        let command = Limits::augment_args(clap::Command::new("limits"));
        let mut limits: Vec<_> = command
            .get_arguments()
            .filter_map(clap::Arg::get_long)
            .collect();
        assert!(limits.len() > 10, "{limits:?}");
        limits.extend([
            "attempts-max",
            "blob-cache-bytes-max",
            "lease-seconds",
            "resident-bytes-max",
            "retention-days",
            "workers",
        ]);
        for limit in limits {
            let read = |value: &str| {
                let setting = format!("--{limit}={value}");
                CommandLine::try_parse_from(["halfspace", &setting])
            };
            for value in [
                "0",
                "-1",
                "1e300",
                "18446744073709551615",
                "NaN",
                "inf",
                "x",
                "",
            ] {
                let error = read(value).err();
                let error = error.unwrap_or_else(|| panic!("--{limit} accepts {value}"));
                let error = error.to_string();
                assert!(error.contains(&format!("--{limit}")), "{error}");
            }
            let default = command
                .get_arguments()
                .find(|known| known.get_long() == Some(limit));
            let default = default.and_then(|known| known.get_default_values().first());
            let default = default.and_then(|value| value.to_str()).unwrap_or("2");
            assert!(read(default).is_ok(), "--{limit} {default}");
        }
    }

    #[test]
    fn unknown_environment_variable_is_found() {
        let named = |name: &str| {
            let names = ["PATH", "HALFSPACE_WORKERS", "HALFSPACE_KEY_FILE", name];
            given::unknown_variable(names.map(str::to_owned))
        };
        for name in ["HALFSPACE_WRKERS", "HALFSPACE_WRKERS_FILE"] {
            let told = named(name).expect("unknown");
            assert!(told.contains(name), "{told}");
        }
        for setting in [
            "HALFSPACE_LISTEN",
            "AWS_REGION",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        ] {
            let told = named(&format!("{setting}_FILE")).expect("no secret");
            assert!(told.contains(&format!("set {setting} itself")), "{told}");
        }
        for name in ["PGPASSWORD_FILE", "PATH_FILE", "AWS_SECRET_ACCESS_KEY_FILE"] {
            assert_eq!(named(name), None);
        }
    }
}
