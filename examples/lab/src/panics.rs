//! Tells the panics of handlers from all others.

use std::{cell::Cell, panic, sync::Once};

/// What a handler that panics says.
pub const OF_THE_HANDLER: &str = "the handler panics, as the script says";

thread_local! {
    static OTHERS: Cell<usize> = const { Cell::new(0) };
}

/// How many panics this thread has seen that no handler's script asked for, those of tasks and of what is dropped too;
/// they are counted from the first call on. Those of handlers are silent.
pub fn others() -> usize {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if panic.payload().downcast_ref::<&str>() != Some(&OF_THE_HANDLER) {
                OTHERS.set(OTHERS.get() + 1);
                report(panic);
            }
        }));
    });
    OTHERS.get()
}
