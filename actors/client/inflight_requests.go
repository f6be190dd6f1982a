package client

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"mcpd/protocol/jsonrpc"
)

// inflightRequests are the in-flight requests at the server, by our id. The connection puts them
// there. The reader of the server's messages takes out those whose answers need nothing of the
// connection: see shortcut.
type inflightRequests struct {
	mu sync.Mutex // guards by, and id and long of each inflightRequest in it
	by map[jsonrpc.ID]*inflightRequest
}

func newInflightRequests() *inflightRequests {
	return &inflightRequests{by: map[jsonrpc.ID]*inflightRequest{}}
}

// get returns the call with that id, nil for none.
func (f *inflightRequests) get(id jsonrpc.ID) *inflightRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.by[id]
}

// of returns the call of an exchange, nil for none.
func (f *inflightRequests) of(exchange uint64) *inflightRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, call := range f.by {
		if call.x.ID == exchange {
			return call
		}
	}
	return nil
}

func (f *inflightRequests) put(id jsonrpc.ID, call *inflightRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[id] = call
	call.id = id
}

// routeViaActor makes the answer to a call pass through the connection. It reports false if the
// call is no longer at the server.
func (f *inflightRequests) routeViaActor(call *inflightRequest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	call.viaActor = true
	return f.by[call.id] == call
}

// takePlain takes a call out, unless its answer has to pass through the connection. It reports
// whether it did.
func (f *inflightRequests) takePlain(call *inflightRequest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if call.viaActor || f.by[call.id] != call {
		return false
	}
	delete(f.by, call.id)
	return true
}

// take takes out the call with that id, nil for none.
func (f *inflightRequests) take(id jsonrpc.ID) *inflightRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := f.by[id]
	delete(f.by, id)
	return call
}

func (f *inflightRequests) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.by)
}

// all returns the calls as they are now, in the order of their ids.
func (f *inflightRequests) all() iter.Seq2[jsonrpc.ID, *inflightRequest] {
	f.mu.Lock()
	now := maps.Clone(f.by)
	f.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(now), jsonrpc.ID.Compare)
	return func(yield func(jsonrpc.ID, *inflightRequest) bool) {
		for _, id := range ids {
			if !yield(id, now[id]) {
				return
			}
		}
	}
}
