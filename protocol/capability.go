package protocol

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// The extensions that mcpd knows by name. Others pass through it untouched.
const (
	ExtensionTasks = "io.modelcontextprotocol/tasks" // 2026-07-28, SEP-2663
	ExtensionUI    = "io.modelcontextprotocol/ui"    // SEP-1865
)

// capabilities is what one side declared, as it declared it. Nothing is lost: members that mcpd does not know stay in raw.
//
// A capability is named by its path, "resources.subscribe". After "experimental." and "extensions." the rest is one name, dots and all.
// An empty object enables it (S0-24); null, false and absence do not (S0-51). What a client declares is no boolean: ParseClientCapabilities.
type capabilities struct{ raw jsontext.Value }

// ClientCapabilities is what a client declared. It is immutable, and safe to share; the zero value declares nothing.
type ClientCapabilities struct{ capabilities }

// ServerCapabilities is what a server declared. It is immutable, and safe to share; the zero value declares nothing.
type ServerCapabilities struct{ capabilities }

// shapes are the capabilities that the published schemas know. Others are not looked into.
var shapes = map[Side][]string{
	Client: {
		"experimental", "roots", "roots.listChanged", "sampling", "sampling.context", "sampling.tools", "elicitation", "elicitation.form",
		"elicitation.url", "tasks", "tasks.list", "tasks.cancel", "tasks.requests", "extensions",
	},
	Server: {
		"experimental", "logging", "completions", "prompts", "prompts.listChanged", "resources", "resources.subscribe",
		"resources.listChanged", "tools", "tools.listChanged", "tasks", "tasks.list", "tasks.cancel", "tasks.requests", "extensions",
	},
}

// misshapen says what a capability should be that cannot be what was declared, else "" (S4-130). null counts as absence. A client is held
// to the schemas, as a server would refuse what is not true to them; what servers declare is read with indulgence.
func misshapen(side Side, path string, declared jsontext.Value) string {
	kind, want := declared.Kind(), "an object"
	if path == "roots.listChanged" {
		want = "true or false"
	}
	switch {
	case len(declared) == 0, kind == 'n':
		return ""
	case kind == '{' && (side == Server || want == "an object"), (kind == 't' || kind == 'f') && (side == Server || want != "an object"):
		return ""
	case side == Server:
		return "an object, true or false"
	}
	return want
}

// ParseClientCapabilities checks the structure of what a client declares, so that it can be declared on to a server. The value is kept, not
// copied, but for what is null: that is left out. Empty declares nothing.
func ParseClientCapabilities(raw jsontext.Value) (ClientCapabilities, error) {
	c, err := parseCapabilities(raw, Client)
	if err != nil {
		return ClientCapabilities{}, err
	}
	extensions, _ := splice.Get(c.raw, "extensions")
	for m := range splice.Members(extensions) {
		if want := misshapen(Client, "extensions", m.Value); want != "" {
			return ClientCapabilities{}, InvalidParams("what is declared of extension " + shown(m.Key()) + " is not " + want)
		}
	}
	return ClientCapabilities{capabilities{present(c.raw, 2)}}, nil
}

// present is an object without the members that are null, and so those in it down to a depth.
func present(raw jsontext.Value, depth int) jsontext.Value {
	return splice.MapMembers(raw, func(m splice.Member) (jsontext.Value, bool) {
		if depth > 1 && m.Value.Kind() == '{' {
			return present(m.Value, depth-1), true
		}
		return m.Value, m.Value.Kind() != 'n'
	})
}

// ParseServerCapabilities does the same for a server. null declares nothing, all of it or a part.
func ParseServerCapabilities(raw jsontext.Value) (ServerCapabilities, error) {
	if raw.Kind() == 'n' {
		return ServerCapabilities{}, nil
	}
	c, err := parseCapabilities(raw, Server)
	return ServerCapabilities{capabilities{present(c.raw, 2)}}, err
}

