package openairesponses

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

func (r *decoder) input(v int) {
	switch r.Kind(v) {
	case jsonspan.String:
		r.req.Messages = []sdk.Message{{Role: sdk.User, Path: "input", Parts: []sdk.Part{{Kind: sdk.PartText, Text: r.Content(v)}}}}
		return
	case jsonspan.Array:
	default:
		r.Want(v, "a string or a list of items")
		return
	}
	r.req.Messages = make([]sdk.Message, 0, r.Len(v))
	n := 0
	for i := range r.Items(v) {
		if r.Object(i) {
			r.item(i, "input["+strconv.Itoa(n)+"]")
		}
		n++
	}
}

// item reads one item. What the model thought, said and called in a row is one turn of it.
func (r *decoder) item(i int, path string) {
	t := r.Get(i, "type")
	switch {
	case t == 0 && r.Get(i, "role") == 0:
		r.Missing(i, "type")
	case t == 0 || r.Is(t, "message"):
		r.message(i, path)
	case r.Is(t, "function_call"), r.Is(t, "custom_tool_call"):
		r.add(sdk.Assistant, path, r.call(i, r.Is(t, "custom_tool_call")))
	case r.Is(t, "function_call_output"), r.Is(t, "custom_tool_call_output"):
		res := &sdk.Result{ID: r.Content(r.needed(i, "call_id"))}
		if out := r.needed(i, "output"); out > 0 {
			res.Parts = r.content(out)
		}
		r.add(sdk.Tooling, path, sdk.Part{Kind: sdk.PartResult, Result: res})
	case r.Is(t, "reasoning"):
		if parts := r.thoughts(i); len(parts) > 0 {
			r.add(sdk.Assistant, path, parts...)
		}
	case r.Is(t, "image_generation_call") && r.Get(i, "result") > 0: // as the encoder writes a picture
		m := &sdk.Media{MIME: "image/png", Data: r.Content(r.Get(i, "result"))}
		if f := r.Word(r.Get(i, "output_format")); f != "" {
			m.MIME = "image/" + f
		}
		r.add(sdk.Assistant, path, sdk.Part{Kind: sdk.PartImage, Media: m})
	case r.Is(t, "item_reference"), r.Is(t, "compaction_trigger"): // they name what only the service has
		r.unknown(i)
	default:
		r.foreign(i, r.Word(t), path)
	}
}

// foreign keeps an item of a tool that the service runs, or of a client's tool that only this dialect has.
func (r *decoder) foreign(i int, typ, path string) {
	role := sdk.Assistant
	if strings.HasSuffix(typ, "_call_output") || typ == "mcp_approval_response" {
		role = sdk.Tooling
	}
	r.add(role, path, sdk.Part{Kind: sdk.PartForeign, Type: typ, Value: r.Value(i)})
}

// add appends parts to the turn that is open, where it is the model's too, or as a turn of its own. An item that begins no
// turn tells its parts where they are.
func (r *decoder) add(role sdk.Role, path string, parts ...sdk.Part) {
	list := r.req.Messages
	if n := len(list) - 1; n >= 0 && role == sdk.Assistant && list[n].Role == role {
		for i := range parts {
			parts[i].Path = sdk.PartPath(path, parts, i)
		}
		list[n].Parts = append(list[n].Parts, parts...)
		return
	}
	r.req.Messages = append(list, sdk.Message{Role: role, Path: path, Parts: parts})
}

func (r *decoder) message(i int, path string) {
	var role sdk.Role
	switch v := r.Get(i, "role"); {
	case v == 0:
		r.Missing(i, "role")
	case r.Is(v, "user"):
		role = sdk.User
	case r.Is(v, "assistant"):
		role = sdk.Assistant
	case r.Is(v, "system"):
		role = sdk.System
	case r.Is(v, "developer"):
		role = sdk.Developer
	default:
		r.Want(v, `"system", "developer", "user" or "assistant"`)
	}
	content := r.needed(i, "content")
	if content == 0 {
		return
	}
	r.add(role, path, r.content(content)...)
}

// call reads a call of the model. OpenAI itself sends "" for a call without arguments.
func (r *decoder) call(i int, custom bool) sdk.Part {
	call := &sdk.Call{ID: r.Content(r.needed(i, "call_id")), Name: r.Content(r.needed(i, "name")), Custom: custom}
	if custom {
		call.Input = r.Content(r.Get(i, "input"))
	} else {
		call.Arguments = r.Arguments(r.Get(i, "arguments"))
	}
	part := sdk.Part{Kind: sdk.PartCall, Call: call}
	// Where the encoder puts it, as Google's own endpoint of chat completions does.
	part.Signature = r.Content(r.Get(r.Get(r.Get(i, "extra_content"), "google"), "thought_signature"))
	return part
}

// openAISealed is how OpenAI's sealed reasoning begins (the version byte of a Fernet token); what other providers signed or
// sealed, and the encoder put in the same place, does not.
const openAISealed = "gAAAA"

// openAIFormat tells the plugins whose secret a sealed thought is; it is OpenRouter's word for it.
const openAIFormat = "openai-responses-v1"

// thoughts reads an item of reasoning: what it says, and the signature or the secret that belongs to it.
func (r *decoder) thoughts(i int) []sdk.Part {
	text := r.joined(r.Get(i, "summary"))
	if text.Empty() {
		text = r.joined(r.Get(i, "content"))
	}
	sealed := r.Content(r.Get(i, "encrypted_content"))
	var parts []sdk.Part
	switch theirs := sealed.HasPrefix(openAISealed); {
	case sealed.Empty():
		parts = append(parts, sdk.Part{Kind: sdk.PartThinking, Text: text})
	case text.Empty() && theirs:
		parts = append(parts, sdk.Part{Kind: sdk.PartRedacted, Text: sealed, Type: openAIFormat})
	case text.Empty():
		parts = append(parts, sdk.Part{Kind: sdk.PartRedacted, Text: sealed})
	case theirs: // a secret is no signature that another provider could check
		parts = append(parts, sdk.Part{Kind: sdk.PartThinking, Text: text}, sdk.Part{Kind: sdk.PartRedacted, Text: sealed, Type: openAIFormat})
	default:
		parts = append(parts, sdk.Part{Kind: sdk.PartThinking, Text: text, Signature: sealed})
	}
	if parts[0].Kind == sdk.PartThinking && parts[0].Text.Empty() {
		return parts[1:]
	}
	return parts
}

// joined is the text of some parts, with an empty line between them, as OpenAI's own pages show summaries.
func (r *decoder) joined(list int) sdk.Text {
	if !r.Array(list) {
		return sdk.Text{}
	}
	var raw []byte
	n := 0
	for p := range r.Items(list) {
		text := r.Content(r.Get(p, "text"))
		if text.Empty() {
			continue
		}
		if n++; n > 1 {
			raw = append(raw, `\n\n`...)
		}
		raw = append(raw, text.Raw()...)
	}
	return sdk.RawText(raw)
}
