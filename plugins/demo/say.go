package demo

import (
	"encoding/json"
	"net/http"
	"strings"
)

// sayRequest is the demo's own form of a request; see Encode.
type sayRequest struct {
	Model  string   `json:"model"`
	Say    string   `json:"say"`
	Bytes  int      `json:"bytes"`
	Tools  []string `json:"tools"`
	Stream bool     `json:"stream"`
}

// sayLine is a line of an answer, or a whole one; see NewDecoder.
type sayLine struct {
	ID    string    `json:"id,omitempty"`
	Model string    `json:"model,omitempty"`
	Text  string    `json:"text,omitempty"`
	Call  *sayCall  `json:"call,omitempty"`
	Calls []sayCall `json:"calls,omitempty"`
	Usage *sayUsage `json:"usage,omitempty"`
	End   string    `json:"end,omitempty"`
}

type sayCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type sayUsage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// say answers in the demo's own form.
func (u *upstream) say(w http.ResponseWriter, r *http.Request) {
	var q sayRequest
	if !read(w, r, &q) {
		return
	}
	a := u.answer(w, r, &prompt{model: q.Model, say: q.Say, bytes: q.Bytes, tools: q.Tools, stream: q.Stream})
	if a == nil {
		return
	}
	calls := make([]sayCall, len(a.calls))
	for i, c := range a.calls {
		calls[i] = sayCall{c.id, c.name, json.RawMessage(c.input)}
	}
	end := sayLine{Usage: &sayUsage{a.input, a.output}, End: "stop"}
	if !q.Stream {
		end.ID, end.Model, end.Text, end.Calls = a.id, q.Model, strings.Join(a.words, ""), calls
		w.Header().Set("Content-Type", "application/json")
		writeJSON(w, end)
		return
	}
	out := newPieces(w, "application/x-ndjson")
	err := out.send("", sayLine{ID: a.id, Model: q.Model}, "\n")
	if err == nil {
		err = u.words(r.Context(), a, func(word string) error { return out.send("", sayLine{Text: word}, "\n") })
	}
	for i := range calls {
		if err == nil {
			err = out.send("", sayLine{Call: &calls[i]}, "\n")
		}
	}
	if err == nil {
		_ = out.send("", end, "\n") // the last line: there is nothing left to stop
	}
}
