package admin

import (
	"net/http"
	"time"

	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/keyring"
)

// routeCredentials adds the routes of the credentials that keys and teams bring. What they consist of goes in and never
// comes out.
func (s *Server) routeCredentials(mux *http.ServeMux) {
	mux.HandleFunc("GET /admin/v1/credentials", listing(s, "credentials", s.Keyring.Credentials))
	mux.HandleFunc("POST /admin/v1/credentials", s.putCredential)
	mux.HandleFunc("POST /admin/v1/credentials/remove", s.removeCredential)
	mux.HandleFunc("POST /admin/v1/credentials/rotate", s.resealCredentials)
}

// putCredential keeps a credential.
func (s *Server) putCredential(w http.ResponseWriter, r *http.Request) {
	var c keyring.NewCredential
	s.change(w, r, "credential", &c, func(g *generation.Generation) (any, error) {
		return nil, s.Keyring.PutCredential(r.Context(), actor(r), g, c, time.Now())
	})
}

// removeCredential removes one: its name has four parts, which stand in the body.
func (s *Server) removeCredential(w http.ResponseWriter, r *http.Request) {
	var c keyring.CredentialName
	s.change(w, r, "credential", &c, func(g *generation.Generation) (any, error) {
		return nil, s.Keyring.DeleteCredential(r.Context(), actor(r), g, c)
	})
}

// resealCredentials encrypts all anew, by the newest key.
func (s *Server) resealCredentials(w http.ResponseWriter, r *http.Request) {
	g := s.holding(w)
	if g == nil {
		return
	}
	defer g.Release()
	done, err := s.Keyring.Reseal(r.Context(), actor(r), g)
	if err != nil {
		s.refuse(w, "credentials", err)
		return
	}
	send(w, http.StatusOK, done)
}
