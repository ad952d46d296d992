package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
)

// Finding is something that is wrong with the ledger.
type Finding struct {
	Subject string `json:"subject"` // a row, a journal, a sum
	Problem string `json:"problem"`
}

const (
	maxFindings = 100
	reading     = 10 * time.Minute // the limit of reading a whole ledger: millions of rows
)

// Verify looks whether every call is closed exactly once and the sums agree: in the journals of a folder, in the rows, and in
// the sums of days. It changes nothing, and takes calls in flight of processes that live for what they are; what those have
// ended is given so long to reach the store. After 100 findings it stops.
func Verify(ctx context.Context, dir string, s *store.Store, wait time.Duration) ([]Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, reading)
	defer cancel()
	var v verification
	v.journals(ctx, dir, wait)
	if err := s.Intact(ctx); err != nil {
		v.add("store", err.Error())
		return v.found, nil // what it says of rows would say nothing
	}
	for r, err := range s.Rows(ctx, store.Filter{}) {
		if err != nil {
			return nil, err
		}
		for _, problem := range judge(&r) {
			v.add(fmt.Sprintf("row %s/%d", r.RequestID, r.Attempt), problem)
		}
		if len(v.found) >= maxFindings {
			return v.found, nil
		}
	}
	astray, err := s.Astray(ctx)
	for _, a := range astray {
		v.add(fmt.Sprintf("sum of %s, key %q, team %q, organisation %q, model %q", a.Day.Format(time.DateOnly), a.Key, a.Team, a.Organisation, a.Model),
			fmt.Sprintf("has %+d calls, %+d nano-USD beside the rows", a.Calls, a.CostNanoUSD))
	}
	return v.found, err
}

type verification struct{ found []Finding }

func (v *verification) add(subject, problem string) {
	if len(v.found) < maxFindings {
		v.found = append(v.found, Finding{subject, problem})
	}
}

// journals looks into the journals of a folder.
func (v *verification) journals(ctx context.Context, dir string, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for n := range maxJournals {
		path := journalPath(dir, n)
		cells, live, err := look(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			v.add("journal "+path, err.Error())
		case live:
			if n := awaitEnded(ctx, path, cells); n > 0 {
				v.add("journal "+path, count(n, "call")+" ended and without a row: the store does not take them")
			}
		default:
			rows, open := leftOver(cells, time.Now())
			if len(rows) > 0 {
				v.add("journal "+path, count(len(rows), "call")+" of a process that ended without closing it: run `penstock ledger repair`, or serve")
			}
			if open.Damaged > 0 {
				v.add("journal "+path, count(open.Damaged, "cell")+" damaged: nothing is known of what was called")
			}
		}
	}
}

// Await waits until ctx ends for the calls that processes in a folder have ended to become rows, and tells how many have
// not.
func Await(ctx context.Context, dir string) (left int, err error) {
	for n := range maxJournals {
		path := journalPath(dir, n)
		cells, live, err := look(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return left, fmt.Errorf("ledger: %s: %w", path, err)
		case live:
			left += awaitEnded(ctx, path, cells)
		}
	}
	return left, nil
}

// look reads a journal, and tells whether its process lives.
func look(path string) (cells []cell, live bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if live = errors.Is(err, syscall.EWOULDBLOCK); err != nil && !live {
		return nil, false, err
	}
	info, err := f.Stat()
	if err == nil {
		cells, err = readJournal(f, info.Size())
	}
	return cells, live, err
}

// awaitEnded waits until ctx ends for those calls to become rows that have ended in cells, and counts the others.
func awaitEnded(ctx context.Context, path string, cells []cell) int {
	waiting := endedIn(cells)
	for len(waiting) > 0 {
		select {
		case <-ctx.Done():
			return len(waiting)
		case <-time.After(lookEvery):
		}
		now, live, err := look(path)
		if err != nil || !live {
			return 0 // its process has closed it, or is gone: the next look will say
		}
		still := endedIn(now)
		maps.DeleteFunc(waiting, func(word uint64, _ struct{}) bool { _, is := still[word]; return !is })
	}
	return 0
}

// lookEvery is how often a journal is read while calls are waited for.
const lookEvery = 50 * time.Millisecond

// endedIn gives the words of the calls that have ended and have no row.
func endedIn(cells []cell) map[uint64]struct{} {
	words := map[uint64]struct{}{}
	for i := range cells {
		if word := cells[i].word.Load(); state(word&(1<<stateBits-1)) == ended {
			words[word] = struct{}{}
		}
	}
	return words
}

// judge says what is wrong with a row.
func judge(r *store.Row) (problems []string) {
	f := func(wrong bool, problem string) {
		if wrong {
			problems = append(problems, problem)
		}
	}
	tokens := []int64{r.InputTokens, r.CacheReadTokens, r.CacheWriteTokens, r.OutputTokens, r.ReasoningTokens,
		r.CacheWriteHourTokens, r.AudioInputTokens, r.ImageInputTokens, r.AudioOutputTokens, r.ImageOutputTokens, r.WebSearches}
	f(!slices.Contains(statuses[:], r.Status), fmt.Sprintf("status %q: want settled, estimated or refunded", r.Status))
	f(!slices.Contains(outcomes[:], r.Outcome), fmt.Sprintf("outcome %q: want one of the list", r.Outcome))
	f(slices.Min(tokens) < 0, "tokens below zero")
	f(r.CostNanoUSD < 0 || r.CostNanoUSD > store.MaxCost, "a cost that cannot be")
	f(r.CacheReadTokens+r.CacheWriteTokens+r.AudioInputTokens+r.ImageInputTokens > r.InputTokens, "more parts of the input than input")
	f(r.CacheWriteHourTokens > r.CacheWriteTokens, "more written to a cache for an hour than was written")
	f(r.ReasoningTokens+r.AudioOutputTokens+r.ImageOutputTokens > r.OutputTokens, "more parts of the output than output")
	f(r.EndedAt.Before(r.StartedAt), "an end before its start")
	f(r.Attempt < 0, "an attempt below zero")
	isRefund := r.Status == refunded.String()
	f(isRefund && (r.CostNanoUSD != 0 || slices.Max(tokens) > 0), "refunded, with tokens or a cost")
	f(r.PossibleCost && !isRefund, "a possible cost beside a charge")
	f(r.Status == estimated.String() && !r.Estimated, "charged by estimate, and not marked so")
	f(r.Outcome == Cached.String() && (r.CostNanoUSD != 0 || r.Attempt != 0), "an answer out of the cache, with a cost or an attempt")
	return problems
}
