package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/subject"
	"mcpd/internal/load"
	"mcpd/supervisor"
)

// survivor is a host with a state directory. Its argument is that directory, a line break and a
// configuration. Its URL is that of the admin listener.
const survivor = "survivor"

func serveSurvivor(ctx context.Context, argument string) (string, error) {
	state, config, _ := strings.Cut(argument, "\n")
	return serveReady(ctx, config, supervisor.Options{State: state})
}

// measureKilled measures the cases one after the other. Each kills a process and waits until its
// clients are served again. The reference is the same without a host.
func measureKilled(ctx context.Context, r *kit.Run) error {
	return errors.Join(killProgram(ctx, r), killServer(ctx, r), killHost(ctx, r))
}

// after adds the measurements of a case, and their comparison.
func after(r *kit.Run, name, quantity, beside string, l kit.Limits,
	baselines, subjects []float64) error {
	m := record.Measurement{
		Scenario: "restart-process", Case: name, Subject: record.Mcpd, Quantity: quantity, Unit: "ms",
		Rounds: subjects,
	}
	of := m
	of.Subject, of.Rounds = beside, baselines
	r.Add(m)
	r.Add(of)
	return r.Compare("of "+beside, m, of, l)
}

func rounds(r *kit.Run) int { return kit.ByForm(r, 30, 2*load.MinPairs) }

// through starts a host with one server and opens a session with it.
func through(ctx context.Context, server string) (*kit.Process, *load.Session, error) {
	host, err := kit.Start(ctx, subject.Host,
		`{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {default: {servers: {one: `+
			server+`}}}}`)
	if err != nil {
		return nil, nil, err
	}
	s, err := load.Connect(ctx, load.SessionOptions{
		URL: host.URL, Tool: "one__echo", Argument: "message",
	})
	if err == nil {
		_, err = s.Call(ctx, "first")
	}
	if err != nil {
		return nil, nil, errors.Join(err, host.Stop())
	}
	return host, s, nil
}

// good makes calls until one is answered, and returns the time since begin, in ms.
func good(ctx context.Context, s *load.Session, begin time.Time) (float64, error) {
	for n := 0; ; n++ {
		nonce := load.Nonce(fmt.Sprint(begin.UnixNano(), "-", n))
		got, err := s.Call(ctx, nonce)
		switch {
		case err == nil && got == nonce:
			return float64(time.Since(begin)) / float64(time.Millisecond), nil
		case err == nil:
			return 0, fmt.Errorf("%s was answered with %s", nonce, got)
		case time.Since(begin) > kit.Patience || ctx.Err() != nil:
			return 0, err
		}
		time.Sleep(100 * time.Microsecond) // the resolution of the measurement
	}
}

// killProgram kills a server that is a program while there are no calls.
func killProgram(ctx context.Context, r *kit.Run) (err error) {
	program, args, err := kit.RoleCommand(subject.EchoStdio, "legacy")
	if err != nil {
		return err
	}
	command, err := subject.Command(subject.EchoStdio, "legacy")
	if err != nil {
		return err
	}
	host, s, err := through(ctx,
		"{"+command+", share: tenant, intensity: {restarts: 1000, within: 1ms}}")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Stop()) }()
	bare, killed, err := load.Alternate(rounds(r),
		func(int) (float64, error) { return alone(ctx, program, args) },
		func(int) (float64, error) {
			text, err := s.Ask(ctx, "tools/call", `{"name":"one__self","arguments":{}}`)
			if err != nil {
				return 0, err
			}
			pid, err := strconv.Atoi(text)
			if err != nil {
				return 0, err
			}
			begin := time.Now()
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				return 0, err
			}
			return good(ctx, s, begin)
		})
	if err != nil {
		return err
	}
	return after(r, "a program", "killed to the next good call", "the program alone",
		kit.Limits{Gate: 3}, bare, killed)
}

// killServer kills a server at an address and starts it again there. The timing begins with its
// second start.
func killServer(ctx context.Context, r *kit.Run) (err error) {
	address, err := kit.Free()
	if err != nil {
		return err
	}
	server, err := kit.Start(ctx, subject.Bare, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	again := func(use func(begin time.Time) (float64, error)) (float64, error) {
		server.Kill()
		begin := time.Now()
		next, err := kit.Start(ctx, subject.Bare, address)
		if err != nil {
			return 0, err
		}
		server = next
		return use(begin)
	}
	direct, via, err := load.Alternate(rounds(r),
		func(int) (float64, error) {
			return again(func(begin time.Time) (took float64, err error) {
				s, err := load.Connect(ctx, load.SessionOptions{
					URL: server.URL, Tool: "echo", Argument: "message",
				})
				if err != nil {
					return 0, err
				}
				defer func() { err = errors.Join(err, s.Close(ctx)) }()
				return good(ctx, s, begin)
			})
		},
		// A new host each time: if a server ends more often than its intensity allows, the host waits
		// before it connects.
		func(int) (took float64, err error) {
			host, s, err := through(ctx, `{url: "http://`+address+`/mcp", share: tenant}`)
			if err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, host.Stop()) }()
			return again(func(begin time.Time) (float64, error) { return good(ctx, s, begin) })
		})
	if err != nil {
		return err
	}
	return after(r, "a server over HTTP", "started again to the next good call",
		"a new client without a host", kit.Limits{Gate: 3}, direct, via)
}

// killHost kills a host with sessions and starts it again at the same address, with its sessions.
func killHost(ctx context.Context, r *kit.Run) (err error) {
	state, err := os.MkdirTemp("", "mcpd-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(state)) }()
	address, err := kit.Free()
	if err != nil {
		return err
	}
	config := `{listen: "` + address +
		`", admin: {listen: "127.0.0.1:0"}, tenants: {default: {servers: {one: {builtin: demo}}}}}`
	host, err := kit.Start(ctx, survivor, state+"\n"+config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Stop()) }()
	sessions := make([]*load.Session, kit.ByForm(r, 1000, 100))
	for i := range sessions {
		if sessions[i], err = load.Connect(ctx,
			load.SessionOptions{URL: "http://" + address + "/mcp", Tool: "one__echo",
				Argument: "message"}); err != nil {
			return err
		}
	}
	var attached []float64
	first, again, err := load.Alternate(rounds(r),
		func(int) (float64, error) { return ready(ctx, servers(1)) },
		func(round int) (float64, error) {
			begin := time.Now()
			host.Kill()
			next, err := kit.Start(ctx, survivor, state+"\n"+config)
			if err != nil {
				return 0, err
			}
			host = next
			took, err := untilReady(ctx, host.URL, begin)
			if err != nil {
				return 0, err
			}
			one, err := good(ctx, sessions[round%len(sessions)], time.Now())
			attached = append(attached, one)
			return took, err
		})
	if err != nil {
		return err
	}
	r.Add(record.Measurement{
		Scenario: "restart-process", Case: fmt.Sprintf("a host with %d sessions", len(sessions)),
		Subject:  record.Mcpd,
		Quantity: "first call of an earlier session", Unit: "ms", Rounds: attached,
	})
	return after(r, fmt.Sprintf("a host with %d sessions", len(sessions)), "killed to ready",
		"a first start", kit.Limits{Gate: 4}, first, again)
}
