package openai

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// piece is a part and where the client has it.
type piece struct {
	*sdk.Part
	path string
}

// break2 stands between texts that become one string.
const break2 = `\n\n`

func (e *encoding) messages() error {
	e.w.Name("messages").Array()
	for i := range e.Messages {
		if err := e.message(i); err != nil {
			return err
		}
	}
	if err := e.user(nil, sdk.Text{}); err != nil {
		return err
	}
	e.w.EndArray()
	return nil
}

func (e *encoding) message(at int) error {
	m := &e.Messages[at]
	switch m.Role {
	case sdk.System, sdk.Developer:
		if e.resultsAfter(at) {
			e.late = append(e.late, m)
			return nil
		}
		return e.system(m)
	case sdk.Assistant:
		if err := e.user(nil, sdk.Text{}); err != nil {
			return err
		}
		return e.assistant(m)
	}
	// Results of tools come first: they must follow the calls at once.
	var rest []piece
	results := 0
	for i := range m.Parts {
		p := piece{&m.Parts[i], sdk.PartPath(m.Path, m.Parts, i)}
		if p.Kind != sdk.PartResult {
			rest = append(rest, p)
			continue
		}
		results++
		if err := e.result(p); err != nil {
			return err
		}
	}
	if e.resultsAfter(at) {
		e.moved = append(e.moved, rest...)
		return nil
	}
	if err := e.overdue(); err != nil {
		return err
	}
	if len(rest) == 0 && results > 0 {
		return nil
	}
	if len(rest) == 0 {
		rest = []piece{{&sdk.Part{Kind: sdk.PartText, Text: sdk.T("")}, m.Path}}
	}
	return e.user(rest, m.Name)
}

// overdue writes the system messages that waited for the last result.
func (e *encoding) overdue() error {
	for _, m := range e.late {
		if err := e.system(m); err != nil {
			return err
		}
	}
	e.late = nil
	return nil
}

// resultsAfter says whether results of tools follow a message before the assistant speaks again. What the user or the
// system says between results waits for the last of them.
func (e *encoding) resultsAfter(at int) bool {
	for i := at + 1; i < len(e.Messages) && e.Messages[i].Role != sdk.Assistant; i++ {
		for j := range e.Messages[i].Parts {
			if e.Messages[i].Parts[j].Kind == sdk.PartResult {
				return true
			}
		}
	}
	return false
}

func (e *encoding) system(m *sdk.Message) error {
	if err := e.user(nil, sdk.Text{}); err != nil {
		return err
	}
	texts := e.systemTexts(m)
	if len(texts) == 0 {
		return nil
	}
	role := e.systemRole(m)
	e.w.Object()
	e.w.Name("role").String(role)
	e.name(m.Name)
	e.w.Name("content")
	e.texts(texts)
	e.w.EndObject()
	return nil
}

func (e *encoding) systemRole(m *sdk.Message) string {
	if m.Role == sdk.Developer && !e.compatible {
		return "developer"
	}
	return "system"
}

func (e *encoding) systemTexts(m *sdk.Message) []piece {
	var texts []piece
	for i := range m.Parts {
		p := piece{&m.Parts[i], sdk.PartPath(m.Path, m.Parts, i)}
		if p.Kind != sdk.PartText {
			e.plan.Lose(p.path, "a system message holds text only")
			continue
		}
		if !p.Text.Empty() {
			texts = append(texts, p)
		}
	}
	return texts
}

// name writes a speaker's name where it is one that OpenAI takes.
func (e *encoding) name(name sdk.Text) {
	if s, ok := name.Decoded(); ok && !e.unnamed && s != "" && len(s) <= 64 && !strings.ContainsAny(s, " \t\r\n<|\\/>") {
		e.w.Name("name").String(s)
	}
}

// texts writes parts that are texts: a lone one as a string, which every service reads.
func (e *encoding) texts(parts []piece) {
	cached := false
	for _, p := range parts {
		cached = cached || e.cache && p.Cache.Present()
	}
	if len(parts) > 1 && !e.flat || cached {
		e.w.Array()
		for _, p := range parts {
			e.text(p)
		}
		e.w.EndArray()
		return
	}
	e.joined(parts)
}

