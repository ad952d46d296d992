package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// pipe carries out a command of the program with something on its standard input.
func (s *served) pipe(in string, args ...string) (said string, code int) {
	s.t.Helper()
	cmd := exec.Command(build(s.t), append(args, "--state", filepath.Join(s.dir, "state"))...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, environment(s.dir), strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return string(out), 0
}

// must carries out a command that succeeds, and gives what it prints.
func (s *served) must(args ...string) string {
	s.t.Helper()
	out, stderr, code := s.run(args...)
	if code != 0 {
		s.t.Fatalf("%s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return strings.TrimSpace(out)
}

// Secrets of these tests. What is refused by the upstream of ownUpstream has that word in it.
const (
	theOperators = "sk-up-aaaaaaaa"
	ofKey        = "sk-canary-of-the-key-3v9c8x7z"
	ofTeam       = "sk-canary-of-the-team-5t6y7u8i"
	bad          = "sk-canary-refused-1q2w3e4r5t"
	firstKey     = "Zm9yIHRoZSB0ZXN0cyBvZiBzZWFscyBhbG9uZQ"
	secondKey    = "YW5vdGhlciBvbmUgZm9yIHRoZSBzYW1lIHRlc3Rz"
)

// ownUpstream answers, and refuses some secrets.
func ownUpstream(t *testing.T) *upstream {
	return newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Authorization"), "refused") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s","type":"invalid_request_error","code":"invalid_api_key"}}`, bad)
			return
		}
		answers("ok")(w, r)
	})
}

// ask sends a request with a key and says with whose credential it went out: "" where it did not, or was refused.
func (s *served) askAs(up *upstream, key string) (with string, a answer) {
	s.t.Helper()
	n := up.count()
	a = s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+key)
	if up.count() == n {
		return "", a
	}
	return strings.TrimPrefix(up.last().header.Get("Authorization"), "Bearer "), a
}

// bringing is a gateway whose keys and teams bring credentials of their own.
type bringing struct {
	*served
	up       *upstream
	laptop   string // a key that brings one
	stranger string // a key that brings none
}

// bringingText is its configuration, with a store's settings.
func bringingText(up *upstream, store string) string {
	return strings.Replace(limited(up, "team: search", "teams: {search: {}}\n"+store), "attempts: 1", "attempts: 2", 1)
}

// goesOut asks with a key, and holds with whose credential the request goes out and what is answered.
func (b *bringing) goesOut(what, key, with string, status int) {
	b.t.Helper()
	if got, a := b.askAs(b.up, key); got != with || a.status != status {
		b.t.Errorf("%s: with %q, %d %s, want %q and %d", what, got, a.status, a.body, with, status)
	} else if strings.Contains(a.body, "canary") {
		b.t.Errorf("%s: the answer shows a secret: %s", what, a.body)
	}
}

// set stores a credential for the provider, and gives what is said of it.
func (b *bringing) set(secret string, want int, args ...string) string {
	b.t.Helper()
	said, code := b.pipe(secret+"\n", append([]string{"credentials", "set", "--provider", "openai"}, args...)...)
	if code != want {
		b.t.Fatalf("credentials set %v: exit code %d, want %d: %s", args, code, want, said)
	}
	return said
}

// restartWith starts the gateway again with other settings of the store.
func (b *bringing) restartWith(store string) {
	b.t.Helper()
	b.rewrite(bringingText(b.up, store))
	b.restart()
}

// TestOwnCredentials: what a key or its team brings is used from the next request on, in the place of the operator's; it is
// told apart in the ledger, what becomes of it is nobody else's, and its secret stands nowhere.
func TestOwnCredentials(t *testing.T) {
	t.Parallel()
	up := ownUpstream(t)
	b := &bringing{served: serveText(t, bringingText(up, "store: {encryption: {key: "+firstKey+"}}")), up: up}
	b.laptop = b.must("keys", "create", "laptop")
	b.goesOut("before there is any", b.laptop, theOperators, 200)
	b.set(ofKey, 0, "--key", "laptop")
	b.set(ofTeam, 0, "--team", "search")
	b.goesOut("a key's own", b.laptop, ofKey, 200)
	b.goesOut("its team's", testKey, ofTeam, 200)
	for _, args := range [][]string{{"--key", "nobody"}, {"--team", "nobody"}, {"--key", "laptop", "--name", "a b"}, {"--key", "laptop", "--member", "other"}} {
		b.set(ofKey, exitUsage, args...)
	}
	b.set("", exitUsage, "--key", "laptop")
	b.refused()
	b.told()
	b.sealedAnew()
	b.stop()
	nowhere(t, b.served, "canary")
}

// refused: one that the provider refuses is refused to its owner, who is not served with the operator's unless the key says
// so, and to nobody else.
func (b *bringing) refused() {
	b.set(bad, 0, "--key", "laptop")
	b.goesOut("a refused one", b.laptop, bad, 502)
	b.goesOut("while it is held", b.laptop, "", 503)
	b.stranger = b.must("keys", "create", "stranger")
	b.goesOut("the operator's, for another", b.stranger, theOperators, 200)
	b.set(ofKey, 0, "--key", "laptop")
	b.goesOut("one in its place, which nothing holds", b.laptop, ofKey, 200)
	for line := range strings.Lines(b.log.String()) {
		if strings.Contains(line, "@key:") && (strings.Contains(line, "WARN") || strings.Contains(line, "ERROR")) {
			b.t.Errorf("a tenant's credential is the operator's alarm: %s", line)
		}
	}
	patient := b.must("keys", "create", "patient", "--own-credentials", "first")
	b.set(bad, 0, "--key", "patient")
	b.goesOut("first its own, then the operator's", patient, theOperators, 200)
}

// told: the ledger tells them apart, and a list shows no more than where each begins.
func (b *bringing) told() {
	rows := b.must("ledger", "list", "-o", "json")
	for _, name := range []string{`"credential":"a"`, `"credential":"main@key:laptop"`, `"credential":"main@team:search"`, `"credential":"main@key:patient"`} {
		if !strings.Contains(strings.ReplaceAll(rows, `": "`, `":"`), name) {
			b.t.Errorf("the ledger has no %s:\n%s", name, rows)
		}
	}
	list := b.must("credentials", "list")
	if !strings.Contains(list, ofKey[:6]) || strings.Contains(list, ofKey[:10]) {
		b.t.Errorf("the list shows no prefix, or more:\n%s", list)
	}
	if _, stderr, code := b.run("credentials", "remove", "--team", "search", "--provider", "openai"); code != 0 {
		b.t.Fatal(stderr)
	}
	b.goesOut("when the team's has been removed", testKey, theOperators, 200)
	if _, _, code := b.run("credentials", "remove", "--team", "search", "--provider", "openai"); code != exitNotFound {
		b.t.Errorf("removed again: exit code %d", code)
	}
}

// reload changes the settings of the store while the gateway runs, and gives what is said of it.
func (b *bringing) reload(store string, want int) string {
	b.t.Helper()
	b.rewrite(bringingText(b.up, store))
	_, said, code := b.run("reload")
	if code != want {
		b.t.Fatalf("reload with %q: exit code %d, want %d: %s", store, code, want, said)
	}
	return said
}

// sealedAnew: the encryption key is changed by reloads, and the old one reads until all is encrypted anew; to leave it out
// before is refused, and changes nothing.
func (b *bringing) sealedAnew() {
	b.reload("store: {encryption: {key: "+secondKey+", previous: ["+firstKey+"]}}", 0)
	b.goesOut("with the old key among the previous", b.laptop, ofKey, 200)
	if said := b.reload("store: {encryption: {key: "+secondKey+"}}", exitInvalid); !strings.Contains(said, "2 credentials of the store are encrypted by the key") {
		b.t.Errorf("without the old key: %s", said)
	}
	b.goesOut("as before the reload that was refused", b.laptop, ofKey, 200)
	if said := b.must("credentials", "rotate"); !strings.HasPrefix(said, "2 encrypted anew") {
		b.t.Errorf("rotate: %s", said)
	}
	b.reload("store: {encryption: {key: "+secondKey+"}}", 0)
	b.goesOut("with the new key alone", b.laptop, ofKey, 200)
	b.restart()
	b.goesOut("and after a restart", b.laptop, ofKey, 200)
	if said := b.must("credentials", "rotate"); !strings.HasPrefix(said, "0 encrypted anew") {
		b.t.Errorf("rotate again: %s", said)
	}
	b.restartWith("")
	b.goesOut("without any key: not with the operator's", b.laptop, "", 503)
	b.goesOut("and another's as ever", b.stranger, theOperators, 200)
	if said := b.set(ofKey, exitUsage, "--key", "laptop"); !strings.Contains(said, "store.encryption.key") {
		b.t.Errorf("no remedy in %q", said)
	}
}

// nowhere holds that a text stands in no file of the gateway's state, nor in its log.
func nowhere(t *testing.T, s *served, text string) {
	t.Helper()
	if strings.Contains(s.log.String(), text) {
		t.Errorf("the log shows %q", text)
	}
	files := 0
	err := filepath.WalkDir(filepath.Join(s.dir, "state"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			t.Errorf("%s shows %q", path, text)
		}
		files++
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("%d files of the state: %v", files, err)
	}
}

// TestConfiguredOwnCredentials: keys and teams of the configuration bring credentials too, also for a provider that has none
// but those.
func TestConfiguredOwnCredentials(t *testing.T) {
	t.Parallel()
	up := ownUpstream(t)
	text := func(own string) string {
		return fmt.Sprintf(`
providers: {openai: {plugin: openai, base_url: %q}}
models: {m: {deployments: [{provider: openai, model: m}]}}
teams: {search: {credentials: {openai: {api_key: %s}}}}
keys:
  - {name: a, secret: %s, team: search, credentials: {openai: {%s}}}
  - {name: b, secret: %s1, team: search}
  - {name: c, secret: %s2}
retry: {attempts: 2}
`, up.URL+"/v1", ofTeam, testKey, own, testKey, testKey)
	}
	s := serveText(t, text("api_key: "+ofKey))
	for key, want := range map[string]string{testKey: ofKey, testKey + "1": ofTeam, testKey + "2": ""} {
		got, a := s.askAs(up, key)
		if got != want || (a.status == 200) != (want != "") {
			t.Errorf("with %q, %d %s, want %q", got, a.status, a.body, want)
		}
	}
	s.rewrite(text("other: x"))
	if _, said, code := s.run("reload"); code != exitInvalid || !strings.Contains(said, "keys[0].credentials.openai") {
		t.Errorf("a credential without what the provider wants: exit code %d, %s", code, said)
	}
}

// TestNamesAndGrace: a name is one key's, wherever it is kept; and a rotation can leave both secrets a while.
func TestNamesAndGrace(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, answers("ok"))
	s := serveText(t, limited(up, `limits: {rpm: 1000}`, ""))
	try := func(what, secret string, want int) {
		t.Helper()
		if a := s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+secret); a.status != want {
			t.Errorf("%s: %d %s, want %d", what, a.status, a.body, want)
		}
	}
	first := s.must("keys", "create", "ci")
	if _, said, code := s.run("keys", "create", "ci"); code != exitConflict || !strings.Contains(said, "penstock keys revoke") {
		t.Errorf("the name again: exit code %d, %s", code, said)
	}
	s.rewrite(strings.Replace(s.configuration(), "{name: test,", "{name: ci,", 1))
	if _, said, code := s.run("reload"); code != exitInvalid || !strings.Contains(said, `"ci"`) {
		t.Errorf("a configured key of the name: exit code %d, %s", code, said)
	}
	second := s.must("keys", "rotate", "ci", "--grace", "1h")
	try("the old secret in its grace", first, 200)
	try("the new one", second, 200)
	third := s.must("keys", "rotate", "ci")
	try("the oldest", first, 401)
	try("the old one without a grace", second, 401)
	try("the newest", third, 200)
	if _, _, code := s.run("keys", "rotate", "ci", "--grace", "1000h"); code != exitUsage {
		t.Errorf("a grace of 1000h: exit code %d", code)
	}
}

// TestOrganisationBudget: keys of two teams share the money of the organisation that both are in: of 200 requests at once
// exactly those are let through that it is enough for, and what they cost is the organisation's in the ledger.
func TestOrganisationBudget(t *testing.T) {
	t.Parallel()
	var started atomic.Int64
	release := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		started.Add(1)
		<-release
		answers("ok")(w, r)
	})
	t.Cleanup(letGo)
	// Each is reserved at 1,000 tokens out and 5 in: 0.002005 USD. One team is the configuration's, the other the store's.
	s := servePlain(t, limited(up, "team: here", `
teams: {here: {organisation: acme}}
organisations: {acme: {budget: {usd: "0.0802", every: total}}}`))
	if _, said, code := s.run("teams", "set", "there", "--organisation", "nobody"); code != exitUsage {
		t.Errorf("an organisation that is not there: exit code %d, %s", code, said)
	}
	s.must("teams", "set", "there", "--organisation", "acme")
	keys := []string{testKey, s.must("keys", "create", "other", "--team", "there")}
	var refused, served atomic.Int64
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			a := s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+keys[i%2])
			switch {
			case a.status == 200:
				served.Add(1)
			case a.status == 429 && strings.Contains(a.body, `the organisation \"acme\" may spend 0.0802 USD`):
				refused.Add(1)
			default:
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	s.await("all verdicts", func() bool { return refused.Load()+started.Load() == 200 })
	letGo()
	group.Wait()
	if served.Load() != 40 {
		t.Errorf("%d were served, want 40", served.Load())
	}
	s.must("organisations", "set", "elsewhere", "--itpm", "3", "--otpm", "900")
	s.must("teams", "set", "there", "--organisation", "elsewhere")
	if a := s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+keys[1]); a.status != 400 || !strings.Contains(a.body, `the organisation \"elsewhere\" may use 3 input tokens`) &&
		!strings.Contains(a.body, `the organisation \"elsewhere\" may use 900 output tokens`) {
		t.Errorf("in an organisation with limits of tokens: %d %s", a.status, a.body)
	}
	if _, _, code := s.run("organisations", "delete", "elsewhere"); code != exitConflict {
		t.Errorf("an organisation with a team: exit code %d", code)
	}
	s.restart()
	s.await("the rows", func() bool {
		return strings.Count(s.must("ledger", "list", "-o", "json"), `"organisation":"acme"`) == 40
	})
	if out := s.must("ledger", "verify"); strings.Contains(out, "nano-USD") && strings.Contains(out, "beside") {
		t.Errorf("verify: %s", out)
	}
}
