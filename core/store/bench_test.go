package store_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/store"
)

// BenchmarkInsertRows gives what a row of the ledger costs in groups of some sizes.
func BenchmarkInsertRows(b *testing.B) {
	for _, group := range []int{1, 50, 250} {
		b.Run(fmt.Sprint(group), func(b *testing.B) {
			s, err := store.Open(b.Context(), store.Options{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			rows := make([]store.Row, group)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				for i := range rows {
					n++
					rows[i] = row(fmt.Sprintf("req_%026d", n), 1)
					rows[i].Key = "dev"
					rows[i].StartedAt = noon.Add(time.Duration(n) * time.Millisecond)
				}
				if _, err := s.InsertRows(b.Context(), rows); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
		})
	}
}
