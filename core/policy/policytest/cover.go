package policytest

import (
	"io/fs"
	"sync"

	"go.starlark.net/syntax"

	"github.com/penstock-gateway/penstock/core/policy"
)

// Coverage says which lines of a file ran in the tests. Lines are those that a statement of a function begins on.
type Coverage struct {
	File   string
	Ran    int
	Total  int
	Missed []int // lines that did not run, in order
}

// lines records which lines were visited.
type lines struct {
	mu      sync.Mutex
	visited map[string]map[int]bool // by file and line
}

func newLines() *lines { return &lines{visited: map[string]map[int]bool{}} }

func (l *lines) visit(file string, line int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.visited[file] == nil {
		l.visited[file] = map[int]bool{}
	}
	l.visited[file][line] = true
}

func (l *lines) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.visited)
}

// coverage sets what ran against what can run in some files, which were compiled before.
func (l *lines) coverage(folder fs.FS, files []string) ([]Coverage, error) {
	var out []Coverage
	for _, file := range files {
		src, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, err
		}
		tree, err := new(syntax.FileOptions).Parse(file, src, 0)
		if err != nil {
			return nil, err
		}
		can := map[int]bool{}
		syntax.Walk(tree, func(n syntax.Node) bool {
			if def, ok := n.(*syntax.DefStmt); ok {
				executable(def.Body, can)
			}
			return true
		})
		c := Coverage{File: file, Total: len(can)}
		for line := range int(syntax.End(tree).Line) + 1 {
			switch {
			case !can[line]:
			case l.visited[file][line]:
				c.Ran++
			default:
				c.Missed = append(c.Missed, line)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// executable notes the lines on which a statement that does something begins.
func executable(body []syntax.Stmt, lines map[int]bool) {
	for _, s := range body {
		switch s := s.(type) {
		case *syntax.IfStmt:
			executable(s.True, lines)
			executable(s.False, lines)
		case *syntax.ForStmt:
			executable(s.Body, lines)
		}
		if line := policy.Line(s); line > 0 {
			lines[line] = true
		}
	}
}
