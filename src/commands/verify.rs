//! The command `verify`: reads a receipt and its data, and prints the checks of the replay.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use halfspace_core::learners::sample::data::Data;
use halfspace_formats::{GeneratedSpec, Options, ParseLimits, parse};
use halfspace_verify::{DataSource, Receipt, verify as checks_of};

use crate::config::{Replay, known_format};
use crate::jobs::draw;

use super::tables::write;

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
            Ok(value) => write(&format!("equal   {}: {value}\n", check.name))?,
            Err(difference) => write(&format!("differs {}: {difference}\n", check.name))?,
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
    let format = known_format(path, replay.format)?;
    let mut options = Options::default();
    for (key, value) in &replay.parameters {
        let is_known = options.set(key, value);
        if !is_known.map_err(|detail| format!("{key}: {detail}"))? {
            return Err(format!("no parameter of the data has the name {key}").into());
        }
    }
    let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
    let parsed = parse(format, BufReader::new(file), &options);
    Ok(parsed.map_err(|error| format!("{name}: {error}"))?.data)
}
