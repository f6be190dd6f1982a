package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"mcpd/gateway/config/document"
	"mcpd/gateway/tenant"
)

// Load reads a configuration. Its error is of type Problems and has every mistake of the file.
func Load(data []byte, o Options) (*Config, error) {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	l := &loader{
		Document: document.Document{
			File: o.File, What: "a configuration",
			WhyEmpty:    "nothing would be served",
			EmptyAdvice: "begin with `tenants:`, or run without a file for a demonstration",
		},
		options: o, config: &Config{}, where: map[string]document.Position{},
		origin: map[string]document.Position{}, broken: map[string]bool{},
	}
	root := scope{config: l.config}
	l.fill(root, "")
	if n := l.Parse(data); n != nil {
		l.walk(shape(), n, root)
	}
	l.override(root)
	for _, check := range checks {
		check(l)
	}
	if len(l.Problems) > 0 {
		return nil, l.Problems.Sorted()
	}
	for _, check := range warningChecks {
		check(l)
	}
	l.config.Warnings = l.warnings.Sorted()
	for _, t := range l.tenants {
		l.config.Tenants = append(l.config.Tenants, *t)
	}
	return l.config, nil
}

// loader is one reading of one file.
type loader struct {
	document.Document
	options Options
	config  *Config
	tenants []*Tenant
	// where maps a concrete path to the position of its value.
	where map[string]document.Position
	// origin maps tenant and server to the position of the entry that declared it.
	origin map[string]document.Position
	// broken has the concrete paths whose keys have been reported sufficiently.
	broken map[string]bool

	// literals are texts with variables in the syntax of other programs.
	literals []literal
	warnings document.Problems
}

// reporter returns a function that reports a problem with the value of a key at its source: in the
// file, or in a setting outside of the file.
func (l *loader) reporter(key string) func(label, reason, do string) {
	for _, set := range l.options.Set {
		if set.Key == key {
			return func(label, reason, do string) {
				l.Problems = append(l.Problems, document.Problem{
					File: set.From, What: label, Why: reason, Do: do,
				})
			}
		}
	}
	where := l.find(strings.Split(key, ".")...)
	return func(label, reason, do string) { l.Report(where, label, reason, do) }
}

// walk reads one level of the file into the fields of s.
func (l *loader) walk(n *node, y ast.Node, s scope) {
	if _, known := l.where[s.path]; !known {
		l.where[s.path] = document.At(y)
	}
	switch {
	case n.key != nil:
		l.leaf(n.key, y, s)
	case n.item != nil:
		l.list(n, y, s)
	default:
		l.keys(n, y, s)
	}
}

// entry is one key of a mapping.
type entry struct {
	name document.Name
	node *node
	y    ast.Node
	as   string // the key as written
}

func (l *loader) keys(n *node, y ast.Node, s scope) {
	pairs, ok := l.Pairs(y, n.label)
	if !ok {
		l.broken[s.path] = true
		return
	}
	var entries []entry
	alone := imports(n, pairs)
	for _, pair := range pairs {
		child := n.each
		if child == nil {
			child = n.find(pair.Name.Text)
		}
		if child == nil {
			child = l.renamed(n, pair.Name)
		}
		if child == nil {
			other, known := l.foreignKey(n, pair.Name, alone)
			if child = other; !known {
				l.unknown(n, pair.Name)
				l.broken[s.path] = true
			}
		}
		if child == nil {
			continue
		}
		before := slices.IndexFunc(entries, func(e entry) bool {
			return n.each == nil && e.node.name == child.name
		})
		if before >= 0 {
			other := pair.Name.Text
			if other == child.name {
				other = entries[before].as
			}
			l.Report(pair.Name.At, fmt.Sprintf("%s appears twice", child.name),
				document.Printable(other)+" is another name of it", "keep one")
			continue
		}
		as := pair.Name.Text
		if n.each == nil {
			pair.Name.Text = child.name
		}
		entries = append(entries, entry{pair.Name, child, pair.Value, as})
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return slices.Index(readLast, a.node.name) - slices.Index(readLast, b.node.name)
	})
	for _, e := range entries {
		l.enter(e.node, e.y, s, e.name)
	}
}

// enter reads the value of one name or item, which may begin a thing of its own.
func (l *loader) enter(n *node, y ast.Node, s scope, name document.Name) {
	s.path = join(s.path, name.Text)
	if n.place == nil {
		l.walk(n, y, s)
		return
	}
	l.where[s.path] = name.At
	s = n.place.enter(l, s, name)
	if n.place.foreign() && l.disabled(y, name) {
		return
	}
	l.walk(n, y, s)
	l.required(n.place, s, name)
	if n.place.leave != nil {
		n.place.leave(l, s, name)
	}
}

func (l *loader) list(n *node, y ast.Node, s scope) {
	switch y := y.(type) {
	case *ast.NullNode:
	case *ast.SequenceNode:
		for i, item := range y.Values {
			l.enter(n.item, item, s, document.Name{Text: fmt.Sprint(i), At: document.At(item)})
		}
	default:
		l.Report(document.At(y), n.name+" is "+document.Kind(y), "it must be a list",
			"begin each item with -")
	}
}

func (l *loader) unknown(n *node, name document.Name) {
	do := document.DidYouMean(name.Text, n.names(), "the keys here are "+strings.Join(n.names(), ", "))
	l.Report(name.At, fmt.Sprintf("unknown key %q", document.Printable(name.Text)),
		n.label+" has no such key", do)
}

