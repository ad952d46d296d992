package bedrock

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/penstock-gateway/penstock/sdk"
)

// signature makes signatures as the service checks them, written from the description of Signature Version 4 and not from
// the library that Authorize uses.
type signature struct{ id, secret, region, service, date string }

// authorization gives the value of the Authorization header.
func (s signature) authorization(method string, u *url.URL, headers []sdk.Header, payload string) string {
	var names []string
	values := map[string]string{}
	for _, h := range headers {
		name := strings.ToLower(h.Name)
		names = append(names, name)
		values[name] = strings.Join(strings.Fields(h.Value), " ")
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString(method + "\n" + escape(u.EscapedPath()) + "\n" + query(u) + "\n")
	for _, name := range names {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	list := strings.Join(names, ";")
	b.WriteString("\n" + list + "\n" + payload)
	scope := s.date[:8] + "/" + s.region + "/" + s.service + "/aws4_request"
	sum := sha256.Sum256([]byte(b.String()))
	text := "AWS4-HMAC-SHA256\n" + s.date + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + s.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return "AWS4-HMAC-SHA256 Credential=" + s.id + "/" + scope + ", SignedHeaders=" + list + ", Signature=" + hex.EncodeToString(mac(key, text))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// query gives the query's members in order; those of the tests need no escaping.
func query(u *url.URL) string {
	pairs := strings.Split(u.RawQuery, "&")
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape escapes a path as it is sent once more: services other than S3 are signed so.
func escape(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c == '/' || c < 0x80 && strings.ContainsRune("-_.~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// TestSignature holds the check itself to the published test suite of Signature Version 4.
func TestSignature(t *testing.T) {
	s := signature{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1", service: "service", date: "20150830T123600Z"}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	tests := []struct{ name, method, url, want string }{
		{"get-vanilla", "GET", "https://example.amazonaws.com/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "https://example.amazonaws.com/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"get-vanilla-query-order-key-case", "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	}
	for _, test := range tests {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		headers := []sdk.Header{{Name: "Host", Value: u.Host}, {Name: "X-Amz-Date", Value: s.date}}
		got := s.authorization(test.method, u, headers, empty)
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + test.want
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, want)
		}
	}
}

// TestAuthorize holds what the library makes to the check.
func TestAuthorize(t *testing.T) {
	p := &provider{now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }, signer: v4.NewSigner()}
	if _, err := p.Configure("b", []byte(`{"region":"eu-central-1"}`)); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{"access_key_id": "AK", "secret_access_key": "SK"}
	session := map[string]string{"access_key_id": "AK", "secret_access_key": "SK", "session_token": "TOK"}
	hash := strings.Repeat("0", 64)
	const where = "https://bedrock-runtime.eu-central-1.amazonaws.com/model/m/converse"
	const arn = "https://bedrock-runtime.eu-central-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A1%3Aapplication-inference-profile%2Fx/invoke"
	tests := []struct {
		name       string
		credential map[string]string
		url, hash  string
		want       string // names of headers, and what the last holds
		holds      string
		fault      string
	}{
		{"keys", keys, where, hash, "X-Amz-Date Authorization", "Credential=AK/20260102/eu-central-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date,", ""},
		{"session", session, where, hash, "X-Amz-Date X-Amz-Security-Token Authorization", "SignedHeaders=host;x-amz-date;x-amz-security-token,", ""},
		{"path of an ARN", keys, arn, hash, "X-Amz-Date Authorization", "SignedHeaders=host;x-amz-date,", ""},
		{"nothing", nil, where, hash, "", "", "want access_key_id and secret_access_key, or api_key"},
		{"no hash", keys, where, "", "", "", "payload hash of 0 characters"},
		{"no host", keys, "/model", hash, "", "", "want one with a host"},
	}
	for _, test := range tests {
		got, err := p.Authorize(context.Background(), sdk.AuthRequest{Provider: "b", Credential: test.credential, Method: "POST", URL: test.url, PayloadHash: test.hash})
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) || strings.Contains(err.Error(), "SK") {
				t.Errorf("%s: %v, want %q", test.name, err, test.fault)
			}
			continue
		}
		var names []string
		for _, h := range got.Headers {
			names = append(names, h.Name)
		}
		if err != nil || strings.Join(names, " ") != test.want || !strings.Contains(got.Headers[len(names)-1].Value, test.holds) {
			t.Errorf("%s: %+v, %v; want %s with %s", test.name, got, err, test.want, test.holds)
		}
		if got.Lifetime != 0 {
			t.Errorf("%s: lifetime %v: a signature is of its request alone", test.name, got.Lifetime)
		}
		s := signature{id: "AK", secret: "SK", region: "eu-central-1", service: service, date: "20260102T030405Z"}
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		headers := append([]sdk.Header{{Name: "Host", Value: u.Host}}, got.Headers[:len(names)-1]...)
		if want := s.authorization("POST", u, headers, test.hash); got.Headers[len(names)-1].Value != want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got.Headers[len(names)-1].Value, want)
		}
	}
}
