-- Times are microseconds since 1970 in UTC, money is nano-USD.

CREATE TABLE ledger (
    seq                BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id         TEXT    NOT NULL,
    attempt            BIGINT  NOT NULL,
    generation         BIGINT  NOT NULL,
    key                TEXT    NOT NULL,
    team               TEXT    NOT NULL,
    model              TEXT    NOT NULL,
    provider           TEXT    NOT NULL,
    deployment         TEXT    NOT NULL,
    upstream_model     TEXT    NOT NULL,
    credential         TEXT    NOT NULL,
    started_at         BIGINT  NOT NULL,
    ended_at           BIGINT  NOT NULL,
    status             TEXT    NOT NULL,
    outcome            TEXT    NOT NULL,
    input_tokens       BIGINT  NOT NULL,
    cache_read_tokens  BIGINT  NOT NULL,
    cache_write_tokens BIGINT  NOT NULL,
    output_tokens      BIGINT  NOT NULL,
    reasoning_tokens   BIGINT  NOT NULL,
    cost_nano_usd      BIGINT  NOT NULL,
    estimated          BOOLEAN NOT NULL,
    possible_cost      BOOLEAN NOT NULL,
    UNIQUE (request_id, attempt)
);

CREATE INDEX ledger_started_at ON ledger (started_at);

-- What a day cost, kept by the trigger in the transaction of the rows, so that sums need not read them.
CREATE TABLE spend (
    day           BIGINT  NOT NULL, -- days since 1970, of the call's start
    key           TEXT    NOT NULL,
    team          TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    calls         BIGINT  NOT NULL,
    input_tokens  BIGINT  NOT NULL,
    output_tokens BIGINT  NOT NULL,
    cost_nano_usd BIGINT  NOT NULL,
    PRIMARY KEY (day, key, team, model)
);

CREATE FUNCTION ledger_spend() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Always in one order, so that two gateways that write at once do not wait for each other in a circle.
    INSERT INTO spend AS s (day, key, team, model, calls, input_tokens, output_tokens, cost_nano_usd)
    SELECT started_at / 86400000000, key, team, model, count(*), sum(input_tokens), sum(output_tokens), sum(cost_nano_usd)
    FROM fresh GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (day, key, team, model) DO UPDATE SET
        calls         = s.calls + excluded.calls,
        input_tokens  = s.input_tokens + excluded.input_tokens,
        output_tokens = s.output_tokens + excluded.output_tokens,
        cost_nano_usd = s.cost_nano_usd + excluded.cost_nano_usd;
    RETURN NULL;
END $$;

CREATE TRIGGER ledger_spend AFTER INSERT ON ledger
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION ledger_spend();

CREATE TABLE audit (
    seq     BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      BIGINT  NOT NULL,
    actor   TEXT    NOT NULL,
    origin  TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    detail  TEXT    NOT NULL
);

CREATE TABLE keys (
    id         TEXT    PRIMARY KEY,
    prefix     TEXT    NOT NULL,
    sha256     BYTEA   NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    team       TEXT    NOT NULL,
    settings   TEXT    NOT NULL,
    created_at BIGINT  NOT NULL,
    revoked_at BIGINT  NOT NULL -- 0: in force
);

CREATE TABLE teams (
    id         TEXT    PRIMARY KEY,
    settings   TEXT    NOT NULL,
    created_at BIGINT  NOT NULL
);

CREATE TABLE disabled_models (
    name   TEXT    PRIMARY KEY,
    actor  TEXT    NOT NULL,
    at     BIGINT  NOT NULL,
    reason TEXT    NOT NULL
);

CREATE TABLE health_flags (
    backend TEXT    PRIMARY KEY,
    state   TEXT    NOT NULL,
    at      BIGINT  NOT NULL
);

-- What routers saw, one row for each different picture of the targets.
CREATE TABLE decision_facts (
    hash BYTEA   PRIMARY KEY,
    at   BIGINT  NOT NULL, -- when it was last used
    data BYTEA   NOT NULL
);

CREATE TABLE decisions (
    request_id TEXT    NOT NULL,
    router     TEXT    NOT NULL,
    at         BIGINT  NOT NULL,
    facts      BYTEA   NOT NULL,
    input      BYTEA   NOT NULL,
    outcome    BYTEA   NOT NULL,
    PRIMARY KEY (request_id, router)
);

CREATE INDEX decisions_at ON decisions (at);
