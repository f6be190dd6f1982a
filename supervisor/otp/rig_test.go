package otp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// rig runs a tree of puppet workers on the real driver, inside a synctest bubble. It records what
// they do: "+a" the Init of a succeeded, "!a" it failed, "-a(reason)" Terminate was called or a
// supervisor ended. It also records the outcomes of requests.
type rig struct {
	t    *testing.T
	sys  *System
	tree *Tree
	err  error // of Start

	mu      sync.Mutex // guards the fields below
	trace   []string
	failing map[string]int           // how many starts of a worker still fail
	ignored map[string]bool          // workers whose Init returns Ignore
	stuck   map[string]chan struct{} // closed to let a stuck worker continue
	events  []Event

	// busy says that something loops: do not wait until the bubble is idle, and await answers one by
	// one.
	busy bool
}

func newRig(t *testing.T) *rig {
	r := &rig{
		t: t, failing: map[string]int{}, ignored: map[string]bool{}, stuck: map[string]chan struct{}{},
	}
	r.sys = NewSystem(Options{Events: r.event})
	return r
}

func (r *rig) event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	if s, ok := e.(SupervisorStopped); ok {
		r.trace = append(r.trace, fmt.Sprintf("-%s(%s)", base(s.Path), reasonText(s.Reason)))
	}
}

func (r *rig) log(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, fmt.Sprintf(format, args...))
}

// failed logs a failed start, in a loop only the first one.
func (r *rig) failed(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.busy || !slices.Contains(r.trace, "!"+id) {
		r.trace = append(r.trace, "!"+id)
	}
}

// loops waits until a start has failed.
func (r *rig) loops() {
	for {
		r.mu.Lock()
		failed := slices.ContainsFunc(r.trace, func(s string) bool { return s[0] == '!' })
		r.mu.Unlock()
		if failed {
			return
		}
		runtime.Gosched()
	}
}

func (r *rig) start(tree string) {
	r.tree, r.err = r.sys.Start(context.Background(), "top", parseTree(tree, r.worker))
	synctest.Wait()
}

func (r *rig) worker(string) Start { return Worker(func() Behaviour { return &puppet{rig: r} }) }

func (r *rig) ref(path string) Ref {
	ref, ok := r.sys.Whereis(strings.TrimSuffix("top/"+path, "/"))
	if !ok {
		r.t.Fatalf("no row %q", path)
	}
	return ref
}

// close releases all stuck workers and closes the system.
func (r *rig) close() {
	r.mu.Lock()
	for _, c := range r.stuck {
		close(c)
	}
	r.stuck = map[string]chan struct{}{}
	r.mu.Unlock()
	r.sys.Close()
	time.Sleep(time.Second) // virtual: abandoned workers have returned by then
	synctest.Wait()
}

// puppet is a worker that ends or hangs on order.
type puppet struct{ rig *rig }

type (
	order struct{ label string }
	stay  struct{} // makes the worker stay in this message until the rig releases it
)

func (b *puppet) Init(p *Process) error {
	r, id := b.rig, base(p.Path())
	r.mu.Lock()
	fail, ignore := r.failing[id] > 0, r.ignored[id]
	if fail {
		r.failing[id]--
	}
	r.mu.Unlock()
	switch {
	case fail:
		r.failed(id)
		return errors.New("no start")
	case ignore:
		return Ignore
	}
	r.log("+%s", id)
	return nil
}

func (b *puppet) Receive(p *Process, msg any) error {
	switch m := msg.(type) {
	case order:
		return reasons[m.label]()
	case stay:
		b.rig.mu.Lock()
		c := make(chan struct{})
		b.rig.stuck[base(p.Path())] = c
		b.rig.mu.Unlock()
		<-c
	case *Call[string, string]:
		m.Reply(m.Req)
	}
	return nil
}

func (b *puppet) Terminate(p *Process, reason error) {
	b.rig.log("-%s(%s)", base(p.Path()), reasonText(reason))
}

// reasons are the ways in which a puppet can be told to end.
var reasons = map[string]func() error{
	"normal":   func() error { return Normal },
	"shutdown": func() error { return ErrShutdown },
	"term":     func() error { return ShutdownWith(errors.New("term")) },
	"error":    func() error { return errors.New("error") },
	"giveup":   func() error { return ErrGiveUp },
	"crash":    func() error { panic("crash") },
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func reasonText(err error) string {
	var rep *CrashReport
	var many *IntensityError
	var start *StartError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &many):
		return "shutdown:intensity"
	case errors.As(err, &start):
		return "shutdown:" + base(start.Path) + " did not start"
	case errors.Is(err, ErrGiveUp) && errors.Is(err, ErrShutdown):
		return "shutdown:giveup"
	case errors.As(err, &rep):
		return "crash"
	}
	return err.Error()
}

