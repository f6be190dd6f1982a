package catalog

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// A validator knows a schema by its $id. The official clients give all schemas of a list to one
// validator. Of two schemas with the same $id it checks results against the first, or fails the
// whole list. Therefore each $id in the list of all servers becomes unique to its tool, whatever
// other servers there are: "https://a.example/out" of the tool files__read becomes
// "https://a.example/out?mcpd=files__read.out". References to the $id are changed as well.

// identified are the schemas of a tool, and the marks that their $ids end in.
var identified = []struct{ name, mark string }{{"inputSchema", ".in"}, {"outputSchema", ".out"}}

// makeIDsUnique gives the schemas of a tool $ids that no other tool has.
func makeIDsUnique(tool jsontext.Value, external string) jsontext.Value {
	if !strings.Contains(string(tool), `"$id"`) {
		return tool
	}
	for _, of := range identified {
		if schema, ok := jsonedit.Get(tool, of.name); ok {
			if named := markIDs(schema, external+of.mark); string(named) != string(schema) {
				// The tool has the member.
				tool, _ = jsonedit.Set(tool, named, of.name)
			}
		}
	}
	return tool
}

// scanIDs finds the $ids of a schema and the documents that it refers to.
func scanIDs(schema jsontext.Value) idRenamer {
	r := idRenamer{ids: map[document]bool{}}
	r.schema(schema, &url.URL{}, 0)
	return r
}

// markIDs returns the schema with the mark at the end of its $ids and of the references to them.
func markIDs(schema jsontext.Value, mark string) jsontext.Value {
	r := scanIDs(schema)
	if len(r.ids) == 0 {
		return schema
	}
	r.mark, r.write = mark, true
	return r.schema(schema, &url.URL{}, 0)
}

// idRenamer walks over a schema twice: first to find its $ids, then to change them.
type idRenamer struct {
	mark string
	ids  map[document]bool // resolved against the $ids around them
	// refs are the documents that are referred to. They are not recorded while write is true.
	refs  []document
	write bool
}

// byMember and byElement are the keywords whose members or elements are schemas, as the validator
// of the TypeScript SDK sees them. The validator treats any other object as a schema.
var (
	byMember  = wordsOf("definitions $defs properties patternProperties dependencies dependentSchemas")
	byElement = wordsOf("items prefixItems allOf anyOf oneOf")
)

// referring are the keywords whose value is a URI of a schema. $anchor and $dynamicAnchor are
// not among them, because they are names within the enclosing $id.
var referring = []string{"$ref", "$dynamicRef", "$recursiveRef"}

func wordsOf(list string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(list) {
		set[word] = true
	}
	return set
}

// schema walks over one schema. Base is the enclosing $id.
func (r *idRenamer) schema(raw jsontext.Value, base *url.URL, depth int) jsontext.Value {
	if raw.Kind() != '{' || depth > maxSchemaDepth {
		return raw
	}
	if id, ok := jsonedit.GetString(raw, "$id"); ok && isName(id) {
		if to, err := base.Parse(strings.TrimSuffix(id, "#")); err == nil {
			base = to
			r.ids[documentOf(to)] = true
		}
	}
	return jsonedit.MapMembers(raw, func(m jsonedit.Member) (jsontext.Value, bool) {
		name, value := m.Key(), m.Value
		said, text := jsonedit.Unquote(value)
		if text && !r.write && slices.Contains(referring, name) {
			r.note(base, said)
		}
		switch {
		case text && r.write && (name == "$id" && isName(said) ||
			slices.Contains(referring, name) && r.refers(base, said)):
			return jsonedit.Quote(r.marked(said)), true
		case value.Kind() == '[' && byElement[name]:
			return jsonedit.MapElements(value, func(e jsontext.Value) (jsontext.Value, bool) {
				return r.schema(e, base, depth+1), true
			}), true
		case value.Kind() != '{' || slices.Contains(data, name):
			return value, true
		case byMember[name]:
			return jsonedit.MapMembers(value, func(m jsonedit.Member) (jsontext.Value, bool) {
				return r.schema(m.Value, base, depth+1), true
			}), true
		}
		return r.schema(value, base, depth+1), true
	})
}

// isName reports whether an $id names a schema, and not a place within a schema.
func isName(id string) bool { return id != "" && id[0] != '#' }

// note records a reference to another document.
func (r *idRenamer) note(base *url.URL, ref string) {
	path, _, _ := strings.Cut(ref, "#")
	if to, err := base.Parse(path); path != "" && err == nil {
		r.refs = append(r.refs, documentOf(to))
	}
}

// refers reports whether a reference leads to a schema that has an $id.
func (r *idRenamer) refers(base *url.URL, ref string) bool {
	path, _, _ := strings.Cut(ref, "#")
	to, err := base.Parse(path)
	return path != "" && err == nil && r.ids[documentOf(to)]
}

// document is a URI without its fragment, in a normal form, so that different spellings of a
// ClientURI are equal. Validators compare URIs in such a form (RFC 3986 §6.2.2).
type document struct{ scheme, host, path, query string }

func documentOf(u *url.URL) document {
	return document{u.Scheme, strings.ToLower(u.Host), cmp.Or(u.Opaque, u.Path), u.RawQuery}
}

// marked returns an $id or a reference with the mark inserted before its fragment.
func (r *idRenamer) marked(said string) string {
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
