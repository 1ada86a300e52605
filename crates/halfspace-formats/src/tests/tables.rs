//! Tests of tables: kinds of columns, codings, missing cells, labels, and rows under a given encoding.

use std::io::Cursor;
use std::sync::Arc;

use super::*;
use crate::{
    ColumnKind, KindName, Missing, Numbers, RowsKind, Spool, StatedColumn, TableEncoding,
    TableOptions, Unknown, gather,
};

fn options(table: TableOptions) -> Options {
    Options {
        table,
        ..Options::default()
    }
}

/// Reads a table and returns it with its encoding.
fn read_table(body: &str, options: &Options) -> (Parsed, TableEncoding) {
    let parsed = parse(Format::Csv, body.as_bytes(), options).expect(body);
    let table = parsed.table.clone().expect("a table");
    (parsed, Arc::unwrap_or_clone(table))
}

fn refused(body: &str, options: &Options) -> String {
    parse(Format::Csv, body.as_bytes(), options)
        .expect_err(body)
        .to_string()
}

fn names(parsed: &Parsed) -> Vec<&str> {
    let names = parsed.feature_names.as_ref().expect("names");
    names.iter().map(String::as_str).collect()
}

#[test]
fn nominal_columns_become_one_bit_per_value() {
    let body = "class,odor,bruises,veil,stalk\np,p,t,w,?\ne,a,f,w,b\ne,n,f,w,c\n";
    let (parsed, table) = read_table(body, &Options::default());
    let expected = [
        "odor=a", "odor=n", "odor=p", "bruises", "veil=w", "stalk=b", "stalk=c", "stalk=?",
    ];
    assert_eq!(names(&parsed), expected);
    assert_eq!(rows(&parsed.data), ["00111001", "10001100", "01001010"]);
    assert_eq!(labels(&parsed.data), "100");
    assert_eq!(
        parsed.class_names(),
        Some(vec!["e".to_owned(), "p".to_owned()])
    );
    assert_eq!(
        table.columns[1].kind,
        ColumnKind::Boolean {
            values: ["f".to_owned(), "t".to_owned()]
        }
    );
    assert_eq!(
        (table.columns[3].features, table.columns[3].missing),
        ([5, 8], true)
    );
    assert_eq!(table.missing.cells, 1);
}

#[test]
fn boolean_columns_of_every_family_become_bits() {
    for (zero, one) in [
        ("0", "1"),
        ("-1", "1"),
        ("false", "true"),
        ("FALSE", "True"),
        ("no", "yes"),
        ("N", "Y"),
        ("off", "ON"),
    ] {
        let body = format!("y,a\n1,{one}\n0,{zero}\n1,{one}\n");
        let (parsed, table) = read_table(&body, &Options::default());
        assert_eq!(rows(&parsed.data), ["1", "0", "1"], "{zero}");
        assert!(matches!(table.columns[0].kind, ColumnKind::Boolean { .. }));
        assert_eq!(parsed.class_names(), None);
    }
    let (parsed, _) = read_table("y,a,b\n1,t,y\n0,t,y\n", &Options::default());
    assert_eq!(names(&parsed), ["a=t", "b=y"]);
    let (parsed, _) = read_table("y,a\n1,yes\n0,?\n1,no\n", &Options::default());
    assert_eq!(
        (names(&parsed), rows(&parsed.data)),
        (
            vec!["a", "a=?"],
            vec!["10".to_owned(), "01".to_owned(), "00".to_owned()]
        )
    );
}

