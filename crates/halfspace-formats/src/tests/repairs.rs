//! Repairs: pasted into the request, they make it work, or a fault says that no option mends it.

use super::*;
use crate::error::FormatErrorKind;
use crate::{Defect, ParsedRows, Preview, gather_shown, repaired};

/// Reads a body under options, with the preview that repairs need.
fn read(
    format: Format,
    body: &[u8],
    options: &Options,
    preview: &Preview,
) -> Result<Parsed<ParsedRows>, FormatError> {
    gather_shown(format, body, options, None, preview)
}

fn defects(format: Format, body: &[u8], options: &Options) -> Vec<Defect> {
    repaired(options, body.len(), &mut |options, preview| {
        read(format, body, options, preview)
    })
}

/// The options with the first repair of each fault.
fn pasted(options: &Options, defects: &[Defect]) -> Options {
    let mut options = options.clone();
    let firsts = defects.iter().filter_map(|defect| defect.repairs.first());
    for (name, value) in firsts.map(|repair| &repair.option) {
        assert_eq!(options.add(name, value), Ok(true), "{name}={value}");
    }
    options
}

/// The repairs of a table that was refused, with each shape checked by reading the table again.
fn mended(text: &str) -> Vec<Defect> {
    mended_under(text, Options::default())
}

fn mended_under(text: &str, options: Options) -> Vec<Defect> {
    let body = text.as_bytes();
    let defects = defects(Format::Csv, body, &options);
    assert!(!defects.is_empty(), "{text}");
    for (at, defect) in defects.iter().enumerate() {
        for (index, repair) in defect.repairs.iter().enumerate() {
            let mut chosen = defects.clone();
            chosen[at].repairs.swap(0, index);
            let read = parse(Format::Csv, body, &pasted(&options, &chosen));
            let read = read.unwrap_or_else(|error| panic!("{repair:?} leaves {error}"));
            let shape = repair.shape.expect("the repair was tried");
            assert_eq!(shape.examples, read.data.examples() as u64);
            assert_eq!(shape.n, read.data.n() as u64);
        }
    }
    defects
}

fn queries(defect: &Defect) -> Vec<String> {
    let repairs = defect.repairs.iter();
    let query = |repair: &crate::Repair| format!("{}={}", repair.option.0, repair.option.1);
    repairs.map(query).collect()
}

#[test]
fn repairs_of_a_table_without_a_named_label_try_each_place() {
    let found = mended("a,b,kind\n1,2,x\n3,4,y\n5,6,x\n");
    assert_eq!(found.len(), 1);
    assert_eq!(
        queries(&found[0]),
        ["labels=kind", "labels=none"],
        "{found:?}"
    );
    let shape = found[0].repairs[0].shape.expect("a shape");
    assert_eq!((shape.examples, shape.n, shape.classes), (3, 2, Some(2)));
    assert_eq!(
        found[0].repairs[1].shape.and_then(|shape| shape.classes),
        None
    );
}

#[test]
fn repairs_name_the_faults_of_all_columns_at_once() {
    let mut text = "a,b,when,label\n".to_owned();
    for row in 0..60 {
        let odd = ["n.d.", "15"][usize::from(row != 7)];
        let comma = ["\"1,5\"", "\"2,5\""][row % 2];
        text += &format!(
            "{odd},{comma},{}/12/2024,{}\n",
            row % 28 + 1,
            ["x", "y"][row % 2]
        );
    }
    let found = mended(&text);
    let queries: Vec<_> = found.iter().map(queries).collect();
    assert_eq!(queries[0][0], "missing_values=n.d.", "{queries:?}");
    assert_eq!(queries[1][0], "decimal=,", "{queries:?}");
    assert_eq!(queries[2][0], "dates=dmy", "{queries:?}");
    // A missing cell among numbers is found only once the word is one.
    assert_eq!(
        queries.get(3).map(|own| &*own[0]),
        Some("missing=drop"),
        "{queries:?}"
    );
}

