//! The target of model files: an imported model, exported to a file, imports as the same model.

use halfspace_formats::ParseLimits;
use halfspace::http::fuzzing;
use halfspace::records::model_file::{FORMAT, digest};
use serde_json::{Map, Value, json};

/// Imports a model file. A wrong digest is replaced with the right one, because no fuzzer guesses it.
pub fn model(bytes: &[u8]) {
    let limits = ParseLimits {
        body_bytes_max: 1 << 20,
        n_max: 4096,
        ..ParseLimits::default()
    };
    let (name, learner, document) = match fuzzing::model(bytes, &limits) {
        Ok(read) => read,
        Err(refused) if refused.code == "model-altered" => {
            let found = refused.detail.rsplit(' ').next().unwrap_or_default();
            let found = found.trim_end_matches('.').to_owned();
            let Ok(Value::Object(mut file)) = serde_json::from_slice(bytes) else {
                panic!("a file that is no object");
            };
            file.insert("sha256".to_owned(), json!(found));
            let bytes = serde_json::to_vec(&file).expect("string keys");
            match fuzzing::model(&bytes, &limits) {
                Ok(read) => read,
                // The digest may cover details that are lost when JSON is read and written again.
                Err(_) => return,
            }
        }
        Err(_) => return,
    };
    // An imported model, exported to a file, imports as the same model.
    let Ok(Value::Object(model)) = serde_json::to_value(&document) else {
        panic!("a document that is no object");
    };
    let sha256: String = digest(&learner, &document)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut file = Map::new();
    file.insert("format".to_owned(), json!(FORMAT));
    file.insert("sha256".to_owned(), json!(sha256));
    file.insert("name".to_owned(), json!(name));
    file.insert("learner".to_owned(), json!(learner));
    file.insert("kind".to_owned(), json!(document.hypothesis.kind()));
    file.insert("n".to_owned(), json!(document.hypothesis.n()));
    file.extend(model);
    let exported = serde_json::to_vec(&file).expect("string keys");
    match fuzzing::model(&exported, &limits) {
        Ok((_, learner_again, again)) => {
            assert_eq!(learner_again, learner);
            assert_eq!(again, document);
        }
        Err(refused) => panic!("{}: {}", refused.code, refused.detail),
    }
}
