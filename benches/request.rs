//! Cost of a tiny training that a client waits for, beside its two unavoidable parts: an HTTP answer, and a commit on
//! disk.
//!
//! Run `cargo bench --bench request`. Everything happens in this process. A measurement keeps one connection open and
//! sends one request at a time. Each round makes a few requests of every kind, and the benchmark prints medians over
//! all rounds.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use clap::Parser;
use halfspace::app::Service;
use halfspace::config::CommandLine;
use halfspace::http::{ServeLimits, serve};
use halfspace::jobs::Jobs;
use halfspace::records::id::JobKind;
use halfspace::records::{Job, Model, Owner, Page};
use halfspace::storage::{JobFilter, Store, sqlite};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 60;
const REQUESTS_A_ROUND: usize = 10;
const BODY: &str = "1 1:1 2:1\n0 3:1\n1 1:1 3:1\n0 2:1 3:1\n";
const TRAIN: &str = "/v1/learners/perceptron/train";

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let stop = CancellationToken::new();
    let empty = runtime.block_on(start_empty(stop.clone()))?;
    let (service, jobs) = runtime.block_on(start_service(directory.path(), stop.clone()))?;

    let mut empty = Client::connect(empty, "/")?;
    let mut trainer = Client::connect(service, TRAIN)?;
    let (job, model) = runtime.block_on(ended_job(&jobs))?;
    let own = runtime.block_on(sqlite::open(&directory.path().join("own.db")))?;
    let mut file = File::create(directory.path().join("page"))?;
    let commit = || runtime.block_on(commit(&own, &jobs, &job, &model));

    let mut taken: [Vec<f64>; 4] = Default::default();
    for round in 0..ROUNDS {
        let mut sample = [const { Vec::new() }; 4];
        for _ in 0..REQUESTS_A_ROUND {
            sample[0].push(timed(|| empty.post())?);
        }
        for _ in 0..REQUESTS_A_ROUND {
            sample[1].push(timed(commit)?);
        }
        for _ in 0..REQUESTS_A_ROUND {
            sample[2].push(timed(|| trainer.post())?);
        }
        for _ in 0..REQUESTS_A_ROUND {
            sample[3].push(timed(|| {
                file.write_all(&[round as u8; 4096])?;
                Ok(file.sync_data()?)
            })?);
        }
        // The first round is a warm-up.
        if round > 0 {
            taken
                .iter_mut()
                .zip(sample)
                .for_each(|(all, some)| all.extend(some));
        }
    }
    report(taken);
    stop.cancel();
    Ok(())
}

fn report(taken: [Vec<f64>; 4]) {
    let names = [
        "an empty axum handler",
        "a durable commit of job and model",
        "a tiny waited training",
        "append and sync of 4 KiB",
    ];
    println!(
        "{:<36} {:>10} {:>10} {:>10}",
        "microseconds", "median", "10 %", "90 %"
    );
    let medians = taken.map(|mut taken| {
        taken.sort_by(f64::total_cmp);
        [0.5, 0.1, 0.9].map(|place| taken[(taken.len() as f64 * place) as usize] * 1e6)
    });
    for (name, [median, low, high]) in names.iter().zip(medians) {
        println!("{name:<36} {median:>10.0} {low:>10.0} {high:>10.0}");
    }
    let [handler, commit, training, _] = medians;
    let [median, low, high] =
        [0, 1, 2].map(|place| training[place] / (handler[place] + commit[place]));
    let name = "training / (handler + commit)";
    println!("{name:<36} {median:>10.2} {low:>10.2} {high:>10.2}   target <= 2");
}

fn timed(work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}

/// A handler that reads the body and sends an empty answer, behind the service's accept loop.
async fn start_empty(stop: CancellationToken) -> Result<SocketAddr, Box<dyn Error>> {
    let router = Router::new().route("/", post(async |_: Bytes| ()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(serve(
        listener,
        router,
        Handle::current(),
        ServeLimits::default(),
        stop,
    ));
    Ok(address)
}

async fn start_service(
    directory: &Path,
    stop: CancellationToken,
) -> Result<(SocketAddr, Arc<Jobs>), Box<dyn Error>> {
    let mut settings = CommandLine::try_parse_from(["halfspace"])?.settings;
    settings.data_dir = directory.to_owned();
    let service = Service::open(&settings).await?;
    let jobs = Arc::clone(service.jobs());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // One training makes the job and the model. The benchmark then commits them without training again.
    tokio::spawn(service.run(listener, None, stop));
    tokio::task::spawn_blocking(move || {
        let mut client = Client::connect(address, TRAIN).expect("a connection");
        client.post().expect("a job");
    })
    .await?;
    Ok((address, jobs))
}

/// The only job of the store, and its model.
async fn ended_job(jobs: &Jobs) -> Result<(Job, Model), Box<dyn Error>> {
    let owner = Owner::anonymous();
    let page = Page::<JobKind>::new(1, None);
    let filter = JobFilter::default();
    let stored = jobs.store.jobs(&owner, &filter, &page, |_| ()).await?;
    let job = stored.items.into_iter().next().ok_or("no job")?;
    let model = jobs
        .store
        .find(&owner, job.model.ok_or("no model")?)
        .await?;
    Ok((job, model.ok_or("no model")?))
}

/// Stores the job and the model under new ids.
async fn commit(
    store: &Store,
    jobs: &Jobs,
    job: &Job,
    model: &Model,
) -> Result<(), Box<dyn Error>> {
    let (mut job, mut model) = (job.clone(), model.clone());
    job.id = jobs.ids.id();
    model.summary.id = jobs.ids.id();
    (job.model, model.summary.job) = (Some(model.summary.id), Some(job.id));
    Ok(store
        .insert_ended_job(&job, Some(&model), None, None)
        .await?)
}

/// A connection with one request at a time.
struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr, path: &str) -> Result<Self, Box<dyn Error>> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let length = BODY.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: text/x-libsvm\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        Ok(Self {
            stream,
            request: [head.as_bytes(), BODY.as_bytes()].concat(),
            answer: vec![0; 64 * 1024],
        })
    }

    fn post(&mut self) -> Result<(), Box<dyn Error>> {
        self.stream.write_all(&self.request)?;
        let mut read = 0;
        loop {
            read += self.stream.read(&mut self.answer[read..])?;
            let text = std::str::from_utf8(&self.answer[..read])?;
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            if !head.starts_with("HTTP/1.1 200") {
                return Err(text.to_owned().into());
            }
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                let is_length = name.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.parse::<usize>().ok())?
            });
            if body.len() >= length.ok_or("no Content-Length")? {
                return Ok(());
            }
        }
    }
}
