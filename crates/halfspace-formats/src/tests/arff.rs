//! Tests of ARFF.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::{ColumnKind, KindName, Missing, Numbers, TableOptions};

/// Header with two nominal attributes, a number and a class.
const HEAD: &str = "% a comment\n@RELATION 'any thing'\n\n@attribute colour {red, 'dark blue', \
                    \"it's\"}\n@Attribute only {x} % one\n@attribute size REAL\n@attribute class \
                    {yes,no}\n@DATA\n";

fn with_head(rows: &str) -> String {
    format!("{HEAD}{rows}")
}

fn labelled_by(labels: LabelsColumn) -> Options {
    Options {
        labels: Some(labels),
        ..Options::default()
    }
}

/// The kind and the place of the fault of a body.
fn fault(body: &str, options: &Options) -> (FormatErrorKind, Option<Place>) {
    let parsed = parse(Format::Arff, body.as_bytes(), options);
    let error = parsed.map(|parsed| parsed.data).expect_err(body);
    assert!(error.detail.ends_with('.'), "{error}");
    (error.kind, error.place)
}

#[test]
fn nominal_attributes_have_a_feature_a_declared_value() {
    let body = with_head(
        "red,x,1,yes\n% between\n 'dark blue' , x ,0, \"no\" % after\n\n\"it's\",x,1,no\r\n",
    );
    let parsed = read(Format::Arff, &body).expect("good");
    // The features of the values are in the order of their spellings, as in the table of a CSV file.
    assert_eq!(rows(&parsed.data), ["00111", "10010", "01011"]);
    assert_eq!(labels(&parsed.data), "100");
    assert_eq!(parsed.zero_bit_value, 0.0);
    let names = [
        "colour=dark blue",
        "colour=it's",
        "colour=red",
        "only=x",
        "size",
    ];
    assert_eq!(parsed.class_names().expect("names"), ["no", "yes"]);
    assert_eq!(parsed.feature_names.expect("names"), names);
}

#[test]
fn a_sparse_row_leaves_out_zeros_and_first_values() {
    let dense = with_head("red,x,0,yes\n'dark blue',x,1,no\nred,x,1,yes\nred,x,0,no\n");
    let sparse = with_head("{}\n{0 'dark blue', 2 1, 3 no}\n { 2 1 } % c\n{3 no}\n");
    let (dense, sparse) = (read(Format::Arff, &dense), read(Format::Arff, &sparse));
    assert_eq!(dense.expect("good"), sparse.expect("good"));
    let wide: String = (0..200)
        .map(|j| format!("@attribute a{j} numeric\n"))
        .collect();
    let wide = format!("@relation r\n{wide}@data\n{{3 1, 198 1, 199 1}}\n{{199 -1}}\n");
    let parsed = read(Format::Arff, &wide).expect("good");
    assert_eq!(
        (parsed.data.n(), labels(&parsed.data)),
        (199, "10".to_owned())
    );
    assert_eq!(
        rows(&parsed.data)[0]
            .match_indices('1')
            .map(|(at, _)| at)
            .collect::<Vec<_>>(),
        [3, 198]
    );
}

proptest! {
    #[test]
    fn sparse_rows_are_the_dense_rows_that_they_shorten(
        kinds in vec(0_usize..5, 1..150),
        cells in vec(vec((0_usize..4, -1_i32..3), 150), 1..6),
        class in any::<prop::sample::Index>(),
    ) {
        let class = class.index(kinds.len() + 1);
        let mut head = "@relation r\n".to_owned();
        let mut kinds = kinds;
        kinds.insert(class, 9);
        for (at, kind) in kinds.iter().enumerate() {
            let values: Vec<_> = (0..*kind).map(|value| format!("v{value}")).collect();
            head += &match kind {
                0 => format!("@attribute a{at} numeric\n"),
                9 => format!("@attribute a{at} {{no,yes}}\n"),
                _ => format!("@attribute a{at} {{{}}}\n", values.join(",")),
            };
        }
        let (mut dense, mut sparse) = (head.clone() + "@data\n", head + "@data\n");
        for row in &cells {
            let cells = kinds.iter().zip(row.iter().cycle()).map(|(kind, (place, number))| {
                match kind {
                    0 => (number.to_string(), *number == 0),
                    9 => (["no", "yes"][place % 2].to_owned(), place % 2 == 0),
                    _ => (format!("v{}", place % kind), place % kind == 0),
                }
            });
            let cells: Vec<(String, bool)> = cells.collect();
            let texts: Vec<_> = cells.iter().map(|(text, _)| text.clone()).collect();
            dense += &format!("{}\n", texts.join(","));
            let given = cells.iter().enumerate().filter(|(_, (_, is_first))| !is_first);
            let given: Vec<_> = given.map(|(at, (text, _))| format!("{at} {text}")).collect();
            sparse += &format!("{{{}}}\n", given.join(","));
        }
        let options = Options {
            labels: Some(LabelsColumn::Named(format!("a{class}"))),
            ..Options::default()
        };
        let read = |text: &str| parse(Format::Arff, text.as_bytes(), &options);
        let (mut dense, mut sparse) = (read(&dense), read(&sparse));
        for parsed in [&mut dense, &mut sparse].into_iter().flatten() {
            // Dense and sparse spellings of a row have different columns.
            parsed.first_real = None;
        }
        prop_assert_eq!(dense, sparse);
    }
}

