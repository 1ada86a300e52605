//! The commands of the program: parses the command line, runs one command, writes its output and chooses the exit
//! status.
//!
//! The learning commands have a module of their own. The others serve and maintain a service.

mod connection;
mod failure;
mod learning;
mod tables;
mod verify;

use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgMatches, FromArgMatches};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::app::logging::{log_to_stderr, tell_fatal};
use crate::app::terminal::Shown;
use crate::app::{self, Service};
use crate::config::given::{
    command_line, early_log_format, given_settings, names_listen, unknown_variable, with_sources,
};
use crate::config::removed::{removed_flag, removed_variable};
use crate::config::{Command, CommandLine, KeysCommand, LogFormat, ServeCommand, Settings};
use crate::jobs::CheckNews;
use crate::memory::return_free_memory;
use crate::records::process::REVISION;
use crate::records::schedule::Weight;
use crate::records::{KeyQuotas, Role};

use failure::Failure;

/// Time limit for the blocking pool to stop after the stop flags are set.
const POOL_TIMEOUT: Duration = Duration::from_secs(1);

/// The file in the data directory with the address of the running service, for `halfspace healthcheck`.
const ADDRESS_FILE: &str = "address";

/// Time limit of each step of a health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs the command of the command line.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().collect();
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let names: Vec<_> = names.collect();
    // The settings are not parsed yet, so the format of early errors comes from the variable itself.
    #[expect(clippy::disallowed_methods)]
    let variable = std::env::var("HALFSPACE_LOG_FORMAT").ok();
    let early = early_log_format(&arguments, variable.as_deref());
    if let Some(fault) = removed_variable(&names).or_else(|| unknown_variable(names)) {
        tell_fatal(early, &fault);
        return ExitCode::from(2);
    }
    // The settings of secrets also come from files that variables name.
    let mut command = match command_line(&arguments, &|name| std::env::var_os(name)) {
        Ok(command) => command,
        Err(error) => {
            tell_fatal(early, &error);
            return ExitCode::from(2);
        }
    };
    let matches = match command.try_get_matches_from_mut(&arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let removed = removed_flag(&error);
            if removed.is_none() && (early != LogFormat::Json || !error.use_stderr()) {
                error.exit();
            }
            let fault = removed.unwrap_or_else(|| error.to_string().trim_end().to_owned());
            tell_fatal(early, &fault);
            return ExitCode::from(2);
        }
    };
    let line = match CommandLine::from_arg_matches(&matches) {
        Ok(line) => line,
        Err(error) => error.exit(),
    };
    let chosen = line
        .command
        .unwrap_or_else(|| Command::Serve(ServeCommand::default()));
    // For `check`, exit status 1 means damage. For `verify`, exit status 1 means a difference.
    let failure = match chosen {
        Command::Check { .. } | Command::Verify(_) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    };
    match run(
        chosen,
        &line.settings,
        &matches,
        &given_settings(&command, &matches),
    ) {
        Ok(status) => status,
        Err(error) => {
            let told = with_sources(&error.to_string(), &command, &matches);
            tell_fatal(line.settings.log_format, &told);
            error.downcast_ref().map_or(failure, Failure::exit_code)
        }
    }
}

