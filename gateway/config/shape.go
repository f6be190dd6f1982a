package config

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"mcpd/gateway/auth"
	"mcpd/gateway/config/document"
	"mcpd/gateway/tenant"
)

// place is a key of the file that holds other keys and stands for a thing of its own, such as a
// server. enter begins such a thing and leave ends it.
type place struct {
	path    string
	label   string // the word for one of them, in messages
	names   string // pattern of the names; "" for any
	doc     string
	require []string // keys that are all required
	oneOf   []string // keys of which exactly one is required
	enter   func(l *loader, s scope, name document.Name) scope
	leave   func(l *loader, s scope, name document.Name)
}

// places are the things that a file can have several of.
var places = []place{
	{"tenants.*", "a tenant", tenant.NamePattern, "one tenant: its keys, limits and servers",
		nil, nil, enterTenant, nil},
	{"tenants.*.auth.keys[]", "a key", "", "one credential",
		[]string{"name", "sha256"}, nil, enterKey, leaveKey},
	{"tenants.*.servers.*", "a server", tenant.ServerPattern,
		"one server; its name may not be mcp, sse or t",
		nil, []string{"command", "url", "builtin"}, enterServer, leaveServer},
	{"mcpServers.*", "an entry of mcpServers", "",
		"one server of tenant default, in the format of other clients; its name is converted",
		nil, []string{"command", "url"}, enterImport, leaveImport},
	{"tenants.*.mcpServers.*", "an entry of mcpServers", "",
		"one server of the tenant, in the format of other clients; its name is converted",
		nil, []string{"command", "url"}, enterImport, leaveImport},
}

// readLast are the keys that depend on their neighbours. They are read after the other keys, in
// this order, whatever the order of the file.
var readLast = []string{"tenants", "servers", "mcpServers"}

// node is one level of the shape of a file. It has a key, or children, or one child for all names
// or items.
type node struct {
	name     string
	label    string // the owner of these keys, in messages
	key      *Key
	place    *place
	children []*node
	each     *node // for `*`
	item     *node // for `[]`
}

// shape is the table as a tree.
var shape = sync.OnceValue(func() *node {
	root := &node{label: "the top level"}
	keys := table()
	for i := range keys {
		n := root
		for step := range strings.SplitSeq(keys[i].Path, ".") {
			step, isList := strings.CutSuffix(step, "[]")
			n = n.child(step)
			if isList {
				if n.item == nil {
					n.item = &node{label: n.name}
				}
				n = n.item
			}
		}
		n.key = &keys[i]
	}
	for i := range places {
		n := root
		for step := range strings.SplitSeq(places[i].path, ".") {
			step, isList := strings.CutSuffix(step, "[]")
			if n = n.child(step); isList {
				n = n.item
			}
		}
		n.place, n.label = &places[i], places[i].label
	}
	return root
})

func (n *node) child(name string) *node {
	if name == "*" {
		if n.each == nil {
			n.each = &node{}
		}
		return n.each
	}
	if child := n.find(name); child != nil {
		return child
	}
	n.children = append(n.children, &node{name: name, label: name})
	return n.children[len(n.children)-1]
}

func (n *node) find(name string) *node {
	for _, child := range n.children {
		if child.name == name {
			return child
		}
	}
	return nil
}

func (n *node) names() []string {
	names := make([]string, len(n.children))
	for i, child := range n.children {
		names[i] = child.name
	}
	return names
}

func enterTenant(l *loader, s scope, name document.Name) scope {
	if !tenant.ValidName(name.Text) {
		l.Report(name.At, quoted("tenant", name.Text)+" cannot be part of a path",
			"a tenant's name has 1 to 63 characters of a-z, 0-9 and -", "rename it")
	}
	s.tenant = l.tenant(name.Text)
	return s
}

func enterKey(_ *loader, s scope, _ document.Name) scope {
	s.key = &auth.Key{}
	return s
}

func leaveKey(l *loader, s scope, name document.Name) {
	if s.key.Hash == (auth.Hash{}) || s.key.Name == "" {
		return // reported already
	}
	for _, other := range s.tenant.Keys {
		if other.Hash == s.key.Hash {
			l.Report(name.At, "this key of tenant "+s.tenant.Name+" is listed twice",
				"a key can stand for only one name", "remove one of the two")
		}
	}
	s.tenant.Keys = append(s.tenant.Keys, *s.key)
}

func enterServer(l *loader, s scope, name document.Name) scope {
	if !tenant.ValidServer(name.Text) {
		reason := "a server's name has 1 to 32 characters of a-z, 0-9 and -, and does not begin with -"
		if slices.Contains(tenant.Reserved, name.Text) {
			reason = "the name is reserved in paths"
		}
		l.Report(name.At, quoted("server", name.Text)+" cannot be part of a path", reason, "rename it")
	}
	s.server = l.defaults(s, name.Text)
	return s
}

func leaveServer(l *loader, s scope, name document.Name) {
	l.checkServer(s, name)
	l.add(s, name)
}

// quoted names a thing in a message.
func quoted(label, name string) string { return label + ` "` + document.Printable(name) + `"` }

// sortedKeys keeps messages independent of the order of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
