package bedrock

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"sort"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// service is the name that signatures are scoped to.
const service = "bedrock"

// keyLifetime is how long the header of a Bedrock API key is kept before it is read anew.
const keyLifetime = 5 * time.Minute

// Authorize signs a request with Signature Version 4
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html) by the credential's
// access_key_id, secret_access_key and, of temporary ones, session_token; or gives the header of a Bedrock api_key
// (https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html). The gateway sends the request as it is named
// here, with the headers given back.
func (p *provider) Authorize(_ context.Context, r sdk.AuthRequest) (sdk.Authorization, error) {
	c := r.Credential
	if key := c["api_key"]; key != "" {
		return sdk.Authorization{Headers: []sdk.Header{{Name: "Authorization", Value: "Bearer " + key}}, Lifetime: keyLifetime}, nil
	}
	if c["access_key_id"] == "" || c["secret_access_key"] == "" {
		return sdk.Authorization{}, fmt.Errorf("provider %s: credential: want access_key_id and secret_access_key, or api_key", r.Provider)
	}
	if len(r.PayloadHash) != 2*sha256.Size {
		return sdk.Authorization{}, fmt.Errorf("payload hash of %d characters: want %d", len(r.PayloadHash), 2*sha256.Size)
	}
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" {
		return sdk.Authorization{}, fmt.Errorf("url %q: want one with a host", r.URL)
	}
	s := signing{
		id: c["access_key_id"], secret: c["secret_access_key"], region: p.region(r.Provider), service: service, time: p.now().UTC(),
	}
	made := []sdk.Header{{Name: "X-Amz-Date", Value: s.time.Format(stamp)}}
	if token := c["session_token"]; token != "" {
		made = append(made, sdk.Header{Name: "X-Amz-Security-Token", Value: token})
	}
	signed := append([]sdk.Header{{Name: "Host", Value: u.Host}}, made...)
	authorization := s.authorization(r.Method, u, signed, r.PayloadHash)
	return sdk.Authorization{Headers: append(made, sdk.Header{Name: "Authorization", Value: authorization})}, nil
}

// stamp is the form of a signature's time.
const stamp = "20060102T150405Z"

// signing is what a signature is made with.
type signing struct {
	id, secret, region, service string
	time                        time.Time
}

// authorization gives the value of the Authorization header.
func (s signing) authorization(method string, u *url.URL, headers []sdk.Header, payload string) string {
	var names []string
	values := map[string]string{}
	for _, h := range headers {
		name := strings.ToLower(h.Name)
		names = append(names, name)
		values[name] = strings.Join(strings.Fields(h.Value), " ")
	}
	sort.Strings(names)
	var b strings.Builder
	b.WriteString(method + "\n" + canonicalPath(u) + "\n" + canonicalQuery(u) + "\n")
	for _, name := range names {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	list := strings.Join(names, ";")
	b.WriteString("\n" + list + "\n" + payload)
	day := s.time.Format("20060102")
	scope := day + "/" + s.region + "/" + s.service + "/aws4_request"
	sum := sha256.Sum256([]byte(b.String()))
	text := "AWS4-HMAC-SHA256\n" + s.time.Format(stamp) + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + s.secret)
	for _, part := range []string{day, s.region, s.service, "aws4_request"} {
		key = mac(key, part)
	}
	return "AWS4-HMAC-SHA256 Credential=" + s.id + "/" + scope + ", SignedHeaders=" + list + ", Signature=" + hex.EncodeToString(mac(key, text))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalPath escapes the path as it is sent once more: services other than S3 are signed so.
func canonicalPath(u *url.URL) string {
	if p := u.EscapedPath(); p != "" {
		return escape(p, true)
	}
	return "/"
}

// canonicalQuery gives the query's members in order.
func canonicalQuery(u *url.URL) string {
	var pairs []string
	for name, values := range u.Query() {
		for _, v := range values {
			pairs = append(pairs, escape(name, false)+"="+escape(v, false))
		}
	}
	sort.Strings(pairs)
	return strings.Join(pairs, "&")
}

// escape replaces all but RFC 3986's unreserved characters.
func escape(s string, slashes bool) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~", c) >= 0, c == '/' && slashes:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
