// Package admin is the admin API: what an operator's tools and the console ask of a running gateway. It listens on an
// address of its own, with a token, bounded in concurrency, and holds no lock that the data path takes.
//
// It changes nothing by itself: reloads are core/generation's, plugins core/pluginhost's.
package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/keyring"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/core/replay"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

// Generations is what the API shows and changes of generations.
type Generations interface {
	Load(ctx context.Context, source string) (int64, error)
	Records() []generation.Record
	// Borrow gives the generation in force, or nil; every Borrow is followed by a Release.
	Borrow() *generation.Generation
}

// Plugins is what the API shows of plugin processes.
type Plugins interface{ List() []pluginhost.Status }

// Server answers the admin API.
type Server struct {
	Generations Generations
	Plugins     Plugins
	Explainer   route.Explainer
	Ledger      Ledger
	Rows        Rows
	Disabled    *route.Disabled
	Decisions   *replay.Recorder
	Health      *health.Registry
	Addresses   Addresses
	Audit       Audit
	Keyring     *keyring.Keyring
	Token       string   // what a caller must bear; never empty
	Hosts       []string // names by which the listener may be called, beside the loopback's
	Log         *slog.Logger
}

// inFlight bounds the requests that are served at once.
const inFlight = 64

// bodyTime is how long the body of a request may take to come.
const bodyTime = 30 * time.Second

// Handler gives the API as one handler: token, origin and host are checked before any route is looked up.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /admin/v1/reload", s.reload)
	mux.HandleFunc("GET /admin/v1/generations", s.generations)
	mux.HandleFunc("GET /admin/v1/plugins", s.plugins)
	mux.HandleFunc("POST /admin/v1/explain", s.explain)
	mux.HandleFunc("GET /admin/v1/ledger", s.ledger)
	mux.HandleFunc("GET /admin/v1/models", s.models)
	mux.HandleFunc("GET /admin/v1/shadow", s.shadow)
	mux.HandleFunc("GET /admin/v1/health", s.health)
	mux.HandleFunc("POST /admin/v1/health/release", s.release)
	mux.HandleFunc("POST /admin/v1/models/{path...}", s.switchModel)
	s.routeKeys(mux)
	s.routeGroups(mux)
	s.routeCredentials(mux)
	slots := make(chan struct{}, inFlight)
	guarded := http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !s.calledByName(r.Host):
			problem(w, http.StatusMisdirectedRequest, "host "+r.Host+": not a name of this listener")
			return
		case !s.bearsToken(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			problem(w, http.StatusUnauthorized, "the admin token is missing or wrong")
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			mux.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			problem(w, http.StatusServiceUnavailable, "too many admin requests at once")
		}
	}))
	return timed(guarded)
}

// timed bounds how long the body of a request may take, whatever becomes of the request.
func timed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody { // without one the limit would end requests whose answer takes long
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // where none can be set, no network is read
		}
		h.ServeHTTP(w, r)
	})
}

// NewHTTP makes the server that runs the handler, with the limits of a listener that faces operators alone.
func (s *Server) NewHTTP() *http.Server {
	return &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
}

// calledByName refuses requests that a browser was tricked into sending under another name (DNS rebinding).
func (s *Server) calledByName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" {
		return true
	}
	if ip := net.ParseIP(host); ip != nil {
		return true // an address cannot be rebound
	}
	for _, h := range s.Hosts {
		if strings.EqualFold(h, host) {
			return true
		}
	}
	return false
}

func (s *Server) bearsToken(r *http.Request) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	want, have := sha256.Sum256([]byte(s.Token)), sha256.Sum256([]byte(strings.TrimSpace(got)))
	return ok && s.Token != "" && subtle.ConstantTimeCompare(want[:], have[:]) == 1
}

// reload judges the configuration as it stands now: {"generation":N}, or 422 with the list that validate prints.
func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	n, err := s.Generations.Load(r.Context(), "api")
	if err != nil {
		var list config.Diagnostics
		if errors.As(err, &list) {
			send(w, http.StatusUnprocessableEntity, list)
			return
		}
		send(w, http.StatusUnprocessableEntity, []config.Diagnostic{{Message: err.Error()}})
		return
	}
	send(w, http.StatusOK, struct {
		Generation int64 `json:"generation"`
	}{n})
}

func (s *Server) generations(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, s.Generations.Records())
}

func (s *Server) plugins(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, s.Plugins.List())
}

// maxQuestion bounds the body of a request that is to be explained.
const maxQuestion = 32 << 20

// explain tells what routing would do with a request.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) {
	var q route.Question
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxQuestion))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		problem(w, http.StatusBadRequest, "the question: "+err.Error())
		return
	}
	e, err := s.Explainer.Explain(r.Context(), &q)
	var f *sdk.Failure
	switch {
	case err == nil:
		send(w, http.StatusOK, e)
	case errors.As(err, &f) && (f.Kind == sdk.UnknownModel || f.Kind == sdk.BadKey):
		problem(w, http.StatusNotFound, f.Message)
	case errors.As(err, &f):
		problem(w, http.StatusUnprocessableEntity, f.Message)
	default:
		problem(w, http.StatusInternalServerError, err.Error())
	}
}

// send writes a JSON answer.
func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // the client may have left; there is nobody else to tell
}

// problem writes an error answer.
func problem(w http.ResponseWriter, status int, message string) {
	send(w, status, struct {
		Error string `json:"error"`
	}{message})
}
