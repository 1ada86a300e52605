//! The query parameters of a training: the fields of its document in dotted form, and the parameters of all learners.

use std::sync::LazyLock;

use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::parameters::{Parameter, ParameterKind};
use serde_json::{Value, json};
use utoipa::openapi::path::{self, ParameterBuilder, ParameterIn};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::records::train::{StopSpec, TrainSpec};

use crate::http::document::schemas::{schema_of, seed};
use crate::http::jobs::tasks::JobRequest;

/// A field of the document of a training, without the parameters of the learner.
pub struct Field {
    /// The name as a query parameter, with dots between nested names.
    name: String,
    description: String,
    schema: Value,
}

/// The fields in the order of the document.
static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let mut fields = vec![Field::new("", "seed", seed())];
    fields.extend(fields_of::<TrainSpec>(""));
    fields.extend(fields_of::<StopSpec>("stop."));
    fields.extend(fields_of::<JobRequest>(""));
    fields
});

/// The fields of a part of the document that are values, which excludes its nested parts.
fn fields_of<T: PartialSchema + ToSchema>(above: &str) -> Vec<Field> {
    let schema = schema_of::<T>();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let values = properties.filter(|(_, schema)| schema["$ref"].is_null());
    let field = |(name, schema): (&String, &Value)| Field::new(above, name, schema.clone());
    values.map(field).collect()
}

/// The field of a query parameter.
pub fn find(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

/// The names of all fields as query parameters.
pub fn names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|field| field.name.as_str())
}

impl Field {
    /// A field with its schema. A query has no null, so the schema of the parameter is that of the value.
    fn new(above: &str, name: &str, mut schema: Value) -> Self {
        if let Some(choices) = schema["oneOf"].as_array() {
            let value = choices.iter().find(|choice| choice["type"] != "null");
            schema = value.cloned().unwrap_or_default();
        }
        if schema["type"].is_array() {
            schema["type"] = schema["type"][0].take();
        }
        let fields = schema.as_object_mut();
        let description = fields.and_then(|fields| {
            fields.remove("default");
            fields.remove("description")
        });
        let description = description.as_ref().and_then(Value::as_str);
        Self {
            name: format!("{above}{name}"),
            description: description.unwrap_or_default().to_owned(),
            schema,
        }
    }

    /// Whether the value is a text, even if it looks like a number.
    pub fn is_text(&self) -> bool {
        self.schema["type"] == "string"
    }
}

/// The documented parameters. A name that several learners share appears once.
pub struct TrainParameters;

impl IntoParams for TrainParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<path::Parameter> {
        let mut names: Vec<&str> = Vec::new();
        for parameter in CATALOGUE.iter().flat_map(|entry| entry.parameters) {
            if !names.contains(&parameter.name) {
                names.push(parameter.name);
            }
        }
        let own = names.into_iter().map(learner_parameter);
        let fields = FIELDS
            .iter()
            .map(|field| query_parameter(&field.name, &field.description, field.schema.clone()));
        fields.chain(own).collect()
    }
}

fn query_parameter(name: &str, description: &str, schema: Value) -> path::Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .description(Some(description))
        .schema(serde_json::from_value::<RefOr<Schema>>(schema).ok())
        .build()
}

/// The query parameter of a name. The description lists the learners that take the parameter.
fn learner_parameter(name: &str) -> path::Parameter {
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
    query_parameter(&format!("params.{name}"), &description, schema(&kinds))
}

/// The effect, range and default of a parameter.
fn meaning(parameter: &Parameter) -> String {
    let (range, default) = (parameter.kind.range(), parameter.kind.default_text());
    let (first, rest) = range.split_at(1);
    let effect = parameter.description;
    format!(
        "{effect} {}{rest}. Default: {default}.",
        first.to_uppercase()
    )
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