func parseCapabilities(raw jsontext.Value, side Side) (capabilities, error) {
	if len(raw) == 0 {
		return capabilities{}, nil
	}
	if raw.Kind() != '{' {
		return capabilities{}, InvalidParams("capabilities is not an object")
	}
	for m := range splice.Members(raw) {
		for _, path := range shapes[side] {
			name, flag, nested := strings.Cut(path, ".")
			if !m.Is(name) {
				continue
			}
			v := m.Value
			if nested {
				v, _ = splice.Get(v, flag)
			}
			if want := misshapen(side, path, v); want != "" {
				return capabilities{}, InvalidParams("capabilities." + path + " is not " + want)
			}
		}
	}
	return capabilities{raw}, nil
}

// Raw is the object as it was declared, {} for the zero value.
func (c capabilities) Raw() jsontext.Value {
	if len(c.raw) == 0 {
		return jsontext.Value("{}")
	}
	return c.raw
}

// Settings is what was declared at the path, as it stands.
func (c capabilities) Settings(path string) (jsontext.Value, bool) {
	v := c.raw
	for path != "" {
		name, rest, _ := strings.Cut(path, ".")
		next, ok := splice.Get(v, name)
		if !ok {
			return nil, false
		}
		v, path = next, rest
		if name == "experimental" || name == "extensions" {
			if path == "" {
				break
			}
			return splice.Get(v, path)
		}
	}
	return v, len(v) > 0
}

// Has reports whether the capability at the path is declared.
func (c capabilities) Has(path string) bool {
	if path == "elicitation.form" {
		// 2025-11-25 §client/elicitation: {} means form, but {"url":{}} means url alone.
		return c.declares(path) || c.declares("elicitation") && !c.declares("elicitation.url")
	}
	return c.declares(path)
}

func (c capabilities) declares(path string) bool {
	v, ok := c.Settings(path)
	return ok && v.Kind() != 'n' && v.Kind() != 'f'
}

// split is the path as the names of nested members.
func split(path string) []string {
	if name, rest, ok := strings.Cut(path, "."); ok && (name == "experimental" || name == "extensions") {
		return []string{name, rest}
	}
	return strings.Split(path, ".")
}

func (c capabilities) with(path string, settings jsontext.Value) capabilities {
	raw, err := splice.Set(c.raw, settings, split(path)...)
	if err != nil { // something on the way is no object, as true or null: it gives way to one
		name, _, _ := strings.Cut(path, ".")
		bare, _ := splice.Delete(c.raw, name)
		raw, _ = splice.Set(bare, settings, split(path)...)
	}
	return capabilities{raw}
}

func (c capabilities) without(paths ...string) capabilities {
	raw := c.raw
	for _, path := range paths {
		at, before := split(path), len(raw)
		raw, _ = splice.Delete(raw, at...)
		if len(raw) < before && (at[0] == "experimental" || at[0] == "extensions") && (capabilities{raw}).bare(at[0]) {
			raw, _ = splice.Delete(raw, at[0]) // elsewhere {} says something
		}
	}
	return capabilities{raw}
}

// bare reports whether there is nothing in a member.
func (c capabilities) bare(name string) bool {
	all, _ := splice.Get(c.raw, name)
	for range splice.Members(all) {
		return false
	}
	return true
}

// Clone is c in memory of its own: what was parsed shares that of its message.
func (c ClientCapabilities) Clone() ClientCapabilities {
	return ClientCapabilities{capabilities{slices.Clone(c.raw)}}
}

// With is c with the capability declared too. Settings are usually {} or true.
func (c ClientCapabilities) With(path string, settings jsontext.Value) ClientCapabilities {
	return ClientCapabilities{c.with(path, settings)}
}

// Without is c without the capabilities at the paths.
func (c ClientCapabilities) Without(paths ...string) ClientCapabilities {
	return ClientCapabilities{c.without(paths...)}
}

// With is c with the capability declared too: how a server's declaration changes at runtime (S0-52). Sessions keep the value they have.
func (c ServerCapabilities) With(path string, settings jsontext.Value) ServerCapabilities {
	return ServerCapabilities{c.with(path, settings)}
}

// Without is c without the capabilities at the paths.
func (c ServerCapabilities) Without(paths ...string) ServerCapabilities {
	return ServerCapabilities{c.without(paths...)}
}

