//! Part The herd.

use lab::herd::{Clients, Grid, Pace, Runs, Strategy, simulate};
use serde::Deserialize;

use crate::page::{
    Failures::{None, Provoked},
    Lab, on_a_page,
};

#[derive(Debug, Deserialize, PartialEq)]
struct Row {
    strategy: String,
    writes: usize,
    elapsed: f64,
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_seed_gives_the_same_picture_with_the_figures_of_the_simulator() {
    on_a_page("herd", None, async |lab| {
        lab.go("#herd?clients=30&base_ms=5&cap_ms=2000&seed=18446744073709551615&strategies=none,proportional,full")
            .await;
        done(lab).await;
        let (first, picture) = (rows(lab).await, picture(lab).await);
        lab.click("#herd-run").await;
        done(lab).await;

        assert_eq!(first, expected(30, u64::MAX, &[Strategy::None, Strategy::Proportional, Strategy::Full]));
        assert_eq!((rows(lab).await, self::picture(lab).await), (first, picture.clone()));

        lab.click("#herd-new-seed").await;
        done(lab).await;

        assert_ne!(self::picture(lab).await, picture);
    })
    .await;
}

/// The article: 1,847 writes in 63 s, and 796 in 5 s.
#[tokio::test(flavor = "multi_thread")]
async fn without_jitter_a_herd_writes_twice_as_much_for_ten_times_as_long() {
    on_a_page("herd of 100", None, async |lab| {
        lab.go("#herd?strategies=exponential,full&clients=100").await;
        done(lab).await;
        let rows = rows(lab).await;

        assert_eq!(rows, expected(100, 1, &[Strategy::Exponential, Strategy::Full]));
        let [exponential, full] = &rows[..] else { panic!("{rows:?}") };
        assert!(exponential.writes > 2 * full.writes && exponential.elapsed > 8.0 * full.elapsed, "{rows:?}");
        for row in &rows {
            assert_eq!(drawn(lab, &row.strategy).await, [100.0, row.writes as f64 - 100.0], "{row:?}");
        }

        let bars = async |strategy| {
            lab.eval::<usize>(&format!("document.querySelectorAll('[data-panel={strategy}] .won').length")).await
        };
        lab.act(
            "const zoom = document.querySelector('#herd-zoom'); zoom.value = '5'; zoom.dispatchEvent(new Event('change'))",
        )
        .await;
        let fragment: String = lab.eval("location.hash").await;

        assert!(fragment.contains("zoom=5") && fragment.contains("clients=100"), "{fragment}");
        assert!(bars("exponential").await < bars("full").await / 2, "one train a round");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_ends_in_the_middle_is_told_and_one_may_run_again() {
    on_a_page("herd cut off", Provoked, async |lab| {
        lab.go("#herd?clients=200").await;
        lab.until_shown("#herd-table tr[data-strategy]").await;
        lab.server.take().unwrap().kill();
        lab.until_shown("#part-herd[data-state=failed] #herd-again").await;

        assert!(lab.text("#herd-message").await.contains("run it again"));
        assert!(!rows(lab).await.is_empty());

        lab.click("#herd-again").await;
        lab.until("no server", "document.querySelector('#herd-message').innerText.includes('does not answer')").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_can_be_stopped() {
    on_a_page("herd stopped", None, async |lab| {
        lab.go("#herd?clients=200").await;
        lab.click("#herd-stop").await;
        lab.until_shown("#part-herd[data-state=failed] #herd-again").await;

        assert_eq!(lab.text("#herd-message").await, "Stopped.");
    })
    .await;
}

async fn done(lab: &Lab) {
    lab.until_shown("#part-herd[data-state=done] #herd-picture svg").await;
}

async fn rows(lab: &Lab) -> Vec<Row> {
    let read = "[...document.querySelectorAll('#herd-table tr[data-strategy]')].map(({ dataset }) => \
                ({ strategy: dataset.strategy, writes: Number(dataset.writes), elapsed: Number(dataset.elapsed) }))";
    lab.eval(read).await
}

async fn picture(lab: &Lab) -> String {
    lab.eval("document.querySelector('#herd-picture').outerHTML").await
}

/// How many writes the bars of a strategy stand for: those that won, and the others.
async fn drawn(lab: &Lab, strategy: &str) -> [f64; 2] {
    let read = format!(
        "(() => {{ const panel = document.querySelector('[data-panel={strategy}]');
           const most = Number(panel.querySelector('.tick').textContent.replace(',', ''));
           const sum = (name) => [...panel.querySelectorAll(name)].reduce((sum, bar) => sum + Number(bar.getAttribute('height')), 0);
           return ['.won', '.conflicted'].map((name) => Math.round(sum(name) / 80 * most)); }})()"
    );
    lab.eval(&read).await
}

/// On a thread of its own: the simulator has a runtime of its own.
fn expected(clients: u32, seed: u64, strategies: &[Strategy]) -> Vec<Row> {
    let cells = Grid::cells(strategies, &[Clients::new(clients).unwrap()]);
    let grid = Grid { cells, runs: Runs::new(1).unwrap(), pace: Pace::PUBLISHED, seed, planted: Option::None };
    let row = |cell| {
        let outcome = simulate(&grid.herd(cell, 0));
        Row { strategy: cell.strategy.to_string(), writes: outcome.calls(), elapsed: outcome.elapsed }
    };
    std::thread::scope(|scope| scope.spawn(|| grid.cells.iter().copied().map(row).collect()).join().unwrap())
}
