package admit

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/credential"
	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

// Own is the credentials that a key or a team brings itself for one provider. It does not change, and is the same as long
// as they are.
type Own struct {
	Kind        string // of the owner: store.OwnedByKey, store.OwnedByTeam
	Provider    string
	Credentials []OwnCredential // in the order in which they are asked with
	Broken      bool            // one of them cannot be decrypted: none is to be used, nor the operator's in their place

	version [sha256.Size]byte // of what the store has, and of which of it there is a key for
}

// OwnCredential is one of them.
type OwnCredential struct {
	Name   string
	Values map[string]string // never to be printed
}

// purse is what an owner brings, by provider.
type purse map[string]*Own

// configuredName is the name of a credential of the configuration, which has one for each owner and provider.
const configuredName = "main"

// purseOf makes the purse of an owner of the configuration; nil where it brings nothing.
func purseOf(kind string, list []config.OwnCredential) purse {
	var p purse
	for _, c := range list {
		values := make(map[string]string, len(c.Values))
		for name, v := range c.Values {
			values[name] = v.Reveal()
		}
		if p == nil {
			p = purse{}
		}
		p[c.Provider] = &Own{Kind: kind, Provider: c.Provider, Credentials: []OwnCredential{{configuredName, values}}}
	}
	return p
}

// ConfiguredOwn gives the credentials that the configuration has for the key itself, for a provider; nil: none.
func (k *Key) ConfiguredOwn(provider string) *Own { return k.brings[provider] }

// ConfiguredOwn gives the credentials that the configuration has for the team, for a provider; nil: none.
func (t *Team) ConfiguredOwn(provider string) *Own { return t.brings[provider] }

// Brought is what a request's key and team bring of credentials. The zero Brought is nothing.
type Brought struct {
	key    *Key
	purses [4]purse // the key's, configured and stored, then its team's
	any    bool
}

// Any says whether there is anything.
func (b *Brought) Any() bool { return b.any }

// For gives the credentials with which a provider is asked, the name of their owner, and whether the operator's may serve
// after them: the key's own where it has some, else its team's. It is nil where the operator's serve.
func (b *Brought) For(provider string) (o *Own, owner string, first bool) {
	if !b.any {
		return nil, "", false
	}
	for i, p := range b.purses {
		if o := p[provider]; o != nil && i < 2 {
			return o, b.key.Name, b.key.ownFirst
		} else if o != nil {
			return o, b.key.Team, b.key.teamFirst
		}
	}
	return nil, "", false
}

// Brought finds what a key and its team bring. Where the store does not answer and nothing is known of what it has, the
// request is refused if there may be something, whatever the choice for outages: else it could be the operator who pays.
func (a *Admitter) Brought(ctx context.Context, d Directory, key *Key) (b Brought, f *sdk.Failure) {
	b.key = key
	b.purses[0], b.purses[2] = key.brings, key.teamBrings
	if a.store != nil && key.Account != nil {
		of, err := a.own.Get(ctx, !d.FailClosed())
		switch {
		case err == nil && len(of.rows) > 0:
			stored := a.opened(of, d.Seals())
			id := key.ID
			if id == "" {
				id = key.Name
			}
			b.purses[1] = stored[store.Owner{Kind: store.OwnedByKey, ID: id}]
			b.purses[3] = stored[store.Owner{Kind: store.OwnedByTeam, ID: key.Team}]
		case err != nil && (d.Seals().By() != "" || d.FailClosed()):
			return b, a.storeDown("credentials", err)
		}
	}
	for _, p := range b.purses {
		b.any = b.any || len(p) > 0
	}
	return b, nil
}

// sealed is the credentials of the store as they were read, those of one owner for one provider beside each other.
type sealed struct{ rows []store.Credential }

// purses are the credentials of the store as they were last decrypted.
type purses struct {
	last atomic.Pointer[decrypted]
	mu   sync.Mutex // held while they are decrypted anew
}

// decrypted is what some keys made of what was read.
type decrypted struct {
	of  *sealed
	by  *credential.Seals
	all map[store.Owner]purse
}

// readOwn reads all credentials of the store, and decrypts them with the keys that were last in use.
func (a *Admitter) readOwn(ctx context.Context) (*sealed, error) {
	rows, err := a.store.Credentials(ctx)
	if err != nil {
		return nil, err
	}
	of := &sealed{rows}
	if last := a.purses.last.Load(); last != nil {
		a.opened(of, last.by)
	}
	return of, nil
}

// opened gives what was read, decrypted by some keys: anew where it was read anew, or where the keys are others. What has not
// changed meanwhile stays the same Own.
func (a *Admitter) opened(of *sealed, by *credential.Seals) map[store.Owner]purse {
	last := a.purses.last.Load()
	if last != nil && last.of == of && last.by == by {
		return last.all
	}
	a.purses.mu.Lock()
	defer a.purses.mu.Unlock()
	if last = a.purses.last.Load(); last != nil && last.of == of && last.by == by {
		return last.all
	}
	var before map[store.Owner]purse
	if last != nil {
		before = last.all
	}
	all := a.open(of.rows, by, before)
	a.purses.last.Store(&decrypted{of, by, all})
	return all
}

// open decrypts credentials.
func (a *Admitter) open(rows []store.Credential, by *credential.Seals, before map[store.Owner]purse) map[store.Owner]purse {
	all := map[store.Owner]purse{}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Owner == rows[0].Owner && rows[n].Provider == rows[0].Provider {
			n++
		}
		o := a.openOne(rows[:n], by, before)
		if all[rows[0].Owner] == nil {
			all[rows[0].Owner] = purse{}
		}
		all[rows[0].Owner][o.Provider] = o
		rows = rows[n:]
	}
	return all
}

// openOne decrypts the credentials of one owner for one provider.
func (a *Admitter) openOne(rows []store.Credential, by *credential.Seals, before map[store.Owner]purse) *Own {
	o := &Own{Kind: rows[0].Owner.Kind, Provider: rows[0].Provider, version: versionOf(rows, by)}
	if old := before[rows[0].Owner][o.Provider]; old != nil && old.version == o.version {
		return old
	}
	for i := range rows {
		r := &rows[i]
		values, err := by.Open(credential.Binding{Kind: r.Owner.Kind, Owner: r.Owner.ID, Provider: r.Provider, Name: r.Name}, r.SealedBy, r.Sealed)
		if err != nil {
			a.log.Error("credential: it cannot be decrypted, its owner's requests are refused", r.Owner.Kind, r.Owner.ID,
				"provider", r.Provider, "credential", r.Name, "error", err)
			o.Broken = true
			continue
		}
		o.Credentials = append(o.Credentials, OwnCredential{r.Name, values})
	}
	return o
}

// versionOf tells what the store has for an owner and a provider from what it had before, and what can be decrypted of it
// from what could: what is sealed is never twice the same.
func versionOf(rows []store.Credential, by *credential.Seals) (sum [sha256.Size]byte) {
	h := sha256.New()
	for i := range rows {
		sealed := sha256.Sum256(rows[i].Sealed)
		h.Write(sealed[:])
		if by.Opens(rows[i].SealedBy) {
			h.Write([]byte{1})
		} else {
			h.Write([]byte{0})
		}
	}
	h.Sum(sum[:0])
	return sum
}
