package matrix_test

import (
	"net/url"
	"testing"
)

var base = &url.URL{Scheme: "http", Host: "provider.example", Path: "/v1"}

// feature is a row of the table.
type feature struct {
	title   string
	request string // the archive of requests
	answer  string // the archive of answers
}

var features = []feature{
	{"text", "text", "text"},
	{"system", "system", "text"},
	{"tools", "tools", "call"},
	{"tool choice", "tool-choice", "call"},
	{"parallel tools", "parallel-tools", "calls"},
	{"tool results", "tool-results", "text"},
	{"images", "images", "text"},
	{"images by address", "image-addresses", "text"},
	{"documents", "documents", "text"},
	{"audio", "audio", "text"},
	{"reasoning", "reasoning", "reasoning"},
	{"earlier reasoning", "earlier-reasoning", "text"},
	{"structured output", "structured-output", "text"},
	{"stop texts", "stop", "stop"},
	{"sampling", "sampling", "text"},
	{"cache marks", "cache-marks", "usage"},
	{"output limit", "text", "length"},
	{"usage", "text", "usage"},
	{"errors", "text", "errors"},
}

func TestRequests(t *testing.T) {
	all := services(t)
	for _, f := range features {
		in := archive(t, "requests", f.request)
		for _, client := range clients {
			text := in[client.Name()]
			if text == "" {
				continue
			}
			for _, u := range upstreams {
				for _, form := range []string{"whole", "stream"} {
					t.Run(f.title+"/"+client.Name()+"/"+u.native+"/"+form, func(t *testing.T) {
						o := ask(t, client, text, form == "stream").request(t, all[u.native], in)
						t.Log(o)
					})
				}
			}
		}
	}
}