#[test]
fn attributes_of_0_and_1_are_bits_as_in_csv() {
    let head =
        "@relation r\n@attribute wet {0,1}\n@attribute old {1,0}\n@attribute tag {0,1}\n@data\n";
    let kind = |values: [&str; 2]| ColumnKind::Boolean {
        values: values.map(str::to_owned),
    };
    for body in ["1,1,1\n0,0,0\n0,1,1\n", "{0 1,2 1}\n{1 0}\n{2 1}\n"] {
        let parsed = read(Format::Arff, &format!("{head}{body}")).expect("good");
        assert_eq!(rows(&parsed.data), ["101", "010", "001"]);
        assert_eq!(labels(&parsed.data), "101");
        let names = parsed.feature_names.expect("names");
        assert_eq!(names, ["wet", "old=0", "old=1"]);
        assert_eq!(
            parsed.table.expect("a table").columns[0].kind,
            kind(["0", "1"])
        );
    }
    for (row, place) in [("2,1,1\n", at(6, 1)), ("{0 2}\n", at(6, 4))] {
        let found = fault(&format!("{head}{row}"), &Options::default());
        assert_eq!(found, (FormatErrorKind::BadValue, Some(place)));
    }
    // The request may state another kind, as for every column.
    let mut options = Options::default();
    options.table.kinds = vec![("wet".to_owned(), KindName::Nominal)];
    let parsed = parse(Format::Arff, format!("{head}1,1,1\n").as_bytes(), &options).expect("good");
    assert_eq!(rows(&parsed.data), ["0101"]);
}

#[test]
fn arff_numbers_are_read_unchanged() {
    let parsed = read(Format::Arff, &with_head("red,x,2.5,yes\n{2 '-1'}\n")).expect("good");
    assert_eq!(rows(&parsed.data)[0], "[0.0, 0.0, 1.0, 1.0, 2.5]");
    assert_eq!(rows(&parsed.data)[1], "[0.0, 0.0, 1.0, 1.0, -1.0]");
    let signed = "@relation r\n@attribute a integer\n@attribute b numeric\n@attribute y real\n\
                  @data\n1,-1,1\n-1,-1,0\n";
    let parsed = read(Format::Arff, signed).expect("good");
    assert_eq!(rows(&parsed.data), ["10", "00"]);
    assert_eq!(labels(&parsed.data), "10");
    assert_eq!(parsed.zero_bit_value, -1.0);
    assert_eq!(parsed.class_names(), None);
    // An omitted value is 0, which is a third value besides -1 and 1. A nominal attribute adds zeros too.
    let parsed = read(Format::Arff, &format!("{signed}{{0 1}}\n")).expect("good");
    assert_eq!(
        rows(&parsed.data),
        ["[1.0, -1.0]", "[-1.0, -1.0]", "[1.0, 0.0]"]
    );
    assert_eq!(parsed.first_real, Some(at(8, 1)));
    let mixed = "@relation r\n@attribute a real\n@attribute b {u,v}\n@attribute y {1,0}\n@data\n\
                 -1,v,1\n";
    let parsed = read(Format::Arff, mixed).expect("good");
    // In a table with a nominal column, a column of -1 is one bit.
    assert_eq!(rows(&parsed.data), ["001"]);
}

