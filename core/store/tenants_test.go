package store_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // for what stands past the store
	"github.com/penstock-gateway/penstock/core/store"
)

func secretOf(text string) [32]byte { return sha256.Sum256([]byte(text)) }

// testNames holds that of the keys in force no two share a name, whoever makes them.
func testNames(t *testing.T, p place) {
	here, there := p.open(t), p.open(t)
	first := store.Key{ID: "key_names1", SHA256: secretOf("names1"), Name: "unique", CreatedAt: noon}
	second := store.Key{ID: "key_names2", SHA256: secretOf("names2"), Name: "unique", CreatedAt: noon}
	if err := here.PutKey(t.Context(), admin, first); err != nil {
		t.Fatal(err)
	}
	if err := there.PutKey(t.Context(), admin, second); !errors.Is(err, store.ErrTaken) {
		t.Errorf("a second key of the name: got %v, want that it is taken", err)
	}
	if err := here.PutKey(t.Context(), admin, first); err != nil {
		t.Errorf("the same key again: %v", err)
	}
	if err := here.RevokeKey(t.Context(), admin, first.ID, noon); err != nil {
		t.Fatal(err)
	}
	if err := there.PutKey(t.Context(), admin, second); err != nil {
		t.Errorf("the name of a key that was revoked: %v", err)
	}
	if err := here.RevokeKey(t.Context(), admin, second.ID, noon); err != nil {
		t.Error(err)
	}
}

func testOrganisations(t *testing.T, p place) {
	s := p.open(t)
	told := make(chan store.Event, 4)
	defer s.Subscribe(store.Organisations, func(e store.Event) { told <- e })()
	acme := store.Organisation{ID: "acme", Settings: []byte(`{}`), CreatedAt: noon}
	for _, acme.Settings = range [][]byte{[]byte(`{}`), []byte(`{"usd":1}`)} {
		if err := s.PutOrganisation(t.Context(), admin, acme); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Organisations(t.Context())
	if same(t, "organisations", got, []store.Organisation{acme}); err != nil {
		t.Error(err)
	}
	if e := <-told; e != (store.Event{Kind: store.Organisations, ID: "acme"}) {
		t.Errorf("event: %+v", e)
	}
	if err := s.DeleteOrganisation(t.Context(), admin, "acme"); err != nil {
		t.Error(err)
	}
	if err := s.DeleteOrganisation(t.Context(), admin, "acme"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted again: got %v", err)
	}
}

// testCredentials holds that credentials are put, replaced, encrypted anew unless they have changed, and go with their owner.
func testCredentials(t *testing.T, p place) {
	s := p.open(t)
	ofKey := store.Owner{Kind: store.OwnedByKey, ID: "key_owner"}
	key := store.Key{ID: ofKey.ID, SHA256: secretOf("owner"), Name: "owner", CreatedAt: noon}
	if err := s.PutKey(t.Context(), admin, key); err != nil {
		t.Fatal(err)
	}
	one := store.Credential{Owner: ofKey, Provider: "openai", Name: "main", Prefix: "sk-a", SealedBy: "k1", Sealed: []byte{0, 1, 255}, CreatedAt: noon}
	two := store.Credential{Owner: store.Owner{Kind: store.OwnedByTeam, ID: "t-owner"}, Provider: "openai", Name: "main", SealedBy: "k1", Sealed: []byte("x"), CreatedAt: noon}
	older := one
	older.Prefix, older.Sealed = "sk-b", []byte("before")
	for _, c := range []store.Credential{older, one, two} {
		if err := s.PutCredential(t.Context(), admin, c); err != nil {
			t.Fatal(err)
		}
	}
	list := func(want ...store.Credential) {
		t.Helper()
		got, err := s.Credentials(t.Context())
		if same(t, "credentials", got, want); err != nil {
			t.Error(err)
		}
	}
	list(one, two)
	n, err := s.ResealCredentials(t.Context(), admin, []store.Resealed{{Credential: older, By: "k2", Text: []byte("old")}, {Credential: two, By: "k2", Text: []byte("y")}})
	if err != nil || n != 1 {
		t.Errorf("encrypted anew: %d, %v: want the one that has not changed since", n, err)
	}
	two.SealedBy, two.Sealed = "k2", []byte("y")
	list(one, two)
	if err := s.DeleteCredential(t.Context(), admin, two); err != nil {
		t.Error(err)
	}
	if err := s.DeleteCredential(t.Context(), admin, two); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted again: got %v", err)
	}
	list(one)
	if err := s.RevokeKey(t.Context(), admin, key.ID, noon); err != nil {
		t.Fatal(err)
	}
	list()
}

// TestOlderSQLite holds that a store of the first version is brought up to date.
func TestOlderSQLite(t *testing.T) {
	dir := t.TempDir()
	testOlder(t, raw(t, dir), "sqlite", place{dir: dir})
}

// testOlder makes a store as the first version left it, two keys of one name in it, and opens it.
func testOlder(t *testing.T, db *sql.DB, database string, p place) {
	t.Helper()
	first, err := os.ReadFile(filepath.Join("migrations", database, "0001-first.sql"))
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{string(first)}
	if database == "postgres" {
		statements = append(statements, `CREATE TABLE penstock_schema (version BIGINT NOT NULL)`, `INSERT INTO penstock_schema (version) VALUES (1)`)
	}
	statements = append(statements,
		`INSERT INTO ledger (request_id, attempt, generation, key, team, model, provider, deployment, upstream_model, credential, started_at, ended_at,
	status, outcome, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_nano_usd, estimated, possible_cost)
VALUES ('r', 1, 1, 'same', 'team', 'm', 'p', 'm/p', 'm', 'main', 1, 2, 'settled', 'success', 1, 0, 0, 1, 0, 77, FALSE, FALSE)`)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range []string{"key_b", "key_a", "key_c"} {
		sum := secretOf(id)
		if _, err := db.Exec(`INSERT INTO keys (id, prefix, sha256, name, team, settings, created_at, revoked_at) VALUES ($1, '', $2, 'same', '', '{}', $3, $4)`,
			id, sum[:], i, i/2); err != nil {
			t.Fatal(err)
		}
	}
	s := p.open(t)
	keys, err := s.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	same(t, "names", names, map[string]string{"key_b": "same", "key_a": "same/key_a", "key_c": "same"})
	spent, err := s.SpentByTeam(t.Context(), "team", noon.AddDate(-100, 0, 0))
	if same(t, "spent", spent, int64(77)); err != nil {
		t.Error(err)
	}
	if astray, err := s.Astray(t.Context()); len(astray) > 0 || err != nil {
		t.Errorf("astray: %+v, %v", astray, err)
	}
}
