package replay

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"io"
	"reflect"

	"github.com/penstock-gateway/penstock/core/route"
)

// difference compares two decisions on a request; nil where they are the same to the last skip record. The picture is
// asked for where they are not.
func difference(id, router string, was, now *route.Explanation, in *route.Input, picture func() *route.Picture) *Difference {
	if same(was, now) {
		return nil
	}
	d := &Difference{RequestID: id, At: in.At, Router: router, Was: first(was), Now: first(now), Error: now.Failed}
	if d.Moved = d.Was != d.Now; d.Moved {
		d.USD, d.Seconds = costs(d.Was, d.Now, in, picture())
	}
	return d
}

func first(e *route.Explanation) string {
	if len(e.Candidates) == 0 {
		return ""
	}
	return e.Candidates[0].Deployment
}

// same compares all that routing decides; how many steps that took, and how long, is not a part of it.
func same(a, b *route.Explanation) bool {
	x, y := *a, *b
	x.Generation, x.Steps, x.Micros, x.Prints = y.Generation, y.Steps, y.Micros, y.Prints
	return reflect.DeepEqual(x, y)
}

// costs gives what it means that a request goes to another target.
func costs(was, now string, in *route.Input, p *route.Picture) (usd, seconds *float64) {
	a, b := target(p, was), target(p, now)
	if a == nil || b == nil {
		return nil, nil
	}
	if a.Price != nil && b.Price != nil && in.Request != nil {
		const perToken = 1e-15 // prices are nano-USD for a million tokens
		more := (float64(in.Request.Tokens)*float64(b.Price.Input-a.Price.Input) + float64(in.Request.MaxOutput)*float64(b.Price.Output-a.Price.Output)) * perToken
		usd = &more
	}
	if a.Stats.P50 > 0 && b.Stats.P50 > 0 {
		longer := (b.Stats.P50 - a.Stats.P50).Seconds()
		seconds = &longer
	}
	return usd, seconds
}

func target(p *route.Picture, id string) *route.PictureTarget {
	for i := range p.Models {
		for j := range p.Models[i].Targets {
			if t := &p.Models[i].Targets[j]; t.ID == id {
				return t
			}
		}
	}
	return nil
}

// packPicture writes a picture small: most of it is the same words again.
func packPicture(p *route.Picture) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(w).Encode(p); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// mostPicture bounds what a picture is unpacked to.
const mostPicture = 256 << 20

func unpackPicture(data []byte) (*route.Picture, error) {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), mostPicture+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostPicture {
		return nil, errors.New("what the decision saw is too large")
	}
	p := new(route.Picture)
	return p, json.Unmarshal(text, p)
}
