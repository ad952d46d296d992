package generation

import (
	"fmt"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/credential"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/core/relay"
)

// authorize makes what authorizes the provider's requests, for each of its credentials. Where the credential has the
// members of the header's format, its line is made here and the plugin never sees it.
func (c *compilation) authorize(p *catalog.Provider, process *pluginhost.Process) ([]*relay.Credential, error) {
	a := p.Auth
	plain := a.Kind == "" || a.Kind == "header"
	if a.Kind == "none" || plain && a.Header == "" {
		return nil, nil
	}
	if len(p.Credentials) == 0 {
		return nil, fmt.Errorf("the provider wants a credential")
	}
	var list []*relay.Credential
	for _, cr := range p.Credentials {
		made := &relay.Credential{Name: cr.Name}
		secret := credential.Secret{Provider: p.Instance, Name: cr.Name, Values: cr.Values}
		line, ok, err := credential.Line(a, secret)
		switch {
		case err != nil:
			return nil, fmt.Errorf("credential %q: %w", cr.Name, err)
		case ok:
			made.Authorize = func(*relay.Signing) ([]byte, error) { return line, nil }
		case plain:
			return nil, fmt.Errorf("credential %q: want the members that %q names", cr.Name, a.Format)
		case a.Kind == "token":
			token, release := c.tokens.Acquire(process, secret, c.Log)
			c.keep(release)
			made.Authorize = func(*relay.Signing) ([]byte, error) { return token.Fields() }
			made.Refused = token.Refused
		default:
			signer := credential.NewSigner(process, secret)
			made.Authorize = func(s *relay.Signing) ([]byte, error) { return signer.Fields(credential.Request(*s)) }
		}
		list = append(list, made)
	}
	return list, nil
}
