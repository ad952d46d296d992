package frame

// AppendSSE appends one server-sent event. An empty event writes no event line.
// Each line of data, however it ends, becomes a data line of its own, so that no
// text can end the event or begin another: the reader gets one event whose data
// is data with every line end as LF. Line ends inside event are left out.
func AppendSSE(dst []byte, event string, data []byte) []byte {
	if event != "" {
		dst = append(dst, "event: "...)
		for i := range len(event) {
			if c := event[i]; c != '\n' && c != '\r' {
				dst = append(dst, c)
			}
		}
		dst = append(dst, '\n')
	}
	dst = appendLines(dst, "data: ", data)
	return append(dst, '\n')
}

// AppendComment appends a comment and a blank line, which readers skip and which
// keeps a connection alive. Each line of text becomes a comment line.
func AppendComment(dst []byte, text string) []byte {
	dst = appendLines(dst, ": ", []byte(text))
	return append(dst, '\n')
}

// appendLines appends each line of text, and the empty one after a last line end,
// behind prefix.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	ends, i := newEOL(), 0
	for {
		j := ends.next(text, i)
		dst = append(dst, prefix...)
		dst = append(dst, text[i:j]...)
		dst = append(dst, '\n')
		if j == len(text) {
			return dst
		}
		if i = j + 1; text[j] == '\r' && i < len(text) && text[i] == '\n' {
			i++
		}
	}
}
