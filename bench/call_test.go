package bench

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/load"
)

// callers is how many sessions call at the same time: enough to keep two cores busy.
const callers = 16

// callRate is that of the paced runs, in calls a second: far below what any of the targets can do, so that latency is not queueing.
const callRate = 500

// callConfig is a host with two servers: one inside it, and a program as small as a server can be.
const callConfig = `
listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0"}
tenants:
  default:
    servers:
      demo: {builtin: demo}
      small: {command: %q, env: {` + roleVariable + `: stdio}}
`

// target is something that answers calls, and how much CPU it has used for them as far as that can be told.
type target struct {
	name    string
	clients []load.Client
	cpu     func() float64 // seconds; nil when it shares its process with the load
}

// TestCallBesideDirectCall measures tools/call through a host, of a built-in server and of a program, beside the same servers without
// the host, and beside a bare net/http server that answers at once: what HTTP itself costs.
func TestCallBesideDirectCall(t *testing.T) {
	unraced(t)
	bare, host := start(t, "bare"), start(t, "host", configVariable+"="+fmt.Sprintf(callConfig, os.Args[0]))
	targets := []target{
		{"bare HTTP", sessions(t, bare.URL, "echo"), bare.cpu},
		{"program, direct", []load.Client{directStdio(t)}, nil},
		{"program, through the host", sessions(t, host.URL, "small__echo"), host.cpu},
		{"built-in, direct", []load.Client{directBuiltin(t)}, nil},
		{"built-in, through the host", sessions(t, host.URL, "demo__echo"), host.cpu},
	}
	report := load.Report{Title: "A call through the host beside a direct one"}
	rates, cpus := measureCalls(t, &report, targets)
	for _, pair := range []struct{ baseline, subject int }{{1, 2}, {3, 4}, {0, 2}, {0, 4}} {
		name := targets[pair.subject].name + " / " + targets[pair.baseline].name
		rate := compare(t, name+": calls a second", rates[pair.baseline], rates[pair.subject])
		if len(cpus[pair.baseline]) > 0 { // beside bare HTTP
			rate = load.Compare(rate.Name, rate.Estimate, callLimit)
			report.Comparisons = append(report.Comparisons, compare(t, name+": CPU a call", cpus[pair.baseline], cpus[pair.subject]))
		}
		report.Comparisons = append(report.Comparisons, rate)
	}
	publish(t, "call", report)
}

// measureCalls takes the targets in turn, round by round, as fast as they go, and then at a fixed rate.
func measureCalls(t *testing.T, report *load.Report, targets []target) (rates, cpus [][]float64) {
	t.Helper()
	rates, cpus = make([][]float64, len(targets)), make([][]float64, len(targets))
	for round := range load.MinPairs {
		for i, target := range targets {
			r, cpu := run(t, target, uint64(round*len(targets)+i), 0)
			rates[i] = append(rates[i], r.Throughput())
			if target.cpu != nil {
				cpus[i] = append(cpus[i], cpu)
			}
			if round == load.MinPairs-1 {
				report.Runs = append(report.Runs, load.Summarize(target.name, r))
			}
		}
	}
	for i, target := range targets {
		report.Figures = append(report.Figures, load.NewFigure(target.name, "calls/s", rates[i], 0))
		if target.cpu != nil {
			report.Figures = append(report.Figures, load.NewFigure(target.name+", CPU", "µs/call", cpus[i], 0))
		}
		r, _ := run(t, target, uint64(1000+i), callRate)
		report.Runs = append(report.Runs, load.Summarize(target.name, r))
	}
	return rates, cpus
}

// run puts calls on a target for a while and returns what came of them, and the CPU that each took in µs.
func run(t *testing.T, to target, number uint64, rate float64) (load.Result, float64) {
	t.Helper()
	o := load.Options{
		Clock: clock.System, Run: number, Workers: callers, Rate: rate, Calls: load.MaxCalls, For: either(3*time.Second, 300*time.Millisecond),
		Timeout: patience, Warmup: callers,
	}
	before := 0.0
	if to.cpu != nil {
		before = to.cpu()
	}
	r, err := load.Run(t.Context(), to.clients, o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Clean() {
		t.Errorf("%s: %+v %v", to.name, r.Counts, r.Errors)
	}
	if to.cpu == nil {
		return r, 0
	}
	return r, (to.cpu() - before) / float64(r.Counts.Sent) * 1e6
}

func compare(t *testing.T, name string, baseline, subject []float64) load.Comparison {
	t.Helper()
	ratio, err := load.Ratio(baseline, subject, 1)
	if err != nil {
		t.Fatal(err)
	}
	return load.Comparison{Name: name, Estimate: ratio}
}

// sessions opens a session for each caller. They end with the test.
func sessions(t *testing.T, url, tool string) (clients []load.Client) {
	t.Helper()
	for range callers {
		s, err := load.Connect(t.Context(), load.SessionOptions{URL: url, Tool: tool, Argument: "message"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close(context.Background()) }) // the process it belongs to ends as well
		clients = append(clients, s)
	}
	return clients
}

// cpu is what the process has used, in seconds.
func (p *process) cpu() float64 { return p.now(false).CPU }
