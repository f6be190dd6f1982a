package chaos

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answer is the user's answer to the question of a call.
const answer = "Ada"

// work is a call that is in flight for as long as a test wants: its server has asked the user a
// question, and the user has not answered yet.
type work struct {
	a       *arena
	asked   chan struct{} // closed when the question has arrived
	says    chan struct{} // closed to let the user answer
	outcome chan error
	text    string // set before outcome is
	end     func()
}

// work starts such a call of acme's in a session of its own, and returns when its user has the
// question.
func (a *arena) work() *work {
	a.t.Helper()
	w := &work{
		a: a, asked: make(chan struct{}), says: make(chan struct{}), outcome: make(chan error, 1),
	}
	session, end := a.client(acme, &mcp.ClientOptions{ElicitationHandler: w.think})
	w.end = end
	go func() { // ends with its call
		r, err := a.call(session, "files__ask_elicitation", map[string]any{"message": "name?"})
		if err == nil {
			w.text = r.Content[0].(*mcp.TextContent).Text
		}
		w.outcome <- err
	}()
	a.eventually("asked", func() bool {
		select {
		case <-w.asked:
			return true
		default:
			return len(w.outcome) > 0
		}
	})
	return w
}

// think is the user, who is asked once.
func (w *work) think(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	close(w.asked)
	select {
	case <-w.says:
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": answer}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// finishes lets the user answer and waits for the call's outcome, which must be the result.
func (w *work) finishes() {
	w.a.t.Helper()
	if len(w.outcome) > 0 {
		w.a.t.Error("the call that was to be in flight has ended already")
	}
	close(w.says)
	if err := <-w.outcome; err != nil || w.text != "accept: "+answer {
		w.a.t.Errorf("call that was in flight: got %q, %v", w.text, err)
	}
	w.end()
}
