package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
)

// Pauses before a list is fetched again, because the server has announced a change or the list
// could not be fetched. A server that announces a change with every answer is asked twice a minute
// in the end. A list that did change is fetched again sooner: clients wait for the news, which the
// server itself would have given them at once.
const (
	FirstRelist = 100 * time.Millisecond
	LastRelist  = 30 * time.Second
	// ChangedRelist is the longest pause for a list that did change. It grows by as much again for
	// every RelistBytes of the list, up to LastRelist.
	ChangedRelist = time.Second
	RelistBytes   = 64 << 10
)

// changedPause returns the longest pause after a fetch that found these items changed.
func changedPause(items []jsontext.Value) time.Duration {
	size := 0
	for _, item := range items {
		size += len(item)
	}
	return min(ChangedRelist+ChangedRelist*time.Duration(size)/RelistBytes, LastRelist)
}

// announced fetches the lists that the server announces as changed. Clients are told when the new
// list is known, even if it is the same. If several lists share an announcement, clients are told
// with the first.
func (s *listStep) announced(lists []catalog.Kind) {
	for i, k := range lists {
		s.fetching[k].told = s.fetching[k].told || i == 0
		s.changed(k)
	}
}

// fetchNow fetches a list, unless it is being fetched.
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

// resume fetches the lists that were announced as changed, or could not be fetched, before the
// server was ready.
func (s *listStep) resume() {
	for _, k := range catalog.Kinds() {
		if f := &s.fetching[k]; f.again && !f.busy {
			s.later(k)
		}
	}
}

// later fetches a list after its pause.
func (s *listStep) later(k catalog.Kind) {
	f := &s.fetching[k]
	wait := f.backoff.next(s.now)
	if wait == 0 {
		s.fetch(k)
		return
	}
	f.due = true
	s.do(listEffect{do: pauseList, kind: k, wait: wait})
}

// due fetches a list after its pause, unless the session was replaced meanwhile: then every list
// was fetched anew.
func (s *listStep) due(k catalog.Kind) {
	if f := &s.fetching[k]; f.due {
		f.due = false
		s.fetch(k)
	}
}