// MaxRecorded bounds the capabilities that the record of a session holds as they were offered, in
// bytes. The record is stored each time the session changes.
const MaxRecorded = 16 << 10

// Recorded is what the session of a client goes by: c itself, or when c is larger than MaxRecorded
// the standard capabilities and the extensions that both sides declare, without their settings.
func (c ServerCapabilities) Recorded(client ClientCapabilities) ServerCapabilities {
	if len(c.raw) <= MaxRecorded {
		return c
	}
	brief := c.standard()
	for _, member := range extended {
		declared := map[string]bool{}
		mine, _ := splice.Get(client.raw, member)
		for m := range splice.Members(mine) {
			declared[m.Key()] = declares(m.Value)
		}
		theirs, _ := splice.Get(c.raw, member)
		for m := range splice.Members(theirs) {
			if name := m.Key(); declared[name] && declares(m.Value) {
				brief = brief.With(member+"."+name, jsontext.Value("{}"))
			}
		}
	}
	return brief
}

// Within is c if it has at most so many bytes, else only which standard capabilities there are.
func (c ServerCapabilities) Within(most int) ServerCapabilities {
	if len(c.raw) <= most {
		return c
	}
	return c.standard()
}

// standard is which of the standard capabilities there are, and of the extensions that the host takes
// part in, without their settings. Its size has a bound.
func (c ServerCapabilities) standard() (bare ServerCapabilities) {
	paths := []string{"extensions." + ExtensionTasks, "extensions." + ExtensionUI, "tasks.requests.tools.call"}
	for _, path := range append(paths, shapes[Server]...) {
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

// Union is what several servers declare together: a flag is set if one sets it. Where their settings differ the first one counts.
func (c ServerCapabilities) Union(others ...ServerCapabilities) ServerCapabilities {
	raw := c.raw
	for _, o := range others {
		raw = unite(raw, o.raw, 3)
	}
	return ServerCapabilities{capabilities{raw}}
}

// unite is the union of two values. Below depth, settings belong to whoever declared them and are not mixed.
func unite(a, b jsontext.Value, depth int) jsontext.Value {
	switch {
	case len(a) == 0 || a.Kind() == 'n' || a.Kind() == 'f':
		return b
	case a.Kind() != '{' || b.Kind() != '{' || depth == 0:
		return a
	}
	for m := range splice.Members(b) {
		name := m.Key()
		mine, _ := splice.Get(a, name)
		deeper := depth - 1
		if name == "experimental" || name == "extensions" {
			deeper = 1 // their members are whole
		}
		a, _ = splice.Set(a, unite(mine, m.Value, deeper), name) // a is an object, so there is a place
	}
	return a
}

// Union is what several clients declare together. Where their settings differ the first one counts.
func (c ClientCapabilities) Union(others ...ClientCapabilities) ClientCapabilities {
	raw, forms := c.raw, c.Has("elicitation.form")
	for _, o := range others {
		raw, forms = unite(raw, o.raw, 3), forms || o.Has("elicitation.form")
	}
	all := ClientCapabilities{capabilities{raw}}
	if forms && !all.Has("elicitation.form") { // {} means forms, and beside a url it does not
		all = all.With("elicitation.form", jsontext.Value("{}"))
	}
	return all
}

// Intersect is what both a client and carrier declare: what may be declared on towards a server, when carrier is what this host can
// pass on. Settings are the client's.
func (c ClientCapabilities) Intersect(carrier ClientCapabilities) ClientCapabilities {
	return ClientCapabilities{capabilities{intersect(c.raw, carrier.raw)}}
}

func intersect(a, b jsontext.Value) jsontext.Value {
	return splice.MapMembers(a, func(m splice.Member) (jsontext.Value, bool) {
		theirs, ok := splice.Get(b, m.Key())
		switch {
		case !ok || theirs.Kind() == 'n' || theirs.Kind() == 'f':
			return nil, false
		case m.Value.Kind() == '{' && theirs.Kind() == '{' && len(theirs) > len("{}"):
			return intersect(m.Value, theirs), true
		}
		return m.Value, true
	})
}
