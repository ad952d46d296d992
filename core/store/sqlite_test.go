package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // for what stands past the store

	"github.com/penstock-gateway/penstock/core/store"
)

// raw opens the file of a store beside it.
func raw(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "penstock.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestReadOnly holds that a store which is opened for reading reads beside a writer, and writes nothing.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	read := func() (*store.Store, error) {
		return store.Open(t.Context(), store.Options{Dir: dir, ReadOnly: true})
	}
	if _, err := read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no store: got %v", err)
	}
	s := place{dir: dir}.open(t)
	ro, err := read()
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	if _, err := s.InsertRows(t.Context(), []store.Row{row("r", 1)}); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", rowsOf(t, ro, store.Filter{}), []store.Row{row("r", 1)})
	for _, ending := range []string{"", "-wal"} {
		info, err := os.Stat(filepath.Join(dir, "penstock.db"+ending))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("penstock.db%s: got %v, want a file for its owner alone", ending, info.Mode())
		}
	}
	if _, err := ro.InsertRows(t.Context(), []store.Row{row("r", 2)}); err == nil {
		t.Error("a write: want an error")
	}
	if err := ro.Intact(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestVersions holds what is said of a store that another penstock wrote.
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	s := place{dir: dir}.open(t)
	s.Close()
	f := func(version int, readOnly bool, want string) {
		t.Helper()
		pragma := fmt.Sprintf("PRAGMA user_version = %d", version) // it takes no parameters
		if _, err := raw(t, dir).Exec(pragma); err != nil {
			t.Fatal(err)
		}
		_, err := store.Open(t.Context(), store.Options{Dir: dir, ReadOnly: readOnly})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("schema %d: got %v, want %q", version, err, want)
		}
	}
	f(99, false, "schema 99: want at most 3: a newer penstock wrote it")
	f(99, true, "schema 99: want at most 3")
	f(0, true, "schema 0: want 3: the store is older than this penstock")
	for _, url := range []string{"mysql://x", "penstock.db", "postgres://%zz"} {
		if _, err := store.Open(t.Context(), store.Options{URL: url, Dir: dir}); err == nil {
			t.Errorf("%s: want an error", url)
		}
	}
}

// TestWritersTogether holds that a write which fails takes none of those with it that are committed in its company, and that
// Close carries out what waits.
func TestWritersTogether(t *testing.T) {
	dir := t.TempDir()
	s := place{dir: dir}.open(t)
	if err := s.PutKey(t.Context(), admin, store.Key{ID: "first", CreatedAt: noon}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			if n%2 == 0 {
				if _, err := s.InsertRows(t.Context(), []store.Row{row("r", n)}); err != nil {
					t.Error(err)
				}
			} else if err := s.PutKey(t.Context(), admin, store.Key{ID: fmt.Sprint(n), CreatedAt: noon}); !errors.Is(err, store.ErrTaken) {
				t.Errorf("a second key with the same secret: got %v", err)
			}
		})
	}
	wg.Wait()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.InsertRows(gone, []store.Row{row("r", 1001)}); !errors.Is(err, context.Canceled) {
		t.Errorf("a writer that has left: got %v", err)
	}
	if n := len(rowsOf(t, s, store.Filter{})); n != 100 {
		t.Errorf("rows: got %d, want 100", n)
	}
	changes, err := s.Changes(t.Context(), 1000)
	if err != nil || len(changes) != 1 {
		t.Errorf("audit: got %d changes, %v: want that of the first key", len(changes), err)
	}
	s.Close()
	if _, err := s.InsertRows(t.Context(), []store.Row{row("r", 1002)}); err == nil {
		t.Error("a write after Close: want an error")
	}
}

// TestAstray holds that a row which somebody changed is found by its sum.
func TestAstray(t *testing.T) {
	dir := t.TempDir()
	s := place{dir: dir}.open(t)
	if _, err := s.InsertRows(t.Context(), []store.Row{row("r", 1), row("r", 2)}); err != nil {
		t.Fatal(err)
	}
	db := raw(t, dir)
	if _, err := db.Exec(`UPDATE ledger SET cost_nano_usd = cost_nano_usd + 7 WHERE attempt = 1`); err != nil {
		t.Fatal(err)
	}
	astray, err := s.Astray(t.Context())
	if err != nil || len(astray) != 1 || astray[0].CostNanoUSD != -7 || astray[0].Calls != 0 {
		t.Errorf("astray: got %+v, %v", astray, err)
	}
}