#[test]
fn the_first_declared_value_of_a_class_is_positive_unless_they_are_numbers() {
    let coded = |values: &str, row: &str| {
        let body =
            format!("@relation r\n@attribute a real\n@attribute y {{{values}}}\n@data\n{row}");
        let parsed = read(Format::Arff, &body).unwrap_or_else(|error| panic!("{values}: {error}"));
        (labels(&parsed.data), parsed.class_names())
    };
    let named =
        |negative: &str, positive: &str| Some(vec![negative.to_owned(), positive.to_owned()]);
    assert_eq!(
        coded("won,nowin", "1,won\n1,nowin\n"),
        ("10".to_owned(), named("nowin", "won"))
    );
    assert_eq!(coded("0,1", "1,0\n1,1\n"), ("01".to_owned(), None));
    assert_eq!(coded("1,0", "1,0\n1,1\n"), ("01".to_owned(), None));
    assert_eq!(coded("-1,'+1'", "1,-1\n1,+1\n"), ("01".to_owned(), None));
    assert_eq!(
        coded("2,1", "1,2\n1,1\n"),
        ("10".to_owned(), named("1", "2"))
    );
}

#[test]
fn the_class_is_the_attribute_that_the_options_name() {
    let body = "@relation r\n@attribute a {1,0}\n@attribute b {u,v}\n@attribute c {p,q,r}\n@data\n\
                1,v,q\n0,u,r\n";
    let parsed = |labels| parse(Format::Arff, body.as_bytes(), &labelled_by(labels)).expect("good");
    let first = parsed(LabelsColumn::First);
    assert_eq!(
        (rows(&first.data), labels(&first.data)),
        (vec!["01010".into(), "10001".into()], "10".into())
    );
    assert_eq!(first.class_names(), None);
    // The value p is declared and has a feature, although it occurs in no row.
    let named = parsed(LabelsColumn::Named("b".to_owned()));
    assert_eq!(
        (rows(&named.data), labels(&named.data)),
        (vec!["01010".into(), "10001".into()], "01".into())
    );
    assert_eq!(
        named.class_names(),
        Some(vec!["v".to_owned(), "u".to_owned()])
    );
    let none = parsed(LabelsColumn::None);
    assert_eq!(
        (rows(&none.data), labels(&none.data)),
        (
            vec!["0101010".into(), "1010001".into()],
            "half-space".into()
        )
    );
    assert_eq!(none.class_names(), None);
    use FormatErrorKind as Kind;
    for (labels, expected) in [
        (LabelsColumn::Appended, (Kind::BadOption, None)),
        (
            LabelsColumn::Named("d".to_owned()),
            (Kind::TableOption, None),
        ),
    ] {
        assert_eq!(fault(body, &labelled_by(labels)), expected);
    }
    let header = Options {
        header: Header::True,
        ..Options::default()
    };
    let order = Options {
        bit_order: Some(BitOrder::Big),
        ..Options::default()
    };
    for options in [header, order] {
        assert_eq!(fault(body, &options), (Kind::BadOption, None));
    }
    let four = Options {
        n: Some(4),
        ..labelled_by(LabelsColumn::First)
    };
    assert_eq!(fault(body, &four), (Kind::UnequalLength, None));
}

#[test]
fn a_class_of_one_declared_value_says_the_remedy() {
    let read = |body: &str, positive: Option<&str>| {
        let mut options = Options::default();
        options.table.positive = positive.map(str::to_owned);
        parse(Format::Arff, body.as_bytes(), &options)
    };
    let one = "@relation r\n@attribute a {u,v}\n@attribute y {p}\n@data\nu,p\n";
    let error = read(one, None).map(|parsed| parsed.data).expect_err(one);
    assert_eq!(error.kind, FormatErrorKind::TableOption);
    assert!(error.detail.contains("`positive=p`"), "{}", error.detail);
    assert_eq!(labels(&read(one, Some("p")).expect("good").data), "1");
    let three = "@relation r\n@attribute a {u,v}\n@attribute y {p,q,r}\n@data\nu,q\nu,p\nv,r\n";
    assert_eq!(labels(&read(three, Some("q")).expect("good").data), "100");
    let classes = read(three, None).expect("good").class_names();
    assert_eq!(classes.expect("classes"), ["q", "p", "r"]);
}