fn run(
    command: Command,
    settings: &Settings,
    matches: &ArgMatches,
    given: &[String],
) -> Result<ExitCode, Box<dyn Error>> {
    // The export of spans ends with the command.
    let _span_export = match command {
        Command::Openapi => {
            tables::write(&crate::http::document())?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Healthcheck => {
            healthcheck(served_address(settings, matches))?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Verify(replay) => return verify::verify(&replay),
        Command::Learning(_) => None,
        _ => log_to_stderr(settings)?,
    };
    return_free_memory();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(app::blocking_threads(settings))
        .build()?;
    let result = runtime.block_on(async {
        match command {
            Command::Learning(command) => return Ok(learning::run(&command, settings).await?),
            Command::Migrate => app::migrate(settings).await?,
            Command::Backup { directory } => backup(settings, &directory).await?,
            Command::Check { json } => return check(settings, json).await,
            Command::Keys(command) => keys(settings, command).await?,
            Command::Serve(command) => serve(&command, settings, given).await?,
            Command::Openapi | Command::Healthcheck | Command::Verify(_) => {
                unreachable!("the command has returned")
            }
        }
        Ok(ExitCode::SUCCESS)
    });
    runtime.shutdown_timeout(POOL_TIMEOUT);
    result
}

async fn serve(
    command: &ServeCommand,
    settings: &Settings,
    given: &[String],
) -> Result<(), Box<dyn Error>> {
    let directory = command.temporary.then(tempfile::tempdir).transpose()?;
    let inside = directory
        .as_ref()
        .map(|directory| settings.clone().in_directory(directory.path()));
    let settings = inside.as_ref().unwrap_or(settings);
    // The handlers are installed first, so that a signal during the start is not lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let signalled = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        signalled.cancel();
    });
    if command.stop_with_input {
        let ended = stop.clone();
        // A thread of its own, because a read of standard input cannot be abandoned.
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            ended.cancel();
        });
    }
    app::raise_open_files(settings);
    let listener = app::listen(settings)?;
    let operations = app::listen_for_operations(settings)?;
    let service = tokio::select! {
        opened = Service::open(settings) => opened?,
        // A slow store may delay the start. Nothing is lost if the start is abandoned.
        () = stop.cancelled() => return Ok(()),
    };
    let address = listener.local_addr()?;
    let probed = match &operations {
        Some(operations) => operations.address()?,
        None => address,
    };
    tell_start(settings, address, probed, &service, given);
    let told = settings.data_dir.join(ADDRESS_FILE);
    if let Err(error) = std::fs::write(&told, probed.to_string()) {
        tracing::warn!(%error, "`halfspace healthcheck` will not find this address");
    }
    let ran = service.run(listener, operations, stop).await;
    let _ = std::fs::remove_file(&told);
    ran.map_err(|error| {
        format!("the thread that accepts connections could not start: {error}").into()
    })
}

/// Reports the start in the log and on standard output.
fn tell_start(
    settings: &Settings,
    address: SocketAddr,
    probed: SocketAddr,
    service: &Service,
    given: &[String],
) {
    let is_open = service.is_open();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        revision = REVISION,
        address = %address,
        operations = %probed,
        workers = settings.workers(),
        memory_bytes = service.memory_bytes(),
        settings = given.join(" "),
        open_to_everybody = is_open,
        "halfspace serves"
    );
    if is_open && settings.role != Role::Worker && !address.ip().is_loopback() {
        tracing::warn!(
            address = %address,
            "the service is open to everybody on the network because no API key exists; create a \
             key with `halfspace keys create`"
        );
    }
    if settings.log_format == LogFormat::Text {
        // The reader may have closed the pipe. The service starts nevertheless.
        let _ = welcome(address, settings.role);
    }
}

/// The address for a health check: the address on the command line, or the one of the service in this data
/// directory, or the one in the settings.
fn served_address(settings: &Settings, matches: &ArgMatches) -> SocketAddr {
    let told = || std::fs::read_to_string(settings.data_dir.join(ADDRESS_FILE)).ok();
    let told = || told()?.parse().ok();
    match names_listen(matches) {
        true => settings.listen,
        false => told().unwrap_or(settings.listen),
    }
}

/// Copies the store and reports the contents of the copy.
async fn backup(settings: &Settings, directory: &Path) -> Result<(), Box<dyn Error>> {
    let copy = app::backup(settings, directory).await?;
    let mut out = Shown(std::io::stdout());
    writeln!(
        out,
        "{} holds the database and {} blobs of {} bytes",
        directory.display(),
        copy.blobs,
        copy.bytes
    )?;
    if copy.passed > 0 {
        writeln!(
            out,
            "  without {} jobs and datasets that were created or deleted meanwhile",
            copy.passed
        )?;
    }
    writeln!(
        out,
        "  to restore: halfspace --data-dir {}",
        directory.display()
    )?;
    let mut warnings = Shown(std::io::stderr());
    for key in &copy.lost {
        writeln!(
            warnings,
            "warning: the blob {key} is missing in the store and therefore in the copy"
        )?;
    }
    Ok(())
}

