package catalog

import (
	"cmp"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// PageSize is how many items a client gets at once. It is far above what most servers have, because
// many clients never ask for a second page.
const PageSize = 1000

// List is one list of many servers. It is never changed after it was made.
type List struct {
	kind  Kind
	parts []Part // as their servers are configured
	size  int    // items
}

// Part is what one server has in a list: items as clients see them, and the names by which the
// server knows them.
type Part struct {
	Server string
	Names  []string
	Items  []jsontext.Value
}

// NewList makes a list of parts, which are kept and not copied. No server has two.
func NewList(k Kind, parts []Part) List {
	l := List{kind: k, parts: parts}
	for _, p := range parts {
		l.size += len(p.Items)
	}
	return l
}

// Parts are what each server has in the list, as they are configured.
func (l List) Parts() []Part { return l.parts }

// Items returns the items, in order.
func (l List) Items() []jsontext.Value {
	items := make([]jsontext.Value, 0, l.size)
	for _, p := range l.parts {
		items = append(items, p.Items...)
	}
	return items
}

// Page returns the result of a list request, with each item as show says, which is nil for one that
// is left out. Cursor is that of the request, "" for none, and scope is who may use the cursors:
// any other cursor gets an error of the condition state_invalid, which is -32602.
//
// A list that fits in one page is in the order of its servers. Pages of a longer one go through it
// by the names of servers and of items, and a cursor is such a name. So a list may change between
// two pages: no item comes twice, and one that is there all the while comes once.
func (l List) Page(
	scope, cursor string,
	show func(server string, item jsontext.Value) jsontext.Value,
) (jsontext.Value, error) {
	if cursor == "" && l.size <= PageSize {
		out := l.begin(l.size)
		for _, p := range l.parts {
			for _, item := range p.Items {
				out.add(show(p.Server, item))
			}
		}
		return out.end(""), nil
	}
	var after position
	if cursor != "" {
		var ok bool
		if after, ok = l.open(scope, cursor); !ok {
			return nil, protocol.StateInvalid("cursor")
		}
	}
	out, last := l.begin(PageSize), position{}
	for at, item := range l.behind(after) {
		if out.items == PageSize {
			return out.end(l.seal(scope, last)), nil
		}
		out.add(show(at.server, item))
		last = at
	}
	return out.end(""), nil
}

// behind goes through the items behind a position, by name. It looks at no part before it, and
// sorts no part that it does not come to.
func (l List) behind(after position) iter.Seq2[position, jsontext.Value] {
	return func(yield func(position, jsontext.Value) bool) {
		parts := make([]*Part, 0, len(l.parts))
		for i := range l.parts {
			if l.parts[i].Server >= after.server {
				parts = append(parts, &l.parts[i])
			}
		}
		slices.SortFunc(parts, func(a, b *Part) int { return cmp.Compare(a.Server, b.Server) })
		for _, p := range parts {
			for _, i := range p.behind(after) {
				if !yield(position{p.Server, p.Names[i]}, p.Items[i]) {
					return
				}
			}
		}
	}
}

// behind are the places of a part's items behind a position, by name.
func (p *Part) behind(after position) []int {
	places := make([]int, 0, len(p.Names))
	for i, name := range p.Names {
		if p.Server != after.server || name > after.name {
			places = append(places, i)
		}
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Compare(p.Names[a], p.Names[b]) })
	return places
}

// page is a result that is being written.
type page struct {
	out   []byte
	items int
}

func (l List) begin(items int) *page {
	const typical = 512 // bytes of an item
	out := make([]byte, 0, 64+min(items, l.size)*typical)
	return &page{out: append(append(append(out, `{"`...), kinds[l.kind].member...), `":[`...)}
}

func (p *page) add(item jsontext.Value) {
	if item == nil {
		return
	}
	if p.items++; p.items > 1 {
		p.out = append(p.out, ',')
	}
	p.out = append(p.out, item...)
}

func (p *page) end(next string) jsontext.Value {
	p.out = append(p.out, ']')
	if next != "" {
		p.out = append(append(append(p.out, `,"nextCursor":"`...), next...), '"')
	}
	return append(p.out, '}')
}
