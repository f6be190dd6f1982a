package catalog

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// MaxName bounds a name in bytes.
const MaxName = 1 << 10

// MaxMatched bounds how many templates of a server are tried for a URI that is not listed.
// Trying so many takes 25 ms if all of them are made to be slow.
const MaxMatched = 100

// Server is one server with the items that it lists. A server that was never listed has no items,
// but its name is known.
type Server struct {
	Name  string
	Items [kindCount][]jsontext.Value // by Kind
	// Pending says that the server has not listed its resources yet and may still do so. Until then
	// no later server keeps a URI or a template unchanged, because this server might have the
	// same.
	Pending bool
	// Prepared, if not nil, caches the converted Items. No single item may be missing from a list
	// of Items, but a whole list may be nil.
	Prepared *Prepared
}

// Problem is an item that is missing from the merged list, or listed under another name.
type Problem struct {
	Server string
	Kind   Kind
	Item   string // name or URI, if it could be read
	Why    string
}

func (p Problem) String() string {
	return fmt.Sprintf("%s of server %s: %s %q", p.Kind, p.Server, p.Why, p.Item)
}

// Catalog merges the lists of many servers into one per kind. It is immutable and safe for
// concurrent use.
type Catalog struct {
	*Router
	lists    [kindCount]List
	problems []Problem
	// size is the number of bytes of items under other names, and of URIs.
	size int
}

// Router map names and URIs to servers. They do not keep the lists, because a call needs the
// addresses until it has its result, even if the lists are replaced in the meantime.
type Router struct {
	servers map[string]bool
	// order has the names of the servers in the order of the configuration.
	order []string
	// pending are the servers whose Server.Pending is true.
	pending []string
	// renamed maps external names that cannot be split to their origins.
	renamed [kindCount]map[string]origin
	// owners maps a listed URI to the server for which it is listed without a server's name.
	owners    map[string]string
	templates []routed
	// templateCount counts the templates to try, by server.
	templateCount map[string]int
}

// origin is the server of an item and the item's name there.
type origin struct{ server, name string }

type routed struct {
	origin
	external string
	*template
}

// New makes the catalog of servers in the order of the configuration. The order decides which
// server keeps a URI that two servers have.
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
	c := &Catalog{
		Router: &Router{
			servers: map[string]bool{}, owners: map[string]string{}, templateCount: map[string]int{},
		},
	}
	for _, s := range servers {
		c.servers[s.Name] = true
		c.order = append(c.order, s.Name)
	}
	return c
}

// Size returns how many bytes the catalog keeps in addition to the items that it was made from.
func (c *Catalog) Size() int { return c.size }

// List returns the merged list of a kind.
func (c *Catalog) List(k Kind) List { return c.lists[k] }

// Problems returns the items that were left out or renamed.
func (c *Catalog) Problems() []Problem { return c.problems }

// convert returns the items of one server for the merged list. taken are the external names so far.
func (c *Catalog) convert(s Server, k Kind, taken map[string]bool) Part {
	report := func(item, reason string) {
		c.problems = append(c.problems, Problem{s.Name, k, item, reason})
	}
	items := s.Items[k]
	if len(items) > MaxItems {
		report("", fmt.Sprintf("only the first %d of %d items are listed", MaxItems, len(items)))
		items = items[:MaxItems]
	}
	out := Part{Server: s.Name}
	own := map[string]bool{}
	external := c.namer(s.Name, k, items, taken)
	schemas := &schemaLibrary{}
	if k == Tools {
		schemas = newLibrary(items)
	}
	for _, item := range items {
		name, reason := nameOf(k, item)
		if reason != "" {
			report(name, reason)
			continue
		}
		if own[name] {
			report(name, "the server lists it twice")
			continue
		}
		own[name] = true
		external, reason := external(name)
		if reason != "" {
			report(name, reason)
		}
		if external == "" {
			continue
		}
		taken[external] = true
		shown, err := c.clientItem(s.Name, k, schemas.bundle(item), name, external)
		if err != nil {
			report(name, err.Error())
			continue
		}
		out.Names, out.Items = append(out.Names, name), append(out.Items, shown)
	}
	return out
}

