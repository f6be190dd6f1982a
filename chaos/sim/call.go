package sim

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// call is one request of a client with everything that was sent in reply. It is the sink of the
// request.
type call struct {
	s      *simulation
	c      *simClient
	method string
	server string // the server that the request goes to; empty for the host itself
	nonce  string
	id     jsonrpc.ID
	token  jsontext.Value

	at, end   time.Time
	outcome   jsonrpc.Message
	ended     bool
	cancelled bool
	mayFail   bool  // it may fail for a reason of its own
	deferred  bool  // its result is a task or a question instead of a final result
	refused   error // the error with which Deliver refused it
	asked     int   // questions that came with it
	far       float64
}

var _ transport.Sink = (*call)(nil)

// Send takes a message that comes before the outcome.
func (k *call) Send(m jsonrpc.Message) error {
	if k.ended {
		return transport.ErrClosed
	}
	switch {
	case m.Kind() == jsonrpc.KindRequest:
		k.asked++
	case m.Method == "notifications/progress":
		k.progress(m.Params)
	}
	if k.c.at.Tenant == target && k.s.plan.slow.strikes(k.s.w.rand) {
		k.s.noteFault("no room", k.c.name)
		return transport.ErrSlowConsumer
	}
	k.s.w.Note("told", k.c.name, m.Kind().String()+" "+m.Method)
	if m.Kind() == jsonrpc.KindRequest {
		k.c.asked(k, m)
	}
	return nil
}

// progress checks one notification: it must belong to this call and exceed the last.
func (k *call) progress(params jsontext.Value) {
	token, _ := jsonedit.Get(params, "progressToken")
	if string(token) != string(k.token) {
		k.s.find("I2 cross-talk", "%s is told of the progress %s, its own is %s", k.nonce, token, k.token)
	}
	text, _ := jsonedit.Get(params, "progress")
	far, err := number(text)
	if err != nil || far <= k.far {
		k.s.find("I10 order", "%s is told of progress %s after %v", k.nonce, text, k.far)
	}
	k.far = far
}

// Finish takes the outcome. It returns false for a second one, as every sink does.
func (k *call) Finish(m jsonrpc.Message) bool {
	if k.ended {
		return false
	}
	k.s.w.Note("outcome", k.c.name, k.method+" "+m.Kind().String())
	k.ended, k.end, k.outcome = true, k.s.w.now, m
	return true
}

// mark is the text that only the result of this call contains.
func (k *call) mark() string { return k.c.at.Tenant + "/" + k.server + " " + k.nonce + `"` }
