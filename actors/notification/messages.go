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

// All is the method of a registration for a session that sees all servers as one. With a Key and
// without a Server it takes all notifications of any server over that connection, but of list
// changes only those that name no server.
const All = subscription.All

// Quarantined is the method of a notice that a server is quarantined. Sessions translate it to
// their clients' revisions.
const Quarantined = subscription.Quarantined

// The classes. A notification may be lost, a registration may not:
//
//	Dispatch, Notice   best effort
//	Register           reserved: a few for each session that is opened, or attached anew
//	Forget, Away       reserved: one for each of those
func (*Dispatch) Class() otp.Class { return otp.BestEffort }
func (*Notice) Class() otp.Class   { return otp.BestEffort }
func (*Register) Class() otp.Class { return otp.Reserved }
func (*Forget) Class() otp.Class   { return otp.Reserved }
func (*Away) Class() otp.Class     { return otp.Reserved }

// Handler is the receiver of notifications: a Mailbox or a *Function (S4-66).
type Handler interface {
	take(p *otp.Process, n *Notice) error
}

// Mailbox is an actor that receives notifications as *Notice.
type Mailbox struct{ Ref otp.Ref }

// Function is a callback under a name. It runs in the dispatcher and must return at once. If it
// panics, the dispatcher is restarted and that notification is dropped.
type Function struct {
	Name string
	Call func(*Notice)
}

func (h Mailbox) take(p *otp.Process, n *Notice) error   { return p.Send(h.Ref, n) }
func (h *Function) take(p *otp.Process, n *Notice) error { p.Check(); h.Call(n); return nil }

// Register registers a handler for a method, or for Any, from one server or, when Server is empty,
// from all (S4-67). With a Key it covers only notifications over that connection to the server.
// There is no reply.
type Register struct {
	Method  string
	Server  string
	Key     tenant.Key
	Handler Handler
}

// Forget removes all registrations of a handler.
type Forget struct{ Handler Handler }

// connectionName names the connection of a topic; empty for any. A connection that replaced another
// after a reload has the same name.
func connectionName(k tenant.Key) string {
	if k.Revision = 0; k == (tenant.Key{}) {
		return ""
	}
	return k.String()
}

// Away says that a handler needs no notifications for now. It still gets those that come, but no
// connection is kept for it until it registers again. There is no reply.
type Away struct{ Handler Handler }

// HasListeners asks whether a connection to a server has listeners that are not away.
type HasListeners = otp.Call[HasListenersRequest, bool]

// HasListenersRequest names the connection.
type HasListenersRequest struct {
	Server string
	Key    tenant.Key
}

// Dispatch hands a notification of a server to the dispatcher (S4-68). There is no reply: a
// notification that cannot be kept is dropped and counted.
type Dispatch Notice

// Notice is a notification as handlers receive it. All handlers share it, so it must not be
// changed.
type Notice struct {
	Server string
	// Key is the connection over which the notification came; zero when it concerns the server as
	// such.
	Key tenant.Key
	// Sources replace Key when the notification concerns several connections, and come with Key when
	// it concerns lists. A listener to more than one of the sources is told once.
	Sources []Source
	Method  string
	URI     string // of the resource that it is about, if any
	// Principal is the only principal whose sessions may get it, and Session the row of the only
	// session that may. Empty is for all.
	Principal, Session string
	// Instance is the instance of the server that reports it, from 1. Zero is for the host itself, and
	// for a server with one instance.
	Instance uint8
	// Why is the error for clients in a notice with the method Quarantined; nil in all others.
	Why *protocol.Error
	// Era is the only era whose sessions may get it. Zero is for all.
	Era    protocol.Era
	Params jsontext.Value
}

// Source is a connection over which lists have changed.
type Source struct {
	Key tenant.Key
	// Server is the server whose lists have changed, if sessions may have connections of their own to
	// it. A session with its own connection gets the change over that.
	Server string
}

// Compare orders sources.
func (s Source) Compare(o Source) int {
	return cmp.Or(s.Key.Compare(o.Key), strings.Compare(s.Server, o.Server))
}

// size returns how many bytes it keeps.
func (n *Notice) size() int {
	return len(n.Params) + len(n.URI) + len(n.Sources)*int(reflect.TypeFor[Source]().Size())
}

// about returns the topic of a notice, which is matched with registrations.
func (n *Notice) about() subscription.Topic {
	return subscription.Topic{
		Method: n.Method, Server: n.Server, URI: n.URI, Connection: connectionName(n.Key),
	}
}

// topics returns the topics of a notice about several connections.
func (n *Notice) topics() (all []subscription.Topic) {
	for _, source := range n.Sources {
		about := n.about()
		about.Connection = connectionName(source.Key)
		all = append(all, about)
	}
	return all
}

// replaceKey returns the key under which a newer notice may replace this one in the queue.
func (n *Notice) replaceKey() subscription.Topic {
	about := n.about()
	for _, source := range n.Sources {
		about.Connection += connectionName(source.Key) + " "
	}
	return about
}

// Stats asks for the dispatcher's counts.
type Stats = otp.Call[StatsRequest, Counts]

// StatsRequest has no fields.
type StatsRequest struct{}

// Counts count since the start of the tenant.
type Counts struct {
	Handlers  int
	Queued    int
	Delivered uint64
	Dropped   uint64 // S4-64
}
