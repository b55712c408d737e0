//! What was acknowledged, against what is there.

use std::collections::BTreeMap;

/// Titles, and the numbers under each.
pub(crate) type Reports = BTreeMap<String, Vec<i64>>;

/// What the clients were told: the number of each report.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    acknowledged: BTreeMap<String, i64>,
    broken: Vec<String>,
}

impl Ledger {
    /// A report was acknowledged under this number; perhaps not for the first time.
    pub(crate) fn acknowledged(&mut self, title: &str, id: i64) {
        match self.acknowledged.insert(title.to_owned(), id) {
            Some(before) if before != id => self.broken.push(format!("{title}: acknowledged as {before} and as {id}")),
            Some(_) | None => {}
        }
    }

    /// How many reports were acknowledged.
    pub(crate) fn len(&self) -> usize {
        self.acknowledged.len()
    }

    /// What is not as it was told: reports that are missing, there twice, under another number, or known to nobody.
    pub(crate) fn broken(&self, reports: &Reports) -> Vec<String> {
        let mut broken = self.broken.clone();
        for (title, id) in &self.acknowledged {
            match reports.get(title).map(Vec::as_slice) {
                Some([found]) if found == id => {}
                found => broken.push(format!("{title}: acknowledged as {id}, found {:?}", found.unwrap_or_default())),
            }
        }
        let unknown = reports.keys().filter(|title| !self.acknowledged.contains_key(*title));
        broken.extend(unknown.map(|title| format!("{title}: nobody was told of it")));
        broken
    }
}

#[test]
fn the_ledger_sees_each_way_to_break_a_promise() {
    let found = |reports: &[(&str, &[i64])]| {
        let mut ledger = Ledger::default();
        ledger.acknowledged("a", 1);
        ledger.acknowledged("b", 2);
        let reports = reports.iter().map(|(title, ids)| ((*title).to_owned(), ids.to_vec())).collect();
        ledger.broken(&reports).len()
    };

    assert_eq!(found(&[("a", &[1]), ("b", &[2])]), 0);
    assert_eq!(found(&[("a", &[1])]), 1, "lost");
    assert_eq!(found(&[("a", &[1, 3]), ("b", &[2])]), 1, "twice");
    assert_eq!(found(&[("a", &[3]), ("b", &[2])]), 1, "another number");
    assert_eq!(found(&[("a", &[1]), ("b", &[2]), ("c", &[3])]), 1, "known to nobody");
    let mut ledger = Ledger::default();
    ledger.acknowledged("a", 1);
    ledger.acknowledged("a", 2);
    assert_eq!(ledger.broken(&[("a".to_owned(), vec![2])].into()).len(), 1, "two answers");
}