// joined writes the texts of some parts as one string.
func (e *encoding) joined(parts []piece) {
	var joined []sdk.Text
	for i, p := range parts {
		if i > 0 {
			joined = append(joined, sdk.RawText([]byte(break2)))
		}
		joined = append(joined, p.Text)
	}
	e.w.Joined(joined...)
}

func (e *encoding) text(p piece) {
	e.w.Object()
	e.w.Name("type").String("text")
	e.w.Name("text").Text(p.Text)
	if e.cache {
		e.w.ValueMember("cache_control", p.Cache)
	}
	e.w.EndObject()
}

// user writes a user message: media that tool results left behind, then the message's own parts.
func (e *encoding) user(parts []piece, name sdk.Text) error {
	if len(e.moved) > 0 {
		parts = append(e.moved, parts...)
		e.moved = nil
	}
	if len(parts) == 0 {
		return nil
	}
	plain := true
	for _, p := range parts {
		plain = plain && p.Kind == sdk.PartText
	}
	e.w.Object()
	e.w.Name("role").String("user")
	e.name(name)
	e.w.Name("content")
	if plain {
		e.texts(parts)
		e.w.EndObject()
		return nil
	}
	e.w.Array()
	for _, p := range parts {
		if err := e.part(p); err != nil {
			return err
		}
	}
	e.w.EndArray()
	e.w.EndObject()
	return nil
}

// part writes a part of a user message.
func (e *encoding) part(p piece) error {
	switch p.Kind {
	case sdk.PartText, sdk.PartRefusal:
		if !p.Text.Empty() {
			e.text(p)
		}
		return nil
	case sdk.PartImage, sdk.PartAudio, sdk.PartDocument, sdk.PartVideo:
		return e.media(p)
	}
	e.plan.Lose(p.path, "a user message has no part of type "+partType(p.Part))
	return nil
}

func partType(p *sdk.Part) string {
	switch p.Kind {
	case sdk.PartThinking, sdk.PartRedacted:
		return "reasoning"
	case sdk.PartCall:
		return "tool call"
	case sdk.PartResult:
		return "tool result"
	}
	return strconv.Quote(p.Type)
}

// assistant writes an assistant turn: its text as content, its calls as tool_calls.
func (e *encoding) assistant(m *sdk.Message) error {
	e.open, e.used = nil, nil
	var texts, calls, thoughts, refusals []piece
	for i := range m.Parts {
		p := piece{&m.Parts[i], sdk.PartPath(m.Path, m.Parts, i)}
		switch p.Kind {
		case sdk.PartText:
			if !p.Text.Empty() {
				texts = append(texts, p)
			}
		case sdk.PartRefusal:
			refusals = append(refusals, p)
		case sdk.PartCall:
			calls = append(calls, p)
		case sdk.PartThinking:
			thoughts = append(thoughts, p)
		case sdk.PartRedacted:
			e.plan.Drop(p.path, "sealed reasoning can only be read by the provider that made it")
		default:
			e.plan.LeavePart(p.Part, p.path, "an assistant message has no part of type "+partType(p.Part))
		}
	}
	if !e.echo && len(thoughts) > 0 {
		e.plan.Drop(thoughts[0].path, "the service takes no reasoning of earlier turns")
		thoughts = nil
	}
	if len(texts)+len(calls)+len(thoughts)+len(refusals) == 0 {
		return nil
	}
	e.w.Object()
	e.w.Name("role").String("assistant")
	e.name(m.Name)
	e.w.Name("content")
	switch {
	case len(texts) > 0:
		e.texts(append(texts, refusals...))
	case len(refusals) == 0 && len(calls) > 0:
		e.w.Null()
	default:
		e.texts(refusals)
	}
	e.thoughts(thoughts)
	if err := e.calls(calls); err != nil {
		return err
	}
	e.w.EndObject()
	return nil
}

// thoughts writes reasoning as DeepSeek and others take it back
// (https://api-docs.deepseek.com/guides/thinking_mode).
func (e *encoding) thoughts(parts []piece) {
	if len(parts) == 0 {
		return
	}
	var joined []sdk.Text
	for _, p := range parts {
		joined = append(joined, p.Text)
	}
	e.w.Name("reasoning_content").Joined(joined...)
}
