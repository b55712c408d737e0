//! The verbs of the store, each one step; the rules of `tower_idempotency::store` as far as one key shows them.

use crate::{
    design::Design,
    state::{Answer, Body, Record, Standing, Store, Token},
};

/// What a claim or a look-up meets, in the order in which it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Absent,
    Mismatch,
    Done(Answer),
    InFlight,
    Lapsed,
}

/// Whether the token held the key, and the verb did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Yes,
    No,
}

impl Store {
    /// Grants the key, or says why not.
    pub(crate) fn claim(&mut self, design: Design, body: Body) -> Result<Token, Found> {
        match self.look_up(design, body) {
            Found::Absent | Found::Lapsed => Ok(self.grant(design, body)),
            refused => Err(refused),
        }
    }

    /// What a claim would meet.
    pub(crate) fn look_up(&self, design: Design, body: Body) -> Found {
        let Some(record) = self.record else { return Found::Absent };
        if design.compares_fingerprints() && record.body != body {
            return Found::Mismatch;
        }
        match record.standing {
            Standing::Done(answer) => Found::Done(answer),
            Standing::Live => Found::InFlight,
            Standing::Lapsed => Found::Lapsed,
        }
    }

    fn grant(&mut self, design: Design, body: Body) -> Token {
        self.fence += 1;
        self.turn += 1;
        let token = Token { fence: self.fence, turn: self.turn };
        if design.claims() {
            self.record = Some(Record { token, body, standing: Self::fresh_lease(design) });
        }
        token
    }

    /// Lets the lease run anew.
    pub(crate) fn renew(&mut self, design: Design, token: Token) -> Held {
        let Some(record) = self.unfinished(design, token) else { return Held::No };
        self.record = Some(Record { standing: Self::fresh_lease(design), ..record });
        Held::Yes
    }

    fn fresh_lease(design: Design) -> Standing {
        if design == Design::LeaseOfZero { Standing::Lapsed } else { Standing::Live }
    }

    /// Closes the key in the transaction of the handler's write.
    pub(crate) fn commit(&mut self, design: Design, token: Token, answer: Answer) -> Held {
        match design {
            Design::Naive | Design::KeySplit => Held::Yes,
            // It has finished the record itself, and is not asked whether it had before.
            Design::CommitsFinished => self.complete(design, token, answer),
            _ => self.finish(design, token, answer),
        }
    }

    /// Closes the key; asked again with the same token and answer it says yes again.
    pub(crate) fn complete(&mut self, design: Design, token: Token, answer: Answer) -> Held {
        match (design, self.record) {
            (Design::KeySplit, None) => {
                self.record = Some(Record { token, body: answer.body, standing: Standing::Done(answer) });
                Held::Yes
            }
            (Design::KeySplit, Some(_)) => Held::No,
            (_, Some(Record { token: holder, standing: Standing::Done(stored), .. }))
                if same(design, holder, token) && stored == answer =>
            {
                Held::Yes
            }
            _ => self.finish(design, token, answer),
        }
    }

    /// Gives the key back, unfinished.
    pub(crate) fn release(&mut self, design: Design, token: Token) -> Held {
        let by_key = design == Design::ReleasesByKey && self.record.is_some();
        if !by_key && self.unfinished(design, token).is_none() {
            return Held::No;
        }
        self.delete(design);
        Held::Yes
    }

    /// Frees the unfinished key, whoever holds it.
    pub(crate) fn force_release(&mut self, design: Design) -> Held {
        if self.record.is_none_or(|record| matches!(record.standing, Standing::Done(_))) {
            return Held::No;
        }
        self.delete(design);
        Held::Yes
    }

    /// Deletes the record; the next claim finds none.
    pub(crate) fn delete(&mut self, design: Design) {
        self.record = None;
        if !design.keeps_fences() {
            self.fence = 0;
        }
    }

    fn finish(&mut self, design: Design, token: Token, answer: Answer) -> Held {
        let standing = Standing::Done(answer);
        if design == Design::Unfenced {
            // Nobody asks whose record it is, nor whether there is one.
            self.record = self.record.map(|record| Record { standing, ..record });
            return Held::Yes;
        }
        let Some(record) = self.unfinished(design, token) else { return Held::No };
        self.record = Some(Record { standing, ..record });
        Held::Yes
    }

    /// The record, if it is unfinished and this token's.
    fn unfinished(&self, design: Design, token: Token) -> Option<Record> {
        self.record.filter(|record| !matches!(record.standing, Standing::Done(_)) && same(design, record.token, token))
    }
}

fn same(design: Design, one: Token, other: Token) -> bool {
    one.fence == other.fence && (!design.compares_holders() || one.turn == other.turn)
}
