package admit

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/credential"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

// sealed puts a credential of an API key into the store.
func (s *slowStore) sealed(t *testing.T, seals *credential.Seals, o store.Owner, provider, secret string) {
	t.Helper()
	c := store.Credential{Owner: o, Provider: provider, Name: "main"}
	var err error
	c.SealedBy, c.Sealed, err = seals.Seal(credential.Binding{Kind: o.Kind, Owner: o.ID, Provider: provider, Name: c.Name}, map[string]string{"api_key": secret})
	if err != nil {
		t.Fatal(err)
	}
	s.creds = append(s.creds, c)
}

func sealsOf(t *testing.T, newest string, previous ...string) *credential.Seals {
	t.Helper()
	seals, err := credential.NewSeals(newest, previous...)
	if err != nil {
		t.Fatal(err)
	}
	return seals
}

// TestBrought: a key's own credential serves, else its team's, else the operator's; the configuration's beats the store's.
func TestBrought(t *testing.T) {
	seals := sealsOf(t, "an encryption key for these tests alone")
	s := &slowStore{}
	s.sealed(t, seals, store.Owner{Kind: store.OwnedByKey, ID: "id-ci"}, "a", "of the key")
	s.sealed(t, seals, store.Owner{Kind: store.OwnedByTeam, ID: "search"}, "a", "of the team")
	s.sealed(t, seals, store.Owner{Kind: store.OwnedByTeam, ID: "search"}, "b", "of the team")
	s.sealed(t, seals, store.Owner{Kind: store.OwnedByTeam, ID: "search"}, "c", "of the team, stored")
	s.sealed(t, sealsOf(t, "an encryption key that nobody has now"), store.Owner{Kind: store.OwnedByTeam, ID: "search"}, "d", "lost")
	a := New(Options{Counters: limits.NewMemory(time.Now()), Store: s, Log: slog.New(slog.DiscardHandler)})
	defer a.Close()
	in := &directory{seals: seals}
	own := config.Own{First: true, Credentials: []config.OwnCredential{{Provider: "c"}}}
	team := ConfiguredTeam(&config.Team{Name: "search", Own: own})
	key, err := StoredKey(&store.Key{ID: "id-ci", Name: "ci", Settings: []byte(`{}`)}, team, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, f := a.Brought(context.Background(), in, key)
	kind(t, "brought", f, sdk.KindNone)
	for _, c := range []struct {
		provider, secret, owner string
		first, broken           bool
	}{
		{"a", "of the key", "ci", false, false},
		{"b", "of the team", "search", true, false},
		{"c", "", "search", true, false},
		{"d", "", "search", true, true},
	} {
		o, owner, first := b.For(c.provider)
		if o == nil || owner != c.owner || first != c.first || o.Broken != c.broken || !c.broken && o.Credentials[0].Values["api_key"] != c.secret {
			t.Errorf("%s: %+v of %s, first %v", c.provider, o, owner, first)
		}
	}
	if o, _, _ := b.For("e"); o != nil || !b.Any() {
		t.Errorf("what nobody brings: %+v", o)
	}
	before, _, _ := b.For("a")
	gone, _, _ := b.For("b")
	s.change(func() { s.creds = s.creds[:1] })
	b, _ = a.Brought(context.Background(), in, key)
	if o, _, _ := b.For("a"); o != before {
		t.Error("a credential that has not changed was made anew")
	}
	if o, _, _ := b.For("b"); o == gone {
		t.Error("a credential that was removed is still there")
	}
	stranger, _ := StoredKey(&store.Key{ID: "id-other", Name: "ci", Settings: []byte(`{}`)}, nil, nil)
	if b, _ := a.Brought(context.Background(), in, stranger); b.Any() {
		t.Error("a key of the same name has what another brought")
	}
}

// TestSealsChange: a generation with other encryption keys decrypts what its own can, and what the others could stays theirs:
// what both can is the same to both.
func TestSealsChange(t *testing.T) {
	const oldKey, newKey = "an encryption key for these tests alone", "another one, for the same tests alone"
	old, both, alone := sealsOf(t, oldKey), sealsOf(t, newKey, oldKey), sealsOf(t, newKey)
	s := &slowStore{}
	team := store.Owner{Kind: store.OwnedByTeam, ID: "search"}
	s.sealed(t, old, team, "a", "by the old key")
	s.sealed(t, alone, team, "b", "by the new key")
	a := New(Options{Counters: limits.NewMemory(time.Now()), Store: s, Log: slog.New(slog.DiscardHandler)})
	defer a.Close()
	key := ConfiguredKey(&config.Key{Name: "ci"}, ConfiguredTeam(&config.Team{Name: "search"}), nil)
	find := func(in *credential.Seals, provider string) *Own {
		t.Helper()
		b, f := a.Brought(context.Background(), &directory{seals: in}, key)
		kind(t, "brought", f, sdk.KindNone)
		o, _, _ := b.For(provider)
		if o == nil {
			t.Fatalf("%s: nothing", provider)
		}
		return o
	}
	first := find(old, "a")
	for _, c := range []struct {
		what     string
		in       *credential.Seals
		provider string
		broken   bool
	}{
		{"the old key", old, "a", false}, {"the old key", old, "b", true},
		{"both", both, "a", false}, {"both", both, "b", false},
		{"the new key", alone, "a", true}, {"the new key", alone, "b", false},
		{"none", nil, "a", true},
		{"the old key again", old, "a", false},
	} {
		if o := find(c.in, c.provider); o.Broken != c.broken {
			t.Errorf("%s, %s: broken is %v, want %v", c.what, c.provider, o.Broken, c.broken)
		}
	}
	if find(both, "a"); find(old, "a") != find(both, "a") || first.Broken {
		t.Error("what both can decrypt is made anew")
	}
}

// TestBroughtWithoutStore: where nothing is known of what a key may bring, the operator does not pay for it.
func TestBroughtWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := func(what string, seals *credential.Seals, closed bool, want sdk.Kind) {
			t.Helper()
			s := &slowStore{err: errors.New("the disk is on fire")}
			a := New(Options{Counters: limits.NewMemory(time.Now()), Store: s, Log: slog.New(slog.DiscardHandler)})
			defer a.Close()
			_, got := a.Brought(context.Background(), &directory{closed: closed, seals: seals}, ConfiguredKey(&config.Key{Name: "ci"}, nil, nil))
			kind(t, what, got, want)
		}
		f("no encryption key: there is nothing to be brought", nil, false, sdk.KindNone)
		f("fail_closed", nil, true, sdk.StoreDown)
		f("an encryption key", sealsOf(t, "an encryption key for these tests alone"), false, sdk.StoreDown)
	})
}

