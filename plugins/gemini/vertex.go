package gemini

import (
	"context"
	"fmt"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/oauth"
)

// vertexAuth is what Vertex AI takes: an API key, or a token that Authorize fetches
// (https://cloud.google.com/vertex-ai/generative-ai/docs/start/api-keys).
func vertexAuth() *sdk.Auth {
	return &sdk.Auth{Kind: "token", Header: "x-goog-api-key", Format: "{api_key}", Members: oauth.GoogleMembers()}
}

// vertexHost gives the host that serves a location: a region, a multi-region, or global
// (https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations).
func vertexHost(location string) string {
	switch location {
	case "global":
		return "aiplatform.googleapis.com"
	case "us", "eu":
		return "aiplatform." + location + ".rep.googleapis.com"
	}
	return location + "-aiplatform.googleapis.com"
}

// Authorize gives the header for Vertex AI. The credential holds service_account, the text of a key file for which a token
// is fetched, or access_token.
func (*provider) Authorize(ctx context.Context, r sdk.AuthRequest) (sdk.Authorization, error) {
	t, err := oauth.Google(ctx, r.Credential)
	if err != nil {
		return sdk.Authorization{}, fmt.Errorf("provider %s: %w", r.Provider, err)
	}
	return sdk.Authorization{Headers: []sdk.Header{{Name: "Authorization", Value: t.Bearer()}}, Lifetime: t.Lifetime}, nil
}
