package main

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// terminalHandler writes log records as lines that a person reads: time, level where it is not info, text, attributes.
type terminalHandler struct {
	mu    *sync.Mutex // guards w
	w     io.Writer
	level slog.Leveler
	attrs string
	group string
}

func newTerminalHandler(w io.Writer, level slog.Leveler) *terminalHandler {
	return &terminalHandler{mu: new(sync.Mutex), w: w, level: level}
}

// Enabled says whether a level is written.
func (h *terminalHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// Handle writes one line.
func (h *terminalHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Time.Local().Format("15:04:05 "))
	if r.Level != slog.LevelInfo {
		b.WriteString(strings.ToLower(r.Level.String()) + ": ")
	}
	b.WriteString(r.Message)
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		h.attr(&b, a)
		return true
	})
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, b.String())
	return err
}

func (h *terminalHandler) attr(b *strings.Builder, a slog.Attr) {
	v := a.Value.Resolve()
	text := v.String()
	long := a.Key == "error" || a.Key == "stack" // these are read as they are, and may have lines
	switch {
	case strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && (!long || c != '\n' && c != '\t') }), !long && strings.ContainsAny(text, " \""):
		text = strconv.Quote(text)
	case long: // no line of it can be taken for a record
		text = strings.ReplaceAll(text, "\n", "\n    ")
	}
	b.WriteString("  " + h.group + a.Key + "=" + text)
}

// WithAttrs gives a handler that writes more attributes.
func (h *terminalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	for _, a := range attrs {
		h.attr(&b, a)
	}
	n := *h
	n.attrs += b.String()
	return &n
}

// WithGroup gives a handler whose attributes have a prefix.
func (h *terminalHandler) WithGroup(name string) slog.Handler {
	n := *h
	n.group += name + "."
	return &n
}
