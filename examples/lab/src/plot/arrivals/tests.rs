use super::*;

fn arrivals(dark: Vec<f64>, light: Vec<f64>) -> Arrivals {
    let row = Row { label: "full & fair".into(), note: "7 writes".into(), dark, light };
    Arrivals {
        title: "When they came".into(),
        time: "seconds".into(),
        until: 10.0,
        height: 4,
        dark: "won".into(),
        light: "lost".into(),
        rows: vec![row],
    }
}

fn texts(svg: &str) -> Vec<String> {
    let drawing = roxmltree::Document::parse(svg).unwrap();
    let texts = drawing.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|text| text.text().unwrap().trim().to_owned()).collect()
}

#[test]
fn every_name_is_there_as_text() {
    let texts = texts(&arrivals(vec![1.0], vec![2.0]).to_svg());
    for name in ["When they came", "seconds", "won", "lost", "full & fair", "7 writes"] {
        assert!(texts.iter().any(|text| text == name), "{name} is not there: {texts:?}");
    }
}

#[test]
fn what_comes_after_the_end_is_counted() {
    let svg = arrivals(vec![1.0, 9.99, 10.0], vec![63.0]).to_svg();
    assert!(texts(&svg).contains(&"2 later →".to_owned()), "{svg}");
    assert!(!arrivals(vec![1.0], vec![9.0]).to_svg().contains('→'));
}

#[test]
fn a_bar_that_is_cut_says_how_high_it_would_be() {
    assert!(texts(&arrivals(vec![1.0; 3], vec![1.0; 6]).to_svg()).contains(&"highest bar 9".to_owned()));
    assert!(!arrivals(vec![1.0; 2], vec![1.0; 2]).to_svg().contains("highest"));
}

#[test]
fn dark_stands_before_light_and_is_as_high_as_its_own_count() {
    let (dark, all) = arrivals(vec![0.0; 1], vec![0.0; 3]).bins(&arrivals(vec![0.0; 1], vec![0.0; 3]).rows[0])[0];
    assert_eq!((dark, all), (1, 4));
}

#[test]
fn any_data_can_be_drawn() {
    let odd = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e300];
    for (dark, light) in [(vec![], vec![]), (vec![0.0], vec![]), (odd.clone(), odd), (vec![1.0; 100_000], vec![])] {
        for until in [0.0, -1.0, f64::NAN, f64::MAX, f64::MIN_POSITIVE, 10.0] {
            let drawn = Arrivals { until, height: 0, ..arrivals(dark.clone(), light.clone()) };
            roxmltree::Document::parse(&drawn.to_svg()).unwrap();
        }
    }
    roxmltree::Document::parse(&Arrivals { rows: vec![], ..arrivals(vec![], vec![]) }.to_svg()).unwrap();
}

#[test]
fn the_same_data_make_the_same_bytes() {
    assert_eq!(arrivals(vec![1.0], vec![2.0]).to_svg(), arrivals(vec![1.0], vec![2.0]).to_svg());
}
