package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/keyring"
	"github.com/penstock-gateway/penstock/core/store"
)

// Key is a key in the list of keys.
type Key struct {
	Source string `json:"source"` // configuration, store
	keyring.Key
}

// NewKey is the answer to the making or the rotation of a key: the only time that its secret is shown.
type NewKey struct {
	Secret string `json:"secret"`
	keyring.Key
}

// Rotation asks for another secret of a key.
type Rotation struct {
	Name  string `json:"name"`
	Grace string `json:"grace,omitempty"` // a duration for which the old secret works on; "": it ends at once
}

// maxSettings bounds the body of a request that makes a key, a team, an organisation or a credential.
const maxSettings = 256 << 10

// routeKeys adds the routes of keys. Names hold slashes, so they stand last.
func (s *Server) routeKeys(mux *http.ServeMux) {
	mux.HandleFunc("GET /admin/v1/keys", s.listKeys)
	mux.HandleFunc("POST /admin/v1/keys", s.createKey)
	mux.HandleFunc("POST /admin/v1/keys/rotate", s.rotateKey)
	mux.HandleFunc("DELETE /admin/v1/keys/{name...}", s.revokeKey)
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
		list = append(list, Key{Source: "configuration", Key: keyring.Configured(&g.Config.Keys[i])})
	}
	stored, err := s.Keyring.List(r.Context(), r.URL.Query().Get("revoked") == "1", time.Now())
	if err != nil {
		s.refuse(w, "keys", err)
		return
	}
	for _, k := range stored {
		list = append(list, Key{Source: "store", Key: k})
	}
	send(w, http.StatusOK, list)
}

// createKey makes a key.
func (s *Server) createKey(w http.ResponseWriter, r *http.Request) {
	var k keyring.NewKey
	s.change(w, r, "key", &k, func(g *generation.Generation) (any, error) {
		secret, made, err := s.Keyring.Create(r.Context(), actor(r), g, k, time.Now())
		return NewKey{Secret: secret, Key: made}, err
	})
}

// revokeKey ends a key of the store.
func (s *Server) revokeKey(w http.ResponseWriter, r *http.Request) {
	s.done(w, "key "+r.PathValue("name"), s.Keyring.Revoke(r.Context(), actor(r), r.PathValue("name"), time.Now()))
}

// rotateKey gives a key of the store another secret.
func (s *Server) rotateKey(w http.ResponseWriter, r *http.Request) {
	var k Rotation
	if !read(w, r, &k) {
		return
	}
	var grace time.Duration
	if k.Grace != "" {
		var err error
		if grace, err = time.ParseDuration(k.Grace); err != nil {
			problem(w, http.StatusUnprocessableEntity, "grace: want a duration such as 1h")
			return
		}
	}
	secret, err := s.Keyring.Rotate(r.Context(), actor(r), k.Name, grace, time.Now())
	if err != nil {
		s.refuse(w, "key "+k.Name, err)
		return
	}
	send(w, http.StatusOK, struct {
		Secret string `json:"secret"`
		Prefix string `json:"prefix"`
	}{secret, admit.Shown(secret)})
}

// change reads what is to be put and has it put under the generation in force. Where that gives something, the answer is it,
// as of something made; else there is none.
func (s *Server) change(w http.ResponseWriter, r *http.Request, what string, body any, put func(*generation.Generation) (made any, err error)) {
	if !read(w, r, body) {
		return
	}
	g := s.holding(w)
	if g == nil {
		return
	}
	defer g.Release()
	switch made, err := put(g); {
	case err != nil:
		s.refuse(w, what, err)
	case made == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		send(w, http.StatusCreated, made)
	}
}

// done answers a change that gives nothing.
func (s *Server) done(w http.ResponseWriter, what string, err error) {
	if err != nil {
		s.refuse(w, what, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// holding gives the generation in force; nil where there is none, which the caller has been told.
func (s *Server) holding(w http.ResponseWriter) *generation.Generation {
	g := s.Generations.Borrow()
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

// refuse says why a change of what the store keeps was not made.
func (s *Server) refuse(w http.ResponseWriter, what string, err error) {
	switch {
	case errors.Is(err, store.ErrNotFound):
		problem(w, http.StatusNotFound, what+": there is none in force in the store")
	case errors.Is(err, keyring.ErrTaken):
		problem(w, http.StatusConflict, err.Error())
	case errors.Is(err, keyring.ErrInvalid):
		problem(w, http.StatusUnprocessableEntity, err.Error())
	default:
		s.Log.Error("admin: keys", "of", what, "error", err)
		problem(w, http.StatusServiceUnavailable, "the store does not answer")
	}
}
