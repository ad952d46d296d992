package generation

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Record is what is kept of a generation, or of a change that was refused, for lists.
type Record struct {
	Generation int64     `json:"generation"` // 0 for a refused change
	Status     string    `json:"status"`     // active, superseded, failed
	Source     string    `json:"source"`
	Created    time.Time `json:"created_at"`
	Hash       string    `json:"hash"`
	Requests   int64     `json:"requests"`
	Error      string    `json:"error,omitempty"`
}

// maxRecords bounds the history that is kept in memory.
const maxRecords = 256

// Manager keeps the generation in force.
type Manager struct {
	loader  Loader
	builder *Builder
	log     *slog.Logger

	current atomic.Pointer[Generation]
	closing sync.WaitGroup // generations that are letting their parts go

	mu      sync.Mutex // one change at a time; guards what follows
	next    int64
	judged  string // hash of the configuration that was judged last
	verdict error  // and what was found
	records []entry
}

// entry is a record; of a generation the number of requests is read when it is asked for.
type entry struct {
	Record
	gen *Generation
}

// NewManager makes a manager; nothing is in force before the first Load.
func NewManager(l Loader, b *Builder, log *slog.Logger) *Manager {
	return &Manager{loader: l, builder: b, log: log}
}

// Hold gives the generation in force, held for a request; nil where none is. The caller calls Release when it is done.
func (m *Manager) Hold() *Generation {
	g := m.Borrow()
	if g != nil {
		g.requests.Add(1)
	}
	return g
}

// Borrow is Hold for who serves no request.
func (m *Manager) Borrow() *Generation {
	for {
		g := m.current.Load()
		if g == nil || g.hold() {
			return g
		}
	}
}

// Current is the number of the generation in force; 0 where none is.
func (m *Manager) Current() int64 {
	if g := m.current.Load(); g != nil {
		return g.Number
	}
	return 0
}

// Load judges the configuration as it stands now and swaps it in where it is good and differs from what was judged last.
// It gives the number of the generation in force after that. The error is what is wrong with the configuration, also
// when it was found by an earlier call.
func (m *Manager) Load(ctx context.Context, source string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cfg, err := m.loader.Read()
	if err != nil {
		m.refuse(source, "", err)
		return m.Current(), err
	}
	hash := m.builder.fingerprint(cfg)
	if hash == m.judged {
		return m.Current(), m.verdict
	}
	g, err := m.builder.build(ctx, cfg, m.current.Load())
	if err != nil {
		if errors.As(err, new(passing)) {
			hash = "" // it is judged again
		}
		m.refuse(source, hash, err)
		return m.Current(), err
	}
	m.judged, m.verdict = hash, nil
	m.swap(g, source)
	return g.Number, nil
}

// refuse records a change that was not taken. What was said last is not said again: the watch looks at the file whenever
// something in its folder is written, which may be the log that this goes to.
func (m *Manager) refuse(source, hash string, err error) {
	again := m.judged == hash && m.verdict != nil && m.verdict.Error() == err.Error()
	m.judged, m.verdict = hash, err
	if again {
		return
	}
	m.record(entry{Record: Record{Status: "failed", Source: source, Created: time.Now(), Hash: hash, Error: err.Error()}})
	message := "configuration: refused"
	if m.Current() > 0 {
		message += ", the running generation serves on"
	}
	m.log.Error(message, "generation", m.Current(), "source", source, "error", err)
}

// swap puts a generation into force.
func (m *Manager) swap(g *Generation, source string) {
	m.next++
	g.Number, g.Source, g.Created = m.next, source, time.Now()
	g.holds.Store(1)
	m.closing.Add(1)
	g.ended = func() {
		go func() {
			defer m.closing.Done()
			g.letGo()
		}()
	}
	m.record(entry{Record: Record{Generation: g.Number, Source: source, Created: g.Created, Hash: g.Config.Hash()}, gen: g})
	old := m.current.Swap(g)
	m.builder.network().Attend(g.upkeep)
	if old != nil {
		old.Release()
	}
	m.log.Info("generation: in force", "generation", g.Number, "source", source, "models", len(g.Catalog.Models))
}

func (m *Manager) record(e entry) {
	if len(m.records) == maxRecords {
		m.records = append(m.records[:0], m.records[1:]...)
	}
	m.records = append(m.records, e)
}

// Records lists the history, newest first.
func (m *Manager) Records() []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Record, 0, len(m.records))
	for i := len(m.records) - 1; i >= 0; i-- {
		r := m.records[i].Record
		if g := m.records[i].gen; g != nil {
			r.Requests, r.Status = g.Requests(), "superseded"
			if m.current.Load() == g {
				r.Status = "active"
			}
		}
		list = append(list, r)
	}
	return list
}

// Close takes the generation in force out of it and waits until all have let their parts go.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.builder.network().Attend(nil)
	if g := m.current.Swap(nil); g != nil {
		g.Release()
	}
	m.mu.Unlock()
	done := make(chan struct{})
	go func() {
		m.closing.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New("generations: requests still hold them at the limit of the drain")
	}
}
