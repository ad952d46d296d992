package route

import (
	"sync"

	"github.com/penstock-gateway/penstock/core/catalog"
)

// Translator is implemented by a caller who can tell what translation for a deployment would drop of the request. It is
// asked only for policies that read that, and for one deployment at a time.
type Translator interface {
	Loses(d *catalog.Deployment) []string
}

// losses is what is known of that, each deployment asked about once. Branches look at it beside each other.
type losses struct {
	mu sync.Mutex // guards by
	by map[string][]string
}

// of gives what a deployment loses; nothing where the caller cannot tell.
func (l *losses) of(c Caller, d *catalog.Deployment) []string {
	ask, ok := c.(Translator)
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	list, known := l.by[d.ID]
	if !known {
		list = ask.Loses(d)
		if l.by == nil {
			l.by = map[string][]string{}
		}
		l.by[d.ID] = list
	}
	return list
}
