package protocol

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// The extensions that mcpd knows by name. All others pass through unchanged.
const (
	ExtensionTasks = "io.modelcontextprotocol/tasks" // 2026-07-28, SEP-2663
	ExtensionUI    = "io.modelcontextprotocol/ui"    // SEP-1865
)

// capabilities is the declaration of one side, with its original bytes. Members that mcpd does not
// know stay in raw.
//
// The name of a capability is its path, for example "resources.subscribe". After "experimental." or
// "extensions." the rest of the path is a single name that may contain dots. An empty object
// declares a capability; null, false and absence do not. The values true and false are malformed
// for most capabilities of a client; see ParseClientCapabilities.
type capabilities struct{ raw jsontext.Value }

// ClientCapabilities is the declaration of a client. It is immutable and safe to share. The zero
// value declares nothing.
type ClientCapabilities struct{ capabilities }

// ServerCapabilities is the declaration of a server. It is immutable and safe to share. The zero
// value declares nothing.
type ServerCapabilities struct{ capabilities }

// schemaCapabilities lists the capabilities that the published schemas define. Only these are
// checked.
var schemaCapabilities = map[Side][]string{
	Client: {
		"experimental", "roots", "roots.listChanged", "sampling", "sampling.context", "sampling.tools",
		"elicitation", "elicitation.form",
		"elicitation.url", "tasks", "tasks.list", "tasks.cancel", "tasks.requests", "extensions",
	},
	Server: {
		"experimental", "logging", "completions", "prompts", "prompts.listChanged", "resources",
		"resources.subscribe",
		"resources.listChanged", "tools", "tools.listChanged", "tasks", "tasks.list", "tasks.cancel",
		"tasks.requests", "extensions",
	},
}

// wrongType returns the type that a capability should have if the declared value has another one,
// and "" if it is valid. null counts as absent. The rules for a client are those of the schemas,
// because a server would refuse an invalid declaration. The rules for a server are lenient.
func wrongType(side Side, path string, declared jsontext.Value) string {
	kind, want := declared.Kind(), "an object"
	if path == "roots.listChanged" {
		want = "true or false"
	}
	switch {
	case len(declared) == 0, kind == 'n':
		return ""
	case kind == '{' && (side == Server || want == "an object"),
		(kind == 't' || kind == 'f') && (side == Server || want != "an object"):
		return ""
	case side == Server:
		return "an object, true or false"
	}
	return want
}

// ParseClientCapabilities checks the structure of a client's declaration, so that the host can pass
// it on to a server. It returns an *Error with ConditionInvalidParams if a capability has the wrong
// JSON type. The result shares the memory of raw; members that are null are left out. Empty raw
// declares nothing.
func ParseClientCapabilities(raw jsontext.Value) (ClientCapabilities, error) {
	c, err := parseCapabilities(raw, Client)
	if err != nil {
		return ClientCapabilities{}, err
	}
	extensions, _ := jsonedit.Get(c.raw, "extensions")
	for m := range jsonedit.Members(extensions) {
		if want := wrongType(Client, "extensions", m.Value); want != "" {
			return ClientCapabilities{}, InvalidParams("what is declared of extension " + quoted(m.Key()) +
				" is not " + want)
		}
	}
	return ClientCapabilities{capabilities{withoutNulls(c.raw, 2)}}, nil
}

// withoutNulls returns an object without its null members. Depth is the number of levels of objects
// to clean.
func withoutNulls(raw jsontext.Value, depth int) jsontext.Value {
	return jsonedit.MapMembers(raw, func(m jsonedit.Member) (jsontext.Value, bool) {
		if depth > 1 && m.Value.Kind() == '{' {
			return withoutNulls(m.Value, depth-1), true
		}
		return m.Value, m.Value.Kind() != 'n'
	})
}

// ParseServerCapabilities checks the structure of a server's declaration. It accepts an object or a
// boolean for each capability. null counts as absent. It returns an *Error with
// ConditionInvalidParams for any other type. The result shares the memory of raw.
func ParseServerCapabilities(raw jsontext.Value) (ServerCapabilities, error) {
	if raw.Kind() == 'n' {
		return ServerCapabilities{}, nil
	}
	c, err := parseCapabilities(raw, Server)
	return ServerCapabilities{capabilities{withoutNulls(c.raw, 2)}}, err
}

