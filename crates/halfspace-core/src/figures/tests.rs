//! Tests of the pictures: well-formed XML, drawings inside the frame, and legibility without colour and without
//! sight.

use std::collections::BTreeSet;

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::bars::{Bar, BarChart};
use super::chart::{Axis, AxisMark, Chart, Curve, CurvePoint, Point, Scale, Series, SeriesForm};
use super::heat_maps::{HeatMap, HeatMaps};
use super::marker::SeriesStyle;
use super::plot::*;
use super::svg::{Svg, WIDTH};
use super::{Drawing, DrawingError};
use crate::memory::MemoryBudget;

/// A limit that no picture of these tests reaches.
const BYTES_MAX: usize = 1 << 24;

/// An XML element with its name, attributes and text.
#[derive(Debug)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn new(start: &BytesStart<'_>) -> Self {
        let attribute = |attribute: Result<quick_xml::events::attributes::Attribute<'_>, _>| {
            let attribute = attribute.expect("an attribute");
            let key = String::from_utf8(attribute.key.as_ref().to_vec()).expect("UTF-8");
            let value = String::from_utf8(attribute.value.to_vec()).expect("UTF-8");
            (key, value)
        };
        Self {
            name: String::from_utf8(start.name().as_ref().to_vec()).expect("UTF-8"),
            attributes: start.attributes().map(attribute).collect(),
            text: String::new(),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> f64 {
        let number = self.get(name).expect("there").parse::<f64>();
        number.unwrap_or_else(|_| panic!("{name} of {self:?}"))
    }

    /// All positions at which the element is drawn.
    fn places(&self) -> Vec<(f64, f64)> {
        let pair = |pair: &str, by| {
            let (x, y) = pair.split_once(by).expect("two numbers");
            (x.parse().expect("x"), y.parse().expect("y"))
        };
        match self.name.as_str() {
            "circle" => vec![(self.number("cx"), self.number("cy"))],
            "line" => vec![
                (self.number("x1"), self.number("y1")),
                (self.number("x2"), self.number("y2")),
            ],
            "polyline" => {
                let points = self.get("points").expect("points").split(' ');
                points.map(|place| pair(place, ',')).collect()
            }
            "path" => {
                let moved = self.get("transform").expect("a place");
                let moved = moved.trim_start_matches("translate(").trim_end_matches(')');
                vec![pair(moved, ' ')]
            }
            _ => Vec::new(),
        }
    }
}

