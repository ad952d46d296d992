-- More parts of the tokens, within those that were there: of cache writes, of input and of output. And what the providers' own
-- tools searched the web.
ALTER TABLE ledger ADD COLUMN cache_write_1h_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN audio_input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN image_input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN audio_output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN image_output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN web_searches INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 3;
