package client

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"mcpd/protocol/jsonrpc"
)

// flights are the in-flight requests at the server, by our id. The connection puts them there. The
// reader of the server's messages takes out those whose answers need nothing of the connection: see
// shortcut.
type flights struct {
	mu sync.Mutex // guards by, and id and long of each flight in it
	by map[jsonrpc.ID]*flight
}

func newFlights() *flights { return &flights{by: map[jsonrpc.ID]*flight{}} }

// get returns the call with that id, nil for none.
func (f *flights) get(id jsonrpc.ID) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.by[id]
}

// of returns the call of an exchange, nil for none.
func (f *flights) of(exchange uint64) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, call := range f.by {
		if call.x.ID == exchange {
			return call
		}
	}
	return nil
}

func (f *flights) put(id jsonrpc.ID, call *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[id] = call
	call.id = id
}

// lengthen makes the answer to a call pass through the connection. It reports false if the call is
// no longer at the server.
func (f *flights) lengthen(call *flight) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	call.long = true
	return f.by[call.id] == call
}

// takePlain takes a call out, unless its answer has to pass through the connection. It reports
// whether it did.
func (f *flights) takePlain(call *flight) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if call.long || f.by[call.id] != call {
		return false
	}
	delete(f.by, call.id)
	return true
}

// take takes out the call with that id, nil for none.
func (f *flights) take(id jsonrpc.ID) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := f.by[id]
	delete(f.by, id)
	return call
}

func (f *flights) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.by)
}

// all returns the calls as they are now, in the order of their ids.
func (f *flights) all() iter.Seq2[jsonrpc.ID, *flight] {
	f.mu.Lock()
	now := maps.Clone(f.by)
	f.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(now), jsonrpc.ID.Compare)
	return func(yield func(jsonrpc.ID, *flight) bool) {
		for _, id := range ids {
			if !yield(id, now[id]) {
				return
			}
		}
	}
}
