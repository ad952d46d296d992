package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// toolsMod pins the tools that are not ours. They are built from it by the go
// command, and leave go.mod alone.
const toolsMod = "cmd/penstock-check/tools.mod"

// killAfter is how long an interrupted program may take to clean up.
const killAfter = 5 * time.Second

// A run is one pass over the repository.
type run struct {
	dir            string
	stdout, stderr io.Writer
	tree           *tree
}

func newRun(dir string, stdout, stderr io.Writer) (*run, error) {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !bytes.HasPrefix(mod, []byte("module "+modulePath+"\n")) {
		return nil, fmt.Errorf("no go.mod of %s here, want to be run at the top of the repository", modulePath)
	}
	t, err := readTree(os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	return &run{dir: dir, stdout: stdout, stderr: stderr, tree: t}, nil
}

// all runs steps to the last, whatever the first ones found, and gives the exit
// code.
func (r *run) all(ctx context.Context, chosen []step) int {
	var unclean []string
	for _, s := range chosen {
		if s.name == testStep && len(unclean) > 0 {
			fmt.Fprintf(r.stdout, "penstock-check: findings above in %s; the tests follow\n", strings.Join(unclean, ", "))
		}
		if !s.run(r, ctx) {
			unclean = append(unclean, s.name)
		}
		if ctx.Err() != nil {
			return exitFindings
		}
	}
	if len(unclean) > 0 {
		return exitFindings
	}
	return exitClean
}

// report prints findings and reports whether there were none.
func (r *run) report(found []finding) bool {
	slices.SortStableFunc(found, byPlace)
	for _, f := range found {
		fmt.Fprintln(r.stdout, f)
	}
	return len(found) == 0
}

// gofmt compares each file with what gofmt makes of it. It needs no gofmt in the
// path, and is of the same release as the compiler.
func (r *run) gofmt(context.Context) bool {
	found := slices.Clone(r.tree.broken)
	for _, f := range r.tree.files {
		want, err := format.Source(f.src)
		if err != nil {
			found = append(found, finding{file: f.path, message: err.Error()})
		} else if !bytes.Equal(f.src, want) {
			found = append(found, finding{file: f.path, line: firstDifference(f.src, want), message: "is not as gofmt has it, want gofmt -w"})
		}
	}
	for i := range found {
		found[i].check = "gofmt"
	}
	return r.report(found)
}

// firstDifference is the line at which two texts part.
func firstDifference(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return bytes.Count(a[:n], []byte("\n")) + 1
}

// style runs rules over the tree.
func (r *run) style(chosen []rule) bool {
	return r.report(styleFindings(r.tree, chosen))
}

// styleFindings is what rules find, less the exceptions.
func styleFindings(t *tree, chosen []rule) (found []finding) {
	var ran []string
	for _, c := range chosen {
		ran = append(ran, c.name)
		for _, f := range c.check(t) {
			f.check = c.name
			found = append(found, f)
		}
	}
	return excepted(t, found, ran)
}

// exceptionList is where the exceptions stand, one a line: the check, what is
// excepted, and the reason. What is excepted is a file, a function as
// file#Function, a package by its folder, or all files below a folder, as
// folder/.
const exceptionList = "cmd/penstock-check/exceptions.txt"

// reasonWords is how many words a reason has at least. Fewer have said nothing yet.
const reasonWords = 4

// An exception lifts the findings of one check on one subject.
type exception struct {
	line           int
	check, subject string
	used           bool
}

// excepted takes out the findings for which the list has an exception, and adds
// what is wrong with the list: a line that lifts nothing is stale. ran are the
// checks whose findings are here; of others nothing can be said.
func excepted(t *tree, found []finding, ran []string) []finding {
	var exceptions []*exception
	var left []finding
	for _, l := range t.fileLines(exceptionList) {
		words := strings.Fields(l.text)
		if len(words) < 2+reasonWords {
			left = append(left, finding{check: "exceptions", file: exceptionList, line: l.number,
				message: fmt.Sprintf("want a check, a subject and a reason of at least %d words", reasonWords)})
			continue
		}
		exceptions = append(exceptions, &exception{line: l.number, check: words[0], subject: words[1]})
	}
	for _, f := range found {
		i := slices.IndexFunc(exceptions, func(e *exception) bool { return e.lifts(f) })
		if i >= 0 {
			exceptions[i].used = true
			continue
		}
		left = append(left, f)
	}
	for _, e := range exceptions {
		if !e.used && slices.Contains(ran, e.check) {
			left = append(left, finding{check: "exceptions", file: exceptionList, line: e.line,
				message: fmt.Sprintf("%s %s: lifts nothing, want the line removed", e.check, e.subject)})
		}
	}
	return left
}

func (e *exception) lifts(f finding) bool {
	if f.final || f.check != e.check {
		return false
	}
	return f.subject == e.subject || strings.HasSuffix(e.subject, "/") && strings.HasPrefix(f.file, e.subject)
}

func (r *run) vet(ctx context.Context) bool {
	return r.command(ctx, "go", "vet", "./...")
}

func (r *run) staticcheck(ctx context.Context) bool {
	return r.command(ctx, "go", "tool", "-modfile="+toolsMod, "staticcheck", "./...")
}

// star holds policies to buildifier's format. Those below testdata are left as
// they are: they may be wrong on purpose.
func (r *run) star(ctx context.Context) bool {
	var files []string
	err := fs.WalkDir(r.tree.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && unread(d.Name()):
			return fs.SkipDir
		case !d.IsDir() && path.Ext(name) == ".star":
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		fmt.Fprintln(r.stderr, "penstock-check:", err)
		return false
	}
	if len(files) == 0 {
		return true
	}
	args := []string{"tool", "-modfile=" + toolsMod, "buildifier", "-mode=check", "-format=json", "-type=default", "-lint=off"}
	var report bytes.Buffer
	clean := r.output(ctx, &report, r.stderr, "go", append(args, files...)...)
	found, err := starFindings(report.Bytes())
	if err != nil {
		fmt.Fprintf(r.stderr, "penstock-check: buildifier: %v\n", err)
		return false
	}
	return r.report(found) && clean
}

// starFindings reads buildifier's report. What does not parse is not in its list
// with a place; buildifier has told that on its standard error.
func starFindings(report []byte) (found []finding, err error) {
	var list struct {
		Files []struct {
			Filename  string `json:"filename"`
			Formatted bool   `json:"formatted"`
			Valid     bool   `json:"valid"`
		} `json:"files"`
	}
	if err := json.Unmarshal(report, &list); err != nil {
		return nil, fmt.Errorf("report %q: %w", report, err)
	}
	for _, f := range list.Files {
		switch {
		case !f.Valid:
			found = append(found, finding{check: "star", file: f.Filename, message: "does not parse"})
		case !f.Formatted:
			found = append(found, finding{check: "star", file: f.Filename,
				message: "is not as buildifier has it, want go tool -modfile=" + toolsMod + " buildifier -type=default " + f.Filename})
		}
	}
	return found, nil
}

// schemas runs the tests of the schemas, which hold each example against its
// schema. They are run again with the rest; here they serve -fast.
func (r *run) schemas(ctx context.Context) bool {
	if _, err := fs.Stat(r.tree.fsys, "schemas"); err != nil {
		return true
	}
	return r.command(ctx, "go", "test", "./schemas/...")
}

// testTimeout bounds the tests of one package: those of the program start hundreds of processes.
const testTimeout = "-timeout=30m"

// slowest is the package whose tests take the most time by far. It is named first, so that the others run beside it and
// not before it.
const slowest = "cmd/penstock"

// test runs all tests, under the race detector where it can be built, and says at the end which have failed. Go vet has
// been run by then, with more than go test would have it find.
func (r *run) test(ctx context.Context) bool {
	args := []string{"test", testTimeout, "-vet=off"}
	if r.hasCompiler(ctx) {
		args = append(args, "-race")
	} else {
		fmt.Fprintln(r.stdout, "penstock-check: no C compiler here, so no race detector")
	}
	if _, err := fs.Stat(r.tree.fsys, slowest); err == nil {
		args = append(args, "./"+slowest)
	}
	found := &failures{w: r.stdout}
	clean := r.output(ctx, found, found, "go", append(args, "./...")...)
	found.tell()
	return clean
}

// hasCompiler reports whether cgo works, without which there is no -race.
func (r *run) hasCompiler(ctx context.Context) bool {
	cmd := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED", "CC")
	cmd.Dir = r.dir
	out, err := cmd.Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) < 2 || words[0] != "1" {
		return false
	}
	_, err = exec.LookPath(words[1])
	return err == nil
}

// raceOptions has programs with the race detector end at once, where nobody has said otherwise: else each of them, and
// there is one for the tests of each package, sleeps for a second at its end.
func raceOptions() string {
	if said := os.Getenv("GORACE"); said != "" {
		return "GORACE=" + said
	}
	return "GORACE=atexit_sleep_ms=0"
}

// command runs a program at the top of the repository. Its output goes straight
// through; its exit code is the finding.
func (r *run) command(ctx context.Context, name string, args ...string) bool {
	return r.output(ctx, r.stdout, r.stderr, name, args...)
}

// output is command with its outputs sent elsewhere.
func (r *run) output(ctx context.Context, stdout, stderr io.Writer, name string, args ...string) bool {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), raceOptions())
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killAfter
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		fmt.Fprintf(r.stderr, "penstock-check: %s: %v\n", name, err)
	}
	return err == nil
}