#[test]
fn an_arff_file_is_the_table_of_its_rows() {
    let arff = "@relation r\n@attribute shape {round,'not round',flat}\n@attribute old {yes,no}\n\
                @attribute size real\n@attribute class {good,bad}\n@data\n\
                round,yes,2.5,good\n'not round',?,1,bad\n?,no,0.25,bad\n{0 flat,2 4}\n";
    let csv = "shape,old,size,class\nround,yes,2.5,good\nnot round,?,1,bad\n?,no,0.25,bad\nflat,yes,4,good\n";
    for numbers in [Numbers::Thermometer, Numbers::Real] {
        let mut options = Options::default();
        options.table.numbers = numbers;
        let arff = parse(Format::Arff, arff.as_bytes(), &options).expect("good");
        // In CSV a column of yes and no would be one bit.
        options.table.kinds = vec![("old".to_owned(), KindName::Nominal)];
        options.table.positive = Some("good".to_owned());
        let csv = parse(Format::Csv, csv.as_bytes(), &options).expect("good");
        assert_eq!(arff.table, csv.table);
        assert_eq!(arff.data, csv.data);
        assert_eq!(arff.class_names(), csv.class_names());
    }
}

#[test]
fn options_of_tables_apply_to_numbers() {
    let body = "@relation r\n@attribute a real\n@attribute b real\n@attribute y {p,q}\n@data\n\
                2,0,p\n?,1,q\n{1 7}\n";
    let read = |missing| {
        let mut options = Options::default();
        options.table.missing = missing;
        parse(Format::Arff, body.as_bytes(), &options)
    };
    let error = read(None).map(|parsed| parsed.data).expect_err("missing");
    assert!(error.detail.contains("`missing=drop`"), "{}", error.detail);
    let parsed = read(Some(Missing::Drop)).expect("good");
    assert_eq!(rows(&parsed.data), ["[2.0, 0.0]", "[0.0, 7.0]"]);
    assert_eq!(labels(&parsed.data), "11");
}

#[test]
fn bad_arff_rows_are_refused_at_their_place() {
    use FormatErrorKind as Kind;
    // Rows begin on line 9.
    let cases = [
        ("red,x,1,?\n", Kind::BadLabel, 9, 9),
        ("red,x,1,'?'\n", Kind::BadValue, 9, 9),
        ("green,x,1,yes\n", Kind::BadValue, 9, 1),
        ("Red,x,1,yes\n", Kind::BadValue, 9, 1),
        ("red,x,big,yes\n", Kind::BadValue, 9, 7),
        ("red,x,nan,yes\n", Kind::BadValue, 9, 7),
        ("red,x,1e999,yes\n", Kind::BadValue, 9, 7),
        ("red,x,1,maybe\n", Kind::BadValue, 9, 9),
        ("red,x,1\n", Kind::UnequalLength, 9, 8),
        ("red,x,1,yes,no\n", Kind::UnequalLength, 9, 12),
        ("red x 1\n", Kind::UnequalLength, 9, 8),
        ("red x 1 yes no\n", Kind::UnequalLength, 9, 13),
        ("red,x,1,\n", Kind::UnequalLength, 9, 8),
        ("dark blue,x,1,yes\n", Kind::UnequalLength, 9, 14),
        ("red,,1,yes\n", Kind::Syntax, 9, 5),
        ("red x, ,1 yes\n", Kind::Syntax, 9, 8),
        (",red,x,1,yes\n", Kind::Syntax, 9, 1),
        ("red,x,'?',yes\n", Kind::BadValue, 9, 7),
        ("'red,x,1,yes\n", Kind::Syntax, 9, 1),
        ("red,x,1,yes}\n", Kind::Syntax, 9, 12),
        ("red,x,1,yes,{2}\n", Kind::Unsupported, 9, 13),
        ("{3 no}, {0.5}\n", Kind::Unsupported, 9, 9),
        ("{4 1}\n", Kind::BadIndex, 9, 2),
        ("{x 1}\n", Kind::BadIndex, 9, 2),
        ("{-1 1}\n", Kind::BadIndex, 9, 2),
        ("{99999999999999999999 1}\n", Kind::BadIndex, 9, 2),
        ("{2 1, 0 red}\n", Kind::IndexOrder, 9, 7),
        ("{2 1, 2 1}\n", Kind::IndexOrder, 9, 7),
        ("{2 1\n", Kind::Syntax, 9, 5),
        ("{2}\n", Kind::Syntax, 9, 3),
        ("{2 1 3}\n", Kind::Syntax, 9, 7),
        ("{2 1,, 3 no}\n", Kind::Syntax, 9, 6),
        ("{2 1} red\n", Kind::Syntax, 9, 7),
    ];
    for (rows, kind, line, column) in cases {
        let found = fault(&with_head(rows), &Options::default());
        assert_eq!(found, (kind, Some(at(line, column))), "{rows}");
    }
    assert_eq!(fault(HEAD, &Options::default()), (Kind::EmptyData, None));
    let class = "@relation r\n@attribute a real\n@attribute y real\n@data\n";
    for (rows, kind) in [
        ("1,2\n", Kind::TableOption),
        ("1,x\n", Kind::BadValue),
        ("1,1\n1,0\n1,-1\n", Kind::TableOption),
    ] {
        assert_eq!(
            fault(&format!("{class}{rows}"), &Options::default()).0,
            kind,
            "{rows}"
        );
    }
}

