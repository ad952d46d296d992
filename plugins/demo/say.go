package demo

import (
	"encoding/json"
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

// sayForm is the demo's own form.
func sayForm() *form {
	return &form{
		media: "application/x-ndjson", after: "\n",
		read: func(d *json.Decoder) (*prompt, error) {
			var q sayRequest
			err := d.Decode(&q)
			return &prompt{model: q.Model, say: q.Say, bytes: q.Bytes, tools: q.Tools, stream: q.Stream}, err
		},
		write: writeSay,
	}
}

// writeSay writes an answer in the demo's own form.
func writeSay(out *pieces, p *prompt, a *answer) error {
	calls := make([]sayCall, len(a.calls))
	for i, c := range a.calls {
		calls[i] = sayCall{c.id, c.name, json.RawMessage(c.input)}
	}
	end := sayLine{Usage: &sayUsage{a.input, a.output}, End: "stop"}
	if !p.stream {
		end.ID, end.Model, end.Text, end.Calls = a.id, p.model, strings.Join(a.words, ""), calls
		return out.send("", end, "\n")
	}
	if err := out.send("", sayLine{ID: a.id, Model: p.model}, "\n"); err != nil {
		return err
	}
	if err := out.words(a, func(word string) error { return out.send("", sayLine{Text: word}, "\n") }); err != nil {
		return err
	}
	for i := range calls {
		if err := out.send("", sayLine{Call: &calls[i]}, "\n"); err != nil {
			return err
		}
	}
	return out.send("", end, "\n")
}
