package held

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/mrtr"
)

// Options are the settings of a call.
type Options struct {
	Version protocol.Version // revision of the client
	Method  string           // of the call; only a method of mrtr.MayAsk permits questions
	Window  time.Duration    // time to wait for further questions; 0 for Window, 30 ms
	TTL     time.Duration    // time for the client's retry; 0 for protocol.InputTimeout, 5 minutes
}

// Call is the state machine of one held call. Create it with New. It is not safe for concurrent
// use.
type Call struct {
	version     protocol.Version
	method      string
	window, ttl time.Duration

	phase          Phase
	sink           RequestNumber // the client's open request; 0 for none
	client         protocol.ClientCapabilities
	progress       bool                // the open request wants progress
	lastProgress   jsontext.Value      // the latest progress that no request received
	round          uint32              // number of the last input_required result; 0 before the first
	pending        []question          // oldest first
	questionCounts [mrtr.Roots + 1]int // number of questions by kind, for unique keys
	result         jsontext.Value      // Parked: the outcome
	err            error

	now         time.Time // time of the current step
	stateExpiry time.Time // expiry of the last state; zero before the first
	// due is the end of the current phase: of the window, or of the client's time for a retry. It is
	// zero for none.
	due        time.Time
	progressAt time.Time // Published: time of the next progress; zero for none
	armed      time.Time // time to which the timer is set; zero when it is not set
	forgotten  bool
	effects    []Effect
}

// New returns a call that was just sent to the server for the client's request.
func New(request Request, o Options) *Call {
	if o.Window == 0 {
		o.Window = Window
	}
	if o.TTL == 0 {
		o.TTL = protocol.InputTimeout
	}
	return &Call{
		version: o.Version, method: o.Method, window: o.Window, ttl: o.TTL,
		phase: Running, sink: request.Sink, client: request.Capabilities, progress: request.Progress,
	}
}

// Phase is the state of the call.
func (c *Call) Phase() Phase { return c.phase }

// Round is the number of the last input_required result; 0 before the first.
func (c *Call) Round() uint32 { return c.round }

// Waiting is the number of questions from the server without an answer.
func (c *Call) Waiting() int { return len(c.pending) }

// Bytes is the number of bytes that the call holds: questions, undelivered progress, and a result.
func (c *Call) Bytes() int {
	n := len(c.lastProgress) + len(c.result)
	for i := range c.pending {
		n += len(c.pending[i].input.Params)
	}
	return n
}

// Step takes an event and returns its effects, in order. It first handles time-outs that are due,
// so that an event after the time-out counts as too late even if the timer fires late. The effects
// are valid until the next call of Step.
func (c *Call) Step(now time.Time, in Event) []Effect {
	clear(c.effects)
	c.effects = c.effects[:0]
	c.now = now
	if in.Op == Expire {
		c.armed = time.Time{}
	}
	c.expire()
	switch in.Op {
	case Ask:
		c.question(in)
	case Withdraw:
		c.withdraw(in)
	case Progress:
		c.report(in.Params)
	case Finish:
		c.finish(in)
	case Lose:
		c.lose(in.Err)
	case Retry:
		c.retry(in)
	case Cancel:
		if c.sink != 0 && in.Request.Sink == c.sink {
			c.abandon(Cancelled)
		}
	case Abort:
		c.abort(in.Err)
	}
	c.arm()
	return c.effects
}

func (c *Call) do(e Effect) { c.effects = append(c.effects, e) }

// question handles a request of the server. A repeated id is the same request.
func (c *Call) question(in Event) {
	if slices.ContainsFunc(c.pending, func(q question) bool { return q.id == in.ID }) {
		return
	}
	q, ok := c.ask(in)
	if !ok {
		return
	}
	c.pending = append(c.pending, q)
	switch c.phase {
	case Running:
		c.phase, c.due = Collecting, c.now.Add(c.window)
	case Collecting:
		if len(c.pending) == mrtr.MaxInputs {
			c.publish()
		}
	case Published:
		c.scheduleProgress()
	}
}

// withdraw drops a question that the server cancelled. Its key is not used again, so a late answer
// is ignored.
func (c *Call) withdraw(in Event) {
	c.pending = slices.DeleteFunc(c.pending, func(q question) bool { return q.id == in.ID })
	if c.phase == Collecting && len(c.pending) == 0 {
		c.phase, c.due = Running, time.Time{}
	}
}

