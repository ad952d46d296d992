package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/config"
)

func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "empty.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(tls, want string) {
		t.Helper()
		text := "providers: {a: {plugin: demo}}\nmodels: {m: {deployments: [{provider: a, model: echo}]}}\n" + tls
		cfg, err := config.Parse(filepath.Join(dir, "penstock.yaml"), []byte(text), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := certificate(cfg)
		var list config.Diagnostics
		switch {
		case want == "":
			if got != nil || err != nil {
				t.Errorf("%q: %v, %v, want none", tls, got, err)
			}
		case !errors.As(err, &list) || list.Errors() != 1 || !strings.Contains(err.Error(), "penstock.yaml:3:"+want) || list[0].Hint == "":
			t.Errorf("%q: %v, want line 3, column %s", tls, err, want)
		}
	}
	f("", "")
	f("tls: {cert: nowhere.pem, key: empty.pem}", "13: tls.cert: open "+dir+"/nowhere.pem: no such file or directory")
	f("tls: {cert: empty.pem, key: nowhere.pem}", "29: tls.key: open "+dir+"/nowhere.pem: no such file or directory")
	f("tls: {cert: empty.pem, key: empty.pem}", "13: tls.cert: tls: failed to find any PEM data in certificate input")
}
