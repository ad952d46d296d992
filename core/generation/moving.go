package generation

import (
	"net/url"
	"strings"
	"sync"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/pluginhost"
)

// moving is the address of a provider whose plugin says where the service is: the plugin's next process may say another.
type moving struct {
	builder  *Builder
	conf     *config.Provider
	process  *pluginhost.Process
	instance string
	path     string // of the address that targets were made for

	mu   sync.Mutex // guards what follows
	base string     // as the plugin said it last
	now  *url.URL
	pool *h1.Pool
	free release
}

// moved gives the pool and the target where the service is now.
func (m *moving) moved(target string) (*h1.Pool, string) {
	base := m.process.Configured(m.instance).BaseURL
	m.mu.Lock()
	defer m.mu.Unlock()
	if base != m.base {
		m.move(base)
	}
	return m.pool, strings.TrimRight(m.now.Path, "/") + strings.TrimPrefix(target, strings.TrimRight(m.path, "/"))
}

// move takes up another address; one that is none leaves the old in place.
func (m *moving) move(base string) {
	u, err := address("", base)
	if err != nil {
		return
	}
	pool, free, err := m.builder.openPool(m.conf, u)
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
