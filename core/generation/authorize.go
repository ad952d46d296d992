package generation

import (
	"fmt"
	"strings"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/relay"
)

// authorize makes what authorizes the provider's requests, for each of its credentials.
func authorize(p *catalog.Provider) ([]*relay.Credential, error) {
	a := p.Auth
	switch a.Kind {
	case "none":
		return nil, nil
	case "", "header":
	default:
		return nil, fmt.Errorf("auth kind %q: not in force yet", a.Kind)
	}
	if a.Header == "" {
		return nil, nil
	}
	if len(p.Credentials) == 0 {
		return nil, fmt.Errorf("the provider wants a credential")
	}
	var list []*relay.Credential
	for i := range p.Credentials {
		c := &p.Credentials[i]
		value := a.Format
		for name, v := range c.Values {
			value = strings.ReplaceAll(value, "{"+name+"}", v)
		}
		if strings.ContainsAny(value, "{}\r\n") {
			return nil, fmt.Errorf("credential %q: want the members that %q names, as one line each", c.Name, a.Format)
		}
		line := []byte(a.Header + ": " + value + "\r\n")
		list = append(list, &relay.Credential{Name: c.Name, Authorize: func(*relay.Signing) ([]byte, error) { return line, nil }})
	}
	return list, nil
}
