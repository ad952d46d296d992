package openairesponses

import (
	"slices"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// What the member include can ask for that the middle form knows.
const (
	logprobsOfText  = "message.output_text.logprobs"
	sealedReasoning = "reasoning.encrypted_content" // answers written here have it anyway
)

// Decode builds the middle form. Members that are null count as absent. What only the account that keeps the state can
// do (an earlier response, a conversation, a stored prompt, work in the background) is left among the unknown.
func (d Dialect) Decode(doc *jsonspan.Doc, req *sdk.Request) error {
	r := decoder{Reader: dialect.Read(doc), req: req}
	req.Dialect = d.Name()
	if r.Kind(0) != jsonspan.Object {
		r.Want(0, "an object")
		return r.Fault()
	}
	for k, v := range r.Members(0) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		name := string(r.Name(k))
		if r.turns(name, v) || r.sampling(name, v) || r.wishes(name, v) || r.usual(name, v) {
			continue
		}
		r.unknown(v)
	}
	r.finish()
	return r.Fault()
}

// decoder fills a request.
type decoder struct {
	dialect.Reader
	req          *sdk.Request
	instructions sdk.Text
	oldUser      sdk.Text // user, which beats safety_identifier
}

// finish settles what two members say about one thing, and puts the instructions before the input.
func (r *decoder) finish() {
	q := r.req
	q.WantUsage = q.Stream // the dialect always shows its usage
	if r.oldUser.Present() {
		q.User = r.oldUser
	}
	if q.Reasoning.Effort == "none" {
		q.Reasoning.Mode = sdk.ReasoningOff
	}
	if r.instructions.Present() {
		system := sdk.Message{Role: sdk.System, Path: "instructions", Parts: []sdk.Part{{Kind: sdk.PartText, Text: r.instructions}}}
		q.Messages = slices.Insert(q.Messages, 0, system)
	}
}

// unknown keeps a value that the middle form has no member for.
func (r *decoder) unknown(v int) {
	r.req.Unknown = append(r.req.Unknown, sdk.Member{Path: r.Path(v), Value: r.Value(v)})
}

// rest keeps the members of an object that are not among the known ones.
func (r *decoder) rest(obj int, known ...string) {
	for k, v := range r.Members(obj) {
		if r.Kind(v) != jsonspan.Null && !slices.Contains(known, string(r.Name(k))) {
			r.unknown(v)
		}
	}
}

// turns reads the input and the tools.
func (r *decoder) turns(name string, v int) bool {
	switch name {
	case "input":
		r.input(v)
	case "instructions":
		r.instructions = r.Content(v)
	case "tools":
		r.tools(v)
	case "tool_choice":
		r.choice(v)
	case "parallel_tool_calls":
		r.req.Choice.Parallel = r.TruthValue(v)
	default:
		return false
	}
	return true
}

// sampling reads the numbers that steer the model, and its limits.
func (r *decoder) sampling(name string, v int) bool {
	q := r.req
	switch name {
	case "temperature":
		q.Temperature = r.Number(v)
	case "top_p":
		q.TopP = r.Number(v)
	case "max_output_tokens":
		q.MaxOutput = r.Limit(v)
	case "top_logprobs":
		q.TopLogprobs = r.Number(v)
	default:
		return false
	}
	return true
}

// wishes reads what the client wants of the answer and of the service.
func (r *decoder) wishes(name string, v int) bool {
	q := r.req
	switch name {
	case "model": // the deployment's takes its place
	case "stream":
		q.Stream = r.Truth(v)
	case "stream_options":
		if r.Object(v) {
			r.rest(v, "include_obfuscation")
		}
	case "text":
		if r.Object(v) {
			r.format(r.Get(v, "format"))
			r.rest(v, "format")
		}
	case "reasoning":
		r.reasoning(v)
	case "include":
		r.include(v)
	case "service_tier":
		q.ServiceTier = r.Content(v)
	case "user":
		r.oldUser = r.Content(v)
	case "safety_identifier":
		q.User = r.Content(v)
	case "metadata":
		if r.Object(v) {
			q.Metadata = r.Value(v)
		}
	case "prompt_cache_key":
		q.CacheKey = r.Content(v)
	default:
		return false
	}
	return true
}

// usual says whether a member asks for nothing but what any answer is: not stored, not in the background, not truncated.
func (r *decoder) usual(name string, v int) bool {
	switch name {
	case "store", "background":
		return !r.Truth(v)
	case "truncation":
		return r.Is(v, "disabled")
	}
	return false
}

func (r *decoder) include(v int) {
	if !r.Array(v) {
		return
	}
	for i := range r.Items(v) {
		switch {
		case r.Is(i, logprobsOfText):
			r.req.Logprobs = sdk.RawValue([]byte("true"))
		case !r.Is(i, sealedReasoning):
			r.unknown(i)
		}
	}
}

func (r *decoder) reasoning(v int) {
	if !r.Object(v) {
		return
	}
	q := &r.req.Reasoning
	q.Effort = r.Word(r.Get(v, "effort"))
	q.Summary = r.Word(r.Get(v, "summary"))
	if old := r.Get(v, "generate_summary"); q.Summary == "" {
		q.Summary = r.Word(old)
	}
	r.rest(v, "effort", "summary", "generate_summary")
}

// format reads text.format, whose schema stands beside its name.
func (r *decoder) format(v int) {
	if !r.Object(v) {
		return
	}
	f := &r.req.Format
	switch t := r.Get(v, "type"); {
	case t == 0:
		r.Missing(v, "type")
	case r.Is(t, "text"):
		f.Kind = sdk.FormatText
	case r.Is(t, "json_object"):
		f.Kind = sdk.FormatJSON
	case r.Is(t, "json_schema"):
		f.Kind = sdk.FormatSchema
		f.Name, f.Description = r.Content(r.Get(v, "name")), r.Content(r.Get(v, "description"))
		f.Schema, f.Strict = r.Value(r.Get(v, "schema")), r.TruthValue(r.Get(v, "strict"))
	default:
		r.unknown(v)
	}
}
