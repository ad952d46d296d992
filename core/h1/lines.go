package h1

import "bytes"

// Answers come from servers that the operator has chosen, some of them old or home-made: what the standard lets a client
// repair is repaired, where a request would be refused. A connection that needed it is not used again.

// headEnd finds the blank line that ends an answer's head: where the last line before it ends, and where the body begins; 0 where
// it has not come yet. A line may end in a line feed alone (RFC 9112 2.2).
func headEnd(text []byte) (last, end int) {
	i := bytes.Index(text, []byte("\n\r\n"))
	if i >= 0 {
		text = text[:i]
	}
	switch j := bytes.Index(text, []byte("\n\n")); {
	case j >= 0:
		return j + 1, j + 2
	case i >= 0:
		return i + 1, i + 3
	}
	return 0, 0
}

// answerLine takes a line off an answer's head. Where folds are joined, lines that begin with white space belong to the one before
// them, and spaces take the place of what parted them, in text itself (RFC 9112 5.2). Plain says that the line had no fold and
// ended in CRLF; ok is false where a carriage return stands within it.
func answerLine(text []byte, joinFolds bool) (line, rest []byte, plain, ok bool) {
	plain = true
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], '\n')
		if i < 0 {
			return nil, nil, false, false
		}
		end := from + i
		line, rest = bytes.TrimSuffix(text[:end], []byte{'\r'}), text[end+1:]
		plain = plain && len(line) < end
		if !joinFolds || len(rest) == 0 || rest[0] != ' ' && rest[0] != '\t' {
			return line, rest, plain, bytes.IndexByte(line, '\r') < 0
		}
		plain = false
		for j := len(line); j <= end; j++ {
			text[j] = ' '
		}
		from = end + 1
	}
}

// unspaced takes the white space out that stands between a field's name and its colon (RFC 9112 5.1), in line itself.
func unspaced(line []byte) []byte {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return line
	}
	name := line[:colon]
	for len(name) > 1 && (name[len(name)-1] == ' ' || name[len(name)-1] == '\t') {
		name = name[:len(name)-1]
	}
	shift := colon - len(name)
	copy(line[shift:], name)
	return line[shift:]
}
