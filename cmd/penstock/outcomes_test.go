package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/admin"
)

var update = flag.Bool("update", false, "write what is found into testdata/outcomes.txt")

// misfortune is one way in which a provider does not serve, as users of gateways have met it.
type misfortune struct {
	name   string
	status int
	body   string
	header []string // names and values
	play   http.HandlerFunc
}

// misfortunes lists them; a date is made when it is asked for.
func misfortunes() []misfortune {
	said := func(kind, code string) string {
		return fmt.Sprintf(`{"error":{"message":"it is said why","type":%q,"param":null,"code":%q}}`, kind, code)
	}
	rate := said("requests", "rate_limit_exceeded")
	list := []misfortune{
		{name: "400", status: 400, body: said("invalid_request_error", "")},
		{name: "400 context", status: 400, body: said("invalid_request_error", "context_length_exceeded")},
		{name: "400 content", status: 400, body: said("invalid_request_error", "content_filter")},
		{name: "401", status: 401, body: said("invalid_request_error", "invalid_api_key")},
		{name: "402", status: 402, body: said("insufficient_quota", "")},
		{name: "403", status: 403, body: said("invalid_request_error", "")},
		{name: "404 model", status: 404, body: said("invalid_request_error", "model_not_found")},
		{name: "408", status: 408, body: said("timeout", "")},
		{name: "409", status: 409, body: said("invalid_request_error", "conversation_locked")},
		{name: "413", status: 413, body: said("invalid_request_error", "")},
		{name: "421", status: 421, body: "<html>Misdirected Request</html>"},
		{name: "422", status: 422, body: said("invalid_request_error", "")},
		{name: "424", status: 424, body: said("invalid_request_error", "")},
		{name: "425", status: 425, body: "<html>Too Early</html>"},
		{name: "429", status: 429, body: rate},
		{name: "429 money", status: 429, body: said("insufficient_quota", "insufficient_quota")},
		{name: "429 RetryInfo", status: 429, body: `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"30s"}]}}`},
		{name: "499", status: 499, body: "<html>Client Closed Request</html>"},
		{name: "500", status: 500, body: said("server_error", "")},
		{name: "500 page", status: 500, body: "<html>Internal Server Error</html>"},
		{name: "502", status: 502, body: "<html>Bad Gateway</html>"},
		{name: "503", status: 503, body: said("server_error", "")},
		{name: "503 retry-after 30", status: 503, body: said("server_error", ""), header: []string{"Retry-After", "30"}},
		{name: "504", status: 504, body: ""},
		{name: "520", status: 520, body: "error code: 520"},
		{name: "522", status: 522, body: "error code: 522"},
		{name: "524", status: 524, body: "error code: 524"},
		{name: "529", status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		{name: "empty body", status: 200},
		{name: "empty answer", status: 200, body: `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}`},
		{name: "error under 200", status: 200, body: said("server_error", "")},
		{name: "page under 200", status: 200, body: "<html>Please sign in</html>"},
		{name: "reset", play: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{name: "silence", play: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	}
	for _, after := range []string{"0.02", "1.5", "30", "0", "-5", "NaN", "soon", "86400", "1e300"} {
		list = append(list, misfortune{name: "429 retry-after " + after, status: 429, body: rate, header: []string{"Retry-After", after}})
	}
	for _, d := range []time.Duration{time.Minute, -time.Minute} {
		name := "429 date in a minute"
		if d < 0 {
			name = "429 date gone by"
		}
		list = append(list, misfortune{name: name, play: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(d+time.Second/2).UTC().Format(http.TimeFormat))
			w.WriteHeader(429)
		}})
	}
	return append(list,
		misfortune{name: "429 ms before seconds", status: 429, body: rate, header: []string{"Retry-After-Ms", "1500", "Retry-After", "30"}},
		misfortune{name: "429 reset of requests", status: 429, body: rate, header: []string{"X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "30s",
			"X-Ratelimit-Remaining-Tokens", "900", "X-Ratelimit-Reset-Tokens", "6m0s"}},
		misfortune{name: "429 reset of both", status: 429, body: rate, header: []string{"X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "2.5s",
			"X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "1m30s"}},
		misfortune{name: "429 reset, none used up", status: 429, body: rate, header: []string{"X-Ratelimit-Remaining-Requests", "3", "X-Ratelimit-Reset-Requests", "30s"}})
}

func (m *misfortune) answer(w http.ResponseWriter, r *http.Request) {
	if m.play != nil {
		m.play(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for i := 0; i+1 < len(m.header); i += 2 {
		w.Header().Set(m.header[i], m.header[i+1])
	}
	w.WriteHeader(m.status)
	fmt.Fprint(w, m.body)
}

// Of each misfortune there are four: the deployment stands alone, it has a second credential, another deployment stands
// behind it, or one with a larger context does.
var company = []string{"alone", "key", "other", "larger"}

// unlucky is the configuration of all of them, each with a provider of its own, so that none is held for another's sake. In
// each provider's base URL stand its misfortune and its company.
func unlucky(t *testing.T, url string, list []misfortune) string {
	t.Helper()
	providers, models := object{}, object{}
	keys := func(names ...string) (list []object) {
		for _, n := range names {
			list = append(list, object{"name": n, "api_key": "sk-" + n + "-0123456789"})
		}
		return list
	}
	providers["spare"] = object{"plugin": "openai", "base_url": url + "/well", "credentials": keys("spare")}
	for i := range list {
		for _, with := range company {
			id := fmt.Sprintf("p%d-%s", i, with)
			first := object{"provider": id, "model": "m", "context_window": 1000}
			spare := object{"provider": "spare", "model": "m", "context_window": 1000}
			deployments, names := []object{first}, []string{"a"}
			switch with {
			case "key":
				names = []string{"a", "b"}
			case "larger":
				spare["context_window"] = 100_000
				fallthrough
			case "other":
				deployments = append(deployments, spare)
			}
			providers[id] = object{"plugin": "openai", "base_url": fmt.Sprintf("%s/%d/%s", url, i, with), "credentials": keys(names...)}
			models[id] = object{"deployments": deployments}
		}
	}
	text, err := json.Marshal(object{"providers": providers, "models": models, "keys": []object{{"name": "dev", "secret": testKey}},
		"timeout": object{"first_content": "3s", "idle": "3s"}, "breaker": object{"failures": 1000},
		"retry": object{"attempts": 3, "backoff": object{"first": "1ms", "max": "100ms"}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOutcomes is the table of what follows each misfortune: who is asked, in order and by credential, what the client is
// told, and who is left alone for how long.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	list := misfortunes()
	var mu sync.Mutex // guards asked
	asked := map[string][]string{}
	up := newUpstream(t, nil)
	up.answer = func(w http.ResponseWriter, r *http.Request) {
		key := strings.Split(r.Header.Get("Authorization")+"--", "-")[1]
		var i int
		var with string
		if _, err := fmt.Sscanf(strings.ReplaceAll(r.URL.Path, "/", " "), "%d %s", &i, &with); err == nil {
			mu.Lock()
			name := fmt.Sprintf("p%d-%s", i, with)
			asked[name] = append(asked[name], key)
			mu.Unlock()
			if key == "a" {
				list[i].answer(w, r)
				return
			}
		}
		answers("well")(w, r)
	}
	s := serveText(t, unlucky(t, up.URL, list))
	var table strings.Builder
	for i, m := range list {
		for _, with := range company {
			id := fmt.Sprintf("p%d-%s", i, with)
			a := s.post("/v1/chat/completions", strings.Replace(askWhole, `"m"`, `"`+id+`"`, 1))
			mu.Lock()
			who := strings.Join(asked[id], " ")
			mu.Unlock()
			if strings.Contains(a.body, `"content":"well"`) && with != "key" {
				who += " spare"
			}
			fmt.Fprintf(&table, "%-24s %-7s %-10s %s %s\n", m.name, with, who, told(a), "PLACE-"+id+"-")
		}
	}
	got := places(t, s, table.String())
	golden := filepath.Join("testdata", "outcomes.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

// told is what the client learns: the status, when to come again, and whether that is of any use.
func told(a answer) string {
	after, retry := a.header.Get("retry-after"), a.header.Get("x-should-retry")
	if after == "59" || after == "61" { // of a date, which has whole seconds
		after = "60"
	}
	return fmt.Sprintf("%d %-5s %-5s", a.status, orDash(after), orDash(retry))
}

// rounded makes the same of holds that differ by what a date or a slow machine makes of them.
func rounded(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(10 * time.Second)
	}
	return d.Round(time.Second / 2)
}

// places puts in how the backends are.
func places(t *testing.T, s *served, table string) string {
	t.Helper()
	out, errs, code := s.run("health", "-o", "json")
	var list []admin.Backend
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
		t.Fatalf("health: exit %d, %v, %s", code, err, errs)
	}
	held := map[string]string{}
	for _, b := range list {
		if len(b.History) == 0 {
			continue
		}
		last := b.History[len(b.History)-1]
		id, rest, _ := strings.Cut(strings.Replace(b.Name, "/", " deployment ", 1), " ")
		what, _, _ := strings.Cut(rest, " at ")
		if before, after, ok := strings.Cut(what, " ("); ok { // the mark of the secret says nothing here
			_, after, _ = strings.Cut(after, ")")
			what = before + after
		}
		held[id] += fmt.Sprintf(" %s %s %v", what, last.Phase, rounded(last.Until.Sub(last.At)))
	}
	for line := range strings.Lines(table) {
		_, id, _ := strings.Cut(strings.TrimSuffix(line, "-\n"), "PLACE-")
		table = strings.Replace(table, " PLACE-"+id+"-", strings.TrimRight(held[id], " "), 1)
	}
	var b strings.Builder
	for line := range strings.Lines(table) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
