package session

import (
	"sync"

	"mcpd/internal/order"
	"mcpd/protocol/jsonrpc"
)

// Questions are what servers have asked one client that has not answered. They are the session's and not its actor's, because one that hangs can tell
// nobody any more. The zero Questions is empty and ready.
type Questions struct {
	mu  sync.Mutex // guards all; a session that hangs is abandoned while it runs, and has a successor
	all map[jsonrpc.ID]func()
}

// Open notes a question, by its id on the way to the client. Refuse tells everybody that it is no more; it may run on any goroutine, and is called at most
// once.
func (q *Questions) Open(id jsonrpc.ID, refuse func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all == nil {
		q.all = map[jsonrpc.ID]func(){}
	}
	q.all[id] = refuse
}

// Close forgets a question, and reports whether it was open: whoever closes it tells those who wait.
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

// any reports whether there are some.
func (q *Questions) any() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.all) > 0
}

// Refuse ends all that are open: whoever would have taken the answers is gone.
func (q *Questions) Refuse() {
	q.mu.Lock()
	all := q.all
	q.all = nil
	q.mu.Unlock()
	for _, refuse := range order.By(all, jsonrpc.ID.Compare) {
		refuse()
	}
}
