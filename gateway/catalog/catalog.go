package catalog

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// MaxName bounds the bytes of a name.
const MaxName = 1 << 10

// MaxMatched is how many templates of a server are tried for a URI that is not listed: 25 ms, were they all made to be slow.
const MaxMatched = 100

// Server is what one server offers, as it said it. A server that was never listed has no items, but its name is known.
type Server struct {
	Name  string
	Items [kindCount][]jsontext.Value // by Kind
	// Pending says that the server has not listed its resources yet and may still do so. Until then
	// no server behind it keeps a URI or a template as it is, because it might have the same.
	Pending bool
	// Prepared, if any, is kept beside Items, of which none is left out here.
	Prepared *Prepared
}

// Problem is an item that is not in the one list, or not under its own name.
type Problem struct {
	Server string
	Kind   Kind
	Item   string // what names it, where it could be read
	Why    string
}

func (p Problem) String() string {
	return fmt.Sprintf("%s of server %s: %s %q", p.Kind, p.Server, p.Why, p.Item)
}

// Catalog is many servers as one. It is never changed after it was made, and safe for concurrent use.
type Catalog struct {
	*Addresses
	lists    [kindCount]List
	problems []Problem
	size     int // bytes of items under other names, and of URIs
}

// Addresses say which server a name or URI is of. They do not keep the lists: a call needs them until
// it has its result, whatever becomes of the lists meanwhile.
type Addresses struct {
	servers   map[string]bool
	order     []string                     // of the servers
	pending   []string                     // those of which Server.Pending is true
	cut       [kindCount]map[string]origin // external names that cannot be split
	owners    map[string]string            // listed URI -> the server that it is of without a server's name in it
	templates []routed
	matched   map[string]int // templates to try, by server
}

// origin is where an item comes from.
type origin struct{ server, name string }

type routed struct {
	origin
	external string
	*template
}

// New makes the catalog of servers in the order of the configuration, which decides who keeps a URI that two have.
func New(servers []Server) *Catalog {
	c := newCatalog(servers)
	for _, k := range Kinds() {
		var parts []Part
		taken := map[string]bool{}
		c.pending = nil
		for _, s := range servers {
			if part := c.part(s, k, taken); len(part.Items) > 0 {
				parts = append(parts, part)
			}
			if s.Pending {
				c.pending = append(c.pending, s.Name)
			}
		}
		c.lists[k] = NewList(k, parts)
	}
	return c
}

// newCatalog makes a catalog without lists.
func newCatalog(servers []Server) *Catalog {
	c := &Catalog{Addresses: &Addresses{servers: map[string]bool{}, owners: map[string]string{}, matched: map[string]int{}}}
	for _, s := range servers {
		c.servers[s.Name] = true
		c.order = append(c.order, s.Name)
	}
	return c
}

// Size is how many bytes the catalog keeps beside what it was made of.
func (c *Catalog) Size() int { return c.size }

// List returns the one list of a kind.
func (c *Catalog) List(k Kind) List { return c.lists[k] }

// Problems returns what was left out of the lists.
func (c *Catalog) Problems() []Problem { return c.problems }

// take returns the items of one server for the one list. taken are the external names so far.
func (c *Catalog) take(s Server, k Kind, taken map[string]bool) Part {
	report := func(item, why string) { c.problems = append(c.problems, Problem{s.Name, k, item, why}) }
	items := s.Items[k]
	if len(items) > MaxItems {
		report("", fmt.Sprintf("only the first %d of %d items are listed", MaxItems, len(items)))
		items = items[:MaxItems]
	}
	out := Part{Server: s.Name}
	own := map[string]bool{}
	external := c.namer(s.Name, k, items, taken)
	schemas := &library{}
	if k == Tools {
		schemas = newLibrary(items)
	}
	for _, item := range items {
		name, why := nameOf(k, item)
		if why != "" {
			report(name, why)
			continue
		}
		if own[name] {
			report(name, "the server lists it twice")
			continue
		}
		own[name] = true
		external, why := external(name)
		if why != "" {
			report(name, why)
		}
		if external == "" {
			continue
		}
		taken[external] = true
		shown, err := c.shown(s.Name, k, schemas.bundle(item), name, external)
		if err != nil {
			report(name, err.Error())
			continue
		}
		out.Names, out.Items = append(out.Names, name), append(out.Items, shown)
	}
	return out
}

