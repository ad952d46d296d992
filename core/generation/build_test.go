package generation

import "testing"

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
