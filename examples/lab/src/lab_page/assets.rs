//! The files of the page, which are part of the program.

use axum::{Router, routing::get};
use http::{HeaderName, header};

/// No script, style, picture or connection from anywhere else, and nothing inline.
pub const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Where it is served.
    pub path: &'static str,
    /// What it holds.
    pub text: &'static str,
}

macro_rules! assets {
    ($($path:literal = $file:literal,)*) => {
        &[$(Asset { path: $path, text: include_str!(concat!("../../../bug_tracker/lab/", $file)) }),*]
    };
}

/// All of them.
pub const ASSETS: &[Asset] = assets! {
    "/" = "index.html",
    "/lab/icon.svg" = "icon.svg",
    "/lab/style.css" = "style.css",
    "/lab/reports.css" = "reports.css",
    "/lab/herd.css" = "herd.css",
    "/lab/steps.css" = "steps.css",
    "/lab/exercises.css" = "exercises.css",
    "/lab/main.js" = "main.js",
    "/lab/dom.js" = "dom.js",
    "/lab/language.js" = "language.js",
    "/lab/texts.js" = "texts.js",
    "/lab/reports.js" = "reports.js",
    "/lab/reports_form.js" = "reports_form.js",
    "/lab/reports_list.js" = "reports_list.js",
    "/lab/reports_log.js" = "reports_log.js",
    "/lab/reports_send.js" = "reports_send.js",
    "/lab/reports_faults.js" = "reports_faults.js",
    "/lab/reports_texts.js" = "reports_texts.js",
    "/lab/herd.js" = "herd.js",
    "/lab/herd_form.js" = "herd_form.js",
    "/lab/herd_picture.js" = "herd_picture.js",
    "/lab/herd_results.js" = "herd_results.js",
    "/lab/herd_server.js" = "herd_server.js",
    "/lab/herd_texts.js" = "herd_texts.js",
    "/lab/steps.js" = "steps.js",
    "/lab/steps_choose.js" = "steps_choose.js",
    "/lab/steps_matrix.js" = "steps_matrix.js",
    "/lab/steps_player.js" = "steps_player.js",
    "/lab/steps_server.js" = "steps_server.js",
    "/lab/steps_stage.js" = "steps_stage.js",
    "/lab/steps_tables.js" = "steps_tables.js",
    "/lab/steps_texts.js" = "steps_texts.js",
    "/lab/steps_texts_en.js" = "steps_texts_en.js",
    "/lab/steps_texts_zh.js" = "steps_texts_zh.js",
    "/lab/steps_timeline.js" = "steps_timeline.js",
    "/lab/steps_told.js" = "steps_told.js",
    "/lab/exercises.js" = "exercises.js",
    "/lab/exercises_questions.js" = "exercises_questions.js",
    "/lab/exercises_texts.js" = "exercises_texts.js",
};

impl Asset {
    fn content_type(&self) -> &'static str {
        match self.path.rsplit_once('.') {
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        }
    }

    fn answer(self) -> ([(HeaderName, &'static str); 4], &'static str) {
        let headers = [
            (header::CONTENT_TYPE, self.content_type()),
            (header::CACHE_CONTROL, "no-cache"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        (headers, self.text)
    }
}

/// Each file at its path.
pub(super) fn routes() -> Router {
    let route = |router: Router, asset: &'static Asset| router.route(asset.path, get(async || asset.answer()));
    ASSETS.iter().fold(Router::new(), route)
}
