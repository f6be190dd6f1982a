package client

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/telemetry"
)

// MaxPages bounds the pages of one list, so that a server whose cursor never ends cannot hold its
// connection for ever.
const MaxPages = 1000

// MaxList bounds the bytes of one list, over which no further page of it is asked for: what one
// message may have.
const MaxList = protocol.MaxUpstreamMessage

// Pauses before a list is fetched again, because the server said that it has changed, or because it
// could not be had. One that says so with every answer is asked twice a minute in the end. A list
// that did change is fetched again sooner: clients wait for the news, which they would have had at
// once from the server itself.
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

// listing is what a server lists. It is told the time and what happened, and returns what to do. It
// survives a crash of the connection: a list is replaced as a whole, when all of it is there.
type listing struct {
	lists    Lists                // what the server listed last
	had      [Kinds]bool          // which of them it ever listed to the end
	ever     bool                 // a connection was ready with them
	unusable []string             // tools that are left out, by name
	cuts     [Kinds][]catalog.Cut // what exceeded the bounds of each
	fetching [Kinds]fetching      // how far each is with this server
	news     []catalog.Kind       // lists that are not what they were, of which nobody has heard
}

// fetching is how far one list is. It is fetched once at a time, and at most one more time is to
// come.
type fetching struct {
	busy  bool  // it is being fetched
	again bool  // and then once more; or, before the server is ready, as soon as it is
	due   bool  // it is going to be, after a pause
	told  bool  // the server said that it has changed, and its clients have not heard of it
	why   error // it could not be had when it was asked for last; nil when it could
	pace  pace
	items []jsontext.Value // so far
	pages *protocol.Pages
}

// listStep is the handling of one event.
type listStep struct {
	*listing
	now     time.Time
	ready   bool
	facts   Facts
	effects []listEffect
}

// listEffect is something to do.
type listEffect struct {
	do     listDo
	kind   catalog.Kind
	cursor jsontext.Value
	wait   time.Duration
	cut    catalog.Cut
}

type listDo uint8

const (
	askPage   listDo = iota + 1 // ask for the page of kind at cursor; page comes back
	pauseList                   // due comes after wait
	cutList                     // an operator is told of cut
	leaveOut                    // an operator is told of tools that are left out
	knowList                    // kind is known; it is in news if clients are to hear of it
	refresh                     // calls that wait for the list of tools go on
)

func (s *listStep) do(e listEffect) { s.effects = append(s.effects, e) }

// reset forgets how far the lists are: the next server was asked for none.
func (l *listing) reset() {
	l.news, l.fetching = nil, [Kinds]fetching{}
	for k := range l.fetching {
		l.fetching[k].pace = pace{first: FirstRelist, last: LastRelist}
	}
}

// resume goes on after a crash: lists that were being fetched for the first time are not known.
func (l *listing) resume() {
	if !l.ever {
		l.lists, l.had, l.unusable = Lists{}, [Kinds]bool{}, nil
	}
}

// busy reports whether a list is being fetched.
func (l *listing) busy() bool {
	return slices.ContainsFunc(l.fetching[:], func(f fetching) bool { return f.busy })
}

// all fetches every list that the server has.
func (s *listStep) all() {
	for _, k := range catalog.Kinds() {
		if s.facts.Asks(k) {
			s.fetch(k)
		} else {
			s.learn(k, nil)
		}
	}
}

// fetch lists one kind, page by page.
func (s *listStep) fetch(k catalog.Kind) {
	f := &s.fetching[k]
	f.busy, f.again, f.items, f.pages = true, false, nil, &protocol.Pages{}
	s.do(listEffect{do: askPage, kind: k})
}

// fetchNow fetches a list, unless that is being done.
func (s *listStep) fetchNow(k catalog.Kind) {
	if !s.fetching[k].busy {
		s.fetch(k)
	}
}

// announced fetches the lists of which the server says that they have changed. Clients hear of it
// when the new list is known, even if that is the same; of several lists that have an announcement
// in common, with the first.
func (s *listStep) announced(lists []catalog.Kind) {
	for i, k := range lists {
		s.fetching[k].told = s.fetching[k].told || i == 0
		s.changed(k)
	}
}

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
	none := errors.As(err, &refusal) && refusal.Code == jsonrpc.CodeMethodNotFound || !s.facts.Offers(k)
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

// fetched takes one whole list.
func (s *listStep) fetched(k catalog.Kind, items []jsontext.Value) {
	f := &s.fetching[k]
	f.busy, f.items, f.pages = false, nil, nil
	if f.again || s.ready { // what changes after the first list is fetched at once
		f.pace.did(s.now)
	}
	s.learn(k, items)
	s.do(listEffect{do: knowList, kind: k})
	if s.ready && f.again {
		s.later(k)
	}
	if s.ready && k == catalog.Tools {
		s.do(listEffect{do: refresh})
	}
}

// learn takes note of a list, and of whether the server said that it has changed or it is not what
// it listed last, be it in an earlier incarnation.
func (s *listStep) learn(k catalog.Kind, items []jsontext.Value) {
	f := &s.fetching[k]
	changed := s.ever && catalog.Diff(k, s.lists[k], items).Any()
	if changed {
		f.pace.atMost(changedPause(items))
	}
	if f.told || changed {
		s.news = append(s.news, k)
	}
	f.told = false
	s.lists[k] = items
}

// changed fetches a list again that may have changed.
func (s *listStep) changed(k catalog.Kind) {
	f := &s.fetching[k]
	switch {
	case !s.facts.Asks(k) || f.due:
	case f.busy || !s.ready:
		f.again = true
	default:
		s.later(k)
	}
}

// resume fetches what was announced as changed, or could not be had, before the server was ready.
func (s *listStep) resume() {
	for _, k := range catalog.Kinds() {
		if f := &s.fetching[k]; f.again && !f.busy {
			s.later(k)
		}
	}
}

// later fetches a list when it is time.
func (s *listStep) later(k catalog.Kind) {
	f := &s.fetching[k]
	wait := f.pace.next(s.now)
	if wait == 0 {
		s.fetch(k)
		return
	}
	f.due = true
	s.do(listEffect{do: pauseList, kind: k, wait: wait})
}

// due fetches a list after its pause, unless the session has changed meanwhile, with which every
// list was fetched anew.
func (s *listStep) due(k catalog.Kind) {
	if f := &s.fetching[k]; f.due {
		f.due = false
		s.fetch(k)
	}
}

// short says what is wrong with each list of a server.
func (l *listing) short(facts Facts) (all [Kinds]Shortfall) {
	for k := range all {
		f, kind := &l.fetching[k], catalog.Kind(k)
		switch {
		case f.why != nil && l.had[k]:
			all[k] = Shortfall{Older, kind.Method() + ": an earlier list is shown, because " + f.why.Error()}
		case f.why != nil:
			all[k] = Shortfall{Failed, kind.Method() + ": " + f.why.Error()}
		case f.busy && !l.had[k] && facts.Offers(kind):
			all[k] = Shortfall{Waiting, kind.Method() + ": no answer yet"}
		case len(l.cuts[k]) > 0:
			all[k] = Shortfall{Shortened, catalog.Words(kind, l.cuts[k])}
		}
		all[k].Words = telemetry.Clean(all[k].Words, protocol.MaxDetail)
	}
	return all
}
