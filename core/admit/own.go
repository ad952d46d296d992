package admit

import (
	"context"
	"crypto/sha256"

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

	version [sha256.Size]byte // of what the store has
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
		stored, err := a.own.Get(ctx, !d.FailClosed())
		switch {
		case err == nil && len(stored) > 0:
			id := key.ID
			if id == "" {
				id = key.Name
			}
			b.purses[1] = stored[store.Owner{Kind: store.OwnedByKey, ID: id}]
			b.purses[3] = stored[store.Owner{Kind: store.OwnedByTeam, ID: key.Team}]
		case err != nil && (a.seals.By() != "" || d.FailClosed()):
			return b, a.storeDown("credentials", err)
		}
	}
	for _, p := range b.purses {
		b.any = b.any || len(p) > 0
	}
	return b, nil
}

// readOwn reads and decrypts all credentials of the store. What has not changed since the last time stays the same Own.
func (a *Admitter) readOwn(ctx context.Context) (map[store.Owner]purse, error) {
	rows, err := a.store.Credentials(ctx)
	if err != nil {
		return nil, err
	}
	before := a.ownBefore.Load()
	all := map[store.Owner]purse{}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Owner == rows[0].Owner && rows[n].Provider == rows[0].Provider {
			n++
		}
		o := a.open(rows[:n], before)
		if all[rows[0].Owner] == nil {
			all[rows[0].Owner] = purse{}
		}
		all[rows[0].Owner][o.Provider] = o
		rows = rows[n:]
	}
	a.ownBefore.Store(&all)
	return all, nil
}

// open decrypts the credentials of one owner for one provider.
func (a *Admitter) open(rows []store.Credential, before *map[store.Owner]purse) *Own {
	o := &Own{Kind: rows[0].Owner.Kind, Provider: rows[0].Provider, version: versionOf(rows)}
	if before != nil {
		if old := (*before)[rows[0].Owner][o.Provider]; old != nil && old.version == o.version {
			return old
		}
	}
	for i := range rows {
		r := &rows[i]
		values, err := a.seals.Open(credential.Binding{Kind: r.Owner.Kind, Owner: r.Owner.ID, Provider: r.Provider, Name: r.Name}, r.SealedBy, r.Sealed)
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

// versionOf tells what the store has for an owner and a provider from what it had before: what is sealed is never twice
// the same.
func versionOf(rows []store.Credential) (sum [sha256.Size]byte) {
	h := sha256.New()
	for i := range rows {
		sealed := sha256.Sum256(rows[i].Sealed)
		h.Write(sealed[:])
	}
	h.Sum(sum[:0])
	return sum
}
