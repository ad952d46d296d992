package store_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/core/store/storetest"
)

// place is where a test's store lies; each open gives another Store on it.
type place struct {
	url, dir string
}

func (p place) open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: p.url, Dir: p.dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// suite is what every store must do. Each test has a part of the names to itself: they share a database.
var suite = []struct {
	name string
	run  func(t *testing.T, p place)
}{
	{"rows", testRows},
	{"spend", testSpend},
	{"keys", testKeys},
	{"names", testNames},
	{"teams", testTeams},
	{"organisations", testOrganisations},
	{"credentials", testCredentials},
	{"models", testModels},
	{"flags", testFlags},
	{"decisions", testDecisions},
	{"events", testEvents},
}

func runSuite(t *testing.T, p func(t *testing.T) place) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) { c.run(t, p(t)) })
	}
}

func TestSQLite(t *testing.T) {
	runSuite(t, func(t *testing.T) place { return place{dir: t.TempDir()} })
}

func TestPostgres(t *testing.T) {
	server := storetest.Postgres(t)
	runSuite(t, func(*testing.T) place { return place{url: server.URL()} })
	t.Run("migrates once", func(t *testing.T) { testMigratesOnce(t, server) })
	t.Run("older", func(t *testing.T) {
		url := server.Empty()
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		testOlder(t, db, "postgres", place{url: url})
	})
	t.Run("outage", func(t *testing.T) { testOutage(t, server) })
}

// at is a moment of a day in UTC, in microseconds as the tables have it.
func at(text string) time.Time {
	v, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return v
}

var noon = at("2026-11-29T12:00:00.123456Z")

func row(id string, attempt int) store.Row {
	return store.Row{RequestID: id, Attempt: attempt, Generation: 3, Key: "k-" + id, Team: "t", Organisation: "o", Model: "m", Provider: "p", Deployment: "m/p", UpstreamModel: "m-1", Credential: "main",
		StartedAt: noon, EndedAt: noon.Add(time.Second), Status: "settled", Outcome: "success",
		InputTokens: 100, CacheReadTokens: 40, CacheWriteTokens: 10, OutputTokens: 20, ReasoningTokens: 5, CostNanoUSD: 12345,
		CacheWriteHourTokens: 4, AudioInputTokens: 3, ImageInputTokens: 2, AudioOutputTokens: 6, ImageOutputTokens: 7, WebSearches: 1}
}

