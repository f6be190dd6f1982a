// Package plan is what the programs of the features table share: the plan that a client reads,
// and the report that it writes. The test in internal/features writes the plan and reads the
// report.
package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Session is one server and the steps to perform with it.
type Session struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	URL     string   `json:"url"` // instead of Command
	Steps   []Step   `json:"steps"`
}

// Step is one request, with the notifications that belong to its outcome.
type Step struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	// Hear is the method of the notifications to record. If it is empty, none are.
	Hear string `json:"hear"`
	// Await is the number of notifications to wait for, within awaitTime.
	Await  int  `json:"await"`
	Cancel bool `json:"cancel"` // cancel the request after Await notifications
	Limit  int  `json:"limit"`  // in milliseconds, instead of StepTime
}

// Seen is a client's report on one session.
type Seen struct {
	Name     string           `json:"name"`
	Refused  any              `json:"refused,omitempty"` // the reason why there is no session
	Revision string           `json:"revision,omitempty"`
	Greeting any              `json:"greeting,omitempty"`
	Steps    []map[string]any `json:"steps"`
}

// Time-outs of a client.
const (
	StepTime  = 10 * time.Second
	StartTime = 30 * time.Second // for a session, which may include the start of a program
	awaitTime = 3 * time.Second
)

// Client is a session of an SDK's client.
type Client interface {
	// Greeting returns the revision of the session and the server's description of itself.
	Greeting() (revision string, greeting any)
	// Request sends a request and returns the SDK's result.
	Request(ctx context.Context, method string, params json.RawMessage) (any, error)
	// Failure returns an error in the form in which the SDK shows it.
	Failure(err error) any
	Close()
}

// Run performs every session of the plan in in, and writes a line of JSON for each to out. It
// opens the sessions with connect.
func Run(in io.Reader, out io.Writer,
	connect func(context.Context, Session, *Ear) (Client, error)) error {
	var sessions []Session
	if err := json.NewDecoder(in).Decode(&sessions); err != nil {
		return err
	}
	for _, s := range sessions {
		if err := json.NewEncoder(out).Encode(visit(s, connect)); err != nil {
			return err
		}
	}
	return nil
}

func visit(s Session, connect func(context.Context, Session, *Ear) (Client, error)) Seen {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ear := &Ear{}
	c, err := connect(ctx, s, ear)
	if err != nil {
		return Seen{Name: s.Name, Refused: map[string]any{"message": err.Error()}}
	}
	defer func() { c.Close() }()
	saw := Seen{Name: s.Name}
	saw.Revision, saw.Greeting = c.Greeting()
	for _, step := range s.Steps {
		one := outcome(ctx, c, ear, step)
		// A session that the SDK has given up affects one step only: the client connects again and
		// repeats a step that failed, once.
		for again := range 2 {
			if l, ok := c.(interface{ Lost() bool }); !ok || !l.Lost() {
				break
			}
			next, err := connect(ctx, s, ear)
			if err != nil {
				break
			}
			c.Close()
			if c = next; again == 0 && one["error"] != nil {
				one = outcome(ctx, c, ear, step)
			}
		}
		saw.Steps = append(saw.Steps, one)
	}
	return saw
}

func outcome(ctx context.Context, c Client, ear *Ear, step Step) map[string]any {
	limit := StepTime
	if step.Limit > 0 {
		limit = time.Duration(step.Limit) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ear.begin(step.Hear)
	if step.Cancel {
		// owner: outcome; await is bounded
		go func() { ear.await(step.Await); cancel() }()
	}
	result, err := c.Request(ctx, step.Method, step.Params)
	saw := map[string]any{}
	switch {
	case err == nil:
		saw["result"] = result
	case step.Cancel && ctx.Err() != nil:
		saw["cancelled"] = true
	default:
		saw["error"] = c.Failure(err)
	}
	if step.Hear != "" {
		ear.await(step.Await)
	}
	events, asked := ear.saw()
	if step.Hear != "" {
		saw["events"] = events
	}
	if len(asked) > 0 {
		saw["asked"] = asked
	}
	return saw
}

// Ear records the notifications of a step and the requests of the server in it. It is safe for
// concurrent use.
type Ear struct {
	mu     sync.Mutex
	method string
	heard  []any
	asked  []any
}

// Hear records a notification if its method is the one that the step wants.
func (e *Ear) Hear(method string, params any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if method == e.method {
		e.heard = append(e.heard, params)
	}
}

// Asked records a request of the server.
func (e *Ear) Asked(method string, params any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, map[string]any{"method": method, "params": params})
}

func (e *Ear) begin(method string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.method, e.heard, e.asked = method, []any{}, nil
}

func (e *Ear) saw() (events, asked []any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard, e.asked
}

func (e *Ear) await(n int) {
	for deadline := time.Now().Add(
		awaitTime); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if events, _ := e.saw(); len(events) >= n {
			return
		}
	}
}

// Decode decodes params into the type that the SDK takes. It panics if it cannot.
func Decode[P any](params json.RawMessage) *P {
	p := new(P)
	if len(params) == 0 {
		return p
	}
	if err := json.Unmarshal(params, p); err != nil {
		panic(fmt.Sprintf("plan: %v", err))
	}
	return p
}