#[test]
fn ranges_mean_all_columns_from_one_to_another() {
    let body = "a,b,c,d,y\n1,1,0,1,1\n0,1,1,0,0\n";
    let read = |ignore: &str, kinds: &str| {
        let mut options = Options::default();
        for (name, text) in [("ignore", ignore), ("kinds", kinds)] {
            if !text.is_empty() {
                assert_eq!(options.set(name, text), Ok(true));
            }
        }
        parse(Format::Csv, body.as_bytes(), &options)
    };
    for (ignore, kinds, expected) in [
        ("b..c", "", vec!["a", "d"]),
        ("2..-3", "", vec!["a", "d"]),
        ("d..d,1", "", vec!["b", "c"]),
        // The label stays the label, so all labels of the rows can be named at once.
        ("c..y", "", vec!["a", "b"]),
        ("-3..-1", "", vec!["a", "b"]),
        ("", "a..b:ignored", vec!["c", "d"]),
        ("", "*:ignored,b..c:boolean", vec![]),
        ("", "b..c:nominal", vec!["a", "b=1", "c=0", "c=1", "d"]),
    ] {
        match read(ignore, kinds) {
            Ok(parsed) => assert_eq!(names(&parsed), expected, "{ignore} {kinds}"),
            Err(error) => assert!(expected.is_empty(), "{ignore} {kinds}: {error}"),
        }
    }
    for (ignore, told) in [
        ("c..b", "say `b..c`"),
        ("a..e", "the column `e`"),
        ("..b", "the column ``"),
    ] {
        let error = read(ignore, "")
            .map(|parsed| parsed.data)
            .expect_err(ignore);
        assert_eq!(error.kind, FormatErrorKind::TableOption);
        assert!(error.detail.contains(told), "{error}");
    }
    // A column of this very name comes first.
    let mut options = Options::default();
    assert_eq!(options.set("ignore", "a..b"), Ok(true));
    let (parsed, _) = read_table("y,a,a..b,b\n1,1,0,1\n0,1,1,0\n", &options);
    assert_eq!(names(&parsed), ["a", "b"]);
}

#[test]
fn numeric_columns_stay_numbers_or_become_thresholds() {
    let body = "y,age,odor\n1,30.5,n\n0,41,a\n1,50,n\n0,62,n\n";
    let (parsed, table) = read_table(body, &Options::default());
    assert_eq!(names(&parsed), ["age", "odor=a", "odor=n"]);
    assert_eq!(rows(&parsed.data)[1], "[41.0, 1.0, 0.0]");
    assert_eq!(table.columns[0].kind, ColumnKind::Number);
    let bits = options(TableOptions {
        numbers: Numbers::Thermometer,
        bins: Some(2),
        ..TableOptions::default()
    });
    let (parsed, table) = read_table(body, &bits);
    // The places floor(3 / 3) and floor(6 / 3) of four sorted numbers.
    assert_eq!(
        table.columns[0].kind,
        ColumnKind::Thermometer {
            thresholds: vec![41.0, 50.0]
        }
    );
    assert_eq!(names(&parsed), ["age>=41", "age>=50", "odor=a", "odor=n"]);
    assert_eq!(rows(&parsed.data), ["0001", "1010", "1101", "1101"]);
    let boolean = Options {
        values: Some(RowsKind::Boolean),
        ..Options::default()
    };
    assert!(refused(body, &boolean).contains("numbers=thermometer"));
}

#[test]
fn stated_boolean_column_refuses_other_values() {
    let values = ["red", "blue"].map(str::to_owned);
    let kind = ColumnKind::Boolean { values };
    let column = StatedColumn {
        name: "a".to_owned(),
        kind,
        missing: false,
        scale: None,
        fill: None,
    };
    let encoding = TableEncoding::stated(vec![column], None).expect("one column");
    let encoded = options(TableOptions {
        encoding: Some(Arc::new(encoding)),
        ..TableOptions::default()
    });
    let (parsed, _) = read_table(
        "a\nred\nblue\n",
        &Options {
            labels: Some(LabelsColumn::None),
            ..encoded.clone()
        },
    );
    assert_eq!(rows(&parsed.data), ["0", "1"]);
    let message = refused(
        "a\nred\ngreen\n",
        &Options {
            labels: Some(LabelsColumn::None),
            ..encoded
        },
    );
    assert!(
        message.contains("`green`") && message.contains("row 2"),
        "{message}"
    );
}

