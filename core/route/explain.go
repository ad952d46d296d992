package route

import (
	"context"
	"encoding/json"
	"time"
)

// Question is a request that nobody sent, of which routing is to tell what it would do.
type Question struct {
	Model   string            `json:"model"`   // "" as in the request
	Key     string            `json:"key"`     // the name of one; "": one that may use everything
	Dialect string            `json:"dialect"` // of the request; "": openai-chat
	Headers map[string]string `json:"headers"`
	Request json.RawMessage   `json:"request,omitempty"` // the body; absent: a short text
}

// Explainer answers questions.
type Explainer interface {
	// Explain gives the decision on a request. The error says why there is none.
	Explain(ctx context.Context, q *Question) (*Explanation, error)
}

// Explanation is a decision in the form that `penstock policy explain -o json` prints.
type Explanation struct {
	Router     string       `json:"router"` // "" where no policy decided
	Generation int64        `json:"generation"`
	Branches   []string     `json:"branches"`
	Candidates []Candidate  `json:"candidates"`
	Skips      []SkipRecord `json:"skips"`
	Failures   []string     `json:"failures,omitempty"` // of policies, that on_error took up
	Failed     string       `json:"failed,omitempty"`   // why there is no decision
	Prints     []string     `json:"prints,omitempty"`
	Steps      uint64       `json:"steps"`
	Micros     int64        `json:"micros"`
}

// Candidate is a deployment that would be tried.
type Candidate struct {
	Model      string `json:"model"`
	Provider   string `json:"provider"`
	Deployment string `json:"deployment"`
	Plan       string `json:"plan,omitempty"` // what a policy said of how it is tried
}

// SkipRecord is a Skip in the form of an explanation.
type SkipRecord struct {
	Branch     int    `json:"branch"`
	Deployment string `json:"deployment"`
	Stage      string `json:"stage"`
	Reason     string `json:"reason"`
}

// Explain writes a decision down. It keeps nothing of it.
func (d *Decision) Explain(generation int64, took time.Duration) *Explanation {
	e := &Explanation{Router: d.Router, Generation: generation, Branches: append([]string{}, d.Branches...), Candidates: []Candidate{}, Skips: []SkipRecord{},
		Prints: d.Prints, Steps: d.Steps, Micros: took.Microseconds()}
	for i, c := range d.Candidates {
		shown := Candidate{Model: c.Name, Provider: c.Provider.ID, Deployment: c.ID}
		if len(d.Plans) > 0 {
			shown.Plan = d.Plans[i].String()
		}
		e.Candidates = append(e.Candidates, shown)
	}
	for _, s := range d.Skips {
		e.Skips = append(e.Skips, SkipRecord(s))
	}
	for i := range d.Failures {
		e.Failures = append(e.Failures, d.Failures[i].Error())
	}
	if d.Err != nil {
		e.Failed = d.Err.Error()
	}
	return e
}

// Batch is the number of the batch that a router's branch is expanded in.
func Batch(branch int) int { return branch / batch }
