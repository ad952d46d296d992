//go:build faultpoints

package faultpoint

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// mostHeld is how long a request is held where its test does not let it go.
const mostHeld = 20 * time.Second

// Reach does what a test has armed a point with. In the folder stands, under the point's name, "panic" or "hold", and
// behind it at which of the times that the point is reached from then on; the first where there is none. The file is
// renamed to end in ".reached" when it is done, once; who is held goes on when that is removed. Where there is a file "trace",
// the points that are reached are written to it, a line each.
func Reach(p Point) {
	dir := os.Getenv("PENSTOCK_FAULTPOINTS")
	if dir == "" {
		return
	}
	if f, err := os.OpenFile(filepath.Join(dir, "trace"), os.O_WRONLY|os.O_APPEND, 0); err == nil {
		f.WriteString(string(p) + "\n")
		f.Close()
	}
	armed := filepath.Join(dir, string(p))
	text, err := os.ReadFile(armed)
	if err != nil {
		return
	}
	action, which, _ := strings.Cut(string(text), " ")
	if n, _ := strconv.Atoi(which); n > 1 && count(armed+".count") != n {
		return
	}
	reached := armed + ".reached"
	if os.Rename(armed, reached) != nil {
		return // another was first
	}
	if action == "panic" {
		panic("faultpoint " + string(p))
	}
	for until := time.Now().Add(mostHeld); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(reached); err != nil {
			return
		}
	}
}

// count counts in the length of a file.
func count(path string) int {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0
	}
	defer f.Close()
	f.WriteString("x")
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return int(info.Size())
}
