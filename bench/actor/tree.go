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

// unlimited is an intensity that runs which crash on purpose do not exceed.
var unlimited = otp.Intensity{Restarts: otp.MaxRestarts, Within: time.Millisecond}

// crash is a message, or a request, on which an actor panics.
type crash struct{}

// actor answers a number with itself. Told hears of every incarnation.
type actor struct {
	otp.Base
	told *arrivals
}

func (a actor) Init(*otp.Process) error {
	a.told.one()
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

// crashing makes the actors at a path panic on a crash, also those that do not by themselves.
func crashing(path string) fault.Fault {
	return fault.Fault{Action: fault.Panic, Point: fault.Point{Path: path, Kind: fmt.Sprintf("%T", crash{})}, Lease: fault.MaxLease}
}

var errOnPurpose = errors.New("on purpose")

// arrivals tells when so many incarnations have begun.
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
	return otp.Worker(func() otp.Behaviour { return actor{told: told} })
}

// workers are n actors, numbered from 0.
func workers(n int, told *arrivals) []otp.Child {
	children := make([]otp.Child, n)
	for i := range children {
		children[i] = otp.Child{ID: fmt.Sprint(i), Start: worker(told)}
	}
	return children
}

// grove is a system with one tree.
type grove struct {
	*otp.System
	tree    *otp.Tree
	reports *reports
}

func plant(o otp.Options, spec otp.Spec, log io.Writer) (*grove, error) {
	g := &grove{}
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
	runtime.GC() // what was left of making a tree, whose actors have been there for long wherever it matters how many they are
	return g, nil
}

func (g *grove) close() {
	g.System.Close()
	if g.reports != nil {
		g.reports.close()
	}
}

// at is a row of the tree, which is there.
func (g *grove) at(id string) otp.Ref { return g.tree.Ref().Child(id) }

// maxReports is how many crashes may wait to be written. It is as many as the host has room for.
const maxReports = telemetry.QueueLen

// reports writes every crash with its stack, as the host does that writes as many as it is allowed to: on a goroutine of its own.
type reports struct {
	queue chan otp.Event
	done  chan struct{}
	log   *slog.Logger
}

func newReports(w io.Writer) *reports {
	r := &reports{queue: make(chan otp.Event, maxReports), done: make(chan struct{}), log: telemetry.NewLogger(w, telemetry.FormatJSON, slog.LevelInfo)}
	go r.write() // owner: the grove, whose close waits for it
	return r
}

func (r *reports) take(e otp.Event) {
	select {
	case r.queue <- e:
	default: // as the host: what finds the queue full is not written
	}
}

func (r *reports) write() {
	defer close(r.done)
	for e := range r.queue {
		if e, ok := e.(otp.ChildExited); ok && e.Report != nil {
			r.log.Error("child_exited", "path", e.Path, "incarnation", e.Incarnation, "reason", e.Reason.Error(), "message", e.Report.MessageKind(), "stack", e.Report.Stack())
		}
	}
}

func (r *reports) close() {
	close(r.queue)
	<-r.done
}

// openLog is where reports are written.
func openLog(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}