/// Parses all elements of a document and panics unless the document is well-formed.
fn elements(svg: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(svg);
    let (mut open, mut all) = (Vec::new(), Vec::new());
    loop {
        match reader.read_event().expect("XML") {
            Event::Start(start) => {
                open.push(all.len());
                all.push(Element::new(&start));
            }
            Event::Empty(start) => all.push(Element::new(&start)),
            Event::End(_) => {
                open.pop().expect("something open");
            }
            Event::Text(text) => {
                if let Some(&last) = open.last() {
                    all[last].text.push_str(&text.decode().expect("text"));
                }
            }
            Event::GeneralRef(reference) => {
                let named = reference.decode().expect("a name");
                let known = ["amp", "lt", "gt", "quot"];
                assert!(known.contains(&named.as_ref()), "&{named};");
                if let Some(&last) = open.last() {
                    all[last].text.push_str(&format!("&{named};"));
                }
            }
            Event::Eof => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(open.is_empty());
    all
}

fn series(label: &str, points: Vec<Point>) -> Series {
    Series::new(label, points)
}

fn chart() -> Chart {
    let measured = |x: f64, y: f64| Point {
        x,
        y,
        low: Some(0.8 * y),
        high: Some(1.2 * y),
        runs: 10,
        censored: 0,
    };
    let censored = Point {
        high: None,
        censored: 3,
        ..measured(0.1, 90.0)
    };
    Chart {
        title: "Mistakes <until> the end & \"after\"".to_owned(),
        x: Axis::new("batch size", "examples", Scale::Linear),
        y: Axis::new("mistakes", "n mistakes", Scale::Logarithmic),
        series: vec![
            series(
                "one, n = 11",
                vec![censored, measured(1.0, 0.6), measured(2.0, 0.5)],
            ),
            series(
                "other, n = 11",
                vec![measured(1.0, 0.2), Point::exact(2.0, 0.1)],
            ),
        ],
        theory: vec![Curve::new(
            "expected",
            Some(0),
            [(0.1, 1e9), (0.5, 30.0), (2.0, 0.5)],
        )],
        marks: vec![AxisMark {
            x: 1.0,
            label: "from here".to_owned(),
        }],
        notes: vec!["A note.".to_owned()],
    }
}

/// Asserts that all measured points, curves and marks lie inside the frame.
#[track_caller]
fn assert_within(all: &[Element]) {
    let legend = RIGHT + 1.0;
    for element in all {
        for (x, y) in element.places() {
            assert!(x.is_finite() && y.is_finite(), "{element:?}");
            if x < legend {
                let (dx, dy) = (0.01, 0.01);
                let is_inside = (LEFT - dx - 3.0..=RIGHT + dx + 3.0).contains(&x)
                    && (TOP - dy..=BOTTOM + dy).contains(&y);
                assert!(is_inside, "{element:?} at {x}, {y}");
            }
        }
    }
}

#[test]
fn picture_is_well_formed_svg_within_its_frame() {
    let chart = chart();
    let all = elements(&chart.to_svg());
    assert_within(&all);
    let markers = all.iter().filter(|one| one.get("class") == Some("point"));
    // Five points, and one marker per series in the legend.
    assert_eq!(markers.count(), 5 + 2);
    let names: BTreeSet<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let known = [
        "circle", "desc", "line", "path", "polyline", "rect", "svg", "text", "title",
    ];
    assert_eq!(
        names,
        BTreeSet::from(known),
        "no script, no style, nothing from outside"
    );
}

#[test]
fn picture_description_states_the_numbers() {
    let all = elements(&chart().to_svg());
    assert_eq!(all[0].get("role"), Some("img"));
    let text = |name: &str| {
        let found = all.iter().find(|element| element.name == name);
        found.expect("there").text.clone()
    };
    assert_eq!(
        text("title"),
        "Mistakes &lt;until&gt; the end &amp; &quot;after&quot;"
    );
    let said = text("desc");
    for words in [
        "From left to right: batch size (examples).",
        "at least 90 at 0.1",
        "0.6 at 1, 0.48 to 0.72",
        "Theory, expected: from 10⁹ at 0.1 to 0.5 at 2.",
        "Line at 1: from here.",
    ] {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
}

#[test]
fn series_differ_by_marker_shape_and_dashes() {
    let shape = |at| {
        let look = SeriesStyle::of_series(at);
        let svg = Svg::unlimited(|svg| look.marker(svg, (0.0, 0.0)));
        // The marker without its colour.
        let colour = svg
            .split("stroke=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        svg.replace(colour.expect("a colour"), "")
    };
    let shapes: BTreeSet<String> = (0..10).map(shape).collect();
    assert_eq!(shapes.len(), 10);
    let all = elements(&chart().to_svg());
    let dashed = all
        .iter()
        .filter(|one| one.get("stroke-dasharray").is_some());
    // The curve and the mark, and the line of each in the legend.
    assert_eq!(dashed.count(), 4);
}

#[test]
fn a_curve_outside_the_frame_is_a_note_and_no_entry_of_the_legend() {
    let far = Curve::new("bound", None, [(0.1, 1e30), (2.0, 1e30)]);
    let chart = Chart {
        theory: vec![far],
        ..chart()
    };
    let svg = chart.to_svg();
    assert!(svg.contains("Outside the frame: bound."));
    assert!(!svg.contains(">bound</text>"));
}

#[test]
fn picture_is_the_stored_chart_svg() {
    assert_eq!(chart().to_svg(), chart().to_svg());
    let expected = include_str!("chart.svg");
    let found = chart().to_svg();
    if found != expected {
        let place = std::env::temp_dir().join("chart.svg");
        std::fs::write(&place, &found).expect("room for it");
        panic!(
            "another picture than src/figures/chart.svg: {}",
            place.display()
        );
    }
}

#[test]
fn a_hundred_thousand_points_make_a_small_picture() {
    let points = (0..100_000_u32).map(|at| Point::exact(at.into(), f64::from(at % 1013)));
    let mut chart = chart();
    chart.series = vec![series("long", points.collect())];
    let svg = chart.to_svg();
    assert!(svg.len() < 100_000, "{} bytes", svg.len());
    assert_within(&elements(&svg));
}

#[test]
fn bars_and_their_labels_stay_within_the_picture() {
    let bar = |at: usize| Bar {
        label: ["name & <sign> ", "\u{8a9e}"][at % 2].repeat(at),
        value: (at as f64 - 30.0) * 1e9,
        text: format!("{}", at as i64 - 30),
        low: at.is_multiple_of(3).then_some(-4e10),
        high: Some(at as f64 * 1e9),
        before: at.is_multiple_of(2).then_some(5e10),
    };
    for count in [0, 1, 100] {
        let chart = BarChart {
            title: "Weights".to_owned(),
            axis: "weight".to_owned(),
            bars: (0..count).map(bar).collect(),
            notes: vec!["A note. ".repeat(200)],
        };
        let svg = chart.to_svg();
        let all = elements(&svg);
        let bars: Vec<_> = all
            .iter()
            .filter(|one| one.get("class") == Some("bar"))
            .collect();
        assert_eq!(bars.len(), count);
        for bar in bars {
            let (x, width) = (bar.number("x"), bar.number("width"));
            assert!(x >= 0.0 && width >= 0.0 && x + width <= WIDTH, "{bar:?}");
        }
        let intervals = all
            .iter()
            .filter(|one| one.get("class") == Some("interval"));
        assert_eq!(intervals.count(), 3 * count.div_ceil(3));
        for (x, _) in all.iter().flat_map(Element::places) {
            assert!((0.0..=WIDTH).contains(&x), "{x}");
        }
        assert!(!svg.contains(">1e"), "powers of ten: {svg}");
        // A hollow bar is below 0.
        let hollow = all
            .iter()
            .filter(|one| one.get("class") == Some("bar") && one.get("fill") == Some("#fff"));
        assert_eq!(hollow.count(), count.min(30));
    }
}

#[test]
fn the_form_of_a_series_decides_on_markers_and_line() {
    let drawn = |form: SeriesForm, predicted: Option<usize>| {
        let mut chart = chart();
        let points = (0..5).map(|at| Point::exact(f64::from(at), f64::from(at * at) + 1.0));
        chart.series = vec![Series {
            form,
            ..Series::new("own", points)
        }];
        chart.theory = vec![Curve::new("theory", predicted, [(0.0, 1.0), (4.0, 17.0)])];
        chart.marks.clear();
        let svg = chart.to_svg();
        let all = elements(&svg);
        let markers = all
            .iter()
            .filter(|one| one.get("class") == Some("point"))
            .count();
        // The theory has dashes.
        let lines = all.iter().filter(|one| one.name == "polyline");
        let lines: Vec<_> = lines
            .filter(|one| one.get("stroke-dasharray").is_none())
            .map(|one| one.get("points").unwrap().split(' ').count())
            .collect();
        (markers, lines)
    };
    // The legend has a marker too.
    assert_eq!(drawn(SeriesForm::Marked, None), (6, vec![5]));
    assert_eq!(drawn(SeriesForm::Marked, Some(0)), (6, vec![]));
    assert_eq!(drawn(SeriesForm::Points, None), (6, vec![]));
    assert_eq!(drawn(SeriesForm::Line, Some(0)), (0, vec![5]));
    assert_eq!(drawn(SeriesForm::Step, None), (0, vec![9]));
}

fn maps(columns: usize, values: Vec<f64>) -> HeatMaps {
    let map = HeatMap {
        label: "a & b".to_owned(),
        columns,
        values,
    };
    HeatMaps {
        title: "Weights".to_owned(),
        maps: vec![map.clone(), map],
        strongest: None,
    }
}

#[test]
fn cells_of_a_heat_map_have_the_colour_of_their_value() {
    let svg = drawn(maps(3, vec![2.0, 2.0, 0.0, -1.0, 1e-9, -2.0])).expect("whole rows");
    let all = elements(&svg);
    let strokes: Vec<_> = all
        .iter()
        .filter(|one| one.name == "path")
        .map(|one| (one.get("stroke").unwrap(), one.get("d").unwrap()))
        .collect();
    let one = [
        ("#d55e00", "M2 1h1"),
        ("#e3a97b", "M0 1h1"),
        ("#e2ebf2", "M1 1h1"),
        ("#0072b2", "M0 0h2"),
    ];
    assert_eq!(strokes, [one, one].concat());
    assert!(svg.contains("a &amp; b: 2 rows of 3 values from -2 to 2."));
    // The picture is legible without a value.
    assert!(
        drawn(maps(1, vec![0.0])).is_ok_and(|svg| !svg.contains("NaN") && !svg.contains("<path"))
    );
    let svg = drawn(maps(1, vec![-0.0])).expect("a cell");
    assert!(
        svg.contains("a &amp; b: 1 row of 1 value from 0 to 0."),
        "{svg}"
    );
}

#[test]
fn heat_maps_without_whole_rows_or_with_too_many_cells_are_refused() {
    let place = |maps: HeatMaps| place(drawn(maps));
    let nothing = Drawing::default().to_svg(BYTES_MAX);
    assert!(matches!(nothing, Err(DrawingError::Refused { place, .. }) if place.is_empty()));
    assert_eq!(place(maps(2, vec![1.0; 3])), "heat_maps/maps/0/columns");
    assert_eq!(place(maps(0, vec![1.0; 3])), "heat_maps/maps/0/columns");
    assert_eq!(place(maps(2, vec![])), "heat_maps/maps/0/columns");
    assert_eq!(place(maps(1, vec![1.0; 300_000])), "heat_maps/maps");
    assert_eq!(
        place(HeatMaps {
            maps: Vec::new(),
            ..maps(1, vec![1.0])
        }),
        "heat_maps/maps"
    );
    assert_eq!(
        place(HeatMaps {
            strongest: Some(0.0),
            ..maps(1, vec![1.0])
        }),
        "heat_maps/strongest"
    );
}

#[test]
fn a_cell_of_a_heat_map_takes_at_most_eleven_bytes() {
    let cells = 1 << 19;
    // No cell has the colour of its neighbours, so each is a stroke of its own.
    for columns in [1, 2, 512, 1 << 18, cells] {
        let sign = |at: usize| {
            if (at / columns + at % columns).is_multiple_of(2) {
                1.0
            } else {
                -1.0
            }
        };
        let mut checkered = maps(columns, (0..cells).map(sign).collect());
        checkered.maps.truncate(1);
        let bytes = drawn(checkered).expect("as many as allowed").len();
        assert!(
            (9 * cells..11 * cells).contains(&bytes),
            "{columns} columns: {bytes} bytes"
        );
    }
}

/// The place of the part that has no picture.
fn place(drawn: Result<String, DrawingError>) -> String {
    match drawn {
        Err(DrawingError::Refused { place, .. }) => place,
        other => panic!("{other:?}"),
    }
}

fn drawn(maps: HeatMaps) -> Result<String, DrawingError> {
    let drawing = Drawing {
        heat_maps: Some(maps),
        ..Drawing::default()
    };
    drawing.to_svg(BYTES_MAX)
}

#[test]
fn a_curve_beside_no_series_is_refused() {
    for beside in [2, usize::MAX] {
        let mut chart = chart();
        chart.theory.push(Curve::new("far", Some(beside), []));
        let drawing = Drawing {
            chart: Some(chart),
            ..Drawing::default()
        };
        assert_eq!(place(drawing.to_svg(BYTES_MAX)), "chart/theory/1/beside");
    }
}

#[test]
fn long_labels_and_texts_leave_room_for_bars() {
    let bar = |value: f64| Bar {
        label: "L".repeat(60),
        value,
        text: "y".repeat(90),
        low: None,
        high: None,
        before: None,
    };
    let chart = BarChart {
        title: String::new(),
        axis: String::new(),
        bars: vec![bar(1.0), bar(2.0)],
        notes: Vec::new(),
    };
    let all = elements(&chart.to_svg());
    let bars = all.iter().filter(|one| one.get("class") == Some("bar"));
    let ends: Vec<_> = bars
        .map(|bar| (bar.number("x"), bar.number("width")))
        .collect();
    assert_eq!(ends[0].0, ends[1].0, "both begin at 0");
    assert!(
        ends[1].1 > 1.9 * ends[0].1 && ends[0].1 > 50.0,
        "longer to the right: {ends:?}"
    );
    let texts = all.iter().filter(|one| one.text.contains('y'));
    assert_eq!(
        texts
            .filter(|one| one.name == "text" && one.text.chars().count() <= 40)
            .count(),
        2
    );
}

/// Figures whose texts, lists and lines alone are longer than a picture of 1 MiB may be.
fn figures_without_end() -> Vec<Drawing> {
    let long = "& ".repeat(1 << 20);
    let many = vec![String::new(); 1 << 18];
    let point = |x: usize| CurvePoint {
        x: (x % 2) as f64,
        y: (x % 3) as f64,
    };
    let places: Vec<_> = (0..1 << 18).map(point).collect();
    let bar = |text: &str| Bar {
        label: text.to_owned(),
        value: 1.0,
        text: text.to_owned(),
        low: None,
        high: None,
        before: None,
    };
    let map = |change: &dyn Fn(&mut HeatMaps)| {
        let mut maps = maps(1, vec![1.0]);
        change(&mut maps);
        Drawing {
            heat_maps: Some(maps),
            ..Drawing::default()
        }
    };
    let bars = |change: &dyn Fn(&mut BarChart)| {
        let (title, axis) = (String::new(), String::new());
        let (bars, notes) = (vec![bar("")], Vec::new());
        let mut bars = BarChart {
            title,
            axis,
            bars,
            notes,
        };
        change(&mut bars);
        Drawing {
            bars: Some(bars),
            ..Drawing::default()
        }
    };
    let chart = |change: &dyn Fn(&mut Chart)| {
        let mut chart = chart();
        change(&mut chart);
        Drawing {
            chart: Some(chart),
            ..Drawing::default()
        }
    };
    vec![
        map(&|maps| maps.title = long.clone()),
        map(&|maps| maps.maps[0].label = long.clone()),
        map(&|maps| maps.maps[0] = checkered()),
        bars(&|bars| bars.title = long.clone()),
        bars(&|bars| bars.axis = long.clone()),
        bars(&|bars| bars.bars[0] = bar(&long)),
        bars(&|bars| bars.bars = vec![bar("a"); 1 << 14]),
        bars(&|bars| bars.notes = many.clone()),
        chart(&|chart| chart.title = long.clone()),
        chart(&|chart| chart.x.label = long.clone()),
        chart(&|chart| chart.y.unit = long.clone()),
        chart(&|chart| chart.series[0].label = long.clone()),
        chart(&|chart| chart.theory[0].label = long.clone()),
        chart(&|chart| chart.marks[0].label = long.clone()),
        chart(&|chart| chart.notes[0] = long.clone()),
        chart(&|chart| chart.notes = many.clone()),
        chart(&|chart| chart.theory[0].points = places.clone()),
        chart(&|chart| {
            let points = places.iter().map(|place| Point::exact(place.x, place.y));
            chart.series[0] = Series::new("long", points);
        }),
    ]
}

fn checkered() -> HeatMap {
    let cell = |at: usize| ((at ^ at >> 9) & 1) as f64;
    HeatMap {
        label: String::new(),
        columns: 512,
        values: (0..1 << 18).map(cell).collect(),
    }
}

#[test]
fn drawing_ends_at_its_limit_and_holds_no_more_memory() {
    const MIB: usize = 1 << 20;
    for drawing in figures_without_end() {
        let grant = MemoryBudget::new(64 << 20).try_take(0).expect("room");
        let drawn = grant.within(|| drawing.to_svg(MIB));
        let part = format!("{drawing:?}").chars().take(200).collect::<String>();
        let too_long = DrawingError::TooLong { bytes_max: MIB };
        assert_eq!(drawn, Err(too_long), "{part}");
        // The text moves to a larger block, and both exist for a moment.
        assert!(grant.peak() < 2 * MIB as u64, "{} {part}", grant.peak());
    }
}

#[test]
fn drawing_asks_for_the_memory_of_the_picture() {
    let title = "a".repeat(4 << 20);
    let drawing = Drawing {
        chart: Some(Chart { title, ..chart() }),
        ..Drawing::default()
    };
    let budget = MemoryBudget::new(6 << 20);
    let grant = budget.try_take(0).expect("room");
    let drawn = grant.within(|| drawing.to_svg(BYTES_MAX));
    assert!(matches!(drawn, Err(DrawingError::NoMemory(_))), "{drawn:?}");
    assert!(grant.peak() < 6 << 20, "{}", grant.peak());
}

/// Pairs of any finite numbers: small and large ones, extremes, and neighbours.
fn pairs() -> impl Strategy<Value = (f64, f64)> {
    let any = prop_oneof![
        prop::num::f64::ANY.prop_filter("finite", |number| number.is_finite()),
        -1e3..1e3_f64,
        prop::sample::select(vec![
            0.0,
            -0.0,
            5e-324,
            f64::MIN_POSITIVE,
            1e-290,
            1e290,
            1e308,
            f64::MAX,
            f64::MIN,
            0.77,
            0.45,
            94.4,
        ]),
    ];
    let neighbour = |number: f64, ulps: u64| {
        let near = f64::from_bits(number.to_bits() + ulps);
        if near.is_finite() { near } else { number }
    };
    (any.clone(), any, 0..6_u64, any_sign()).prop_map(move |(one, other, ulps, sign)| match ulps {
        0..3 => (one, other),
        // 1 to 3 units in the last place apart.
        _ => (sign * one, sign * neighbour(one, ulps - 2)),
    })
}

fn any_sign() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![1.0, -1.0])
}

fn numbers() -> impl Strategy<Value = f64> {
    prop_oneof![
        -1e3..1e3_f64,
        Just(0.0),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        0.0..1.0_f64
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_chart_is_drawn_within_its_frame(
        values in prop::collection::vec((numbers(), numbers(), numbers(), 0..3_u64), 0..30),
        is_logarithmic: (bool, bool),
        label in "\\PC{0,20}",
    ) {
        let scale = |is| if is { Scale::Logarithmic } else { Scale::Linear };
        let points = values.iter().map(|&(x, y, other, censored)| Point {
            x,
            y,
            low: Some(y.min(other)),
            high: Some(y.max(other)).filter(|_| censored == 0),
            runs: 3,
            censored,
        });
        let chart = Chart {
            title: label.clone(),
            x: Axis::new(&label, &label, scale(is_logarithmic.0)),
            y: Axis::new(&label, "", scale(is_logarithmic.1)),
            series: vec![series(&label, points.collect())],
            theory: vec![Curve::new(&*label, None, values.iter().map(|value| (value.2, value.1)))],
            marks: Vec::new(),
            notes: vec![label.clone()],
        };
        assert_within(&elements(&chart.to_svg()));
    }

    #[test]
    fn finite_values_lie_within_every_picture(
        (one, other) in pairs(),
        (left, right) in pairs(),
        is_logarithmic: (bool, bool),
    ) {
        let scale = |is| if is { Scale::Logarithmic } else { Scale::Linear };
        let ends = [(left, one), (right, other)];
        let point = |(x, y)| Point {
            low: Some(one.min(other)),
            high: Some(one.max(other)),
            ..Point::exact(x, y)
        };
        let chart = Chart {
            x: Axis::new("", "", scale(is_logarithmic.0)),
            y: Axis::new("", "", scale(is_logarithmic.1)),
            series: vec![series("", ends.map(point).to_vec())],
            theory: vec![Curve::new("", None, [(right, one), (left, right)])],
            marks: vec![AxisMark { x: left, label: String::new() }],
            ..chart()
        };
        assert_within(&elements(&chart.to_svg()));
        let bar = |value: f64| Bar {
            label: "L".to_owned(),
            value,
            text: "y".to_owned(),
            low: Some(one),
            high: Some(other),
            before: Some(left),
        };
        let bars = BarChart {
            title: String::new(),
            axis: String::new(),
            bars: [one, other].map(bar).to_vec(),
            notes: Vec::new(),
        };
        for element in elements(&bars.to_svg()) {
            for (x, y) in element.places() {
                assert!((30.0..=WIDTH).contains(&x) && y.is_finite(), "{element:?}");
            }
            if element.get("class") == Some("bar") {
                let (x, width) = (element.number("x"), element.number("width"));
                assert!(x >= 30.0 && width >= 0.0 && x + width <= WIDTH, "{element:?}");
            }
        }
        let svg = drawn(maps(1, vec![one, other])).expect("whole rows");
        let numbers = elements(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{numbers:?}");
    }
}