#[test]
fn missing_numbers_need_an_option() {
    let body = "y,age\n1,3.5\n0,\n1,5\n0,4\n";
    let detail = refused(body, &Options::default());
    assert!(
        detail.contains("`age`")
            && detail.contains("row 2")
            && detail.contains("missing=drop")
            && detail.contains("numbers=thermometer"),
        "{detail}"
    );
    let drop = options(TableOptions {
        missing: Some(Missing::Drop),
        ..TableOptions::default()
    });
    let (parsed, table) = read_table(body, &drop);
    assert_eq!(rows(&parsed.data), ["[3.5]", "[5.0]", "[4.0]"]);
    assert_eq!(
        (labels(&parsed.data).as_str(), table.missing.rows_dropped),
        ("110", 1)
    );
    let thermometer = options(TableOptions {
        numbers: Numbers::Thermometer,
        bins: Some(1),
        ..TableOptions::default()
    });
    let (parsed, _) = read_table(body, &thermometer);
    assert_eq!(
        (names(&parsed), rows(&parsed.data)[1].as_str()),
        (vec!["age>=4", "age=?"], "01")
    );
    let refuse = options(TableOptions {
        missing: Some(Missing::Refuse),
        ..TableOptions::default()
    });
    assert!(refused(body, &refuse).contains("missing=drop"));
}

#[test]
fn labels_are_read_from_any_column() {
    let by = |labels: &str| Options {
        labels: Some(LabelsColumn::Named(labels.to_owned())),
        ..Options::default()
    };
    for (body, given) in [
        ("a,b,ill\n1,0,1\n0,1,0\n", "ill"),
        ("a,b,ill\n1,0,1\n0,1,0\n", "3"),
        ("a,b,ill\n1,0,1\n0,1,0\n", "-1"),
        ("1,0,1\n0,1,0\n", "3"),
    ] {
        let (parsed, table) = read_table(body, &by(given));
        assert_eq!(
            (rows(&parsed.data), labels(&parsed.data)),
            (vec!["10".to_owned(), "01".to_owned()], "10".to_owned())
        );
        assert_eq!(table.label.expect("a label").index, 3);
    }
    let (_, table) = read_table("a,Class,b\n1,0,1\n0,1,0\n", &Options::default());
    assert_eq!(table.label.expect("a label").column, "Class");
    let detail = refused("a,b,ill\n1,0,1\n", &Options::default());
    assert!(
        detail.contains("labels=ill") && detail.contains("`a`, `b`, `ill`"),
        "{detail}"
    );
    assert!(refused("a,y\n1,0\n", &by("z")).contains("`z`"));
}

#[test]
fn three_values_are_three_classes_unless_positive_chooses_one() {
    let body = "5.1,3.5,setosa\n4.9,3.0,virginica\n6.2,2.9,versicolor\n";
    let last = Options {
        labels: Some(LabelsColumn::Last),
        ..Options::default()
    };
    let (parsed, table) = read_table(body, &last);
    let names = ["setosa", "virginica", "versicolor"];
    assert_eq!(parsed.class_names().expect("classes"), names);
    let classes = table.label.expect("a label").classes;
    assert!(classes.each().eq(names.map(Some)));
    let chosen = Options {
        table: TableOptions {
            positive: Some("setosa".to_owned()),
            ..TableOptions::default()
        },
        ..last
    };
    let (parsed, table) = read_table(body, &chosen);
    assert_eq!(labels(&parsed.data), "100");
    assert!(table.label.expect("a label").classes.is_against_rest());
    assert_eq!(
        parsed.class_names().expect("classes"),
        ["not setosa", "setosa"]
    );
}

#[test]
fn an_index_column_is_left_out() {
    for body in [",a,y\n0,1,1\n1,0,0\n2,1,1\n", ",a,y\n1,1,1\n2,0,0\n3,1,1\n"] {
        let (parsed, table) = read_table(body, &Options::default());
        assert_eq!((names(&parsed), table.ignored[0].index), (vec!["a"], 1));
    }
    let (_, table) = read_table(",a,y\n5,1,1\n7,0,0\n", &Options::default());
    assert!(table.ignored.is_empty());
    let ignore = options(TableOptions {
        ignore: vec!["id".to_owned()],
        ..TableOptions::default()
    });
    let (parsed, _) = read_table("id,a,y\nx7,1,1\nx9,0,0\n", &ignore);
    assert_eq!(names(&parsed), ["a"]);
    let stated = options(TableOptions {
        kinds: vec![("1".to_owned(), KindName::Number)],
        ..TableOptions::default()
    });
    let (parsed, _) = read_table(",a,y\n0,1,1\n1,0,0\n", &stated);
    assert_eq!(names(&parsed), ["", "a"]);
}

