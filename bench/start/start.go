// Package start measures three times: how soon a host is ready after its process began, whether its
// configured servers delay it, and how soon clients are served again after a server's or the host's
// process was killed.
package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/subject"
	"mcpd/internal/load"
	"mcpd/supervisor"
)

// Scenarios are the scenarios of this package.
var Scenarios = []kit.Scenario{{
	Name: "start", Title: "From exec to ready",
	Description: "From before a host's process is started to the first 200 of its /readyz, with one " +
		"configured server and with a hundred of every kind: programs of which " +
		"one in four never answers, addresses where nobody is, built-in ones. Servers are started when " +
		"they are asked for, so a hundred may cost no more than their lines.",
	Measure: measure,
}, {
	Name: "restart-process", Title: "A process that was killed is back",
	Description: "A program that a host has started is killed: until a call through the host is " +
		"answered " +
		"again, beside the program's start without a host, up to its " +
		"first call. A server over HTTP is killed and started again: from then until a call through " +
		"the host is answered, beside that of a new client without a " +
		"host. A host with sessions is killed and started again: until its /readyz says so, beside a " +
		"first start; and then the first call of a session from before.",
	Measure: measureKilled,
}}

// Roles are the processes of this package.
var Roles = []kit.Role{{Name: readiness, Serve: serve}, {Name: survivor, Serve: serveSurvivor}}

// readiness is a host whose URL is that of the admin listener's readiness probe.
const readiness = "readiness"

func serve(ctx context.Context, config string) (string, error) {
	return serveReady(ctx, config, supervisor.Options{})
}

func serveReady(ctx context.Context, config string, o supervisor.Options) (string, error) {
	h, err := subject.Open(ctx, config, o)
	if err != nil {
		return "", err
	}
	go func() { // owner: the process, which ends with it
		if err := h.Run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "bench: readiness:", err)
			os.Exit(1)
		}
	}()
	_, admin := h.Addrs()
	return "http://" + admin + "/readyz", nil
}

const (
	scenario = "start"
	many     = 100
	// limit bounds the start with many servers, relative to the start with one server. Reading and
	// checking their configuration is most of the difference; waiting for any server would cost much
	// more.
	limit = 2
)

func measure(ctx context.Context, r *kit.Run) error {
	took := func(config string) func(int) (float64, error) {
		return func(int) (float64, error) { return ready(ctx, config) }
	}
	if _, err := ready(ctx, servers(1)); err != nil { // loads the program into memory
		return err
	}
	ones, manies, err := load.Alternate(kit.ByForm(r, 20, 2*load.MinPairs), took(servers(1)),
		took(servers(many)))
	if err != nil {
		return err
	}
	m := record.Measurement{
		Scenario: scenario, Case: "1 server", Subject: record.Mcpd, Quantity: "exec to ready", Unit: "ms",
		Rounds: ones,
	}
	r.Add(m)
	of := m
	of.Case, of.Rounds = fmt.Sprint(many, " servers"), manies
	r.Add(of)
	return r.Compare("of one server's", of, m, kit.Limits{Gate: limit, Goal: 1.1})
}

// ready starts a host, waits until it is ready, stops it, and returns the time until it was ready,
// in ms.
func ready(ctx context.Context, config string) (took float64, err error) {
	begin := time.Now()
	p, err := kit.Start(ctx, readiness, config)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	return untilReady(ctx, p.URL, begin)
}

// untilReady polls until a host is ready, and returns the time since begin, in ms.
func untilReady(ctx context.Context, url string, begin time.Time) (float64, error) {
	for deadline := time.Now().Add(kit.Patience); time.Now().Before(deadline); {
		status, err := get(ctx, url)
		if err != nil {
			return 0, err
		}
		if status == http.StatusOK {
			return float64(time.Since(begin)) / float64(time.Millisecond), nil
		}
		time.Sleep(time.Millisecond) // the resolution of the measurement
	}
	return 0, fmt.Errorf("not ready after %v", kit.Patience)
}

func get(ctx context.Context, url string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	req.Close = true // a kept connection would belong to a process that is gone
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, errors.Join(err, res.Body.Close())
}

// servers returns a configuration with n servers: programs, addresses and built-in servers in turn.
func servers(n int) string {
	kinds := []string{
		`{command: /bin/sleep, args: ["3600"]}`, // starts and never answers
		`{url: "http://127.0.0.1:9/mcp"}`,       // nothing listens there
		`{builtin: demo}`,
		`{command: no-such-program}`,
	}
	var b strings.Builder
	b.WriteString("listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\ntenants:\n  default:\n    " +
		"servers:\n")
	for i := range n {
		fmt.Fprintf(&b, "      server-%d: %s\n", i, kinds[i%len(kinds)])
	}
	return b.String()
}
