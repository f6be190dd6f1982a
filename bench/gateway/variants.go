package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/subject"
)

// callers is the number of sessions in scenarios that do not vary it.
const callers = 16

var callEras = kit.Scenario{
	Name: "call-eras", Title: "A call between the eras",
	Description: "tools/call as in call-stdio and call-http, of clients that open a session " +
		"(2025-11-25) " +
		"and of clients that do not (2026-07-28), to servers of either " +
		"kind. A call that crosses from one era to the other is compared with that of the same client " +
		"to a server of its own era, and a call " +
		"without a session with one in a session to the same server.",
	Measure: func(ctx context.Context, r *kit.Run) error {
		return errors.Join(
			measureEras(ctx, r, "program",
				func(_ context.Context, _ *processes, era string) (string, error) {
					return stdioServer(era)
				}),
			measureEras(ctx, r, "HTTP", func(ctx context.Context, p *processes, era string) (string, error) {
				echo, err := p.start(ctx, subject.Echo, era)
				if err != nil {
					return "", err
				}
				return "{url: " + strconv.Quote(echo.URL) + "}", nil
			}),
		)
	},
}

// measureEras measures every pair of eras, with a server of each era.
func measureEras(ctx context.Context, r *kit.Run, to string,
	server func(ctx context.Context, p *processes, era string) (string, error)) (err error) {
	var all processes
	defer func() { err = errors.Join(err, all.stop()) }()
	servers := map[string]string{}
	for _, era := range eras {
		if servers[era], err = server(ctx, &all, era); err != nil {
			return err
		}
	}
	host, err := all.hostOf(ctx, servers)
	if err != nil {
		return err
	}
	for _, n := range kit.ByForm(r, sessionCounts(r), []int{callers}) {
		if err := measureErasOf(ctx, r, to, n, host); err != nil {
			return fmt.Errorf("%s, %s: %w", to, plural(n), err)
		}
	}
	return nil
}

// measureErasOf measures every pair of eras with n sessions.
func measureErasOf(ctx context.Context, r *kit.Run, to string, n int, host *kit.Process) error {
	t := trial{scenario: "call-eras", title: to + ", " + plural(n), sessions: n}
	for _, client := range eras {
		for _, server := range eras {
			t.targets = append(t.targets, &target{
				name: pair(client, server), process: host, url: host.URL, tool: server + "__echo",
				modern: client == "modern", pad: pad,
			})
		}
	}
	f, err := t.run(ctx, r)
	if err != nil {
		return err
	}
	return compareEras(r, to, f)
}

// pair is the name of a client of one era with a server of another.
func pair(client, server string) string { return client + " client, " + server + " server" }

// compareEras compares the cases that differ in one era only.
func compareEras(r *kit.Run, to string, f figures) error {
	for i, client := range eras {
		crossed, same := f.of(pair(client, eras[1-i]), cpuPerCall), f.of(pair(client, client), cpuPerCall)
		if err := r.Compare("CPU per call, crossed, of the same era's: "+client+" client", crossed, same,
			crossing(to, client)); err != nil {
			return err
		}
	}
	for _, server := range eras {
		modern, legacy := f.of(pair("modern", server),
			cpuPerCall), f.of(pair("legacy", server), cpuPerCall)
		if err := r.Compare("CPU per call, modern, of the legacy one's: "+server+" server", modern,
			legacy, kit.Limits{Gate: 1.15, Goal: 1.1}); err != nil {
			return err
		}
	}
	return nil
}

// crossing returns the limits of a call from one era to the other.
func crossing(to, client string) kit.Limits {
	if to == "HTTP" && client == "legacy" {
		return kit.Limits{Gate: 1.25, Goal: 1.15}
	}
	return kit.Limits{Gate: 1.3, Goal: 1.15}
}

var eras = []string{"legacy", "modern"}

// hostOf starts mcpd with servers by name.
func (p *processes) hostOf(ctx context.Context, servers map[string]string) (*kit.Process, error) {
	return p.start(ctx, subject.Host, hostText(servers))
}

// alone is the case of a tenant with one server.
const alone = "1 server"

var callServers = kit.Scenario{
	Name: "call-servers", Title: "A call among many servers",
	Description: "tools/call as in call-http, to one server of a tenant that has 1, 10 or 100, " +
		"whose tools " +
		"clients see as one list.",
	Measure: func(ctx context.Context, r *kit.Run) (err error) {
		var all processes
		defer func() { err = errors.Join(err, all.stop()) }()
		echo, err := all.start(ctx, subject.Echo, "legacy")
		if err != nil {
			return err
		}
		t := trial{scenario: "call-servers", title: plural(callers), sessions: callers}
		for _, n := range []int{1, 10, 100} {
			servers := map[string]string{}
			for i := range n {
				servers[fmt.Sprintf("s%d", i)] = "{url: " + strconv.Quote(echo.URL) + ", share: tenant}"
			}
			host, err := all.hostOf(ctx, servers)
			if err != nil {
				return err
			}
			name := alone
			if n > 1 {
				name = fmt.Sprintf("%d servers", n)
			}
			t.targets = append(t.targets, &target{
				name: name, process: host, url: host.URL, tool: fmt.Sprintf("s%d__echo", n/2), pad: pad,
			})
		}
		f, err := t.run(ctx, r)
		if err != nil {
			return err
		}
		return errors.Join(
			r.Compare("CPU per call among 10 servers, of that among one", f.of("10 servers", cpuPerCall),
				f.of(alone, cpuPerCall), kit.Limits{}),
			r.Compare("CPU per call among 100 servers, of that among one", f.of("100 servers", cpuPerCall),
				f.of(alone, cpuPerCall),
				kit.Limits{Gate: 1.1, Goal: 1.05}),
		)
	},
}

