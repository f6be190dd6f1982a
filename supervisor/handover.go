package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"mcpd/actors/session"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
	"mcpd/transport/streamable"
)

// Sockets are listening sockets that a process was given by the one before it, or by a service
// manager. The zero Sockets are none.
type Sockets struct {
	Files []*os.File
	// Activated says that a service manager keeps them too: whoever connects while there is no host
	// waits for the next one.
	Activated bool
	// Again says that another process is to take the place of this one.
	Again bool
}

// handover is the host's part in what becomes of its listening sockets.
type handover struct {
	mu    sync.Mutex // guards what follows
	wants bool       // another process takes the place of this one
	stops bool       // none will: the host was told to stop
	given Sockets
	taken map[*os.File]bool // of those, while sockets are bound
	left  []*os.File        // for that process
}

// Restart drains the host for another process, which is given its listening sockets: meanwhile
// nobody is refused. It reports whether it does: with a mistake in the configuration, or a program
// that cannot be started, the host goes on.
func (r *Running) Restart(ctx context.Context) bool {
	h := r.h
	if admin.Phase(h.phase.Load()) == admin.Draining {
		return false // it was told to stop
	}
	c, source, err := h.options.Load()
	if err == nil && c.TLS.Cert != "" { // this host goes on with the pair that it has
		_, err = streamable.LoadCertificate(c.TLS.Cert, c.TLS.Key)
	}
	if err != nil {
		h.recorder.Emit(telemetry.ConfigRejected{
			Source: source, Generation: h.now().applied.Generation, Reason: err.Error(),
		})
		return false
	}
	if err := h.options.Next(ctx, h.spawner.Run); err != nil {
		if ctx.Err() == nil {
			h.recorder.Emit(telemetry.RestartRefused{Reason: err.Error()})
		}
		return false
	}
	if !h.handover.goes() {
		return false // it was told to stop meanwhile
	}
	h.phase.Store(uint32(admin.Draining))
	h.recorder.Emit(telemetry.Draining{Reason: "told to restart", Budget: h.now().config.Drain})
	return true
}

// Sockets are those for the process that takes the place of this one, once Run has returned.
func (r *Running) Sockets() Sockets {
	o := &r.h.handover
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.wants:
		return Sockets{}
	case o.given.Activated:
		return Sockets{Files: o.given.Files, Activated: true, Again: true}
	}
	return Sockets{Files: o.left, Again: true}
}

// retake lets sockets be taken again that were given, after those before could not be bound.
func (o *handover) retake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = nil
}

// goes has another process take the place of this one, unless it was told to stop, and reports
// whether it does.
func (o *handover) goes() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wants = !o.stops
	return o.wants
}

// stays has no other process take the place of this one: it was told to stop.
func (o *handover) stays() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wants, o.stops = false, true
}

// keeps reports whether whoever connects after the drain finds a socket that listens.
func (o *handover) keeps() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wants || o.given.Activated
}

// take finds the socket for an address among those that were given. Nil is none.
func (o *handover) take(address string, stall time.Duration) (net.Listener, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.given.Files {
		if o.taken[f] {
			continue
		}
		l, err := net.FileListener(f)
		if err != nil {
			return nil, fmt.Errorf("socket %s that this process was given: %w", f.Name(), err)
		}
		if !names(address, l.Addr()) {
			_ = l.Close()
			continue
		}
		if err := prepare(l, stall); err != nil {
			return nil, errors.Join(fmt.Errorf("socket %s that this process was given: %w", l.Addr(), err), l.Close())
		}
		if o.taken == nil {
			o.taken = map[*os.File]bool{}
		}
		o.taken[f] = true
		return l, nil
	}
	if o.given.Activated && len(o.given.Files) > 0 {
		return nil, fmt.Errorf("listen is %s, and none of the sockets that the service manager gave is: make both the same", address)
	}
	return nil, nil
}

// prepare sets what the sockets have that this process opens itself.
func prepare(l net.Listener, stall time.Duration) error {
	s, ok := l.(syscall.Conn)
	if _, tcp := l.(*net.TCPListener); !ok || !tcp {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	if shared(raw) {
		return errors.New("it has SO_REUSEPORT: any process of the same user could listen on its port and collect keys, take ReusePort= out")
	}
	return options(raw, stall)
}

// names reports whether a configured address is that of a socket. Port 0 is any.
func names(address string, a net.Addr) bool {
	if shown := a.Network() + ":" + a.String(); a.Network() == "unix" {
		return shown == address
	}
	host, port, err := net.SplitHostPort(address)
	bound, e := netip.ParseAddrPort(a.String())
	if err != nil || e != nil || port != "0" && port != fmt.Sprint(bound.Port()) {
		return false
	}
	if host == "" {
		return bound.Addr().IsUnspecified()
	}
	found, err := net.LookupHost(host)
	return err == nil && slices.Contains(found, bound.Addr().Unmap().WithZone("").String())
}

// bound lets go of what the process before gave: what is used of it has been taken.
func (o *handover) bound() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = nil
	if o.given.Activated {
		return
	}
	for _, f := range o.given.Files {
		_ = f.Close()
	}
	o.given.Files = nil
}

// end leaves a socket to the next process, if there is to be one.
func (o *handover) end(l net.Listener) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.given.Activated || !o.wants {
		return nil
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	source, ok := l.(interface{ File() (*os.File, error) })
	if !ok {
		return fmt.Errorf("%s cannot be handed over", l.Addr())
	}
	f, err := source.File()
	if err != nil {
		return err
	}
	o.left = append(o.left, f)
	return nil
}

// awaited reports whether a client is waited for: it has to answer a question of a server, or to
// come back to a call, which it may do over a new connection.
func (h *host) awaited() (awaited bool) {
	h.index.Each(func(s *session.Handle) bool { awaited = s.Awaited(); return !awaited })
	return awaited
}
