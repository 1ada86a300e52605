//! The command `verify`: reads a receipt and its data, and prints the checks of the replay.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use halfspace_core::learners::engine::holdout::{HeldOut, Holdout};
use halfspace_core::learners::engine::random::Seed;
use halfspace_formats::{
    CellKeeper, Classes, GeneratedSpec, LabelRule, Options, ParseLimits, Parsed, encode_for, parse,
};
use halfspace_verify::{Check, DataSource, Receipt, VERSION, is_sha256, verify as checks_of};

use crate::app::terminal::on_one_line;
use crate::config::{Replay, known_format};
use crate::jobs::draw;
use crate::records::stated_classes::StatedClasses;

use super::tables::write;

/// The parameter of a training that states its classes.
const CLASSES: &str = "classes";

/// Prints one line per check. The exit status is 0 if all checks hold, and otherwise 1.
///
/// A receipt may state any number of mistakes and examples. The replay therefore runs on a thread of its own, and
/// after `--max-seconds` the process ends without it.
pub fn verify(replay: &Replay) -> Result<ExitCode, Box<dyn Error>> {
    let (sender, checks) = mpsc::channel();
    let asked = replay.clone();
    std::thread::Builder::new().spawn(move || {
        let checks = replayed(&asked).map_err(|error| error.to_string());
        // The other end is gone after the time limit.
        let _ = sender.send(checks);
    })?;
    let seconds = replay.max_seconds;
    let checks = match checks.recv_timeout(Duration::from_secs(seconds)) {
        Ok(checks) => checks?,
        Err(RecvTimeoutError::Timeout) => {
            return Err(format!(
                "the replay has not ended within {seconds} s; allow more with --max-seconds"
            )
            .into());
        }
        Err(RecvTimeoutError::Disconnected) => return Err("the replay met a defect".into()),
    };
    for Check { name, outcome } in &checks {
        let (word, told) = match outcome {
            Ok(value) => ("equal  ", value),
            Err(difference) => ("differs", difference),
        };
        write(&format!("{word} {name}: {}\n", on_one_line(told)))?;
    }
    let is_equal = checks.iter().all(|check| check.outcome.is_ok());
    Ok(match is_equal {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The checks of the replay.
fn replayed(replay: &Replay) -> Result<Vec<Check>, Box<dyn Error>> {
    let name = replay.receipt.display();
    let text = fs::read(&replay.receipt).map_err(|error| format!("{name}: {error}"))?;
    let receipt: Receipt =
        serde_json::from_slice(&text).map_err(|error| format!("{name} is no receipt: {error}"))?;
    check_form(&receipt).map_err(|detail| format!("{name}: {detail}"))?;
    Ok(checks_of(&receipt, &data(&receipt, replay)?))
}

/// Checks that the receipt has the form that this program writes.
fn check_form(receipt: &Receipt) -> Result<(), String> {
    if receipt.version != VERSION {
        let found = receipt.version;
        return Err(format!(
            "the receipt has version {found}, and this program reads version {VERSION}"
        ));
    }
    match &receipt.data {
        DataSource::Rows { sha256 } if !is_sha256(sha256) => Err(format!(
            "the data digest {sha256:?} is none of this program, which writes 64 lower-case hexadecimal digits; \
             repeat the training to get a receipt that can be verified"
        )),
        DataSource::Rows { .. } | DataSource::Generated { .. } => Ok(()),
    }
}

/// The examples of the training, from the file or drawn again.
fn data(receipt: &Receipt, replay: &Replay) -> Result<Parsed, Box<dyn Error>> {
    match (&receipt.data, &replay.data) {
        (DataSource::Rows { .. }, Some(path)) => read(path, replay, receipt),
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
            Ok(Parsed::of(draw(&spec, receipt.seed, bytes_max)?.0))
        }
    }
}

/// The rules that may read the labels: the classes that the request stated, or else those of a committee, or those that
/// the labels name.
fn label_rules(replay: &Replay, receipt: &Receipt) -> Result<Vec<LabelRule>, String> {
    let mut given = replay.parameters.iter().filter(|(key, _)| key == CLASSES);
    if let Some((_, text)) = given.next() {
        let stated = StatedClasses::of_text(text).and_then(StatedClasses::label_rule);
        let rule = stated.map_err(|detail| format!("{CLASSES}: {detail}"))?;
        return Ok(vec![rule]);
    }
    let members = receipt.members.iter().map(|member| member.class.clone());
    let of_committee = receipt.multiclass.and_then(|_| Classes::of_names(members));
    let of_committee = of_committee.map(LabelRule::Of);
    Ok(of_committee.into_iter().chain([LabelRule::New]).collect())
}

fn read(path: &Path, replay: &Replay, receipt: &Receipt) -> Result<Parsed, Box<dyn Error>> {
    let name = path.display();
    let format = known_format(path, replay.format)?;
    let mut options = Options::default();
    for (key, value) in replay.parameters.iter().filter(|(key, _)| key != CLASSES) {
        let is_known = options.set(key, value);
        if !is_known.map_err(|detail| format!("{key}: {detail}"))? {
            return Err(format!("no parameter of the data has the name {key}").into());
        }
    }
    // The data of the receipt have its digest by one of the rules.
    let is_stated = |parsed: &Parsed| match &receipt.data {
        DataSource::Rows { sha256 } => hex::encode(parsed.digest()) == *sha256,
        DataSource::Generated { .. } => true,
    };
    let keeper = CellKeeper::default();
    options.cells = receipt.holdout.as_ref().map(|_| keeper.clone());
    let (mut read, mut refused) = (None, String::new());
    for rule in label_rules(replay, receipt)? {
        options.label_rule = rule;
        let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
        let parsed = match parse(format, BufReader::new(file), &options) {
            Ok(parsed) => parsed,
            Err(error) => {
                refused = format!("{name}: {error}");
                continue;
            }
        };
        if let Some(fitted) = fitted(&parsed, receipt, &keeper)?
            && is_stated(&fitted)
        {
            return Ok(fitted);
        }
        if is_stated(&parsed) {
            return Ok(parsed);
        }
        read.get_or_insert(parsed);
    }
    read.ok_or_else(|| refused.into())
}

/// The table with the features that the examples decide that are not held out. `None` if its features do not depend on
/// the examples.
fn fitted(
    parsed: &Parsed,
    receipt: &Receipt,
    keeper: &CellKeeper,
) -> Result<Option<Parsed>, Box<dyn Error>> {
    let (Some(held_out), Some(table)) = (&receipt.holdout, &parsed.table) else {
        return Ok(None);
    };
    let Some(mut cells) = keeper.take().filter(|_| table.depends_on_rows()) else {
        return Ok(None);
    };
    let (share, seed) = (HeldOut::Share(held_out.share), Seed(receipt.seed));
    let split = Holdout::of(share, &parsed.data, held_out.stratified, seed)
        .map_err(|_| "the labels cannot be read")?;
    let Some(split) = split else { return Ok(None) };
    let mut bytes = Vec::new();
    cells.write(&mut bytes)?;
    let (open, classes) = (|| Ok(bytes.as_slice()), parsed.classes.as_ref());
    let fitted = encode_for(
        open,
        table,
        classes,
        &split.shows(),
        &ParseLimits::DEFAULT,
        None,
    )?;
    Ok(fitted.map(Parsed::in_memory))
}