#[test]
fn a_first_column_with_a_name_is_left_out_if_it_counts_twenty_rows() {
    let body = |rows: usize, gap: usize| {
        let row = |row: usize| {
            let day = row + usize::from(row >= gap);
            format!("{day},{}.5,{}\n", row % 3, row % 2)
        };
        let rows: String = (1..=rows).map(row).collect();
        format!("day,size,label\n{rows}")
    };
    let ignored = |body: &str, options: &Options| {
        let (_, encoding) = read_table(body, options);
        encoding.ignored.first().map(|column| column.why.clone())
    };
    let plain = Options::default();
    let why = Some("the column counts the rows".to_owned());
    assert_eq!(ignored(&body(20, 99), &plain), why);
    assert_eq!(ignored(&body(19, 99), &plain), None);
    assert_eq!(ignored(&body(400, 300), &plain), None);
    let mut stated = Options::default();
    assert_eq!(stated.set("kinds", "day:number"), Ok(true));
    assert_eq!(ignored(&body(20, 99), &stated), None);
    // Beside the label it is the only feature.
    let alone: String = (1..30).map(|row| format!("{row},{}\n", row % 2)).collect();
    assert_eq!(ignored(&format!("day,label\n{alone}"), &plain), None);
    let names = read_table(&body(400, 300), &plain).0.feature_names;
    assert_eq!(names, Some(vec!["day".to_owned(), "size".to_owned()]));
}

#[test]
fn option_kinds_sets_the_kind_of_a_column() {
    let kinds = |kinds: &[(&str, KindName)]| {
        let kinds = kinds
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), *kind))
            .collect();
        options(TableOptions {
            kinds,
            ..TableOptions::default()
        })
    };
    let body = "y,zip,a\n1,01234,0\n0,1234,1\n";
    let (parsed, _) = read_table(body, &kinds(&[("zip", KindName::Nominal)]));
    assert_eq!(names(&parsed), ["zip=01234", "zip=1234", "a"]);
    let (parsed, _) = read_table(
        body,
        &kinds(&[("a", KindName::Number), ("zip", KindName::Ignored)]),
    );
    assert_eq!(rows(&parsed.data), ["[0.0]", "[1.0]"]);
    assert!(refused(body, &kinds(&[("zip", KindName::Boolean)])).contains("`zip`"));
    assert!(refused("y,a\n1,x\n", &kinds(&[("a", KindName::Number)])).contains("`x`"));
}

#[test]
fn csv_dialects_give_one_sample() {
    let expected = read_table("y,a,b,c\n1,2.5,x,1\n0,3,y,0\n", &Options::default()).0;
    let comma = options(TableOptions {
        decimal: Some(crate::DecimalMark::Comma),
        ..TableOptions::default()
    });
    for (body, options) in [
        ("y;a;b;c\n1;2.5;x;1\n0;3;y;0\n", Options::default()),
        (
            "y\ta\tb\tc\r\n1\t2.5\tx\t1\r\n0\t3.0\ty\t0\r\n",
            Options::default(),
        ),
        (
            "\u{feff}\"y\",\"a\",\"b\",\"c\"\n\"1\",\"2.5\",\"x\",\"1\"\n0,3,y,0",
            Options::default(),
        ),
        ("y;a;b;c\n1;2,5;x;1\n0;3;y;0\n", comma),
        (
            "y,a,b,c\nTRUE,2.5,x,True\nFALSE,3,y,False\n",
            Options::default(),
        ),
        (",a,b,c,y\n0,2.5,x,1,1\n1,3,y,0,0\n", Options::default()),
    ] {
        let (parsed, _) = read_table(body, &options);
        assert_eq!(parsed.data, expected.data, "{body}");
        assert_eq!(parsed.feature_names, expected.feature_names);
    }
    let detail = refused("y;a\n1;2,5\n0;3\n", &Options::default());
    assert!(detail.contains("decimal=,"), "{detail}");
}

