//! Tests of the JSON forms, alone and inside request structs.

use halfspace_core::learners::engine::stopping::Sampling;
use serde::Deserialize;

use super::*;
use crate::readers::json::from_reader;
use crate::{Assume, BinaryWeightsSpec, DataForm, GeneratedSpec, TargetSpec};

/// A request like those of the service: the form stands two levels down.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NestedRequest {
    train: NestedTrain,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NestedTrain {
    data: DataForm,
    #[serde(default)]
    seed: u64,
}

fn form(body: &str) -> Result<DataForm, FormatError> {
    super::corpus::keep(Format::Json, &Options::default(), body.as_bytes());
    from_reader(body.as_bytes(), &ParseLimits::default())
}

fn sample(body: &str) -> (Parsed, Option<Assume>) {
    match form(body).unwrap_or_else(|error| panic!("{body}: {error}")) {
        DataForm::Sample { parsed, assume } => (parsed, assume),
        other => panic!("{body}: {other:?}"),
    }
}

fn pointer(pointer: &str) -> Option<Place> {
    Some(Place::Pointer(pointer.to_owned()))
}

#[test]
fn every_json_form_is_read() {
    let cases: [(&str, &[&str], &str, Option<Assume>); 10] = [
        (
            r#"{"half_space":{"examples":["101","011"],"assume":"uniform-positive"}}"#,
            &["101", "011"],
            "half-space",
            Some(Assume::UniformPositive),
        ),
        (
            r#"{"half_space":{"assume":"reflected","examples":[[1,-1]]}}"#,
            &["10"],
            "half-space",
            Some(Assume::Reflected),
        ),
        (
            r#"{"labelled":{"examples":[{"x":"10","y":1},{"y":-1,"x":[0,1]}],"assume":"uniform"}}"#,
            &["10", "01"],
            "10",
            Some(Assume::Uniform),
        ),
        (
            r#"{"half_space":{"assume":null,"examples":["10"]}}"#,
            &["10"],
            "half-space",
            None,
        ),
        (
            r#"{"labelled":{"examples":[{"x":[0.5,-1.25],"y":1}]}}"#,
            &["[0.5, -1.25]"],
            "1",
            None,
        ),
        (
            r#"{"unlabelled":{"examples":["10"]}}"#,
            &["10"],
            "unlabelled",
            None,
        ),
        // 0xa4 = 10100100, 0x40 = 01000000.
        (
            r#"{"packed":{"n":3,"rows":"oEA="}}"#,
            &["101", "010"],
            "half-space",
            None,
        ),
        (
            r#"{"packed":{"rows":"oEA=","n":3,"labels":"gA==","assume":"uniform"}}"#,
            &["101", "010"],
            "10",
            Some(Assume::Uniform),
        ),
        (
            r#"{"packed":{"n":3,"rows":"BQI=","labels":"Ag==","bit_order":"little"}}"#,
            &["101", "010"],
            "01",
            None,
        ),
        (
            r#"{"packed":{"n":9,"rows":"gIA="}}"#,
            &["100000001"],
            "half-space",
            None,
        ),
    ];
    for (body, expected, expected_labels, assume) in cases {
        let (parsed, read_assume) = sample(body);
        assert_eq!(rows(&parsed.data), expected, "{body}");
        assert_eq!(labels(&parsed.data), expected_labels, "{body}");
        assert_eq!(read_assume, assume, "{body}");
    }
}

#[test]
fn generated_form_is_read_as_its_specification() {
    let body = r#"{"generated":{"n":3,"target":{"binary_weights":{}},"sampling":"reflected"}}"#;
    let expected = GeneratedSpec {
        n: 3,
        target: TargetSpec::BinaryWeights(BinaryWeightsSpec::default()),
        sampling: Sampling::Reflected,
        count: None,
        noise: 0.0,
        density: 0.5,
    };
    assert_eq!(form(body), Ok(DataForm::Generated(expected)));
    let body = r#"{"n":3,"target":{"binary_weights":{"weights":"101"}},"sampling":"uniform",
                   "count":5000,"noise":0.25,"density":0.125}"#;
    let spec: GeneratedSpec = from_reader(body.as_bytes(), &ParseLimits::default()).expect("good");
    let written = serde_json::to_string(&spec).expect("plain");
    let again: GeneratedSpec =
        from_reader(written.as_bytes(), &ParseLimits::default()).expect("own");
    assert_eq!(again, spec);
    assert_eq!(spec.count, Some(5000));
}

