//! Rule 2: each way takes |N(10, 2)| milliseconds.

use lab::herd::{Network, network::Ways};

#[test]
fn a_way_takes_ten_milliseconds_with_a_deviation_of_two() {
    let ways: Vec<f64> = attempts().into_iter().flatten().collect();
    let count = ways.len() as f64;
    let mean = ways.iter().sum::<f64>() / count;
    let deviation = (ways.iter().map(|way| (way - mean).powi(2)).sum::<f64>() / count).sqrt();

    // Five standard errors of each.
    assert!((mean - 10.0).abs() < 5.0 * 2.0 / count.sqrt(), "{mean}");
    assert!((deviation - 2.0).abs() < 5.0 * 2.0 / (2.0 * count).sqrt(), "{deviation}");
    assert!(ways.iter().all(|way| *way >= 0.0));
}

#[test]
fn ways_are_normal() {
    let ways: Vec<f64> = attempts().into_iter().flatten().collect();
    let count = ways.len() as f64;

    for (deviations, part) in [(1.0, 0.682_689_f64), (2.0, 0.954_500), (3.0, 0.997_300)] {
        let within = ways.iter().filter(|way| (*way - 10.0).abs() < deviations * 2.0).count() as f64 / count;
        let tolerance = 5.0 * (part * (1.0 - part) / count).sqrt();
        assert!((within - part).abs() < tolerance, "{deviations}: {within}");
    }
}

#[test]
fn the_ways_of_an_attempt_are_independent() {
    let attempts = attempts();
    let count = attempts.len() as f64;

    for (one, other) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        let products = attempts.iter().map(|ways| (ways[one] - 10.0) * (ways[other] - 10.0) / 4.0);
        let correlation = products.sum::<f64>() / count;
        assert!(correlation.abs() < 5.0 / count.sqrt(), "{one} and {other}: {correlation}");
    }
}

fn attempts() -> Vec<[f64; 4]> {
    let mut network = Network::new(1);
    let mut attempt = || {
        let Ways { read, version, write, answer } = network.ways();
        [read, version, write, answer]
    };
    (0..20_000).map(|_| attempt()).collect()
}
