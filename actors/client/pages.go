package client

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// MaxPages bounds the pages of one list, so that a server whose cursor never ends cannot hold its
// connection for ever.
const MaxPages = 1000

// MaxList bounds the bytes of one list, over which no further page of it is asked for: what one
// message may have.
const MaxList = protocol.MaxUpstreamMessage

// page takes one page behind the items that are there. A list that cannot be had stays what it was,
// or, when it was never listed, is as long as it came: the server works without it, and is asked
// again later.
func (s *listStep) page(k catalog.Kind, result jsontext.Value, err error) {
	f := &s.fetching[k]
	var list jsontext.Value
	if err == nil {
		list, err = array(result, k.String())
	}
	if err != nil {
		s.unlisted(k, err)
		return
	}
	next, again := f.pages.Next(result, k.String())
	size := len(list)
	for _, item := range f.items {
		size += len(item)
	}
	if !again {
		f.items = slices.AppendSeq(f.items, splice.Elements(list))
	}
	var cuts []catalog.Cut
	switch {
	case again:
		cuts = []catalog.Cut{{Reason: catalog.Loop}}
	case next == nil:
	case f.pages.Len() >= MaxPages:
		cuts = []catalog.Cut{{Reason: catalog.ManyPages}}
	case size > MaxList:
		cuts = []catalog.Cut{{Reason: catalog.ManyBytes}}
	case len(f.items) <= catalog.MaxItems: // else there are enough
		s.do(listEffect{do: askPage, kind: k, cursor: next})
		return
	}
	f.why, s.had[k] = nil, true
	s.fetched(k, s.usable(k, s.bounded(k, cuts)))
}

// array is the items of a page. Null and an empty object are no array: a client with a direct
// connection refuses them too.
func array(result jsontext.Value, name string) (jsontext.Value, error) {
	list, ok := splice.Get(result, name)
	switch {
	case ok && list.Kind() == '[':
		return list, nil
	case ok:
		return nil, fmt.Errorf("%q of the result is not an array", name)
	}
	return nil, fmt.Errorf("the result has no array %q", name)
}

// unlisted makes do without a list that could not be had. A server that does not know the method,
// or has not declared the list, is not asked again.
func (s *listStep) unlisted(k catalog.Kind, err error) {
	var refusal *jsonrpc.Error
	none := errors.As(err, &refusal) && refusal.Code == jsonrpc.CodeMethodNotFound ||
		!s.facts.Offers(k)
	if !none {
		s.fetching[k].again, s.fetching[k].why = true, err
	}
	if s.had[k] {
		s.fetched(k, s.lists[k])
		return
	}
	s.had[k] = none // an empty list is all that it has
	s.fetched(k, s.usable(k, s.bounded(k, nil)))
}

// bounded is the list within its bounds, without the rest of the message that it came in. An
// operator is told once of the same things that exceed them; cuts are those of its end.
func (s *listStep) bounded(k catalog.Kind, cuts []catalog.Cut) []jsontext.Value {
	within, more := catalog.Bound(k, s.fetching[k].items)
	cuts = append(cuts, more...)
	for _, cut := range cuts {
		if !slices.Contains(s.cuts[k], cut) {
			s.do(listEffect{do: cutList, kind: k, cut: cut})
		}
	}
	s.cuts[k] = cuts
	for i := range within {
		within[i] = within[i].Clone()
	}
	return within
}
