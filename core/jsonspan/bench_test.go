package jsonspan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// chatBody is a common request, about 1 KB.
func chatBody() []byte {
	return []byte(`{"model":"gpt-4.1","messages":[{"role":"system","content":"You are a helpful assistant. Answer briefly and name your sources."},` +
		`{"role":"user","content":"What is the height of the tower, and when was it built?\nPlease answer in metres."},` +
		`{"role":"assistant","content":"It is 330 metres high and was completed in 1889 for the world's fair of that year."},` +
		`{"role":"user","content":"` + strings.Repeat("And how long did it take to build? ", 6) + `"}],` +
		`"temperature":0.7,"top_p":1,"max_tokens":1024,"stream":true,"stream_options":{"include_usage":true},"user":"u-4711",` +
		`"tools":[{"type":"function","function":{"name":"search","description":"Search the web","parameters":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}],"seed":42}`)
}

// agentBody is a request of an agent after many steps: short strings and much structure.
func agentBody() []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":4096,"tools":[`)
	for i := range 30 {
		fmt.Fprintf(&b, `{"name":"tool_%d","description":"Does the thing number %d","input_schema":{"type":"object","properties":{"path":{"type":"string","description":"where"},"limit":{"type":"integer","minimum":0},"tags":{"type":"array","items":{"type":"string"}}},"required":["path"]}},`, i, i)
	}
	b.Truncate(b.Len() - 1)
	b.WriteString(`],"messages":[`)
	for i := 0; b.Len() < 100<<10; i++ {
		fmt.Fprintf(&b, `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%06d","name":"tool_%d","input":{"path":"/src/%d.go","limit":%d,"tags":["a","b"]}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%06d","content":"ok"}]},`, i, i%30, i, i, i)
	}
	b.Truncate(b.Len() - 1)
	b.WriteString(`]}`)
	return b.Bytes()
}

func prompt(text string, size int) []byte {
	return fmt.Appendf(nil, `{"model":"gpt-4.1","messages":[{"role":"user","content":"%s"}]}`, strings.Repeat(text, size/len(text)))
}

// eachBody runs f as a benchmark on each kind of body.
func eachBody(b *testing.B, f func(b *testing.B, text []byte)) {
	for _, c := range []struct {
		name string
		text []byte
	}{
		{"chat1K", chatBody()},
		{"agent100K", agentBody()},
		{"plain1M", prompt("The quick brown fox jumps over the lazy dog. ", 1<<20)},
		{"escapes1M", prompt(`The quick brown fox jumps over the lazy dog, and then it goes back to sleep.\n`, 1<<20)},
		{"chinese1M", prompt("敏捷的棕色狐狸跳过了懒狗。", 1<<20)},
		{"accents1M", prompt("Le renard brun rapide a sauté par-dessus le chien éternellement fatigué. ", 1<<20)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			f(b, c.text)
		})
	}
}

func BenchmarkParse(b *testing.B) {
	eachBody(b, func(b *testing.B, text []byte) {
		var d Doc
		for b.Loop() {
			if err := d.Parse(text, Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEncodingJSON is the verdict of encoding/json alone: no spans, no UTF-8, no repeated names.
func BenchmarkEncodingJSON(b *testing.B) {
	eachBody(b, func(b *testing.B, text []byte) {
		for b.Loop() {
			json.Valid(text)
		}
	})
}

// BenchmarkFloor is one pass of the fastest search that there is over the same bytes.
func BenchmarkFloor(b *testing.B) {
	eachBody(b, func(b *testing.B, text []byte) {
		for b.Loop() {
			bytes.IndexByte(text, 0)
		}
	})
}

// BenchmarkManyNames is the cost of one object with many members, which must not grow with their square.
func BenchmarkManyNames(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		var text []byte
		for i := range n {
			text = fmt.Appendf(text, `,"name_%d":1`, i)
		}
		text = append(text, '}')
		text[0] = '{'
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var d Doc
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := d.Parse(text, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/member")
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	text := chatBody()
	var out []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var err error
		if out, err = Canonical(out[:0], text); err != nil {
			b.Fatal(err)
		}
	}
}
