package admin

import (
	"net/http"

	"github.com/penstock-gateway/penstock/core/replay"
)

// shadow tells how the decisions of shadows compare with those that were followed, and how many decisions are kept.
func (s *Server) shadow(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, struct {
		replay.Report
		Decisions replay.Counts `json:"decisions"`
	}{s.Decisions.Shadow.Report(), s.Decisions.Counts()})
}
