//! The design of the crate, designs that lack one of its guards, and two that lack one which another makes up for.

/// How the server keeps its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Design {
    /// What the crate does.
    Guarded,
    /// Only fences are compared.
    FencesWithoutHolders,
    /// Fences start again at 1 once a record is gone; fences and holders are compared.
    FencesStartAgainWithHolders,
    /// Fences start again at 1 once a record is gone, and only they are compared.
    FencesStartAgain,
    /// Keys are ignored: every request writes.
    Naive,
    /// The key is looked up, the write is committed, and then the key is registered: three steps.
    KeySplit,
    /// Whoever commits or completes does so, without a look at the token.
    Unfenced,
    /// A commit does not demand that the record be unfinished.
    CommitsFinished,
    /// Whoever was passed is answered with what the key holds now, whatever it had asked for.
    PassedAnswerUnjudged,
    /// The answer goes out, and then the key is closed.
    SendsBeforeClosing,
    /// A release deletes the key's record, whoever holds it and even if it is finished.
    ReleasesByKey,
    /// A key is all that a claim looks at.
    IgnoresFingerprints,
    /// A claim lasts until it is finished or given back.
    NeverLapses,
    /// A lease runs out while its holder works.
    NeverRenews,
    /// A lease has run out when it is granted.
    LeaseOfZero,
}

impl Design {
    /// Whether a claim leaves a record before the work is done.
    pub(crate) fn claims(self) -> bool {
        !matches!(self, Self::Naive | Self::KeySplit)
    }

    /// Whether a commit writes and closes the key in one transaction.
    pub(crate) fn commits_atomically(self) -> bool {
        self != Self::KeySplit
    }

    /// Whether the store says no to a commit. Where it does not, a handler that commits again would hide the rest.
    pub(crate) fn judges_commits(self) -> bool {
        !matches!(self, Self::Naive | Self::KeySplit | Self::Unfenced)
    }

    pub(crate) fn compares_holders(self) -> bool {
        !matches!(self, Self::FencesStartAgain | Self::FencesWithoutHolders)
    }

    /// Whether a fence outlives the record that it was granted with.
    pub(crate) fn keeps_fences(self) -> bool {
        !matches!(self, Self::FencesStartAgain | Self::FencesStartAgainWithHolders)
    }

    pub(crate) fn compares_fingerprints(self) -> bool {
        !matches!(self, Self::IgnoresFingerprints | Self::Naive)
    }

    /// Whether a lease outlasts the work of a holder that is awake.
    pub(crate) fn renews(self) -> bool {
        !matches!(self, Self::NeverRenews | Self::LeaseOfZero)
    }
}
