package sim

import (
	"context"
	"io"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// maxTransit is the longest time that a message takes between host and server.
const maxTransit = 5 * time.Millisecond

// connection is a connection to a server of the run. Sent messages arrive through timers of the
// world; the wire has no goroutine.
type connection struct {
	s    *simulation
	peer *server
	down []transport.Inbound // arrived at the host, and not received
	// last is when the last message arrived, up and down. Later messages do not overtake it.
	last [2]time.Time
	err  error               // how it ended; nil while it is open
	ids  map[jsonrpc.ID]bool // request ids that the host has used
}

var _ transport.Upstream = (*connection)(nil)

func newWire(peer *server) *connection {
	return &connection{s: peer.s, peer: peer, ids: map[jsonrpc.ID]bool{}}
}

// Send lets a message of the host arrive at the server.
func (w *connection) Send(_ context.Context, m jsonrpc.Message) error {
	if w.err != nil {
		return transport.ErrClosed
	}
	if m.Kind() == jsonrpc.KindRequest {
		if w.ids[m.ID] {
			w.s.find("I2 cross-talk", "%s is asked twice under the id %v", w.peer.at, m.ID)
		}
		w.ids[m.ID] = true
	}
	w.carry(0, "up", m, func() { w.peer.receive(w, m) })
	return nil
}

// say lets a message of the server arrive at the host.
func (w *connection) say(in transport.Inbound) {
	w.carry(1, "down", in.Message, func() {
		if w.err == nil {
			w.down = append(w.down, in)
		}
	})
}

// carry delivers a message after a random time, unless it is lost. Messages on a connection arrive
// in order, except where the plan lets them overtake one another.
func (w *connection) carry(direction int, name string, m jsonrpc.Message, arrive func()) {
	p, world := &w.s.plan, w.s.w
	if w.peer.struck(p.lost) {
		w.s.noteFault("lose "+name, w.peer.at)
		return
	}
	at := world.now.Add(time.Duration(world.rand.Int64N(int64(maxTransit))))
	if w.peer.struck(p.shuffled) {
		w.s.noteFault("shuffle "+name, w.peer.at)
	} else if w.last[direction].After(at) {
		at = w.last[direction]
	} else {
		w.last[direction] = at
	}
	world.AfterFunc(at.Sub(world.now), func() {
		world.Note(name, w.peer.at, m.Kind().String()+" "+m.Method+" "+m.ID.Raw())
		arrive()
	})
}

// hangUp ends the connection.
func (w *connection) hangUp(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Recv waits for the next message. Messages that arrived before the end are still received.
func (w *connection) Recv(ctx context.Context) (transport.Inbound, error) {
	w.s.w.Wait(func() bool { return len(w.down) > 0 || w.err != nil || ctx.Err() != nil })
	if ctx.Err() != nil {
		return transport.Inbound{}, ctx.Err()
	}
	if len(w.down) > 0 {
		in := w.down[0]
		w.down = w.down[1:]
		return in, nil
	}
	return transport.Inbound{}, w.err
}

// Negotiated does nothing: the revision does not matter here.
func (w *connection) Negotiated(protocol.Version) {}

// Close ends the connection for both sides.
func (w *connection) Close(context.Context) error {
	w.hangUp(io.EOF)
	return nil
}

// Info says that the transport is a pipe whose messages name the request during which they are
// sent.
func (w *connection) Info() transport.Info {
	return transport.Info{Transport: "pipe", Correlates: true}
}
