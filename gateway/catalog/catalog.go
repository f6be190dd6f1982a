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
	cut       [kindCount]map[string]origin // external names that cannot be split
	owners    map[string]string            // listed URI -> the server that keeps it
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
	c := &Catalog{Addresses: &Addresses{servers: map[string]bool{}, owners: map[string]string{}, matched: map[string]int{}}}
	for _, s := range servers {
		c.servers[s.Name] = true
	}
	for _, k := range Kinds() {
		var parts []Part
		taken := map[string]bool{}
		for _, s := range servers {
			if part := c.take(s, k, taken); len(part.Items) > 0 {
				parts = append(parts, part)
			}
		}
		c.lists[k] = NewList(k, parts)
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
		external, why := c.place(s.Name, k, name, taken)
		if why != "" {
			report(name, why)
		}
		if external == "" {
			continue
		}
		taken[external] = true
		if external != name {
			renamed, err := splice.Set(item, splice.Quote(external), kinds[k].key)
			if err != nil {
				report(name, err.Error())
				continue
			}
			item = renamed
			c.size += len(item)
		}
		out.Names, out.Items = append(out.Names, name), append(out.Items, item)
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
	case !ok || name == "":
		return "", "an item has no " + kinds[k].key
	case k <= Prompts && len(name) > MaxName || len(name) > MaxURI:
		return name[:64], "its " + kinds[k].key + " is too long"
	}
	return name, ""
}

// place finds the external name of an item and remembers the way back. "" means that it cannot be listed.
func (c *Catalog) place(server string, k Kind, name string, taken map[string]bool) (external, why string) {
	switch k {
	case Resources:
		if !strings.HasPrefix(name, scheme) && !taken[name] {
			c.owners[name] = server
			c.size += len(name)
			return name, ""
		}
		return Wrap(server, name), ""
	case Templates:
		return c.placeTemplate(server, name, taken)
	}
	external = External(server, name)
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

func (c *Catalog) placeTemplate(server, name string, taken map[string]bool) (external, why string) {
	external = name
	if strings.HasPrefix(name, scheme) || taken[name] {
		external = wrapTemplate(server, name)
	}
	if taken[external] {
		return "", "another of its items is listed under the same name"
	}
	t := routed{origin{server, name}, external, nil}
	if external == name { // a wrapped one is found by its server's name
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
