package dialect

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// AppendVector appends a vector in the form that the client asked for: a list of numbers, or in base64 the little-endian
// 32-bit floats of it (https://platform.openai.com/docs/api-reference/embeddings/create, encoding_format). Providers give
// either. One in neither form passes as it is.
func AppendVector(dst, value []byte, inBase64 bool) []byte {
	switch isText := len(value) > 0 && value[0] == '"'; {
	case isText && !inBase64:
		if out, ok := appendNumbers(dst, value); ok {
			return out
		}
	case !isText && inBase64:
		if out, ok := appendFloats(dst, value); ok {
			return out
		}
	}
	return append(dst, value...)
}

// appendNumbers writes floats in base64 as a list of numbers.
func appendNumbers(dst, text []byte) ([]byte, bool) {
	inner, err := jsonspan.AppendUnescape(nil, text[1:len(text)-1])
	if err != nil {
		return dst, false
	}
	raw, err := base64.StdEncoding.AppendDecode(nil, inner)
	if err != nil || len(raw)%4 != 0 {
		return dst, false
	}
	dst = append(dst, '[')
	for i := 0; i < len(raw); i += 4 {
		if i > 0 {
			dst = append(dst, ',')
		}
		f := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[i:])))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return dst, false
		}
		dst = strconv.AppendFloat(dst, f, 'g', -1, 32)
	}
	return append(dst, ']'), true
}

// appendFloats writes a list of numbers as floats in base64.
func appendFloats(dst, list []byte) ([]byte, bool) {
	list = bytes.TrimSpace(list)
	if len(list) < 2 || list[0] != '[' || list[len(list)-1] != ']' {
		return dst, false
	}
	raw := make([]byte, 0, len(list)/2)
	if inner := bytes.TrimSpace(list[1 : len(list)-1]); len(inner) > 0 {
		for n := range bytes.SplitSeq(inner, []byte{','}) {
			f, err := strconv.ParseFloat(string(bytes.TrimSpace(n)), 32)
			if err != nil {
				return dst, false
			}
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(f)))
		}
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), raw), '"'), true
}
