package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/store"
)

// Key is a key in the list of keys.
type Key struct {
	Source string `json:"source"` // configuration, store
	admit.KeyInfo
}

// NewKey is the answer to the making or the rotation of a key: the only time that its secret is shown.
type NewKey struct {
	Secret string `json:"secret"`
	admit.KeyInfo
}

// maxSettings bounds the body of a request that makes a key or a team.
const maxSettings = 256 << 10

// routeKeys adds the routes of keys and teams. Names hold slashes, so they stand last.
func (s *Server) routeKeys(mux *http.ServeMux) {
	mux.HandleFunc("GET /admin/v1/keys", s.listKeys)
	mux.HandleFunc("POST /admin/v1/keys", s.createKey)
	mux.HandleFunc("POST /admin/v1/keys/rotate", s.rotateKey)
	mux.HandleFunc("DELETE /admin/v1/keys/{name...}", s.revokeKey)
	mux.HandleFunc("GET /admin/v1/teams", s.listTeams)
	mux.HandleFunc("POST /admin/v1/teams", s.putTeam)
	mux.HandleFunc("DELETE /admin/v1/teams/{name...}", s.deleteTeam)
}

// listKeys lists the keys of the configuration, then those of the store; ?revoked=1 adds revoked ones.
func (s *Server) listKeys(w http.ResponseWriter, r *http.Request) {
	g := s.holding(w)
	if g == nil {
		return
	}
	defer g.Release()
	list := []Key{}
	for i := range g.Config.Keys {
		k := &g.Config.Keys[i]
		list = append(list, Key{Source: "configuration", KeyInfo: admit.ConfiguredInfo(k)})
	}
	stored, err := s.Keyring.List(r.Context(), r.URL.Query().Get("revoked") == "1")
	if err != nil {
		s.refuse(w, "keys", err)
		return
	}
	for _, k := range stored {
		list = append(list, Key{Source: "store", KeyInfo: k})
	}
	send(w, http.StatusOK, list)
}

// createKey makes a key.
func (s *Server) createKey(w http.ResponseWriter, r *http.Request) {
	var k admit.NewKey
	if !read(w, r, &k) {
		return
	}
	g := s.holding(w)
	if g == nil {
		return
	}
	defer g.Release()
	secret, info, err := s.Keyring.Create(r.Context(), actor(r), g, k, time.Now())
	if err != nil {
		s.refuse(w, "key", err)
		return
	}
	send(w, http.StatusCreated, NewKey{Secret: secret, KeyInfo: info})
}

// revokeKey ends a key of the store.
func (s *Server) revokeKey(w http.ResponseWriter, r *http.Request) {
	if err := s.Keyring.Revoke(r.Context(), actor(r), r.PathValue("name"), time.Now()); err != nil {
		s.refuse(w, "key "+r.PathValue("name"), err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// rotateKey gives a key of the store another secret.
func (s *Server) rotateKey(w http.ResponseWriter, r *http.Request) {
	var k struct {
		Name string `json:"name"`
	}
	if !read(w, r, &k) {
		return
	}
	secret, err := s.Keyring.Rotate(r.Context(), actor(r), k.Name)
	if err != nil {
		s.refuse(w, "key "+k.Name, err)
		return
	}
	send(w, http.StatusOK, struct {
		Secret string `json:"secret"`
		Prefix string `json:"prefix"`
	}{secret, admit.Shown(secret)})
}

// listTeams lists the teams of the store.
func (s *Server) listTeams(w http.ResponseWriter, r *http.Request) {
	list, err := s.Keyring.Teams(r.Context())
	if err != nil {
		s.refuse(w, "teams", err)
		return
	}
	send(w, http.StatusOK, list)
}

// putTeam makes a team or changes one.
func (s *Server) putTeam(w http.ResponseWriter, r *http.Request) {
	var t admit.TeamInfo
	if !read(w, r, &t) {
		return
	}
	g := s.holding(w)
	if g == nil {
		return
	}
	defer g.Release()
	if err := s.Keyring.PutTeam(r.Context(), actor(r), g, t, time.Now()); err != nil {
		s.refuse(w, "team "+t.Name, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// deleteTeam removes a team of the store.
func (s *Server) deleteTeam(w http.ResponseWriter, r *http.Request) {
	if err := s.Keyring.DeleteTeam(r.Context(), actor(r), r.PathValue("name")); err != nil {
		s.refuse(w, "team "+r.PathValue("name"), err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// holding gives the generation in force; nil where there is none, which the caller has been told.
func (s *Server) holding(w http.ResponseWriter) *generation.Generation {
	g := s.Generations.Hold()
	if g == nil {
		problem(w, http.StatusServiceUnavailable, "no generation is in force")
	}
	return g
}

// actor is who makes a change: whoever bears the admin token, and from where.
func actor(r *http.Request) store.Actor { return store.Actor{Name: "admin", Origin: r.RemoteAddr} }

// read reads a JSON body; false where it cannot be read, which the caller has been told.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSettings))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		problem(w, http.StatusBadRequest, "body: "+err.Error())
		return false
	}
	return true
}

// refuse says why a change of keys or teams was not made.
func (s *Server) refuse(w http.ResponseWriter, what string, err error) {
	switch {
	case errors.Is(err, store.ErrNotFound):
		problem(w, http.StatusNotFound, what+": there is none in force in the store")
	case errors.Is(err, admit.ErrTaken):
		problem(w, http.StatusConflict, err.Error())
	case errors.Is(err, admit.ErrInvalid):
		problem(w, http.StatusUnprocessableEntity, err.Error())
	default:
		s.Log.Error("admin: keys", "of", what, "error", err)
		problem(w, http.StatusServiceUnavailable, "the store does not answer")
	}
}
