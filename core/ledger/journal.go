package ledger

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/penstock-gateway/penstock/sdk"
)

// A journal is a file of a head and cells. It is written through a mapping, in the machine's own order of bytes, and read
// again on the same machine.
type journal struct {
	file  *os.File // locked for as long as its process lives
	mem   []byte
	cells []cell
}

// head is the start of a journal; the cells begin after headSize bytes.
type head struct {
	magic    [8]byte
	version  uint32
	cellSize uint32
	cells    uint64
	order    uint64 // reads as order where the machine has the writer's order of bytes
}

const (
	headSize       = 4096
	cellSize       = 1024
	journalVersion = 2
	byteOrder      = 0x0102030405060708
	maxJournals    = 16 // of processes that live in one folder at once, and of dead ones
	maxCells       = 1 << 20
)

var magic = [8]byte{'p', 'e', 'n', 's', 't', 'o', 'c', 'k'}

// state is where a call is.
type state uint64

const (
	free     state = iota
	reserved       // nothing was sent
	sent           // something may have been sent
	ended          // its row is not in the store yet
	intended       // as reserved, but flushed: what a disk shows may have been sent since
)

// cell is one call in the journal. Its word holds the call's number and state, and is stored last: what it says has been
// written before.
type cell struct {
	word   atomic.Uint64 // number << stateBits | state
	sum    uint64        // of made and text
	endSum uint64        // of end
	end    ending
	made   made
	text   [cellSize - unsafe.Sizeof(made{}) - unsafe.Sizeof(ending{}) - 24]byte // the call's texts, one behind the other
}

const stateBits = 3

// made is what of a call has a fixed width.
type made struct {
	seq                                                                     uint64
	attempt, generation, started                                            int64 // started: microseconds since 1970
	estimateInput, estimateOutput, estimateCost                             int64
	requestID, key, team, model, provider, deployment, upstream, credential uint16 // lengths
	size                                                                    uint16 // of all texts
	organisation                                                            uint16 // a length
}

// put is a cell's word.
func put(seq uint64, s state) uint64 { return seq<<stateBits | uint64(s) }

// reserve writes a call into a free cell. Texts that find no place are cut: only a recovery reads them, and a request's ID
// stands first.
func (c *cell) reserve(seq uint64, call *Call, s state) {
	c.made = made{seq: seq, attempt: int64(call.Attempt), generation: call.Generation, started: call.Started.UnixMicro(),
		estimateInput: call.Estimate.Input, estimateOutput: call.Estimate.Output,
		estimateCost: call.Price.Cost(call.Estimate.within(sdk.Usage{}), call.Images)}
	c.add(&c.made.requestID, call.RequestID)
	c.add(&c.made.key, call.Key)
	c.add(&c.made.team, call.Team)
	c.add(&c.made.organisation, call.Organisation)
	c.add(&c.made.model, call.Model)
	c.add(&c.made.provider, call.Provider)
	c.add(&c.made.deployment, call.Deployment)
	c.add(&c.made.upstream, call.Upstream)
	c.add(&c.made.credential, call.Credential)
	c.sum = c.callSum()
	c.word.Store(put(seq, s))
}

func (c *cell) add(length *uint16, s string) {
	n := copy(c.text[c.made.size:], s)
	*length = uint16(n)
	c.made.size += uint16(n)
}

// sent notes that the call may have reached its upstream; nothing where the cell is another call's.
func (c *cell) sent(seq uint64) {
	if !c.word.CompareAndSwap(put(seq, reserved), put(seq, sent)) {
		c.word.CompareAndSwap(put(seq, intended), put(seq, sent))
	}
}

func (c *cell) wasSent(seq uint64) bool { return c.word.Load() == put(seq, sent) }

func (c *cell) settle(seq uint64, e *ending) {
	e.seq = seq
	c.end = *e
	c.endSum = c.endingSum()
	c.word.Store(put(seq, ended))
}

func (c *cell) release(seq uint64) { c.word.Store(put(seq, free)) }

func (c *cell) state() state { return state(c.word.Load() & (1<<stateBits - 1)) }

func (c *cell) seq() uint64 { return c.word.Load() >> stateBits }

// callSum is the checksum of the call: made and the texts behind it.
func (c *cell) callSum() uint64 {
	size := unsafe.Sizeof(c.made) + uintptr(min(int(c.made.size), len(c.text)))
	return xxhash.Sum64(unsafe.Slice((*byte)(unsafe.Pointer(&c.made)), size))
}

func (c *cell) endingSum() uint64 {
	return xxhash.Sum64(unsafe.Slice((*byte)(unsafe.Pointer(&c.end)), unsafe.Sizeof(c.end)))
}

