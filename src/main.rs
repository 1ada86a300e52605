//! The command line: serve | migrate | backup | keys | openapi | healthcheck.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

use std::error::Error;
use std::io::{IsTerminal, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use halfspace::app::{self, Service};
use halfspace::bits::{Kernels, use_kernels};
use halfspace::config::{
    Command, CommandLine, KernelsChoice, KeysCommand, LogFormat, Role, Settings, unknown_variable,
};
use halfspace::records::KeyQuotas;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// How long the blocking pool may take to see its stop flags.
const POOL_PATIENCE: Duration = Duration::from_secs(1);

/// How long a health check waits for each step.
const HEALTH_PATIENCE: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    if let Some(name) = unknown_variable(names) {
        eprintln!("error: there is no setting {name}; see halfspace --help");
        return ExitCode::from(2);
    }
    let line = CommandLine::parse();
    match run(line.command.unwrap_or(Command::Serve), &line.settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command, settings: &Settings) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Openapi => {
            print!("{}", halfspace::http::document());
            return Ok(());
        }
        Command::Healthcheck => return healthcheck(settings.listen),
        Command::Serve | Command::Migrate | Command::Backup { .. } | Command::Keys(_) => {}
    }
    log_to_stderr(settings)?;
    use_kernels(match settings.kernels {
        KernelsChoice::Detected => Kernels::Detected,
        KernelsChoice::Scalar => Kernels::Scalar,
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        match command {
            Command::Migrate => Ok(app::migrate(settings).await?),
            Command::Backup { directory } => backup(settings, &directory).await,
            Command::Keys(command) => keys(settings, command).await,
            _ => serve(settings).await,
        }
    });
    runtime.shutdown_timeout(POOL_PATIENCE);
    result
}

fn log_to_stderr(settings: &Settings) -> Result<(), Box<dyn Error>> {
    let filter = EnvFilter::try_new(&settings.log)
        .map_err(|error| format!("--log {}: {error}", settings.log))?;
    let mut builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    if !std::io::stderr().is_terminal() {
        builder = builder.with_ansi(false);
    }
    match settings.log_format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}

async fn serve(settings: &Settings) -> Result<(), Box<dyn Error>> {
    // Both come first: a signal during the start is then not lost.
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
    let listener = app::listen(settings).await?;
    let service = tokio::select! {
        opened = Service::open(settings) => opened?,
        // What it opens may be long in answering, and nothing is lost with it.
        () = stop.cancelled() => return Ok(()),
    };
    let address = listener.local_addr()?;
    // Whoever started it may have stopped reading; it serves all the same.
    let _ = welcome(address, settings.role);
    let connections_max = settings.limits().connections_max;
    service.run(listener, connections_max, stop).await;
    Ok(())
}

/// Copies the store and says what the copy holds.
async fn backup(settings: &Settings, directory: &Path) -> Result<(), Box<dyn Error>> {
    let copy = app::backup(settings, directory).await?;
    let mut out = std::io::stdout();
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
            "  without {} jobs and datasets that came and went meanwhile",
            copy.passed
        )?;
    }
    writeln!(
        out,
        "  to restore: halfspace --data-dir {}",
        directory.display()
    )?;
    for key in &copy.lost {
        eprintln!("warning: the store has lost the blob {key}, and so the copy is without it");
    }
    Ok(())
}

/// Does what is asked with API keys, and says what came of it.
async fn keys(settings: &Settings, command: KeysCommand) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout();
    match command {
        KeysCommand::Create(new) => {
            let (key, secret) = app::create_key(settings, new).await?;
            writeln!(out, "id      {}", key.id)?;
            writeln!(out, "secret  {secret}")?;
            writeln!(out, "The secret is not shown again. Requests bring it as")?;
            writeln!(out, "  Authorization: Bearer {secret}")?;
        }
        KeysCommand::List => {
            for key in app::keys(settings).await? {
                let state = match key.revoked_at {
                    Some(at) => format!("revoked {at}"),
                    None => "in force".to_owned(),
                };
                let quotas = limits(&key.quotas);
                writeln!(
                    out,
                    "{}  made {}  {state}{quotas}  {}",
                    key.id, key.created_at, key.name
                )?;
            }
        }
        KeysCommand::Revoke { id } => {
            if !app::revoke_key(settings, id).await? {
                return Err(format!("there is no key {id}").into());
            }
            writeln!(out, "{id} is revoked")?;
        }
    }
    Ok(())
}

/// The limits that a key has of its own.
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

/// What a person who has just started the service wants to know.
fn welcome(address: SocketAddr, role: Role) -> std::io::Result<()> {
    let address = reachable(address);
    let mut out = std::io::stdout();
    writeln!(out, "halfspace listens on http://{address}")?;
    if role == Role::Worker {
        return out.flush();
    }
    writeln!(out, "  docs  http://{address}/docs")?;
    writeln!(
        out,
        "  try   curl -H 'content-type: application/json' \
         http://{address}/v1/learners/directed-drift-sync/train \
         -d '{{\"generated\": {{\"n\": 101, \"target\": {{\"binary_weights\": {{}}}}, \
         \"sampling\": \"uniform-positive\"}}}}'"
    )?;
    out.flush()
}

/// An address that a client on this machine can connect to.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    address
}

/// Asks `/livez` of the service that these settings would start.
fn healthcheck(listen: SocketAddr) -> Result<(), Box<dyn Error>> {
    let address = reachable(listen);
    let ask = || {
        let mut stream = TcpStream::connect_timeout(&address, HEALTH_PATIENCE)?;
        stream.set_read_timeout(Some(HEALTH_PATIENCE))?;
        stream.set_write_timeout(Some(HEALTH_PATIENCE))?;
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
        Err(error) => Err(format!("{address} does not answer: {error}").into()),
    }
}
