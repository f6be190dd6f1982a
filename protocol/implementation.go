package protocol

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// Implementation is clientInfo or serverInfo: who a peer says it is. Nothing may depend on it.
type Implementation struct {
	Name    string
	Version string
	raw     jsontext.Value
}

// ParseImplementation reads the object; name and version are required in every revision.
func ParseImplementation(raw jsontext.Value) (Implementation, error) {
	name, okName := splice.GetString(raw, "name")
	version, okVersion := splice.GetString(raw, "version")
	switch {
	case raw.Kind() != '{':
		return Implementation{}, InvalidParams("implementation information is not an object")
	case !okName:
		return Implementation{}, InvalidParams("implementation information has no name")
	case !okVersion:
		return Implementation{}, InvalidParams("implementation information has no version")
	}
	return Implementation{Name: name, Version: version, raw: raw}, nil
}

// Said is the same implementation with another name and version in the host's own words. Raw stays.
func (i Implementation) Said(name, version string) Implementation {
	return Implementation{Name: name, Version: version, raw: i.Raw()}
}

// serverInfo reads who a server says it is. What is missing, null or no object is empty, as the Go SDK
// reads it, so that the object which clients are told has what every revision requires.
func serverInfo(raw jsontext.Value) Implementation {
	if raw.Kind() != '{' {
		return Implementation{}
	}
	i := Implementation{raw: present(raw, 1)}
	i.Name, i.raw = saidText(i.raw, "name")
	i.Version, i.raw = saidText(i.raw, "version")
	return i
}

// saidText is a member of an object as text, and the object with that. A number is its digits, as in
// "version": 1.2; anything else is empty.
func saidText(object jsontext.Value, name string) (string, jsontext.Value) {
	said, _ := splice.Get(object, name)
	text, ok := splice.Unquote(said)
	if ok {
		return text, object
	}
	if said.Kind() == '0' {
		text = string(said)
	}
	object, _ = splice.Set(object, splice.Quote(text), name) // an object has a place for it
	return text, object
}

// Raw is the object as it was sent, or made of name and version.
func (i Implementation) Raw() jsontext.Value {
	if len(i.raw) > 0 {
		return i.raw
	}
	return data("name", i.Name, "version", i.Version)
}

// Shape is the object as a peer of that revision may see it.
func (i Implementation) Shape(v Version) jsontext.Value {
	raw := i.Raw()
	if !v.Has(Titles) {
		raw = splice.Without(raw, "title")
	}
	if !v.Has(Icons) {
		raw = splice.Without(raw, "icons", "description", "websiteUrl")
	}
	return raw
}
