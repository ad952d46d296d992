package sdk

// FreeInput is the one parameter of the function that stands for a tool with free-form input. A plugin whose provider has
// functions only declares such a function and writes the earlier calls of it with {"input": "…"}; the gateway gives the
// client the calls of it as those of its tool, with the text alone.
const FreeInput = "input"

// AsFunction gives the function that stands for a tool with free-form input, and any other tool as it is. A grammar that
// the input must follow is told to the model in words, which is noted: it is not held to it.
func (p *Plan) AsFunction(t *Tool, path string) *Tool {
	if t.Kind != CustomTool {
		return t
	}
	says := []Text{T("The input of the tool, as free text. It is handed to the tool as it stands.")}
	var d Doc
	format, at := Node{}, path+".format"
	if !t.Raw.Held() && d.Parse(t.Raw.Raw()) == nil {
		if format = d.Root().Get("format"); !format.Exists() { // as chat completions nest it
			format, at = d.Root().At("custom", "format"), path+".custom.format"
		}
	}
	if format.Get("type").Is("grammar") {
		grammar := format
		if nested := format.Get("grammar"); nested.Exists() {
			grammar = nested
		}
		says = append(says, T(" It must follow this grammar, in the syntax "), grammar.Get("syntax").Text(), T(":\n"), grammar.Get("definition").Text())
		p.Approximate(at, "the model is told of the grammar, and not held to it")
	}
	var w Writer
	w.Object()
	w.Name("type").String("object")
	w.Name("properties").Object()
	w.Name(FreeInput).Object()
	w.Name("type").String("string")
	w.Name("description").Joined(says...)
	w.EndObject()
	w.EndObject()
	w.Name("required").Array()
	w.String(FreeInput)
	w.EndArray()
	w.EndObject()
	return &Tool{Name: t.Name, Description: t.Description, Parameters: RawValue(w.Bytes()), Cache: t.Cache, Path: t.Path}
}

// FreeArguments writes the arguments of a call with free-form input as an object: {"input": "…"}.
func (w *Writer) FreeArguments(input Text) {
	w.Object()
	w.Name(FreeInput).Text(input)
	w.EndObject()
}

// FreeArgumentsText writes the same object as a string that holds its text.
func (w *Writer) FreeArgumentsText(input Text) {
	w.Joined(RawText([]byte(`{\"`+FreeInput+`\":\"`)), input.nested(), RawText([]byte(`\"}`)))
}

// nested is the text as it stands in a JSON text that is itself the content of a string.
func (t Text) nested() Text {
	if t.handle != 0 {
		t.form = escape
		return t
	}
	return Value(t).Text()
}
