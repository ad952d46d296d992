package policy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var wanted = regexp.MustCompile(`^(.*?)\s*### "(.*)"$`)

// TestBad compiles policies that are at fault. The files in testdata/bad hold several each, and the line at fault says
// in a comment what must be said of it.
func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.star")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line := 1
		for chunk := range strings.SplitSeq(string(src), "---\n") {
			bad(t, file, line, chunk)
			line += strings.Count(chunk, "\n") + 1
		}
	}
}

func bad(t *testing.T, file string, first int, chunk string) {
	t.Helper()
	at, want := 0, ""
	for i, line := range strings.Split(chunk, "\n") {
		if m := wanted.FindStringSubmatch(line); m != nil {
			at, want = i+1, m[2]
			chunk = strings.Replace(chunk, line, m[1], 1)
		}
	}
	if at == 0 {
		t.Errorf("%s:%d: nothing is wanted", file, first)
		return
	}
	_, err := Compile(file, []byte(chunk), Options{})
	var e *Error
	switch {
	case !errors.As(err, &e):
		t.Errorf("%s:%d: it compiles, want %q", file, first+at-1, want)
	case e.Pos.Line != at || e.Pos.File != file || e.Pos.Col == 0:
		t.Errorf("%s:%d: got the place %v (line %d of the file): %s", file, first+at-1, e.Pos, first+e.Pos.Line-1, e.Msg)
	case !regexp.MustCompile(want).MatchString(e.Msg):
		t.Errorf("%s:%d: got %q, want %q", file, first+at-1, e.Msg, want)
	}
}

func TestBacktrace(t *testing.T) {
	_, err := Compile("p.star", []byte(`
def price(m):
    return 1 // m.healthy

def route(req, models):
    return sorted(models, key = lambda m: price(m))
`), Options{})
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	const want = `p.star:3:14: floored division by zero
	in price at p.star:3:14
	in lambda at p.star:6:48
	in route at p.star:6:18`
	if got := e.Backtrace(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if e.Kind != Raised {
		t.Errorf("got kind %s", e.Kind)
	}
}

func TestLoad(t *testing.T) {
	folder := fstest.MapFS{
		"lib/names.star":  {Data: []byte("load('lib/more.star', 'second')\nNAMES = ['a', second()]\n")},
		"lib/more.star":   {Data: []byte("def second():\n    return 'b'\n")},
		"loop.star":       {Data: []byte("load('round.star', 'x')\ny = 1\n")},
		"round.star":      {Data: []byte("load('loop.star', 'y')\nx = 1\n")},
		"broken.star":     {Data: []byte("x = (\n")},
		"raises.star":     {Data: []byte("x = 1 // 0\n")},
		"own_test.star":   {Data: []byte("x = 1\n")},
		"names.txt":       {Data: []byte("x = 1\n")},
		"dir.star/x.star": {Data: []byte("x = 1\n")},
	}
	f := func(name, symbol, want string, kind Kind) {
		t.Helper()
		src := "load('" + name + "', '" + symbol + "')\n\ndef route(req, models):\n    return ['a', 'b']\n"
		_, err := Compile("p.star", []byte(src), Options{Folder: folder})
		var e *Error
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want == "":
		case !errors.As(err, &e) || !strings.Contains(err.Error(), want) || e.Kind != kind:
			t.Errorf("%s: got %s: %v, want %s: %q", name, e.Kind, err, kind, want)
		}
	}
	f("lib/names.star", "NAMES", "", "")
	f("loop.star", "y", `round.star:1:1: load: "loop.star" is loading`, Load)
	f("nowhere.star", "x", `p.star:1:1: load: "nowhere.star": no such file in the folder of the policy`, Load)
	f("dir.star", "x", "no such file", Load)
	f("../secret.star", "x", "want the path of a .star file within", Load)
	f("/etc/secret.star", "x", "want the path of a .star file within", Load)
	f("own_test.star", "x", "want the path of a .star file within", Load)
	f("names.txt", "x", "want the path of a .star file within", Load)
	f("broken.star", "x", "broken.star:2:1: ", Syntax)
	f("raises.star", "x", "raises.star:1:7: floored division by zero", Raised)
	f("lib/names.star", "NAMED", "name NAMED not found in module lib/names.star (did you mean NAMES?)", Raised)

	src := "load('lib/names.star', 'NAMES')\n\ndef route(req, models):\n    return NAMES\n"
	p, err := Compile("p.star", []byte(src), Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	names, err := p.Route(context.Background(), &Request{}, BoxModels(nil), nil)
	if got := strings.Join(names, " "); err != nil || got != "a b" {
		t.Errorf("got %q, %v", got, err)
	}
	if got := strings.Join(p.Loads(), " "); got != "lib/more.star lib/names.star" {
		t.Errorf("got loads %q", got)
	}
}

// TestLoadIsBounded holds the number of files to its limit, and what all do together to the budget of one.
func TestLoadIsBounded(t *testing.T) {
	folder := fstest.MapFS{}
	name := func(i int) string { return "f" + strings.Repeat("x", i) + ".star" }
	for i := range maxFiles + 2 {
		folder[name(i)] = &fstest.MapFile{Data: []byte("load('" + name(i+1) + "', 'x')\n")}
	}
	_, err := Compile("p.star", []byte("load('"+name(0)+"', 'x')\n"), Options{Folder: folder})
	if err == nil || !strings.Contains(err.Error(), "more than 32 files") {
		t.Errorf("got %v", err)
	}
	spin := []byte("def f():\n    for i in range(60000):\n        pass\n\nx = f()\n")
	src := ""
	for _, n := range []string{"a", "b", "c"} {
		folder[n+".star"] = &fstest.MapFile{Data: spin}
		src += "load('" + n + ".star', " + n + " = 'x')\n"
	}
	_, err = Compile("p.star", []byte(src+"\ndef route(req, models):\n    return ['a', 'b']\n"), Options{Folder: folder, Bounds: Bounds{Time: time.Minute}})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Steps {
		t.Errorf("got %v, want steps", err)
	}
}
