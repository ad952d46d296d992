package gateway

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/route"
)

// scratch is the memory that requests use one after the other.
type scratch struct {
	doc        jsonspan.Doc
	facts      dialect.Facts
	routing    route.Request
	decision   route.Decision
	candidates []relay.Candidate
	fields     []byte
	out        []byte
	task       relay.Task
	relaying   relay.Workspace
	entry      Entry
	request    request // the one that has the rest
}

// scratchPool keeps scratches of a bounded size.
type scratchPool struct{ pool sync.Pool }

func (p *scratchPool) get() *scratch {
	if s, ok := p.pool.Get().(*scratch); ok {
		return s
	}
	return new(scratch)
}

// maxScratch is the largest buffer that is kept.
const maxScratch = 64 << 10

func (p *scratchPool) put(s *scratch) {
	s.doc.Reset()
	clear(s.candidates)
	s.routing = route.Request{}
	s.task, s.entry, s.request = relay.Task{}, Entry{}, request{}
	if cap(s.out) > maxScratch {
		s.out = nil
	}
	p.pool.Put(s)
}

// idCoding writes ids that sort as their bytes do.
var idCoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newID makes a request's id: "req_" and 26 characters, of which the first ten are the time in milliseconds.
func newID(now time.Time) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(now.UnixMilli())<<16)
	rand.Read(raw[6:]) // never fails: crypto/rand
	var id [30]byte
	copy(id[:], "req_")
	idCoding.Encode(id[4:], raw[:])
	return string(id[:])
}
