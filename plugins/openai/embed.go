package openai

import (
	"github.com/penstock-gateway/penstock/sdk"
)

// embeddingsDialect is the name of OpenAI's embeddings, which clients of other dialects are translated to.
const embeddingsDialect = "openai-embeddings"

// embed writes a request for embeddings (https://platform.openai.com/docs/api-reference/embeddings/create). No form is
// asked for: all services give lists of numbers then.
func (e *encoding) embed() error {
	if len(e.Inputs) == 0 {
		return &sdk.Inexpressible{What: "an input that is not text", Path: "input"}
	}
	w := e.w
	w.Object()
	w.Name("model").String(e.Model)
	w.Name("input").Array()
	for _, text := range e.Inputs {
		w.Text(text)
	}
	w.EndArray()
	if e.Dimensions > 0 {
		w.Name("dimensions").Int(int64(e.Dimensions))
	}
	if e.User.Present() && !e.strict {
		w.Name("user").Text(e.User)
	}
	for _, m := range e.Unknown {
		e.plan.Drop(m.Path, "embeddings have no such member")
	}
	w.EndObject()
	return nil
}

// vectors reads the answer to a request for embeddings.
func vectors(root sdk.Node, out *sdk.Events) error {
	if failure := failed(root, ""); failure != nil {
		out.Add(sdk.Failed).Failure = *failure
		return nil
	}
	if !root.Get("data").Exists() {
		out.Add(sdk.Failed).Failure = *sdk.Fail(sdk.UpstreamEmpty, "the provider's answer has no embeddings")
		return nil
	}
	in := root.At("usage", "prompt_tokens")
	if in.Null() { // Voyage, Jina
		in = root.At("usage", "total_tokens")
	}
	out.Vectors(root.Get("model").Text(), sdk.Each(root.Get("data").Items(), "embedding"), in.Int())
	return nil
}
