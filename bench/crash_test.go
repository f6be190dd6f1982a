package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/notification"
	"mcpd/actors/request"
	"mcpd/actors/version"
	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/internal/load"
	"mcpd/supervisor"
	"mcpd/supervisor/otp"
)

// unlimited is a restart budget that a run which crashes on purpose does not exceed: nobody restarts a thousand times in a millisecond.
var unlimited = otp.Intensity{Restarts: 1000, Within: time.Millisecond}

// crashConfig has one server, whose own budget is as unlimited.
const crashConfig = `tenants: {default: {servers: {demo: {builtin: demo, share: tenant, intensity: {restarts: 1000, within: 1ms}}}}}`

// crash makes its receiver panic, by the fault that is armed for it. Nobody handles it.
type crash struct{}

// victim is a row of a tree, and what only a live incarnation of it answers.
type victim struct {
	name  string
	send  func(msg any) error
	serve func() error
	row   otp.Ref    // zero for one that is found anew after each crash
	limit load.Limit // of its median beside that of a bare row
}

// TestPanicToNextMessageServed measures from a panic in an actor of the real tree to its next message served (S4-99 to S4-104). The
// permanent ones answer a question. A session answers a ping, after it was attached anew. A connection answers a whole tools/call, for
// which it starts a new server, shakes hands with it and asks for its lists.
func TestPanicToNextMessageServed(t *testing.T) {
	unraced(t)
	faults := fault.New(clock.System)
	floor := plain(t, faults)
	actors := victims(t, faults)
	arm(t, faults)

	const rounds = load.MinPairs
	each := either(4000, 300)
	report := load.Report{Title: fmt.Sprintf("From a panic to the next message served, %d panics each", rounds*each)}
	for _, v := range actors {
		var p99s []float64
		all, took := newHistogram(), time.Duration(0)
		floors, subjects, err := load.Alternate(rounds,
			func(int) (float64, error) { return median(crashes(floor, each)) },
			func(int) (float64, error) {
				start := time.Now()
				h, err := crashes(v, each)
				if err != nil {
					return 0, err
				}
				took += time.Since(start)
				all.Merge(h)
				p99s = append(p99s, float64(h.ValueAtQuantile(99))/1e6)
				return median(h, nil)
			})
		if err != nil {
			t.Fatal(err)
		}
		ratio, err := load.Ratio(floors, subjects, 1)
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(rounds * each)
		report.Runs = append(report.Runs, load.Summarize(v.name, load.Result{
			Options: load.Options{Workers: 1}, Took: took, Latency: all, Counts: load.Counts{Sent: n, OK: n},
		}))
		report.Figures = append(report.Figures, load.NewFigure(v.name+", p99", "ms", p99s, goal(crashGoal.Seconds()*1e3)))
		report.Comparisons = append(report.Comparisons, load.Compare(v.name+" / bare row, median", ratio, v.limit))
	}
	publish(t, "crash", report)
}

// crashes crashes a row n times and returns how long it took each time until it served again.
func crashes(v victim, n int) (*hdrhistogram.Histogram, error) {
	h, before := newHistogram(), v.row.Incarnation()
	for range n {
		start := time.Now()
		if err := v.send(crash{}); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		if err := v.serve(); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		_ = h.RecordValue(int64(time.Since(start))) // patience is within its range
	}
	if began := v.row.Incarnation() - before; !v.row.IsZero() && began != uint64(n) {
		return nil, fmt.Errorf("%s: %d incarnations began in %d panics", v.name, began, n)
	}
	return h, nil
}

// newHistogram tells microseconds apart and holds whatever patience allows.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(100*time.Nanosecond), int64(2*patience), 3)
}

func median(h *hdrhistogram.Histogram, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	return float64(h.ValueAtQuantile(50)), nil
}

// arm makes everybody panic who receives a crash.
func arm(t *testing.T, faults *fault.Registry) {
	t.Helper()
	_, err := faults.Arm(fault.Fault{Action: fault.Panic, Point: fault.Point{Path: "*", Kind: fmt.Sprintf("%T", crash{})}, Lease: fault.MaxLease})
	if err != nil {
		t.Fatal(err)
	}
}

// question is what a permanent actor answers.
func question[Req, Resp any](to otp.Ref, req Req) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := otp.Do[Req, Resp](ctx, to, req)
		return err
	}
}

// plain is a row in a tree of its own that does nothing but answer.
func plain(t *testing.T, faults *fault.Registry) victim {
	t.Helper()
	sys := otp.NewSystem(otp.Options{Faults: faults})
	t.Cleanup(sys.Close)
	spec := otp.Spec{Intensity: unlimited, Children: []otp.Child{{ID: "row", Start: otp.Worker(func() otp.Behaviour { return echo{} })}}}
	if _, err := sys.Start(t.Context(), "bare", spec); err != nil {
		t.Fatal(err)
	}
	ref, _ := sys.Whereis("bare/row")
	return victim{name: "bare row", send: ref.Send, serve: question[int, int](ref, 1), row: ref}
}

// echo answers a number with itself.
type echo struct{ otp.Base }

func (echo) Receive(_ *otp.Process, msg any) error {
	if call, ok := msg.(*otp.Call[int, int]); ok {
		call.Reply(call.Req)
	}
	return nil
}

// victims are the actors of a running host.
func victims(t *testing.T, faults *fault.Registry) []victim {
	t.Helper()
	h := startHost(t, crashConfig, supervisor.Options{Embedded: true, Faults: faults, Intensity: unlimited})
	c, err := openClient(t.Context(), h, "default")
	if err != nil {
		t.Fatal(err)
	}
	if err := call(c)(); err != nil {
		t.Fatal(err)
	}
	at := func(path string) otp.Ref {
		ref, ok := h.Whereis("mcpd/" + path)
		if !ok {
			t.Fatalf("no row %s", path)
		}
		return ref
	}
	permanent := func(path string, serve func(otp.Ref) func() error) victim {
		ref := at(path)
		return victim{path, ref.Send, serve(ref), ref, restartLimit}
	}
	connection := at(connectionPath(t, h))
	return []victim{
		permanent("core/protocol_version", func(r otp.Ref) func() error {
			return question[version.SupportsRequest, bool](r, version.SupportsRequest{Version: "2025-11-25", Feature: "tasks"})
		}),
		permanent("tenants/default/request_manager", func(r otp.Ref) func() error {
			return question[request.PendingQuery, []request.Info](r, request.PendingQuery{})
		}),
		permanent("tenants/default/notification_dispatcher", func(r otp.Ref) func() error {
			return question[notification.StatsRequest, notification.Counts](r, notification.StatsRequest{})
		}),
		permanent("tenants/default/catalog", func(r otp.Ref) func() error {
			return question[catalog.ServersRequest, []catalog.Record](r, catalog.ServersRequest{})
		}),
		{"session: ping", c.Send, ping(c), otp.Ref{}, attachLimit},
		{"connection: tools/call", connection.Send, call(c), connection, reconnectLimit},
	}
}

// connectionPath is where the one connection is, below the root.
func connectionPath(t *testing.T, h *supervisor.Running) (path string) {
	t.Helper()
	h.Snapshot().Walk(func(n otp.Node) bool {
		if n.Label == "connection" {
			path = n.Path
		}
		return path == ""
	})
	return path[len("mcpd/"):]
}

func ping(c *client) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := c.request(ctx, "ping", nil)
		return err
	}
}

func call(c *client) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := c.request(ctx, "tools/call", jsontext.Value(callParams))
		return err
	}
}
