package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/subject"
)

// Names of the subjects besides mcpd.
const (
	direct = "direct"
	proxy  = "ReverseProxy"
	limit  = "relay"
)

var callStdio = kit.Scenario{
	Name: "call-stdio", Title: "A call to a program",
	Description: "tools/call of an echo server that is a program, 64 bytes, by sessions that each " +
		"call " +
		"again at once: through mcpd, and through a relay that " +
		"only rewrites ids and shares one child. Timed from the client; processor time is that of the " +
		"process between, without its child.",
	Measure: func(ctx context.Context, r *kit.Run) error {
		return measureCalls(ctx, r, "call-stdio", startStdio, compareStdio)
	},
}

var callHTTP = kit.Scenario{
	Name: "call-http", Title: "A call to a server over HTTP",
	Description: "tools/call of an echo server over HTTP, 64 bytes, by sessions that each call " +
		"again at " +
		"once: directly, through net/http's ReverseProxy, " +
		"through a relay with connections kept by hand, and through mcpd. Timed from the client; " +
		"processor time is that of the process between.",
	Measure: func(ctx context.Context, r *kit.Run) error {
		return measureCalls(ctx, r, "call-http", startHTTP, compareHTTP)
	},
}

// sessionCounts returns the numbers of sessions of a run.
func sessionCounts(r *kit.Run) []int {
	return kit.ByForm(r, []int{1, 16, 128, 1024}, []int{16, 128})
}

// pad makes a nonce about 64 bytes long.
const pad = "........................................................"

// hostConfig is the beginning of a host's configuration, with limits high enough for all concurrent
// calls.
const hostConfig = `
listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0"}
limits: {max_pending: 10000, max_session_pending: 2560}
tenants:
  default:
    servers:
`

// hostText returns a host's configuration with servers by name.
func hostText(servers map[string]string) string {
	text := hostConfig
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		text += "      " + name + ": " + servers[name] + "\n"
	}
	return text
}

// stdioServer returns the configuration of the echo server as a program.
func stdioServer(eras string) (string, error) {
	text, err := subject.Command(subject.EchoStdio, eras)
	return "{" + text + "}", err
}

// processes are the processes of a scenario, which end with it.
type processes []*kit.Process

func (p *processes) start(ctx context.Context, role, argument string) (*kit.Process, error) {
	one, err := kit.Start(ctx, role, argument)
	if err == nil {
		*p = append(*p, one)
	}
	return one, err
}

func (p *processes) stop() (err error) {
	for _, one := range *p {
		err = errors.Join(err, one.Stop())
	}
	return err
}

// host starts mcpd with one server.
func (p *processes) host(ctx context.Context, server string) (*target, error) {
	host, err := p.start(ctx, subject.Host, hostText(map[string]string{"echo": server}))
	if err != nil {
		return nil, err
	}
	return &target{name: record.Mcpd, process: host, url: host.URL, tool: "echo__echo", pad: pad}, nil
}

// beside starts a role that is measured besides mcpd.
func (p *processes) beside(ctx context.Context, name, role, argument string) (*target, error) {
	one, err := p.start(ctx, role, argument)
	if err != nil {
		return nil, err
	}
	return &target{name: name, process: one, url: one.URL, tool: "echo", pad: pad}, nil
}

func startStdio(ctx context.Context, p *processes) (targets []*target, err error) {
	server, err := stdioServer("legacy")
	if err != nil {
		return nil, err
	}
	host, err := p.host(ctx, server)
	if err != nil {
		return nil, err
	}
	relay, err := p.beside(ctx, limit, relayStdioRole, "legacy")
	return []*target{host, relay}, err
}

func startHTTP(ctx context.Context, p *processes) (targets []*target, err error) {
	echo, err := p.beside(ctx, direct, subject.Echo, "legacy")
	if err != nil {
		return nil, err
	}
	host, err := p.host(ctx, "{url: "+strconv.Quote(echo.url)+"}")
	if err != nil {
		return nil, err
	}
	targets = []*target{host, echo}
	for _, between := range []struct{ name, role string }{{limit, relayRole}, {proxy, proxyRole}} {
		one, err := p.beside(ctx, between.name, between.role, echo.url)
		if err != nil {
			return nil, err
		}
		targets = append(targets, one)
	}
	return targets, nil
}

// measureCalls measures targets at each number of sessions, and compares them.
func measureCalls(ctx context.Context, r *kit.Run, scenario string,
	start func(context.Context, *processes) ([]*target, error),
	compare func(*kit.Run, int, figures) error,
) (err error) {
	var all processes
	defer func() { err = errors.Join(err, all.stop()) }()
	targets, err := start(ctx, &all)
	if err != nil {
		return err
	}
	for _, sessions := range sessionCounts(r) {
		t := trial{scenario: scenario, title: plural(sessions), sessions: sessions, targets: targets}
		f, err := t.run(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", t.title, err)
		}
		if err := compare(r, sessions, f); err != nil {
			return err
		}
	}
	return nil
}

func plural(sessions int) string {
	if sessions == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", sessions)
}

// gated returns the limits for the numbers of sessions at which they apply. A single session mostly
// waits, and with more than some hundred sessions memory dominates.
func gated(sessions int, l kit.Limits) kit.Limits {
	if sessions == 16 || sessions == 128 {
		return l
	}
	return kit.Limits{}
}

func compareStdio(r *kit.Run, sessions int, f figures) error {
	return errors.Join(
		r.Compare("CPU per call of the relay's", f.of(record.Mcpd, cpuPerCall), f.of(limit, cpuPerCall),
			gated(sessions, kit.Limits{Gate: 1.45, Goal: 1.25})),
		r.Compare("throughput of the relay's", f.of(record.Mcpd, throughput), f.of(limit, throughput),
			gated(sessions, kit.Limits{Gate: 0.85, Goal: 0.95, LowerBound: true})),
	)
}

func compareHTTP(r *kit.Run, sessions int, f figures) error {
	return errors.Join(
		r.Compare("CPU per call of the relay's", f.of(record.Mcpd, cpuPerCall), f.of(limit, cpuPerCall),
			gated(sessions, kit.Limits{Gate: 1.7, Goal: 1.25})),
		r.Compare("CPU per call of ReverseProxy's", f.of(record.Mcpd, cpuPerCall),
			f.of(proxy, cpuPerCall), kit.Limits{}),
		r.Compare("throughput of the direct server's", f.of(record.Mcpd, throughput),
			f.of(direct, throughput),
			gated(sessions, kit.Limits{Goal: 0.35, LowerBound: true})),
	)
}
