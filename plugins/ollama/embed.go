package ollama

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// embeddingsDialect is the name of Ollama's own way of asking for embeddings.
const embeddingsDialect = "ollama-embeddings"

// embed writes a request for embeddings (https://docs.ollama.com/api/embed).
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
	w.StringMember("keep_alive", e.KeepAlive)
	if e.Context > 0 {
		w.Name("options").Object()
		w.Name("num_ctx").Int(int64(e.Context))
		w.EndObject()
	}
	if e.User.Present() {
		e.plan.Drop("user", "the API has no such member")
	}
	for _, m := range e.Unknown {
		e.plan.Drop(m.Path, "the API has no such member")
	}
	w.EndObject()
	return nil
}

// vectors reads the answer to a request for embeddings.
func vectors(root sdk.Node, out *sdk.Events) error {
	switch text := root.Get("error"); {
	case !text.Null():
		out.Add(sdk.Failed).Failure = *sdk.Fail(kindOf(text.Str()), strings.Clone(text.Str()))
		return nil
	case !root.Get("embeddings").Exists():
		out.Add(sdk.Failed).Failure = *sdk.Fail(sdk.UpstreamEmpty, "the provider's answer has no embeddings")
		return nil
	}
	out.Vectors(root.Get("model").Text(), root.Get("embeddings").Items(), root.Get("prompt_eval_count").Int())
	return nil
}
