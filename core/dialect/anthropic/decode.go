package anthropic

import (
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Decode builds the middle form. Members that are null count as absent.
func (d Dialect) Decode(doc *jsonspan.Doc, req *sdk.Request) error {
	r := decoder{Reader: dialect.Read(doc), req: req}
	req.Dialect = d.Name()
	if r.Kind(0) != jsonspan.Object {
		r.Want(0, "an object")
		return r.Fault()
	}
	if system, ok := member(doc, 0, "system"); ok {
		r.system(system)
	}
	for k, v := range r.Members(0) {
		if r.Kind(v) != jsonspan.Null {
			r.member(string(r.Name(k)), v)
		}
	}
	req.WantUsage = true // the dialect has no answer without it
	return r.Fault()
}

// decoder fills a request.
type decoder struct {
	dialect.Reader
	req *sdk.Request
}

// unknown keeps a value that the middle form has no member for.
func (r *decoder) unknown(v int) {
	r.req.Unknown = append(r.req.Unknown, sdk.Member{Path: r.Path(v), Value: r.Value(v)})
}

// rest keeps the members of an object that are not among the known ones.
func (r *decoder) rest(obj int, known ...string) {
members:
	for k, v := range r.Members(obj) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		for _, name := range known {
			if r.Is(k, name) {
				continue members
			}
		}
		r.unknown(v)
	}
}

// needed gives a member that must be there.
func (r *decoder) needed(obj int, name string) int {
	v := r.Get(obj, name)
	if v == 0 {
		r.Missing(obj, name)
	}
	return v
}

// member reads one top-level member that is not null.
func (r *decoder) member(name string, v int) {
	q := r.req
	switch name {
	case "model": // the deployment's takes its place
	case "system": // read before the messages
	case "messages":
		r.messages(v)
	case "tools":
		r.tools(v)
	case "tool_choice":
		r.choice(v)
	case "stream":
		q.Stream = r.Truth(v)
	case "max_tokens":
		q.MaxOutput = r.Limit(v)
	case "temperature":
		q.Temperature = r.Number(v)
	case "top_p":
		q.TopP = r.Number(v)
	case "top_k":
		q.TopK = r.Number(v)
	case "stop_sequences":
		if r.Array(v) {
			for s := range r.Items(v) {
				q.Stop = append(q.Stop, r.Content(s))
			}
		}
	case "thinking":
		r.thinking(v)
	case "output_config":
		r.output(v)
	case "output_format": // the beta's place for output_config.format
		r.format(v)
	case "metadata":
		if r.Object(v) {
			q.User = r.Content(r.Get(v, "user_id"))
			r.rest(v, "user_id")
		}
	case "service_tier":
		q.ServiceTier = r.Content(v)
	case "cache_control":
		q.Cache = r.Value(v)
	default:
		r.unknown(v)
	}
}

func (r *decoder) thinking(v int) {
	if !r.Object(v) {
		return
	}
	q := &r.req.Reasoning
	switch t := r.needed(v, "type"); {
	case r.Is(t, "enabled"):
		q.Mode = sdk.ReasoningOn
	case r.Is(t, "disabled"):
		q.Mode = sdk.ReasoningOff
	case r.Is(t, "adaptive"), r.Is(t, "between_tools"):
		q.Mode = sdk.ReasoningAdaptive
	case t > 0:
		r.unknown(v)
	}
	q.Budget = r.Whole(r.Get(v, "budget_tokens"))
	q.Display = r.Word(r.Get(v, "display"))
}

func (r *decoder) output(v int) {
	if !r.Object(v) {
		return
	}
	r.req.Reasoning.Effort = r.Word(r.Get(v, "effort"))
	if f := r.Get(v, "format"); f > 0 {
		r.format(f)
	}
	r.rest(v, "effort", "format")
}

func (r *decoder) format(v int) {
	if !r.Object(v) {
		return
	}
	if !r.Is(r.Get(v, "type"), "json_schema") {
		r.unknown(v)
		return
	}
	f := &r.req.Format
	f.Kind, f.Schema, f.Name = sdk.FormatSchema, r.Value(r.needed(v, "schema")), r.Content(r.Get(v, "name"))
}

func (r *decoder) tools(v int) {
	if !r.Array(v) {
		return
	}
	for t := range r.Items(v) {
		if r.Object(t) {
			r.req.Tools = append(r.req.Tools, r.tool(t))
		}
	}
}

// tool reads one tool: the client's own, or one of Anthropic's, whose type has a date in it.
func (r *decoder) tool(t int) sdk.Tool {
	tool := sdk.Tool{Name: r.Content(r.Get(t, "name")), Cache: r.Value(r.Get(t, "cache_control"))}
	if kind := r.Get(t, "type"); kind > 0 && !r.Is(kind, "custom") {
		tool.Kind, tool.Type, tool.Raw = sdk.ForeignTool, r.Word(kind), r.Value(t)
		return tool
	}
	r.needed(t, "name")
	tool.Description, tool.Strict = r.Content(r.Get(t, "description")), r.TruthValue(r.Get(t, "strict"))
	if s := r.Get(t, "input_schema"); s > 0 && r.Object(s) {
		tool.Parameters = r.Parameters(s)
	}
	r.rest(t, "name", "cache_control", "type", "description", "strict", "input_schema")
	return tool
}

func (r *decoder) choice(v int) {
	if !r.Object(v) {
		return
	}
	c := &r.req.Choice
	switch t := r.needed(v, "type"); {
	case r.Is(t, "auto"):
		c.Mode = sdk.ChoiceAuto
	case r.Is(t, "any"):
		c.Mode = sdk.ChoiceRequired
	case r.Is(t, "none"):
		c.Mode = sdk.ChoiceNone
	case r.Is(t, "tool"):
		c.Mode, c.Names = sdk.ChoiceNamed, []sdk.Text{r.Content(r.needed(v, "name"))}
	case t > 0:
		r.Want(t, `"auto", "any", "tool" or "none"`)
	}
	if d := r.Get(v, "disable_parallel_tool_use"); d > 0 {
		c.Parallel = sdk.RawValue([]byte("true"))
		if r.Truth(d) {
			c.Parallel = sdk.RawValue([]byte("false"))
		}
	}
}