#[test]
fn arff_values_stand_between_blanks_or_commas() {
    let commas = with_head("red,x,1.5,yes\n'dark blue',x,?,no\n\"it's\",x,0,no\n");
    let options = Options {
        table: TableOptions {
            missing: Some(Missing::Drop),
            ..TableOptions::default()
        },
        ..Options::default()
    };
    let read = |body: &str| parse(Format::Arff, body.as_bytes(), &options);
    let expected = read(&commas).expect("good");
    for rows in [
        "red x 1.5 yes\n'dark blue' x ? no\n\"it's\" x 0 no\n",
        "  red\tx   1.5\tyes \n'dark blue'\tx\t?\tno % c\n\"it's\" x 0 no\r\n",
        "red x,1.5 yes,\n'dark blue' , x ?,no ,\n\"it's\" x,0 no\n",
        "{2 1.5}\n{0 'dark blue' 2 ? 3 no}\n{0 \"it's\",3\tno,}\n",
    ] {
        let found = read(&with_head(rows)).unwrap_or_else(|error| panic!("{rows}: {error}"));
        assert_eq!(found.data, expected.data, "{rows}");
        assert_eq!(found.table, expected.table, "{rows}");
    }
    let head = with_head("red,x,1,yes\n");
    for declared in [
        "{red 'dark blue' \"it's\"}",
        "{ red\t'dark blue', \"it's\" , }",
    ] {
        let blanks = head.replace("{red, 'dark blue', \"it's\"}", declared);
        assert_ne!(blanks, head);
        assert_eq!(read(&blanks).unwrap().table, read(&head).unwrap().table);
    }
}

/// Only a plain question mark is a missing value. One in quotes is a value or a class with this name.
#[test]
fn quoted_question_mark_is_a_value() {
    let head =
        "@relation r\n@attribute a {x,'?'}\n@attribute s string\n@attribute y {p,'?'}\n@data\n";
    let rows = "x,'?',p\n'?',\"?\",'?'\n?,?,p\n";
    let parsed = read(Format::Arff, &format!("{head}{rows}")).expect("good");
    assert_eq!(parsed.class_names().expect("names"), ["'?'", "p"]);
    assert_eq!(labels(&parsed.data), "101");
    let table = parsed.table.expect("a table");
    let kind = ColumnKind::Names {
        cells: crate::NamedCells::Nominal,
    };
    assert_eq!(table.columns[0].kind, kind);
    let names: Vec<_> = parsed
        .vocabulary
        .expect("names")
        .names()
        .map(str::to_owned)
        .collect();
    assert!(names.contains(&"a='?'".to_owned()), "{names:?}");
    let fixed = "@relation r\n@attribute a {x,'?'}\n@attribute y {p,q}\n@data\nx,p\n'?',q\n?,q\n";
    let parsed = read(Format::Arff, fixed).expect("good");
    assert_eq!(
        parsed.feature_names.expect("names"),
        ["a='?'", "a=x", "a=?"]
    );
    assert_eq!(super::rows(&parsed.data), ["010", "100", "001"]);
}

