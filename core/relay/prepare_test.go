package relay

import (
	"errors"
	"testing"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// decoding is a dialect that counts what it is asked to decode, and cannot.
type decoding struct {
	dialect.Dialect
	asked int
}

func (d *decoding) Decode(*jsonspan.Doc, *sdk.Request) error {
	d.asked++
	return errors.New("it cannot be read")
}

// TestTranslatedInTurn: nothing is translated for a candidate whose turn has not come, and then once for all that share it.
func TestTranslatedInTurn(t *testing.T) {
	d, far := new(decoding), &catalog.Way{Dialect: new(sdk.Dialect)}
	r := &run{Task: &Task{Dialect: d, Facts: &dialect.Facts{Model: "m"}}}
	for _, id := range []string{"m/own", "m/a", "m/b"} {
		r.Candidates = append(r.Candidates, Candidate{Upstream: &Upstream{Deployment: &catalog.Deployment{ID: id}}})
	}
	r.plans = []plan{{way: &catalog.Way{Pass: true, Dialect: far.Dialect}, known: true}, {way: far}, {way: far}}
	r.order()
	if !r.expressible(r.nextCandidate()) || d.asked != 0 {
		t.Errorf("decoded %d times for a candidate whose dialect the client speaks", d.asked)
	}
	a := &active{run: r}
	if !a.lastResort() {
		t.Error("those that cannot be asked could follow")
	}
	for range 2 {
		for i := 1; i < 3; i++ {
			if r.expressible(i) {
				t.Errorf("candidate %d can be asked, without a translation", i)
			}
		}
	}
	if d.asked != 1 || len(r.res.Skips) != 2 || r.res.Skips[1] != (Skip{Deployment: "m/b", Stage: "translate", Reason: r.plans[1].skip}) {
		t.Errorf("decoded %d times, skips %v; want once, and a skip for each", d.asked, r.res.Skips)
	}
}
