package client

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonedit"
)

// mirroring is a transport that repeats arguments of tools in headers, where proxies can read them.
type mirroring interface {
	Mirror(lookup func(tool string) []headers.Mirror)
}

// mirrors returns the arguments of a tool that its schema wants repeated. The transport looks them
// up while this actor sends.
func (c *Connection) mirrors(tool string) []headers.Mirror {
	for _, item := range c.listing.lists[catalog.Tools] {
		if name, _ := jsonedit.GetString(item, "name"); name == tool {
			found, _ := mirrorsOf(item) // tools whose schemas are wrong here are not listed
			return found
		}
	}
	return nil
}

func mirrorsOf(tool jsontext.Value) ([]headers.Mirror, error) {
	schema, _ := jsonedit.Get(tool, "inputSchema")
	return headers.Mirrors(schema)
}

// usable returns a list without the tools of a modern server whose schemas want arguments repeated
// that cannot be: a client over HTTP must do without those (2026-07-28
// §basic/transports/streamable-http). An operator is told once of the same tools.
func (s *listStep) usable(k catalog.Kind, items []jsontext.Value) (good []jsontext.Value) {
	if k != catalog.Tools || s.facts.Version.Era() != protocol.Modern {
		return items
	}
	e := listEffect{do: leaveOut}
	var bad []string
	for _, item := range items {
		_, err := mirrorsOf(item)
		if err == nil {
			good = append(good, item)
			continue
		}
		name, _ := jsonedit.GetString(item, "name")
		if bad = append(bad, name); len(bad) == 1 {
			e.cut.First, e.cut.Reason = name, catalog.Reason(err.Error())
		}
	}
	if e.cut.Count = len(bad); len(bad) > 0 && !slices.Equal(bad, s.unusable) {
		s.do(e)
	}
	s.unusable = bad
	return good
}

// usablePage returns the result of a list request without the same tools, for a client that sees
// this server as it is. Nothing else is left out or shortened.
func (c *Connection) usablePage(method string, page jsontext.Value) jsontext.Value {
	if k, is := catalog.KindOfMethod(method); !is || k != catalog.Tools ||
		c.facts.Version.Era() != protocol.Modern {
		return page
	}
	return jsonedit.MapMembers(page, func(m jsonedit.Member) (jsontext.Value, bool) {
		if !m.Is(catalog.Tools.String()) {
			return m.Value, true
		}
		return jsonedit.MapElements(m.Value, func(item jsontext.Value) (jsontext.Value, bool) {
			_, err := mirrorsOf(item)
			return item, err == nil
		}), true
	})
}
