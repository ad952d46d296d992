package generation

import (
	"net/url"
	"strings"
	"sync"

	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/core/reach"
)

// moving is the address of a provider whose plugin says where the service is: the plugin's next process may say another.
type moving struct {
	network  *reach.Network
	options  reach.Options
	process  *pluginhost.Process
	instance string
	path     string // of the address that targets were made for

	mu   sync.Mutex // guards what follows
	base string     // as the plugin said it last
	now  *url.URL
	pool *h1.Pool
	free release
}

// Place gives the place where the service is now.
func (m *moving) Place(target string) reach.Place {
	base := m.process.Configured(m.instance).BaseURL
	m.mu.Lock()
	defer m.mu.Unlock()
	if base != m.base {
		m.move(base)
	}
	return reach.Place{Pool: m.pool, Base: m.now, Target: strings.TrimRight(m.now.Path, "/") + strings.TrimPrefix(target, strings.TrimRight(m.path, "/"))}
}

// Unreached has no other place to give.
func (m *moving) Unreached(reach.Place, error) bool { return false }

// move takes up another address; one that is none leaves the old in place.
func (m *moving) move(base string) {
	u, err := address("", base)
	if err != nil {
		return
	}
	pool, free, err := m.network.Pool(u, m.options)
	if err != nil {
		return
	}
	m.free()
	m.base, m.now, m.pool, m.free = base, u, pool, free
}

// close lets the pool go.
func (m *moving) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free()
}
