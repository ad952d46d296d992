-- Organisations, which teams are in; what their calls cost.
CREATE TABLE organisations (
    id         TEXT    PRIMARY KEY,
    settings   TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

ALTER TABLE ledger ADD COLUMN organisation TEXT NOT NULL DEFAULT '';

DROP TRIGGER ledger_spend;

CREATE TABLE spend_by_organisation (
    day           INTEGER NOT NULL, -- days since 1970, of the call's start
    key           TEXT    NOT NULL,
    team          TEXT    NOT NULL,
    organisation  TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_nano_usd INTEGER NOT NULL,
    PRIMARY KEY (day, key, team, organisation, model)
) STRICT, WITHOUT ROWID;

INSERT INTO spend_by_organisation (day, key, team, organisation, model, calls, input_tokens, output_tokens, cost_nano_usd)
SELECT day, key, team, '', model, calls, input_tokens, output_tokens, cost_nano_usd FROM spend;

DROP TABLE spend;
ALTER TABLE spend_by_organisation RENAME TO spend;

CREATE TRIGGER ledger_spend AFTER INSERT ON ledger BEGIN
    INSERT INTO spend (day, key, team, organisation, model, calls, input_tokens, output_tokens, cost_nano_usd)
    VALUES (NEW.started_at / 86400000000, NEW.key, NEW.team, NEW.organisation, NEW.model, 1, NEW.input_tokens, NEW.output_tokens, NEW.cost_nano_usd)
    ON CONFLICT (day, key, team, organisation, model) DO UPDATE SET
        calls         = calls + 1,
        input_tokens  = input_tokens + excluded.input_tokens,
        output_tokens = output_tokens + excluded.output_tokens,
        cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
END;

-- A name is one key's. Two gateways could give it to two: the older keeps it, the other has its id beside it.
UPDATE keys SET name = name || '/' || id
WHERE revoked_at = 0 AND EXISTS (SELECT 1 FROM keys AS o WHERE o.name = keys.name AND o.revoked_at = 0
    AND (o.created_at < keys.created_at OR o.created_at = keys.created_at AND o.id < keys.id));

CREATE UNIQUE INDEX keys_name ON keys (name) WHERE revoked_at = 0;

-- The secret before the last rotation, and until when it still works.
ALTER TABLE keys ADD COLUMN previous_sha256 BLOB;
ALTER TABLE keys ADD COLUMN previous_until INTEGER NOT NULL DEFAULT 0;

CREATE INDEX keys_previous ON keys (previous_sha256);

-- The providers' credentials that keys and teams bring themselves, encrypted.
CREATE TABLE credentials (
    owner_kind TEXT    NOT NULL, -- key, team
    owner      TEXT    NOT NULL, -- the id of a key that is kept here; else the name
    provider   TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    prefix     TEXT    NOT NULL, -- of the secret
    sealed_by  TEXT    NOT NULL, -- the id of the encryption key
    sealed     BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (owner_kind, owner, provider, name)
) STRICT;

PRAGMA user_version = 2;
