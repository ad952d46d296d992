package generation

import (
	"fmt"
	"slices"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/credential"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/sdk"
)

// authorize makes what authorizes the provider's requests, for each of its credentials. A provider that wants a credential
// may have none where callers can bring their own.
func (c *compilation) authorize(p *catalog.Provider, process *pluginhost.Process) (list []*relay.Credential, ok bool) {
	if !wantsCredential(&p.Auth) {
		return nil, true
	}
	at := "providers." + p.ID + ".credentials"
	if len(p.Credentials) == 0 {
		if !c.bringable(p.ID) {
			c.fail(at, "credentials: [{name: main, api_key: \"${…}\"}]", "the provider wants a credential")
			return nil, false
		}
		c.gen.tenants.keyless = append(c.gen.tenants.keyless, p.ID)
	}
	for i, cr := range p.Credentials {
		made, release, err := c.credential(p, process, cr)
		if err != nil {
			c.fail(fmt.Sprintf("%s[%d]", at, i), "", "credential %q: %v", cr.Name, err)
			continue
		}
		c.keep(release)
		list = append(list, made)
	}
	return list, len(list) == len(p.Credentials)
}

// wantsCredential says whether requests must be authorized.
func wantsCredential(a *sdk.Auth) bool {
	return a.Kind != "none" && (a.Kind != "" && a.Kind != "header" || a.Header != "")
}

// bringable says whether there may be a caller with a credential of its own for a provider.
func (c *compilation) bringable(provider string) bool {
	if c.cfg.Encryption.Key.Reveal() != "" {
		return true
	}
	brings := func(o *config.Own) bool {
		return slices.ContainsFunc(o.Credentials, func(cr config.OwnCredential) bool { return cr.Provider == provider })
	}
	return slices.ContainsFunc(c.cfg.Keys, func(k config.Key) bool { return brings(&k.Own) }) ||
		slices.ContainsFunc(c.cfg.Teams, func(t config.Team) bool { return brings(&t.Own) })
}

// credential makes what authorizes requests with one credential, and what lets it go. Where it has the members of the
// header's format, its line is made here and the plugin never sees it.
func (b *Builder) credential(p *catalog.Provider, from credential.Authorizer, cr catalog.Credential) (*relay.Credential, release, error) {
	secret := credential.Secret{Provider: p.Instance, Name: cr.Name, Values: cr.Values}
	a, made := p.Auth, &relay.Credential{Name: cr.Name, Account: cr.Name + " (" + secret.Mark() + ")"}
	if err := credential.Check(a, secret); err != nil {
		return nil, nil, err
	}
	line, ok, err := credential.Line(a, secret)
	switch {
	case err != nil:
		return nil, nil, err
	case ok:
		made.Authorize = func(*relay.Signing) ([]byte, error) { return line, nil }
	case a.Kind == "token":
		token, release := b.tokens.Acquire(from, secret, b.Log)
		made.Authorize = func(*relay.Signing) ([]byte, error) { return token.Fields() }
		made.Refused = token.Refused
		return made, release, nil
	default:
		signer := credential.NewSigner(from, secret)
		made.Authorize = func(s *relay.Signing) ([]byte, error) {
			return signer.Fields(credential.Request{Method: s.Method, URL: s.URL(), Fields: s.Fields, Segments: s.Segments})
		}
	}
	return made, func() {}, nil
}

// Seals gives the encryption keys of what the store keeps encrypted; see admit.Directory and keyring.Configuration.
func (g *Generation) Seals() *credential.Seals { return g.seals }

// seal makes the encryption keys ready. A change is refused that leaves out the key of a credential which can be decrypted
// now: its owner's requests would be refused. While the store does not answer, nothing is.
func (c *compilation) seal() {
	previous := make([]string, len(c.cfg.Encryption.Previous))
	for i, key := range c.cfg.Encryption.Previous {
		previous[i] = key.Reveal()
	}
	var err error
	if c.gen.seals, err = credential.NewSeals(c.cfg.Encryption.Key.Reveal(), previous...); err != nil {
		c.fail("store.encryption", "", "%v", err)
		return
	}
	if c.Keys == nil || c.before == nil {
		return
	}
	stored, err := c.Keys.Credentials(c.ctx)
	if err != nil {
		c.Log.Warn("generation: encryption keys are not compared with the credentials of the store", "error", err)
		return
	}
	lost := map[string]int{}
	for i := range stored {
		if by := stored[i].SealedBy; c.before.seals.Opens(by) && !c.gen.seals.Opens(by) {
			lost[by]++
		}
	}
	for by, n := range lost {
		c.refuse("store.encryption.previous", "keep the key here until `penstock credentials rotate` has encrypted them anew",
			"%d credentials of the store are encrypted by the key %s: want that key too", n, by)
	}
}
