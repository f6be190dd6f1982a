package held

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/mrtr"
)

// Options of a call.
type Options struct {
	Version protocol.Version // of the client
	Method  string           // of the call; only what mrtr.MayAsk names can ask
	Window  time.Duration    // 0 for the constant of that name
	TTL     time.Duration    // how long a client may take to come back; 0 for protocol.ParkTimeout
}

// Call is one call. It is made by New; its methods are for one goroutine at a time.
type Call struct {
	version     protocol.Version
	method      string
	window, ttl time.Duration

	phase    Phase
	sink     Sink // the open request of the client; 0 for none
	client   protocol.ClientCapabilities
	progress bool                // that request wants progress
	latest   jsontext.Value      // progress that no request was there to hear
	round    uint32              // of the last result that asked; 0 before the first
	pending  []question          // oldest first
	asked    [mrtr.Roots + 1]int // so that keys differ
	result   jsontext.Value      // Parked: the outcome
	err      error

	now       time.Time // of the step
	until     time.Time // when the last state that was given out expires; zero before the first
	due       time.Time // of the phase: end of the window, of the client's time, or of remembering; zero for none
	reassure  time.Time // Published: when to reassure; zero for never
	armed     time.Time // what the timer was last set to; zero when it is not set
	forgotten bool
	effects   []Effect
}

// New is a call that has just been sent to the server for the client's request.
func New(request Request, o Options) *Call {
	if o.Window == 0 {
		o.Window = Window
	}
	if o.TTL == 0 {
		o.TTL = protocol.ParkTimeout
	}
	return &Call{
		version: o.Version, method: o.Method, window: o.Window, ttl: o.TTL,
		phase: Running, sink: request.Sink, client: request.Capabilities, progress: request.Progress,
	}
}

// Phase is where the call is.
func (c *Call) Phase() Phase { return c.phase }

// Round is the number of the last result that asked the client, 0 before the first.
func (c *Call) Round() uint32 { return c.round }

// Waiting is how many questions of the server have no answer.
func (c *Call) Waiting() int { return len(c.pending) }

// Kept is how many bytes the call keeps: questions, progress that nobody has heard, and a result.
func (c *Call) Kept() int {
	n := len(c.latest) + len(c.result)
	for i := range c.pending {
		n += len(c.pending[i].input.Params)
	}
	return n
}

// Step takes an event and returns what to do, in order. The effects are valid until the next call. What is due happens first, so a timer
// that is late lets nothing pass that comes too late.
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

// question is a request of the server. The same id again is the same request.
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
		c.comfort()
	}
}

// withdraw drops a question that the server itself cancelled. Its key stays used: an answer to it will be ignored.
func (c *Call) withdraw(in Event) {
	c.pending = slices.DeleteFunc(c.pending, func(q question) bool { return q.id == in.ID })
	if c.phase == Collecting && len(c.pending) == 0 {
		c.phase, c.due = Running, time.Time{}
	}
}

// publish asks the client everything that is pending, which ends its open request.
func (c *Call) publish() {
	if c.round == MaxRounds {
		c.abort(&protocol.Error{Condition: protocol.ConditionInternal, Message: "the server asks too often"})
		return
	}
	inputs := c.inputs()
	c.round++
	c.until = c.now.Add(c.ttl)
	c.phase, c.due = Published, c.until
	c.comfort()
	c.do(Effect{Do: Publish, Sink: c.sink, Round: c.round, Inputs: inputs, At: c.until})
	c.sink = 0
}

// inputs are all pending questions, which the client is asked from now on.
func (c *Call) inputs() []mrtr.Input {
	inputs := make([]mrtr.Input, len(c.pending))
	for i := range c.pending {
		c.pending[i].published = true
		inputs[i] = c.pending[i].input
	}
	return inputs
}

// retry is the client coming back. Only the last round can be answered, and only once: another one, or the same while its answers are
// being worked on, is refused.
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
			err := protocol.InvalidParams("inputResponses." + q.input.Key + " is no answer to " + q.kind.Method())
			c.do(Effect{Do: Refuse, Sink: in.Request.Sink, Err: err})
			return
		}
	}
	c.sink, c.client, c.progress = in.Request.Sink, in.Request.Capabilities, in.Request.Progress
	c.phase, c.due, c.reassure = Running, time.Time{}, time.Time{}
	c.pending = slices.DeleteFunc(c.pending, func(q question) bool { return c.settle(q, in.Answers) })
	if len(c.latest) > 0 {
		c.report(c.latest)
	}
	if len(c.pending) > 0 {
		c.publish()
	}
}

// settle answers a question as the retry says. One that it leaves out stays. One for which the client does not declare the capability any
// more is declined, whatever it says.
func (c *Call) settle(q question, answers mrtr.Retry) bool {
	if c.allowed(q.input.Method, q.input.Params) != nil {
		c.give(q, true)
		return true
	}
	v, ok := answers.Get(q.input.Key)
	if ok = ok && q.published; ok {
		c.do(Effect{Do: Answer, ID: q.id, Result: v})
	}
	return ok
}

// report passes progress on, or keeps the latest for a request that wants it.
func (c *Call) report(params jsontext.Value) {
	switch {
	case c.phase == Parked, c.phase.Over():
	case c.sink != 0 && c.progress:
		c.latest = nil
		c.do(Effect{Do: Relay, Sink: c.sink, Params: params})
	default:
		c.latest = params
	}
}

// finish is the server's answer to the call, which makes its questions void.
func (c *Call) finish(in Event) {
	switch c.phase {
	case Running, Collecting:
		c.do(Effect{Do: Deliver, Sink: c.sink, Result: in.Result, Err: in.Err, Round: c.round})
		c.end(Done)
	case Published:
		c.phase, c.pending, c.reassure = Parked, nil, time.Time{}
		c.result, c.err = in.Result, in.Err
	}
}

// lose is the server's end. An outcome that is here already does not need it.
func (c *Call) lose(err error) {
	if c.phase == Parked || c.phase.Over() {
		return
	}
	if c.sink != 0 {
		c.do(Effect{Do: Deliver, Sink: c.sink, Err: err, Round: c.round})
	}
	c.end(Lost)
}

// abort ends the call from here.
func (c *Call) abort(err error) {
	if c.phase.Over() {
		return
	}
	if c.sink != 0 {
		c.do(Effect{Do: Deliver, Sink: c.sink, Err: err, Round: c.round})
	}
	c.abandon(Expired)
}

// abandon ends a call whose server may still be at it: its questions are answered and it is told.
func (c *Call) abandon(as Phase) {
	for _, q := range c.pending {
		c.give(q, false)
	}
	if c.phase != Parked {
		c.do(Effect{Do: Recall})
	}
	c.end(as)
}
