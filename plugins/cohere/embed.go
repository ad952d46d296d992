package cohere

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// embeddingsDialect is the name of Cohere's own way of asking for embeddings.
const embeddingsDialect = "cohere-embeddings"

// inputTypes are Cohere's words for what vectors are for. The API demands one: where a client does not say, they are of
// documents, as in the API's own examples.
var inputTypes = [...]string{
	sdk.PurposeUnset: "search_document", sdk.PurposeDocument: "search_document", sdk.PurposeQuery: "search_query",
	sdk.PurposeClassification: "classification", sdk.PurposeClustering: "clustering",
}

// embed writes a request for embeddings (https://docs.cohere.com/reference/embed).
func (e *encoding) embed() error {
	if len(e.Inputs) == 0 {
		return &sdk.Inexpressible{What: "an input that is not text", Path: "input"}
	}
	purpose, unknown, err := e.Purpose()
	if err != nil {
		return err
	}
	w := e.w
	w.Object()
	w.Name("model").String(e.Model)
	w.Name("input_type").String(inputTypes[purpose])
	w.Name("embedding_types").Array()
	w.String("float")
	w.EndArray()
	w.Name("texts").Array()
	for _, text := range e.Inputs {
		w.Text(text)
	}
	w.EndArray()
	if e.Dimensions > 0 {
		w.Name("output_dimension").Int(int64(e.Dimensions))
	}
	if e.User.Present() {
		e.plan.Drop("user", "the API has no such member")
	}
	for _, m := range unknown {
		e.plan.Drop(m.Path, "the API has no such member")
	}
	w.EndObject()
	return nil
}

// vectors reads the answer to a request for embeddings.
func vectors(root sdk.Node, out *sdk.Events) error {
	list := root.At("embeddings", "float")
	switch text := root.Get("message").Str(); {
	case text != "" && !list.Exists():
		out.Add(sdk.Failed).Failure = *sdk.Fail(kindOf(text), strings.Clone(text))
		return nil
	case !list.Exists():
		out.Add(sdk.Failed).Failure = *sdk.Fail(sdk.UpstreamEmpty, "the provider's answer has no embeddings")
		return nil
	}
	out.Vectors(sdk.Text{}, list.Items(), root.At("meta", "billed_units", "input_tokens").Int())
	return nil
}
