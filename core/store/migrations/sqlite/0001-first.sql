-- Times are microseconds since 1970 in UTC, money is nano-USD.

CREATE TABLE ledger (
    seq                INTEGER PRIMARY KEY AUTOINCREMENT,
    request_id         TEXT    NOT NULL,
    attempt            INTEGER NOT NULL,
    generation         INTEGER NOT NULL,
    key                TEXT    NOT NULL,
    team               TEXT    NOT NULL,
    model              TEXT    NOT NULL,
    provider           TEXT    NOT NULL,
    deployment         TEXT    NOT NULL,
    upstream_model     TEXT    NOT NULL,
    credential         TEXT    NOT NULL,
    started_at         INTEGER NOT NULL,
    ended_at           INTEGER NOT NULL,
    status             TEXT    NOT NULL,
    outcome            TEXT    NOT NULL,
    input_tokens       INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    reasoning_tokens   INTEGER NOT NULL,
    cost_nano_usd      INTEGER NOT NULL,
    estimated          INTEGER NOT NULL,
    possible_cost      INTEGER NOT NULL,
    UNIQUE (request_id, attempt)
) STRICT;

CREATE INDEX ledger_started_at ON ledger (started_at);

-- What a day cost, kept by the trigger in the transaction of the rows, so that sums need not read them.
CREATE TABLE spend (
    day           INTEGER NOT NULL, -- days since 1970, of the call's start
    key           TEXT    NOT NULL,
    team          TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_nano_usd INTEGER NOT NULL,
    PRIMARY KEY (day, key, team, model)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ledger_spend AFTER INSERT ON ledger BEGIN
    INSERT INTO spend (day, key, team, model, calls, input_tokens, output_tokens, cost_nano_usd)
    VALUES (NEW.started_at / 86400000000, NEW.key, NEW.team, NEW.model, 1, NEW.input_tokens, NEW.output_tokens, NEW.cost_nano_usd)
    ON CONFLICT (day, key, team, model) DO UPDATE SET
        calls         = calls + 1,
        input_tokens  = input_tokens + excluded.input_tokens,
        output_tokens = output_tokens + excluded.output_tokens,
        cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
END;

CREATE TABLE audit (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    origin  TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    detail  TEXT    NOT NULL
) STRICT;

CREATE TABLE keys (
    id         TEXT    PRIMARY KEY,
    prefix     TEXT    NOT NULL,
    sha256     BLOB    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    team       TEXT    NOT NULL,
    settings   TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER NOT NULL -- 0: in force
) STRICT;

CREATE TABLE teams (
    id         TEXT    PRIMARY KEY,
    settings   TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE disabled_models (
    name   TEXT    PRIMARY KEY,
    actor  TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    reason TEXT    NOT NULL
) STRICT;

CREATE TABLE health_flags (
    backend TEXT    PRIMARY KEY,
    state   TEXT    NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

-- What routers saw, one row for each different picture of the targets.
CREATE TABLE decision_facts (
    hash BLOB    PRIMARY KEY,
    at   INTEGER NOT NULL, -- when it was last used
    data BLOB    NOT NULL
) STRICT;

CREATE TABLE decisions (
    request_id TEXT    NOT NULL,
    router     TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    facts      BLOB    NOT NULL,
    input      BLOB    NOT NULL,
    outcome    BLOB    NOT NULL,
    PRIMARY KEY (request_id, router)
) STRICT;

CREATE INDEX decisions_at ON decisions (at);

PRAGMA user_version = 1;