// publish sends all pending questions to the client, which ends its open request.
func (c *Call) publish() {
	if c.round == MaxRounds {
		c.abort(&protocol.Error{
			Condition: protocol.ConditionInternal, Message: "the server asks too often",
		})
		return
	}
	inputs := c.inputs()
	c.round++
	c.stateExpiry = c.now.Add(c.ttl)
	c.phase, c.due = Published, c.stateExpiry
	c.scheduleProgress()
	c.do(Effect{Do: Publish, Sink: c.sink, Round: c.round, Inputs: inputs, At: c.stateExpiry})
	c.sink = 0
}

// inputs returns all pending questions and marks them as published.
func (c *Call) inputs() []mrtr.Input {
	inputs := make([]mrtr.Input, len(c.pending))
	for i := range c.pending {
		c.pending[i].published = true
		inputs[i] = c.pending[i].input
	}
	return inputs
}

// retry handles a retry of the client. A retry is valid only for the last round, and only once. A
// retry for another round is refused, and so is a second one while the server works on the answers
// of the first.
func (c *Call) retry(in Event) {
	open := c.phase == Published || c.phase == Parked
	if !open || in.Round != c.round {
		c.do(Effect{Do: Refuse, Sink: in.Request.Sink, Err: protocol.StateInvalid("requestState")})
		return
	}
	if c.phase == Parked {
		c.do(Effect{Do: Deliver, Sink: in.Request.Sink, Result: c.result, Err: c.err, Round: c.round})
		c.end(Done)
		return
	}
	for _, q := range c.pending {
		if v, ok := in.Answers.Get(q.input.Key); ok && q.published && !q.kind.Fits(v) {
			err := protocol.InvalidParams("inputResponses." + q.input.Key + " is not an answer to " +
				q.kind.Method())
			c.do(Effect{Do: Refuse, Sink: in.Request.Sink, Err: err})
			return
		}
	}
	c.sink, c.client, c.progress = in.Request.Sink, in.Request.Capabilities, in.Request.Progress
	c.phase, c.due, c.progressAt = Running, time.Time{}, time.Time{}
	c.pending = slices.DeleteFunc(c.pending, func(q question) bool { return c.settle(q, in.Answers) })
	if len(c.lastProgress) > 0 {
		c.report(c.lastProgress)
	}
	if len(c.pending) > 0 {
		c.publish()
	}
}

// settle answers a question from the retry, and reports whether it did. A question without an
// answer stays pending. A question is declined, regardless of its answer, if the retry no longer
// declares the capability.
func (c *Call) settle(q question, answers mrtr.Retry) bool {
	if c.allowed(q.input.Method, q.input.Params) != nil {
		c.answerForClient(q, true)
		return true
	}
	v, ok := answers.Get(q.input.Key)
	if ok = ok && q.published; ok {
		c.do(Effect{Do: Answer, ID: q.id, Result: v})
	}
	return ok
}

// report passes progress on. If no open request wants progress, it stores the latest one.
func (c *Call) report(params jsontext.Value) {
	switch {
	case c.phase == Parked, c.phase.Over():
	case c.sink != 0 && c.progress:
		c.lastProgress = nil
		c.do(Effect{Do: Relay, Sink: c.sink, Params: params})
	default:
		c.lastProgress = params
	}
}

// finish handles the server's answer to the call, which ends all open questions.
func (c *Call) finish(in Event) {
	switch c.phase {
	case Running, Collecting:
		c.do(Effect{Do: Deliver, Sink: c.sink, Result: in.Result, Err: in.Err, Round: c.round})
		c.end(Done)
	case Published:
		c.phase, c.pending, c.progressAt = Parked, nil, time.Time{}
		c.result, c.err = in.Result, in.Err
	}
}

// lose handles the loss of the server. It has no effect if the outcome has arrived.
func (c *Call) lose(err error) {
	if c.phase == Parked || c.phase.Over() {
		return
	}
	if c.sink != 0 {
		c.do(Effect{Do: Deliver, Sink: c.sink, Err: err, Round: c.round})
	}
	c.end(Lost)
}

// abort ends the call on behalf of the host.
func (c *Call) abort(err error) {
	if c.phase.Over() {
		return
	}
	if c.sink != 0 {
		c.do(Effect{Do: Deliver, Sink: c.sink, Err: err, Round: c.round})
	}
	c.abandon(Expired)
}

// abandon ends a call on which the server may still work. It answers the server's questions and,
// unless the server has answered the call, cancels the call.
func (c *Call) abandon(as Phase) {
	for _, q := range c.pending {
		c.answerForClient(q, false)
	}
	if c.phase != Parked {
		c.do(Effect{Do: Recall})
	}
	c.end(as)
}
