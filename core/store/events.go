package store

import (
	"slices"
	"sync"
)

// Kind is a kind of rows that others cache.
type Kind uint8

// The kinds that changes are told of.
const (
	Keys Kind = iota + 1
	Teams
	DisabledModels
	HealthFlags
	Organisations
	Credentials
	kinds // their end
)

// Event says what was changed. An empty ID stands for any of the kind: changes may have been missed.
type Event struct {
	Kind Kind
	ID   string // of the key (Key.ID), team, model, backend, organisation or credential
}

// feed hands events to those who subscribed.
type feed struct {
	mu    sync.Mutex // guards what follows; held while subscribers are called, so that each sees changes in order
	after []*subscription
}

type subscription struct {
	kind Kind
	call func(Event)
}

// Subscribe has call told of every change of a kind: before the write returns where this process made it, and soon after
// where another gateway on the same PostgreSQL did. It must not wait, nor use the store. The function that is returned ends
// it: when that has returned, call is not running and will not be called again.
func (s *Store) Subscribe(k Kind, call func(Event)) (cancel func()) {
	sub := &subscription{k, call}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.after = append(s.feed.after, sub)
	return func() {
		s.feed.mu.Lock()
		defer s.feed.mu.Unlock()
		s.feed.after = slices.DeleteFunc(s.feed.after, func(o *subscription) bool { return o == sub })
	}
}

func (f *feed) tell(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sub := range f.after {
		if sub.kind == e.Kind {
			sub.call(e)
		}
	}
}

// tellAll has everything that is cached read again.
func (f *feed) tellAll() {
	for k := Keys; k < kinds; k++ {
		f.tell(Event{Kind: k})
	}
}
