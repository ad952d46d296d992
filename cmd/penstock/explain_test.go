package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/schemas"
)

// command carries out a command line in this process.
func command(args ...string) (out string, err error) {
	var b bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(&b)
	err = root.Execute()
	return b.String(), err
}

func TestExplainMember(t *testing.T) {
	f := func(path string, want ...string) {
		t.Helper()
		out, err := command("explain", path)
		for _, w := range want {
			if err != nil || !strings.Contains(out, w) {
				t.Errorf("explain %s: %v\n%s\nwant %q", path, err, out, w)
			}
		}
	}
	f("", "\nproviders  ", "\nmodels  ")
	f("models.chat.hedge", "models.chat.hedge: duration, default \"0\"\n\nSilence", "for example: \"800ms\"\n")
	f("models", "must be given", "\nmodels.*.on_break  ")
	f("keys", "\nkeys[].secret  ")
	f("keys.secret", "never shown")
	f("listen", "read at the start alone")
	f("cache", "It is not yet in force: it is checked and does nothing.\n")
	f("cache.ttl", "It is not yet in force: it is checked and does nothing.\n")
	f("", " equal requests (not yet in force)\n")
	f("server_timing", "off | totals | stages | attempts, default \"stages\"")

	bad := func(path, want string) {
		t.Helper()
		if out, err := command("explain", path); err == nil || err.Error() != want || out != "" {
			t.Errorf("explain %s: %v, %q\nwant %s", path, err, out, want)
		}
	}
	bad("providers.x.tls.cert", "providers.x.tls.cert: no such member; providers.x.tls has ca")
	bad("providers.x.tsl.ca.more", "providers.x.tsl.ca.more: no such member; providers.x has base_url, base_urls, config, connections, credentials, http, isolate, plugin, preset, probe, sha256, tls")
	bad("listen.port", "listen.port: no such member; listen has none")
}

// TestExplainEverywhere follows each path that explain prints, and each that a shell would complete.
func TestExplainEverywhere(t *testing.T) {
	n := 0
	var walk func(path string)
	walk = func(path string) {
		n++
		out, err := command("explain", path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		d, _ := schemas.Explain(path)
		for i := range d.Members {
			next := d.Below + d.Members[i].Path
			if !strings.Contains(out, "\n"+next) && !strings.HasPrefix(out, next) {
				t.Errorf("%s does not name %s:\n%s", path, next, out)
			}
			if begun := next[:len(next)-1]; !slices.Contains(completeMember(begun), next) {
				t.Errorf("%s is not completed to %s", begun, next)
			}
			walk(next)
		}
	}
	walk("")
	if n < 150 {
		t.Errorf("%d members, want all", n)
	}
}

func TestUnknownCommand(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		if out, err := command(args...); err == nil || err.Error() != want || out != "" {
			t.Errorf("%v: %v, %q\nwant %s", args, err, out, want)
		}
	}
	f("unknown command \"valdate\", did you mean validate?\npenstock --help lists the commands", "valdate")
	f("unknown command \"bake\"\npenstock --help lists the commands", "bake", "cake")
	f("unknown command \"crate\", did you mean create?\npenstock keys --help lists the commands", "keys", "crate")
	f("penstock ledger reconcile: got nothing, want penstock ledger reconcile FILE [flags]", "ledger", "reconcile")
	f("penstock explain: got [\"stream\" \"queue\"], want penstock explain [MEMBER] [flags]", "explain", "stream", "queue")
	f("penstock version: got [\"now\"], want penstock version [flags]", "version", "now")
	for _, c := range newRoot().Commands() {
		if !c.HasSubCommands() || c.Name() == "health" {
			continue
		}
		if out, err := command(c.Name()); err != nil || !strings.Contains(out, "Available Commands") {
			t.Errorf("%s alone: %v\n%s\nwant its commands", c.Name(), err, out)
		}
	}
}
