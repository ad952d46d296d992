package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// tokens is usage as a row of the ledger has it.
type tokens struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Output     int64 `json:"output_tokens"`
}

// chatCounts reads usage as OpenAI counts it: cached tokens are within the prompt, reasoning within the completion
// (https://platform.openai.com/docs/api-reference/chat/object). Services that count reasoning beside the completion show it
// in the total; Mistral names cached tokens otherwise, and OpenRouter those that were written; more cached tokens than
// there are in the prompt cannot be.
func chatCounts(text []byte, c *tokens) (found bool) {
	var d struct {
		Usage *struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
			Details    struct {
				Cached  int64 `json:"cached_tokens"`
				Written int64 `json:"cache_write_tokens"`
			} `json:"prompt_tokens_details"`
			Total  int64 `json:"total_tokens"`
			Cached int64 `json:"num_cached_tokens"`
		}
	}
	if json.Unmarshal(text, &d) != nil || d.Usage == nil || d.Usage.Prompt == 0 {
		return false
	}
	u := d.Usage
	*c = tokens{Input: u.Prompt, CacheRead: min(max(u.Details.Cached, u.Cached), u.Prompt), CacheWrite: u.Details.Written, Output: max(u.Completion, u.Total-u.Prompt)}
	return true
}

// messageCounts reads usage as Anthropic counts it: cached tokens stand beside the input, and each message_delta has the
// totals so far (https://docs.claude.com/en/docs/build-with-claude/streaming); of several passes of the model and of
// compaction all are charged (https://platform.claude.com/docs/en/build-with-claude/compaction).
func messageCounts(text []byte, c *tokens) (found bool) {
	type usage struct {
		Input  *int64 `json:"input_tokens"`
		Read   *int64 `json:"cache_read_input_tokens"`
		Write  *int64 `json:"cache_creation_input_tokens"`
		Output *int64 `json:"output_tokens"`
		Passes []struct {
			Type   string
			Input  int64 `json:"input_tokens"`
			Read   int64 `json:"cache_read_input_tokens"`
			Write  int64 `json:"cache_creation_input_tokens"`
			Output int64 `json:"output_tokens"`
		} `json:"iterations"`
	}
	var d struct {
		Usage   *usage
		Message struct{ Usage *usage }
	}
	if json.Unmarshal(text, &d) != nil {
		return false
	}
	u := d.Usage
	if u == nil {
		u = d.Message.Usage
	}
	if u == nil {
		return false
	}
	plain := c.Input - c.CacheRead - c.CacheWrite
	for _, of := range []struct{ from, to *int64 }{{u.Input, &plain}, {u.Read, &c.CacheRead}, {u.Write, &c.CacheWrite}, {u.Output, &c.Output}} {
		if of.from != nil {
			*of.to = *of.from
		}
	}
	c.Input = plain + c.CacheRead + c.CacheWrite
	var all tokens
	passes := 0
	for _, p := range u.Passes {
		if p.Type == "message" || p.Type == "compaction" {
			passes++
			all = tokens{all.Input + p.Input + p.Read + p.Write, all.CacheRead + p.Read, all.CacheWrite + p.Write, all.Output + p.Output}
		}
	}
	if passes > 1 {
		*c = all
	}
	return true
}

// TestLedgerOfRecordings serves every recorded answer, to a client of its own dialect and to one of the other: the tokens
// of its row are those of the recording, by the provider's own definition.
func TestLedgerOfRecordings(t *testing.T) {
	for _, d := range []struct {
		dialect, model, path, other string
		read                        func([]byte, *tokens) bool
	}{
		{"openai-chat", "to-openai", "/v1/chat/completions", "/v1/messages", chatCounts},
		{"anthropic", "to-claude", "/v1/messages", "/v1/chat/completions", messageCounts},
	} {
		up := newUpstream(t, nil)
		s := serveText(t, twoProviders(up.URL))
		want, names := map[string]tokens{}, map[string]string{}
		serve := func(name, recorded, contentType, stream string, c tokens) {
			up.answer = func(w http.ResponseWriter, r *http.Request) { says(contentType, recorded)(w, r) }
			for _, path := range []string{d.path, d.other} {
				a := s.post(path, `{"model":"`+d.model+`","max_tokens":9,"stream":`+stream+`,"messages":[{"role":"user","content":"x"}]}`)
				if a.status == 200 && !strings.Contains(a.body[max(0, len(a.body)-400):], `"error"`) {
					id := a.header.Get("x-request-id")
					want[id], names[id] = c, name+" at "+path
				}
			}
		}
		for name, recorded := range recordings(t, d.dialect, ".stream.txt") {
			var c tokens
			found := false
			for line := range strings.Lines(complete(recorded)) {
				if data, ok := strings.CutPrefix(line, "data:"); ok && d.read([]byte(data), &c) {
					found = true
				}
			}
			if found && finished(recorded) {
				serve(name, recorded, "text/event-stream", "true", c)
			}
		}
		for name, recorded := range recordings(t, d.dialect, ".response.json") {
			var c tokens
			if d.read([]byte(recorded), &c) {
				serve(name, recorded, "application/json", "false", c)
			}
		}
		if len(want) == 0 {
			t.Fatalf("%s: no recording with usage was served", d.dialect)
		}
		seen := ledgerCounts(t, s)
		for id, c := range want {
			if got, ok := seen[id]; !ok || got != c {
				t.Errorf("%s %s: the ledger has %+v (%v), want %+v", d.dialect, names[id], got, ok, c)
			}
		}
		t.Logf("%s: %d answers accounted for", d.dialect, len(want))
	}
}

// ledgerCounts reads the settled rows of a running gateway.
func ledgerCounts(t *testing.T, s *served) map[string]tokens {
	t.Helper()
	out, errs, code := s.run("ledger", "list", "-o", "jsonl")
	if code != 0 {
		t.Fatalf("ledger list: exit %d\n%s", code, errs)
	}
	seen := map[string]tokens{}
	for line := range strings.Lines(out) {
		var row struct {
			RequestID string `json:"request_id"`
			Status    string
			tokens
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, twice := seen[row.RequestID]; twice {
			t.Errorf("%s: two rows", row.RequestID)
		}
		if row.Status == "settled" {
			seen[row.RequestID] = row.tokens
		}
	}
	return seen
}
