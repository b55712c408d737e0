//! How far two means are apart.

use lab::herd::{Figure, Sample};

const FULL_50: Figure = Figure { printed: 333.0, deviation: 4.7 };

#[test]
fn mean_and_deviation_are_those_of_a_sample() {
    let sample = Sample::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);

    assert_eq!((sample.mean, sample.runs), (5.0, 8));
    assert!((sample.deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12, "{sample:?}");
}

#[test]
fn a_single_run_has_no_deviation_and_can_be_compared() {
    let sample = Sample::of(&[340.0]);

    assert_eq!((sample.mean, sample.deviation), (340.0, 0.0));
    let expected = 7.0 / (4.7_f64.powi(2) * 1.01 + 1.0 / 12.0).sqrt();
    assert!((FULL_50.standard_errors(sample) - expected).abs() < 1e-12);
}

/// 4.7 * sqrt(1/100 + 1/100) and a rounding of 0.289 are 0.7247.
#[test]
fn a_difference_counts_in_errors_of_both_means_and_of_the_print() {
    let sample = |mean| Sample { mean, deviation: 0.0, runs: 100 };

    assert_eq!(FULL_50.standard_errors(sample(333.0)), 0.0);
    assert!((FULL_50.standard_errors(sample(333.7247)) - 1.0).abs() < 1e-3);
    assert!((FULL_50.standard_errors(sample(332.2753)) + 1.0).abs() < 1e-3);
}

#[test]
fn fewer_runs_of_ours_weigh_less() {
    let errors = |runs| FULL_50.standard_errors(Sample { mean: 335.0, deviation: 4.7, runs });

    assert!(errors(1) < errors(10) && errors(10) < errors(100) && errors(100) < errors(10_000));
    // However many they are, the article's mean is still one of a hundred.
    assert!(errors(10_000) < 2.0 / 0.47);
}

#[test]
fn a_wide_sample_hides_nothing() {
    let errors = |deviation| FULL_50.standard_errors(Sample { mean: 340.0, deviation, runs: 10 });

    assert_eq!(errors(0.0), errors(1000.0));
}

/// Two means of the same normal runs, one of them printed: the differences have mean 0 and variance 1, over true means that
/// lie anywhere between two whole numbers.
#[test]
fn means_of_the_same_runs_differ_by_one_standard_error() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut errors = || {
        let middle = 50.0 + random.f64();
        // Twelve uniform draws are as good as normal here.
        let mut run = || middle + 2.2 * ((0..12).map(|_| random.f64()).sum::<f64>() - 6.0);
        let ours: Vec<f64> = (0..20).map(|_| run()).collect();
        let theirs = (0..100).map(|_| run()).sum::<f64>() / 100.0;
        Figure { printed: theirs.round(), deviation: 2.2 }.standard_errors(Sample::of(&ours))
    };
    let drawn: Vec<f64> = (0..2000).map(|_| errors()).collect();

    let mean = drawn.iter().sum::<f64>() / 2000.0;
    let variance = drawn.iter().map(|errors| errors.powi(2)).sum::<f64>() / 2000.0;
    assert!(drawn.iter().all(|errors| errors.abs() < 4.5), "{drawn:?}");
    // Five standard errors of each.
    assert!(mean.abs() < 0.112 && (variance - 1.0).abs() < 0.158, "{mean}, {variance}");
}
