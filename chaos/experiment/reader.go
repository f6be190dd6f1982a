package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"mcpd/chaos/faults"
	"mcpd/gateway/config/document"
)

// Parse parses an experiment that uses the given kinds of faults. Its error is a document.Problems
// with every mistake of the file.
func Parse(file string, data []byte, kinds []faults.Kind) (Experiment, error) {
	r := &reader{
		Document: document.Document{
			File: file, What: "an experiment", WhyEmpty: "nothing would be broken",
			EmptyAdvice: "begin with `name:`; `mcpd chaos describe` shows those that there are",
		},
		kinds: kinds, where: map[string]document.Position{}, broken: map[string]bool{},
		with: map[string][]document.Pair{},
	}
	e := defaults(keys)
	if root := r.Parse(data); root != nil {
		mapping(r, &e, "", keys, root)
		r.check(&e)
	}
	if len(r.Problems) > 0 {
		return Experiment{}, r.Problems.Sorted()
	}
	return e, nil
}

// reader parses one file.
type reader struct {
	document.Document
	kinds []faults.Kind
	where map[string]document.Position // the position of the value at each path
	// broken are the paths of mappings whose keys have been reported already.
	broken map[string]bool
	// with maps the path of a fault to its parameters, which only its kind can read.
	with map[string][]document.Pair
}

// defaults returns a T in which every key has its default.
func defaults[T any](keys []key[T]) (t T) {
	for _, k := range keys {
		if k.kind.fill != nil {
			k.kind.fill(&t)
		}
		if k.def == "" {
			continue
		}
		if m := k.kind.set(&t, k.def); m != nil {
			panic("experiment: the default of " + k.name + " is refused: " + m.reason)
		}
	}
	return t
}

// mapping reads the keys of one level into t.
func mapping[T any](r *reader, t *T, path string, keys []key[T], y ast.Node) {
	r.where[path] = document.At(y)
	label := path
	if path == "" {
		label = "an experiment"
	}
	pairs, ok := r.Pairs(y, label)
	if r.broken[path] = !ok; len(pairs) > 0 {
		r.where[path] = pairs[0].Name.At
	}
	for _, pair := range pairs {
		i := slices.IndexFunc(keys, func(k key[T]) bool { return k.name == pair.Name.Text })
		if i < 0 {
			r.unknown(label, pair.Name, keyNames(keys))
			r.broken[path] = true
			continue
		}
		k, at := keys[i], join(path, pair.Name.Text)
		if r.where[at] = document.At(pair.Value); k.kind.read != nil {
			k.kind.read(r, t, at, pair.Value)
			continue
		}
		r.text(at, pair.Value, k.kind.form, func(text string) *mistake { return k.kind.set(t, text) })
	}
}

func keyNames[T any](keys []key[T]) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (r *reader) unknown(label string, name document.Name, names []string) {
	do := "it takes none"
	if len(names) > 0 {
		do = document.DidYouMean(name.Text, names, "the keys here are "+strings.Join(names, ", "))
	}
	r.Report(name.At, fmt.Sprintf("unknown key %q", document.Printable(name.Text)),
		label+" has no such key", do)
}

// text reads one text, number or boolean.
func (r *reader) text(path string, y ast.Node, want form, set func(text string) *mistake) {
	raw, isText, ok := document.Text(y)
	shown := document.Printable(raw)
	switch {
	case !ok:
		r.Report(document.At(y), path+" is "+document.Kind(y), "it must be one value",
			"write the value after the key")
	case !isText && want == quoted:
		r.Report(document.At(y), fmt.Sprintf("%s is the number or boolean %s", path, shown),
			"a text was expected", fmt.Sprintf("write %q", shown))
	case isText && want == plain:
		r.Report(document.At(y), fmt.Sprintf("%s is the text %q", path, shown), "a number was expected",
			"write it without quotes or unit")
	default:
		if m := set(raw); m != nil {
			r.Report(document.At(y), fmt.Sprintf("%s is %q", path, shown), m.reason, m.do)
		}
	}
}

// items returns the items of a list.
func (r *reader) items(y ast.Node, path string) []ast.Node {
	switch y := y.(type) {
	case *ast.NullNode:
		return nil
	case *ast.SequenceNode:
		return y.Values
	}
	r.Report(document.At(y), path+" is "+document.Kind(y), "it must be a list",
		"write [a, b], or each item on its own line after -")
	return nil
}

// position returns the position of a key, or of the nearest enclosing mapping if the file does not
// have the key.
func (r *reader) position(path string) document.Position {
	for {
		if p, ok := r.where[path]; ok {
			return p
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// has reports whether the file has a key.
func (r *reader) has(path string) bool { _, ok := r.where[path]; return ok }

// lacks reports whether the mapping at path is valid but lacks a required key.
func (r *reader) lacks(path, key string) bool { return !r.broken[path] && !r.has(join(path, key)) }
