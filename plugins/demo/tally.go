package demo

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// tally counts how often each fault was played.
type tally struct {
	mu   sync.Mutex // guards what follows
	seen map[string]*meetings
}

// meetings are the requests that met a fault.
type meetings struct {
	n           int64
	first, last time.Time // first: of those without a long pause between them
}

// add counts a request and says how long ago the fault was first met.
func (t *tally) add(name string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = map[string]*meetings{}
	}
	m := t.seen[name]
	if m == nil {
		m = new(meetings)
		t.seen[name] = m
	}
	if now.Sub(m.last) > 10*StormTime {
		m.first = now
	}
	m.n, m.last = m.n+1, now
	return now.Sub(m.first)
}

// counts gives the numbers by the names of faults.
func (t *tally) counts() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]int64, len(t.seen))
	for name, m := range t.seen {
		all[name] = m.n
	}
	return all
}

// ServeHTTP tells how often each fault was met: {"503": 12}.
func (t *tally) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(t.counts()) // nobody is left to tell of an error
}
