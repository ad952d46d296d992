package bedrock

import (
	"maps"
	"slices"
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// encoding is the work on one request.
type encoding struct {
	*sdk.Request
	maker
	plan      *sdk.Plan
	w         *sdk.Writer
	system    []block
	turns     []turn
	documents int                   // written, since each wants a name of its own
	names     map[string]string     // tool names that had to change
	open      []openCall            // calls of the last assistant turn that no result has answered yet
	made      int                   // ids made for calls that came without
	used      map[string]bool       // ids of the calls so far
	extra     map[*sdk.Value]string // cache marks that are too many
}

// maxMarks is how many cache marks a request may have (https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html).
const maxMarks = 4

// Encode writes the request as a conversation, also where the deployment is to speak the Messages API: the client does not,
// and Converse serves the same models.
func (*provider) Encode(r *sdk.Request, plan *sdk.Plan) error {
	e := &encoding{Request: r, maker: makerOf(r.Model), plan: plan, w: &plan.Body}
	if r.Native == anthropicDialect {
		if plan.Path = converse; r.Stream {
			plan.Path = converseStream
		}
	}
	switch {
	case r.Native == embeddingsDialect:
		return e.embed()
	case r.N > 1:
		return &sdk.Inexpressible{What: "several answers", Path: "n"}
	case string(r.Logprobs.Raw()) == "true":
		return &sdk.Inexpressible{What: "log probabilities", Path: "logprobs"}
	}
	if err := e.arrange(); err != nil {
		return err
	}
	if e.caches() {
		e.extra = r.ExtraMarks(maxMarks)
	}
	e.w.Object()
	if err := e.writeMessages(); err != nil {
		return err
	}
	if err := e.writeTools(); err != nil {
		return err
	}
	t := e.thought()
	e.inference(t)
	e.additional(t)
	if err := e.format(); err != nil {
		return err
	}
	e.identity()
	e.unknown()
	e.w.EndObject()
	return nil
}

// inference writes the members that all models have
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html). A Claude that thinks
// takes no sampling parameters, and from 4.7 on none does
// (https://platform.claude.com/docs/en/about-claude/models/migration-guide).
func (e *encoding) inference(t thought) {
	w := e.w
	w.Name("inferenceConfig").Object()
	switch {
	case e.MaxOutput > 0:
		w.Name("maxTokens").Int(int64(e.MaxOutput))
	case t.budget > 0: // which is a share of it
		w.Name("maxTokens").Int(int64(e.DefaultMax))
	}
	temperature, topP := e.Temperature, e.TopP
	if e.claude() && (t.on || e.atLeast(4, 7)) {
		for _, p := range []struct {
			name string
			v    sdk.Value
		}{{"temperature", temperature}, {"top_p", topP}} {
			if p.v.Present() && string(p.v.Raw()) != "1" {
				e.plan.Drop(p.name, "the model takes none here")
			}
		}
		temperature, topP = sdk.Value{}, sdk.Value{}
	}
	if e.claude() && temperature.Present() && topP.Present() && e.atLeast(4, 1) {
		e.plan.Drop("top_p", "the model takes one of temperature and top_p")
		topP = sdk.Value{}
	}
	if n, err := strconv.ParseFloat(string(temperature.Raw()), 64); err == nil && n > 1 {
		e.plan.Approximate("temperature", "at most 1: sent as 1")
		temperature = sdk.RawValue([]byte("1"))
	}
	w.ValueMember("temperature", temperature)
	w.ValueMember("topP", topP)
	e.stops()
	w.EndObject()
}

func (e *encoding) stops() {
	var able []sdk.Text
	for i, s := range e.Stop {
		if blank(s) {
			e.plan.Drop("stop["+strconv.Itoa(i)+"]", "a stop text must not be blank")
			continue
		}
		able = append(able, s)
	}
	if len(able) == 0 {
		return
	}
	e.w.Name("stopSequences").Array()
	for _, s := range able {
		e.w.Text(s)
	}
	e.w.EndArray()
}

// format writes the form of the answer, its schema as a text
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_OutputFormat.html).
func (e *encoding) format() error {
	switch e.Format.Kind {
	case sdk.FormatJSON:
		e.plan.Lose("response_format", "Converse has no JSON mode without a schema")
	case sdk.FormatSchema:
		if !e.Format.Schema.Present() {
			return &sdk.Invalid{Path: "response_format.json_schema.schema", Message: "want a schema"}
		}
		w := e.w
		w.Name("outputConfig").Object()
		w.Name("textFormat").Object()
		w.Name("type").String("json_schema")
		w.Name("structure").Object()
		w.Name("jsonSchema").Object()
		w.Name("schema").Text(e.fitted(e.Format.Schema, "response_format.json_schema.schema").Text())
		if !e.Format.Name.Empty() {
			w.Name("name").Text(e.Format.Name)
		}
		if !e.Format.Description.Empty() {
			w.Name("description").Text(e.Format.Description)
		}
		for range 4 {
			w.EndObject()
		}
	}
	return nil
}

// identity notes what Converse has no member for, and writes the tier
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ServiceTier.html).
func (e *encoding) identity() {
	switch tier, _ := e.ServiceTier.Decoded(); tier {
	case "", "auto":
	case "default", "flex", "priority":
		e.w.Name("serviceTier").Object()
		e.w.Name("type").String(tier)
		e.w.EndObject()
	default:
		e.plan.Drop("service_tier", "Converse has default, flex and priority")
	}
	for _, m := range []struct {
		name string
		sent bool
		why  string
	}{
		{"user", e.User.Present(), "Converse has no user"},
		{"metadata", e.Metadata.Present(), "metadata go into the account's logs here"},
		{"prompt_cache_key", e.CacheKey.Present(), "caching goes by marks"},
		{"seed", e.Seed.Present(), "Converse has no seed"},
		{"frequency_penalty", nonZero(e.FrequencyPenalty), "Converse has no penalties"},
		{"presence_penalty", nonZero(e.PresencePenalty), "Converse has no penalties"},
		{"cache_control", e.Cache.Present() && !e.caches(), "the model keeps no prompts"},
	} {
		if m.sent {
			e.plan.Drop(m.name, m.why)
		}
	}
	for _, path := range slices.Sorted(maps.Values(e.extra)) {
		e.plan.Drop(path, "a request has at most 4 cache marks")
	}
	if signed := e.SignedPart(); signed != "" {
		e.plan.Drop(signed, "sent without another provider's signature")
	}
	if named := e.NamedSpeaker(); named != "" {
		e.plan.Drop(named, "Converse has no names of speakers")
	}
	if e.LogitBias.Present() && string(e.LogitBias.Raw()) != "{}" {
		e.plan.Lose("logit_bias", "Converse has no logit_bias")
	}
}

func nonZero(v sdk.Value) bool {
	n, err := strconv.ParseFloat(string(v.Raw()), 64)
	return v.Present() && (err != nil || n != 0)
}

func (e *encoding) unknown() {
	for _, m := range e.Unknown {
		if m.Advisory() {
			e.plan.Drop(m.Path, "Converse has no such member")
		} else {
			e.plan.Lose(m.Path, "Converse has no such member")
		}
	}
}
