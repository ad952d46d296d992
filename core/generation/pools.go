package generation

import (
	"sync"

	"github.com/penstock-gateway/penstock/core/h1"
)

// pools shares connection pools between generations, so that a reload does not close connections that the next
// generation would open again.
type pools struct {
	mu  sync.Mutex // guards all
	all map[poolKey]*sharedPool
}

// poolKey is what makes two pools the same.
type poolKey struct {
	scheme, host string
	ca           string // file of the provider's own authorities; "" the system's
	http2        bool
}

type sharedPool struct {
	pool *h1.Pool
	refs int
}

// acquire gives the pool of a key, made by open where there is none, and what lets it go.
func (p *pools) acquire(key poolKey, open func() (*h1.Pool, error)) (*h1.Pool, release, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.all[key]
	if s == nil {
		pool, err := open()
		if err != nil {
			return nil, nil, err
		}
		s = &sharedPool{pool: pool}
		if p.all == nil {
			p.all = map[poolKey]*sharedPool{}
		}
		p.all[key] = s
	}
	s.refs++
	return s.pool, func() { p.release(key, s) }, nil
}

func (p *pools) release(key poolKey, s *sharedPool) {
	p.mu.Lock()
	s.refs--
	last := s.refs == 0
	if last {
		delete(p.all, key)
	}
	p.mu.Unlock()
	if last {
		s.pool.Close()
	}
}
