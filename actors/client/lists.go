package client

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// MaxPages bounds the pages of one list, so that a server whose cursor never ends cannot hold its connection for ever.
const MaxPages = 100

// needs is the capability under which a server has each list.
var needs = [Kinds]string{catalog.Tools: "tools", catalog.Prompts: "prompts", catalog.Resources: "resources", catalog.Templates: "resources"}

// offers reports whether the server has a list of this kind at all.
func (f Facts) offers(k catalog.Kind) bool { return f.Capabilities.Has(needs[k]) }

// fetch lists one kind, page by page.
func (c *Connection) fetch(k catalog.Kind) {
	c.fetching++
	c.busy[k], c.relist[k] = true, false
	c.page(k, nil, nil, 1)
}

// page asks for one page behind the items that are there. A list that cannot be had stays what it was, or, when it was never listed, is
// as long as it came: the server works without it.
func (c *Connection) page(k catalog.Kind, items []jsontext.Value, cursor jsontext.Value, n int) {
	var params jsontext.Value
	if cursor != nil {
		params, _ = splice.Set(nil, cursor, "cursor") // an empty value becomes an object
	}
	err := c.request(k.Method(), params, c.o.RequestTimeout, func(result jsontext.Value, e *jsonrpc.Error) error {
		if e != nil && c.listed {
			return c.fetched(k, c.lists[k])
		}
		list, _ := splice.Get(result, k.String())
		for item := range splice.Elements(list) {
			items = append(items, item)
		}
		if next, ok := splice.Get(result, "nextCursor"); ok && next.Kind() == '"' && n < MaxPages {
			c.page(k, items, next, n+1)
			return nil
		}
		return c.fetched(k, items)
	})
	if err != nil {
		_ = c.fetched(k, items)
	}
}

// fetched takes one whole list. One that was announced as changed meanwhile is fetched again.
func (c *Connection) fetched(k catalog.Kind, items []jsontext.Value) error {
	c.fetching--
	c.busy[k] = false
	if c.relist[k] {
		c.fetch(k)
		return nil
	}
	c.learn(k, items)
	if c.state == Ready {
		c.report()
		return nil
	}
	return c.maybeReady()
}

// learn takes note of a list, and of whether it is what the server listed last, be it in an earlier incarnation.
func (c *Connection) learn(k catalog.Kind, items []jsontext.Value) {
	if c.listed && catalog.Diff(k, c.lists[k], items).Any() {
		c.news = append(c.news, k)
	}
	c.lists[k] = items
}

// report tells the catalogue which lists are new.
func (c *Connection) report() {
	c.publish(nil, c.news)
	c.news = nil
}

// changed fetches a list again that the server says has changed. Clients hear of it when the new list is known.
func (c *Connection) changed(k catalog.Kind) {
	switch {
	case !c.facts.offers(k):
	case c.busy[k]:
		c.relist[k] = true
	default:
		c.fetch(k)
	}
}
