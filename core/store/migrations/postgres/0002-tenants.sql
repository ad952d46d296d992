-- Organisations, which teams are in; what their calls cost.
CREATE TABLE organisations (
    id         TEXT    PRIMARY KEY,
    settings   TEXT    NOT NULL,
    created_at BIGINT  NOT NULL
);

ALTER TABLE ledger ADD COLUMN organisation TEXT NOT NULL DEFAULT '';

ALTER TABLE spend ADD COLUMN organisation TEXT NOT NULL DEFAULT '';
ALTER TABLE spend DROP CONSTRAINT spend_pkey, ADD PRIMARY KEY (day, key, team, organisation, model);

CREATE OR REPLACE FUNCTION ledger_spend() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Always in one order, so that two gateways that write at once do not wait for each other in a circle.
    INSERT INTO spend AS s (day, key, team, organisation, model, calls, input_tokens, output_tokens, cost_nano_usd)
    SELECT started_at / 86400000000, key, team, organisation, model, count(*), sum(input_tokens), sum(output_tokens), sum(cost_nano_usd)
    FROM fresh GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (day, key, team, organisation, model) DO UPDATE SET
        calls         = s.calls + excluded.calls,
        input_tokens  = s.input_tokens + excluded.input_tokens,
        output_tokens = s.output_tokens + excluded.output_tokens,
        cost_nano_usd = s.cost_nano_usd + excluded.cost_nano_usd;
    RETURN NULL;
END $$;

-- A name is one key's. Two gateways could give it to two: the older keeps it, the other has its id beside it.
UPDATE keys SET name = name || '/' || id
WHERE revoked_at = 0 AND EXISTS (SELECT 1 FROM keys AS o WHERE o.name = keys.name AND o.revoked_at = 0
    AND (o.created_at < keys.created_at OR o.created_at = keys.created_at AND o.id < keys.id));

CREATE UNIQUE INDEX keys_name ON keys (name) WHERE revoked_at = 0;

-- The secret before the last rotation, and until when it still works.
ALTER TABLE keys ADD COLUMN previous_sha256 BYTEA;
ALTER TABLE keys ADD COLUMN previous_until BIGINT NOT NULL DEFAULT 0;

CREATE INDEX keys_previous ON keys (previous_sha256);

-- The providers' credentials that keys and teams bring themselves, encrypted.
CREATE TABLE credentials (
    owner_kind TEXT    NOT NULL, -- key, team
    owner      TEXT    NOT NULL, -- the id of a key that is kept here; else the name
    provider   TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    prefix     TEXT    NOT NULL, -- of the secret
    sealed_by  TEXT    NOT NULL, -- the id of the encryption key
    sealed     BYTEA   NOT NULL,
    created_at BIGINT  NOT NULL,
    PRIMARY KEY (owner_kind, owner, provider, name)
);
