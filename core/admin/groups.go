package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/keyring"
)

// routeGroups adds the routes of teams and organisations.
func (s *Server) routeGroups(mux *http.ServeMux) {
	mux.HandleFunc("GET /admin/v1/teams", listing(s, "teams", s.Keyring.Teams))
	mux.HandleFunc("POST /admin/v1/teams", s.putTeam)
	mux.HandleFunc("DELETE /admin/v1/teams/{name...}", func(w http.ResponseWriter, r *http.Request) {
		s.done(w, "team "+r.PathValue("name"), s.Keyring.DeleteTeam(r.Context(), actor(r), r.PathValue("name")))
	})
	mux.HandleFunc("GET /admin/v1/organisations", listing(s, "organisations", s.Keyring.Organisations))
	mux.HandleFunc("POST /admin/v1/organisations", s.putOrganisation)
	mux.HandleFunc("DELETE /admin/v1/organisations/{name...}", func(w http.ResponseWriter, r *http.Request) {
		s.done(w, "organisation "+r.PathValue("name"), s.Keyring.DeleteOrganisation(r.Context(), actor(r), r.PathValue("name")))
	})
}

// listing answers with a list of the store's.
func listing[T any](s *Server, what string, list func(context.Context) ([]T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		all, err := list(r.Context())
		if err != nil {
			s.refuse(w, what, err)
			return
		}
		send(w, http.StatusOK, all)
	}
}

// putTeam makes a team or changes one.
func (s *Server) putTeam(w http.ResponseWriter, r *http.Request) {
	var t keyring.Team
	s.change(w, r, "team", &t, func(g *generation.Generation) (any, error) {
		return nil, s.Keyring.PutTeam(r.Context(), actor(r), g, t, time.Now())
	})
}

// putOrganisation makes an organisation or changes one.
func (s *Server) putOrganisation(w http.ResponseWriter, r *http.Request) {
	var o keyring.Organisation
	s.change(w, r, "organisation", &o, func(g *generation.Generation) (any, error) {
		return nil, s.Keyring.PutOrganisation(r.Context(), actor(r), g, o, time.Now())
	})
}