#[test]
fn repairs_mend_many_columns_with_one_fault_together() {
    let names: Vec<String> = (0..300).map(|at| format!("c{at}")).collect();
    let mut text = format!("{},label\n", names.join(","));
    for row in 0..40 {
        let cell = |at: usize| match (row, at % 2) {
            (3, 0) => "oops".to_owned(),
            _ => format!("{}.5", row + at),
        };
        let cells: Vec<String> = (0..300).map(cell).collect();
        text += &format!("{},{}\n", cells.join(","), row % 2);
    }
    let found = mended(&text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(queries(&found[0])[0], "missing_values=oops");
    assert!(
        found[0]
            .error
            .detail
            .contains("149 other columns have the same fault")
    );
}

#[test]
fn repairs_take_an_identifier_out() {
    let mut text = "id,size,label\n".to_owned();
    for row in 0..400 {
        text += &format!("customer-{row},{},{}\n", row % 7, row % 2);
    }
    let found = mended(&text);
    assert_eq!(queries(&found[0])[..2], ["ignore=id", "vocabulary=open"]);
}

#[test]
fn repairs_name_a_column_whose_name_is_a_number() {
    let row = |row: usize| format!("{row}.5,{row}.25,\"1,{row}\",{}\n", row % 2);
    let rows: String = (0..40).map(row).collect();
    for names in [
        "0,1,2,y",
        "id,1,3,y",
        "3,2,1,y",
        "first,a:b,\"c,d\",y",
        "3,\"b,\",\"c,\"\"\",y",
    ] {
        let options = Options {
            header: Header::True,
            ..Options::default()
        };
        let found = mended_under(&format!("{names}\n{rows}"), options);
        let repairs = &found[0].repairs;
        let ignoring = repairs.iter().find(|repair| repair.option.0 == "ignore");
        let shape = ignoring.and_then(|repair| repair.shape);
        assert_eq!(shape.map(|shape| shape.n), Some(2), "{names}: {found:?}");
    }
}

#[test]
fn repairs_keep_columns_of_many_values() {
    let table = |cell: &dyn Fn(usize) -> String| {
        let row = |row: usize| format!("{};{};{}\n", cell(row), row % 7, ["a", "b"][row % 2]);
        let rows: String = (0..400).map(row).collect();
        format!("v;w;class\n{rows}")
    };
    let found = mended(&table(&|row| format!("{row},{}", row % 10)));
    assert_eq!(queries(&found[0]), ["decimal=,", "ignore=v"]);
    assert_eq!(found.len(), 1, "{found:?}");
    for odd in [3, 300] {
        let found = mended(&table(&|row| match row == odd {
            true => "oops".to_owned(),
            false => format!("{}.5", 1000 + row),
        }));
        assert_eq!(queries(&found[0])[0], "missing_values=oops", "{odd}");
        assert_eq!(queries(&found[1])[0], "missing=drop", "{odd}");
    }
}

#[test]
fn repairs_take_a_first_line_for_a_comment() {
    for first in ["#x", "# made by x", "% made, by, x"] {
        let found = mended(&format!("{first}\nh,class\n1.5,a\n2.5,b\n3.5,a\n4.25,b\n"));
        assert_eq!(found.len(), 1, "{first} {found:?}");
        let query = queries(&found[0]).remove(0);
        assert_eq!(query, format!("comment={}", &first[..1]));
    }
}

#[test]
fn repairs_name_labels_that_are_truth_values() {
    let row = |row: usize| {
        let cabin = ["", "", "C1"][row % 3];
        format!("{},{},{}.5,{cabin}\n", 7 * row, row % 2, row)
    };
    let rows: String = (0..30).map(row).collect();
    let found = mended(&format!("PassengerId,Survived,Age,Cabin\n{rows}"));
    assert_eq!(queries(&found[0])[0], "labels=Survived", "{found:?}");
    let found = mended("h,class\n1.5,0\n2.5,-1\n3.5,0\n");
    assert_eq!(queries(&found[0])[0], "positive=0", "{found:?}");
}

#[test]
fn numbers_of_json_have_a_point_whatever_the_decimal_mark_is() {
    let mut options = Options::default();
    assert_eq!(options.set("decimal", ","), Ok(true));
    let body = br#"[{"p":0.25,"q":"0,5","y":1},{"p":1.5,"q":"1,5","y":-1}]"#;
    let read = parse(Format::Json, &body[..], &options).unwrap();
    assert_eq!(read.data.n(), 2);
}

#[test]
fn advice_names_columns_of_words_that_name_the_rows() {
    let row = |row: usize| format!("name-{row},{},{}\n", ["a", "b"][row % 2], row % 2);
    let text: String = (0..40).map(row).collect();
    let (body, preview) = (format!("id,kind,y\n{text}"), Preview::new(0));
    let read = read(Format::Csv, body.as_bytes(), &Options::default(), &preview);
    assert!(read.is_ok());
    let found = crate::advice(&preview);
    assert_eq!(found.len(), 1);
    assert_eq!(queries(&found[0]), ["ignore=id"]);
    assert_eq!(found[0].repairs[0].sentence, "The column `id` is left out.");
}

#[test]
fn repairs_leave_a_fault_without_an_option_alone() {
    let found = defects(
        Format::Csv,
        b"a,label\n1,x\n2,y\n\"3,y\n",
        &Options::default(),
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].repairs, []);
    assert_eq!(found[0].error.kind, FormatErrorKind::Syntax);
}

