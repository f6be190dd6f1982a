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

// Sockets are listening sockets that a process was given by the process before it, or by a service
// manager. The zero Sockets holds none.
type Sockets struct {
	Files []*os.File
	// Activated says that a service manager keeps the sockets too. Clients that connect while there is
	// no host wait for the next one.
	Activated bool
	// Replace says that another process is to replace this one.
	Replace bool
}

// handover tracks what becomes of the host's listening sockets.
type handover struct {
	mu    sync.Mutex // guards the fields below
	wants bool       // another process replaces this one
	stops bool       // no other process will: the host was told to stop
	given Sockets
	taken map[*os.File]bool // those of given that are in use, while sockets are bound
	next  []*os.File        // for the next process
}

// Restart drains the host for another process, which is given its listening sockets, so that no
// client is refused meanwhile. It returns false if the configuration has a mistake or the program
// cannot be started; the host then continues. It also returns false if the host was told to stop;
// the host then stops.
func (r *Running) Restart(ctx context.Context) bool {
	h := r.h
	if admin.Phase(h.phase.Load()) == admin.Draining {
		return false // it was told to stop
	}
	c, source, err := h.options.Load()
	if err == nil && c.TLS.Cert != "" { // this host continues with the certificate that it has
		_, err = streamable.LoadCertificate(c.TLS.Cert, c.TLS.Key)
	}
	if err != nil {
		h.recorder.Emit(telemetry.ConfigRejected{
			Source: source, Generation: h.now().applied.Generation, Reason: err.Error(),
		})
		return false
	}
	if err := h.options.CheckNext(ctx, h.spawner.Run); err != nil {
		if ctx.Err() == nil {
			h.recorder.Emit(telemetry.RestartRefused{Reason: err.Error()})
		}
		return false
	}
	if !h.handover.replace() {
		return false // it was told to stop meanwhile
	}
	h.phase.Store(uint32(admin.Draining))
	h.recorder.Emit(telemetry.Draining{Reason: "told to restart", Budget: h.now().config.Drain})
	return true
}

// Sockets returns the sockets for the process that replaces this one, once Run has returned.
func (r *Running) Sockets() Sockets {
	o := &r.h.handover
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.wants:
		return Sockets{}
	case o.given.Activated:
		return Sockets{Files: o.given.Files, Activated: true, Replace: true}
	}
	return Sockets{Files: o.next, Replace: true}
}

// resetTaken makes all given sockets available again, after an attempt to bind has failed.
func (o *handover) resetTaken() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = nil
}

// replace records that another process replaces this one, and returns true, unless the host was
// told to stop.
func (o *handover) replace() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wants = !o.stops
	return o.wants
}

// stop records that no other process replaces this one, because the host was told to stop.
func (o *handover) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wants, o.stops = false, true
}

// keepsListening reports whether clients that connect after the drain find a listening socket.
func (o *handover) keepsListening() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wants || o.given.Activated
}

// take finds the socket for an address among the given ones. If there is none, it returns nil, or
// an error if a service manager gave the sockets.
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
		if !matches(address, l.Addr()) {
			_ = l.Close()
			continue
		}
		if err := prepare(l, stall); err != nil {
			return nil, errors.Join(fmt.Errorf("socket %s that this process was given: %w", l.Addr(), err),
				l.Close())
		}
		if o.taken == nil {
			o.taken = map[*os.File]bool{}
		}
		o.taken[f] = true
		return l, nil
	}
	if o.given.Activated && len(o.given.Files) > 0 {
		return nil, fmt.Errorf(
			"listen is %s, but no socket of the service manager has that address: make both the same",
			address,
		)
	}
	return nil, nil
}

// prepare gives a socket the options of sockets that this process opens itself. It refuses a socket
// with SO_REUSEPORT.
func prepare(l net.Listener, stall time.Duration) error {
	s, ok := l.(syscall.Conn)
	if _, tcp := l.(*net.TCPListener); !ok || !tcp {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	if reusesPort(raw) {
		return errors.New("it has SO_REUSEPORT: any process of the same user could listen on its port " +
			"and collect keys, take ReusePort= out")
	}
	return setOptions(raw, stall)
}

// matches reports whether a configured address is that of a socket. Port 0 matches any port.
func matches(address string, a net.Addr) bool {
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

// bound closes the given files once sockets are bound. Those in use have been duplicated. Files of
// a service manager stay open for the next process.
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

// keep keeps a socket for the next process, if there is to be one.
func (o *handover) keep(l net.Listener) error {
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
	o.next = append(o.next, f)
	return nil
}

// awaited reports whether the host waits for a client: to answer a question of a server, or to come
// back to a call. The client may do both over a new connection.
func (h *host) awaited() (awaited bool) {
	h.index.Each(func(s *session.Handle) bool { awaited = s.Awaited(); return !awaited })
	return awaited
}
