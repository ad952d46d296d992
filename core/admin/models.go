package admin

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/store"
)

// Model is a model in the list of models.
type Model struct {
	Name        string       `json:"name"`
	Tags        []string     `json:"tags"`
	Disabled    *Disabled    `json:"disabled,omitempty"`
	Deployments []Deployment `json:"deployments"`
}

// Deployment is a deployment in the list of models. Limits that nobody stated are left out, as is an unknown price.
type Deployment struct {
	ID            string    `json:"deployment"`
	Provider      string    `json:"provider"`
	Model         string    `json:"model"` // as the provider calls it
	ContextWindow int       `json:"context_window,omitempty"`
	MaxOutput     int       `json:"max_output_tokens,omitempty"`
	Capabilities  []string  `json:"capabilities"`
	Price         *Price    `json:"price,omitempty"`
	Disabled      *Disabled `json:"disabled,omitempty"`
}

// Price is the price in force, in nano-USD for a million tokens, and for one of what stands at the end.
type Price struct {
	Input          int64  `json:"input_nano_usd"`
	Output         int64  `json:"output_nano_usd"`
	CacheRead      int64  `json:"cache_read_nano_usd"`
	CacheWrite     int64  `json:"cache_write_nano_usd"`
	CacheWriteHour int64  `json:"cache_write_1h_nano_usd"`
	Reasoning      int64  `json:"reasoning_nano_usd"`
	AudioInput     int64  `json:"audio_input_nano_usd"`
	ImageInput     int64  `json:"image_input_nano_usd"`
	AudioOutput    int64  `json:"audio_output_nano_usd"`
	ImageOutput    int64  `json:"image_output_nano_usd"`
	Request        int64  `json:"request_nano_usd,omitempty"`
	Image          int64  `json:"image_nano_usd,omitempty"`
	Search         int64  `json:"web_search_nano_usd,omitempty"`
	Tiers          []Tier `json:"tiers,omitempty"`
}

// Tier is the price of requests whose input has more tokens than Above.
type Tier struct {
	Above int64 `json:"above"`
	Price
}

// Disabled says who took something out of service, when and why. By is "configuration" where that is what it says.
type Disabled struct {
	By     string    `json:"by"`
	At     time.Time `json:"at,omitzero"`
	Reason string    `json:"reason,omitempty"`
}

// models lists the models of the generation in force, in the configuration's order, those of the catalogue first.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	g := s.Generations.Borrow()
	if g == nil {
		problem(w, http.StatusServiceUnavailable, "no generation is in force")
		return
	}
	defer g.Release()
	off := map[string]*Disabled{}
	for _, d := range s.Disabled.List() {
		off[d.Name] = &Disabled{By: d.By, At: d.At, Reason: d.Reason}
	}
	list := []Model{}
	for _, m := range g.Catalog.Models {
		shown := Model{Name: m.Name, Tags: append([]string{}, m.Tags...), Disabled: off[m.Name], Deployments: []Deployment{}}
		for _, d := range m.Deployments {
			shown.Deployments = append(shown.Deployments, showDeployment(d, off[d.ID], time.Now()))
		}
		list = append(list, shown)
	}
	for i := range g.Config.Models {
		if m := &g.Config.Models[i]; m.Disabled {
			list = append(list, Model{Name: m.Name, Tags: append([]string{}, m.Tags...), Disabled: &Disabled{By: "configuration"}, Deployments: []Deployment{}})
		}
	}
	send(w, http.StatusOK, list)
}

func showPrice(r *price.Rates) *Price {
	return &Price{Input: r.Input, Output: r.Output, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, CacheWriteHour: r.CacheWriteHour, Reasoning: r.Reasoning,
		AudioInput: r.AudioInput, ImageInput: r.ImageInput, AudioOutput: r.AudioOutput, ImageOutput: r.ImageOutput, Request: r.Request, Image: r.Image, Search: r.Search}
}

func showDeployment(d *catalog.Deployment, off *Disabled, now time.Time) Deployment {
	shown := Deployment{ID: d.ID, Provider: d.Provider.ID, Model: d.Model, Capabilities: append([]string{}, d.Can.Names()...), Disabled: off}
	if d.Context != catalog.Unlimited {
		shown.ContextWindow = d.Context
	}
	if d.MaxOutput != catalog.Unlimited {
		shown.MaxOutput = d.MaxOutput
	}
	if p := d.Price.At(now); p != nil {
		shown.Price = showPrice(&p.Rates)
		for i := range p.Tiers {
			shown.Price.Tiers = append(shown.Price.Tiers, Tier{p.Tiers[i].Above, *showPrice(&p.Tiers[i].Rates)})
		}
	}
	return shown
}

const (
	maxReason = 1 << 10 // bytes
	maxSwitch = 8 << 10 // bytes of the body of a request to disable
)

// switchModel disables or enables a model, or one deployment. Names hold slashes, so the verb is what stands last.
func (s *Server) switchModel(w http.ResponseWriter, r *http.Request) {
	path := r.PathValue("path")
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		problem(w, http.StatusNotFound, "want /admin/v1/models/NAME/disable or /enable")
		return
	}
	name, by := path[:i], store.Actor{Name: "admin", Origin: r.RemoteAddr}
	var err error
	switch path[i+1:] {
	case "disable":
		reason, bad := readReason(http.MaxBytesReader(w, r.Body, maxSwitch))
		switch {
		case bad != nil:
			problem(w, http.StatusBadRequest, bad.Error())
			return
		case !s.known(name):
			problem(w, http.StatusNotFound, "no model or deployment is called "+name)
			return
		}
		err = s.Disabled.Disable(r.Context(), by, name, reason)
	case "enable":
		err = s.Disabled.Enable(r.Context(), by, name)
	default:
		problem(w, http.StatusNotFound, "want /admin/v1/models/NAME/disable or /enable")
		return
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		problem(w, http.StatusNotFound, name+" is not disabled")
	case err != nil:
		s.Log.Error("admin: a model was not switched", "model", name, "error", err)
		problem(w, http.StatusServiceUnavailable, "the store does not answer")
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// readReason reads {"reason": "…"}; an empty body gives none.
func readReason(body io.Reader) (string, error) {
	var b struct {
		Reason string `json:"reason"`
	}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	switch err := d.Decode(&b); {
	case err == io.EOF:
		return "", nil
	case err != nil:
		return "", errors.New(`body: want {"reason": "…"}: ` + err.Error())
	case len(b.Reason) > maxReason:
		return "", errors.New("reason: want 1,024 bytes at most")
	}
	return b.Reason, nil
}

// known says whether the generation in force has a model or deployment of a name.
func (s *Server) known(name string) bool {
	g := s.Generations.Borrow()
	if g == nil {
		return false
	}
	defer g.Release()
	return slices.ContainsFunc(g.Catalog.Models, func(m *catalog.Model) bool {
		return m.Name == name || slices.ContainsFunc(m.Deployments, func(d *catalog.Deployment) bool { return d.ID == name })
	})
}
