//! What holds of every base, cap and seed.

use super::*;

fn any_duration() -> impl Strategy<Value = Duration> {
    let any = (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos));
    prop_oneof![any, (0..10_000_000_000_u64).prop_map(Duration::from_nanos)]
}

proptest! {
    /// K1.
    #[test]
    fn no_delay_is_above_the_cap(
        strategy in 0..STRATEGIES.len(),
        base in any_duration(),
        cap in any_duration(),
        seed in any::<u64>(),
        n in prop_oneof![0..200_u32, any::<u32>()],
        u in 0.0..1.0_f64,
    ) {
        let backoff = STRATEGIES[strategy](base, cap);
        prop_assert!(formula_of(&backoff).delay(n, base.min(cap), u) <= cap);
        prop_assert!(backoff.delays(seed).take(40).all(|delay| delay <= cap));
    }
}
