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

// Options are shared by the tasks of one tenant.
type Options struct {
	Tenant   string
	Requests otp.Ref // the tenant's request manager
	Catalog  otp.Ref
	NextID   *atomic.Uint64
	Timeout  func() time.Duration // for requests to the server that it answers at once
	Index    *Index
	Kept     *quota.Account // byte budget of the tenant
	// Storage is the actor that stores the state that survives the host; zero for none.
	Storage otp.Ref
	// Home returns the address of a server that outlives this host, and "" for one that does not.
	Home func(server string) string
	// Session finds a session by its secret id.
	Session func(id string) (request.Owner, bool)
}

// Args are the arguments for the start of a task's actor.
type Args struct {
	Row    string // see Row
	Task   tasks.Options
	Server string
	// Caller is the caller of the task. The actor takes the place of the session in it.
	Caller catalog.Caller
	// Owner is the session that made the task and gets its status, and Session its secret id, if it
	// survives the host.
	Owner   request.Owner
	Session string

	loaded *tasks.Task // restored from an earlier host
	lives  bool        // its server has outlived that host
}

// NewHandle returns a handle for a task that is unique over hosts, because its client may keep it
// for longer than this host lasts. A nil random is crypto/rand.
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

// For sessions the actor takes the part of a server: it receives request.Forward and
// request.Withdraw from the request manager, and client.Answer. For the server it takes the part of
// a session: it receives client.Question and client.Withdrawn from the connection, and
// request.Done. It also receives the messages below. The classes:
//
//	Watch      ordinary
//	Drop       reserved: at most two for each start
//	finished   reserved: one for each request to the server
//	replied    reserved: one for each question to the client
func (Drop) Class() otp.Class      { return otp.Reserved }
func (*finished) Class() otp.Class { return otp.Reserved }
func (replied) Class() otp.Class   { return otp.Reserved }

// Watch asks for Changed whenever the state of the task changes, and now if it is over. A session
// sends it for a client that listens.
type Watch struct {
	Session string // the row of the session
	By      request.Owner
}

// Drop ends a task whose call never came, or whose place is given to another.
type Drop struct{}

// Changed tells a session the state of a task. It is dropped when the session is overloaded: a
// client can ask for the state.
type Changed struct {
	ID     string
	Params jsontext.Value // of the notification, in the dialect of the task's client
}

// Class says that it is best effort, so that requests take precedence.
func (*Changed) Class() otp.Class { return otp.BestEffort }

// finished is the outcome of a request to the server.
type finished struct {
	number uint64
	m      jsonrpc.Message
	to     otp.Ref // the task
	missed error   // why the actor has not seen it; nil when it is here
}

// Fail tells the actor, once, that it has missed an outcome that crashed it.
func (m *finished) Fail(err error) {
	if m.missed == nil {
		_ = m.to.Send(&finished{number: m.number, missed: err})
	}
}