#[test]
fn first_real_value_of_json_has_a_pointer() {
    let cases = [
        (
            r#"{"labelled":{"examples":[{"x":[1,0],"y":1},{"x":[1,2],"y":1}]}}"#,
            "/labelled/examples/1/x/1",
        ),
        (
            r#"{"half_space":{"examples":["10",[1,-1]]}}"#,
            "/half_space/examples/1/1",
        ),
        (
            r#"{"unlabelled":{"examples":[[1,-1],"10"]}}"#,
            "/unlabelled/examples/1",
        ),
    ];
    for (body, place) in cases {
        assert_eq!(sample(body).0.first_real, pointer(place), "{body}");
    }
    assert_eq!(
        sample(r#"{"unlabelled":{"examples":["10"]}}"#).0.first_real,
        None
    );
}

#[test]
fn bad_json_forms_are_refused_at_their_pointer() {
    use FormatErrorKind as Kind;
    let cases = [
        ("{}", Kind::Schema, ""),
        (r#""half_space""#, Kind::Schema, ""),
        (r#"{"dataset":{}}"#, Kind::Schema, "/dataset"),
        (
            r#"{"unlabelled":{"examples":["1"]},"half_space":{}}"#,
            Kind::Schema,
            "",
        ),
        (
            r#"{"unlabelled":{"examples":["1"]},"unlabelled":{"examples":["1"]}}"#,
            Kind::Schema,
            "",
        ),
        (r#"{"half_space":{}}"#, Kind::Schema, "/half_space"),
        (
            r#"{"half_space":{"examples":["1"],"x":1}}"#,
            Kind::Schema,
            "/half_space/x",
        ),
        (
            r#"{"half_space":{"examples":["1"],"examples":["1"]}}"#,
            Kind::Schema,
            "/half_space",
        ),
        (
            r#"{"half_space":{"examples":[]}}"#,
            Kind::EmptyData,
            "/half_space/examples",
        ),
        (
            r#"{"half_space":{"examples":"10"}}"#,
            Kind::Schema,
            "/half_space/examples",
        ),
        (
            r#"{"half_space":{"examples":[""]}}"#,
            Kind::EmptyData,
            "/half_space/examples/0",
        ),
        (
            r#"{"half_space":{"examples":[[]]}}"#,
            Kind::EmptyData,
            "/half_space",
        ),
        (
            r#"{"half_space":{"examples":["10","1x"]}}"#,
            Kind::BadBit,
            "/half_space/examples/1",
        ),
        (
            r#"{"half_space":{"examples":["10",3]}}"#,
            Kind::Schema,
            "/half_space/examples/1",
        ),
        (
            r#"{"half_space":{"examples":["10","1"]}}"#,
            Kind::UnequalLength,
            "/half_space/examples/1",
        ),
        (
            r#"{"half_space":{"examples":[[1],[1,0]]}}"#,
            Kind::UnequalLength,
            "/half_space/examples/1",
        ),
        (
            r#"{"half_space":{"examples":[[1,"1"]]}}"#,
            Kind::BadName,
            "/half_space/examples/0/1",
        ),
        (
            r#"{"half_space":{"examples":["1"],"assume":"uniform"}}"#,
            Kind::OutOfRange,
            "/half_space/assume",
        ),
        (
            r#"{"half_space":{"examples":["1"],"assume":"x"}}"#,
            Kind::Schema,
            "/half_space/assume",
        ),
        (
            r#"{"unlabelled":{"examples":["1"],"assume":"uniform"}}"#,
            Kind::OutOfRange,
            "/unlabelled/assume",
        ),
        (
            r#"{"labelled":{"examples":["1"]}}"#,
            Kind::Schema,
            "/labelled/examples/0",
        ),
        (
            r#"{"labelled":{"examples":[{"x":"1"}]}}"#,
            Kind::Schema,
            "/labelled/examples/0",
        ),
        (
            r#"{"labelled":{"examples":[{"y":1}]}}"#,
            Kind::Schema,
            "/labelled/examples/0",
        ),
        (
            r#"{"labelled":{"examples":[{"x":"1","x":"1","y":1}]}}"#,
            Kind::Schema,
            "/labelled/examples/0",
        ),
        (
            r#"{"labelled":{"examples":[{"x":"1","y":1,"z/~":1}]}}"#,
            Kind::Schema,
            "/labelled/examples/0/z~1~0",
        ),
        (
            r#"{"labelled":{"examples":[{"x":"1","y":2}]}}"#,
            Kind::TableOption,
            "/labelled",
        ),
        (
            r#"{"labelled":{"examples":[{"x":"1","y":"yes"},{"x":"0","y":""}]}}"#,
            Kind::BadLabel,
            "/labelled/examples/1/y",
        ),
        (
            r#"{"labelled":{"examples":[{"x":"1","y":null}]}}"#,
            Kind::Schema,
            "/labelled/examples/0/y",
        ),
        (
            r#"{"labelled":{"examples":[{"x":"1","y":0},{"x":[1,1],"y":1}]}}"#,
            Kind::UnequalLength,
            "/labelled/examples/1/x",
        ),
        (
            r#"{"packed":{"n":0,"rows":""}}"#,
            Kind::OutOfRange,
            "/packed/n",
        ),
        (
            r#"{"packed":{"n":3,"rows":""}}"#,
            Kind::EmptyData,
            "/packed/rows",
        ),
        (
            r#"{"packed":{"n":9,"rows":"oA=="}}"#,
            Kind::UnequalLength,
            "/packed/rows",
        ),
        (
            r#"{"packed":{"n":3,"rows":"o"}}"#,
            Kind::BadBase64,
            "/packed/rows",
        ),
        (
            r#"{"packed":{"n":3,"rows":"oR=="}}"#,
            Kind::BadBase64,
            "/packed/rows",
        ),
        (
            r#"{"packed":{"n":3,"rows":"sA=="}}"#,
            Kind::BadBit,
            "/packed/rows",
        ),
        (
            r#"{"packed":{"n":3,"rows":"oA==","labels":"wA=="}}"#,
            Kind::BadBit,
            "/packed/labels",
        ),
        (
            r#"{"packed":{"n":3,"rows":"oA==","labels":"gIA="}}"#,
            Kind::UnequalLength,
            "/packed/labels",
        ),
        (
            r#"{"packed":{"n":3,"rows":"oA==","bit_order":"x"}}"#,
            Kind::Schema,
            "/packed/bit_order",
        ),
        (
            r#"{"packed":{"n":3,"rows":"oA==","assume":"uniform"}}"#,
            Kind::OutOfRange,
            "/packed/assume",
        ),
        (
            r#"{"packed":{"n":3,"rows":"oA==","x":1}}"#,
            Kind::Schema,
            "/packed/x",
        ),
    ];
    for (body, kind, place) in cases {
        let error = form(body).expect_err(body);
        assert_eq!(
            (error.kind, error.place.clone()),
            (kind, pointer(place)),
            "{body}: {error}"
        );
        let nested = format!("{{\"train\":{{\"seed\":1,\"data\":{body}}}}}");
        let nested = from_reader::<NestedRequest>(nested.as_bytes(), &ParseLimits::default());
        let error = nested.expect_err(body);
        let place = pointer(&format!("/train/data{place}"));
        assert_eq!(
            (error.kind, error.place.clone()),
            (kind, place),
            "{body}: {error}"
        );
        assert!(error.detail.ends_with('.'), "{error}");
    }
}

#[test]
fn generated_ranges_are_checked_at_their_pointer() {
    use FormatErrorKind as Kind;
    let cases = [
        (r#""n":0"#, Kind::OutOfRange, "/n"),
        (r#""n":-1"#, Kind::Schema, "/n"),
        (
            r#""n":2000000"#,
            Kind::TooLarge {
                limit: "n_max",
                value: 1 << 20,
            },
            "/n",
        ),
        (r#""n":3,"count":0"#, Kind::OutOfRange, "/count"),
        (r#""n":3,"noise":0.6"#, Kind::OutOfRange, "/noise"),
        (r#""n":3,"noise":-0.1"#, Kind::OutOfRange, "/noise"),
        (r#""n":3,"density":0"#, Kind::OutOfRange, "/density"),
        (r#""n":3,"density":1.0"#, Kind::OutOfRange, "/density"),
        (r#""n":3,"depth":1.0"#, Kind::Schema, "/depth"),
        (r#""n":3,"n":3"#, Kind::Schema, ""),
        (
            r#""n":2"#,
            Kind::UnequalLength,
            "/target/binary_weights/weights",
        ),
    ];
    for (fields, kind, place) in cases {
        let target = r#""target":{"binary_weights":{"weights":"101"}},"sampling":"uniform""#;
        let body = format!(r#"{{"generated":{{{target},{fields}}}}}"#);
        let error = form(&body).expect_err(fields);
        let place = pointer(&format!("/generated{place}"));
        assert_eq!(
            (error.kind, error.place.clone()),
            (kind, place),
            "{fields}: {error}"
        );
    }
    let cases = [
        (
            r#"{"generated":{"n":1,"target":{"binary_weights":{"weights":"x"}},"sampling":"uniform"}}"#,
            Kind::BadBit,
            "/generated/target/binary_weights/weights",
        ),
        (
            r#"{"generated":{"n":1,"target":{"binary_weights":{"x":1}},"sampling":"uniform"}}"#,
            Kind::Schema,
            "/generated/target/binary_weights/x",
        ),
        (
            r#"{"generated":{"n":1,"target":{"binary_weights":{}},"sampling":"reflected","density":0.25}}"#,
            Kind::OutOfRange,
            "/generated/density",
        ),
    ];
    for (body, kind, place) in cases {
        let error = form(body).expect_err(body);
        assert_eq!(
            (error.kind, error.place.clone()),
            (kind, pointer(place)),
            "{body}: {error}"
        );
    }
}

#[test]
fn broken_json_has_line_and_column() {
    use FormatErrorKind as Kind;
    let cases = [
        ("", Kind::Truncated, at(1, 1)),
        (
            "{\"half_space\":\n{\"examples\":[\"10\"",
            Kind::Truncated,
            at(2, 17),
        ),
        (
            "{\"half_space\":\n{\"examples\":[\"10\"}",
            Kind::Syntax,
            at(2, 18),
        ),
        (
            "{\"unlabelled\":{\"examples\":[\"1\"]}} x",
            Kind::Syntax,
            at(1, 35),
        ),
        (
            "{\"unlabelled\":{\"examples\":[\"1\",]}}",
            Kind::Syntax,
            at(1, 32),
        ),
        (
            "{\"unlabelled\":{\"examples\":[[1e999]]}}",
            Kind::Syntax,
            at(1, 33),
        ),
    ];
    for (body, kind, place) in cases {
        let error = form(body).expect_err(body);
        assert_eq!(
            (error.kind, error.place.clone()),
            (kind, Some(place)),
            "{body}: {error}"
        );
    }
}

#[test]
fn deep_json_is_refused_at_once() {
    let kind = FormatErrorKind::TooDeep { limit: 32 };
    for before in ["", "{\"half_space\":{\"examples\":", "{\"x\":"] {
        let body = format!("{before}{}", "[".repeat(100_000));
        let error = form(&body).expect_err("deep");
        let opened = before.matches('{').count();
        let column = (before.len() + 33 - opened) as u64;
        assert_eq!(
            (error.kind, error.place),
            (kind, Some(at(1, column))),
            "{before}"
        );
    }
    let shallow = ParseLimits {
        json_depth_max: 3,
        ..ParseLimits::default()
    };
    let flat = r#"{"half_space":{"examples":["1"]}}"#;
    assert!(from_reader::<DataForm>(flat.as_bytes(), &shallow).is_ok());
    let nested = r#"{"half_space":{"examples":[[1]]}}"#;
    let error = from_reader::<DataForm>(nested.as_bytes(), &shallow).expect_err("deep");
    assert_eq!(error.kind, FormatErrorKind::TooDeep { limit: 3 });
}

#[test]
fn limits_hold_inside_json_forms() {
    let limits = ParseLimits {
        n_max: 4,
        state_bytes_max: 512,
        ..ParseLimits::default()
    };
    let too_large = |limit, value| FormatErrorKind::TooLarge { limit, value };
    let many = format!(
        r#"{{"half_space":{{"examples":["1"{}]}}}}"#,
        r#","1""#.repeat(64)
    );
    let cases = [
        (
            r#"{"half_space":{"examples":["10101"]}}"#,
            too_large("n_max", 4),
            "/half_space/examples/0",
        ),
        (
            r#"{"half_space":{"examples":[[1,0,1,0,1]]}}"#,
            too_large("n_max", 4),
            "/half_space/examples/0/4",
        ),
        (
            r#"{"packed":{"n":5,"rows":"oA=="}}"#,
            too_large("n_max", 4),
            "/packed/n",
        ),
        (
            many.as_str(),
            too_large("state_bytes_max", 512),
            "/half_space/examples/64",
        ),
    ];
    for (body, kind, place) in cases {
        let error = from_reader::<DataForm>(body.as_bytes(), &limits).expect_err(body);
        assert_eq!((error.kind, error.place), (kind, pointer(place)), "{body}");
    }
}

#[test]
fn json_error_of_an_earlier_document_does_not_persist() {
    assert!(form(r#"{"half_space":{"examples":["x"]}}"#).is_err());
    let error = from_reader::<u8>(b"\"x\"".as_slice(), &ParseLimits::default()).expect_err("type");
    assert_eq!(
        (error.kind, error.place),
        (FormatErrorKind::Schema, pointer(""))
    );
    assert!(serde_json::from_str::<DataForm>(r#"{"half_space":{"examples":["x"]}}"#).is_err());
    let plain = serde_json::from_str::<DataForm>(r#"{"half_space":{"examples":["1"]}}"#);
    assert!(plain.is_ok());
}

#[test]
fn requests_read_their_other_fields() {
    let body = r#"{"train":{"data":{"unlabelled":{"examples":["1"]}},"seed":7}}"#;
    let request: NestedRequest =
        from_reader(body.as_bytes(), &ParseLimits::default()).expect("good");
    assert_eq!(request.train.seed, 7);
    assert!(matches!(request.train.data, DataForm::Sample { .. }));
    let unknown = r#"{"train":{"data":{"unlabelled":{"examples":["1"]}},"sed":7}}"#;
    let error = from_reader::<NestedRequest>(unknown.as_bytes(), &ParseLimits::default())
        .expect_err("field");
    assert_eq!(
        (error.kind, error.place),
        (FormatErrorKind::Schema, pointer("/train/sed"))
    );
}

#[test]
fn json_is_a_format_like_the_others() {
    let body = r#"{"labelled":{"examples":[{"x":"10","y":1}]}}"#;
    let parsed = read(Format::Json, body).expect("good");
    assert_eq!(rows(&parsed.data), ["10"]);
    let fixed = Options {
        n: Some(3),
        ..Options::default()
    };
    let error = parse(Format::Json, body.as_bytes(), &fixed).expect_err("n");
    assert_eq!(error.kind, FormatErrorKind::UnequalLength);
    for body in [
        r#"{"generated":{"n":3,"target":{"binary_weights":{}},"sampling":"uniform"}}"#,
        r#"{"half_space":{"examples":["1"],"assume":"reflected"}}"#,
    ] {
        let error = read(Format::Json, body).expect_err(body);
        assert_eq!(error.kind, FormatErrorKind::Schema);
    }
}

#[test]
fn json_errors_do_not_repeat_the_body() {
    let long = "x".repeat(100_000);
    for body in [
        format!("{{\"{long}\":1}}"),
        format!("{{\"half_space\":\"{long}\"}}"),
        format!("{{\"half_space\":{{\"examples\":[\"{long}\"]}}}}"),
        format!("{{\"labelled\":{{\"examples\":[{{\"x\":\"1\",\"y\":\"{long}\"}}]}}}}"),
    ] {
        let error = form(&body).expect_err("bad");
        assert!(error.to_string().len() < 1000);
    }
    for body in [
        format!("{{\"{long}\":1}}"),
        format!("{long}\n"),
        format!("[{long}\n"),
    ] {
        let error = read(Format::Ndjson, &body).expect_err("bad");
        assert!(error.to_string().len() < 1000);
    }
}

#[test]
fn json_forms_refuse_options_that_do_not_fit() {
    let generated = r#"{"generated":{"n":3,"target":{"binary_weights":{}},"sampling":"uniform"}}"#;
    let sent = r#"{"unlabelled":{"examples":["101"]}}"#;
    let read = |body: &str, options: Options| {
        let form = crate::read(Format::Json, body.as_bytes(), &options);
        form.map(|_| ()).map_err(|error| error.kind)
    };
    for body in [generated, sent] {
        let n = |n| Options {
            n,
            ..Options::default()
        };
        assert_eq!(read(body, n(None)), Ok(()));
        assert_eq!(read(body, n(Some(3))), Ok(()));
        assert_eq!(read(body, n(Some(0))), Err(FormatErrorKind::UnequalLength));
        let assumed = Options {
            assume: Some(Assume::Uniform),
            ..Options::default()
        };
        let refused = Err(FormatErrorKind::BadOption);
        let expected = if body == sent { Ok(()) } else { refused };
        assert_eq!(read(body, assumed), expected);
        let header = Options {
            header: Header::True,
            ..Options::default()
        };
        assert_eq!(read(body, header), Err(FormatErrorKind::BadOption));
        let labels = Options {
            labels: Some(LabelsColumn::Last),
            ..Options::default()
        };
        assert_eq!(read(body, labels), Err(FormatErrorKind::BadOption));
    }
}

#[test]
fn dataset_form_is_a_name_without_a_lookup() {
    let named = |assume| DataForm::Dataset {
        id: "ds_anything".to_owned(),
        assume,
        positive: None,
    };
    let body = r#"{"dataset": "ds_anything"}"#;
    assert_eq!(form(body), Ok(named(None)));
    let read = |options: &Options| crate::read(Format::Json, body.as_bytes(), options);
    let assuming = Options {
        assume: Some(Assume::Reflected),
        ..Options::default()
    };
    assert_eq!(read(&assuming), Ok(named(Some(Assume::Reflected))));
    let beside = r#"{"dataset": {"assume": "reflected", "id": "ds_anything", "positive": "red"}}"#;
    let declared = DataForm::Dataset {
        id: "ds_anything".to_owned(),
        assume: Some(Assume::Reflected),
        positive: Some("red".to_owned()),
    };
    assert_eq!(form(beside), Ok(declared));
    let contradicting = Options {
        assume: Some(Assume::Independent),
        ..Options::default()
    };
    let error = crate::read(Format::Json, beside.as_bytes(), &contradicting);
    assert_eq!(
        error.expect_err("two origins").kind,
        FormatErrorKind::BadOption
    );
    // A dataset has its own n.
    let counting = Options {
        n: Some(3),
        ..Options::default()
    };
    let error = read(&counting).expect_err("n of a dataset");
    assert_eq!(error.kind, FormatErrorKind::BadOption);
    // A dataset cannot replace examples in the body.
    let error = crate::parse(Format::Json, body.as_bytes(), &Options::default());
    assert_eq!(
        error.expect_err("no examples").kind,
        FormatErrorKind::Schema
    );
    for bad in [
        r#"{"dataset": 7}"#,
        r#"{"dataset": null}"#,
        r#"{"dataset": {"positive": "red"}}"#,
        r#"{"dataset": {"id": "ds_x", "assume": "sure"}}"#,
        r#"{"dataset": {"id": "ds_x", "positive": 1}}"#,
        r#"{"dataset": {"id": "ds_x", "name": "x"}}"#,
        r#"{"dataset": "ds_x", "dataset": "ds_y"}"#,
        r#"{"dataset": "ds_x", "assume": "uniform"}"#,
    ] {
        assert_eq!(
            form(bad).expect_err(bad).kind,
            FormatErrorKind::Schema,
            "{bad}"
        );
    }
}
