package protocol

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// Implementation is clientInfo or serverInfo: the name and version that a peer claims for itself.
// Nothing may depend on it.
type Implementation struct {
	Name    string
	Version string
	raw     jsontext.Value
}

// ParseImplementation reads the object. It returns an *Error with ConditionInvalidParams if name or
// version is missing; every revision requires both.
func ParseImplementation(raw jsontext.Value) (Implementation, error) {
	name, okName := jsonedit.GetString(raw, "name")
	version, okVersion := jsonedit.GetString(raw, "version")
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

// WithName returns i with another name and version for the host's own texts, for example shortened
// ones. Raw stays the same.
func (i Implementation) WithName(name, version string) Implementation {
	return Implementation{Name: name, Version: version, raw: i.Raw()}
}

// serverInfo reads the serverInfo of a server, as leniently as the Go SDK. A name or version that
// is a number becomes its digits; one that is missing, null or of another type becomes empty. The
// object that clients receive thus has all members that every revision requires.
func serverInfo(raw jsontext.Value) Implementation {
	if raw.Kind() != '{' {
		return Implementation{}
	}
	i := Implementation{raw: withoutNulls(raw, 1)}
	i.Name, i.raw = textMember(i.raw, "name")
	i.Version, i.raw = textMember(i.raw, "version")
	return i
}

// textMember returns a member of an object as text, and the object with that text as the member. A
// number becomes its digits, as in "version": 1.2. Any other value becomes empty.
func textMember(object jsontext.Value, name string) (string, jsontext.Value) {
	said, _ := jsonedit.Get(object, name)
	text, ok := jsonedit.Unquote(said)
	if ok {
		return text, object
	}
	if said.Kind() == '0' {
		text = string(said)
	}
	// object is an object, so Set cannot fail
	object, _ = jsonedit.Set(object, jsonedit.Quote(text), name)
	return text, object
}

// Raw returns the object as the peer sent it, or an object of name and version if there is none.
func (i Implementation) Raw() jsontext.Value {
	if len(i.raw) > 0 {
		return i.raw
	}
	return data("name", i.Name, "version", i.Version)
}

// Shape returns the object without the members that revision v does not know.
func (i Implementation) Shape(v Version) jsontext.Value {
	raw := i.Raw()
	if !v.Has(Titles) {
		raw = jsonedit.Without(raw, "title")
	}
	if !v.Has(Icons) {
		raw = jsonedit.Without(raw, "icons", "description", "websiteUrl")
	}
	return raw
}
