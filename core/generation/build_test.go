package generation

import (
	"testing"

	"github.com/penstock-gateway/penstock/core/catalog"
)

func TestAddress(t *testing.T) {
	f := func(configured, own, want string) {
		t.Helper()
		u, err := address(configured, own)
		got := ""
		if err == nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("address(%q, %q) = %q, %v; want %q", configured, own, got, err, want)
		}
	}
	f("", "https://h/v1", "https://h/v1")
	f("https://mine", "https://h/v1", "https://mine/v1")
	f("https://mine/", "https://h/v1", "https://mine/v1")
	f("https://mine/own", "https://h/v1", "https://mine/own")
	f("https://mine:443", "https://h/v1", "https://mine/v1")
	f("http://[::1]:80/x", "https://h/v1", "http://[::1]/x")
	f("http://mine:443/x", "https://h/v1", "http://mine:443/x")
	f("https://mine", "https://<resource>.example/openai/v1", "https://mine/openai/v1")
	f("", "https://<resource>.example/openai/v1", "")
	f("ftp://mine", "https://h/v1", "")
}

// TestBestCandidates: connections are kept ready for what requests go to first.
func TestBestCandidates(t *testing.T) {
	a, b, c := &catalog.Provider{ID: "a"}, &catalog.Provider{ID: "b"}, &catalog.Provider{ID: "c"}
	model := func(s catalog.Strategy, list ...*catalog.Provider) *catalog.Model {
		m := &catalog.Model{Strategy: s}
		for _, p := range list {
			m.Deployments = append(m.Deployments, &catalog.Deployment{Provider: p})
		}
		return m
	}
	f := func(want string, models ...*catalog.Model) {
		t.Helper()
		got := ""
		best := (&compilation{gen: &Generation{Catalog: catalog.New(models)}}).bestCandidates()
		for _, p := range []*catalog.Provider{a, b, c} {
			if best[p] {
				got += p.ID
			}
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("")
	f("b", model(catalog.Ordered, b, a, c))
	f("ab", model(catalog.Ordered, b, c), model(catalog.Ordered, a))
	f("ac", model(catalog.Fastest, a, c))
}
