//! The command `verify`: reads a receipt and its data, and prints the checks of the replay.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use halfspace_core::learners::sample::data::Data;
use halfspace_formats::{Format, GeneratedSpec, Options, ParseLimits, parse};
use halfspace_verify::{DataSource, Receipt, verify as checks_of};

use crate::config::Replay;
use crate::jobs::draw;

/// Prints one line per check. The exit status is 0 if all checks hold, otherwise 1.
pub fn verify(replay: &Replay) -> Result<ExitCode, Box<dyn Error>> {
    let name = replay.receipt.display();
    let text = fs::read(&replay.receipt).map_err(|error| format!("{name}: {error}"))?;
    let receipt: Receipt =
        serde_json::from_slice(&text).map_err(|error| format!("{name} is no receipt: {error}"))?;
    let data = data(&receipt, replay)?;
    let checks = checks_of(&receipt, &data);
    for check in &checks {
        match &check.outcome {
            Ok(value) => println!("equal   {}: {value}", check.name),
            Err(difference) => println!("differs {}: {difference}", check.name),
        }
    }
    let is_equal = checks.iter().all(|check| check.outcome.is_ok());
    Ok(match is_equal {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The examples of the training, from the file or drawn again.
fn data(receipt: &Receipt, replay: &Replay) -> Result<Data, Box<dyn Error>> {
    match (&receipt.data, &replay.data) {
        (DataSource::Rows { .. }, Some(path)) => read(path, replay),
        (DataSource::Rows { .. }, None) => Err("name the file with the examples".into()),
        (DataSource::Generated { .. }, Some(_)) => {
            Err("the examples of this receipt are generated; name no file".into())
        }
        (DataSource::Generated { spec: generated }, None) => {
            let mut spec: GeneratedSpec = serde_json::from_value(generated.clone())
                .map_err(|error| format!("the description of generated data: {error}"))?;
            // A stream without an end was read up to this example.
            spec.count = spec.count.or(Some(receipt.examples));
            let bytes_max = ParseLimits::DEFAULT.state_bytes_max;
            Ok(draw(&spec, receipt.seed, bytes_max)?.0)
        }
    }
}

fn read(path: &Path, replay: &Replay) -> Result<Data, Box<dyn Error>> {
    let name = path.display();
    let format = match &replay.format {
        Some(media_type) => Format::from_media_type(media_type),
        None => path
            .file_name()
            .and_then(|name| Format::from_file_name(&name.to_string_lossy())),
    };
    let format = format.ok_or_else(|| {
        let known: Vec<_> = Format::media_types().collect();
        format!(
            "{name}: unknown format; set --format to one of {}",
            known.join(", ")
        )
    })?;
    let mut options = Options::default();
    for option in &replay.options {
        let (key, value) = option.split_once('=').ok_or("an option is NAME=VALUE")?;
        if !options
            .set(key, value)
            .map_err(|detail| format!("{key}: {detail}"))?
        {
            return Err(format!("no option has the name {key}").into());
        }
    }
    let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
    let parsed = parse(format, BufReader::new(file), &options);
    Ok(parsed.map_err(|error| format!("{name}: {error}"))?.data)
}
