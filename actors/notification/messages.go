package notification

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/subscription"
	"mcpd/supervisor/otp"
)

// Any is the method of a registration that takes every notification (S4-64).
const Any = subscription.Any

// All is the method of a registration for a session that sees all servers as one: with a Key and
// without a Server it takes what any server says over that connection, and of lists only the changes
// that name no server.
const All = subscription.All

// Quarantined is the method of a notice that a server is quarantined. Sessions tell their clients in
// the words of the clients' revisions.
const Quarantined = subscription.Quarantined

// The classes: a notification may be lost, who wants which may not.
//
//	Dispatch, Notice   sheddable
//	Register           owed: a few for each session that is opened, or attached anew
//	Forget, Away       owed: one for each of those
func (*Dispatch) Class() otp.Class { return otp.Sheddable }
func (*Notice) Class() otp.Class   { return otp.Sheddable }
func (*Register) Class() otp.Class { return otp.Owed }
func (*Forget) Class() otp.Class   { return otp.Owed }
func (*Away) Class() otp.Class     { return otp.Owed }

// Handler is who hears of a notification: a Mailbox or a *Function (S4-66).
type Handler interface {
	take(p *otp.Process, n *Notice) error
}

// Mailbox is an actor that receives notifications as *Notice.
type Mailbox struct{ Ref otp.Ref }

// Function is a callback under a name. It runs in the dispatcher and must return at once; when it panics the dispatcher is restarted
// and that notification is dropped.
type Function struct {
	Name string
	Call func(*Notice)
}

func (h Mailbox) take(p *otp.Process, n *Notice) error   { return p.Send(h.Ref, n) }
func (h *Function) take(p *otp.Process, n *Notice) error { p.Check(); h.Call(n); return nil }

// Register makes a handler hear of a method, or of Any, from one server or, when Server is empty, from all (S4-67). With a Key it is only
// what comes over that connection to the server. Nothing comes back.
type Register struct {
	Method  string
	Server  string
	Key     tenant.Key
	Handler Handler
}

// Forget takes back everything a handler has registered.
type Forget struct{ Handler Handler }

// over is the connection that a topic names; empty for any. One that took the place of another after a reload is the same to who listens.
func over(k tenant.Key) string {
	if k.Revision = 0; k == (tenant.Key{}) {
		return ""
	}
	return k.String()
}

// Away says that a handler does not need to hear of anything for now. It is told of what there is,
// and no connection is kept for it, until it registers again. Nothing comes back.
type Away struct{ Handler Handler }

// Heard asks whether anybody who is not away listens to a connection to a server.
type Heard = otp.Call[HeardRequest, bool]

// HeardRequest names the connection.
type HeardRequest struct {
	Server string
	Key    tenant.Key
}

// Dispatch hands a notification of a server to the dispatcher (S4-68). Nothing comes back: one that cannot be kept is dropped and counted.
type Dispatch Notice

// Notice is what handlers receive. It is shared by all of them and must not be changed.
type Notice struct {
	Server string
	Key    tenant.Key // of the connection it came over; zero when it is about the server as such
	// Sources are in place of Key, when it is about several connections, and beside it, when it is
	// about lists. Whoever listens to more than one of them is told once.
	Sources []Source
	Method  string
	URI     string // of the resource it is about, if it is about one
	// Principal is the only one whose sessions may hear of it, and Session the row of the only session
	// that may. Empty is for all.
	Principal, Session string
	// Instance is the instance of the server that tells of it, from 1. Zero is for the host itself, and
	// for a server that has no other instance.
	Instance uint8
	// Why says of Quarantined what its clients are told.
	Why *protocol.Error
	// Era is the only era whose sessions may hear of it. Zero is for all.
	Era    protocol.Era
	Params jsontext.Value
}

// Source is a connection over which lists have changed.
type Source struct {
	Key tenant.Key
	// Server is the one whose lists have changed, if sessions may have connections of their own to it.
	// A session that has one hears of the change over that.
	Server string
}

// Compare orders sources.
func (s Source) Compare(o Source) int {
	return cmp.Or(s.Key.Compare(o.Key), strings.Compare(s.Server, o.Server))
}

// size is how many bytes it keeps.
func (n *Notice) size() int {
	return len(n.Params) + len(n.URI) + len(n.Sources)*int(reflect.TypeFor[Source]().Size())
}

// about is what a notice is about, as it is matched with what listeners want.
func (n *Notice) about() subscription.Topic {
	return subscription.Topic{Method: n.Method, Server: n.Server, URI: n.URI, Over: over(n.Key)}
}

// several are what a notice about several connections is about.
func (n *Notice) several() (all []subscription.Topic) {
	for _, source := range n.Sources {
		about := n.about()
		about.Over = over(source.Key)
		all = append(all, about)
	}
	return all
}

// place is what one notice has in common with another that may take its place in the queue.
func (n *Notice) place() subscription.Topic {
	about := n.about()
	for _, source := range n.Sources {
		about.Over += over(source.Key) + " "
	}
	return about
}

// Stats asks for the dispatcher's counts.
type Stats = otp.Call[StatsRequest, Counts]

// StatsRequest has no fields.
type StatsRequest struct{}

// Counts are since the tenant was started.
type Counts struct {
	Handlers  int
	Queued    int
	Delivered uint64
	Dropped   uint64 // S4-64
}
