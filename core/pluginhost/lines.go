package pluginhost

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// The bounds of what a plugin's chatter may cost.
const (
	lineBytes  = 1024 // the rest of a longer line is cut off
	linesKept  = 20
	lineBurst  = 50 // lines that pass at once, and then
	lineRefill = 100 * time.Millisecond
)

// lines takes a plugin's standard output or error. It keeps the last lines and passes them on, at a bounded rate: a
// flood costs reading it, and neither log space nor memory.
type lines struct {
	emit func(line string)

	mu      sync.Mutex // guards what follows
	part    []byte     // of a line that has no end yet
	cut     bool       // the line goes on beyond lineBytes
	last    []string
	tokens  int
	filled  time.Time
	dropped int
}

// Write takes bytes as they come. It never fails.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		piece := p
		if i >= 0 {
			piece = p[:i]
		}
		l.add(piece)
		if i < 0 {
			break
		}
		l.end()
		p = p[i+1:]
	}
	return n, nil
}

func (l *lines) add(piece []byte) {
	if room := lineBytes - len(l.part); len(piece) > room {
		piece, l.cut = piece[:room], true
	}
	l.part = append(l.part, piece...)
}

func (l *lines) end() {
	line := string(bytes.ToValidUTF8(bytes.TrimRight(l.part, "\r"), []byte("\uFFFD")))
	if l.cut {
		line += "…"
	}
	l.part, l.cut = l.part[:0], false
	if line == "" {
		return
	}
	if len(l.last) == linesKept {
		l.last = append(l.last[:0], l.last[1:]...)
	}
	l.last = append(l.last, line)
	l.pass(line)
}

// pass emits the line, or counts it where too many came.
func (l *lines) pass(line string) {
	if l.emit == nil {
		return
	}
	now := time.Now()
	if gained := int(now.Sub(l.filled) / lineRefill); gained > 0 {
		l.tokens = min(lineBurst, l.tokens+gained)
		l.filled = now
	}
	if l.tokens == 0 {
		l.dropped++
		return
	}
	l.tokens--
	if l.dropped > 0 {
		line += fmt.Sprintf(" (lines left out before it: %d)", l.dropped)
		l.dropped = 0
	}
	l.emit(line)
}

// tail gives the last lines, the unfinished one included.
func (l *lines) tail() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := append([]string(nil), l.last...)
	if len(l.part) > 0 {
		out = append(out, string(bytes.ToValidUTF8(l.part, []byte("\uFFFD"))))
	}
	return out
}

// logLine logs a line of the plugin's, at the level that it seems to be meant for.
func (p *Process) logLine(line string) {
	p.log.Log(context.Background(), levelOf(line), "plugin says", "line", line)
}

// levelOf guesses a line's level from the forms of slog, hclog and the Go runtime. A guess does for a log.
func levelOf(line string) slog.Level {
	has := func(marks ...string) bool {
		for _, m := range marks {
			if strings.Contains(line, m) {
				return true
			}
		}
		return false
	}
	switch {
	case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "), has("level=ERROR", `"level":"ERROR"`, `"@level":"error"`, "[ERROR]"):
		return slog.LevelError
	case has("level=WARN", `"level":"WARN"`, `"@level":"warn"`, "[WARN]"):
		return slog.LevelWarn
	case has("level=INFO", `"level":"INFO"`, `"@level":"info"`, "[INFO]"):
		return slog.LevelInfo
	}
	return slog.LevelDebug
}