func (l *loader) leaf(k *Key, y ast.Node, s scope) {
	dst, name := k.at(s), last(k.Path)
	switch k.Type.form {
	case scalar:
		l.put(k, dst, document.Name{At: document.At(y)}, name, y, s)
	case list:
		reset(dst)
		items, ok := y.(*ast.SequenceNode)
		if !ok && k.Type.single {
			l.put(k, dst, document.Name{At: document.At(y)}, name, y, s)
			return
		}
		if ok && k.Type.single && len(items.Values) == 0 {
			l.Report(document.At(y), name+" is an empty list", "nothing would be served", "name an address")
			return
		}
		if !ok {
			l.Report(document.At(y), name+" is "+document.Kind(y), "it must be a list",
				"write [a, b], or each item on its own line after -")
			return
		}
		for i, item := range items.Values {
			l.put(k, dst, document.Name{At: document.At(item)}, fmt.Sprintf("%s[%d]", name, i), item, s)
		}
	case dict:
		pairs, _ := l.Pairs(y, name)
		for _, pair := range pairs {
			label := name + "." + document.Printable(k.named(pair.Name.Text))
			l.put(k, dst, pair.Name, label, pair.Value, s)
		}
	}
}

// named returns the name of an entry of a dict in messages. It cuts the name where a secret value
// may have been written into it.
func (k *Key) named(name string) string {
	if k.Type.secret {
		name, _, _ = strings.Cut(name, "=")
		name, _, _ = strings.Cut(name, ":")
	}
	return name
}

// reset removes the default of a list.
func reset(dst any) { reflect.ValueOf(dst).Elem().SetZero() }

// put stores one text. label names it in messages.
func (l *loader) put(k *Key, dst any, name document.Name, label string, y ast.Node, s scope) {
	raw, quoted, ok := document.Text(y)
	switch {
	case !ok:
		l.Report(document.At(y), label+" is "+document.Kind(y), "it must be one value",
			"write the value after the key")
		return
	case !quoted && !k.Type.acceptsScalars && k.Type.secret:
		l.Report(document.At(y), label+" is a number or boolean", "a text was expected",
			"put quotes around it")
		return
	case !quoted && !k.Type.acceptsScalars:
		l.Report(document.At(y), fmt.Sprintf("%s is the number or boolean %s", label,
			document.Printable(raw)), "a text was expected", fmt.Sprintf("write %q",
			document.Printable(raw)))
		return
	case quoted && k.Type.number:
		l.Report(document.At(y), fmt.Sprintf("%s is the text %q", label, document.Printable(raw)),
			"a number was expected", "write it without quotes or unit")
		return
	}
	if m, shown := l.store(k, dst, name.Text, raw, s); m != nil {
		what := label + " is refused"
		if !k.Type.secret {
			what = fmt.Sprintf("%s is %q", label, document.Printable(shown))
		}
		l.Report(document.At(y), what, m.reason, m.do)
		return
	}
	l.noteLiteral(k, label, raw, document.At(y), s)
}

// store expands variables and stores one text.
func (l *loader) store(k *Key, dst any, name, raw string, s scope) (m *mistake, shown string) {
	v := value{name: name, text: raw, shown: raw}
	if strings.IndexByte(raw, 0) >= 0 {
		return &mistake{"it contains a NUL character", "remove it"}, raw
	}
	if k.Type.expandsVariables {
		d := native
		if s.kind != nil {
			d = foreign
		}
		if v.text, v.shown, v.vars, m = expand(raw, d, l.options.Env); m != nil {
			return m, raw
		}
		if strings.IndexByte(v.text, 0) >= 0 {
			return &mistake{"a variable contains a NUL character", "check the environment"}, v.shown
		}
	}
	return k.Type.put(dst, v), v.shown
}

// fill stores the defaults of the keys directly below the place with that pattern.
func (l *loader) fill(s scope, pattern string) {
	for i := range table() {
		k := &table()[i]
		rest, ok := strings.CutPrefix(k.Path, pattern)
		if !ok || k.Default == "" || strings.ContainsAny(rest, "*[") {
			continue
		}
		if m, _ := l.store(k, k.at(s), "", k.Default, s); m != nil {
			panic("config: the default of " + k.Path + " is refused: " + m.reason)
		}
	}
}

// override stores the settings from outside the file.
func (l *loader) override(s scope) {
	for _, set := range l.options.Set {
		i := slices.IndexFunc(hostKeys, func(k Key) bool { return k.Path == set.Key })
		if i < 0 || hostKeys[i].Type.form != scalar && !hostKeys[i].Type.single {
			panic("config: " + set.Key + " cannot be set from outside the file")
		}
		dst := hostKeys[i].at(s)
		if hostKeys[i].Type.form == list {
			reset(dst)
		}
		if m, _ := l.store(&hostKeys[i], dst, "", set.Value, s); m != nil {
			l.Problems = append(l.Problems, document.Problem{
				File: set.From, What: fmt.Sprintf("%s is %q", set.Key, document.Printable(set.Value)),
				Why: m.reason, Do: m.do,
			})
		}
	}
}

// tenant returns the tenant of that name. It adds the tenant if there is none.
func (l *loader) tenant(name string) *Tenant {
	for _, t := range l.tenants {
		if t.Name == name {
			return t
		}
	}
	t := &Tenant{
		Tenant: tenant.Tenant{
			Name: name, Limits: l.config.Limits, Negotiation: l.config.Negotiation,
			NegotiationRules: l.config.NegotiationRules,
		},
	}
	l.tenants = append(l.tenants, t)
	return t
}

// defaults returns a new server with default values.
func (l *loader) defaults(s scope, name string) *tenant.Server {
	s.server = &tenant.Server{Name: name, StartTimeout: s.tenant.Limits.StartTimeout,
		IdleStop:    s.tenant.Limits.IdleStop,
		IdleRelease: s.tenant.Limits.IdleRelease}
	l.fill(s, "tenants.*.servers.*.")
	return s.server
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	// Names have no NUL where it matters, and many have a dot.
	return path + "\x00" + name
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
