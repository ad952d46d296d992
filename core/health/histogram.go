package health

import (
	"math/bits"
	"time"
)

// histogram counts durations from 64 µs to 2 hours in buckets of at most an eighth of their value, so that a quantile is
// right to a sixteenth. What it holds is halved each histogramHalf, but never below a few samples: of a quiet backend the
// last answers are still known.
type histogram struct {
	buckets [numBuckets]uint32
	sum     uint32
	halved  time.Time
}

const (
	histogramHalf = time.Minute
	sampleWeight  = 64
	leastWeight   = 8 * sampleWeight
	maxWeight     = 1 << 30
	octaves       = 23
	numBuckets    = (octaves + 2) * 8
)

func (h *histogram) add(now time.Time, d time.Duration) {
	if h.halved.IsZero() {
		h.halved = now
	}
	for steps := int(now.Sub(h.halved) / histogramHalf); steps > 0 && h.sum > leastWeight; steps-- {
		h.halve()
	}
	if past := now.Sub(h.halved); past >= histogramHalf {
		h.halved = h.halved.Add(past.Truncate(histogramHalf))
	}
	if h.sum >= maxWeight {
		h.halve()
	}
	h.buckets[bucketOf(d)] += sampleWeight
	h.sum += sampleWeight
}

func (h *histogram) halve() {
	h.sum = 0
	for i := range h.buckets {
		h.buckets[i] /= 2
		h.sum += h.buckets[i]
	}
}

// bucketOf gives the bucket of a duration: sixteen of 64 µs each, then eight to an octave.
func bucketOf(d time.Duration) int {
	v := max(d.Microseconds(), 0) >> 6
	octave := max(bits.Len64(uint64(v))-4, 0)
	return min(octave*8+int(v>>octave), numBuckets-1)
}

// middleOf gives the middle of a bucket.
func middleOf(i int) time.Duration {
	octave := max(i/8-1, 0)
	low := int64(i-octave*8) << octave
	return time.Duration(low<<6+32<<octave) * time.Microsecond
}

// quantile gives the duration below which a share of the answers came; 0 where there are none.
func (h *histogram) quantile(share float64) time.Duration {
	if h.sum == 0 {
		return 0
	}
	rank, seen := min(uint32(share*float64(h.sum)), h.sum-1), uint32(0)
	for i, n := range h.buckets {
		if seen += n; seen > rank {
			return middleOf(i)
		}
	}
	return middleOf(numBuckets - 1)
}
