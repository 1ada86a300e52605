//! The parameters of all learners as documented query parameters of a training.

use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::parameters::{Parameter, ParameterKind};
use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa::openapi::path::{self, ParameterBuilder, ParameterIn};
use utoipa::openapi::{RefOr, Schema};

/// One query parameter per distinct name in the catalogue.
pub struct LearnerParameters;

impl IntoParams for LearnerParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<path::Parameter> {
        let mut names: Vec<&str> = Vec::new();
        for parameter in CATALOGUE.iter().flat_map(|entry| entry.parameters) {
            if !names.contains(&parameter.name) {
                names.push(parameter.name);
            }
        }
        names.into_iter().map(query_parameter).collect()
    }
}

/// The query parameter of a name. The description lists the learners that take the parameter.
fn query_parameter(name: &str) -> path::Parameter {
    let takers = CATALOGUE.iter().filter_map(|entry| {
        let parameter = entry.parameters.iter().find(|known| known.name == name)?;
        Some((entry.name, parameter))
    });
    let mut meanings: Vec<(String, Vec<String>)> = Vec::new();
    let mut kinds = Vec::new();
    for (learner, parameter) in takers {
        kinds.push(&parameter.kind);
        let (meaning, learner) = (meaning(parameter), format!("`{learner}`"));
        match meanings.iter_mut().find(|(known, _)| *known == meaning) {
            Some((_, learners)) => learners.push(learner),
            None => meanings.push((meaning, vec![learner])),
        }
    }
    let lines = meanings
        .iter()
        .map(|(meaning, learners)| format!("{}: {meaning}", learners.join(", ")));
    let description = lines.collect::<Vec<_>>().join("\n\n");
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .description(Some(description))
        .schema(serde_json::from_value::<RefOr<Schema>>(schema(&kinds)).ok())
        .build()
}

/// The effect, range and default of a parameter.
fn meaning(parameter: &Parameter) -> String {
    let effect = parameter.description;
    let (range, default) = match &parameter.kind {
        ParameterKind::Flag { default } => ("`true` or `false`".to_owned(), default.to_string()),
        ParameterKind::Choice { options, default } => {
            let options: Vec<_> = options.iter().map(|name| format!("`{name}`")).collect();
            (options.join(" or "), format!("`{default}`"))
        }
        ParameterKind::Number {
            minimum,
            at_most,
            default,
        } => {
            let range = format!("A number {minimum} and at most {at_most}");
            (range, default.to_string())
        }
        ParameterKind::Count {
            minimum,
            maximum,
            default,
        } => {
            let range = format!("A whole number from {minimum} to {maximum}");
            (range, (*default).to_owned())
        }
        ParameterKind::Decimal { default } => {
            ("A decimal above 0".to_owned(), (*default).to_owned())
        }
        ParameterKind::Factor { default } => {
            let range = "A decimal above 1 and at most 2^32".to_owned();
            (range, default.to_string())
        }
        ParameterKind::Bits => ("A bit string of length n".to_owned(), "random".to_owned()),
        ParameterKind::Weights {
            at_least,
            at_most,
            default,
        } => {
            let range = format!(
                "A number from {at_least} to {at_most}, or one number per weight, separated by \
                 commas"
            );
            (range, default.to_string())
        }
    };
    format!("{effect} {range}. Default: {default}.")
}

/// A schema that admits the values of every learner. A parameter of several kinds is a text.
fn schema(kinds: &[&ParameterKind]) -> Value {
    let mut options: Vec<&str> = Vec::new();
    let (mut least, mut most) = (u64::MAX, 0);
    let (mut flags, mut counts, mut numbers) = (0, 0, 0);
    for kind in kinds {
        match kind {
            ParameterKind::Choice { options: own, .. } => {
                let new = own.iter().filter(|option| !options.contains(option));
                options.extend(new.collect::<Vec<_>>());
            }
            ParameterKind::Flag { .. } => flags += 1,
            ParameterKind::Count {
                minimum, maximum, ..
            } => {
                counts += 1;
                (least, most) = (least.min(*minimum), most.max(*maximum));
            }
            ParameterKind::Number { .. } => numbers += 1,
            ParameterKind::Decimal { .. }
            | ParameterKind::Factor { .. }
            | ParameterKind::Bits
            | ParameterKind::Weights { .. } => {}
        }
    }
    let all = kinds.len();
    match () {
        () if flags == all => json!({"type": "boolean"}),
        () if counts == all => json!({"type": "integer", "minimum": least, "maximum": most}),
        () if numbers == all => json!({"type": "number"}),
        () if !options.is_empty() => json!({"type": "string", "enum": options}),
        () => json!({"type": "string"}),
    }
}
