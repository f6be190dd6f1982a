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
	had      [Kinds]bool          // the lists that the server has ever listed to the end
	ever     bool                 // a connection was ready with these lists
	unusable []string             // names of the tools that are left out
	cuts     [Kinds][]catalog.Cut // what exceeded the bounds of each list
	fetching [Kinds]fetching      // the progress of each list with this server
	announce []catalog.Kind       // lists that have changed, and of which no client was told
}

// fetching is the progress of one list. One fetch runs at a time, and at most one more is to come.
type fetching struct {
	busy bool // it is being fetched
	// again says that one more fetch follows. Before the server is ready, that fetch starts when it
	// is.
	again   bool
	due     bool  // it is going to be fetched, after a pause
	told    bool  // the server has announced a change, and its clients were not told
	cause   error // why the last fetch failed; nil if it did not
	backoff backoff
	items   []jsontext.Value // fetched so far
	pages   *protocol.Pages
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
	askPage   listDo = iota + 1 // ask for the page of kind at cursor; its answer goes to page
	pauseList                   // call due after wait
	cutList                     // tell an operator of cut
	leaveOut                    // tell an operator of tools that are left out
	knowList                    // kind is known; it is in announce if clients are to be told
	refresh                     // let the calls go on that wait for the list of tools
)

func (s *listStep) do(e listEffect) { s.effects = append(s.effects, e) }

// reset forgets the progress of the lists: the next server was asked for none.
func (l *listing) reset() {
	l.announce, l.fetching = nil, [Kinds]fetching{}
	for k := range l.fetching {
		l.fetching[k].backoff = backoff{first: FirstRelist, last: LastRelist}
	}
}

// resume goes on after a crash. Lists that were being fetched for the first time count as unknown.
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

// fetch fetches one list, page by page.
func (s *listStep) fetch(k catalog.Kind) {
	f := &s.fetching[k]
	f.busy, f.again, f.items, f.pages = true, false, nil, &protocol.Pages{}
	s.do(listEffect{do: askPage, kind: k})
}

// fetched takes one whole list.
func (s *listStep) fetched(k catalog.Kind, items []jsontext.Value) {
	f := &s.fetching[k]
	f.busy, f.items, f.pages = false, nil, nil
	// The first fetch does not count, so that a change after it is fetched at once.
	if f.again || s.ready {
		f.backoff.record(s.now)
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

// learn records a list. It is news if the server has announced a change, or if it differs from the
// list before, even one of an earlier incarnation.
func (s *listStep) learn(k catalog.Kind, items []jsontext.Value) {
	f := &s.fetching[k]
	changed := s.ever && catalog.Diff(k, s.lists[k], items).Any()
	if changed {
		f.backoff.limit(changedPause(items))
	}
	if f.told || changed {
		s.announce = append(s.announce, k)
	}
	f.told = false
	s.lists[k] = items
}
