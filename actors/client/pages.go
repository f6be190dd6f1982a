package client

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// MaxPages bounds the pages of one list, so that a server whose cursor never ends cannot occupy its
// connection for ever.
const MaxPages = 1000

// MaxList bounds the bytes of one list: when it is exceeded, no further page is asked for. It is
// what one message may have.
const MaxList = protocol.MaxUpstreamMessage

// page adds one page to the items that are there. A list that cannot be fetched stays as it was. A
// list that was never fetched is as long as the part that came: the server works without the rest,
// and is asked again later.
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
		f.items = slices.AppendSeq(f.items, jsonedit.Elements(list))
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
	case len(f.items) <= catalog.MaxItems: // otherwise there are enough
		s.do(listEffect{do: askPage, kind: k, cursor: next})
		return
	}
	f.cause, s.had[k] = nil, true
	s.fetched(k, s.usable(k, s.bounded(k, cuts)))
}

// array returns the items of a page. Null and an empty object are no array: a client with a direct
// connection refuses them too.
func array(result jsontext.Value, name string) (jsontext.Value, error) {
	list, ok := jsonedit.Get(result, name)
	switch {
	case ok && list.Kind() == '[':
		return list, nil
	case ok:
		return nil, fmt.Errorf("%q of the result is not an array", name)
	}
	return nil, fmt.Errorf("the result has no array %q", name)
}

// unlisted goes on without a list that could not be fetched. A server that does not know the
// method, or has not declared the list, is not asked again.
func (s *listStep) unlisted(k catalog.Kind, err error) {
	var refusal *jsonrpc.Error
	none := errors.As(err, &refusal) && refusal.Code == jsonrpc.CodeMethodNotFound ||
		!s.facts.Offers(k)
	if !none {
		s.fetching[k].again, s.fetching[k].cause = true, err
	}
	if s.had[k] {
		s.fetched(k, s.lists[k])
		return
	}
	s.had[k] = none // without the method, an empty list is all of it
	s.fetched(k, s.usable(k, s.bounded(k, nil)))
}

// bounded returns the list within its bounds, without the rest of the message that it came in. An
// operator is told only of an excess that was not there before. The cuts are those at the list's
// end.
func (s *listStep) bounded(k catalog.Kind, cuts []catalog.Cut) []jsontext.Value {
	within, more := catalog.BoundItems(k, s.fetching[k].items)
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
