//! `RateLimit`: quotas that are used up.

use super::*;

/// C27.
#[test]
fn a_quota_that_is_used_up_asks_for_its_reset() {
    assert_eq!(wait(&[("ratelimit", r#""default";r=0;t=30"#)]), at_least(30));
    assert_eq!(wait(&[("ratelimit", "\t\"default\"; r=0; t=30;pk=:cHA=:;new ")]), at_least(30));
}

/// C27.
#[test]
fn a_quota_with_something_left_asks_for_nothing() {
    for value in [r#""a";r=1;t=30"#, r#""a";r=50;t=30"#, r#""a";r=0"#, r#""a";r=0;t=0"#] {
        assert_eq!(wait(&[("ratelimit", value)]), Wait::Unspecified, "{value}");
    }
}

/// C27.
#[test]
fn of_several_quotas_the_longest_wait_of_those_used_up_counts() {
    let (hour, minute, day) = (r#""hour";r=0;t=1800"#, r#""minute";r=0;t=30"#, r#""day";r=9;t=86400"#);
    assert_eq!(wait(&[("ratelimit", &format!("{minute}, {hour}, {day}"))]), at_least(1800));
    assert_eq!(wait(&[("ratelimit", minute), ("ratelimit", hour), ("ratelimit", day)]), at_least(1800));
}

/// C27: the second item of each would be a hint by itself.
#[test]
fn a_malformed_rate_limit_is_ignored_as_a_whole() {
    let malformed = [
        "limit=100, remaining=0, reset=30",
        "a;r=0;t=30",
        "1;r=0;t=30",
        r#"("a");r=0;t=30"#,
        r#""a""#,
        r#""a";t=30"#,
        r#""a";r=-1;t=30"#,
        r#""a";r=0.0;t=30"#,
        r#""a";r="0";t=30"#,
        r#""a";r;t=30"#,
        r#""a";r=0;t=-30"#,
        r#""a";r=0;t=1.5"#,
        r#""a";r=0;t=@30"#,
        r#""a";r=9;t"#,
        r#""a";r=0;t=9999999999999999"#,
        r#""a";R=0;t=30"#,
        r#""a" ;r=0;t=30"#,
        r#""é";r=0;t=30"#,
        "\"a",
        "",
    ];
    for first in malformed {
        for lines in [vec![format!("{first}, \"b\";r=0;t=7")], vec![first.to_owned(), r#""b";r=0;t=7"#.to_owned()]] {
            let lines: Vec<_> = lines.iter().map(|line| ("ratelimit", line.as_str())).collect();
            assert_eq!(wait(&lines), Wait::Unspecified, "{first:?}");
        }
    }
}

/// C27.
#[test]
fn a_rate_limit_from_a_cache_is_ignored() {
    let quota = ("ratelimit", r#""a";r=0;t=30"#);
    for age in ["1", " 600 ", "99999999999999999999"] {
        assert_eq!(wait(&[("age", age), quota]), Wait::Unspecified, "{age}");
    }
    for age in ["0", "-1", "", "old"] {
        assert_eq!(wait(&[("age", age), quota]), at_least(30), "{age:?}");
    }
    assert_eq!(wait(&[("age", "1"), quota, ("retry-after", "3")]), at_least(3));
}
