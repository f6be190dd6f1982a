package actor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// unlimited is an intensity that deliberate crashes do not exceed.
var unlimited = otp.Intensity{Restarts: otp.MaxRestarts, Within: time.Millisecond}

// crash is a message, or a request, that makes an actor panic.
type crash struct{}

// actor answers a number with the same number. The field told is notified of every incarnation.
type actor struct {
	otp.Base
	started *arrivals
}

func (a actor) Init(*otp.Process) error {
	a.started.one()
	return nil
}

func (a actor) Receive(_ *otp.Process, msg any) error {
	switch m := msg.(type) {
	case crash, *otp.Call[crash, int]:
		panic(errOnPurpose)
	case *otp.Call[int, int]:
		m.Reply(m.Req)
	}
	return nil
}

// crashing returns a fault that makes the actors at a path panic on a crash message, including
// actors that do not know the message.
func crashing(path string) fault.Fault {
	return fault.Fault{
		Action: fault.Panic, Point: fault.Point{Path: path, Kind: fmt.Sprintf("%T", crash{})},
		Lease: fault.MaxLease,
	}
}

var errOnPurpose = errors.New("on purpose")

// arrivals signals when a number of incarnations has begun.
type arrivals struct {
	left atomic.Int64
	all  chan struct{}
}

func newArrivals(n int) *arrivals {
	a := &arrivals{all: make(chan struct{}, 1)}
	a.expect(n)
	return a
}

func (a *arrivals) expect(n int) { a.left.Store(int64(n)) }

func (a *arrivals) one() {
	if a != nil && a.left.Add(-1) == 0 {
		a.all <- struct{}{}
	}
}

func worker(told *arrivals) otp.Start {
	return otp.Worker(func() otp.Behaviour { return actor{started: told} })
}

// workers returns n actors, numbered from 0.
func workers(n int, told *arrivals) []otp.Child {
	children := make([]otp.Child, n)
	for i := range children {
		children[i] = otp.Child{ID: fmt.Sprint(i), Start: worker(told)}
	}
	return children
}

// testSystem is a system with one tree.
type testSystem struct {
	*otp.System
	tree    *otp.Tree
	reports *reports
}

func newTestSystem(o otp.Options, spec otp.Spec, log io.Writer) (*testSystem, error) {
	g := &testSystem{}
	if log != nil {
		g.reports = newReports(log)
		o.Events = g.reports.take
	}
	g.System = otp.NewSystem(o)
	var err error
	if g.tree, err = g.System.Start(context.Background(), "bench", spec); err != nil {
		g.close()
		return nil, err
	}
	runtime.GC() // collect the garbage of building the tree, since long-lived actors are measured
	return g, nil
}

func (g *testSystem) close() {
	g.System.Close()
	if g.reports != nil {
		g.reports.close()
	}
}

// at returns an existing row of the tree.
func (g *testSystem) at(id string) otp.Ref { return g.tree.Ref().Child(id) }

// maxReports is how many crashes may wait to be written. It equals the length of the host's queue.
const maxReports = telemetry.QueueLen

// reports writes every crash with its stack on a goroutine of its own, as the host does within its
// limits.
type reports struct {
	queue chan otp.Event
	done  chan struct{}
	log   *slog.Logger
}

func newReports(w io.Writer) *reports {
	r := &reports{
		queue: make(chan otp.Event, maxReports), done: make(chan struct{}),
		log: telemetry.NewLogger(w, telemetry.FormatJSON, slog.LevelInfo),
	}
	go r.write() // owner: the testSystem, whose close waits for it
	return r
}

func (r *reports) take(e otp.Event) {
	select {
	case r.queue <- e:
	default: // as in the host, a report is dropped if the queue is full
	}
}

func (r *reports) write() {
	defer close(r.done)
	for e := range r.queue {
		if e, ok := e.(otp.ChildExited); ok && e.Report != nil {
			r.log.Error("child_exited", "path", e.Path, "incarnation", e.Incarnation, "reason",
				e.Reason.Error(), "message", e.Report.MessageKind(), "stack", e.Report.Stack())
		}
	}
}

func (r *reports) close() {
	close(r.queue)
	<-r.done
}

// openLog opens the file to which reports are written.
func openLog(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}
