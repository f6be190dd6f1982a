package sim

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// serve is the name that package otp gives to the loop of a service.
const serve = "serve"

// routine is a goroutine that runs when it is its turn, up to where it would block.
type routine struct {
	who   string
	ready func() bool // nil when it waits only for its turn
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// Go makes f a goroutine of the world. The loop of a service waits for something outside of the
// world, so that it runs only when it is told to end.
func (w *World) Go(ctx context.Context, path, name string, f func()) {
	r := &routine{who: path + " " + name}
	if name == serve {
		r.ready = func() bool { return ctx.Err() != nil }
	}
	r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
		r.yield = yield
		f()
	})
	w.routines = append(w.routines, r)
}

// Spawn starts a goroutine without an owner, such as a client.
func (w *World) Spawn(name string, f func()) { w.Go(context.Background(), name, "", f) }

// resume lets a routine run up to where it would block, or to its end.
func (w *World) resume(r *routine) {
	w.Note("resume", r.who, "")
	w.inside, r.ready = r, nil
	_, more := r.next()
	w.inside = nil
	if !more {
		w.routines = slices.DeleteFunc(w.routines, func(o *routine) bool { return o == r })
	}
}

// abandoned is the panic value that unwinds a routine when its world ends.
type abandoned struct{}

func (r *routine) wait(ready func() bool) {
	if ready() {
		return
	}
	r.ready = ready
	if !r.yield(struct{}{}) {
		panic(abandoned{})
	}
}

// Close ends the routines that still run after a run that did not end.
func (w *World) Close() {
	for _, r := range w.routines {
		w.inside = r
		end(r)
	}
	w.routines, w.inside = nil, nil
}

func end(r *routine) {
	defer func() { _ = recover() }() // panics while it unwinds mean nothing
	r.stop()
}

// who names the routines that have not ended.
func (w *World) who() string {
	var names []string
	for _, r := range w.routines {
		names = append(names, r.who)
	}
	return strings.Join(names, ", ")
}
