-- Times are milliseconds since the Unix epoch, durations milliseconds.
CREATE TABLE tower_idempotency_records (
    key         BLOB    NOT NULL UNIQUE,    -- scope and key, joined length-prefixed
    fingerprint BLOB    NOT NULL,
    fence       INTEGER NOT NULL,
    holder      BLOB    NOT NULL,
    attempt     INTEGER NOT NULL,
    claimed_at  INTEGER NOT NULL,
    lease       INTEGER NOT NULL,           -- shows a clock that was set back
    lease_until INTEGER NOT NULL,
    retention   INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,           -- retention after the end; while unfinished, after lease_until
    ended_at    INTEGER,                    -- NULL: unfinished
    status      INTEGER,
    response    BLOB                        -- NULL with a status: not replayable
) STRICT;

CREATE INDEX tower_idempotency_records_expiry ON tower_idempotency_records (expires_at);

-- One row that is never deleted: the last fence ever granted.
CREATE TABLE tower_idempotency_fence (
    only   INTEGER PRIMARY KEY CHECK (only = 1),
    layout INTEGER NOT NULL,
    last   INTEGER NOT NULL
) STRICT;

INSERT INTO tower_idempotency_fence (only, layout, last) VALUES (1, 1, 0);