#[test]
fn ambiguous_first_row_needs_the_option_header() {
    // Repeated texts are no names.
    let (parsed, _) = read_table(
        "x,o,x,pos\no,o,x,neg\n",
        &Options {
            labels: Some(LabelsColumn::Last),
            ..Options::default()
        },
    );
    assert_eq!(parsed.data.examples(), 2);
    let detail = refused(
        "e,a,x\np,b,y\ne,a,x\n",
        &Options {
            labels: Some(LabelsColumn::First),
            ..Options::default()
        },
    );
    assert!(detail.contains("header=false"), "{detail}");
}

#[test]
fn encoding_gives_later_rows_the_same_features() {
    let body = "class,odor,size,bruises\np,n,5,t\ne,a,7,f\ne,n,6,f\n";
    let (trained, table) = read_table(body, &Options::default());
    let like = |labels| Options {
        labels,
        table: TableOptions {
            encoding: Some(std::sync::Arc::new(table.clone())),
            ..TableOptions::default()
        },
        ..Options::default()
    };
    let (same, said) = read_table(body, &like(None));
    assert_eq!(
        (same.data, said.label),
        (trained.data.clone(), table.label.clone())
    );
    let unlabelled = like(Some(LabelsColumn::None));
    let (other_order, _) = read_table("size,bruises,odor\n5,T,n\n7,F,a\n6,f,n\n", &unlabelled);
    assert_eq!(rows(&other_order.data), rows(&trained.data));
    let (with_label, _) = read_table(body, &unlabelled);
    assert_eq!(rows(&with_label.data), rows(&trained.data));
    let detail = refused("size,bruises,odor\n5,t,zz\n", &unlabelled);
    assert!(
        detail.contains("`zz`") && detail.contains("`odor`") && detail.contains("unknown=zero"),
        "{detail}"
    );
    let mut zero = unlabelled.clone();
    zero.table.unknown = Unknown::Zero;
    let (unknown, _) = read_table("size,bruises,odor\n5,t,zz\n", &zero);
    assert_eq!(rows(&unknown.data), ["[0.0, 0.0, 5.0, 1.0]"]);
    assert!(refused("size,odor\n5,n\n", &unlabelled).contains("`bruises`"));
    assert!(refused("size,odor,bruises,new\n5,n,t,1\n", &unlabelled).contains("ignore=new"));
    let by_place = Options {
        header: Header::False,
        ..unlabelled
    };
    let (placed, _) = read_table("n,5,t\na,7,f\n", &by_place);
    assert_eq!(rows(&placed.data), rows(&trained.data)[..2]);
}

#[test]
fn spooled_tables_equal_tables_in_memory() {
    use std::fmt::Write;
    let mut body = "id,class,odor,age,flag\n".to_owned();
    for row in 0..1_000_u32 {
        let odor = ["n", "almond", "?", "f"][(row * 7 % 11 % 4) as usize];
        let flag = if row < 700 {
            "1"
        } else {
            ["yes", "no", "1"][row as usize % 3]
        };
        writeln!(
            body,
            "{row},{},{odor},{},{flag}",
            ["e", "p"][(row % 2) as usize],
            f64::from(row * 37 % 613) / 4.0
        )
        .unwrap();
    }
    for numbers in [Numbers::Real, Numbers::Thermometer] {
        let options = options(TableOptions {
            numbers,
            ..TableOptions::default()
        });
        let (memory, table) = read_table(&body, &options);
        let spool = Spool::new(700, || Ok(Cursor::new(Vec::new())));
        let mut spooled = gather(Format::Csv, body.as_bytes(), &options, spool).expect("good");
        let mut expected = crate::Parsed::from(memory);
        let (mut bytes, mut expected_bytes) = (Vec::new(), Vec::new());
        spooled.store(&mut bytes, 0).expect("memory");
        expected.store(&mut expected_bytes, 0).expect("memory");
        assert!(bytes == expected_bytes, "{numbers:?}");
        assert_eq!(*spooled.table.expect("a table"), table);
    }
}

