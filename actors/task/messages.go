package task

import (
	"encoding/binary"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/request"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/seal"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
)

// Options are what the tasks of one tenant share.
type Options struct {
	Requests otp.Ref // the tenant's request manager
	Catalog  otp.Ref
	NextID   *atomic.Uint64
	Timeout  func() time.Duration // of a request to the server that is answered at once
	Index    *Index
}

// Args are what the actor of a task is started with.
type Args struct {
	Number uint64 // of its row
	Task   tasks.Options
	Server string
	// Caller is whose task it is. The actor takes the place of the session in it.
	Caller catalog.Caller
	// Owner is the session that made it, which is told how it is doing.
	Owner request.Owner
}

// Row is the id of a task's row.
func Row(number uint64) string { return strconv.FormatUint(number, 10) }

// Handle is a task in a token, and RowOf its row.
func Handle(number uint64) (h [16]byte) {
	binary.BigEndian.PutUint64(h[8:], number)
	return h
}

// RowOf is the row of the task that a token is for.
func RowOf(s seal.State) string { return Row(binary.BigEndian.Uint64(s.Handle[8:])) }

// To sessions the actor is a server: it receives request.Forward and request.Withdraw from the request manager, and client.Answer. To the
// server it is a session: it receives client.Question and client.Withdrawn from the connection, and request.Done. And these:
//
//	Watch      ordinary
//	Drop       owed: at most two for each start
//	finished   owed: one for each request to the server
func (Drop) Class() otp.Class      { return otp.Owed }
func (*finished) Class() otp.Class { return otp.Owed }

// Watch asks for Changed whenever the task is not as it was, and now if it is over. The session by sends it for a client that listens.
type Watch struct {
	Session string // its row
	By      request.Owner
}

// Drop ends a task whose call never came, or whose place another takes.
type Drop struct{}

// Changed tells a session how a task is. It is lost when the session has too much to do: whoever needs to know asks.
type Changed struct {
	ID     string
	Params jsontext.Value // of the notification in the dialect of the task's client
}

// Class lets requests pass it by.
func (*Changed) Class() otp.Class { return otp.Sheddable }

// finished is the outcome of a request to the server.
type finished struct {
	number uint64
	m      jsonrpc.Message
}