// call reads a call back, all but its price; false where the cell is damaged.
func (c *cell) call() (Call, bool) {
	m := &c.made
	if m.seq != c.seq() || int(m.size) > len(c.text) || c.sum != c.callSum() {
		return Call{}, false
	}
	text := c.text[:m.size]
	next := func(n uint16) string {
		s := text[:min(int(n), len(text))]
		text = text[len(s):]
		return string(s)
	}
	return Call{RequestID: next(m.requestID), Key: next(m.key), Team: next(m.team), Organisation: next(m.organisation), Model: next(m.model),
		Provider: next(m.provider), Deployment: next(m.deployment), Upstream: next(m.upstream), Credential: next(m.credential),
		Attempt: int(m.attempt), Generation: m.generation, Started: time.UnixMicro(m.started),
		Estimate: Estimate{Input: m.estimateInput, Output: m.estimateOutput}}, true
}

// errLive is why a journal is not taken: its process lives.
var errLive = errors.New("its process lives")

// lock opens a journal's file and locks it for this process. Where another has it, that is errLive; one that only looks has
// it for a moment, which is waited for.
func lock(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|flags, 0o600)
	if err != nil {
		return nil, err
	}
	for range 3 {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLive
	}
	return nil, fmt.Errorf("%s: lock: %w", path, err)
}

// takeJournal takes the first journal of a folder that no process has, with so many free cells. What it held must have been
// recovered.
func takeJournal(dir string, cells int) (*journal, error) {
	for n := range maxJournals {
		path := journalPath(dir, n)
		f, err := lock(path, os.O_CREATE)
		if errors.Is(err, errLive) {
			continue
		}
		if err != nil {
			return nil, errors.New("ledger: " + err.Error())
		}
		j, err := useJournal(f, min(cells, maxCells))
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("ledger: %s: %w", path, err)
		}
		return j, nil
	}
	return nil, fmt.Errorf("ledger: %s: %d processes have journals here, want fewer", dir, maxJournals)
}

// useJournal maps a journal whose cells are free, and writes it before where it is not as is wanted. Every byte is written
// then: a mapping with a hole would end the process where the disk is full.
func useJournal(f *os.File, cells int) (*journal, error) {
	size := headSize + int64(cells)*cellSize
	fits, err := hasSize(f, size)
	if err != nil {
		return nil, err
	}
	if !fits {
		if err := f.Truncate(0); err != nil {
			return nil, err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		if _, err := io.CopyN(f, zeros{}, size); err != nil {
			return nil, err
		}
	}
	j, err := mapJournal(f, size)
	if err != nil {
		return nil, err
	}
	// The head is the last to be written: a journal that has one is whole.
	*(*head)(unsafe.Pointer(&j.mem[0])) = head{magic, journalVersion, cellSize, uint64(cells), byteOrder}
	return j, nil
}

// hasSize says whether a journal has a head and a size.
func hasSize(f *os.File, size int64) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() != size {
		return false, err
	}
	var m [len(magic)]byte
	_, err = f.ReadAt(m[:], 0)
	return m == magic, err
}

func mapJournal(f *os.File, size int64) (*journal, error) {
	mem, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	return &journal{f, mem, cellsOf(mem)}, nil
}

// cellsOf sees the bytes behind the head as cells.
func cellsOf(mem []byte) []cell {
	n := (len(mem) - headSize) / cellSize
	if n <= 0 {
		return nil
	}
	return unsafe.Slice((*cell)(unsafe.Pointer(&mem[headSize])), n)
}

// readJournal reads the cells of a journal, of a process that lives or not. An empty file has none.
func readJournal(f io.ReaderAt, size int64) ([]cell, error) {
	if size < headSize {
		return nil, nil
	}
	mem := make([]byte, min(size, headSize+maxCells*cellSize))
	if _, err := f.ReadAt(mem, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	h := (*head)(unsafe.Pointer(&mem[0]))
	switch {
	case h.magic == [8]byte{}: // its process died before it wrote the head
		return nil, nil
	case h.magic != magic || h.order != byteOrder:
		return nil, errors.New("want a journal that was written on this machine")
	case h.version != journalVersion && h.cellSize == cellSize && allFree(cellsOf(mem)):
		return nil, nil // an older penstock has closed it
	case h.version != journalVersion || h.cellSize != cellSize:
		return nil, fmt.Errorf("version %d: want %d: end it with the penstock that wrote it", h.version, journalVersion)
	}
	return cellsOf(mem), nil
}

// allFree says whether no cell has a call. The word stands first in the cells of all versions.
func allFree(cells []cell) bool {
	for i := range cells {
		if cells[i].state() != free {
			return false
		}
	}
	return true
}

// release gives the journal up to others. The mapping stays, and ends with its ledger; it would hold the lock, too.
func (j *journal) release() error {
	err := syscall.Flock(int(j.file.Fd()), syscall.LOCK_UN)
	return errors.Join(err, j.file.Close())
}

func unmap(mem []byte) { syscall.Munmap(mem) } // there is nobody to tell

// zeros are read without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func digits(n int) string { return strconv.Itoa(n) }
