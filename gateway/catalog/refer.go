package catalog

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// schemaNames holds the names in one schema, and the references to them. A validator fails the
// whole list of tools if a name occurs twice, a reference leads nowhere, or references form a
// cycle.
type schemaNames struct {
	// documents are the parts that have an $id, and the schema itself.
	documents map[document]jsontext.Value
	// names maps anchors to places. The path of an anchor is "#" and its name.
	names map[place]place
	// within maps places in documents to the documents that stand there.
	within map[place]place
	refs   []referral
	root   document
}

// place is a part of a document: the names on the path to it, each after a NUL.
type place struct {
	of   document
	path string
}

// referral is one $ref.
type referral struct {
	from, to place
	// pointer is the path of to.
	pointer []string
}

func pathOf(names []string) (path string) {
	for _, name := range names {
		path += "\x00" + name
	}
	return path
}

// maxDocuments bounds the number of $ids in one schema.
const maxDocuments = 100

// goodID is the form of an $id that all validators read alike: ASCII without escapes, or an
// anchor.
var goodID = regexp.MustCompile(`^([A-Za-z0-9._~:/?&=@+,;!$*'()-]+#?|#[A-Za-z_][-A-Za-z0-9._]*)$`)

// enter records the $id of a schema, and returns the location of the schema's parts.
func (r *schemaNames) enter(schema jsontext.Value, at location) (location, bool) {
	if r.documents == nil {
		r.documents, r.names, r.within = map[document]jsontext.Value{}, map[place]place{},
			map[place]place{}
		r.documents[at.of] = schema
	}
	id, ok := jsonedit.GetString(schema, "$id")
	if !ok {
		return at, true
	}
	if !goodID.MatchString(id) {
		return at, false
	}
	if anchor, is := strings.CutPrefix(id, "#"); is {
		return at, at.deep > 0 && r.name(at, anchor)
	}
	to, err := at.base.Parse(strings.TrimSuffix(id, "#"))
	if err != nil || at.base.Opaque != "" && to.Opaque == "" || badPort(to) {
		return at, false
	}
	of := documentOf(to)
	if _, twice := r.documents[of]; twice || len(r.documents) == maxDocuments {
		return at, false
	}
	if _, refers := jsonedit.Get(schema, "$ref"); refers && at.deep > 0 {
		// Validators would look for the $ref in another document.
		return at, false
	}
	if at.deep == 0 {
		r.root = of
	}
	r.documents[of] = schema
	r.within[place{at.of, pathOf(at.path)}] = place{of: of}
	return location{base: to, of: of, deep: at.deep}, true
}

func badPort(u *url.URL) bool {
	port := u.Port()
	n, err := strconv.Atoi(port)
	return port != "" && (err != nil || n > 65535)
}

// name records an anchor. It reports whether the anchor is the first of that name.
func (r *schemaNames) name(at location, anchor string) bool {
	named := place{at.of, "#" + anchor}
	if _, twice := r.names[named]; twice {
		return false
	}
	r.names[named] = place{at.of, pathOf(at.path)}
	return true
}

// metaSchema is known to every validator.
const metaSchema = "http://json-schema.org/draft-07/schema"

// refer records a reference.
func (r *schemaNames) refer(at location, ref string) bool {
	path, fragment, _ := strings.Cut(ref, "#")
	to := referral{from: place{at.of, pathOf(at.path)}, to: place{of: at.of}}
	if path != "" {
		u, err := at.base.Parse(path)
		if err != nil || badPort(u) {
			return false
		}
		to.to.of = documentOf(u)
		if _, own := r.documents[to.to.of]; !own && path == metaSchema && fragment == "" {
			return true
		}
	}
	switch {
	case fragment == "":
	case fragment[0] == '/':
		for _, name := range strings.Split(unescaped.Replace(fragment[1:]), "/") {
			to.pointer = append(to.pointer, name)
			to.to.path += "\x00" + part.Replace(name)
		}
	default:
		to.to.path = "#" + fragment
	}
	r.refs = append(r.refs, to)
	return true
}

// referencesResolve reports whether each reference leads to a part of the schema, and no references
// form a cycle.
func (r *schemaNames) referencesResolve() bool {
	pointers := map[document][][]string{}
	next := map[place]place{}
	for _, ref := range r.refs {
		if _, ok := r.documents[ref.to.of]; !ok {
			return false
		}
		if strings.HasPrefix(ref.to.path, "#") {
			named, ok := r.names[ref.to]
			if !ok {
				return false
			}
			ref.to = named
		} else if ref.pointer != nil {
			pointers[ref.to.of] = append(pointers[ref.to.of], ref.pointer)
		}
		to, ok := r.inner(ref.to)
		if !ok {
			return false
		}
		// A reference from the root document to itself is recursion, which validators support.
		if ref.to.path != "" || ref.to.of != r.root || ref.from.of != r.root {
			next[ref.from] = to
		}
	}
	for of, paths := range pointers {
		if !pathsExist(r.documents[of], paths) {
			return false
		}
	}
	return !hasCycle(next)
}

// inner returns a place as a place of the innermost document. Ok is false if the path to it leads
// through another document.
func (r *schemaNames) inner(at place) (to place, ok bool) {
	for outer, document := range r.within {
		switch {
		case outer == at:
			return document, true
		case outer.of == at.of && strings.HasPrefix(at.path, outer.path+"\x00") &&
			outer.of != document.of && outer.path != "":
			return at, false
		}
	}
	return at, true
}

// hasCycle reports whether any place leads back to itself.
func hasCycle(next map[place]place) bool {
	const open, done = 1, 2
	state := map[place]int{}
	for from := range next {
		var way []place
		for at, ok := from, true; ok && state[at] != done; at, ok = next[at] {
			if state[at] == open {
				return true
			}
			state[at] = open
			way = append(way, at)
		}
		for _, at := range way {
			state[at] = done
		}
	}
	return false
}

// unescaped decodes the URI escapes that occur in JSON pointers of references. The escapes of
// the pointer itself are decoded by part.
var unescaped = strings.NewReplacer("%25", "%", "%24", "$", "%3C", "<", "%3E", ">", "%20", " ",
	"%5B", "[", "%5D", "]")

// part decodes one part of a JSON pointer (RFC 6901 §4).
var part = strings.NewReplacer("~1", "/", "~0", "~")

// pathsExist reports whether each path leads to a part of a value. It walks over the value once for
// all paths, because a schema may have thousands of references.
func pathsExist(raw jsontext.Value, paths [][]string) bool {
	// by has the remaining paths by their first part.
	by := map[string][][]string{}
	for _, path := range paths {
		if len(path) > 0 {
			first := part.Replace(path[0])
			by[first] = append(by[first], path[1:])
		}
	}
	if len(by) == 0 {
		return true
	}
	step := func(name string, value jsontext.Value) bool {
		rest, wanted := by[name]
		delete(by, name)
		return !wanted || pathsExist(value, rest)
	}
	switch raw.Kind() {
	case '{':
		for m := range jsonedit.Members(raw) {
			if !step(m.Key(), m.Value) {
				return false
			}
		}
	case '[':
		i := 0
		for element := range jsonedit.Elements(raw) {
			if !step(strconv.Itoa(i), element) {
				return false
			}
			i++
		}
	}
	return len(by) == 0
}
