package bedrock

import (
	"github.com/penstock-gateway/penstock/sdk"
)

// embeddingsDialect is InvokeModel with models for embeddings: each maker has a form of its own.
const embeddingsDialect = "bedrock-embeddings"

// embed writes a request for embeddings. Only Cohere's models take several inputs.
func (e *encoding) embed() error {
	switch {
	case len(e.Inputs) == 0:
		return &sdk.Inexpressible{What: "an input that is not text", Path: "input"}
	case len(e.Inputs) > 1 && e.name != "cohere":
		return &sdk.Inexpressible{What: "several inputs", Path: "input"}
	}
	purpose, unknown, err := e.Purpose()
	if err != nil {
		return err
	}
	switch {
	case e.name == "cohere":
		e.cohere(purpose)
	case e.name == "amazon" && e.nova2:
		e.nova(purpose)
	case e.name == "amazon":
		e.titan()
		unknown = e.Unknown
	default:
		return &sdk.Inexpressible{What: "embeddings of " + e.Model}
	}
	if e.User.Present() {
		e.plan.Drop("user", "the API has no such member")
	}
	for _, m := range unknown {
		e.plan.Drop(m.Path, "the API has no such member")
	}
	return nil
}

// inputTypes and embeddingPurposes are the words of Cohere and of Nova for what vectors are for. Both must be told: where a
// client does not say, they are of documents.
var (
	inputTypes = [...]string{
		sdk.PurposeUnset: "search_document", sdk.PurposeDocument: "search_document", sdk.PurposeQuery: "search_query",
		sdk.PurposeClassification: "classification", sdk.PurposeClustering: "clustering",
	}
	embeddingPurposes = [...]string{
		sdk.PurposeUnset: "GENERIC_INDEX", sdk.PurposeDocument: "GENERIC_INDEX", sdk.PurposeQuery: "TEXT_RETRIEVAL",
		sdk.PurposeClassification: "CLASSIFICATION", sdk.PurposeClustering: "CLUSTERING",
	}
)

// cohere writes Cohere's form (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v4.html).
func (e *encoding) cohere(purpose sdk.Purpose) {
	w := e.w
	w.Object()
	w.Name("input_type").String(inputTypes[purpose])
	w.Name("texts").Array()
	for _, text := range e.Inputs {
		w.Text(text)
	}
	w.EndArray()
	if e.Dimensions > 0 {
		w.Name("output_dimension").Int(int64(e.Dimensions))
	}
	w.EndObject()
}

// titan writes the form of Titan's text embeddings
// (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html).
func (e *encoding) titan() {
	e.w.Object()
	e.w.Name("inputText").Text(e.Inputs[0])
	if e.Dimensions > 0 {
		e.w.Name("dimensions").Int(int64(e.Dimensions))
	}
	e.w.EndObject()
}

// nova writes the form of Nova's embeddings
// (https://docs.aws.amazon.com/nova/latest/userguide/embeddings-schema.html).
func (e *encoding) nova(purpose sdk.Purpose) {
	w := e.w
	w.Object()
	w.Name("taskType").String("SINGLE_EMBEDDING")
	w.Name("singleEmbeddingParams").Object()
	w.Name("embeddingPurpose").String(embeddingPurposes[purpose])
	w.Name("text").Object()
	w.Name("truncationMode").String("NONE") // too long is an error, as with others
	w.Name("value").Text(e.Inputs[0])
	w.EndObject()
	if e.Dimensions > 0 {
		w.Name("embeddingDimension").Int(int64(e.Dimensions))
	}
	w.EndObject()
	w.EndObject()
}

// vectors reads the answer to a request for embeddings in the form of any maker.
func vectors(root sdk.Node, out *sdk.Events) error {
	tokens := root.Get("inputTextTokenCount").Int()
	list := root.Get("embeddings")
	switch one := root.Get("embedding"); {
	case one.Exists(): // Titan
		out.Vectors(sdk.Text{}, func(yield func(sdk.Node) bool) { yield(one) }, tokens)
	case list.Get("float").Exists(): // Cohere, since version 4
		out.Vectors(sdk.Text{}, list.Get("float").Items(), tokens)
	case !list.Exists():
		out.Add(sdk.Failed).Failure = *sdk.Fail(sdk.UpstreamEmpty, "the provider's answer has no embeddings")
		return nil
	case ofObjects(list): // Nova
		out.Vectors(sdk.Text{}, sdk.Each(list.Items(), "embedding"), tokens)
	default:
		out.Vectors(sdk.Text{}, list.Items(), tokens)
	}
	return nil
}

// ofObjects says whether a list's first item is an object.
func ofObjects(list sdk.Node) bool {
	for first := range list.Items() {
		return first.Get("embedding").Exists()
	}
	return false
}