/// Checks the store. Damage and summary go to standard output, progress to standard error.
async fn check(settings: &Settings, json: bool) -> Result<ExitCode, Box<dyn Error>> {
    let mut out = Shown(std::io::stdout());
    let mut tell = |news: CheckNews| {
        // The reader may have closed the pipe. The exit status is still correct.
        let _ = match news {
            CheckNews::Progress(text) => writeln!(Shown(std::io::stderr()), "{text}"),
            CheckNews::Damage(damage) if json => {
                writeln!(out, "{}", serde_json::json!({"damage": damage}))
            }
            CheckNews::Damage(damage) => {
                writeln!(
                    out,
                    "damaged: {} {}: {}",
                    damage.kind, damage.id, damage.detail
                )
            }
        };
    };
    let summary = app::check(settings, &mut tell).await?;
    if json {
        writeln!(out, "{}", serde_json::json!({"summary": summary}))?;
    } else {
        writeln!(out, "{summary}")?;
    }
    Ok(match summary.damages {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Runs a command for API keys and reports the result.
async fn keys(settings: &Settings, command: KeysCommand) -> Result<(), Box<dyn Error>> {
    let mut out = Shown(std::io::stdout());
    match command {
        KeysCommand::Create(new) => {
            let (key, secret) = app::create_key(settings, new).await?;
            writeln!(out, "id      {}", key.id)?;
            writeln!(out, "secret  {secret}")?;
            writeln!(
                out,
                "The secret is not shown again. Send it in each request as"
            )?;
            writeln!(out, "  Authorization: Bearer {secret}")?;
        }
        KeysCommand::List => {
            for key in app::keys(settings).await? {
                let state = match key.revoked_at {
                    Some(at) => format!("revoked {at}"),
                    None => "valid".to_owned(),
                };
                let quotas = limits(&key.quotas);
                let weight = match key.weight {
                    weight if weight == Weight::default() => String::new(),
                    weight => format!("  weight {}", weight.get()),
                };
                writeln!(
                    out,
                    "{}  made {}  {state}{quotas}{weight}  {}",
                    key.id, key.created_at, key.name
                )?;
            }
        }
        KeysCommand::Revoke { id } => {
            if !app::revoke_key(settings, id).await? {
                return Err(format!("no such key: {id}").into());
            }
            writeln!(out, "{id} is revoked")?;
        }
    }
    Ok(())
}

/// The limits of this key that replace those of the settings.
fn limits(quotas: &KeyQuotas) -> String {
    let told = [
        ("jobs", quotas.jobs_queued_max),
        ("bytes", quotas.stored_bytes_max),
        ("sessions", quotas.sessions_max),
    ];
    let told = told
        .iter()
        .filter_map(|(name, limit)| Some((name, (*limit)?)));
    told.map(|(name, limit)| format!("  {name} <= {limit}"))
        .collect()
}

/// Prints the address, the page of documentation and an example request.
fn welcome(address: SocketAddr, role: Role) -> std::io::Result<()> {
    let address = reachable(address);
    let mut out = Shown(std::io::stdout());
    writeln!(out, "halfspace listens on http://{address}")?;
    if role == Role::Worker {
        return Ok(());
    }
    writeln!(out, "  docs  http://{address}/docs")?;
    writeln!(
        out,
        "  try   curl -H 'content-type: application/json' \
         http://{address}/v1/learners/directed-drift-sync/train \
         -d '{{\"generated\": {{\"n\": 101, \"target\": {{\"binary_weights\": {{}}}}, \
         \"sampling\": \"uniform-positive\"}}}}'"
    )?;
    Ok(())
}

/// Replaces an unspecified address by loopback, so that a client on this machine can connect.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    address
}

/// Requests `/livez` at an address.
fn healthcheck(listen: SocketAddr) -> Result<(), Box<dyn Error>> {
    let address = reachable(listen);
    let ask = || {
        let mut stream = TcpStream::connect_timeout(&address, HEALTH_TIMEOUT)?;
        stream.set_read_timeout(Some(HEALTH_TIMEOUT))?;
        stream.set_write_timeout(Some(HEALTH_TIMEOUT))?;
        write!(
            stream,
            "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        Ok::<_, std::io::Error>(head)
    };
    match ask() {
        Ok(head) if &head == b"HTTP/1.1 200" => Ok(()),
        Ok(_) => Err(format!("{address} is not alive").into()),
        Err(error) => Err(format!("{address} does not respond: {error}").into()),
    }
}
