package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
)

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

// announced fetches the lists of which the server says that they have changed. Clients hear of it
// when the new list is known, even if that is the same; of several lists that have an announcement
// in common, with the first.
func (s *listStep) announced(lists []catalog.Kind) {
	for i, k := range lists {
		s.fetching[k].told = s.fetching[k].told || i == 0
		s.changed(k)
	}
}

// fetchNow fetches a list, unless that is being done.
func (s *listStep) fetchNow(k catalog.Kind) {
	if !s.fetching[k].busy {
		s.fetch(k)
	}
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