#[test]
fn numeric_column_with_late_words_becomes_nominal() {
    let mut body = "y,a,b\n".to_owned();
    for row in 0..200 {
        body += &format!("{},{},{}\n", row % 2, row % 3, f64::from(row) / 2.0);
    }
    body += "1,x,7\n1,u,7\n1,v,7\n1,w,7\n";
    let (parsed, table) = read_table(&body, &Options::default());
    assert_eq!(
        names(&parsed),
        ["a=0", "a=1", "a=2", "a=u", "a=v", "a=w", "a=x", "b"]
    );
    assert_eq!(
        rows(&parsed.data)[5],
        "[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.5]"
    );
    assert_eq!(
        rows(&parsed.data)[200],
        "[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 7.0]"
    );
    assert_eq!(
        (labels(&parsed.data)[..4].to_owned(), &table.columns[1].kind),
        ("0101".to_owned(), &ColumnKind::Number)
    );
}

#[test]
fn column_of_too_many_words_is_refused_at_once() {
    let mut body = "y,name\n".to_owned();
    for row in 0..300 {
        body += &format!("1,person{row}\n");
    }
    let detail = refused(&body, &Options::default());
    assert!(
        detail.contains("line 258") && detail.contains("`name`") && detail.contains("ignore=name"),
        "{detail}"
    );
}

#[test]
fn tab_separated_values_are_csv_with_tabs() {
    let read = |format, body: &str, delimiter| {
        let options = options(TableOptions {
            delimiter,
            ..TableOptions::default()
        });
        parse(format, body.as_bytes(), &options).expect(body)
    };
    let expected = read(Format::Csv, "y;a\n1;\"p,q,r\"\n0;s\n", None);
    let tabs = "y\ta\n1\tp,q,r\n0\ts\n";
    assert_eq!(read(Format::Tsv, tabs, None), expected);
    // Commas in the first line do not matter.
    let parsed = read(Format::Tsv, "y\ta,b,c\n1\t0\n0\t1\n", None);
    assert_eq!(names(&parsed), ["a,b,c"]);
    let semicolons = "y;a\n1;p,q,r\n0;s\n";
    assert_eq!(read(Format::Tsv, semicolons, Some(b';')), expected);
}

/// Any number of blanks stands between two fields, and none before the first or behind the last.
#[test]
fn blanks_separate_fields() {
    let expected = read_table("a,b,label\n1,2.5,x\n3,-4,y\n", &Options::default());
    for body in [
        "a b label\n1 2.5 x\n3 -4 y\n",
        "  a  b   label \n 1   2.5  x\n3 \t -4\ty  \n",
        "a b \"label\"\n\"1\"   2.5 x\n3 -4 \"y\"\n",
    ] {
        assert_eq!(
            read_table(body, &Options::default()).0.digest(),
            expected.0.digest(),
            "{body}"
        );
    }
    let (quoted, _) = read_table("w label\n\"a b\" x\nc y\n", &Options::default());
    assert_eq!(quoted.feature_names.unwrap(), ["w=a b", "w=c"]);
    let mut options = Options::default();
    let error = parse(
        Format::Csv,
        &b"a b label\n1   2.5 x\n 1 2.5  oops x\n"[..],
        &options,
    )
    .unwrap_err();
    assert_eq!(
        error.place,
        Some(Place::Line {
            line: 3,
            column: 14
        }),
        "{error}"
    );
    assert!(error.detail.contains("`delimiter=,`"), "{error}");
    assert_eq!(options.set("delimiter", ","), Ok(true));
    options.labels = Some(LabelsColumn::None);
    let (one, _) = read_table("a text\nof words\nand more\n", &options);
    assert_eq!(
        one.feature_names.unwrap(),
        ["a text=and more", "a text=of words"]
    );
}

#[test]
fn comments_are_no_rows() {
    let mut options = Options::default();
    assert_eq!(options.set("comment", "%"), Ok(true));
    let body = "% made by hand, in 1990\na,b,label\n1,2,x\n%3,3,x\n3,4,y\n%";
    let expected = read_table("a,b,label\n1,2,x\n3,4,y\n", &Options::default());
    assert_eq!(read_table(body, &options).0.digest(), expected.0.digest());
    for wrong in ["", "a", "##", "\"", "é"] {
        assert!(options.set("comment", wrong).is_err(), "{wrong}");
    }
}