// rowsOf gives the rows of a filter without their numbers.
func rowsOf(t *testing.T, s *store.Store, f store.Filter) []store.Row {
	t.Helper()
	var list []store.Row
	for r, err := range s.Rows(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		r.Seq = 0
		list = append(list, r)
	}
	return list
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func testRows(t *testing.T, p place) {
	s := p.open(t)
	a1, a2, b1 := row("rows-a", 1), row("rows-a", 2), row("rows-b", 1)
	a1.Status, a1.Outcome, a1.PossibleCost = "refunded", "timeout", true
	b1.StartedAt, b1.Model, b1.Key, b1.Estimated = noon.Add(time.Hour), "other\x00model\xff", "k-rows-a", true
	for range 2 { // again: nothing changes
		if _, err := s.InsertRows(t.Context(), []store.Row{a1, a2, a1, b1}); err != nil {
			t.Fatal(err)
		}
	}
	changed := a1
	changed.CostNanoUSD = 1
	if _, err := s.InsertRows(t.Context(), []store.Row{changed}); err != nil {
		t.Fatal(err)
	}
	b1.Model = "other\uFFFDmodel\uFFFD"
	key := store.Filter{Key: "k-rows-a"}
	same(t, "all of a key", rowsOf(t, s, key), []store.Row{a1, a2, b1})
	same(t, "of a request", rowsOf(t, s, store.Filter{RequestID: "rows-a"}), []store.Row{a1, a2})
	key.Model = b1.Model
	same(t, "of a model", rowsOf(t, s, key), []store.Row{b1})
	same(t, "since", rowsOf(t, s, store.Filter{Key: "k-rows-a", Since: noon.Add(time.Microsecond)}), []store.Row{b1})
	same(t, "until", rowsOf(t, s, store.Filter{Key: "k-rows-a", Until: b1.StartedAt}), []store.Row{a1, a2})
	same(t, "the newest", rowsOf(t, s, store.Filter{Key: "k-rows-a", Limit: 2}), []store.Row{a2, b1})
	same(t, "none", rowsOf(t, s, store.Filter{RequestID: "' OR 1=1 --"}), []store.Row(nil))
	if err := s.Intact(t.Context()); err != nil {
		t.Error(err)
	}
}

func testSpend(t *testing.T, p place) {
	s := p.open(t)
	const key = "k-spend"
	var rows []store.Row
	for i := range 100 {
		r := row(fmt.Sprintf("spend-%d", i), 1)
		r.Key, r.Team, r.Organisation = key, "team-spend", "org-spend"
		r.StartedAt = noon.AddDate(0, 0, i%3)
		rows = append(rows, r)
	}
	rows[0].CostNanoUSD = 1 << 62 // kept as MaxCost, so that no sum overflows
	for range 3 {                 // rows that are there are not summed again
		if _, err := s.InsertRows(t.Context(), rows[:50]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.InsertRows(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	midnight := at("2026-11-29T00:00:00Z")
	spend, err := s.Spend(t.Context(), noon, midnight.AddDate(0, 0, 2))
	if err != nil {
		t.Fatal(err)
	}
	var of []store.Spend
	for _, v := range spend {
		if v.Key == key {
			of = append(of, v)
		}
	}
	same(t, "two days", of, []store.Spend{
		{Day: midnight, Key: key, Team: "team-spend", Organisation: "org-spend", Model: "m", Calls: 34, InputTokens: 3400, OutputTokens: 680, CostNanoUSD: store.MaxCost + 33*12345},
		{Day: midnight.AddDate(0, 0, 1), Key: key, Team: "team-spend", Organisation: "org-spend", Model: "m", Calls: 33, InputTokens: 3300, OutputTokens: 660, CostNanoUSD: 33 * 12345},
	})
	sum, err := s.SpentByKey(t.Context(), key, noon.AddDate(0, 0, 1))
	if same(t, "by key", sum, int64(66*12345)); err != nil {
		t.Error(err)
	}
	sum, err = s.SpentByTeam(t.Context(), "team-spend", noon)
	if same(t, "by team", sum, int64(store.MaxCost+99*12345)); err != nil {
		t.Error(err)
	}
	sum, err = s.SpentByOrganisation(t.Context(), "org-spend", noon.AddDate(0, 0, 1))
	if same(t, "by organisation", sum, int64(66*12345)); err != nil {
		t.Error(err)
	}
	sum, err = s.SpentByKey(t.Context(), "nobody", noon)
	if same(t, "by nobody", sum, int64(0)); err != nil {
		t.Error(err)
	}
	astray, err := s.Astray(t.Context())
	if same(t, "astray", astray, []store.Spend(nil)); err != nil {
		t.Error(err)
	}
}

var admin = store.Actor{Name: "admin", Origin: "127.0.0.1"}

func testKeys(t *testing.T, p place) {
	s := p.open(t)
	k := store.Key{ID: "key_keys", Prefix: "psk_ab", SHA256: sha256.Sum256([]byte("one")), Name: "n", Team: "t", Settings: []byte(`{"rpm":1}`), CreatedAt: noon}
	if err := s.PutKey(t.Context(), admin, k); err != nil {
		t.Fatal(err)
	}
	other := k
	other.ID = "key_keys2"
	if err := s.PutKey(t.Context(), admin, other); err == nil {
		t.Error("two keys with one secret: want an error")
	}
	k.Name, k.Settings = "n2", []byte(`{"rpm":2}`)
	if err := s.PutKey(t.Context(), admin, k); err != nil {
		t.Fatal(err)
	}
	found := func(secret string, want store.Key, wantErr error) {
		t.Helper()
		got, err := s.Key(t.Context(), sha256.Sum256([]byte(secret)))
		if !errors.Is(err, wantErr) {
			t.Errorf("key %q: got %v, want %v", secret, err, wantErr)
		}
		same(t, "key "+secret, got, want)
	}
	found("one", k, nil)
	found("two", store.Key{}, store.ErrNotFound)
	k.Prefix, k.SHA256 = "psk_cd", sha256.Sum256([]byte("two"))
	k.PreviousSHA256, k.PreviousUntil = sha256.Sum256([]byte("one")), noon.Add(time.Hour)
	if err := s.RotateKey(t.Context(), admin, store.Rotation{ID: k.ID, Prefix: k.Prefix, SHA256: k.SHA256, Until: k.PreviousUntil}); err != nil {
		t.Fatal(err)
	}
	found("one", k, nil)
	found("two", k, nil)
	k.Prefix, k.SHA256 = "psk_ef", sha256.Sum256([]byte("three"))
	k.PreviousSHA256, k.PreviousUntil = [32]byte{}, time.Time{}
	if err := s.RotateKey(t.Context(), admin, store.Rotation{ID: k.ID, Prefix: k.Prefix, SHA256: k.SHA256}); err != nil {
		t.Fatal(err)
	}
	found("one", store.Key{}, store.ErrNotFound)
	found("two", store.Key{}, store.ErrNotFound)
	found("three", k, nil)
	if err := s.RevokeKey(t.Context(), admin, k.ID, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	k.RevokedAt = noon.Add(time.Hour)
	found("three", k, nil)
	if err := s.RevokeKey(t.Context(), admin, k.ID, noon); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoked again: got %v", err)
	}
	if err := s.RotateKey(t.Context(), admin, store.Rotation{ID: k.ID, SHA256: sha256.Sum256(nil)}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("rotated after the end: got %v", err)
	}
	keys, err := s.Keys(t.Context())
	if same(t, "all", keys, []store.Key{k}); err != nil {
		t.Error(err)
	}
	audited(t, s, "admin 127.0.0.1 key.revoke key_keys", "admin 127.0.0.1 key.rotate key_keys", "admin 127.0.0.1 key.rotate key_keys",
		"admin 127.0.0.1 key.put key_keys", "admin 127.0.0.1 key.put key_keys")
}

// audited compares the newest rows of the audit log: who, from where, did what to whom.
func audited(t *testing.T, s *store.Store, want ...string) {
	t.Helper()
	changes, err := s.Changes(t.Context(), len(want))
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, c := range changes {
		actions = append(actions, c.Actor+" "+c.Origin+" "+c.Action+" "+c.Subject)
	}
	same(t, "audit", actions, want)
}

func testTeams(t *testing.T, p place) {
	s := p.open(t)
	a, b := store.Team{ID: "a", Settings: []byte(`{"usd":1}`), CreatedAt: noon}, store.Team{ID: "b", Settings: []byte(`{}`), CreatedAt: noon}
	for _, team := range []store.Team{b, a} {
		if err := s.PutTeam(t.Context(), admin, team); err != nil {
			t.Fatal(err)
		}
	}
	teams, err := s.Teams(t.Context())
	if same(t, "teams", teams, []store.Team{a, b}); err != nil {
		t.Error(err)
	}
	if err := s.DeleteTeam(t.Context(), admin, "b"); err != nil {
		t.Error(err)
	}
	if err := s.DeleteTeam(t.Context(), admin, "b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted again: got %v", err)
	}
	teams, err = s.Teams(t.Context())
	if same(t, "teams", teams, []store.Team{a}); err != nil {
		t.Error(err)
	}
}

func testModels(t *testing.T, p place) {
	s := p.open(t)
	m := store.DisabledModel{Name: "org/model", At: noon, Reason: "too dear"}
	for _, m.Reason = range []string{"slow", "too dear"} {
		if err := s.DisableModel(t.Context(), admin, m); err != nil {
			t.Fatal(err)
		}
	}
	m.By = "admin"
	got, err := s.DisabledModels(t.Context())
	if same(t, "disabled", got, []store.DisabledModel{m}); err != nil {
		t.Error(err)
	}
	if err := s.EnableModel(t.Context(), admin, m.Name); err != nil {
		t.Error(err)
	}
	if err := s.EnableModel(t.Context(), admin, m.Name); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("enabled again: got %v", err)
	}
	got, err = s.DisabledModels(t.Context())
	if same(t, "disabled", got, []store.DisabledModel(nil)); err != nil {
		t.Error(err)
	}
}

func testFlags(t *testing.T, p place) {
	s := p.open(t)
	f := store.HealthFlag{Backend: "p|http://h|m", State: []byte(`{"phase":"open"}`), At: noon}
	for _, f.State = range [][]byte{[]byte(`{}`), []byte(`{"phase":"open"}`)} {
		if err := s.PutHealthFlag(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.HealthFlags(t.Context())
	if same(t, "flags", got, []store.HealthFlag{f}); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := s.DeleteHealthFlag(t.Context(), f.Backend); err != nil {
			t.Error(err)
		}
	}
	got, err = s.HealthFlags(t.Context())
	if same(t, "flags", got, []store.HealthFlag(nil)); err != nil {
		t.Error(err)
	}
}

func testDecisions(t *testing.T, p place) {
	s := p.open(t)
	seen, stale := sha256.Sum256([]byte("seen")), sha256.Sum256([]byte("stale"))
	for hash, data := range map[[32]byte]string{seen: "seen", stale: "stale"} {
		if err := s.PutDecisionFacts(t.Context(), hash, noon, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	d := func(id, router string, at time.Time, facts [32]byte) store.Decision {
		return store.Decision{RequestID: id, Router: router, At: at, Facts: facts, Input: []byte("in " + id), Outcome: []byte("out " + id)}
	}
	list := []store.Decision{d("d1", "auto", noon, stale), d("d1", "free", noon, stale), d("d2", "auto", noon.Add(time.Hour), seen)}
	for range 2 {
		if err := s.PutDecisions(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.DecisionsOf(t.Context(), "d1")
	if same(t, "of a request", got, list[:2]); err != nil {
		t.Error(err)
	}
	decided := func(router string, since time.Time) (got []store.Decision) {
		t.Helper()
		for d, err := range s.Decisions(t.Context(), router, since) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d)
		}
		return got
	}
	same(t, "of a router", decided("auto", time.Time{}), []store.Decision{list[0], list[2]})
	same(t, "since", decided("", noon.Add(time.Minute)), list[2:])
	if err := s.ForgetDecisions(t.Context(), noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	same(t, "after forgetting", decided("", time.Time{}), list[2:])
	if data, err := s.DecisionFacts(t.Context(), seen); string(data) != "seen" {
		t.Errorf("facts in use: got %q, %v", data, err)
	}
	if _, err := s.DecisionFacts(t.Context(), stale); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("facts out of use: got %v", err)
	}
}

// testEvents holds that a writer's own process is told before the write returns, and that another hears of it where the
// store is shared.
func testEvents(t *testing.T, p place) {
	s := p.open(t)
	own := make(chan store.Event, 300)
	cancel := s.Subscribe(store.DisabledModels, func(e store.Event) { own <- e })
	heard := make(chan store.Event, 300)
	if p.url != "" {
		other := p.open(t)
		defer other.Subscribe(store.DisabledModels, func(e store.Event) { heard <- e })()
		// The other may not listen yet; what it hears later than the first stands for all.
		awaitListener(t, s, heard)
	}
	want := store.Event{Kind: store.DisabledModels, ID: "events"}
	if err := s.DisableModel(t.Context(), admin, store.DisabledModel{Name: want.ID, At: noon}); err != nil {
		t.Fatal(err)
	}
	for len(own) > 1 {
		<-own
	}
	select {
	case got := <-own:
		same(t, "event", got, want)
	default:
		t.Error("not told before the write returned")
	}
	if p.url != "" {
		for got := range heard {
			if got == want {
				break
			}
		}
	}
	cancel()
	if err := s.EnableModel(t.Context(), admin, want.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.PutTeam(t.Context(), admin, store.Team{ID: "events"}); err != nil {
		t.Fatal(err)
	}
	if len(own) > 0 {
		t.Errorf("told after the end, or of another kind: %+v", <-own)
	}
}

// awaitListener writes until the other side hears.
func awaitListener(t *testing.T, s *store.Store, heard <-chan store.Event) {
	t.Helper()
	for range 200 {
		if err := s.DisableModel(t.Context(), admin, store.DisabledModel{Name: "first", At: noon}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-heard:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("the other gateway hears nothing")
}
