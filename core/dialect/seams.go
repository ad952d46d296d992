package dialect

import "strconv"

// Seams are the places of a streamed answer at which another deployment went on where one had broken off.
type Seams struct {
	At []int // bytes of the answer's text before each, escaped as in JSON
}

// Append appends the member that tells of them in the last event of a stream, after a comma. Where there are none, or no
// Seams at all, it appends nothing.
func (s *Seams) Append(dst []byte) []byte {
	if s == nil || len(s.At) == 0 {
		return dst
	}
	dst = append(dst, `,"penstock":{"seams":[`...)
	for i, at := range s.At {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(at), 10)
	}
	return append(dst, "]}"...)
}
