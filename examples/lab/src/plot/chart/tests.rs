use super::*;
use crate::plot::{Axis, WIDTH};

fn chart(points: &[Vec<(f64, f64)>], y: Axis) -> Chart {
    let series = points
        .iter()
        .zip(1..)
        .map(|(points, number)| Series { label: format!("series {number} <a & b>"), points: points.clone() });
    Chart {
        title: "What it is".into(),
        x: Axis::linear("seconds"),
        layout: Layout::Stacked,
        panels: vec![Panel { y, series: series.collect(), reference: Some((3.0, "enough".into())) }],
        bands: vec![Band { from: 1.0, to: 2.0, label: "outage".into() }],
    }
}

#[test]
fn every_name_is_there_as_text() {
    let svg = chart(&[vec![(0.0, 1.0), (4.0, 3.0)]], Axis::linear("answers a second")).to_svg();
    let drawing = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<_> = drawing.descendants().filter(|node| node.has_tag_name("text")).collect();
    for name in ["What it is", "seconds", "answers a second", "series 1 <a & b>", "outage", "enough"] {
        assert!(texts.iter().any(|text| text.text().unwrap().trim() == name), "{name} is not there");
    }
}

#[test]
fn no_text_is_smaller_than_can_be_read() {
    let svg = chart(&[vec![(0.0, 1.0), (4.0, 3.0)]], Axis::linear("answers a second")).to_svg();
    let drawing = roxmltree::Document::parse(&svg).unwrap();
    assert_eq!(drawing.root_element().attribute("width"), Some(WIDTH.to_string().as_str()));
    for size in drawing.descendants().filter_map(|node| node.attribute("font-size")) {
        assert!(size.parse::<f64>().unwrap() >= f64::from(SMALL) - 0.01, "{size}");
    }
}

#[test]
fn the_same_data_make_the_same_bytes() {
    let draw = || chart(&[vec![(0.0, 1.0), (4.0, 3.0)], vec![(1.0, 2.0)]], Axis::logarithmic("n")).to_svg();
    assert_eq!(draw(), draw());
}

#[test]
fn any_data_can_be_drawn() {
    let nothing = vec![];
    let one = vec![(0.0, 0.0)];
    let huge = vec![(-1e300, f64::MAX), (1e300, f64::MIN)];
    let tiny = vec![(0.0, f64::MIN_POSITIVE), (1e-300, 1e300)];
    let not_finite = vec![(f64::NAN, 1.0), (1.0, f64::INFINITY), (2.0, f64::NAN)];
    let many = (0..5000).map(|x| (f64::from(x), f64::from(x % 17))).collect();
    let all = [nothing, one, huge, tiny, not_finite, many];
    for axis in [Axis::linear("n"), Axis::logarithmic("n"), Axis::with_ticks("n", [1.0, f64::NAN])] {
        for points in &all {
            roxmltree::Document::parse(&chart(std::slice::from_ref(points), axis.clone()).to_svg()).unwrap();
        }
        roxmltree::Document::parse(&chart(&all, axis.clone()).to_svg()).unwrap();
        roxmltree::Document::parse(&Chart { panels: vec![], ..chart(&[], axis) }.to_svg()).unwrap();
    }
}

#[test]
fn what_cannot_be_drawn_is_left_out() {
    let markers = |points: Vec<(f64, f64)>, y| chart(&[points], y).to_svg().matches("<polygon").count();
    // Series 1 has square markers; the legend shows one.
    assert_eq!(markers(vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 1.0)], Axis::linear("n")), 3);
    assert_eq!(markers(vec![(0.0, 1.0), (1.0, 0.0), (2.0, -1.0)], Axis::logarithmic("n")), 2);
}