var callPayload = kit.Scenario{
	Name: "call-payload", Title: "A call with a large message",
	Description: "tools/call of an echo server, with messages of 64 bytes to 1 MiB there and back: " +
		"through " +
		"mcpd and through the relays, to a program and to a " +
		"server over HTTP.",
	Measure: func(ctx context.Context, r *kit.Run) (err error) {
		for _, to := range []struct {
			name  string
			start func(context.Context, *processes) ([]*target, error)
		}{{"program", startStdio}, {"HTTP", startHTTP}} {
			if err := payloads(ctx, r, to.name, to.start); err != nil {
				return fmt.Errorf("%s: %w", to.name, err)
			}
		}
		return nil
	},
}

// nonceSize is about the size of a nonce.
const nonceSize = 8

func payloads(ctx context.Context, r *kit.Run, to string,
	start func(context.Context, *processes) ([]*target, error)) (err error) {
	var all processes
	defer func() { err = errors.Join(err, all.stop()) }()
	targets, err := start(ctx, &all)
	if err != nil {
		return err
	}
	for _, size := range kit.ByForm(r, []int{64, 1 << 10, 16 << 10, 128 << 10, 1 << 20},
		[]int{16 << 10}) {
		for _, target := range targets {
			target.pad = strings.Repeat(".", size-nonceSize)
		}
		t := trial{
			scenario: "call-payload", title: fmt.Sprintf("%s, %d bytes", to, size), sessions: callers,
			targets: targets,
		}
		f, err := t.run(ctx, r)
		if err != nil {
			return fmt.Errorf("%d bytes: %w", size, err)
		}
		err = r.Compare("CPU per call of the relay's", f.of(record.Mcpd, cpuPerCall),
			f.of(limit, cpuPerCall), kit.Limits{})
		if err != nil {
			return err
		}
	}
	return nil
}

var callForms = kit.Scenario{
	Name: "call-forms", Title: "Answers as JSON and as a stream",
	Description: "tools/call as in call-http, of a server that answers with JSON and of one that " +
		"answers " +
		"with a stream of one event.",
	Measure: func(ctx context.Context, r *kit.Run) (err error) {
		var all processes
		defer func() { err = errors.Join(err, all.stop()) }()
		servers := map[string]string{}
		for name, argument := range map[string]string{"json": "legacy", "stream": "legacy sse"} {
			echo, err := all.start(ctx, subject.Echo, argument)
			if err != nil {
				return err
			}
			servers[name] = "{url: " + strconv.Quote(echo.URL) + "}"
		}
		host, err := all.hostOf(ctx, servers)
		if err != nil {
			return err
		}
		t := trial{scenario: "call-forms", title: plural(callers), sessions: callers}
		for _, name := range []string{"json", "stream"} {
			t.targets = append(t.targets, &target{
				name: name, process: host, url: host.URL, tool: name + "__echo", pad: pad,
			})
		}
		f, err := t.run(ctx, r)
		if err != nil {
			return err
		}
		return r.Compare("CPU per call with a stream, of that with JSON", f.of("stream", cpuPerCall),
			f.of("json", cpuPerCall), kit.Limits{})
	},
}

var callPaced = kit.Scenario{
	Name: "call-paced", Title: "A call at a moderate rate",
	Description: "tools/call as in call-http by 16 sessions, 500 calls a second whether answers " +
		"come or " +
		"not, and latency from when each was due. The 99th " +
		"percentile through mcpd is compared with the direct one's and a millisecond (0.3 ms for the " +
		"goal).",
	Measure: func(ctx context.Context, r *kit.Run) (err error) {
		var all processes
		defer func() { err = errors.Join(err, all.stop()) }()
		targets, err := startHTTP(ctx, &all)
		if err != nil {
			return err
		}
		t := trial{
			scenario: "call-paced", title: "500 calls a second", sessions: callers, rate: 500,
			targets: targets,
		}
		f, err := t.run(ctx, r)
		if err != nil {
			return err
		}
		// a millisecond is no ratio: a short run, whose machine may be busy, does not judge it
		through := f.of(record.Mcpd, p99)
		return errors.Join(
			r.Compare("p99 of the direct one's and 1 ms", through, later(f.of(direct, p99), 1000),
				kit.Limits{Gate: kit.ByForm(r, 1.0, 0)}),
			r.Compare("p99 of the direct one's and 0.3 ms", through, later(f.of(direct, p99), 300),
				kit.Limits{Goal: 1}),
		)
	},
}

// later returns a latency plus some µs.
func later(m record.Measurement, more float64) record.Measurement {
	rounds := make([]float64, len(m.Rounds))
	for i, v := range m.Rounds {
		rounds[i] = v + more
	}
	m.Rounds = rounds
	return m
}
