package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/store/storetest"
)

// TestKeysOfTheStore: a key is made, restricted, given another secret and ended, each at once and beyond a restart.
func TestKeysOfTheStore(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, answers("ok"))
	s := serveText(t, limited(up, `limits: {rpm: 1000}`, ""))
	run := func(want int, args ...string) string {
		t.Helper()
		out, stderr, code := s.run(append([]string{"keys"}, args...)...)
		if code != want {
			t.Fatalf("keys %s: exit code %d, want %d: %s", strings.Join(args, " "), code, want, stderr)
		}
		return strings.TrimSpace(out)
	}
	try := func(what, secret, path, body string, want int) {
		t.Helper()
		if a := s.post(path, body, "Authorization", "Bearer "+secret); a.status != want {
			t.Errorf("%s: %d %s, want %d", what, a.status, a.body, want)
		}
	}
	const chat = "/v1/chat/completions"
	first := run(0, "create", "laptop", "--model", "m", "--rpm", "2", "--dialect", "openai-chat", "--zdr")
	run(exitConflict, "create", "laptop")
	run(exitConflict, "create", "test")
	run(exitUsage, "create", "other", "--model", "no-such-model")
	run(exitUsage, "create", "other", "--budget", "-3")
	try("a new key", first, chat, ask1000, 200)
	try("another model", first, chat, strings.Replace(ask1000, `"m"`, `"unpriced"`, 1), 403)
	try("another dialect", first, "/v1/messages", ask1000, 403)
	second := run(0, "rotate", "laptop")
	try("the old secret", first, chat, ask1000, 401)
	try("the new secret", second, chat, ask1000, 200)
	try("the same limit", second, chat, ask1000, 429)
	if list := run(0, "list"); !strings.Contains(list, second[:12]) || strings.Contains(list, second) {
		t.Errorf("the list shows no prefix, or a secret:\n%s", list)
	}
	s.restart()
	try("after a restart", second, chat, ask1000, 200)
	run(0, "revoke", "laptop")
	try("a revoked key", second, chat, ask1000, 401)
	run(exitNotFound, "revoke", "laptop")
	run(exitNotFound, "rotate", "laptop")
	if strings.Contains(s.log.String(), second) {
		t.Error("the log shows a secret")
	}
}

// TestTeamsOfTheStore: keys of a team share its limits, which change at once, and a team goes when its keys have gone.
func TestTeamsOfTheStore(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, answers("ok"))
	s := serveText(t, limited(up, `team: here`, "teams: {here: {}}"))
	run := func(want int, args ...string) string {
		t.Helper()
		out, stderr, code := s.run(args...)
		if code != want {
			t.Fatalf("%s: exit code %d, want %d: %s", strings.Join(args, " "), code, want, stderr)
		}
		return strings.TrimSpace(out)
	}
	run(exitUsage, "keys", "create", "a", "--team", "search")
	run(exitConflict, "teams", "set", "here")
	run(0, "teams", "set", "search", "--rpm", "2")
	a, b := run(0, "keys", "create", "a", "--team", "search"), run(0, "keys", "create", "b", "--team", "search")
	try := func(what, key string, want int) answer {
		t.Helper()
		got := s.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+key)
		if got.status != want {
			t.Errorf("%s: %d %s, want %d", what, got.status, got.body, want)
		}
		return got
	}
	try("the first", a, 200)
	try("the other key of the team", b, 200)
	if got := try("the third", a, 429); !strings.Contains(got.body, `the team \"search\" may send 2 requests`) {
		t.Errorf("%s", got.body)
	}
	run(0, "teams", "set", "search", "--rpm", "3", "--model", "unpriced")
	try("a model that the team may not use any more", a, 403)
	run(0, "teams", "set", "search", "--rpm", "3")
	try("a third, by the new limit", a, 200)
	try("a fourth", b, 429)
	run(exitConflict, "teams", "delete", "search")
	run(0, "keys", "revoke", "a")
	run(0, "keys", "revoke", "b")
	run(0, "teams", "delete", "search")
	if out := run(0, "teams", "list", "-o", "json"); out != "[]" {
		t.Errorf("teams: %s", out)
	}
}

// TestKeysOfTwoGateways: what one gateway does to a key, another on the same store knows soon after.
func TestKeysOfTwoGateways(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, answers("ok"))
	text := limited(up, `limits: {rpm: 1000}`, fmt.Sprintf("store: {url: %q}", storetest.Postgres(t).URL()))
	here, there := serveText(t, text), serveText(t, text)
	key := func(args ...string) string {
		t.Helper()
		out, stderr, code := here.run(append([]string{"keys"}, args...)...)
		if code != 0 {
			t.Fatalf("keys %s: %s", strings.Join(args, " "), stderr)
		}
		return strings.TrimSpace(out)
	}
	try := func(secret string) int {
		t.Helper()
		return there.post("/v1/chat/completions", ask1000, "Authorization", "Bearer "+secret).status
	}
	first := key("create", "laptop")
	if got := try(first); got != 200 {
		t.Errorf("a key that the other gateway has made: %d", got)
	}
	second := key("rotate", "laptop")
	there.await("the old secret's end", func() bool { return try(first) == 401 })
	if got := try(second); got != 200 {
		t.Errorf("its new secret: %d", got)
	}
	key("revoke", "laptop")
	there.await("the key's end", func() bool { return try(second) == 401 })
}
