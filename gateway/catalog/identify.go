package catalog

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// A schema with an $id is known to a validator by that. The official clients give all schemas of a list
// to one validator: of two with the same $id it checks results against the first, or fails the whole
// list. So in the list of all servers each $id becomes one of its tool's own, whatever other servers there
// are: "https://a.example/out" of the tool files__read is "https://a.example/out?mcpd=files__read.out".
// References to it are changed as well.

// identified are the schemas of a tool, and what their $ids end in.
var identified = []struct{ member, mark string }{{"inputSchema", ".in"}, {"outputSchema", ".out"}}

// identify gives the schemas of a tool $ids that no other tool has.
func identify(tool jsontext.Value, external string) jsontext.Value {
	if !strings.Contains(string(tool), `"$id"`) {
		return tool
	}
	for _, of := range identified {
		if schema, ok := splice.Get(tool, of.member); ok {
			if named := ownIDs(schema, external+of.mark); string(named) != string(schema) {
				tool, _ = splice.Set(tool, named, of.member) // it has the member
			}
		}
	}
	return tool
}

// survey is what ids a schema has, and what it refers to.
func survey(schema jsontext.Value) renaming {
	r := renaming{ids: map[document]bool{}}
	r.schema(schema, &url.URL{}, 0)
	return r
}

// ownIDs is a schema whose $ids, and references to them, end in a mark.
func ownIDs(schema jsontext.Value, mark string) jsontext.Value {
	r := survey(schema)
	if len(r.ids) == 0 {
		return schema
	}
	r.mark, r.write = mark, true
	return r.schema(schema, &url.URL{}, 0)
}

// renaming passes over a schema twice: first to find its $ids, then to change them.
type renaming struct {
	mark  string
	ids   map[document]bool // resolved against the $ids around them
	refs  []document        // the documents that are referred to; those of write are not noted
	write bool
}

// byMember and byElement are the keywords that have schemas as members and elements, as the validator of
// the TypeScript SDK sees them. It takes any other object for a schema.
var (
	byMember  = wordsOf("definitions $defs properties patternProperties dependencies dependentSchemas")
	byElement = wordsOf("items prefixItems allOf anyOf oneOf")
)

// referring are the keywords whose value is a URI of a schema. $anchor and $dynamicAnchor are names
// within the $id that they stand in.
var referring = []string{"$ref", "$dynamicRef", "$recursiveRef"}

func wordsOf(list string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(list) {
		set[word] = true
	}
	return set
}

// schema passes over one schema. Base is the $id that it is in.
func (r *renaming) schema(raw jsontext.Value, base *url.URL, depth int) jsontext.Value {
	if raw.Kind() != '{' || depth > maxSchemaDepth {
		return raw
	}
	if id, ok := splice.GetString(raw, "$id"); ok && isName(id) {
		if to, err := base.Parse(strings.TrimSuffix(id, "#")); err == nil {
			base = to
			r.ids[documentOf(to)] = true
		}
	}
	return splice.MapMembers(raw, func(m splice.Member) (jsontext.Value, bool) {
		name, value := m.Key(), m.Value
		said, text := splice.Unquote(value)
		if text && !r.write && slices.Contains(referring, name) {
			r.note(base, said)
		}
		switch {
		case text && r.write && (name == "$id" && isName(said) || slices.Contains(referring, name) && r.refers(base, said)):
			return splice.Quote(r.marked(said)), true
		case value.Kind() == '[' && byElement[name]:
			return splice.MapElements(value, func(e jsontext.Value) (jsontext.Value, bool) { return r.schema(e, base, depth+1), true }), true
		case value.Kind() != '{' || slices.Contains(data, name):
			return value, true
		case byMember[name]:
			return splice.MapMembers(value, func(m splice.Member) (jsontext.Value, bool) { return r.schema(m.Value, base, depth+1), true }), true
		}
		return r.schema(value, base, depth+1), true
	})
}

// isName reports whether an $id names a schema, and not a place in one.
func isName(id string) bool { return id != "" && id[0] != '#' }

// note takes note of a reference to another document.
func (r *renaming) note(base *url.URL, ref string) {
	path, _, _ := strings.Cut(ref, "#")
	if to, err := base.Parse(path); path != "" && err == nil {
		r.refs = append(r.refs, documentOf(to))
	}
}

// refers reports whether a reference leads to a schema that has an $id.
func (r *renaming) refers(base *url.URL, ref string) bool {
	path, _, _ := strings.Cut(ref, "#")
	to, err := base.Parse(path)
	return path != "" && err == nil && r.ids[documentOf(to)]
}

// document is a URI without its fragment, so that two ways to write one URI are equal: validators
// compare them in a normal form (RFC 3986 §6.2.2).
type document struct{ scheme, host, path, query string }

func documentOf(u *url.URL) document {
	return document{u.Scheme, strings.ToLower(u.Host), cmp.Or(u.Opaque, u.Path), u.RawQuery}
}

// marked is an $id or a reference with the mark, ahead of its fragment.
func (r *renaming) marked(said string) string {
	document, fragment, cut := strings.Cut(said, "#")
	separator := "?"
	if strings.Contains(document, "?") {
		separator = "&"
	}
	document += separator + "mcpd=" + r.mark
	if cut {
		document += "#" + fragment
	}
	return document
}