func parseCapabilities(raw jsontext.Value, side Side) (capabilities, error) {
	if len(raw) == 0 {
		return capabilities{}, nil
	}
	if raw.Kind() != '{' {
		return capabilities{}, InvalidParams("capabilities is not an object")
	}
	for m := range jsonedit.Members(raw) {
		for _, path := range schemaCapabilities[side] {
			name, flag, nested := strings.Cut(path, ".")
			if !m.Is(name) {
				continue
			}
			v := m.Value
			if nested {
				v, _ = jsonedit.Get(v, flag)
			}
			if want := wrongType(side, path, v); want != "" {
				return capabilities{}, InvalidParams("capabilities." + path + " is not " + want)
			}
		}
	}
	return capabilities{raw}, nil
}

// Raw returns the object as declared; {} for the zero value.
func (c capabilities) Raw() jsontext.Value {
	if len(c.raw) == 0 {
		return jsontext.Value("{}")
	}
	return c.raw
}

// Settings returns the raw JSON that was declared at the path, and whether there is any.
func (c capabilities) Settings(path string) (jsontext.Value, bool) {
	v := c.raw
	for path != "" {
		name, rest, _ := strings.Cut(path, ".")
		next, ok := jsonedit.Get(v, name)
		if !ok {
			return nil, false
		}
		v, path = next, rest
		if name == "experimental" || name == "extensions" {
			if path == "" {
				break
			}
			return jsonedit.Get(v, path)
		}
	}
	return v, len(v) > 0
}

// Has reports whether the capability at the path is declared.
func (c capabilities) Has(path string) bool {
	if path == "elicitation.form" {
		// 2025-11-25 §client/elicitation: {} means form, but {"url":{}} means only url.
		return c.declares(path) || c.declares("elicitation") && !c.declares("elicitation.url")
	}
	return c.declares(path)
}

func (c capabilities) declares(path string) bool {
	v, ok := c.Settings(path)
	return ok && v.Kind() != 'n' && v.Kind() != 'f'
}

// split returns the names of the nested members that the path leads through.
func split(path string) []string {
	if name, rest, ok := strings.Cut(path, "."); ok &&
		(name == "experimental" || name == "extensions") {
		return []string{name, rest}
	}
	return strings.Split(path, ".")
}

func (c capabilities) with(path string, settings jsontext.Value) capabilities {
	raw, err := jsonedit.Set(c.raw, settings, split(path)...)
	// A value on the way is not an object, for example true: an object replaces it.
	if err != nil {
		name, _, _ := strings.Cut(path, ".")
		bare, _ := jsonedit.Delete(c.raw, name)
		raw, _ = jsonedit.Set(bare, settings, split(path)...)
	}
	return capabilities{raw}
}

func (c capabilities) without(paths ...string) capabilities {
	raw := c.raw
	for _, path := range paths {
		at, before := split(path), len(raw)
		raw, _ = jsonedit.Delete(raw, at...)
		if len(raw) < before && (at[0] == "experimental" || at[0] == "extensions") &&
			(capabilities{raw}).isEmpty(at[0]) {
			raw, _ = jsonedit.Delete(raw, at[0]) // in other places {} is a declaration
		}
	}
	return capabilities{raw}
}

// isEmpty reports whether the member is an empty object or absent.
func (c capabilities) isEmpty(name string) bool {
	all, _ := jsonedit.Get(c.raw, name)
	for range jsonedit.Members(all) {
		return false
	}
	return true
}

// Clone returns a copy of c. Parsed capabilities otherwise share the memory of their message.
func (c ClientCapabilities) Clone() ClientCapabilities {
	return ClientCapabilities{capabilities{slices.Clone(c.raw)}}
}

// With returns c plus the capability at the path. Settings are usually {} or true.
func (c ClientCapabilities) With(path string, settings jsontext.Value) ClientCapabilities {
	return ClientCapabilities{c.with(path, settings)}
}

// Without returns c without the capabilities at the paths.
func (c ClientCapabilities) Without(paths ...string) ClientCapabilities {
	return ClientCapabilities{c.without(paths...)}
}

// With returns c plus the capability at the path. It serves to change the declaration of a server
// at runtime; existing sessions keep their value.
func (c ServerCapabilities) With(path string, settings jsontext.Value) ServerCapabilities {
	return ServerCapabilities{c.with(path, settings)}
}

// Without returns c without the capabilities at the paths.
func (c ServerCapabilities) Without(paths ...string) ServerCapabilities {
	return ServerCapabilities{c.without(paths...)}
}

// MaxStoredCapabilities bounds the capabilities that the record of a session holds unchanged, in
// bytes: 16 KiB. The record is stored each time the session changes.
const MaxStoredCapabilities = 16 << 10

