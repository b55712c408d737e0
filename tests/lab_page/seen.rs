//! What a page does besides what it is asked: errors on the console, requests to others.

use std::sync::{Arc, Mutex, PoisonError};

use chromiumoxide::{
    Page,
    cdp::{
        IntoEventKind,
        browser_protocol::{
            log::{EventEntryAdded, LogEntryLevel, LogEntrySource},
            network,
        },
        js_protocol::runtime::{ConsoleApiCalledType, EventConsoleApiCalled, EventExceptionThrown},
    },
};
use futures_util::StreamExt;

use crate::page::Failures;

#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Lists>>);

#[derive(Default)]
struct Lists {
    requests: usize,
    elsewhere: Vec<String>,
    errors: Vec<String>,
    failed_requests: Vec<String>,
}

impl Seen {
    /// Listens before anything is loaded.
    pub(crate) async fn of(tab: &Page, url: &str) -> Self {
        let seen = Self::default();
        let home = url.to_owned();
        seen.listen(tab, move |lists, sent: &network::EventRequestWillBeSent| {
            lists.requests += 1;
            if !sent.request.url.starts_with(&home) {
                lists.elsewhere.push(sent.request.url.clone());
            }
        })
        .await;
        seen.listen(tab, |lists, thrown: &EventExceptionThrown| {
            let details = &thrown.exception_details;
            let cause = details.exception.as_ref().and_then(|exception| exception.description.clone());
            lists.errors.push(format!("{} {}", details.text, cause.unwrap_or_default()));
        })
        .await;
        seen.listen(tab, |lists, called: &EventConsoleApiCalled| {
            if matches!(called.r#type, ConsoleApiCalledType::Error | ConsoleApiCalledType::Warning) {
                lists.errors.push(format!("{:?}", called.args));
            }
        })
        .await;
        seen.listen(tab, |lists, added: &EventEntryAdded| {
            let entry = &added.entry;
            match (&entry.level, &entry.source) {
                (LogEntryLevel::Error, LogEntrySource::Network) => lists.failed_requests.push(entry.text.clone()),
                (LogEntryLevel::Error | LogEntryLevel::Warning, _) => lists.errors.push(entry.text.clone()),
                _ => {}
            }
        })
        .await;
        tab.execute(network::EnableParams::default()).await.unwrap();
        tab.enable_log().await.unwrap();
        tab.enable_runtime().await.unwrap();
        seen
    }

    async fn listen<E: IntoEventKind + Unpin + Send + Sync + 'static>(
        &self,
        tab: &Page,
        take: impl Fn(&mut Lists, &E) + Send + 'static,
    ) {
        let mut events = tab.event_listener::<E>().await.unwrap();
        let lists = self.0.clone();
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                take(&mut lists.lock().unwrap_or_else(PoisonError::into_inner), &event);
            }
        });
    }

    pub(crate) fn assert_nothing_else(&self, failures: Failures) {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(lists.requests > 0, "nobody listened");
        assert_eq!(lists.elsewhere, [""; 0], "asked of another host");
        assert_eq!(lists.errors, [""; 0], "errors on the console");
        assert!(failures == Failures::Provoked || lists.failed_requests.is_empty(), "{:?}", lists.failed_requests);
    }
}
