package client

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
)

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
