package bedrock

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/penstock-gateway/penstock/sdk"
)

// service is the name that signatures are scoped to.
const service = "bedrock"

// signed are the headers of a signature; the signer makes them.
var signed = [...]string{"X-Amz-Date", "X-Amz-Security-Token", "Authorization"}

// Authorize signs a request with Signature Version 4
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html) by the credential's
// access_key_id, secret_access_key and, of temporary ones, session_token. The signature covers the host, the path and the
// body; the gateway sends the request as it is named here, with the headers given back.
func (p *provider) Authorize(ctx context.Context, r sdk.AuthRequest) (sdk.Authorization, error) {
	c := aws.Credentials{AccessKeyID: r.Credential["access_key_id"], SecretAccessKey: r.Credential["secret_access_key"],
		SessionToken: r.Credential["session_token"]}
	if !c.HasKeys() {
		return sdk.Authorization{}, fmt.Errorf("provider %s: credential: want access_key_id and secret_access_key, or api_key", r.Provider)
	}
	if len(r.PayloadHash) != 2*sha256.Size {
		return sdk.Authorization{}, fmt.Errorf("payload hash of %d characters: want %d", len(r.PayloadHash), 2*sha256.Size)
	}
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" {
		return sdk.Authorization{}, fmt.Errorf("url %q: want one with a host", r.URL)
	}
	q := &http.Request{Method: r.Method, URL: u, Host: u.Host, Header: http.Header{}}
	if err := p.signer.SignHTTP(ctx, c, q, r.PayloadHash, service, p.region(r.Provider), p.now()); err != nil {
		return sdk.Authorization{}, errors.New("the request could not be signed") // the cause may quote a key
	}
	var made []sdk.Header
	for _, name := range signed {
		if v := q.Header.Get(name); v != "" {
			made = append(made, sdk.Header{Name: name, Value: v})
		}
	}
	return sdk.Authorization{Headers: made}, nil
}
