package pluginhost

import (
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-gateway/penstock/sdk"
)

// cpu is the processor time that we and the plugin's process have taken.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	var sum time.Duration
	for _, clock := range []int32{unix.CLOCK_PROCESS_CPUTIME_ID, int32(^pid<<3 | 2)} { // clock_getcpuclockid(3)
		var t unix.Timespec
		if err := unix.ClockGettime(clock, &t); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum
}

func measured(b *testing.B, p *Process, calls func()) {
	n := pid(b, p)
	before := cpu(b, n)
	b.ReportAllocs()
	b.ResetTimer()
	calls()
	b.StopTimer()
	b.ReportMetric(float64(cpu(b, n)-before)/1000/float64(b.N), "cpu-us/op")
}

func BenchmarkEncode(b *testing.B) {
	f := func(name, text string) {
		b.Run(name, func(b *testing.B) {
			p := acquire(b, newHost(b, Options{}), "good", AcquireOptions{})
			defer p.Release()
			q := request("m", text)
			var e Encoded
			measured(b, p, func() {
				for b.Loop() {
					if err := p.Encode(q, &e); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
	f("1KB", strings.Repeat("x", 200)) // and the rest of a request's members
	f("1KBHandle", strings.Repeat("x", 1000))
	f("1MBHandle", strings.Repeat("x", 1<<20))
}

func BenchmarkEncodeParallel(b *testing.B) {
	p := acquire(b, newHost(b, Options{}), "good", AcquireOptions{})
	defer p.Release()
	q := request("m", strings.Repeat("x", 200))
	b.SetParallelism(32)
	measured(b, p, func() {
		b.RunParallel(func(pb *testing.PB) {
			var e Encoded
			for pb.Next() {
				if err := p.Encode(q, &e); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// BenchmarkEncodeRate calls 5,000 times a second, whatever becomes of the calls; cpu-us/op times 5,000 is what that
// costs of a core in a second.
func BenchmarkEncodeRate(b *testing.B) {
	p := acquire(b, newHost(b, Options{}), "good", AcquireOptions{})
	defer p.Release()
	q := request("m", strings.Repeat("x", 200))
	measured(b, p, func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		var wg sync.WaitGroup
		for i := 0; i < b.N; i++ {
			if i%5 == 0 {
				<-tick.C
			}
			wg.Go(func() {
				var e Encoded
				if err := p.Encode(q, &e); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// BenchmarkDecode sends what a read of a busy stream brings: eight frames.
func BenchmarkDecode(b *testing.B) {
	p := acquire(b, newHost(b, Options{}), "good", AcquireOptions{})
	defer p.Release()
	d, err := p.NewDecoder(sdk.AnswerInfo{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	frames := make([]FrameIn, 8)
	for i := range frames {
		frames[i].Data = []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","t":"some words ","n":null}`)
	}
	var out []sdk.Event
	// The test decoder numbers its deltas by choice, of which there are 4096: a new decoder now and then.
	measured(b, p, func() {
		for i := 0; b.Loop(); i++ {
			if i%500 == 499 {
				d.Close()
				if d, err = p.NewDecoder(sdk.AnswerInfo{}); err != nil {
					b.Fatal(err)
				}
			}
			if out, err = d.Decode(frames, out[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
