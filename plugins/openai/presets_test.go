package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

func TestAzureAddresses(t *testing.T) {
	f := func(config, base string, paths ...string) {
		t.Helper()
		got, err := New().(sdk.Configurer).Configure("mine", []byte(config))
		if err != nil || got.BaseURL != base || len(got.Dialects) != len(paths) {
			t.Fatalf("%s: %+v, %v; want %s and %v", config, got, err, base, paths)
		}
		for i, want := range paths {
			if got.Dialects[i].Path != want {
				t.Errorf("%s: path %s, want %s", config, got.Dialects[i].Path, want)
			}
		}
	}
	f(`{"preset":"azure"}`, "https://<resource>.openai.azure.com/openai/v1")
	f(`{"preset":"azure","resource":"Mine"}`, "https://mine.openai.azure.com/openai/v1")
	f(`{"preset":"azure","api_version":"preview"}`, "https://<resource>.openai.azure.com/openai/v1",
		"/chat/completions?api-version=preview", "/responses?api-version=preview", "/embeddings?api-version=preview")
	f(`{"preset":"azure","resource":"mine","api_version":"2024-10-21"}`, "https://mine.openai.azure.com/openai",
		"/deployments/{model_segment}/chat/completions?api-version=2024-10-21", "/responses?api-version=2024-10-21",
		"/deployments/{model_segment}/embeddings?api-version=2024-10-21")
	if _, err := New().(sdk.Configurer).Configure("mine", []byte(`{"preset":"groq","api_version":"2024-10-21"}`)); err == nil || !strings.Contains(err.Error(), "for the preset azure") {
		t.Errorf("api_version for another preset: %v", err)
	}
}

func TestAzureAuthorize(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/contoso/oauth2/v2.0/token" || r.FormValue("client_secret") != "hush-hush" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"invalid_client"}`)
			return
		}
		fmt.Fprintf(w, `{"access_token":"for %s","token_type":"Bearer","expires_in":3599}`, r.FormValue("scope"))
	}))
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	defer srv.Close()
	p := New()
	for id, scope := range map[string]string{"plain": "", "foundry": `,"scope":"s/.default"`} {
		if _, err := p.(sdk.Configurer).Configure(id, []byte(`{"preset":"azure","authority":"`+srv.URL+`/"`+scope+`}`)); err != nil {
			t.Fatal(err)
		}
	}
	client := map[string]string{"tenant_id": "contoso", "client_id": "app", "client_secret": "hush-hush"}
	tests := []struct {
		id          string
		credential  map[string]string
		want, fault string
	}{
		{"plain", client, "Bearer for https://cognitiveservices.azure.com/.default", ""},
		{"foundry", client, "Bearer for s/.default", ""},
		{"plain", map[string]string{"access_token": "mine"}, "Bearer mine", ""},
		{"plain", map[string]string{"tenant_id": "contoso", "client_id": "app", "client_secret": "wrong"}, "", "invalid_client"},
		{"plain", map[string]string{"client_id": "app"}, "", "want api_key, access_token, or tenant_id"},
	}
	for _, test := range tests {
		got, err := p.(sdk.Authorizer).Authorize(t.Context(), sdk.AuthRequest{Provider: test.id, Credential: test.credential})
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) || !strings.HasPrefix(err.Error(), "provider plain: ") {
				t.Errorf("%v: %v, want %q", test.credential, err, test.fault)
			}
			continue
		}
		if err != nil || len(got.Headers) != 1 || got.Headers[0].Value != test.want || got.Lifetime <= 0 {
			t.Errorf("%s: %+v, %v; want %q for some time", test.id, got, err, test.want)
		}
	}
}
