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
	short := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		used, allowed := memoryUsed(), p.memoryAllowed(limit)
		if now := used > allowed; now != short {
			short = now
			p.gateway.Gate.Tighten(short)
			p.log.Warn("memory: the limit of requests is on", "short", short, "used_bytes", used, "allowed_bytes", allowed)
		}
	}
}

// memoryAllowed is what the generation in force allows of a limit.
func (p *process) memoryAllowed(limit uint64) uint64 {
	g := p.manager.Hold()
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
