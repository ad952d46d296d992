package config

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkParse: a reload parses on the way to a new generation, beside the requests of the running one.
func BenchmarkParse(b *testing.B) {
	for _, models := range []int{1, 100, 10000} {
		var text strings.Builder
		head, tail, _ := strings.Cut(small, "keys:")
		text.WriteString(head)
		for i := range models {
			fmt.Fprintf(&text, "  m%d:\n    deployments:\n      - {provider: openai, model: m%d, weight: 3, price: {input: 3, output: 15}}\n", i, i)
		}
		text.WriteString("keys:" + tail)
		b.Run(fmt.Sprintf("models=%d", models), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if _, err := parse(text.String()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
