package endings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// site is a host and the path that clients take to it.
type site struct {
	t      *testing.T
	host   *mcptest.Host
	calls  *journal // calls that reached the server
	config string
	relay  *relay            // nil if clients connect to the host directly
	ca     string            // file of the certificate authority; empty without TLS
	files  *certificateFiles // certificate of the host; nil without TLS
}

// drainTime is the host's drain limit.
var drainTime = func() time.Duration { return fullOrShort(25*time.Second, 6*time.Second) }

// open starts a host and the fixtures of an event.
func open(t *testing.T, e event) *site {
	t.Helper()
	s := &site{t: t, calls: newJournal(t)}
	s.config = fmt.Sprintf(
		"limits: {drain: %s}\ntenants: {default: {servers: {s: {command: %q, args: [-journal, %q], "+
			"share: tenant}}}}\n",
		drainTime(), mcptest.Server(t), s.calls.file)
	if e.secure {
		s.files = newPair(t)
		s.ca = s.files.authority.File()
		s.config += fmt.Sprintf("tls: {cert: %q, key: %q}\n", s.files.cert, s.files.key)
	}
	s.host = mcptest.Start(t, mcptest.HostOptions{Config: s.config})
	if e.relayed {
		s.relay = newRelay(t, s.host.MCP)
	}
	return s
}

func (s *site) url() string {
	switch {
	case s.relay != nil:
		return "http://" + s.relay.address
	case s.files != nil:
		return "https://" + s.address()
	}
	return s.host.MCP
}

// address returns the address of the host itself.
func (s *site) address() string { return strings.TrimPrefix(s.host.MCP, "http://") }

// startNext starts the next host, with the state and the address of the one that has ended.
func (s *site) startNext() {
	s.t.Helper()
	s.host = mcptest.Start(s.t, mcptest.HostOptions{
		Config: s.config, State: s.host.State, Args: []string{"--listen", s.address()},
	})
}

// event happens while clients make calls.
type event struct {
	name string
	// does returns when the host is reachable again.
	does func(s *site)
	// inFlight says that calls in flight may fail, away that connections may be refused for a while,
	// and refuses that calls may be refused late in a drain.
	inFlight, away, refuses bool
	// drains says that the host ends connections by itself, cuts that streams end, relayed that
	// clients connect through a proxy, and secure that they use TLS.
	drains, cuts, relayed, secure bool
}

var events = []event{
	{name: "host killed, and started again", does: killed, cuts: true, inFlight: true, away: true},
	{name: "host drained, and started again", does: drained, drains: true, cuts: true, away: true,
		refuses: true},
	{name: "host drained and replaced, with its socket handed over", does: replaced, drains: true,
		cuts: true},
	{
		name: "proxy killed in mid-stream, and started again", does: cut,
		cuts: true, relayed: true, inFlight: true, away: true,
	},
	{name: "certificate renewed", does: renewed, secure: true},
}

func killed(s *site) {
	s.host.Kill()
	s.startNext()
}

func drained(s *site) {
	s.host.Stop()
	s.startNext()
}

func replaced(s *site) { s.host.Restart() }

func cut(s *site) { s.relay.kill(s.t) }
