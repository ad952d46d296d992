package dialecttest

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// Dump writes what is set in a request, a facts or another value of the model: one member a line, indented. Texts stand
// as they are, escaped, between quotes; values as they are.
func Dump(v any) string {
	var b strings.Builder
	dump(&b, reflect.ValueOf(v), "")
	return b.String()
}

// dump writes a value behind what stands on the line already.
func dump(b *strings.Builder, v reflect.Value, indent string) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case sdk.Text:
		fmt.Fprintf(b, " \"%s\"\n", x.Raw())
		return
	case sdk.Value:
		fmt.Fprintf(b, " %s\n", x.Raw())
		return
	case string:
		fmt.Fprintf(b, " %s\n", strconv.Quote(x))
		return
	}
	if name, ok := word(v.Interface()); ok {
		fmt.Fprintf(b, " %s\n", name)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if indent != "" {
			b.WriteByte('\n')
		}
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				b.WriteString(indent + v.Type().Field(i).Name + ":")
				dump(b, f, indent+"  ")
			}
		}
	case reflect.Slice:
		b.WriteByte('\n')
		for i := range v.Len() {
			b.WriteString(indent + "-")
			dump(b, v.Index(i), indent+"  ")
		}
	default:
		fmt.Fprintf(b, " %v\n", v.Interface())
	}
}

// word names a value of one of the model's closed lists.
func word(v any) (string, bool) {
	pick := func(i int, names ...string) (string, bool) { return names[i], true }
	switch x := v.(type) {
	case sdk.Role:
		return pick(int(x), "none", "system", "developer", "user", "assistant", "tool")
	case sdk.PartKind:
		return pick(int(x), "none", "text", "image", "audio", "document", "call", "result", "thinking", "redacted", "refusal", "foreign", "video")
	case sdk.ToolKind:
		return pick(int(x), "function", "custom", "foreign")
	case sdk.ChoiceMode:
		return pick(int(x), "unset", "auto", "none", "required", "named", "allowed")
	case sdk.FormatKind:
		return pick(int(x), "unset", "text", "json", "schema")
	case sdk.ReasoningMode:
		return pick(int(x), "unset", "off", "on", "adaptive")
	case sdk.Reason:
		return pick(int(x), reasons...)
	case sdk.Kind:
		return x.String(), true
	case interface{ Names() []string }: // dialect.Need
		return strings.Join(x.Names(), " "), true
	}
	return "", false
}

// reasons are the names of the reasons of an end, in the order of their values.
var reasons = []string{"unset", "stop", "stop_text", "length", "context", "tool", "filter", "refusal", "pause", "fault"}

// ReasonName names the reason of an end.
func ReasonName(r sdk.Reason) string { return reasons[r] }