// do performs one event, in the language of the scenario files.
func (r *rig) do(event string) {
	word, rest, _ := strings.Cut(strings.TrimSpace(event), " ")
	id, arg, _ := strings.Cut(rest, " ")
	ctx := context.Background()
	ask := func(f func() error) {
		run := func(f func()) { go f() }
		if r.busy {
			run = func(f func()) { f() }
		}
		run(func() {
			if err := f(); err != nil {
				r.log("%s=%s", event, outcome(err))
			} else {
				r.log("%s=ok", event)
			}
		})
	}
	switch word {
	case "crash", "normal", "shutdown", "term", "error", "giveup":
		if err := r.ref(id).Send(order{word}); err != nil {
			r.log("%s=%v", event, err)
		}
	case "stick":
		_ = r.ref(id).Send(stay{})
	case "release":
		r.mu.Lock()
		close(r.stuck[id])
		delete(r.stuck, id)
		r.mu.Unlock()
	case "fail":
		n, err := strconv.Atoi(arg)
		if err != nil {
			r.t.Fatalf("event %q: %v", event, err)
		}
		r.mu.Lock()
		r.failing[id] = n
		r.mu.Unlock()
	case "ignore":
		r.mu.Lock()
		r.ignored[id] = true
		r.mu.Unlock()
	case "busy":
		r.mu.Lock()
		r.busy = true
		r.mu.Unlock()
	case "wait":
		time.Sleep(duration(id))
	case "start":
		sup, rest := r.sup(id, arg)
		ask(func() error { _, err := StartChild(ctx, sup, parseChild(rest, r.worker)); return err })
	case "args":
		sup, rest := r.sup(id, arg)
		ask(func() error { _, err := StartChildArgs(ctx, sup, rest, nil); return err })
	case "terminate":
		sup, rest := r.sup(id, arg)
		ask(func() error { return TerminateChild(ctx, sup, rest) })
	case "restart":
		sup, rest := r.sup(id, arg)
		ask(func() error { _, err := RestartChild(ctx, sup, rest); return err })
	case "delete":
		sup, rest := r.sup(id, arg)
		ask(func() error { return DeleteChild(ctx, sup, rest) })
	case "count":
		sup, _ := r.sup(id, arg)
		go func() {
			n, err := CountChildren(ctx, sup)
			r.log("specs %d active %d sups %d workers %d %v", n.Specs, n.Active, n.Supervisors,
				n.Workers, err)
		}()
	case "which":
		sup, _ := r.sup(id, arg)
		go func() {
			list, _ := WhichChildren(ctx, sup)
			var out []string
			for _, c := range list {
				out = append(out, fmt.Sprintf("%s:%s:%s", c.ID, c.Status, c.Type))
			}
			r.log("[%s]", strings.Join(out, " "))
		}()
	case "stop":
		go func() { _ = r.tree.Shutdown(ctx) }()
	default:
		r.t.Fatalf("event %q", event)
	}
	if r.busy && word == "crash" {
		r.loops()
	}
	if !r.busy || word == "stop" || word == "which" || word == "count" {
		synctest.Wait()
	}
}

// sup reads an optional supervisor "@s" before the rest.
func (r *rig) sup(id, arg string) (Ref, string) {
	if name, ok := strings.CutPrefix(id, "@"); ok {
		return r.ref(name), arg
	}
	return r.tree.Ref(), strings.TrimSpace(id + " " + arg)
}

func outcome(err error) string {
	var already ErrAlreadyStarted
	var start *StartError
	var abandoned *AbandonedError
	switch {
	case errors.As(err, &already):
		return "already_started"
	case errors.As(err, &start):
		return "start_error"
	case errors.As(err, &abandoned):
		return "abandoned"
	}
	return strings.NewReplacer(" ", "_", "\n", ",_").Replace(err.Error())
}

// outcome returns the trace so far and the current tree.
func (r *rig) outcome() string {
	r.mu.Lock()
	trace := strings.Join(r.trace, " ")
	r.mu.Unlock()
	return trace + " | " + r.state()
}

func (r *rig) state() string {
	if r.tree == nil {
		return "not started: " + reasonText(r.err)
	}
	if err := r.tree.Err(); err != nil {
		return "ended: " + reasonText(err)
	}
	if s := render(r.tree.Snapshot().Children); s != "" {
		return s
	}
	return "no rows"
}

func render(nodes []Node) string {
	var out []string
	for _, n := range nodes {
		s := fmt.Sprintf("%s#%d", n.ID, n.Incarnation)
		if n.Status != Running {
			s = n.ID + ":" + n.Status.String()
		} else if n.Type == SupervisorType {
			s += "{" + render(n.Children) + "}"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func (r *rig) reports() []*CrashReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*CrashReport
	for _, e := range r.events {
		if x, ok := e.(ChildExited); ok && x.Report != nil {
			out = append(out, x.Report)
		}
	}
	return slices.Clip(out)
}

// ofType returns the events of one type.
func ofType[E Event](r *rig) []E {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []E
	for _, e := range r.events {
		if x, ok := e.(E); ok {
			out = append(out, x)
		}
	}
	return out
}
