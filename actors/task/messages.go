package task

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/request"
	"mcpd/gateway/quota"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
)

// Options are what the tasks of one tenant share.
type Options struct {
	Tenant   string
	Requests otp.Ref // the tenant's request manager
	Catalog  otp.Ref
	NextID   *atomic.Uint64
	Timeout  func() time.Duration // of a request to the server that is answered at once
	Index    *Index
	Kept     *quota.Account // what the tenant keeps
	// Storage is who writes down what survives the host; zero for nobody.
	Storage otp.Ref
	// Home says where a server is that lives on without this host, and is empty for one that does not.
	Home func(server string) string
	// Session finds a session by its secret id.
	Session func(id string) (request.Owner, bool)
}

// Args are what the actor of a task is started with.
type Args struct {
	Row    string // see NewRow
	Task   tasks.Options
	Server string
	// Caller is whose task it is. The actor takes the place of the session in it.
	Caller catalog.Caller
	// Owner is the session that made it, which is told how it is doing, and Session its secret id, if it survives the host.
	Owner   request.Owner
	Session string

	loaded *tasks.Task // by an earlier host
	lives  bool        // its server has not ended with that
}

// NewHandle is a name for a task that no other host gives, because its client may hold it for longer than this one lasts. A nil random is
// crypto/rand.
func NewHandle(random io.Reader) (h [16]byte) {
	if random == nil {
		random = rand.Reader
	}
	_, _ = io.ReadFull(random, h[:]) // crypto/rand never fails
	return h
}

// Row is the id of a task's row, by its handle in tokens.
func Row(handle [16]byte) string { return hex.EncodeToString(handle[:]) }

func isRow(s string) bool {
	h, err := hex.DecodeString(s)
	return err == nil && len(h) == len([16]byte{}) && hex.EncodeToString(h) == s
}

// To sessions the actor is a server: it receives request.Forward and request.Withdraw from the request manager, and client.Answer. To the
// server it is a session: it receives client.Question and client.Withdrawn from the connection, and request.Done. And these:
//
//	Watch      ordinary
//	Drop       owed: at most two for each start
//	finished   owed: one for each request to the server
//	replied    owed: one for each question to the client
func (Drop) Class() otp.Class      { return otp.Owed }
func (*finished) Class() otp.Class { return otp.Owed }
func (replied) Class() otp.Class   { return otp.Owed }

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
	to     otp.Ref // the task
	missed error   // why the actor has not seen it; nil when it is here
}

// Fail tells the actor that it has missed one that crashed it. It is told once.
func (m *finished) Fail(err error) {
	if m.missed == nil {
		_ = m.to.Send(&finished{number: m.number, missed: err})
	}
}
