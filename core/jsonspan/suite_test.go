package jsonspan

import (
	"os"
	"path/filepath"
	"testing"
)

// repeatedNames are the files of the suite that an RFC 8259 parser must accept and that hold a name twice in one object.
var repeatedNames = map[string]bool{
	"y_object_duplicated_key.json":           true,
	"y_object_duplicated_key_and_value.json": true,
}

func TestSuite(t *testing.T) {
	files, err := filepath.Glob("testdata/JSONTestSuite/test_parsing/*.json")
	if err != nil || len(files) != 318 {
		t.Fatalf("%d files, want 318 (%v)", len(files), err)
	}
	var d Doc
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		lax, strict := d.Parse(text, Limits{AllowDuplicates: true}), Valid(text, Limits{})
		switch {
		case name[0] == 'y' && lax != nil:
			t.Errorf("%s: %v", name, lax)
		case name[0] == 'y' && (strict != nil) != repeatedNames[name]:
			t.Errorf("%s: without duplicates: %v", name, strict)
		case name[0] == 'n' && (lax == nil || strict == nil):
			t.Errorf("%s: accepted", name)
		}
	}
}
