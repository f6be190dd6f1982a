package session

import (
	"sync"

	"mcpd/internal/sortedmap"
	"mcpd/protocol/jsonrpc"
)

// Questions are the open questions of servers to one client. They belong to the session and not to
// its actor, because an actor that hangs cannot refuse them. The zero Questions is empty and ready
// to use.
type Questions struct {
	mu  sync.Mutex // guards all; an actor that hangs may still run alongside its successor
	all map[jsonrpc.ID]func()
}

// Open notes a question, by the id under which the client gets it. The function refuse tells
// everyone involved that the question is void. It may run on any goroutine, and is called at most
// once.
func (q *Questions) Open(id jsonrpc.ID, refuse func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all == nil {
		q.all = map[jsonrpc.ID]func(){}
	}
	q.all[id] = refuse
}

// Close forgets a question, and reports whether it was open. The caller that closes it tells those
// who wait.
func (q *Questions) Close(id jsonrpc.ID) (open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, open = q.all[id]
	delete(q.all, id)
	if len(q.all) == 0 {
		q.all = nil // an idle session keeps no empty map
	}
	return open
}

// any reports whether a question is open.
func (q *Questions) any() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.all) > 0
}

// Refuse ends all open questions, because the actor that would have taken the answers is gone.
func (q *Questions) Refuse() {
	q.mu.Lock()
	all := q.all
	q.all = nil
	q.mu.Unlock()
	for _, refuse := range sortedmap.SortedBy(all, jsonrpc.ID.Compare) {
		refuse()
	}
}
