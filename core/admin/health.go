package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/reach"
	"github.com/penstock-gateway/penstock/core/store"
)

// Audit notes who did what.
type Audit interface {
	Audit(ctx context.Context, c store.Change) error
}

// Backend is a backend in the list of health. What was not measured yet is 0.
type Backend struct {
	Name            string         `json:"backend"`
	Credential      bool           `json:"credential,omitempty"` // it is one, and no deployment
	Address         *Address       `json:"address,omitempty"`    // it is one of a provider's several, and no deployment
	OK              bool           `json:"ok"`                   // a request would be admitted now
	Phase           health.Phase   `json:"phase"`
	Reason          string         `json:"reason,omitempty"`
	Until           time.Time      `json:"until,omitzero"` // when it may be asked again, where it is not ok
	InFlight        int64          `json:"in_flight"`
	ErrorRate       float64        `json:"error_rate"`
	P50             float64        `json:"p50_ms"`
	P99             float64        `json:"p99_ms"`
	FirstContent    float64        `json:"first_content_ms"`
	TokensPerSecond float64        `json:"tokens_per_second"`
	History         []health.Event `json:"history,omitempty"` // oldest first
}

// Address is what was measured of one of a provider's addresses.
type Address struct {
	Chosen  bool    `json:"chosen"` // requests go there
	Connect float64 `json:"connect_ms"`
	TLS     float64 `json:"tls_ms"` // the handshake, counted apart
}

// Addresses lists how the addresses are of providers that have several; *generation.Builder does.
type Addresses interface{ Addresses() []reach.State }

// health lists how backends are.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	list := []Backend{}
	for _, b := range s.Health.Backends() {
		state, stats, rec := b.Look(now), b.Stats(now), b.Record()
		list = append(list, Backend{Name: b.ID, Credential: rec.Credential, OK: state.OK, Phase: state.Phase, Reason: state.Reason, Until: state.Until,
			InFlight: stats.InFlight, ErrorRate: stats.ErrorRate, P50: millis(stats.P50), P99: millis(stats.P99), FirstContent: millis(stats.FirstContent),
			TokensPerSecond: stats.TokensPerSecond, History: rec.History})
	}
	for _, a := range s.Addresses.Addresses() {
		b := Backend{Name: a.Provider + " address " + a.Base, OK: a.Why == "", Phase: health.Closed, Reason: a.Why,
			Address: &Address{Chosen: a.Chosen, Connect: millis(a.Distance.Connect), TLS: millis(a.Distance.TLS)}}
		if !b.OK {
			b.Phase, b.Until = health.Open, a.Next
		}
		list = append(list, b)
	}
	send(w, http.StatusOK, list)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// maxRelease bounds the body of a request to release.
const maxRelease = 8 << 10

// release brings backends back that were set aside: {"backend": NAME}, answered by {"released": […]}.
func (s *Server) release(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Backend string `json:"backend"`
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRelease))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil || q.Backend == "" {
		problem(w, http.StatusBadRequest, `want {"backend": NAME}`)
		return
	}
	now := time.Now()
	released, found := s.Health.Release(now, q.Backend, "admin")
	if !found {
		problem(w, http.StatusNotFound, "no backend is called "+q.Backend)
		return
	}
	for _, name := range released {
		if err := s.Audit.Audit(r.Context(), store.Change{At: now, Actor: "admin", Origin: r.RemoteAddr, Action: "health.release", Subject: name}); err != nil {
			s.Log.Error("admin: not in the audit log", "action", "health.release", "backend", name, "error", err)
		}
	}
	send(w, http.StatusOK, struct {
		Released []string `json:"released"`
	}{append([]string{}, released...)})
}
