package store_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/core/store/storetest"
)

// testOutage holds what becomes of writes, and of who listens, while the server is paused or dead, and afterwards.
func testOutage(t *testing.T, server *storetest.Server) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s, err := store.Open(t.Context(), store.Options{URL: server.Empty(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := make(chan store.Event, 100)
	defer s.Subscribe(store.Keys, func(e store.Event) { all <- e })()

	insert := func(id string, wait time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		_, err := s.InsertRows(ctx, []store.Row{row(id, 1)})
		return err
	}
	if err := insert("before", time.Minute); err != nil {
		t.Fatal(err)
	}
	resume := server.Pause()
	began := time.Now()
	if err := insert("paused", 100*time.Millisecond); err == nil {
		t.Error("a server that is paused: want an error")
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a server that is paused: the write came back after %v, its limit was 100 ms", took)
	}
	resume()
	if err := insert("paused", time.Minute); err != nil {
		t.Errorf("after the pause: %v", err)
	}
	server.Kill()
	if err := insert("dead", time.Minute); err == nil {
		t.Error("a server that is dead: want an error")
	}
	server.Start()
	for err := insert("dead", time.Minute); err != nil; err = insert("dead", time.Minute) { // connections from before are found broken one by one
		if t.Context().Err() != nil || time.Since(began) > time.Minute {
			t.Fatalf("after the restart: %v", err)
		}
	}
	select {
	case e := <-all:
		same(t, "after the restart, what may have been missed", e, store.Event{Kind: store.Keys})
	case <-time.After(30 * time.Second):
		t.Error("the listener has not come back")
	}
	for _, id := range []string{"before", "paused", "dead"} {
		if n := len(rowsOf(t, s, store.Filter{RequestID: id})); n != 1 {
			t.Errorf("rows of %q: got %d, want 1", id, n)
		}
	}
}

// testMigratesOnce holds that gateways which start at once on an empty database do not trip over each other.
func testMigratesOnce(t *testing.T, server *storetest.Server) {
	url := server.Empty()
	opened := make(chan error)
	for range 4 {
		go func() {
			s, err := store.Open(t.Context(), store.Options{URL: url})
			if err == nil {
				s.Close()
			}
			opened <- err
		}()
	}
	for range 4 {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
}
