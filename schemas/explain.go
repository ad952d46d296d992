package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Doc is what the configuration's schema says of a member.
type Doc struct {
	Path        string
	Description string
	Type        string   // such as "string", "object or array of object"; "" where any is taken by a rule
	Values      []string // the only ones; none where there is no such list
	Default     string   // JSON; "" where the member must be given
	Examples    []string // JSON
	Restart     bool     // read at the start alone
	Secret      bool     // never shown
	Pending     bool     // checked, and not yet in force; so are those below it
	Members     []Doc    // of an object, or of each entry of a list or mapping, by name, without theirs
	Below       string   // what stands before a member's name in its path: "timeout.", "models.*.", "keys[]."
}

// Explain documents a member of the configuration by its path: providers.*.tls.ca, models.chat.deployments[].price. Any
// name, or *, stands for an entry of a mapping by name; the brackets of a list may be left out. The empty path is the
// whole. It is false where no such member is.
func Explain(path string) (Doc, bool) {
	at, pending := whole(), false
	if path != "" {
		for step := range strings.SplitSeq(path, ".") {
			name, index, _ := strings.Cut(step, "[")
			if at = at.member(name); at == nil {
				return Doc{}, false
			}
			pending = pending || at.Pending
			if index != "" {
				if at = at.Items; at == nil {
					return Doc{}, false
				}
			}
		}
	}
	d := at.doc(path)
	d.Pending = pending
	members, below := at.resolve(path)
	d.Below = below
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d.Members = append(d.Members, members[name].doc(name))
	}
	return d, true
}

// Pending says whether a member at the top of the configuration is checked and not yet in force.
func Pending(name string) bool {
	at := whole().Properties[name]
	return at != nil && at.Pending
}

// whole is the configuration's schema. It is read once, and does not change.
var whole = sync.OnceValue(func() *schema {
	root := new(schema)
	if err := json.Unmarshal(Config, root); err != nil {
		panic("schemas: config.schema.json: " + err.Error()) // a test compiles it
	}
	root.borrow(root.Definitions)
	return root
})

// schema is as much of a JSON Schema as documentation needs.
type schema struct {
	Description string             `json:"description"`
	Type        any                `json:"type"`
	Enum        []any              `json:"enum"`
	Default     json.RawMessage    `json:"default"`
	Examples    []json.RawMessage  `json:"examples"`
	Restart     bool               `json:"x-restart"`
	WriteOnly   bool               `json:"writeOnly"`
	Pending     bool               `json:"x-pending"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Additional  any                `json:"additionalProperties"`
	Ref         string             `json:"$ref"`
	AllOf       []*schema          `json:"allOf"`
	Definitions map[string]*schema `json:"definitions"`

	entry *schema // of a mapping by name
}

// UnmarshalJSON reads additionalProperties as a schema where it is one.
func (s *schema) UnmarshalJSON(b []byte) error {
	type plain schema // without this method
	if err := json.Unmarshal(b, (*plain)(s)); err != nil {
		return err
	}
	if _, ok := s.Additional.(map[string]any); !ok {
		return nil
	}
	var inner struct {
		Additional *schema `json:"additionalProperties"`
	}
	err := json.Unmarshal(b, &inner)
	s.entry = inner.Additional
	return err
}

// borrow gives those that refer to a definition its members.
func (s *schema) borrow(definitions map[string]*schema) {
	if s == nil {
		return
	}
	for _, m := range s.Properties {
		m.borrow(definitions)
	}
	s.Items.borrow(definitions)
	s.entry.borrow(definitions)
	if d := definitions[s.definition()]; d != nil && s.Properties == nil {
		d.borrow(definitions)
		s.Properties = d.Properties
	}
}

// definition is the name of the definition that the schema refers to; "" where there is none.
func (s *schema) definition() string {
	ref := s.Ref
	if len(s.AllOf) > 0 {
		ref = s.AllOf[0].Ref
	}
	return strings.TrimPrefix(ref, "#/definitions/")
}

// resolve gives the members that have a name of their own, and what stands before it: the object's, or those of a list's or
// mapping's entries.
func (s *schema) resolve(path string) (members map[string]*schema, below string) {
	dotted := func() string { return strings.TrimPrefix(path+".", ".") }
	for s.Properties == nil {
		switch {
		case s.Items != nil:
			s, path = s.Items, path+"[]"
		case s.entry != nil:
			s, path = s.entry, dotted()+"*"
		default:
			return nil, ""
		}
	}
	return s.Properties, dotted()
}

func (s *schema) member(name string) *schema {
	for s.Properties == nil && s.Items != nil {
		s = s.Items
	}
	if m := s.Properties[name]; m != nil {
		return m
	}
	return s.entry
}

func (s *schema) doc(path string) Doc {
	d := Doc{Path: path, Description: s.Description, Type: s.typeName(), Restart: s.Restart, Secret: s.WriteOnly, Pending: s.Pending}
	for _, v := range s.Enum {
		if v != nil {
			d.Values = append(d.Values, fmt.Sprint(v))
		}
	}
	if s.Default != nil {
		d.Default = compact(s.Default)
	}
	for _, e := range s.Examples {
		d.Examples = append(d.Examples, compact(e))
	}
	return d
}

func (s *schema) typeName() string {
	var names []string
	several, _ := s.Type.([]any)
	for _, t := range append(several, s.Type) {
		switch name, ok := t.(string); {
		case !ok || name == "null":
		case name == "array" && s.Items != nil:
			names = append(names, "array of "+s.Items.typeName())
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return strings.TrimSuffix(s.definition(), "ornull")
	}
	return strings.Join(names, " or ")
}

// compact takes the layout out of a JSON text.
func compact(text json.RawMessage) string {
	var b bytes.Buffer
	json.Compact(&b, text) // it has been parsed
	return b.String()
}
