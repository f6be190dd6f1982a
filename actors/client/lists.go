package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/telemetry"
)

// MaxPages bounds the pages of one list, so that a server whose cursor never ends cannot hold its connection for ever.
const MaxPages = 1000

// MaxList bounds the bytes of one list, over which no further page of it is asked for: what one message may have.
const MaxList = protocol.MaxUpstreamMessage

// Pauses before a list is fetched again, because the server said that it has changed, or because it could not be had. One that says so with
// every answer is asked twice a minute in the end. A list that did change is fetched again sooner:
// clients wait for the news, which they would have had at once from the server itself.
const (
	FirstRelist   = 100 * time.Millisecond
	LastRelist    = 30 * time.Second
	ChangedRelist = time.Second // at most for a list that did change, and one more
	RelistBytes   = 64 << 10    // for each so many bytes of the list
)

// changedPause is the longest pause after a fetch that found these items new.
func changedPause(items []jsontext.Value) time.Duration {
	size := 0
	for _, item := range items {
		size += len(item)
	}
	return min(ChangedRelist+ChangedRelist*time.Duration(size)/RelistBytes, LastRelist)
}

// fetching is how far one list is. It is fetched once at a time, and at most one more time is to come.
type fetching struct {
	busy  bool  // it is being fetched
	again bool  // and then once more; or, before the server is ready, as soon as it is
	due   bool  // it is going to be, after a pause
	told  bool  // the server said that it has changed, and its clients have not heard of it
	why   error // it could not be had when it was asked for last; nil when it could
	pace  pace
}

// ListGrace is how long a connection that has shaken hands waits for its server's lists before it
// takes calls. A list that comes later is announced. Most come within milliseconds, and then calls
// find the schemas of their tools.
const ListGrace = time.Second

// listsLate says that ListGrace is over.
type listsLate struct{ attempt uint64 }

func newFetching() (all [Kinds]fetching) {
	for k := range all {
		all[k].pace = pace{first: FirstRelist, last: LastRelist}
	}
	return all
}

// refetch says that the pause before a list is fetched again is over.
type refetch struct{ kind catalog.Kind }

// listing reports whether a list is being fetched.
func (c *Connection) listing() bool {
	for k := range c.fetching {
		if c.fetching[k].busy {
			return true
		}
	}
	return false
}

// fetch lists one kind, page by page.
func (c *Connection) fetch(k catalog.Kind) {
	c.fetching[k].busy, c.fetching[k].again = true, false
	c.page(k, nil, nil, &protocol.Pages{})
}

// announced fetches the lists of which the server says that they have changed. Clients hear of it when the new list is known, even if that
// is the same; of several lists that have an announcement in common, with the first.
func (c *Connection) announced(lists []catalog.Kind) {
	for i, k := range lists {
		c.fetching[k].told = c.fetching[k].told || i == 0
		c.changed(k)
	}
}