#[test]
fn repairs_of_a_body_that_cannot_be_tried_have_no_shape() {
    let error = parse(Format::Csv, &b"a,b\n1,2\n"[..], &Options::default()).unwrap_err();
    let defect = Defect::untried(error);
    assert_eq!(queries(&defect), ["labels=b", "labels=a", "labels=none"]);
    assert!(defect.repairs.iter().all(|repair| repair.shape.is_none()));
}

/// A table, and what may be wrong with it.
#[derive(Clone)]
struct Damaged {
    names: Option<Vec<String>>,
    rows: Vec<Vec<String>>,
    delimiter: &'static str,
    before: &'static str,
    within: &'static str,
    write: fn(&str) -> Vec<u8>,
}

impl Damaged {
    fn sound() -> Self {
        let names = ["age", "city", "size", "when", "label"];
        let row = |row: usize| {
            vec![
                (20 + row % 50).to_string(),
                ["Bern", "Genf", "Chur"][row % 3].to_owned(),
                format!("{}.{}", row % 90, row % 10),
                format!("2024-{:02}-{:02}", row % 12 + 1, row % 28 + 1),
                ["yes", "no"][usize::from(row % 5 > 2)].to_owned(),
            ]
        };
        Self {
            names: Some(names.map(str::to_owned).to_vec()),
            rows: (0..320).map(row).collect(),
            delimiter: ",",
            before: "",
            within: "",
            write: |text| text.as_bytes().to_vec(),
        }
    }

    fn column(&mut self, at: usize, cell: impl Fn(usize, &str) -> String) {
        for (row, cells) in self.rows.iter_mut().enumerate() {
            cells[at] = cell(row, &cells[at]);
        }
    }

    fn body(&self) -> Vec<u8> {
        let line = |cells: &Vec<String>| {
            let quoted = |cell: &String| match cell.contains(self.delimiter) {
                true => format!("\"{cell}\""),
                false => cell.clone(),
            };
            let cells: Vec<String> = cells.iter().map(quoted).collect();
            cells.join(self.delimiter) + "\n"
        };
        let mut text = self.before.to_owned();
        text.extend(self.names.iter().map(line));
        for (row, cells) in self.rows.iter().enumerate() {
            if row == 30 {
                text += self.within;
            }
            text += &line(cells);
        }
        (self.write)(&text)
    }
}

