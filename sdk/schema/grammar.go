package schema

import (
	"bytes"
	"slices"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// Grammar says what a provider's grammar has no words for. Objects are closed in it: they take the properties that they name
// and no others.
type Grammar struct {
	// Spoken are keywords that the provider refuses. They are said to the model in the description, as the providers' own
	// SDKs do, and nobody holds it to them.
	Spoken []string
	// Silent are keywords that the provider refuses and that say nothing to a model.
	Silent []string
	// Formats are the formats of strings that are taken; another is spoken.
	Formats []string
	// MinItems is the greatest minItems that is taken; a greater one is spoken.
	MinItems byte
}

// Fit gives a schema in the words of the grammar, and the keywords that had to be spoken or changed, each once, in their order.
// The text must be a JSON text.
func (g *Grammar) Fit(text []byte) (fitted []byte, changed []string, err error) {
	note := func(keyword string) {
		if !slices.Contains(changed, keyword) {
			changed = append(changed, keyword)
		}
	}
	fitted, err = Rewrite(text, func(members []Member) []Member {
		either := Find(members, "anyOf") >= 0
		kept := members[:0]
		var spoken []Member
		for _, m := range members {
			switch {
			case m.Name == "oneOf" && !either: // whose branches may both hold here
				kept = append(kept, Member{"anyOf", m.Value})
			case slices.Contains(g.Silent, m.Name):
			case g.speaks(m):
				note(m.Name)
				spoken = append(spoken, m)
			default:
				kept = append(kept, m)
			}
		}
		if closed(&kept) {
			note("additionalProperties")
		}
		return describe(kept, spoken)
	})
	return fitted, changed, err
}

// speaks says whether a keyword goes into the description.
func (g *Grammar) speaks(m Member) bool {
	switch m.Name {
	case "format":
		return !slices.Contains(g.Formats, string(bytes.Trim(m.Value, `"`)))
	case "minItems":
		return len(m.Value) != 1 || m.Value[0] < '0' || m.Value[0] > '0'+g.MinItems
	}
	return slices.Contains(g.Spoken, m.Name)
}

// closed closes an object. It says whether that had been open by its own words.
func closed(members *[]Member) bool {
	kind := Find(*members, "type")
	if Find(*members, "properties") < 0 && (kind < 0 || !bytes.Contains((*members)[kind].Value, []byte(`"object"`))) {
		return false
	}
	no := []byte("false")
	i := Find(*members, "additionalProperties")
	if i < 0 {
		*members = append(*members, Member{"additionalProperties", no})
		return false
	}
	was := (*members)[i].Value
	(*members)[i].Value = no
	return !bytes.Equal(was, no)
}

// describe adds what is spoken to the description, in the form that the providers' SDKs have: {minimum: 1, maximum: 10}.
func describe(members, spoken []Member) []Member {
	if len(spoken) == 0 {
		return members
	}
	said := []byte{'{'}
	for i, m := range spoken {
		if i > 0 {
			said = append(said, ", "...)
		}
		said = append(append(said, m.Name...), ": "...)
		said = append(said, m.Value...)
	}
	said = append(said, '}')
	i := Find(members, "description")
	if i < 0 {
		return append(members, Member{"description", jsonspan.AppendQuote(nil, string(said))})
	}
	if v := members[i].Value; len(v) > 2 && v[0] == '"' {
		v = append(bytes.Clone(v[:len(v)-1]), `\n\n`...)
		members[i].Value = append(jsonspan.AppendEscape(v, said), '"')
	}
	return members
}
