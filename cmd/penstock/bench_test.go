package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// yardstickEnv makes this test binary the proxy that ours is measured against: httputil.ReverseProxy before the address.
const yardstickEnv = "PENSTOCK_TEST_YARDSTICK"

// beYardstick serves as the yardstick where the environment says so.
func beYardstick() {
	up := os.Getenv(yardstickEnv)
	if up == "" {
		return
	}
	u, err := url.Parse(up)
	if err != nil {
		panic(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Header.Set("Authorization", "Bearer sk-upstream")
	}, Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}}
	panic(http.ListenAndServe(os.Getenv(yardstickEnv+"_LISTEN"), proxy))
}

// yardstick starts the yardstick and gives its address and process id.
func yardstick(b *testing.B, up string) (string, int) {
	b.Helper()
	addr := freeAddress(b)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), yardstickEnv+"="+up, yardstickEnv+"_LISTEN="+addr)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; {
		resp, err := http.Get("http://" + addr + "/")
		if err == nil {
			resp.Body.Close()
			return "http://" + addr, cmd.Process.Pid
		}
		if time.Now().After(deadline) {
			b.Fatal(err)
		}
	}
}

// cpu is the processor time that a process and its children have used.
func cpu(b *testing.B, pids ...int) time.Duration {
	b.Helper()
	var total int64
	for _, pid := range pids {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			b.Skip("no /proc to read processor time from")
		}
		for _, t := range tasks {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, t.Name()))
			if err != nil {
				continue // a thread that has ended
			}
			ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			total += ns
		}
	}
	return time.Duration(total)
}

// load sends n requests over 16 connections and gives how many were answered 200.
func load(b *testing.B, address, body string, n int) int64 {
	b.Helper()
	var next, good atomic.Int64
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			buf := make([]byte, 64<<10)
			for next.Add(1) <= int64(n) {
				req, err := http.NewRequest("POST", address+"/v1/chat/completions", strings.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+testKey)
				req.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				_, err = io.CopyBuffer(io.Discard, struct{ io.Reader }{resp.Body}, buf)
				resp.Body.Close()
				if err == nil && resp.StatusCode == 200 {
					good.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return good.Load()
}

// BenchmarkAgainstReverseProxy measures, side by side in one run, the processor time that the built binary (its plugin
// processes included) and httputil.ReverseProxy use for a request. Compare the rows of one run, never two runs.
func BenchmarkAgainstReverseProxy(b *testing.B) {
	const words = "The quick brown fox jumps over the lazy dog. "
	whole := `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat(words, 12) +
		`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`
	message := `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + strings.Repeat(words, 12) +
		`"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":9}}`
	up := newUpstream(b, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/messages") {
			io.WriteString(w, message)
			return
		}
		io.WriteString(w, whole)
	})
	up.forget = true
	s := serveText(b, twoProviders(up.URL))
	other, otherPID := yardstick(b, up.URL)
	ask := func(model string, size int) string {
		return `{"model":"` + model + `","messages":[{"role":"user","content":"` + strings.Repeat(words, size/len(words)) + `"}],"max_tokens":100}`
	}
	for _, c := range []struct {
		name, body string
		cross      bool
	}{{"1KB", ask("to-openai", 1<<10), false}, {"200KB", ask("to-openai", 200<<10), false}, {"1KB-translated", ask("to-claude", 1<<10), true}, {"1MB", ask("to-openai", 1<<20), false}, {"1MB-translated", ask("to-claude", 1<<20), true}} {
		run := func(name, address string, pids ...int) {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				load(b, address, c.body, 32)
				before := cpu(b, pids...)
				b.ResetTimer()
				if good := load(b, address, c.body, b.N); good != int64(b.N) {
					b.Errorf("%d of %d requests were answered", good, b.N)
				}
				b.ReportMetric(float64((cpu(b, pids...)-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
			})
		}
		run("penstock", s.API, append(children(s.PID), s.PID)...)
		if !c.cross {
			run("ReverseProxy", other, otherPID)
		}
	}
}

func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
