package h2

import "sync"

// The blocks that an answer is kept in are small where its reader may be slow: of the last one part is empty.
const (
	smallBlock = 4 << 10
	largeBlock = 16 << 10
)

// blocks are for the process, by size: streams come and go, and their memory is all of these.
var smallBlocks, largeBlocks sync.Pool

// block is some of an answer.
type block struct{ b []byte }

// body is what has come of an answer and is not taken.
type body struct {
	blocks []*block // oldest first
	lent   *block   // given by next, in use until release
	large  bool
}

func (y *body) pool() *sync.Pool {
	if y.large {
		return &largeBlocks
	}
	return &smallBlocks
}

// append copies data behind what is there.
func (y *body) append(data []byte) {
	for len(data) > 0 {
		last := len(y.blocks) - 1
		if last < 0 || len(y.blocks[last].b) == cap(y.blocks[last].b) {
			y.blocks = append(y.blocks, y.empty())
			last++
		}
		b := y.blocks[last]
		n := min(cap(b.b)-len(b.b), len(data))
		b.b = append(b.b, data[:n]...)
		data = data[n:]
	}
}

func (y *body) empty() *block {
	if b, ok := y.pool().Get().(*block); ok {
		return b
	}
	return &block{make([]byte, 0, y.blockSize())}
}

func (y *body) blockSize() int {
	if y.large {
		return largeBlock
	}
	return smallBlock
}

// next gives the oldest bytes; nil: there are none.
func (y *body) next() []byte {
	if len(y.blocks) == 0 {
		return nil
	}
	y.lent = y.blocks[0]
	n := copy(y.blocks, y.blocks[1:])
	y.blocks[n] = nil
	y.blocks = y.blocks[:n]
	return y.lent.b
}

// release takes back what next gave, and says how much that was.
func (y *body) release() int {
	if y.lent == nil {
		return 0
	}
	n := len(y.lent.b)
	y.put(y.lent)
	y.lent = nil
	return n
}

func (y *body) put(b *block) {
	b.b = b.b[:0]
	y.pool().Put(b)
}

// free gives all back.
func (y *body) free() {
	y.release()
	for _, b := range y.blocks {
		y.put(b)
	}
	y.blocks = nil
}
