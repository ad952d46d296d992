package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
)

// Ledger writes upstream calls down.
type Ledger interface {
	// Flush waits until what has ended before it stands in the store.
	Flush(ctx context.Context) error
}

// Rows is where the ledger's rows are.
type Rows interface {
	Rows(ctx context.Context, f store.Filter) iter.Seq2[store.Row, error]
}

const (
	usualRows   = 1000            // of an answer that is not limited
	flushing    = 2 * time.Second // how long an answer waits for rows that are on their way
	readingRows = 30 * time.Second
)

// ledger answers with rows of the ledger as JSON lines, in the order in which they were written: those of a request, or the
// newest of what the question chooses.
func (s *Server) ledger(w http.ResponseWriter, r *http.Request) {
	f, err := rowFilter(r)
	if err != nil {
		problem(w, http.StatusBadRequest, err.Error())
		return
	}
	flush, cancel := context.WithTimeout(r.Context(), flushing)
	defer cancel()
	if err := s.Ledger.Flush(flush); err != nil {
		s.Log.Warn("admin: rows of the ledger are not in the store yet", "error", err)
	}
	ctx, end := context.WithTimeout(r.Context(), readingRows)
	defer end()
	e := json.NewEncoder(w)
	begun := false
	for row, err := range s.Rows.Rows(ctx, f) {
		switch {
		case err != nil && !begun:
			problem(w, http.StatusServiceUnavailable, err.Error())
			return
		case err != nil:
			panic(http.ErrAbortHandler) // the head is out: what came so far must not pass for all
		case !begun:
			begun = true
			jsonLines(w)
		}
		if e.Encode(&row) != nil {
			return // the client has left
		}
	}
	if !begun {
		jsonLines(w)
	}
}

func jsonLines(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

// rowFilter reads what rows a question asks for.
func rowFilter(r *http.Request) (store.Filter, error) {
	q := r.URL.Query()
	f := store.Filter{RequestID: q.Get("request_id"), Key: q.Get("key"), Model: q.Get("model"), Limit: usualRows}
	for name, into := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if text := q.Get(name); text != "" {
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return f, fmt.Errorf("%s %q: want a time such as 2026-11-29T12:00:00Z", name, text)
			}
			*into = t
		}
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return f, fmt.Errorf("limit %q: want a number above 0", text)
		}
		f.Limit = n
	}
	return f, nil
}
