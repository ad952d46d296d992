package pluginhosttest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

// answers gives decoders what no service should send. A decoder may refuse it; it may not make up the end of an answer,
// take its process along, or keep the gateway waiting.
func (k *kit) answers() {
	k.check("answer/nothing", k.nothing)
	for _, odd := range []struct{ name, data string }{
		{"object", `{}`},
		{"array", `[]`},
		{"null", `null`},
		{"no-json", `<html>502 Bad Gateway</html>`},
		{"cut-json", `{"choices":[{"delta":`},
		{"other-types", `{"id":[],"type":{},"choices":"x","candidates":7,"content":{"text":null},"usage":"many","error":false}`},
		{"large", `{"text":"` + strings.Repeat(`\u00e9 word `, 2000) + `"}`},
		{"deep", strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 60)},
		{"many", `{"choices":[` + strings.TrimSuffix(strings.Repeat(`{"index":9},`, 5000), ",") + `]}`},
	} {
		k.check("answer/"+odd.name, func() error { return k.odd(odd.data) })
	}
	k.check("answer/dropped", k.dropped)
}

// info is what an answer in one of the plugin's dialects is for.
func info(native string, stream bool) sdk.AnswerInfo {
	return sdk.AnswerInfo{Provider: instance, Native: native, Model: modelName, Stream: stream}
}

// nothing ends answers that have said nothing.
func (k *kit) nothing() error {
	for _, d := range k.manifest.Dialects {
		events, err := k.decode(info(d.Name, true), nil)
		if err := harmless(err); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		if d.Terminated && complete(events) {
			return fmt.Errorf("%s: an answer without its end mark is said to be complete", d.Name)
		}
	}
	return nil
}

// odd gives one frame to a decoder of each dialect, streamed and whole.
func (k *kit) odd(data string) error {
	before := k.status().PID
	for _, d := range k.manifest.Dialects {
		for _, stream := range []bool{true, false} {
			events, err := k.decode(info(d.Name, stream), []pluginhost.FrameIn{{Data: []byte(data)}})
			if err := harmless(err); err != nil && !strings.HasSuffix(err.Error(), "could not translate") {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			if d.Terminated && stream && complete(events) {
				return fmt.Errorf("%s: %.60q is said to complete the answer", d.Name, data)
			}
		}
	}
	if now := k.status().PID; now != before {
		return fmt.Errorf("the process has been replaced: %d is now %d", before, now)
	}
	return nil
}

// dropped lets go of answers in their midst, which the plugin is to forget, and asks it something else.
func (k *kit) dropped() error {
	for range 2000 {
		d, err := k.process.NewDecoder(info(k.manifest.Dialects[0].Name, true))
		if err != nil {
			return err
		}
		_, err = d.Decode([]pluginhost.FrameIn{{Data: []byte(`{}`)}}, nil)
		d.Close()
		if err := harmless(err); err != nil && !strings.HasSuffix(err.Error(), "could not translate") {
			return err
		}
	}
	_, err := k.encode("still there")
	return err
}

// decode gives frames to a decoder in one call, and ends the answer.
func (k *kit) decode(i sdk.AnswerInfo, frames []pluginhost.FrameIn) ([]event, error) {
	d, err := k.process.NewDecoder(i)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var out []event
	if len(frames) > 0 {
		got, err := d.Decode(frames, nil)
		if out = appendEvents(out, got); err != nil {
			return out, err
		}
	}
	got, err := d.End(nil)
	return appendEvents(out, got), err
}

// decodeEach gives each frame in a call of its own.
func (k *kit) decodeEach(i sdk.AnswerInfo, frames []pluginhost.FrameIn) ([]event, error) {
	d, err := k.process.NewDecoder(i)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var out []event
	for n := range frames {
		got, err := d.Decode(frames[n:n+1], nil)
		if out = appendEvents(out, got); err != nil {
			return out, fmt.Errorf("frame %d: %w", n+1, err)
		}
	}
	got, err := d.End(nil)
	return appendEvents(out, got), err
}

// complete says whether an answer has come to its end mark.
func complete(events []event) bool {
	for _, e := range events {
		if e.kind == sdk.Done {
			return true
		}
	}
	return false
}

// sound looks at the events of an answer that its author calls complete.
func sound(events []event) error {
	finishes, open := 0, 0
	for _, e := range events {
		switch e.kind {
		case sdk.Finish:
			finishes++
		case sdk.ToolBegin:
			open++
		case sdk.ToolEnd:
			open--
		case sdk.UsageSeen:
			if err := counts(e.usage); err != nil {
				return err
			}
		}
	}
	switch {
	case finishes == 0:
		return errors.New("no choice has come to its end (Finish)")
	case open != 0:
		return errors.New("a tool call has begun and not ended, or ended twice")
	}
	return nil
}

// counts sees that the parts of usage are counts. That they do not overlap is what the totals are for: a part that is
// larger than the whole it was within is disputed.
func counts(u sdk.Usage) error {
	for _, n := range []int64{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning} {
		if n < 0 {
			return fmt.Errorf("usage %+v: a part below zero", u)
		}
	}
	if u.Disputed {
		return fmt.Errorf("usage %+v: parts overlap, or are larger than the whole", u)
	}
	return nil
}
