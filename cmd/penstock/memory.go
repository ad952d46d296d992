package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// memoryEvery is how often the memory in use is looked at.
const memoryEvery = 250 * time.Millisecond

// watchMemory keeps less important requests out while more of the memory limit is in use than limits.memory allows, until
// ctx ends.
func (p *process) watchMemory(ctx context.Context) {
	limit := memoryLimit()
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	short, percent := false, usualPercent
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		percent = collectBy(percent)
		used, allowed := memoryUsed(), p.memoryAllowed(limit)
		if now := used > allowed; now != short {
			short = now
			p.gateway.Gate.Tighten(short)
			p.log.Warn("memory: the limit of requests is on", "short", short, "used_bytes", used, "allowed_bytes", allowed)
		}
	}
}

// usualPercent is the runtime's own: a collection begins when as much has been allocated as the last one left.
const usualPercent = 100

// What may be allocated between two collections: so much and a sixteenth of what is in use, but a tenth of that at the
// least. A large heap is mostly the bytes of waiting answers, which cost nothing to look through, and must not take twice
// their memory.
const (
	heapSlack    = 32 << 20
	heapShare    = 16
	leastPercent = 10
)

// collectBy has collections begin by what is in use, and gives the percentage that holds now. Who sets GOGC has decided it.
func collectBy(percent int) int {
	if os.Getenv("GOGC") != "" {
		return percent
	}
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	want := percentOf(s[0].Value.Uint64())
	if want != percent {
		debug.SetGCPercent(want)
	}
	return want
}

// percentOf is what the heap may grow by, in steps of five.
func percentOf(live uint64) int {
	n := (heapSlack + live/heapShare) * usualPercent / max(live, 1)
	return int(max(min(n, usualPercent), leastPercent)) / 5 * 5
}

// memoryAllowed is what the generation in force allows of a limit.
func (p *process) memoryAllowed(limit uint64) uint64 {
	g := p.manager.Borrow()
	if g == nil {
		return math.MaxUint64
	}
	defer g.Release()
	return uint64(float64(limit) * float64(g.Config.Limits.Memory) / 100)
}

// memoryUsed is what the process has taken from the system and not given back.
func memoryUsed() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// memoryLimit is the memory that the process may use: GOMEMLIMIT, else its control group's, else the machine's.
func memoryLimit() uint64 {
	if n := debug.SetMemoryLimit(-1); n < math.MaxInt64 {
		return uint64(n)
	}
	limit := machineMemory()
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 64); err == nil && n > 0 {
			limit = min(limit, n)
		}
	}
	return limit
}

// machineMemory reads MemTotal (proc(5), /proc/meminfo, in KiB).
func machineMemory() uint64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxUint64
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
			if n, err := strconv.ParseUint(f[1], 10, 54); err == nil {
				return n << 10
			}
		}
	}
	return math.MaxUint64
}
