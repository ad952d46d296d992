// Package oauth fetches the access tokens that cloud services take in place of a key: for a Google service account, and
// for a client that proves itself by a secret, as Microsoft Entra has it. It is for plugins that authorize requests.
//
// It keeps nothing and repeats nothing: when a token is fetched, and how long it is kept, is the gateway's.
package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/oauth2/jwt"
)

// Token is an access token and how long it is good for.
type Token struct {
	Access   string
	Lifetime time.Duration
}

// Bearer is the value of the Authorization header.
func (t Token) Bearer() string { return "Bearer " + t.Access }

// UnsaidLife is for how long a token is taken to be good of which nobody says so: one whose service names no lifetime, and
// one that was configured, which may be read from a file that changes.
const UnsaidLife = 5 * time.Minute

// Bounds of a fetch: how long it may take, and what is told of an answer that holds no token.
const (
	timeout     = 10 * time.Second
	maxErrorLen = 512
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

// ServiceAccount fetches a token for the service account of a key file, given as its text (RFC 7523). No error shows a
// part of the key.
func ServiceAccount(ctx context.Context, keyFile string, scopes ...string) (Token, error) {
	var a account
	if err := json.Unmarshal([]byte(keyFile), &a); err != nil {
		return Token{}, errors.New("service account: want the JSON of a key file") // the cause may quote the key
	}
	if a.Type != "service_account" || a.Email == "" || a.Key == "" || a.TokenURI == "" {
		return Token{}, errors.New("service account: want type service_account, client_email, private_key and token_uri")
	}
	c := jwt.Config{Email: a.Email, PrivateKey: []byte(a.Key), PrivateKeyID: a.KeyID, TokenURL: a.TokenURI, Scopes: scopes}
	return fetch(ctx, a.Email, c.TokenSource)
}

// googleScope is what Vertex AI asks of a token
// (https://developers.google.com/identity/protocols/oauth2/scopes#aiplatform).
const googleScope = "https://www.googleapis.com/auth/cloud-platform"

// Google gives the token for Google Cloud of a credential that holds service_account, the text of a key file, or
// access_token, a ready-made one, which is read anew every five minutes.
func Google(ctx context.Context, credential map[string]string) (Token, error) {
	if key := credential["service_account"]; key != "" {
		return ServiceAccount(ctx, key, googleScope)
	}
	if made := credential["access_token"]; made != "" {
		return Token{Access: made, Lifetime: UnsaidLife}, nil
	}
	return Token{}, errors.New("credential: want service_account, the text of a key file, or access_token")
}

// GoogleMembers are the members of a credential that Google goes by, for [sdk.Auth].
func GoogleMembers() [][]string { return [][]string{{"service_account"}, {"access_token"}} }

// Client is a program that is known to an authorization server.
type Client struct {
	ID, Secret string
	TokenURL   string
	Scopes     []string
}

// ClientCredentials fetches a token for a client (RFC 6749, section 4.4), which sends its id and secret in the body.
func ClientCredentials(ctx context.Context, c Client) (Token, error) {
	conf := clientcredentials.Config{ClientID: c.ID, ClientSecret: c.Secret, TokenURL: c.TokenURL, Scopes: c.Scopes,
		AuthStyle: oauth2.AuthStyleInParams}
	return fetch(ctx, c.ID, conf.TokenSource)
}

func fetch(ctx context.Context, who string, source func(context.Context) oauth2.TokenSource) (Token, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	t, err := source(ctx).Token()
	if err != nil {
		text := err.Error()
		return Token{}, fmt.Errorf("token for %s: %s", who, text[:min(len(text), maxErrorLen)])
	}
	if t.AccessToken == "" {
		return Token{}, fmt.Errorf("token for %s: the answer has none", who)
	}
	life := UnsaidLife
	if !t.Expiry.IsZero() {
		life = max(time.Until(t.Expiry), 0)
	}
	return Token{Access: t.AccessToken, Lifetime: life}, nil
}
