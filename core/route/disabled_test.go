package route

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/store"
)

// openStore opens a store of the test's own.
func openStore(t testing.TB) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return st
}

// TestDisabled holds that the next request sees what was disabled, that it outlives the process, and that both models and
// single deployments may be.
func TestDisabled(t *testing.T) {
	st := openStore(t)
	off, err := OpenDisabled(t.Context(), st, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	models := []*catalog.Model{model("a/x", catalog.Ordered, deployment("a/x/1", 1), deployment("a/x/2", 1)), model("b", catalog.Ordered, deployment("b/1", 1))}
	on := NewTable(Options{Catalog: catalog.New(models), Routers: []*Router{router(t, "r", branches("a/x", "b", "a/x:floor"))}, Off: off})
	f := func(name, want string) {
		t.Helper()
		q, _ := ask(on, name)
		expect(t, on, q, want)
	}
	by := store.Actor{Name: "admin", Origin: "test"}
	disable := func(name, reason string) {
		t.Helper()
		if err := off.Disable(t.Context(), by, name, reason); err != nil {
			t.Fatal(err)
		}
	}
	const again = " | 2 a/x/1 repeat: a candidate of an earlier branch | 2 a/x/2 repeat: a candidate of an earlier branch"
	f("r", "a/x/1 a/x/2 b/1"+again)
	disable("a/x", "too dear")
	f("r", "b/1 | 0 a/x disabled: disabled: too dear | 2 a/x disabled: disabled: too dear")
	f("a/x", " | 0 a/x disabled: disabled: too dear")
	disable("a/x/2", "")
	disable("b/1", "broken")
	if err := off.Enable(t.Context(), by, "a/x"); err != nil {
		t.Fatal(err)
	}
	f("r", "a/x/1 | 0 a/x/2 disabled: the model is disabled | 1 b/1 disabled: disabled: broken | 2 a/x/2 disabled: the model is disabled | 2 a/x/1 repeat: a candidate of an earlier branch")
	f("b/1", " | 0 b/1 disabled: disabled: broken")
	if err := off.Enable(t.Context(), by, "a/x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("enabled twice: got %v, want store.ErrNotFound", err)
	}
	later, err := OpenDisabled(t.Context(), st, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if list := later.List(); len(list) != 2 || list[0].Name != "a/x/2" || list[1].Name != "b/1" || list[1].Reason != "broken" || list[1].By != "admin" {
		t.Errorf("after a restart: %+v", list)
	}
}

// TestDisabledElsewhere holds that what another writer changes in the store is followed.
func TestDisabledElsewhere(t *testing.T) {
	st := openStore(t)
	off, err := OpenDisabled(t.Context(), st, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var follow sync.WaitGroup
	follow.Go(func() { off.Follow(ctx) })
	defer follow.Wait()
	defer cancel()
	if err := st.DisableModel(t.Context(), store.Actor{Name: "other"}, store.DisabledModel{Name: "m", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for len(off.now()) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the change was not seen")
		}
		runtime.Gosched()
	}
}