// nameOf returns the name or URI of an item, or the reason why the item cannot be listed.
func nameOf(k Kind, item jsontext.Value) (name, reason string) {
	switch {
	case len(item) > MaxItem:
		return "", fmt.Sprintf("an item has %d bytes, at most %d are listed", len(item), MaxItem)
	case item.Kind() != '{' || !item.IsValid():
		return "", "an item is not an object, or has a member twice"
	}
	name, ok := jsonedit.GetString(item, kinds[k].key)
	switch {
	case !ok || name == "" && k > Prompts: // An empty URI is not accepted.
		return "", "an item has no " + kinds[k].key
	case k <= Prompts && len(name) > MaxName || len(name) > MaxURI:
		return name[:64], "its " + kinds[k].key + " is too long"
	}
	return name, ""
}

// clientItem returns an item as clients see it: under its external name, and with links to pages
// that lead back to its server.
func (c *Catalog) clientItem(server string, k Kind, item jsontext.Value,
	name, external string) (jsontext.Value, error) {
	changed := item
	if external != name {
		var err error
		if changed, err = jsonedit.Set(item, jsonedit.Quote(external), kinds[k].key); err != nil {
			return nil, err
		}
	}
	if k == Tools {
		changed = makeIDsUnique(changed, external)
		changed = uriRewriter{Router: c.Router, server: server}.withMeta(changed)
	}
	if len(changed) != len(item) || &changed[0] != &item[0] {
		c.size += len(changed)
	}
	return changed, nil
}

// namer returns the function that finds the external name of each item of one list of a server
// and records the way back. An empty external name means that the item cannot be listed.
func (c *Catalog) namer(server string, k Kind, items []jsontext.Value,
	taken map[string]bool) func(name string) (external, reason string) {
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
			if name, reason := nameOf(k, item); reason == "" {
				names[name] = true
			}
		}
		give = namesOfTools(server, names).external
	}
	return func(name string) (external, reason string) {
		external = give(name)
		if taken[external] {
			return "", "another of its items is listed under the same name"
		}
		if plain := server + separator + name; external != plain {
			if c.renamed[k] == nil {
				c.renamed[k] = map[string]origin{}
			}
			c.renamed[k][external] = origin{server, name}
		}
		return external, ""
	}
}

// keepsURI reports whether a URI or template of a server stays unchanged in the list of all
// servers.
func (c *Catalog) keepsURI(uri string, taken bool) bool {
	return !taken && len(c.pending) == 0 && !begins(uri, scheme) && !isPage(uri)
}

// placeResource finds the external URI of a resource. A page, and a URI that some
// clients cannot parse, are listed with their server's name. Their own URIs are understood as well.
func (c *Catalog) placeResource(server, uri string) string {
	_, taken := c.owners[uri]
	page := isPage(uri) && !begins(uri, wrappedPage) && !taken && len(c.pending) == 0
	if !c.keepsURI(uri, taken) && !page {
		return Wrap(server, uri)
	}
	c.owners[uri] = server
	c.size += len(uri)
	if page || !clientsParse(uri) {
		return Wrap(server, uri)
	}
	return uri
}

func (c *Catalog) placeTemplate(server, name string,
	taken map[string]bool) (external, reason string) {
	external = name
	if !c.keepsURI(name, taken[name]) {
		external = wrapTemplate(server, name)
	}
	if taken[external] {
		return "", "another of its items is listed under the same name"
	}
	t := routed{origin{server, name}, external, nil}
	// A template with its server's name needs no matching: the name leads to the server.
	if external == name || isPage(name) && !strings.HasPrefix(name, wrappedPage) &&
		len(c.pending) == 0 {
		var err error
		if t.template, err = compile(name); err != nil {
			reason = "its resources cannot be found, " + err.Error()
		} else if c.templateCount[server]++; c.templateCount[server] > MaxMatched {
			t.template, reason = nil, fmt.Sprintf(
				"its resources cannot be found, only %d templates of a server are tried", MaxMatched,
			)
		}
	}
	c.templates = append(c.templates, t)
	c.size += len(external)
	return external, reason
}
