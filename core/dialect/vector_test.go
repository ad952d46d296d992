package dialect

import "testing"

func TestAppendVector(t *testing.T) {
	f := func(value string, inBase64 bool, want string) {
		t.Helper()
		if got := string(AppendVector([]byte("|"), []byte(value), inBase64)); got != "|"+want {
			t.Errorf("AppendVector(%s, %v) = %s, want %s", value, inBase64, got[1:], want)
		}
	}
	const numbers, text = `[0.25,-1,1e-10]`, `"AACAPgAAgL//5tsu"`
	f(numbers, false, numbers)
	f(text, true, text)
	f(numbers, true, text)
	f(text, false, numbers)
	f(`[ 0.25 , -1 ]`, true, `"AACAPgAAgL8="`)
	f(`"AACAPgAAgL\/\/5tsu"`, false, numbers) // with escapes, as some writers of JSON have them
	f(`[]`, true, `""`)
	f(`""`, false, `[]`)
	// What is no vector passes.
	f(`"AAA="`, false, `"AAA="`)
	f(`"~"`, false, `"~"`)
	f(`"AADAfw=="`, false, `"AADAfw=="`) // not a number
	f(`[1,[2]]`, true, `[1,[2]]`)
	f(`[1e99]`, true, `[1e99]`)
	f(`{"int8":[1]}`, true, `{"int8":[1]}`)
}
