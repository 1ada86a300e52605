//! The command line of the learning commands: train, predict, evaluate, compare, explain, import, encode, learners and
//! theory.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use halfspace_formats::Format;

/// The learning commands.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub enum LearningCommand {
    /// Trains a learner on the examples of a file.
    Train(TrainCommand),
    /// Predicts the labels of the examples of a file.
    Predict(ModelCommand),
    /// Counts the errors of a model on the labelled examples of a file.
    Evaluate(ModelCommand),
    /// Compares learners on the examples of a file.
    Compare(CompareCommand),
    /// Explains a model: the terms with the largest weights.
    Explain(ExplainCommand),
    /// Stores an object of a bucket as a dataset of a running service.
    Import(ImportCommand),
    /// Stores the table of a dataset once more, under other parameters.
    Encode(EncodeCommand),
    /// Lists the learners, or describes one of them.
    Learners(LearnersCommand),
    /// Computes a formula of the theory.
    Theory(TheoryCommand),
}

/// A training.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct TrainCommand {
    #[command(flatten)]
    pub input: Input,
    /// Name of the learner: see `halfspace learners`.
    #[arg(long)]
    pub learner: String,
    /// Share of the examples that judges the hypothesis and is not learnt from, between 0 and 1.
    #[arg(long)]
    pub holdout: Option<f64>,
    /// Gives each class its share of the held-out examples.
    #[arg(long, requires = "holdout")]
    pub stratify: bool,
    /// Weights of the classes: balanced, or class:weight with commas between them.
    #[arg(long, value_name = "WEIGHTS")]
    pub class_weight: Option<String>,
    /// Seed of every random choice.
    #[arg(long)]
    pub seed: Option<u64>,
    /// File for the model.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// File for the receipt, with which `halfspace verify` replays the training.
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    #[command(flatten)]
    pub place: Place,
}

/// A model and the examples for it.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct ModelCommand {
    /// The model: a file that `train --out` wrote, or the id of a model of the server.
    pub model: String,
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub place: Place,
}

/// A comparison.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct CompareCommand {
    #[command(flatten)]
    pub input: Input,
    /// Name of a learner. May be repeated; by default all learners that can learn from the data.
    #[arg(long = "learner", value_name = "LEARNER")]
    pub learners: Vec<String>,
    /// Number of parts of the examples, each of which judges the trainings on the others; 5 by default.
    #[arg(long, conflicts_with = "holdout")]
    pub folds: Option<u32>,
    /// Share of the examples that judges all trainings, between 0 and 1.
    #[arg(long)]
    pub holdout: Option<f64>,
    /// Gives each class its share of every part.
    #[arg(long)]
    pub stratify: bool,
    /// Weights of the classes: balanced, or class:weight with commas between them.
    #[arg(long, value_name = "WEIGHTS")]
    pub class_weight: Option<String>,
    /// Seed of every random choice.
    #[arg(long)]
    pub seed: Option<u64>,
    /// File for the model of the best learner, trained on all examples.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// File for the figure, in SVG.
    #[arg(long, value_name = "FILE")]
    pub figure: Option<PathBuf>,
    #[command(flatten)]
    pub place: Place,
}

/// An explanation.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct ExplainCommand {
    /// The model: a file that `train --out` wrote, or the id of a model of the server.
    pub model: String,
    /// Largest number of terms.
    #[arg(long)]
    pub top: Option<u32>,
    /// The class to explain, if the model has a hypothesis for each.
    #[arg(long)]
    pub class: Option<String>,
    #[command(flatten)]
    pub place: Place,
}

/// An object of a bucket.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct ImportCommand {
    /// The object: `s3://bucket/key`, within a prefix that the service allows with `--sources`.
    pub source: String,
    /// Format of the object: a file extension such as `csv`, or a media type. By default the Content-Type of the object
    /// or the extension of the key determines the format.
    #[arg(long, value_parser = format)]
    pub format: Option<Format>,
    /// Name of the dataset.
    #[arg(long)]
    pub name: Option<String>,
    /// Parameter of the table, as in the query of the API. May be repeated.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = pair)]
    pub parameters: Vec<(String, String)>,
    #[command(flatten)]
    pub place: Place,
}

/// A dataset that came as a table.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct EncodeCommand {
    /// Id of the dataset.
    pub dataset: String,
    /// Name of the new dataset.
    #[arg(long)]
    pub name: Option<String>,
    /// Parameter of the table, as in the query of the API. May be repeated.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = pair)]
    pub parameters: Vec<(String, String)>,
    #[command(flatten)]
    pub place: Place,
}

/// A look at the learners.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct LearnersCommand {
    /// Name of the learner.
    pub name: Option<String>,
    #[command(flatten)]
    pub place: Place,
}

/// A formula with its parameters.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct TheoryCommand {
    /// Name of the formula, such as `survival`: the routes `/v1/theory/{name}` of the API.
    pub formula: String,
    /// Parameters of the formula.
    #[arg(value_name = "NAME=VALUE", value_parser = pair)]
    pub parameters: Vec<(String, String)>,
    #[command(flatten)]
    pub place: Place,
}

/// A file of examples.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct Input {
    /// The file of the examples, or `-` for standard input.
    pub file: PathBuf,
    /// Format of the file: a file extension such as `csv`, or a media type. By default the extension of the name
    /// determines the format.
    #[arg(long, value_parser = format)]
    pub format: Option<Format>,
    /// Parameter of the learner, of the table or of the stopping conditions, as in the query of the API. May be
    /// repeated.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = pair)]
    pub parameters: Vec<(String, String)>,
}

/// The place of the work and the form of the output.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct Place {
    /// Address of a running service that does the work. By default this process does the work.
    #[arg(long, env = "HALFSPACE_SERVER", value_name = "URL")]
    pub server: Option<String>,
    /// API key for the service.
    #[arg(long, env = "HALFSPACE_KEY", hide_env_values = true)]
    pub key: Option<String>,
    /// Prints JSON. This is the default if standard output is no terminal.
    #[arg(long)]
    pub json: bool,
}

/// The format of a file: the given one, or else that of its extension.
///
/// # Errors
/// No format is given and the extension is not a known one.
pub fn known_format(file: &Path, given: Option<Format>) -> Result<Format, String> {
    let by_name = || {
        let name = file.file_name()?.to_string_lossy();
        Format::from_file_name(name.strip_suffix(".gz").unwrap_or(&name))
    };
    given.or_else(by_name).ok_or_else(|| {
        let file = file.display();
        format!(
            "{file}: unknown format; set --format to one of {}",
            extensions()
        )
    })
}

fn extensions() -> String {
    Format::file_extensions().collect::<Vec<_>>().join(", ")
}

/// Parses NAME=VALUE.
pub fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("the form is NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Parses a file extension or a media type.
pub fn format(text: &str) -> Result<Format, String> {
    let by_extension = || Format::from_file_name(&format!(".{text}"));
    let found = Format::from_media_type(text).or_else(by_extension);
    found.ok_or_else(|| format!("the formats are {}", extensions()))
}
