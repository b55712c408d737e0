//! A browser on the page of a bug tracker.

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use chromiumoxide::{
    Browser, BrowserConfig, Page,
    cdp::{
        browser_protocol::{
            emulation::{MediaFeature, SetDeviceMetricsOverrideParams},
            page::Viewport,
        },
        js_protocol::runtime::EvaluateParams,
    },
    detection::{DetectionOptions, default_executable},
    element::Element,
    page::ScreenshotParams,
};
use futures_util::StreamExt;
use lab::{lab_page::assets::ASSETS, process::BugTracker};
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::seen::Seen;

/// The longest wait for anything.
const DEADLINE: Duration = Duration::from_secs(30);

/// A tab that shows the page, and the tracker behind it.
pub(crate) struct Lab {
    pub(crate) server: Option<BugTracker>,
    pub(crate) folder: TempDir,
    url: String,
    tab: Page,
    seen: Seen,
}

/// What a test provokes: a browser writes a line of its own about each failed request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failures {
    None,
    Provoked,
}

/// Runs the test on a new page, and then looks at what the page did besides.
pub(crate) async fn on_a_page(test: &str, failures: Failures, act: impl AsyncFnOnce(&mut Lab)) {
    let Some(chromium) = chromium(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("bugs.db");
    let server =
        BugTracker::start(["--faults", "--delay", "100ms", "--client-timeout", "1s", "--db", db.to_str().unwrap()]);
    let (mut browser, driving) = launch(chromium, &folder).await;
    let tab = browser.new_page("about:blank").await.unwrap();
    let url = server.url("");
    let seen = Seen::of(&tab, &url).await;
    let mut lab = Lab { server: Some(server), folder, url, tab, seen };
    lab.width(1280).await;
    lab.load().await;
    lab.is_the_page_of_this_build().await;

    act(&mut lab).await;

    lab.seen.assert_nothing_else(failures);
    browser.close().await.unwrap();
    browser.wait().await.unwrap();
    driving.abort();
}

fn chromium(test: &str) -> Option<PathBuf> {
    let found = default_executable(DetectionOptions { msedge: false, unstable: false });
    match found {
        Ok(path) => Some(path),
        Err(_) if std::env::var_os("CI").is_some() => panic!("no Chromium: install it, or name it in CHROME"),
        Err(_) => {
            // Not by `eprintln!`, which the harness keeps to itself.
            let _ = writeln!(std::io::stderr(), "left out, for want of a Chromium: {test}");
            None
        }
    }
}

async fn launch(chromium: PathBuf, folder: &TempDir) -> (Browser, JoinHandle<()>) {
    let config = BrowserConfig::builder()
        .chrome_executable(chromium)
        .user_data_dir(folder.path().join("profile"))
        .no_sandbox()
        .viewport(None)
        .args(["disable-gpu", "disable-quic", "disable-component-update", "disable-domain-reliability"])
        .launch_timeout(DEADLINE)
        .request_timeout(DEADLINE)
        .build()
        .unwrap();
    let (browser, mut handler) = Browser::launch(config).await.expect("it starts");
    let driving = tokio::spawn(async move { while handler.next().await.is_some() {} });
    (browser, driving)
}

impl Lab {
    async fn load(&self) {
        self.tab.goto(format!("{}/", self.url)).await.unwrap();
        self.until_shown("main > section:not([hidden])").await;
    }

    /// Moves to this fragment, as a link does, and returns when the page has seen it.
    pub(crate) async fn go(&self, fragment: &str) {
        let moved = "new Promise((seen) => { addEventListener('hashchange', seen, { once: true });";
        let go =
            format!("location.hash !== {fragment:?} && {moved} location.hash = {fragment:?}; }}).then(() => true)");
        self.eval::<bool>(&go).await;
    }

    /// A tracker of an earlier build would serve an earlier page.
    async fn is_the_page_of_this_build(&self) {
        let paths = ASSETS.iter().map(|asset| asset.path).collect::<Vec<_>>();
        let fetch = format!("Promise.all({paths:?}.map((path) => fetch(path).then((answer) => answer.text())))");
        let served: Vec<String> = self.eval(&fetch).await;
        for (asset, served) in ASSETS.iter().zip(served) {
            assert!(served == asset.text, "{} is of another build: cargo build --examples", asset.path);
        }
    }

    /// What an expression comes to; a promise is awaited.
    pub(crate) async fn eval<T: DeserializeOwned>(&self, expression: &str) -> T {
        let evaluate = EvaluateParams::builder().expression(expression).await_promise(true).return_by_value(true);
        let result = self.tab.evaluate_expression(evaluate.build().unwrap()).await;
        let result = result.unwrap_or_else(|error| panic!("{expression}: {error}"));
        result.into_value().unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Runs a statement.
    pub(crate) async fn act(&self, statement: &str) {
        self.eval::<bool>(&format!("(() => {{ {statement}; return true; }})()")).await;
    }

    /// Waits until an expression is true.
    pub(crate) async fn until(&self, what: &str, expression: &str) {
        let begun = Instant::now();
        while !self.eval::<bool>(&format!("Boolean({expression})")).await {
            if begun.elapsed() > DEADLINE {
                let text: String = self.eval("document.body.innerText").await;
                panic!("not in time: {what}\n{text}");
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until there is such an element, and it is shown.
    pub(crate) async fn until_shown(&self, selector: &str) {
        self.until(selector, &format!("document.querySelector({selector:?})?.checkVisibility()")).await;
    }

    async fn element(&self, selector: &str) -> Element {
        self.until_shown(selector).await;
        self.tab.find_element(selector).await.unwrap()
    }

    /// With a mouse, in the middle of the window: at its edge a bar may stand before it.
    pub(crate) async fn click(&self, selector: &str) {
        let element = self.element(selector).await;
        self.act(&format!("document.querySelector({selector:?}).scrollIntoView({{ block: 'center' }})")).await;
        element.click().await.unwrap();
    }

    /// Two clicks at one place, as fast as they come.
    pub(crate) async fn double_click(&self, selector: &str) {
        let element = self.element(selector).await;
        element.scroll_into_view().await.unwrap();
        let place = element.clickable_point().await.unwrap();
        for count in [1, 2] {
            let click = chromiumoxide::types::ClickOptions::builder().click_count(count).build();
            self.tab.click_with(place, click).await.unwrap();
        }
    }

    /// Types over what stands in a field.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        let field = self.element(selector).await;
        field.focus().await.unwrap();
        self.act("document.activeElement.select()").await;
        if text.is_empty() {
            field.press_key("Backspace").await.unwrap();
        }
        field.type_str(text).await.unwrap();
    }

    /// A key, where the focus is.
    pub(crate) async fn press(&self, key: &str) {
        self.tab.find_element("body").await.unwrap().press_key(key).await.unwrap();
    }

    pub(crate) async fn text(&self, selector: &str) -> String {
        self.until_shown(selector).await;
        self.eval(&format!("document.querySelector({selector:?}).innerText")).await
    }

    /// A `data-…` of each such element.
    pub(crate) async fn data(&self, selector: &str, name: &str) -> Vec<String> {
        let read = format!("[...document.querySelectorAll({selector:?})].map((each) => each.dataset.{name} ?? '')");
        self.eval(&read).await
    }

    /// As on a desk, however narrow: a phone zooms out until all of a wide page is seen.
    pub(crate) async fn width(&self, width: i64) {
        let metrics = SetDeviceMetricsOverrideParams::new(width, 800, 1.0, false);
        self.tab.execute(metrics).await.unwrap();
        self.until("the width", &format!("innerWidth === {width}")).await;
    }

    pub(crate) async fn scheme(&self, scheme: &str) {
        // At once: a colour that fades in is seen half-way.
        let features = [("prefers-color-scheme", scheme), ("prefers-reduced-motion", "reduce")];
        let features = features.map(|(name, value)| MediaFeature::new(name, value)).to_vec();
        self.tab.emulate_media_features(features).await.unwrap();
    }

    pub(crate) async fn language(&self, wanted: &str) {
        if self.eval::<String>("document.documentElement.lang").await != wanted {
            self.click("#language").await;
        }
        self.until("the language", &format!("document.documentElement.lang === {wanted:?}")).await;
    }

    /// All of the page at the width that it has, which `full_page` would change.
    pub(crate) async fn screenshot(&self, file: &Path) {
        let (width, height): (f64, f64) = self.eval("[innerWidth, document.documentElement.scrollHeight]").await;
        let whole = Viewport { x: 0.0, y: 0.0, width, height, scale: 1.0 };
        let all = ScreenshotParams::builder().clip(whole).capture_beyond_viewport(true).build();
        self.tab.save_screenshot(all, file).await.unwrap();
    }

    pub(crate) fn tab(&self) -> &Page {
        &self.tab
    }
}
