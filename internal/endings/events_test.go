package endings

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// site is a host, and the way to it that clients use.
type site struct {
	t      *testing.T
	host   *mcptest.Host
	config string
	relay  *relay // nil where clients call the host itself
}

// drainTime is what the host has to drain.
var drainTime = func() time.Duration { return either(25*time.Second, 6*time.Second) }

func open(t *testing.T) *site {
	t.Helper()
	config := fmt.Sprintf("limits: {drain: %s}\ntenants: {default: {servers: {s: {command: %q, share: tenant}}}}\n", drainTime(), mcptest.Server(t))
	return &site{t: t, config: config, host: mcptest.Start(t, mcptest.HostOptions{Config: config})}
}

func (s *site) url() string {
	if s.relay != nil {
		return "http://" + s.relay.address
	}
	return s.host.MCP
}

// again starts the next host, with the state and the address of the one that has ended.
func (s *site) again() {
	s.t.Helper()
	s.host = mcptest.Start(s.t, mcptest.HostOptions{
		Config: s.config, State: s.host.State, Args: []string{"--listen", strings.TrimPrefix(s.host.MCP, "http://")},
	})
}

// event is what happens while clients call.
type event struct {
	name string
	// does returns when the host can be reached again.
	does func(s *site)
	// inFlight says that calls in flight may fail, away that there is a while in which nobody listens,
	// and refuses that calls may be refused late in a drain.
	inFlight, away, refuses bool
}

var events = []event{
	{name: "host killed, and started again", does: killed, inFlight: true, away: true},
	{name: "host drained, and started again", does: drained, away: true, refuses: true},
	{name: "host drained and replaced, with its socket handed over", does: replaced},
	{name: "proxy killed in mid-stream, and started again", does: cut, inFlight: true, away: true},
}

func killed(s *site) {
	s.host.Kill()
	s.again()
}

func drained(s *site) {
	s.host.Stop()
	s.again()
}

func replaced(s *site) { s.host.Restart() }

func cut(s *site) { s.relay.kill(s.t) }

// relay is a proxy that carries bytes.
type relay struct {
	address, to string
	mu          sync.Mutex // guards what follows
	l           net.Listener
	conns       map[net.Conn]bool
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	r := &relay{address: "127.0.0.1:0", to: strings.TrimPrefix(to, "http://")}
	r.listen(t)
	t.Cleanup(r.close)
	return r
}

func (r *relay) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.l, r.address, r.conns = l, l.Addr().String(), map[net.Conn]bool{}
	r.mu.Unlock()
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.carry(c) // ends with either connection
		}
	}()
}

func (r *relay) carry(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer s.Close()
	r.mu.Lock()
	r.conns[c], r.conns[s] = true, true
	r.mu.Unlock()
	go func() { // ends with the connections
		_, _ = io.Copy(s, c)
		_ = s.Close()
	}()
	_, _ = io.Copy(c, s)
}

// close ends it with all connections, as a kill does.
func (r *relay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.l.Close()
	for c := range r.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

func (r *relay) kill(t *testing.T) {
	r.close()
	time.Sleep(200 * time.Millisecond)
	r.listen(t)
}
