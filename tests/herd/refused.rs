//! What makes no sense is refused before anything is played.

use std::process::Command;

use lab::process::example;

#[test]
fn nonsense_is_refused_with_what_is_wrong() {
    let refused = [
        (["--clients", "0"], "0 is not from 1 to 1000"),
        (["--clients", "1001"], "1001 is not from 1 to 1000"),
        (["--clients", "10,50,10"], "10 stands there twice"),
        (["--clients", "10,,50"], "\"\" is not a number to use here"),
        (["--clients", "-3"], "unexpected argument '-3'"),
        (["--clients", "ten"], "\"ten\" is not a number to use here"),
        (["--clients", "99999999999"], "\"99999999999\" is not a number to use here"),
        (["--runs", "0"], "0 is not from 1 to 10000"),
        (["--runs", "10001"], "10001 is not from 1 to 10000"),
        (["--strategy", "fulll"], "no strategy \"fulll\"; there are none, exponential, proportional"),
        (["--strategy", "full,none,full"], "full stands there twice"),
        (["--base", "3s"], "the cap (2s) is below the base (3s)"),
        (["--cap", "4ms"], "the cap (4ms) is below the base (5ms)"),
        (["--base", "0ms"], "the base is zero"),
        (["--cap", "61m"], "the cap is above 1h"),
        (["--base", "5"], "time unit needed"),
        (["--seed", "x"], "invalid digit"),
        (["--plant", "nothing"], "n-from-zero, cap-after-jitter, whole-milliseconds, shared-stream"),
    ];
    for (args, why) in refused {
        let output = Command::new(example("herd_simulator")).args(args).output().expect("it starts");
        let said = String::from_utf8(output.stderr).unwrap();

        assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{args:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains(why), "{args:?}: {said}");
    }
}
