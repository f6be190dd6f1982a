package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/thejerf/suture/v4"

	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/gateway/config"
	"mcpd/internal/clock"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
	"mcpd/telemetry/drops"
	"mcpd/transport"
	"mcpd/transport/negotiate"
	"mcpd/transport/streamable"
)

// admin makes the service of the admin listener.
func (h *host) admin() (suture.Service, error) {
	if h.options.Embedded {
		return idle{}, nil
	}
	o := admin.Options{
		Tree: h.snapshot, Health: h.health, Recorder: h.recorder, Sessions: h.sessions,
		Metrics: h.metrics.Gatherer(),
		Tokens:  h.options.Tokens, Clock: h.clock, Reload: h.reload, Config: h.applied,
		Servers: h.servers, Operate: h.operate,
		Tenants: h.tenantList, OperateTenant: h.operateTenant,
	}
	if h.options.Chaos {
		o.Faults = h.faults
		o.Production = func() bool { return h.now().config.Environment == "production" }
	}
	s, err := admin.Listen(h.addrs.boundOr("admin", h.now().config.Admin.Listen), admin.Handler(o))
	if err != nil {
		return nil, err
	}
	if err := h.options.Tokens.Publish(s.Addr().String()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	h.addrs.set("admin", s.Addr().String())
	h.recorder.Emit(s.UpEvent())
	return s, nil
}

// listeners returns the rows of the listeners' supervisor. An embedded host has none.
func (h *host) listeners() []otp.Child {
	if h.options.Embedded {
		return nil
	}
	var rows []otp.Child
	if h.now().config.TLS.Cert != "" {
		rows = append(rows, service("certificate", second, h.certificateRow))
	}
	return append(rows, service("mcp", h.now().config.Drain+second, h.mcp))
}

// mcp makes the service of the MCP listener.
func (h *host) mcp() (suture.Service, error) {
	config := h.now().config
	trusted := func() []netip.Prefix { return h.now().config.TrustedProxies }
	unread := drops.NewShared(h.awake, h.recorder.Emit)
	handler := streamable.NewHandler(streamable.Options{
		Host: h.edge, Closing: h.refuseSession, Store: h.store, Admission: func() *streamable.Admission {
			return h.now().admission
		},
		KeepAlive: config.Edge.KeepAliveTime, Stall: config.Edge.StallTime,
		StreamAge: config.Edge.StreamAge,
		Refused:   h.refused,
		Room: func(ep streamable.Endpoint) *transport.ByteBudget {
			return h.answerBudget(ep.Tenant)
		}, BodyRoom: h.bodyBudget, Reserve: h.reserveBody, ReserveOverLimit: h.reserveBeyond,
		Stalled: func(tenant string) {
			h.recorder.Emit(telemetry.Rejected{Where: telemetry.Where{Tenant: tenant}, Reason: slowConsumer})
		},
		Dropped: func(tenant string, n int) {
			unread.Notification(telemetry.NotificationDropped{
				Where: telemetry.Where{Tenant: tenant}, Reason: slowConsumer, Count: uint32(n),
			})
		},
	})
	path := func(r *http.Request) string { return h.now().path(r) }
	served := serve(path, handler, negotiate.NewHandler(negotiationHost{h.edge}, handler))
	if h.options.SafeReason != "" {
		served = refuseAll()
	}
	row := &listener{
		clock: h.awake, budget: config.Drain, begins: h.drain.Store, idle: h.idle, unread: unread,
		handover: &h.handover, awaited: h.awaited, endStreams: func() {
			h.endSubscriptions()
			handler.Drain()
		},
	}
	h.drain.Store(nil) // the listener may have been restarted
	h.front.Store(handler)
	connections := h.newConnections(trusted)
	h.connections.Store(connections)
	s := streamable.NewHTTPServer(streamable.ServerOptions{
		Handler: row.lastAnswers(behindProxies(trusted, served)), Drain: []func(){func() {
			h.answerRest(h.drain.Load())
			h.endSubscriptions()
			handler.Drain()
		}},
		HeaderTime: config.Edge.HeaderTime, IdleTime: config.Edge.IdleTime,
		HeaderBytes: int(config.Edge.HeaderBytes), HTTP2Streams: config.Edge.HTTP2Streams,
		H2C:         config.H2C,
		Panicked:    h.panicked,
		Connections: connections, Certificate: h.certificate.Load(), Logger: h.options.Logger,
	})
	sockets, err := h.bind(config)
	if err != nil {
		return nil, err
	}
	h.handover.bound()
	row.server, row.connections = s, connections
	for _, l := range sockets {
		h.recorder.Emit(telemetry.ListenerUp{Name: "mcp", Addr: formatAddr(l.Addr())})
		g := &gate{Listener: l}
		row.gates = append(row.gates, g)
		if s.TLSConfig != nil {
			row.sockets = append(row.sockets, connections.SecureListener(g, s))
		} else {
			row.sockets = append(row.sockets, connections.Listener(g))
		}
	}
	return row, nil
}

// slowConsumer is the reason in metrics and events for a client that reads too slowly.
const slowConsumer = "slow_consumer"

// hosts returns the names by which a client may call this host: the loopback names, the names in
// `listen`, and the configured ones.
func hosts(c *config.Config) []string {
	names := append(streamable.LoopbackHosts(), c.Hosts...)
	for _, listen := range c.Listen {
		name, _, err := net.SplitHostPort(listen)
		if err != nil || strings.HasPrefix(listen, unixPrefix) {
			continue
		}
		if a, e := netip.ParseAddr(name); name != "" && (e != nil || !a.IsUnspecified()) {
			if e == nil && a.Is6() {
				name = "[" + name + "]"
			}
			names = append(names, name)
		}
	}
	return names
}

// keepAlive detects within 45 s that a client's machine is gone while nothing is sent to the
// client.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * second, Interval: 5 * second, Count: 6}

const (
	// parting is how long the streams of clients stay open after their last answer, so that clients
	// read it before they notice that the stream is gone.
	parting = 300 * time.Millisecond
	// lookEvery is how often a draining host checks if requests are in flight.
	lookEvery = 50 * time.Millisecond
)

// answerRest returns when no request is in flight. Near the end of the drain it has the remaining
// requests answered, and returns soon after. Open streams stay until then, because a client that
// cannot get its stream back may give up its requests too.
func (h *host) answerRest(d *drain) {
	if !h.busy() {
		return
	}
	reading := d.reading()
	defer pause(min(parting, reading/2))
	if h.waitIdle(d.stageBegin(stageAnswer).Sub(h.awake.Now())) {
		return
	}
	h.answer()
	if !h.waitIdle(reading / 2) {
		h.answer() // requests that were between their session and the request manager
	}
}

// answer has every in-flight request answered, wherever it is, with the error that the host is
// stopping.
func (h *host) answer() {
	h.tellSessions(session.Stop{})
	tenants := h.now().config.Tenants
	for i := range tenants {
		// A request manager that does not run has answered its requests itself.
		_ = h.at(&tenants[i].Tenant, "request_manager").Send(&request.Stop{})
	}
}

// endSubscriptions ends the subscriptions of clients that have no stream besides their requests:
// each keeps one response open.
func (h *host) endSubscriptions() { h.tellSessions(session.HangUp{}) }

// tellSessions sends msg to every session.
func (h *host) tellSessions(msg any) {
	h.index.Each(func(s *session.Handle) bool {
		_ = s.Send(msg) // one without an actor has no requests and no subscriptions
		return true
	})
}

// waitIdle waits until no request is in flight. It returns false if that takes longer than within.
func (h *host) waitIdle(within time.Duration) bool {
	wait, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for h.busy() {
		if wait.Err() != nil {
			return false
		}
		pause(lookEvery)
	}
	return true
}

func pause(d time.Duration) {
	wait, end := context.WithTimeout(context.Background(), d)
	defer end()
	<-wait.Done()
}

// busy reports whether a request is in flight.
func (h *host) busy() (busy bool) {
	h.index.Each(func(s *session.Handle) bool { busy = s.Working(); return !busy })
	return busy
}

// idle returns how long no message has come and none was in flight, 0 while one is.
func (h *host) idle() time.Duration {
	if h.busy() {
		return 0
	}
	return max(h.index.Idle(h.awake.Now()), 1)
}

// listener serves MCP until it is told to stop. Then it lets clients finish, and ends with the
// drain.
type listener struct {
	server      *http.Server
	gates       []*gate        // of the sockets
	sockets     []net.Listener // at least one; they accept through the gates
	clock       clock.Clock
	budget      time.Duration        // of the drain
	begins      func(*drain)         // gets the drain when it begins
	idle        func() time.Duration // how long nothing was in flight
	awaited     func() bool          // reports whether a client is waited for
	endStreams  func()               // ends the streams that only wait
	unread      *drops.Shared        // counts notifications that clients did not get
	parting     atomic.Bool          // every answer is the last of its connection
	connections *streamable.Connections

	handover *handover
}

// lastAnswers ends connections with their answers once parting is set.
func (l *listener) lastAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.parting.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

func (l *listener) Serve(ctx context.Context) error {
	defer l.unread.End()
	stopped := make(chan error, 1)
	end := context.AfterFunc(ctx, func() { stopped <- l.stop(context.WithoutCancel(ctx)) })
	err := l.accept()
	if !end() {
		return errors.Join(ctx.Err(), <-stopped)
	}
	return err
}

// accept serves the connections of each socket until all sockets are closed. An error of one closes
// the others; the supervisor then starts all of them again.
func (l *listener) accept() error {
	others := make(chan error, len(l.sockets))
	for _, s := range l.sockets[1:] {
		// owner: accept, which waits for it
		go func() {
			defer func() {
				if p := recover(); p != nil {
					others <- fmt.Errorf("panic: %v\n%s", p, debug.Stack())
					l.closeSockets()
				}
			}()
			err := l.server.Serve(s)
			others <- err
			l.closeSockets()
		}()
	}
	defer l.closeSockets()
	err := l.server.Serve(l.sockets[0])
	l.closeSockets()
	for range l.sockets[1:] {
		if other := <-others; err == nil || errors.Is(err, net.ErrClosed) {
			err = other
		}
	}
	return err
}

// closeSockets closes all sockets. It may be called more than once.
func (l *listener) closeSockets() {
	for _, s := range l.sockets {
		_ = s.Close()
	}
}

// stop accepts connections until the drain is over, because a client that has to answer a question,
// cancel a call or get a stream back may come over a new one. Then it closes the sockets. Accepted
// connections continue until the end of the budget.
func (l *listener) stop(ctx context.Context) error {
	d := &drain{begun: l.clock.Now(), budget: l.budget, handsOver: l.handover.keepsListening()}
	l.begins(d)
	last := lookEvery // time without new connections before the sockets close
	for busy := (time.Time{}); ; pause(min(lookEvery, l.budget/20)) {
		now, idle := l.clock.Now(), l.idle()
		if idle == 0 {
			busy = now
		}
		idle = min(idle, now.Sub(busy))
		parting, over := d.look(now, idle)
		if parting && !l.parting.Load() {
			l.closeQuiet()
		}
		l.parting.Store(parting)
		l.shut(!d.accepts(now, d.handsOver && l.awaited()))
		if over {
			if idle < quietBeforeEnd {
				last = partingNotice
			}
			break
		}
	}
	l.shut(d.handsOver)
	if !d.handsOver {
		// First answer the connected clients: a server that shuts down does not answer the requests that
		// it still reads.
		for _, g := range l.gates {
			streamable.DropHandshakes(g)
		}
		pause(min(last, l.budget/20))
	}
	now := l.clock.Now()
	l.retire(d.begun.Add(d.budget).Sub(now), d.stage(now))
	var left error
	for _, g := range l.gates {
		left = errors.Join(left, l.handover.keep(g.Listener))
	}
	l.closeSockets()
	wait, cancel := context.WithTimeout(ctx, d.begun.Add(d.budget).Sub(l.clock.Now()))
	defer cancel()
	if err := l.server.Shutdown(wait); err != nil {
		return errors.Join(left, err, l.server.Close())
	}
	return left
}

// shut makes the sockets stop accepting for now, or accept again.
func (l *listener) shut(shut bool) {
	for _, g := range l.gates {
		g.shut(shut)
	}
}

// idle replaces the admin listener of a host without listeners.
type idle struct{}

func (idle) Serve(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