// ForStorage returns the capabilities to store with a session. That is c itself up to
// MaxStoredCapabilities bytes. A larger c is reduced to the standard capabilities and the
// extensions that both sides declared, without settings.
func (c ServerCapabilities) ForStorage(client ClientCapabilities) ServerCapabilities {
	if len(c.raw) <= MaxStoredCapabilities {
		return c
	}
	brief := c.standard()
	for _, member := range extensionMembers {
		declared := map[string]bool{}
		mine, _ := jsonedit.Get(client.raw, member)
		for m := range jsonedit.Members(mine) {
			declared[m.Key()] = declares(m.Value)
		}
		theirs, _ := jsonedit.Get(c.raw, member)
		for m := range jsonedit.Members(theirs) {
			if name := m.Key(); declared[name] && declares(m.Value) {
				brief = brief.With(member+"."+name, jsontext.Value("{}"))
			}
		}
	}
	return brief
}

// Limit returns c if it has at most that many bytes. A larger c is reduced to the standard
// capabilities, without settings.
func (c ServerCapabilities) Limit(most int) ServerCapabilities {
	if len(c.raw) <= most {
		return c
	}
	return c.standard()
}

// standard returns the standard capabilities of c and the extensions that the host understands,
// without settings. Its size is bounded.
func (c ServerCapabilities) standard() (bare ServerCapabilities) {
	paths := []string{
		"extensions." + ExtensionTasks, "extensions." + ExtensionUI, "tasks.requests.tools.call",
	}
	for _, path := range append(paths, schemaCapabilities[Server]...) {
		_, flag, nested := strings.Cut(path, ".")
		switch {
		case path == "experimental" || path == "extensions" || !c.Has(path) || bare.Has(path):
		case nested && (strings.HasSuffix(flag, "listChanged") || flag == "subscribe"):
			bare = bare.With(path, jsontext.Value("true"))
		default:
			bare = bare.With(path, jsontext.Value("{}"))
		}
	}
	return bare
}

// Union returns the combined declaration of several servers. A flag is set if any server sets it.
// If settings differ, those of the first server win.
func (c ServerCapabilities) Union(others ...ServerCapabilities) ServerCapabilities {
	raw := c.raw
	for _, o := range others {
		raw = unite(raw, o.raw, 3)
	}
	return ServerCapabilities{capabilities{raw}}
}

// unite returns the union of two values. Below depth, the settings of a and b are not merged: a
// wins.
func unite(a, b jsontext.Value, depth int) jsontext.Value {
	switch {
	case len(a) == 0 || a.Kind() == 'n' || a.Kind() == 'f':
		return b
	case a.Kind() != '{' || b.Kind() != '{' || depth == 0:
		return a
	}
	for m := range jsonedit.Members(b) {
		name := m.Key()
		mine, _ := jsonedit.Get(a, name)
		deeper := depth - 1
		if name == "experimental" || name == "extensions" {
			deeper = 1 // each extension is kept as a whole
		}
		a, _ = jsonedit.Set(a, unite(mine, m.Value, deeper), name) // a is an object, so Set cannot fail
	}
	return a
}

// Union returns the combined declaration of several clients. If settings differ, those of the first
// client win.
func (c ClientCapabilities) Union(others ...ClientCapabilities) ClientCapabilities {
	raw, forms := c.raw, c.Has("elicitation.form")
	for _, o := range others {
		raw, forms = unite(raw, o.raw, 3), forms || o.Has("elicitation.form")
	}
	all := ClientCapabilities{capabilities{raw}}
	// An empty elicitation means forms, but beside a url it does not.
	if forms && !all.Has("elicitation.form") {
		all = all.With("elicitation.form", jsontext.Value("{}"))
	}
	return all
}

// Intersect returns the capabilities of c that carrier also declares. Carrier holds the
// capabilities that the host can pass on to a server. Settings are those of c.
func (c ClientCapabilities) Intersect(carrier ClientCapabilities) ClientCapabilities {
	return ClientCapabilities{capabilities{intersect(c.raw, carrier.raw)}}
}

func intersect(a, b jsontext.Value) jsontext.Value {
	return jsonedit.MapMembers(a, func(m jsonedit.Member) (jsontext.Value, bool) {
		theirs, ok := jsonedit.Get(b, m.Key())
		switch {
		case !ok || theirs.Kind() == 'n' || theirs.Kind() == 'f':
			return nil, false
		case m.Value.Kind() == '{' && theirs.Kind() == '{' && len(theirs) > len("{}"):
			return intersect(m.Value, theirs), true
		}
		return m.Value, true
	})
}
