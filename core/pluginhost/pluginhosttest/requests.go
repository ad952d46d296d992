package pluginhosttest

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

// shapes are requests of clients, each the smallest of its kind. Words such as mark1 stand where nothing may get lost.
//
//go:embed requests
var shapes embed.FS

// mark is a word that a plan must carry on, or say that something was dropped.
var mark = regexp.MustCompile(`mark[0-9]+`)

// modelName is the model that requests are for.
const modelName = "some-model-1"

// clients are the dialects in which the shapes are written, by folder.
var clients = [...]dialect.Dialect{openaichat.Dialect{}, anthropic.Dialect{}}

// requests has every shape encoded for every dialect of the plugin's that has to translate it.
func (k *kit) requests() {
	for _, client := range clients {
		folder := path.Join("requests", client.Name())
		files, err := fs.ReadDir(shapes, folder)
		if err != nil {
			k.check(folder, func() error { return err })
			continue
		}
		for _, f := range files {
			name := strings.TrimSuffix(f.Name(), ".json")
			k.check("request/"+client.Name()+"/"+name, func() error {
				text, err := shapes.ReadFile(path.Join(folder, f.Name()))
				if err != nil {
					return err
				}
				return k.shape(client, text, name == "text")
			})
		}
	}
	k.check("request/long", k.long)
	k.check("request/at-once", k.atOnce)
}

// natives are the plugin's dialects that a client's dialect is encoded for.
func (k *kit) natives(client string) (names []string) {
	for _, d := range k.manifest.Dialects {
		if d.Name != client {
			names = append(names, d.Name)
		}
	}
	return names
}

// decode reads a client's request for one of the plugin's dialects.
func decode(client dialect.Dialect, text []byte, native string) (*sdk.Request, error) {
	var doc jsonspan.Doc
	if err := doc.Parse(text, jsonspan.Limits{}); err != nil {
		return nil, err
	}
	q := new(sdk.Request)
	if err := client.Decode(&doc, q); err != nil {
		return nil, err
	}
	q.Provider, q.Model, q.Native, q.DefaultMax = instance, modelName, native, 4096
	q.Stream = bytes.Contains(text, []byte(`"stream": true`))
	return q, nil
}

// shape has one request encoded: the outcome is a plan that says all of it, or a clear word of what cannot be said. What
// must be said has to have a plan in one of the dialects; others may be for something else, such as embeddings.
func (k *kit) shape(client dialect.Dialect, text []byte, must bool) error {
	var refused error
	said := false
	for _, native := range k.natives(client.Name()) {
		q, err := decode(client, text, native)
		if err != nil {
			return err
		}
		var plan pluginhost.Encoded
		err = k.process.Encode(q, &plan)
		var lacks *sdk.Inexpressible
		switch {
		case errors.As(err, &lacks) && lacks.What == "":
			err = errors.New("cannot express, and does not say what")
		case errors.As(err, &lacks):
			refused = err
			continue
		case err == nil:
			said = true
			err = k.whole(&plan, text, native)
		}
		if err != nil {
			return fmt.Errorf("for %s: %w", native, err)
		}
	}
	if must && !said && refused != nil {
		return fmt.Errorf("%w: want a plan, a plain text can be said everywhere", refused)
	}
	return nil
}

// whole sees that a plan says what the client has said, and names the model.
func (k *kit) whole(plan *pluginhost.Encoded, text []byte, native string) error {
	body := bytes.Join(plan.Segments, nil)
	if len(body) == 0 {
		return errors.New("a plan without a body")
	}
	if len(plan.Dropped) == 0 {
		for _, m := range mark.FindAll(text, -1) {
			if !bytes.Contains(body, m) {
				return fmt.Errorf("%s is not in the body, and nothing is said to have been dropped", m)
			}
		}
	}
	for _, n := range plan.Dropped {
		if n.Path == "" || n.Why == "" {
			return fmt.Errorf("dropped %q because %q: want a path and a reason", n.Path, n.Why)
		}
	}
	i := slices.IndexFunc(k.manifest.Dialects, func(d sdk.Dialect) bool { return d.Name == native })
	d := k.manifest.Dialects[i]
	places := plan.Path + " " + d.Path + " " + d.StreamPath
	if !bytes.Contains(body, []byte(modelName)) && !strings.Contains(places, "{model") && !strings.Contains(places, modelName) {
		return errors.New("the model is neither in the body nor in the path")
	}
	return nil
}

// say is a request of one text.
func (k *kit) say(text string) *sdk.Request {
	return &sdk.Request{Dialect: "openai-chat", Provider: instance, Model: modelName, Native: k.manifest.Dialects[0].Name, DefaultMax: 4096,
		Messages: []sdk.Message{{Role: sdk.User, Path: "messages[0]", Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T(text)}}}}}
}

// encode has a text encoded and gives the body.
func (k *kit) encode(text string) ([]byte, error) {
	var plan pluginhost.Encoded
	if err := k.process.Encode(k.say(text), &plan); err != nil {
		return nil, err
	}
	return bytes.Join(plan.Segments, nil), nil
}

// long sends texts that do not cross to the plugin, with all that is hard to carry: they arrive as they were.
func (k *kit) long() error {
	piece := `a "quoted" \ back, a tab` + "\t" + `, ünïcödé, 😀 ` + "\u2028"
	text := strings.Repeat(piece, 4000)
	body, err := k.encode(text)
	if err != nil {
		return err
	}
	if !says(body, text) {
		return fmt.Errorf("a text of %d bytes has not come through as it was", len(text))
	}
	turns := k.say("mark1")
	for range 2000 {
		turns.Messages = append(turns.Messages, turns.Messages[0])
	}
	var plan pluginhost.Encoded
	return k.process.Encode(turns, &plan)
}

// says looks for a text in the strings of a JSON text, however they are escaped.
func says(body []byte, text string) bool {
	d := json.NewDecoder(bytes.NewReader(body))
	for {
		t, err := d.Token()
		if err != nil {
			return false
		}
		if s, ok := t.(string); ok && strings.Contains(s, text) {
			return true
		}
	}
}

// callers is how many requests are under way at once.
const callers = 64

// atOnce has many requests encoded at once; none may get another's text.
func (k *kit) atOnce() error {
	var wg sync.WaitGroup
	errs := make(chan error, callers)
	for i := range callers {
		wg.Go(func() {
			own := fmt.Sprintf("mark%d.", i+1000)
			body, err := k.encode(own)
			switch {
			case err != nil:
				errs <- err
			case !bytes.Contains(body, []byte(own)) || bytes.Count(body, []byte("mark")) != 1:
				errs <- fmt.Errorf("a request that says %s has become %.200q", own, body)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs: // one of them says enough
		return err
	default:
		return nil
	}
}
