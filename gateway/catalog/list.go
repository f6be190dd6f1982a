package catalog

import (
	"cmp"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// PageSize is the number of items on a page. It is far above the number that most servers have,
// because many clients never request a second page.
const PageSize = 1000

// List is one list of many servers. It is immutable.
type List struct {
	kind  Kind
	parts []Part // in the order of the configuration
	size  int    // number of items
}

// Part holds one server's items of a list: the items as clients see them, and the names by which
// the server knows them.
type Part struct {
	Server string
	Names  []string
	Items  []jsontext.Value
}

// NewList makes a list of parts. It keeps the parts and does not copy them. Each server has at
// most one part.
func NewList(k Kind, parts []Part) List {
	l := List{kind: k, parts: parts}
	for _, p := range parts {
		l.size += len(p.Items)
	}
	return l
}

// Parts returns the parts of the list in the order of the configuration.
func (l List) Parts() []Part { return l.parts }

// Items returns the items in order.
func (l List) Items() []jsontext.Value {
	items := make([]jsontext.Value, 0, l.size)
	for _, p := range l.parts {
		items = append(items, p.Items...)
	}
	return items
}

// Page returns the result of a list request. Show converts each item, and returns nil for an item
// that is left out. Cursor is the cursor of the request, "" for none. Scope identifies who may
// use the cursors. Any other cursor leads to an error of the condition state_invalid, which is
// -32602.
//
// A list that fits in one page is in the order of its servers. The pages of a longer list are in
// the order of the names of servers and of items, and a cursor contains such a name. So the list
// may change between two pages: no item comes twice, and an item that is present all the time
// comes once.
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
		if after, ok = l.decodeCursor(scope, cursor); !ok {
			return nil, protocol.StateInvalid("cursor")
		}
	}
	out, last := l.begin(PageSize), position{}
	for at, item := range l.after(after) {
		if out.items == PageSize {
			return out.end(l.encodeCursor(scope, last)), nil
		}
		out.add(show(at.server, item))
		last = at
	}
	return out.end(""), nil
}

// after yields the items after a position, in the order of names. It skips the parts before the
// position, and sorts only the parts that it reaches.
func (l List) after(after position) iter.Seq2[position, jsontext.Value] {
	return func(yield func(position, jsontext.Value) bool) {
		parts := make([]*Part, 0, len(l.parts))
		for i := range l.parts {
			if l.parts[i].Server >= after.server {
				parts = append(parts, &l.parts[i])
			}
		}
		slices.SortFunc(parts, func(a, b *Part) int { return cmp.Compare(a.Server, b.Server) })
		for _, p := range parts {
			for _, i := range p.after(after) {
				if !yield(position{p.Server, p.Names[i]}, p.Items[i]) {
					return
				}
			}
		}
	}
}

// after returns the indexes of a part's items after a position, in the order of names.
func (p *Part) after(after position) []int {
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
	return &page{out: append(append(append(out, `{"`...), kinds[l.kind].name...), `":[`...)}
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