// nameOf returns what names an item, or why it cannot be listed.
func nameOf(k Kind, item jsontext.Value) (name, why string) {
	switch {
	case len(item) > MaxItem:
		return "", fmt.Sprintf("an item has %d bytes, at most %d are listed", len(item), MaxItem)
	case item.Kind() != '{' || !item.IsValid():
		return "", "an item is no object, or has a member twice"
	}
	name, ok := splice.GetString(item, kinds[k].key)
	switch {
	case !ok || name == "" && k > Prompts: // an empty URI is none
		return "", "an item has no " + kinds[k].key
	case k <= Prompts && len(name) > MaxName || len(name) > MaxURI:
		return name[:64], "its " + kinds[k].key + " is too long"
	}
	return name, ""
}

// shown is an item as clients see it: under its external name, and with links to pages that lead back
// to its server.
func (c *Catalog) shown(server string, k Kind, item jsontext.Value, name, external string) (jsontext.Value, error) {
	changed := item
	if external != name {
		var err error
		if changed, err = splice.Set(item, splice.Quote(external), kinds[k].key); err != nil {
			return nil, err
		}
	}
	if k == Tools {
		changed = identify(changed, external)
		changed = outward{Addresses: c.Addresses, server: server}.withMeta(changed)
	}
	if len(changed) != len(item) || &changed[0] != &item[0] {
		c.size += len(changed)
	}
	return changed, nil
}

// namer returns the function that finds the external name of each item of one list of a server and
// remembers the way back. "" means that the item cannot be listed.
func (c *Catalog) namer(server string, k Kind, items []jsontext.Value, taken map[string]bool) func(name string) (external, why string) {
	switch k {
	case Resources:
		return func(name string) (string, string) { return c.placeResource(server, name), "" }
	case Templates:
		return func(name string) (string, string) { return c.placeTemplate(server, name, taken) }
	}
	give := func(name string) string { return External(server, name) }
	if k == Tools {
		names := map[string]bool{}
		for _, item := range items {
			if name, why := nameOf(k, item); why == "" {
				names[name] = true
			}
		}
		give = namesOfTools(server, names).external
	}
	return func(name string) (external, why string) {
		external = give(name)
		if taken[external] {
			return "", "another of its items is listed under the same name"
		}
		if plain := server + separator + name; external != plain {
			if c.cut[k] == nil {
				c.cut[k] = map[string]origin{}
			}
			c.cut[k][external] = origin{server, name}
		}
		return external, ""
	}
}

// own reports whether a URI or template of a server stays as it is for the list of all servers.
func (c *Catalog) own(uri string, taken bool) bool {
	return !taken && len(c.pending) == 0 && !begins(uri, scheme) && !isPage(uri)
}

// placeResource finds the external URI of a resource. A page, and a URI that some clients cannot parse,
// are listed with their server's name, and their own URIs are understood as well.
func (c *Catalog) placeResource(server, uri string) string {
	_, taken := c.owners[uri]
	page := isPage(uri) && !begins(uri, paged) && !taken && len(c.pending) == 0
	if !c.own(uri, taken) && !page {
		return Wrap(server, uri)
	}
	c.owners[uri] = server
	c.size += len(uri)
	if page || !parses(uri) {
		return Wrap(server, uri)
	}
	return uri
}

func (c *Catalog) placeTemplate(server, name string, taken map[string]bool) (external, why string) {
	external = name
	if !c.own(name, taken[name]) {
		external = wrapTemplate(server, name)
	}
	if taken[external] {
		return "", "another of its items is listed under the same name"
	}
	t := routed{origin{server, name}, external, nil}
	if external == name || isPage(name) && !strings.HasPrefix(name, paged) && len(c.pending) == 0 { // another is found by its server's name
		var err error
		if t.template, err = compile(name); err != nil {
			why = "its resources cannot be found, " + err.Error()
		} else if c.matched[server]++; c.matched[server] > MaxMatched {
			t.template, why = nil, fmt.Sprintf("its resources cannot be found, only %d templates of a server are tried", MaxMatched)
		}
	}
	c.templates = append(c.templates, t)
	c.size += len(external)
	return external, why
}
