package parity

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// events selects the notifications that are part of a step's outcome: those of one method, in their
// order.
type events struct {
	Method string `json:"method"`
	Has    string `json:"has,omitempty"` // text that they contain
	// how many to wait for; 0 waits a moment to see that none arrives
	Await  int  `json:"await,omitempty"`
	Cancel bool `json:"cancel,omitempty"` // then the client cancels the request
}

// hears returns the step with the notifications of a method in its outcome.
func (s step) hears(n int, method, has string) step {
	s.Events = &events{Method: method, Has: has, Await: n}
	return s
}

// cancelled returns the step with a cancellation. The client cancels the request after the given
// number of progress notifications that contain the text.
func (s step) cancelled(after int, has string) step {
	s.Events = &events{Method: progress, Has: has, Await: after, Cancel: true}
	return s
}

const (
	progress = "notifications/progress"
	logged   = "notifications/message"
	updated  = "notifications/resources/updated"
)

// awaitTime is how long the clients wait for expected notifications, and quietTime how long they
// wait for unexpected ones.
const (
	awaitTime = 5 * time.Second
	quietTime = 500 * time.Millisecond
)

// recorder records the notifications of one session of the Go client.
type recorder struct {
	mu    sync.Mutex
	wants *events // nil for none
	heard []any
}

// middleware is the middleware that records notifications.
func (e *recorder) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		e.record(method, r.GetParams())
		return next(ctx, method, r)
	}
}

func (e *recorder) record(method string, params any) {
	text, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.wants != nil && e.wants.Method == method && strings.Contains(string(text), e.wants.Has) {
		e.heard = append(e.heard, toJSON(json.RawMessage(text)))
	}
}

// want discards the recorded notifications and starts to record those that w selects.
func (e *recorder) want(w *events) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wants, e.heard = w, []any{}
}

// await waits until w.Await notifications arrived. If w.Await is 0, it waits for quietTime.
func (e *recorder) await(w *events) {
	limit := time.Now().Add(awaitTime)
	if w.Await == 0 {
		limit = time.Now().Add(quietTime)
	}
	for time.Now().Before(limit) && (w.Await == 0 || e.count() < w.Await) {
		time.Sleep(10 * time.Millisecond)
	}
}

func (e *recorder) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.heard)
}

// stop stops recording and returns the recorded notifications.
func (e *recorder) stop() []any {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wants = nil
	return e.heard
}
