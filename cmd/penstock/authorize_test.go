package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	enc "encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// signedProperly says what is wrong with a request's signature, as the service would: it signs what has arrived, with the
// date that the request names, and compares.
func signedProperly(r *http.Request, body string, c aws.Credentials, region string) error {
	date, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return err
	}
	if age := time.Since(date).Abs(); age > time.Minute {
		return fmt.Errorf("signed %v ago", age)
	}
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.RequestURI, nil)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(body))
	if err := v4.NewSigner().SignHTTP(r.Context(), c, again, hex.EncodeToString(sum[:]), "bedrock", region, date); err != nil {
		return err
	}
	for _, name := range []string{"Authorization", "X-Amz-Security-Token"} {
		if got, want := r.Header.Get(name), again.Header.Get(name); got != want {
			return fmt.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	return nil
}

// awsMessage writes a message of the AWS event stream.
func awsMessage(kind, name, payload string) string {
	var h []byte
	for _, f := range [][2]string{{":message-type", kind}, {":" + kind + "-type", name}} {
		h = append(append(h, byte(len(f[0]))), f[0]...)
		h = append(enc.BigEndian.AppendUint16(append(h, 7), uint16(len(f[1]))), f[1]...)
	}
	b := enc.BigEndian.AppendUint32(nil, uint32(16+len(h)+len(payload)))
	b = enc.BigEndian.AppendUint32(b, uint32(len(h)))
	b = enc.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, h...), payload...)
	return string(enc.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func awsChunk(event string) string {
	return awsMessage("event", "chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`"}`)
}

// messageEvents are a stream of the Messages API.
var messageEvents = []string{
	`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}`,
	`{"type":"message_stop"}`,
}

const wholeMessage = `{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":5}}`

// bedrockAnswers answers as Bedrock does, requests that are signed properly.
func bedrockAnswers(u *upstream, c aws.Credentials) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := signedProperly(r, u.last().body, c, "eu-central-1"); err != nil {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"message":"The request signature we calculated does not match the signature you provided: %s"}`, hex.EncodeToString([]byte(err.Error())))
			return
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/converse"):
			io.WriteString(w, `{"output":{"message":{"role":"assistant","content":[{"text":"Hello"}]}},"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":5,"totalTokens":8}}`)
		case strings.HasSuffix(r.URL.Path, "/invoke"):
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, wholeMessage)
		case strings.HasSuffix(r.URL.Path, "/invoke-with-response-stream"):
			w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
			for i, e := range messageEvents {
				if i == 3 && strings.Contains(u.last().body, "break off") {
					io.WriteString(w, awsMessage("exception", "throttlingException", `{"message":"Too many requests, please wait"}`))
					return
				}
				io.WriteString(w, awsChunk(e))
				w.(http.Flusher).Flush()
			}
		default:
			http.NotFound(w, r)
		}
	}
}

const arn = "arn:aws:bedrock:eu-central-1:1:application-inference-profile/x"

// TestBedrock asks a service that checks signatures: by Converse, and by InvokeModel as Anthropic's clients do.
func TestBedrock(t *testing.T) {
	t.Parallel()
	c := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", SessionToken: "session//token=="}
	u := newUpstream(t, nil)
	u.answer = bedrockAnswers(u, c)
	s := serveText(t, `
providers:
  aws:
    plugin: bedrock
    base_url: `+u.URL+`
    config: {region: eu-central-1}
    credentials: [{name: session, access_key_id: `+c.AccessKeyID+`, secret_access_key: "`+c.SecretAccessKey+`", session_token: "`+c.SessionToken+`"}]
models:
  claude: {deployments: [{provider: aws, model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"}]}
  profile: {deployments: [{provider: aws, model: "`+arn+`", dialect: anthropic}]}
  nova: {deployments: [{provider: aws, model: amazon.nova-lite-v1:0}]}
keys: [{name: test, secret: `+testKey+`}]
`)
	const chat = `{"model":"%s","messages":[{"role":"user","content":"hi"}]}`
	const message = `{"model":"%s","max_tokens":10,"stream":%v,"messages":[{"role":"user","content":"%s"}]}`
	sse := ""
	for _, e := range messageEvents {
		name, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		sse += "event: " + name + "\ndata: " + e + "\n\n"
	}
	const invoked = `{"max_tokens":10,"messages":[{"role":"user","content":"hi"}],"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["a-1","b-2"]}`
	const claude, profile = "eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0", "arn%3Aaws%3Abedrock%3Aeu-central-1%3A1%3Aapplication-inference-profile%2Fx"
	f := func(path, body, want, asked, sent string) {
		t.Helper()
		a := s.post(path, body, "anthropic-beta", "a-1, b-2")
		got := u.last()
		if a.status != 200 || !strings.Contains(a.body, want) || got.path != asked || sent != "" && got.body != sent {
			t.Errorf("%s %s: %d %s\nasked %s %s\nwant %s, asked %s %s", path, body, a.status, a.body, got.path, got.body, want, asked, sent)
		}
	}
	f("/v1/chat/completions", fmt.Sprintf(chat, "claude"), `"content":"Hello"`, "/model/"+claude+"/converse", "")
	f("/v1/messages", fmt.Sprintf(message, "claude", false, "hi"), wholeMessage, "/model/"+claude+"/invoke", invoked)
	f("/v1/messages", fmt.Sprintf(message, "claude", true, "hi"), sse, "/model/"+claude+"/invoke-with-response-stream", invoked)
	f("/v1/messages", fmt.Sprintf(message, "profile", false, "hi"), wholeMessage, "/model/"+profile+"/invoke", invoked)
	f("/v1/chat/completions", fmt.Sprintf(chat, "profile"), `"content":"Hello"`, "/model/"+profile+"/converse", "")
	f("/v1/messages", fmt.Sprintf(message, "nova", false, "hi"), `"text":"Hello"`, "/model/amazon.nova-lite-v1%3A0/converse", "")

	a := s.post("/v1/messages", fmt.Sprintf(message, "claude", true, "break off"))
	if a.status != 200 || !strings.Contains(a.body, `"text":"Hello"`) || !strings.Contains(a.body, "event: error\ndata: ") || !strings.Contains(a.body, "Too many requests") {
		t.Errorf("a stream that was throttled: %d %s", a.status, a.body)
	}
}

func TestBedrockRefusesTheSignature(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, nil)
	u.answer = bedrockAnswers(u, aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "another"})
	s := serveText(t, `
providers:
  aws: {plugin: bedrock, base_url: `+u.URL+`, credentials: [{name: main, access_key_id: AKIDEXAMPLE, secret_access_key: not-this-one}]}
models: {nova: {deployments: [{provider: aws, model: amazon.nova-lite-v1:0}]}}
keys: [{name: test, secret: `+testKey+`}]
`)
	a := s.post("/v1/chat/completions", `{"model":"nova","messages":[{"role":"user","content":"hi"}]}`)
	if a.status != 502 || strings.Contains(a.body+s.log.String(), "not-this-one") {
		t.Errorf("%d %s, want 502 and no secret", a.status, a.body)
	}
}

// google is a token endpoint: it numbers its tokens.
type google struct {
	*httptest.Server
	issued   atomic.Int32
	lifetime atomic.Int32 // of the next token, in seconds; those after it last an hour
	refuses  atomic.Bool
	key      *rsa.PrivateKey
}

func newGoogle(t *testing.T) *google {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	g := &google{key: key}
	g.lifetime.Store(3600)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.refuses.Load() || strings.Count(r.FormValue("assertion"), ".") != 2 {
			http.Error(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"ya29.%d","token_type":"Bearer","expires_in":%d}`, g.issued.Add(1), g.lifetime.Swap(3600))
	}))
	t.Cleanup(g.Close)
	return g
}

// keyFile is the key file of a service account, as a YAML scalar.
func (g *google) keyFile(t *testing.T) string {
	der, err := x509.MarshalPKCS8PrivateKey(g.key)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "a@p.iam.example", "private_key_id": "k",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": g.URL})
	if err != nil {
		t.Fatal(err)
	}
	return "'" + string(b) + "'"
}

const geminiAnswer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Hello"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5,"totalTokenCount":8}}`

// TestVertex asks with a token: fetched once for all that wait, kept over a reload, renewed before its end.
func TestVertex(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	u := newUpstream(t, says("application/json", geminiAnswer))
	text := `
providers:
  vertex:
    plugin: gemini
    preset: vertex
    base_url: ` + u.URL + `
    config: {project: p, location: europe-west4}
    credentials: [{name: main, service_account: ` + g.keyFile(t) + `}]
models: {gemini: {deployments: [{provider: vertex, model: gemini-2.5-flash}]}}
keys: [{name: test, secret: ` + testKey + `}]
`
	s := serveText(t, text)
	const chat = `{"model":"gemini","messages":[{"role":"user","content":"hi"}]}`
	ask := func(token string) {
		a := s.post("/v1/chat/completions", chat)
		got := u.last()
		if a.status != 200 || got.header.Get("Authorization") != "Bearer "+token {
			t.Errorf("%d %s; the upstream got %q, want %q", a.status, a.body, got.header.Get("Authorization"), token)
		}
		const path = "/v1beta1/projects/p/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent"
		if got.path != path {
			t.Errorf("asked %s, want %s", got.path, path)
		}
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { ask("ya29.1") })
	}
	all.Wait()
	s.rewrite(text + "server_timing: totals\n")
	if out, stderr, code := s.run("reload"); code != 0 || strings.TrimSpace(out) != "2" {
		t.Fatalf("reload: %d %s%s", code, out, stderr)
	}
	ask("ya29.1")
	if n := g.issued.Load(); n != 1 {
		t.Errorf("%d tokens were issued, want 1", n)
	}
}

// TestTokenIsRenewed renews a token that ends in five minutes and three seconds: the first request has that long to go out with it.
func TestTokenIsRenewed(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	g.lifetime.Store(303)
	u := newUpstream(t, says("application/json", geminiAnswer))
	s := serveText(t, `
providers:
  vertex: {plugin: gemini, base_url: `+u.URL+`, config: {project: p}, credentials: [{name: main, service_account: `+g.keyFile(t)+`}]}
models: {gemini: {deployments: [{provider: vertex, model: gemini-2.5-flash}]}}
keys: [{name: test, secret: `+testKey+`}]
`)
	token := func() string {
		if a := s.post("/v1/chat/completions", `{"model":"gemini","messages":[{"role":"user","content":"hi"}]}`); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return u.last().header.Get("Authorization")
	}
	if got := token(); got != "Bearer ya29.1" {
		t.Errorf("the first request went with %q", got)
	}
	s.await("renewal", func() bool { return token() == "Bearer ya29.2" })
	if n := g.issued.Load(); n != 2 {
		t.Errorf("%d tokens were issued, want 2", n)
	}
}

// TestTokenIsWithdrawn replaces a token that the service no longer takes before its time, within the request.
func TestTokenIsWithdrawn(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	var withdrawn atomic.Bool
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if withdrawn.Load() && r.Header.Get("Authorization") == "Bearer ya29.1" {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`)
			return
		}
		io.WriteString(w, geminiAnswer)
	})
	s := serveText(t, `
providers:
  vertex: {plugin: gemini, base_url: `+u.URL+`, config: {project: p}, credentials: [{name: main, service_account: `+g.keyFile(t)+`}]}
models: {gemini: {deployments: [{provider: vertex, model: gemini-2.5-flash}]}}
keys: [{name: test, secret: `+testKey+`}]
`)
	for n, want := range []string{"Bearer ya29.1", "Bearer ya29.2", "Bearer ya29.2"} {
		a := s.post("/v1/chat/completions", `{"model":"gemini","messages":[{"role":"user","content":"hi"}]}`)
		if got := u.last().header.Get("Authorization"); a.status != 200 || got != want {
			t.Errorf("request %d: %d %s with %q, want %q", n, a.status, a.body, got, want)
		}
		withdrawn.Store(true)
	}
	if n := u.count(); n != 4 {
		t.Errorf("%d upstream requests, want 4", n)
	}
}

func TestTokenIsNotToBeHad(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	g.refuses.Store(true)
	u := newUpstream(t, says("application/json", geminiAnswer))
	s := serveText(t, `
providers:
  vertex: {plugin: gemini, base_url: `+u.URL+`, config: {project: p}, credentials: [{name: main, service_account: `+g.keyFile(t)+`}]}
models: {gemini: {deployments: [{provider: vertex, model: gemini-2.5-flash}]}}
keys: [{name: test, secret: `+testKey+`}]
`)
	a := s.post("/v1/chat/completions", `{"model":"gemini","messages":[{"role":"user","content":"hi"}]}`)
	if a.status != 502 || u.count() != 0 || strings.Contains(a.body, "a@p.iam.example") {
		t.Errorf("%d %s, %d upstream requests; want 502 and none", a.status, a.body, u.count())
	}
	s.await("the cause in the log", func() bool { return strings.Contains(s.log.String(), "Invalid JWT Signature") })
}
