package oauth

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// authority is a token endpoint on loopback.
func authority(t *testing.T, answer http.HandlerFunc) string {
	srv := httptest.NewServer(answer)
	t.Cleanup(func() {
		srv.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return srv.URL
}

// keyFile makes the key file of a service account whose tokens come from address.
func keyFile(t *testing.T, key *rsa.PrivateKey, address string) string {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	b, err := json.Marshal(account{Type: "service_account", Email: "a@p.example", Key: string(text), KeyID: "k", TokenURI: address})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// verify checks an assertion's signature and gives its claims.
func verify(key *rsa.PublicKey, assertion string) (claims map[string]any, err error) {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%d parts", len(parts))
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature); err != nil {
		return nil, err
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, err
	}
	return claims, json.Unmarshal(payload, &claims)
}

func TestServiceAccount(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claims, err := verify(&key.PublicKey, r.FormValue("assertion"))
		if err != nil || r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || claims["iss"] != "a@p.example" || claims["scope"] != "s1 s2" {
			http.Error(w, fmt.Sprintf("assertion of %v: %v", claims, err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"tok","token_type":"Bearer","expires_in":3600}`)
	}))
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	defer srv.Close()
	tests := []struct{ name, file, fault string }{
		{"good", keyFile(t, key, srv.URL), ""},
		{"no JSON", "secret", "want the JSON of a key file"},
		{"a user's", `{"type":"authorized_user","private_key":"secret"}`, "want type service_account"},
		{"no key", `{"type":"service_account","client_email":"e","private_key":"secret","token_uri":"u"}`, "token for e"},
		{"no address", keyFile(t, key, srv.URL+"/%zz"), "token for a@p.example"},
	}
	for _, test := range tests {
		got, err := ServiceAccount(t.Context(), test.file, "s1", "s2")
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, want %q", test.name, err, test.fault)
			}
			continue
		}
		if err != nil || got.Bearer() != "Bearer tok" || got.Lifetime <= 59*time.Minute || got.Lifetime > time.Hour {
			t.Errorf("%s: %+v, %v; want tok for an hour", test.name, got, err)
		}
	}
}

func TestGoogle(t *testing.T) {
	tests := []struct {
		credential  map[string]string
		want, fault string
	}{
		{map[string]string{"access_token": "mine"}, "mine", ""},
		{map[string]string{"service_account": "x", "access_token": "mine"}, "", "want the JSON of a key file"},
		{map[string]string{"api_key": "k"}, "", "want service_account"},
	}
	for _, test := range tests {
		got, err := Google(t.Context(), test.credential)
		if got.Access != test.want || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%v: %+v, %v; want %q, %q", test.credential, got, err, test.want, test.fault)
		}
	}
}

func TestClientCredentials(t *testing.T) {
	url := authority(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "s/.default" || r.FormValue("client_secret") != "hush":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"invalid_client","error_description":"AADSTS7000215"}`)
		case r.FormValue("client_id") == "brief":
			fmt.Fprint(w, `{"access_token":"tok","token_type":"Bearer"}`)
		case r.FormValue("client_id") == "none":
			fmt.Fprint(w, `{"token_type":"Bearer"}`)
		default:
			fmt.Fprint(w, `{"access_token":"tok","token_type":"Bearer","expires_in":3599}`)
		}
	})
	tests := []struct {
		name   string
		client Client
		want   time.Duration // at most, and not a minute less
		fault  string
	}{
		{"good", Client{ID: "app", Secret: "hush"}, 3599 * time.Second, ""},
		{"no lifetime", Client{ID: "brief", Secret: "hush"}, UnsaidLife, ""},
		{"wrong secret", Client{ID: "app", Secret: "wrong-one"}, 0, "AADSTS7000215"},
		{"no token", Client{ID: "none", Secret: "hush"}, 0, "token for none"},
	}
	for _, test := range tests {
		test.client.TokenURL, test.client.Scopes = url, []string{"s/.default"}
		got, err := ClientCredentials(t.Context(), test.client)
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) || strings.Contains(err.Error(), test.client.Secret) {
				t.Errorf("%s: %v, want %q", test.name, err, test.fault)
			}
			continue
		}
		if err != nil || got.Access != "tok" || got.Lifetime > test.want || got.Lifetime < test.want-time.Minute {
			t.Errorf("%s: %+v, %v; want tok for %v", test.name, got, err, test.want)
		}
	}
}

func TestFetchIsBounded(t *testing.T) {
	url := authority(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, strings.Repeat("x", 1<<16), http.StatusBadGateway)
	})
	_, err := ClientCredentials(t.Context(), Client{ID: "app", TokenURL: url})
	if err == nil || len(err.Error()) > 2*maxErrorLen {
		t.Errorf("a page of error gave %d bytes", len(fmt.Sprint(err)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ClientCredentials(ctx, Client{ID: "app", TokenURL: url}); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("a fetch whose context has ended: %v", err)
	}
}
