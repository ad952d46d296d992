package pluginhosttest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

// fixture is an answer that the plugin's author has recorded: NAME.frames is a stream as it came, NAME.whole a whole body,
// and NAME.events what it means, a line for each event. They stand in the folder itself, for the plugin's first dialect,
// or in one that has the name of another.
type fixture struct {
	name    string // with the folder
	dialect string // "" the first one
	stream  bool
	body    []byte
	events  string // the file
}

// readFixtures reads a folder; "" has none.
func readFixtures(dir string) (list []fixture, err error) {
	if dir == "" {
		return nil, nil
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || d.IsDir() || ext != ".frames" && ext != ".whole" {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f := fixture{name: filepath.ToSlash(strings.TrimSuffix(rel, ext)), stream: ext == ".frames", body: body,
			events: strings.TrimSuffix(path, ext) + ".events"}
		f.dialect, _, _ = strings.Cut(f.name, "/")
		if !strings.Contains(f.name, "/") {
			f.dialect = ""
		}
		list = append(list, f)
		return nil
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("fixtures: %s has no NAME.frames and no NAME.whole", dir)
	}
	return list, err
}

// split cuts a stream into frames.
func split(body []byte, framing string) (frames []pluginhost.FrameIn, err error) {
	var s frame.Splitter
	switch framing {
	case "", "sse":
		s = frame.NewSSE(frame.DefaultLimit)
	case "ndjson":
		s = frame.NewNDJSON(frame.DefaultLimit)
	case "json-array":
		s = frame.NewJSONArray(frame.DefaultLimit)
	default:
		s = frame.NewEventStream(frame.DefaultLimit)
	}
	s.Feed(body)
	for _, next := range []func() (frame.Frame, bool, error){s.Next, s.End} {
		for {
			f, ok, err := next()
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			if f.Lines > 0 {
				frames = append(frames, pluginhost.FrameIn{Event: string(f.Event), Data: slices.Clone(f.Data)})
			}
		}
	}
	return frames, nil
}

// fixture decodes an answer in every way in which it may come, and has its tool calls said back.
func (k *kit) fixture(f fixture) error {
	d := k.manifest.Dialects[0]
	if f.dialect != "" {
		i := slices.IndexFunc(k.manifest.Dialects, func(d sdk.Dialect) bool { return d.Name == f.dialect })
		if i < 0 {
			return fmt.Errorf("folder %s: the plugin has no such dialect", f.dialect)
		}
		d = k.manifest.Dialects[i]
	}
	frames := []pluginhost.FrameIn{{Data: f.body}}
	if f.stream {
		var err error
		if frames, err = split(f.body, d.Framing); err != nil {
			return fmt.Errorf("framing %q: %w", d.Framing, err)
		}
	}
	events, err := k.decodeEach(info(d.Name, f.stream), frames)
	if err != nil {
		return err
	}
	if err := k.meaning(f, events); err != nil {
		return err
	}
	together, err := k.decode(info(d.Name, f.stream), frames)
	if err != nil {
		return err
	}
	if got, want := linesOf(together), linesOf(events); got != want {
		return fmt.Errorf("all frames in one call: %s", difference(got, want))
	}
	if f.stream && d.Terminated {
		if err := k.cut(d, frames, events); err != nil {
			return err
		}
	}
	if failed := slices.ContainsFunc(events, func(e event) bool { return e.kind == sdk.Failed }); failed {
		return nil
	}
	if err := sound(events); err != nil {
		return err
	}
	return k.sayBack(d.Name, events)
}

// meaning holds the events to the fixture's, or writes them there.
func (k *kit) meaning(f fixture, events []event) error {
	if k.Update {
		return os.WriteFile(f.events, []byte(linesOf(events)), 0o644)
	}
	want, err := os.ReadFile(f.events)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is still held to what holds for all answers
	}
	if err != nil {
		return err
	}
	if got := linesOf(events); got != string(want) {
		return errors.New(difference(got, string(want)))
	}
	return nil
}

// difference names the first line in which two lists of events differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "nothing", "nothing"
		if i < len(g) && g[i] != "" {
			a = g[i]
		}
		if i < len(w) && w[i] != "" {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("event %d: got %s, want %s", i+1, a, b)
		}
	}
	return "no difference"
}

// cut ends the stream early: it must not seem complete.
func (k *kit) cut(d sdk.Dialect, frames []pluginhost.FrameIn, events []event) error {
	last := events[max(len(events)-1, 0):]
	if len(last) == 0 || last[0].kind != sdk.Done && last[0].kind != sdk.Failed {
		return fmt.Errorf("the manifest says that a stream in %s ends in a mark, and none was seen", d.Name)
	}
	part, err := k.decode(info(d.Name, true), frames[:len(frames)/2])
	if err := harmless(err); err != nil {
		return err
	}
	if complete(part) {
		return fmt.Errorf("half of the stream, %d of %d frames, is said to be complete", len(frames)/2, len(frames))
	}
	return nil
}

// sayBack sends an answer's tool calls, and results for them, in the next request: the calls must go out as they came.
func (k *kit) sayBack(native string, events []event) error {
	var asked sdk.Message
	result := sdk.Message{Role: sdk.Tooling, Path: "messages[2]"}
	asked.Role, asked.Path = sdk.Assistant, "messages[1]"
	q := k.say("mark1")
	q.Native = native
	inputs := map[int]string{}
	for _, e := range events {
		if e.kind == sdk.ToolInput {
			inputs[e.call] += e.text
		}
	}
	for _, e := range events {
		if e.kind != sdk.ToolBegin || e.custom {
			continue
		}
		arguments := inputs[e.call]
		if arguments == "" {
			arguments = "{}"
		}
		var doc sdk.Doc
		if err := doc.Parse([]byte(arguments)); err != nil {
			return fmt.Errorf("tool call %q: arguments %.80q: %v", e.name, arguments, err)
		}
		asked.Parts = append(asked.Parts, sdk.Part{Kind: sdk.PartCall, Call: &sdk.Call{ID: sdk.T(e.id), Name: sdk.T(e.name), Arguments: doc.Root().Value()}})
		result.Parts = append(result.Parts, sdk.Part{Kind: sdk.PartResult, Result: &sdk.Result{ID: sdk.T(e.id), Name: sdk.T(e.name),
			Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T("mark2")}}}})
		q.Tools = append(q.Tools, sdk.Tool{Name: sdk.T(e.name)})
	}
	if len(asked.Parts) == 0 {
		return nil
	}
	q.Messages = append(q.Messages, asked, result)
	var plan pluginhost.Encoded
	if err := k.process.Encode(q, &plan); err != nil {
		return fmt.Errorf("its tool calls said back: %w", err)
	}
	text := "mark2"
	for _, p := range asked.Parts {
		name, _ := p.Call.Name.Decoded()
		text += " " + name
	}
	body := string(slices.Concat(plan.Segments...))
	for word := range strings.FieldsSeq(text) {
		if !strings.Contains(body, word) && len(plan.Names) == 0 {
			return fmt.Errorf("its tool calls said back: %q is not in the body", word)
		}
	}
	return nil
}
