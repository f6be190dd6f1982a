package parity

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// events says which notifications are part of a step's outcome: those of a method, in their order.
type events struct {
	Method string `json:"method"`
	Has    string `json:"has,omitempty"`    // a text in them
	Await  int    `json:"await,omitempty"`  // so many are waited for; 0 waits whether any comes
	Cancel bool   `json:"cancel,omitempty"` // then the request is cancelled
}

// hears has the notifications of a method in the outcome of the step.
func (s step) hears(n int, method, has string) step {
	s.Events = &events{Method: method, Has: has, Await: n}
	return s
}

// cancelled cancels the request after so many notifications of progress with this text.
func (s step) cancelled(after int, has string) step {
	s.Events = &events{Method: progress, Has: has, Await: after, Cancel: true}
	return s
}

const (
	progress = "notifications/progress"
	logged   = "notifications/message"
	updated  = "notifications/resources/updated"
)

// The clients wait so long for notifications that are due, and for those that must not come.
const (
	awaitTime = 5 * time.Second
	quietTime = 500 * time.Millisecond
)

// ear records the notifications of one session of the Go client.
type ear struct {
	mu    sync.Mutex
	wants *events // nil for none
	heard []any
}

// hear is the middleware that records.
func (e *ear) hear(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		e.take(method, r.GetParams())
		return next(ctx, method, r)
	}
}

func (e *ear) take(method string, params any) {
	text, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.wants != nil && e.wants.Method == method && strings.Contains(string(text), e.wants.Has) {
		e.heard = append(e.heard, plain(json.RawMessage(text)))
	}
}

// want begins to record anew, what w says.
func (e *ear) want(w *events) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wants, e.heard = w, []any{}
}

// await waits until so many notifications came, or for none to come.
func (e *ear) await(w *events) {
	limit := time.Now().Add(awaitTime)
	if w.Await == 0 {
		limit = time.Now().Add(quietTime)
	}
	for time.Now().Before(limit) && (w.Await == 0 || e.count() < w.Await) {
		time.Sleep(10 * time.Millisecond)
	}
}

func (e *ear) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.heard)
}

// saw is what was heard.
func (e *ear) saw() []any {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wants = nil
	return e.heard
}