// TestTwoSecrets: after a rotation with a grace both secrets are the key's, until it is over.
func TestTwoSecrets(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &slowStore{}
	secret := s.add(t, "ci", "", Settings{})
	old := NewSecret()
	sum, was := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(old))
	row := s.keys[sum]
	row.PreviousSHA256, row.PreviousUntil = was, now
	s.keys[sum], s.keys[was] = row, row
	a, done := admitter(s)
	defer done()
	f := func(what, secret string, at time.Time, want sdk.Kind) {
		t.Helper()
		_, got := a.Authenticate(context.Background(), &directory{}, []byte(secret), at)
		kind(t, what, got, want)
	}
	f("the old one in time", old, now.Add(-1), sdk.KindNone)
	f("the new one", secret, now.Add(-1), sdk.KindNone)
	f("the old one when its time is over", old, now, sdk.BadKey)
	f("the new one then", secret, now, sdk.KindNone)
}

// TestOrganisations: an organisation's models and limits are its teams' keys', wherever each of them is kept.
func TestOrganisations(t *testing.T) {
	s := &slowStore{
		teams: []store.Team{{ID: "search", Settings: []byte(`{"organisation":"acme"}`)}, {ID: "lost", Settings: []byte(`{"organisation":"nobody"}`)}},
		orgs:  []store.Organisation{{ID: "acme", Settings: []byte(`{"models":["m"],"limits":{"rpm":1,"itpm":5}}`)}},
	}
	a, done := admitter(s)
	defer done()
	configured := &directory{of: map[string]*Organisation{"acme": ConfiguredOrganisation(&config.Organisation{Name: "acme", Allowance: config.Allowance{RPM: 2}})}}
	secret, lost := s.add(t, "ci", "search", Settings{}), s.add(t, "x", "lost", Settings{})
	now := time.Now()
	f := func(what string, d *directory, rpm, itpm int64, other bool) {
		t.Helper()
		key, got := a.Authenticate(context.Background(), d, []byte(secret), now)
		if kind(t, what, got, sdk.KindNone); got != nil {
			return
		}
		l := key.Account.Levels
		if len(l) != 1 || l[0].Kind != "organisation" || l[0].PerMinute[limits.Requests] != rpm || l[0].PerMinute[limits.Input] != itpm || key.Organisation != "acme" {
			t.Errorf("%s: %+v of %q", what, l, key.Organisation)
		}
		if key.Allows("other") != other {
			t.Errorf("%s: another model: allowed %v", what, !other)
		}
	}
	f("of the store", &directory{}, 1, 5, false)
	f("of the configuration, which comes first", configured, 2, 0, true)
	f("of the store again", &directory{}, 1, 5, false)
	_, got := a.Authenticate(context.Background(), configured, []byte(lost), now)
	if kind(t, "an organisation that is not there", got, sdk.BadKey); got == nil || !strings.Contains(got.Message, "organisation") {
		t.Errorf("%v", got)
	}
}
