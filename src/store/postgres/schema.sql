CREATE TABLE {records} (
    id          bytea       PRIMARY KEY,    -- SHA-256 of key: an index has no room for long scopes
    key         bytea       NOT NULL,       -- scope and key, joined length-prefixed
    fingerprint bytea       NOT NULL,
    fence       bigint      NOT NULL,
    holder      bytea       NOT NULL,
    attempt     bigint      NOT NULL,
    claimed_at  timestamptz NOT NULL,
    lease_until timestamptz NOT NULL,
    retention   interval    NOT NULL,
    expires_at  timestamptz NOT NULL,       -- retention after the end; while unfinished, after lease_until
    ended_at    timestamptz,                -- NULL: unfinished
    status      integer,
    response    bytea                       -- NULL with a status: not replayable
);

CREATE INDEX {expiry} ON {records} (expires_at);

-- CACHE 1: with a larger one sessions hand out fences in another order than they grant.
CREATE SEQUENCE {fences} CACHE 1;

COMMENT ON TABLE {records} IS 'tower-idempotency: layout 1';
