package chaos

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call that is in flight while something crashes reports its progress in so many steps, with a pause after each.
const (
	steps = 20
	pause = 75 * time.Millisecond
)

// work is such a call.
type work struct {
	a        *arena
	progress chan float64
	outcome  chan error
	text     string // set before outcome is
	end      func()
}

// work starts the call in a session of its own, and returns when its server is at it.
func (a *arena) work() *work {
	a.t.Helper()
	w := &work{a: a, progress: make(chan float64, 2*steps), outcome: make(chan error, 1)}
	session, end := a.client(acme, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		w.progress <- r.Params.Progress
	}})
	w.end = end
	params := &mcp.CallToolParams{Name: "files__progress", Arguments: map[string]any{"steps": steps, "millis": pause.Milliseconds()}}
	params.SetProgressToken("work")
	go func() { // ends with its call
		ctx, cancel := context.WithTimeout(a.t.Context(), patience)
		defer cancel()
		r, err := session.CallTool(ctx, params)
		if err == nil {
			w.text = r.Content[0].(*mcp.TextContent).Text
		}
		w.outcome <- err
	}()
	a.eventually("at work", func() bool { return len(w.progress) > 0 || len(w.outcome) > 0 })
	return w
}

// goesOn checks that the call has no outcome yet: otherwise what happens now shows nothing.
func (w *work) goesOn() {
	w.a.t.Helper()
	if len(w.outcome) > 0 {
		w.a.t.Error("the call that was to be in flight has ended already")
	}
}

// finishes waits for the call's outcome, which must be its result, after progress in order and none twice (I10).
func (w *work) finishes() {
	w.a.t.Helper()
	if err := <-w.outcome; err != nil || w.text != fmt.Sprintf("%d steps", steps) {
		w.a.t.Errorf("call that was in flight: got %q, %v", w.text, err)
	}
	w.end()
	var seen []float64
	for range len(w.progress) {
		seen = append(seen, <-w.progress)
	}
	if !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != len(seen) || len(seen) > steps {
		w.a.t.Errorf("its progress: %v", seen)
	}
}