type Damage = (&'static str, fn(&mut Damaged));

const DAMAGES: [Damage; 22] = [
    ("label under another name", |table| {
        if let Some(names) = &mut table.names {
            names[4] = "outcome".to_owned();
        }
    }),
    ("no names", |table| table.names = None),
    ("an odd word among numbers", |table| {
        table.rows[40][2] = "n.d.".to_owned();
    }),
    ("empty cells among numbers", |table| {
        table.rows[12][0].clear();
        table.rows[50][0].clear();
    }),
    ("decimal commas", |table| {
        table.column(2, |_, cell| cell.replace('.', ","));
        table.delimiter = ";";
    }),
    ("dates with the day first", |table| {
        table.column(3, |row, _| {
            format!("{}/{}/2024", row % 28 + 1, row % 12 + 1)
        });
    }),
    ("amounts beside plain numbers", |table| {
        table.column(0, |row, cell| match row % 2 {
            0 => format!("{cell}%"),
            _ => cell.to_owned(),
        });
    }),
    ("an identifier", |table| {
        table.column(1, |row, _| format!("customer-{row}"));
    }),
    ("many words", |table| {
        table.column(1, |row, _| format!("word-{}", row % 290));
    }),
    ("Windows-1252", |table| {
        table.column(1, |row, cell| match row % 4 {
            0 => "Zürich".to_owned(),
            _ => cell.to_owned(),
        });
        table.write = |text| encoding_rs::WINDOWS_1252.encode(text).0.into_owned();
    }),
    ("UTF-16 without a mark", |table| {
        table.write = |text| text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    }),
    ("a comment at the beginning", |table| {
        table.before = "# exported, 2024, by hand, for all, of us, again\n";
    }),
    ("a comment between the rows", |table| {
        table.within = "# checked up to here\n"
    }),
    ("an infinite number", |table| {
        table.rows[9][2] = "inf".to_owned()
    }),
    ("labels that measure", |table| {
        table.column(4, |row, _| format!("{}.25", row % 100));
    }),
    ("a missing label", |table| table.rows[3][4].clear()),
    ("one class", |table| {
        table.column(4, |_, _| "yes".to_owned())
    }),
    ("a very long word", |table| {
        table.rows[2][1] = "x".repeat(3000)
    }),
    ("a comma in doubt", |table| {
        table.column(0, |row, _| format!("1,{:03}", row % 200));
        table.delimiter = ";";
    }),
    ("bars", |table| table.delimiter = "|"),
    ("a line cut off", |table| {
        table.rows[60].truncate(3);
    }),
    ("an open quote", |table| {
        table.rows[319][1] = "\"Bern".to_owned()
    }),
];

/// The damages that no option can mend.
const HOPELESS: [&str; 2] = ["a line cut off", "an open quote"];

#[test]
fn repairs_of_253_damaged_tables_work_or_say_why_there_are_none() {
    let mut tables = Vec::new();
    for (at, one) in DAMAGES.iter().enumerate() {
        tables.push(vec![one]);
        tables.extend(DAMAGES[at + 1..].iter().map(|other| vec![one, other]));
    }
    assert_eq!(tables.len(), 253);
    let (mut sound, mut mended, mut hopeless, mut wrong) = (0, 0, 0, Vec::new());
    for damages in tables {
        let mut table = Damaged::sound();
        for (_, damage) in &damages {
            damage(&mut table);
        }
        let names: Vec<_> = damages.iter().map(|(name, _)| *name).collect();
        let (body, options) = (table.body(), Options::default());
        if parse(Format::Csv, &*body, &options).is_ok() {
            sound += 1;
            continue;
        }
        let found = defects(Format::Csv, &body, &options);
        let is_hopeless = names.iter().any(|name| HOPELESS.contains(name));
        let read = parse(Format::Csv, &*body, &pasted(&options, &found));
        let all = found.iter().all(|defect| !defect.repairs.is_empty());
        match read {
            Ok(_) if all => mended += 1,
            Ok(_) => wrong.push(format!(
                "{names:?}: a fault without a repair was none: {found:?}"
            )),
            Err(error) if all => wrong.push(format!("{names:?}: {error}")),
            Err(error) if is_hopeless => {
                hopeless += 1;
                let named = found.iter().find(|defect| defect.repairs.is_empty());
                let is_named = named.is_some_and(|defect| {
                    let kind = defect.error.kind;
                    kind == FormatErrorKind::UnequalLength || kind == FormatErrorKind::Syntax
                });
                if !is_named {
                    wrong.push(format!("{names:?}: {error} is not named in {found:?}"));
                }
            }
            Err(error) => wrong.push(format!("{names:?} could be mended: {error}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!((sound, mended, hopeless), (13, 197, 43));
}