#[test]
fn bad_arff_declarations_are_refused_at_their_place() {
    use FormatErrorKind as Kind;
    let cases = [
        ("@attribute a date\n", Kind::Unsupported, 2, 14),
        ("@attribute a DATE 'yyyy'\n", Kind::Unsupported, 2, 14),
        ("@attribute a relational\n", Kind::Unsupported, 2, 14),
        ("@attribute a real {2}\n", Kind::Unsupported, 2, 19),
        ("@attribute a {u,v} {2}\n", Kind::Unsupported, 2, 20),
        ("@attribute a nominal\n", Kind::Syntax, 2, 14),
        ("@attribute a\n", Kind::Syntax, 2, 13),
        ("@attribute\n", Kind::Syntax, 2, 11),
        ("@attribute a real 5\n", Kind::Syntax, 2, 19),
        ("@attribute a {}\n", Kind::Syntax, 2, 15),
        ("@attribute a {u,,}\n", Kind::Syntax, 2, 17),
        ("@attribute a {u v u}\n", Kind::Schema, 2, 19),
        ("@attribute a {,u}\n", Kind::Syntax, 2, 15),
        ("@attribute a {u,v\n", Kind::Syntax, 2, 18),
        ("@attribute a {u,v,'u'}\n", Kind::Schema, 2, 19),
        (
            "@attribute a real\n@attribute a real\n",
            Kind::Schema,
            3,
            12,
        ),
        ("@relation s\n", Kind::Syntax, 2, 1),
        ("@data\n", Kind::Syntax, 2, 1),
        ("1,2\n", Kind::Syntax, 2, 1),
        ("@attribute a real\n@data 1\n", Kind::Syntax, 3, 7),
    ];
    for (head, kind, line, column) in cases {
        let body = format!("@relation r\n{head}");
        let found = fault(&body, &Options::default());
        assert_eq!(found, (kind, Some(at(line, column))), "{head}");
    }
    let whole = |body: &str| fault(body, &Options::default());
    assert_eq!(whole(""), (Kind::Truncated, None));
    assert_eq!(
        whole("@relation r\n@attribute a real\n"),
        (Kind::Truncated, None)
    );
    assert_eq!(whole("@attribute a real\n"), (Kind::Syntax, Some(at(1, 1))));
    assert_eq!(
        whole("@relation r\n@attribute y {u,v}\n@data\nu\n"),
        (Kind::EmptyData, Some(at(4, 1)))
    );
}

#[test]
fn arff_limits_hold_before_a_declaration_takes_memory() {
    let options = Options {
        limits: ParseLimits {
            n_max: 4,
            line_bytes_max: 40,
            ..ParseLimits::default()
        },
        ..Options::default()
    };
    let n_max = FormatErrorKind::TooLarge {
        limit: "n_max",
        value: 4,
    };
    let line_bytes_max = FormatErrorKind::TooLarge {
        limit: "line_bytes_max",
        value: 40,
    };
    let cases = [
        ("@attribute a {1,2,3,4,5}\n", n_max, at(2, 23)),
        (
            "@attribute a {1,2,3,4}\n@attribute b {1,2,3}\n",
            n_max,
            at(3, 12),
        ),
        (
            "@attribute a0123456789 {1,2,3,4}\n",
            line_bytes_max,
            at(2, 12),
        ),
        (
            "@attribute a {1,2,3}\n@attribute c real\n@attribute b {1,2}\n@data\n1,1,x\n",
            FormatErrorKind::BadValue,
            at(6, 5),
        ),
    ];
    for (head, kind, place) in cases {
        assert_eq!(
            fault(&format!("@relation r\n{head}"), &options),
            (kind, Some(place)),
            "{head}"
        );
    }
    let six =
        "@relation r\n@attribute a {1,2,3}\n@attribute c real\n@attribute b {1,2}\n@data\n1,1,1\n";
    let unlabelled = Options {
        labels: Some(LabelsColumn::None),
        ..options
    };
    assert_eq!(fault(six, &unlabelled).0, n_max);
}

#[test]
fn every_prefix_of_arff_is_refused_or_read_as_whole_rows() {
    let body = with_head("red,x,1,yes\n'dark blue',x,0,no\n{0 \"it's\", 3 no}\n");
    let whole = rows(&read(Format::Arff, &body).expect("good").data);
    for end in 0..body.len() {
        if let Ok(parsed) = read(Format::Arff, &body[..end]) {
            let read = rows(&parsed.data);
            assert_eq!(read, whole[..read.len()], "{end}");
        }
    }
}