// page asks for one page behind the items that are there. A list that cannot be had stays what it was, or, when it was never listed, is
// as long as it came: the server works without it, and is asked again later.
func (c *Connection) page(
	k catalog.Kind, items []jsontext.Value, cursor jsontext.Value, pages *protocol.Pages,
) {
	var params jsontext.Value
	if cursor != nil {
		params, _ = splice.Set(nil, cursor, "cursor") // an empty value becomes an object
	}
	err := c.request(k.Method(), params, c.o.ListTimeout(), func(result jsontext.Value, err error) error {
		if err != nil {
			return c.unlisted(k, items, err)
		}
		list, err := array(result, k.String())
		if err != nil {
			return c.unlisted(k, items, err)
		}
		next, again := pages.Next(result, k.String())
		size := len(list)
		for _, item := range items {
			size += len(item)
		}
		if !again {
			items = slices.AppendSeq(items, splice.Elements(list))
		}
		var cuts []catalog.Cut
		switch {
		case again:
			cuts = []catalog.Cut{{Reason: catalog.Loop}}
		case next == nil:
		case pages.Len() >= MaxPages:
			cuts = []catalog.Cut{{Reason: catalog.ManyPages}}
		case size > MaxList:
			cuts = []catalog.Cut{{Reason: catalog.ManyBytes}}
		case len(items) <= catalog.MaxItems: // else there are enough
			c.page(k, items, next, pages)
			return nil
		}
		c.fetching[k].why, c.had[k] = nil, true
		return c.fetched(k, c.usable(k, c.bounded(k, items, cuts)))
	})
	if err != nil {
		_ = c.unlisted(k, items, err)
	}
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

// unlisted makes do without a list that could not be had. A server that does not know the method, or
// has not declared the list, is not asked again.
func (c *Connection) unlisted(k catalog.Kind, items []jsontext.Value, err error) error {
	var refusal *jsonrpc.Error
	none := errors.As(err, &refusal) && refusal.Code == jsonrpc.CodeMethodNotFound || !c.facts.Offers(k)
	if !none {
		c.fetching[k].again, c.fetching[k].why = true, err
	}
	if c.had[k] {
		return c.fetched(k, c.lists[k])
	}
	c.had[k] = none // an empty list is all that it has
	return c.fetched(k, c.usable(k, c.bounded(k, items, nil)))
}

// bounded is a list within its bounds, without the rest of the message that it came in. An operator is told once of the same things that exceed them; cuts are those of its end.
func (c *Connection) bounded(k catalog.Kind, items []jsontext.Value, cuts []catalog.Cut) []jsontext.Value {
	within, more := catalog.Bound(k, items)
	cuts = append(cuts, more...)
	for _, cut := range cuts {
		if !slices.Contains(c.cuts[k], cut) {
			c.o.Emit(telemetry.ListCut{
				Where: c.where(), List: k.String(), Reason: string(cut.Reason), Count: uint32(cut.Count), First: telemetry.Clean(cut.First, telemetry.MaxValue),
			})
		}
	}
	c.cuts[k] = cuts
	for i := range within {
		within[i] = within[i].Clone()
	}
	return within
}

// short says what is wrong with each list.
func (c *Connection) short() (all [Kinds]Shortfall) {
	for k := range all {
		f, kind := &c.fetching[k], catalog.Kind(k)
		switch {
		case f.why != nil && c.had[k]:
			all[k] = Shortfall{Older, kind.Method() + ": an earlier list is shown, because " + f.why.Error()}
		case f.why != nil:
			all[k] = Shortfall{Failed, kind.Method() + ": " + f.why.Error()}
		case f.busy && !c.had[k] && c.facts.Offers(kind):
			all[k] = Shortfall{Waiting, kind.Method() + ": no answer yet"}
		case len(c.cuts[k]) > 0:
			all[k] = Shortfall{Shortened, catalog.Words(kind, c.cuts[k])}
		}
		all[k].Words = telemetry.Clean(all[k].Words, protocol.MaxDetail)
	}
	return all
}

// lacks says which lists could not be had, and why; empty when there are all.
func lacks(short [Kinds]Shortfall) string {
	var list []string
	for _, s := range short {
		if s.State.Lacks() {
			list = append(list, s.Words)
		}
	}
	return strings.Join(list, "; ")
}

// fetched takes one whole list.
func (c *Connection) fetched(k catalog.Kind, items []jsontext.Value) error {
	f := &c.fetching[k]
	f.busy = false
	if f.again || c.state == Ready { // what changes after the first list is fetched at once
		f.pace.did(c.p.Now())
	}
	c.learn(k, items)
	if c.state != Ready {
		return c.maybeReady()
	}
	c.report()
	if f.again {
		c.later(k)
	}
	if k == catalog.Tools {
		c.refreshed()
	}
	return nil
}

// learn takes note of a list, and of whether the server said that it has changed or it is not what it listed last, be it in an earlier
// incarnation.
func (c *Connection) learn(k catalog.Kind, items []jsontext.Value) {
	f := &c.fetching[k]
	changed := c.listed && catalog.Diff(k, c.lists[k], items).Any()
	if changed {
		f.pace.atMost(changedPause(items))
	}
	if f.told || changed {
		c.news = append(c.news, k)
	}
	f.told = false
	c.lists[k] = items
}

// report tells the catalogue which lists are new.
func (c *Connection) report() {
	c.publish(nil, c.news)
	c.news = nil
	c.tellTools()
}

// changed fetches a list again that may have changed.
func (c *Connection) changed(k catalog.Kind) {
	f := &c.fetching[k]
	switch {
	case !c.facts.Asks(k) || f.due:
	case f.busy || c.state != Ready:
		f.again = true
	default:
		c.later(k)
	}
}

// resume fetches what was announced as changed, or could not be had, before the server was ready.
func (c *Connection) resume() {
	for _, k := range catalog.Kinds() {
		if f := &c.fetching[k]; f.again && !f.busy {
			c.later(k)
		}
	}
}

// later fetches a list when it is time.
func (c *Connection) later(k catalog.Kind) {
	f := &c.fetching[k]
	wait := f.pace.next(c.p.Now())
	if wait == 0 {
		c.fetch(k)
		return
	}
	f.due = true
	c.p.After(wait, refetch{k})
}

// relist fetches a list after its pause, unless the session has changed meanwhile, with which every list was fetched anew.
func (c *Connection) relist(k catalog.Kind) {
	if f := &c.fetching[k]; f.due {
		f.due = false
		c.fetch(k)
	}
}
