package openaichat

import (
	"strconv"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

func (r *decoder) messages(v int) {
	if !r.Array(v) {
		return
	}
	if r.Len(v) == 0 {
		r.Refuse(v, "want at least one message")
	}
	r.req.Messages = make([]sdk.Message, 0, r.Len(v))
	n := 0
	for m := range r.Items(v) {
		if r.Object(m) {
			msg := sdk.Message{Path: "messages[" + strconv.Itoa(n) + "]"}
			r.message(m, &msg)
			r.req.Messages = append(r.req.Messages, msg)
		}
		n++
	}
}

func (r *decoder) message(m int, msg *sdk.Message) {
	role := r.Get(m, "role")
	switch {
	case role == 0:
		r.Missing(m, "role")
	case r.Is(role, "user"):
		msg.Role = sdk.User
		r.said(m, msg)
	case r.Is(role, "assistant"):
		msg.Role = sdk.Assistant
		r.assistant(m, msg)
	case r.Is(role, "tool"):
		msg.Role = sdk.Tooling
		r.toolResult(m, msg)
	case r.Is(role, "system"):
		msg.Role = sdk.System
		r.said(m, msg)
	case r.Is(role, "developer"):
		msg.Role = sdk.Developer
		r.said(m, msg)
	case r.Is(role, "function"):
		msg.Role = sdk.Tooling
		r.functionResult(m, msg)
	default:
		r.Want(role, `"system", "developer", "user", "assistant" or "tool"`)
	}
}

// said reads a message of a user, the system or the developer. A text that is empty stays: without it the turn would be
// gone, and the turn before it would be the last.
func (r *decoder) said(m int, msg *sdk.Message) {
	msg.Name = r.Content(r.Get(m, "name"))
	content := r.Get(m, "content")
	if content == 0 {
		r.Missing(m, "content")
		return
	}
	msg.Parts = r.content(content)
	r.cached(m, msg.Parts)
	r.rest(m, "role", "content", "name", "cache_control")
}

// cached gives a message's own cache_control, which some clients write there, to its last part.
func (r *decoder) cached(m int, parts []sdk.Part) {
	if c := r.Value(r.Get(m, "cache_control")); c.Present() && len(parts) > 0 {
		parts[len(parts)-1].Cache = c
	}
}

// assistant reads a turn of the model: what it thought, said and called, in that order. Clients send back whole answers
// with members that are the service's own; they say nothing to a model and are left out without a word.
func (r *decoder) assistant(m int, msg *sdk.Message) {
	msg.Name = r.Content(r.Get(m, "name"))
	msg.Parts = r.thoughts(m)
	for i := range msg.Parts {
		msg.Parts[i].Path = msg.Path
	}
	if c := r.Get(m, "content"); c > 0 {
		for i, p := range r.content(c) {
			if p.Kind != sdk.PartText || !p.Text.Empty() {
				if i != len(msg.Parts) {
					p.Path = msg.Path + ".content[" + strconv.Itoa(i) + "]"
				}
				msg.Parts = append(msg.Parts, p)
			}
		}
	}
	if images := r.Get(m, "images"); r.Kind(images) == jsonspan.Array { // that it made, as it gives them
		i := 0
		for p := range r.Items(images) {
			part := r.part(p)
			part.Path = msg.Path + ".images[" + strconv.Itoa(i) + "]"
			msg.Parts = append(msg.Parts, part)
			i++
		}
	}
	if t := r.Content(r.Get(m, "refusal")); !t.Empty() {
		msg.Parts = append(msg.Parts, sdk.Part{Kind: sdk.PartRefusal, Text: t, Path: msg.Path + ".refusal"})
	}
	if calls := r.Get(m, "tool_calls"); r.Array(calls) {
		i := 0
		for c := range r.Items(calls) {
			if r.Object(c) {
				call := r.call(c)
				call.Path = msg.Path + ".tool_calls[" + strconv.Itoa(i) + "]"
				msg.Parts = append(msg.Parts, call)
			}
			i++
		}
	}
	if fc := r.Get(m, "function_call"); r.Object(fc) {
		r.functions++
		call := sdk.Call{ID: functionID(r.functions), Name: r.Content(r.Get(fc, "name")), Arguments: r.Arguments(r.Get(fc, "arguments"))}
		msg.Parts = append(msg.Parts, sdk.Part{Kind: sdk.PartCall, Call: &call, Path: msg.Path + ".function_call"})
	}
	r.cached(m, msg.Parts)
	for _, name := range [...]string{"audio", "prefix"} {
		if v := r.Get(m, name); v > 0 && r.Kind(v) != jsonspan.False {
			r.unknown(v)
		}
	}
}

// functionID makes the id that an old function call goes by: the dialect of that time paired a call and its result by
// their order.
func functionID(n int) sdk.Text { return sdk.RawText([]byte("call_function_" + strconv.Itoa(n))) }

// call reads one of an assistant's tool calls.
func (r *decoder) call(c int) sdk.Part {
	id := r.Get(c, "id")
	if id == 0 {
		r.Missing(c, "id")
	}
	call := &sdk.Call{ID: r.Content(id)}
	part := sdk.Part{Kind: sdk.PartCall, Call: call, Cache: r.Value(r.Get(c, "cache_control"))}
	// Google's own endpoint of this dialect: https://ai.google.dev/gemini-api/docs/thought-signatures
	part.Signature = r.Content(r.Get(r.Get(r.Get(c, "extra_content"), "google"), "thought_signature"))
	if custom := r.Get(c, "custom"); custom > 0 {
		call.Custom = true
		call.Name, call.Input = r.Content(r.Get(custom, "name")), r.Content(r.Get(custom, "input"))
		return part
	}
	fn := r.Get(c, "function")
	name := r.Get(fn, "name")
	if name == 0 {
		r.Missing(c, "function.name")
		return part
	}
	call.Name, call.Arguments = r.Content(name), r.Arguments(r.Get(fn, "arguments"))
	return part
}

// toolResult reads a tool's answer. The breakpoint of its last part becomes the result's own: that is the unit that a
// cache can end at.
func (r *decoder) toolResult(m int, msg *sdk.Message) {
	id := r.Get(m, "tool_call_id")
	if id == 0 {
		r.Missing(m, "tool_call_id")
	}
	r.result(m, msg, r.Content(id))
	r.rest(m, "role", "content", "name", "tool_call_id", "cache_control")
}

// functionResult reads the answer of an old function call.
func (r *decoder) functionResult(m int, msg *sdk.Message) {
	if r.functions == 0 {
		r.Refuse(m, "answers a function that no earlier message calls")
	}
	r.result(m, msg, functionID(r.functions))
}

func (r *decoder) result(m int, msg *sdk.Message, id sdk.Text) {
	res := &sdk.Result{ID: id, Name: r.Content(r.Get(m, "name"))}
	part := sdk.Part{Kind: sdk.PartResult, Result: res}
	if c := r.Get(m, "content"); c > 0 {
		res.Parts = r.content(c)
	}
	for i := range res.Parts {
		if c := res.Parts[i].Cache; c.Present() {
			part.Cache, res.Parts[i].Cache = c, sdk.Value{}
		}
	}
	if c := r.Value(r.Get(m, "cache_control")); c.Present() {
		part.Cache = c
	}
	msg.Parts = []sdk.Part{part}
}
