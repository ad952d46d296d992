package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/oauth2/jwt"

	"github.com/penstock-gateway/penstock/sdk"
)

// scope is what Vertex AI asks of a token
// (https://developers.google.com/identity/protocols/oauth2/scopes#aiplatform).
const scope = "https://www.googleapis.com/auth/cloud-platform"

// Bounds of a token: how long its fetching may take, how long before its end it is given up, and how long a ready-made
// one is kept before it is read anew.
const (
	tokenTimeout = 10 * time.Second
	tokenSpare   = time.Minute
	tokenReread  = 5 * time.Minute
)

// account is the part of a service account's key file that tokens are made of
// (https://cloud.google.com/iam/docs/keys-create-delete).
type account struct {
	Type     string `json:"type"`
	Email    string `json:"client_email"`
	Key      string `json:"private_key"`
	KeyID    string `json:"private_key_id"`
	TokenURI string `json:"token_uri"`
}

// Authorize gives the header for Vertex AI. The credential holds one of service_account (the text of a key file, for
// which a token is fetched), access_token and api_key.
func (*provider) Authorize(ctx context.Context, r sdk.AuthRequest) (sdk.Authorization, error) {
	switch c := r.Credential; {
	case c["service_account"] != "":
		return exchange(ctx, c["service_account"])
	case c["access_token"] != "":
		return bearer(c["access_token"], tokenReread), nil
	case c["api_key"] != "":
		h := []sdk.Header{{Name: "x-goog-api-key", Value: c["api_key"]}}
		return sdk.Authorization{Headers: h, Lifetime: tokenReread}, nil
	}
	return sdk.Authorization{}, fmt.Errorf("provider %s: credential: want service_account, access_token or api_key", r.Provider)
}

func bearer(token string, lifetime time.Duration) sdk.Authorization {
	return sdk.Authorization{Headers: []sdk.Header{{Name: "Authorization", Value: "Bearer " + token}}, Lifetime: lifetime}
}

// exchange fetches a token for a service account (RFC 7523).
func exchange(ctx context.Context, key string) (sdk.Authorization, error) {
	var a account
	if err := json.Unmarshal([]byte(key), &a); err != nil {
		return sdk.Authorization{}, errors.New("credential service_account: want the JSON of a key file") // the cause may quote the key
	}
	if a.Type != "service_account" || a.Email == "" || a.Key == "" || a.TokenURI == "" {
		return sdk.Authorization{}, errors.New("credential service_account: want type service_account, client_email, private_key and token_uri")
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	c := jwt.Config{Email: a.Email, PrivateKey: []byte(a.Key), PrivateKeyID: a.KeyID, TokenURL: a.TokenURI, Scopes: []string{scope}}
	token, err := c.TokenSource(ctx).Token()
	if err != nil {
		return sdk.Authorization{}, fmt.Errorf("token for %s: %w", a.Email, err)
	}
	return bearer(token.AccessToken, max(time.Until(token.Expiry)-tokenSpare, 0)), nil
}
