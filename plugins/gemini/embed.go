package gemini

import (
	"github.com/penstock-gateway/penstock/sdk"
)

// The dialects of embeddings: of AI Studio, which Gemini's clients speak, and of Vertex AI.
const (
	studioEmbeddings = "gemini-embeddings"
	vertexEmbeddings = "vertex-embeddings"
)

// embedBatch takes several inputs (https://ai.google.dev/api/embeddings).
const embedBatch = "/models/{model}:batchEmbedContents"

// embed writes a request for embeddings: a batch, whatever the number of inputs.
func (e *encoding) embed() error {
	if len(e.Inputs) == 0 {
		return &sdk.Inexpressible{What: "an input that is not text", Path: "input"}
	}
	purpose, unknown, err := e.Purpose()
	if err != nil {
		return err
	}
	e.unknownOfEmbeddings(unknown)
	switch e.Native {
	case studioEmbeddings:
		e.studio(taskTypes[purpose])
		return nil
	case vertexEmbeddings:
		e.vertex(taskTypes[purpose])
		return nil
	}
	return &sdk.Inexpressible{What: "embeddings in dialect " + e.Native}
}

// taskTypes are Google's words for what vectors are for; none where a client does not say.
var taskTypes = [...]string{
	sdk.PurposeUnset: "", sdk.PurposeDocument: "RETRIEVAL_DOCUMENT", sdk.PurposeQuery: "RETRIEVAL_QUERY",
	sdk.PurposeClassification: "CLASSIFICATION", sdk.PurposeClustering: "CLUSTERING",
}

// studio writes contents, each with the model, which must be the path's.
func (e *encoding) studio(taskType string) {
	e.plan.Path = embedBatch
	w := e.w
	w.Object()
	w.Name("requests").Array()
	for _, text := range e.Inputs {
		w.Object()
		w.Name("model").String("models/" + e.Model)
		w.Name("content").Object()
		w.Name("parts").Array()
		w.Object()
		w.Name("text").Text(text)
		w.EndObject()
		w.EndArray()
		w.EndObject()
		if taskType != "" {
			w.Name("taskType").String(taskType)
		}
		if e.Dimensions > 0 {
			w.Name("outputDimensionality").Int(int64(e.Dimensions))
		}
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
}

// vertex writes instances
// (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api).
func (e *encoding) vertex(taskType string) {
	w := e.w
	w.Object()
	w.Name("instances").Array()
	for _, text := range e.Inputs {
		w.Object()
		w.Name("content").Text(text)
		if taskType != "" {
			w.Name("task_type").String(taskType)
		}
		w.EndObject()
	}
	w.EndArray()
	if e.Dimensions > 0 {
		w.Name("parameters").Object()
		w.Name("outputDimensionality").Int(int64(e.Dimensions))
		w.EndObject()
	}
	w.EndObject()
}

// unknownOfEmbeddings notes what is left out. Whose request it is changes nothing of a vector.
func (e *encoding) unknownOfEmbeddings(unknown []sdk.Member) {
	if e.User.Present() {
		e.plan.Drop("user", "the API has no such member")
	}
	for _, m := range unknown {
		e.plan.Drop(m.Path, "the API has no such member")
	}
}

// vectors reads the answer to a request for embeddings, of a batch or of Vertex AI.
func vectors(root sdk.Node, out *sdk.Events) error {
	if failure := failed(root); failure != nil {
		out.Add(sdk.Failed).Failure = *failure
		return nil
	}
	if batch := root.Get("embeddings"); batch.Exists() {
		out.Vectors(sdk.Text{}, sdk.Each(batch.Items(), "values"), root.At("usageMetadata", "promptTokenCount").Int())
		return nil
	}
	predictions := root.Get("predictions")
	if !predictions.Exists() {
		out.Add(sdk.Failed).Failure = *sdk.Fail(sdk.UpstreamEmpty, "the provider's answer has no embeddings")
		return nil
	}
	tokens := int64(0)
	for n := range sdk.Each(predictions.Items(), "embeddings", "statistics", "token_count") {
		tokens += n.Int()
	}
	out.Vectors(sdk.Text{}, sdk.Each(predictions.Items(), "embeddings", "values"), tokens)
	return nil
}
