package client

import (
	"slices"
	"time"

	"mcpd/actors/client/internal/questions"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
)

// MaxAskers bounds the tools and prompts that are remembered as asking their user.
const MaxAskers = questions.MaxAskers

// askersRetry is the retry delay of a caller that was refused because users are being asked.
const askersRetry = 5 * time.Second

// writeBeside writes queued calls out of turn, while a call is in flight whose user has been asked
// for at least Patience, here or on another instance. The other comments say that such calls are
// written beside that call. A call that is known to ask its user waits on: its question would be
// refused.
func (c *Connection) writeBeside() {
	for i := 0; i < len(c.queue) && c.state == Ready && !c.closing && !c.admission.inputFull &&
		!c.interest.Holds() && !c.mayAskBeforeCalls(); {
		x := c.queue[i]
		if c.mayWrite(x) || c.mayGrow(x) {
			return
		}
		to, since := c.passableInstance()
		switch wait := Patience - c.p.Now().Sub(since); {
		case since.IsZero():
			return
		case wait > 0:
			c.lookAgain(wait)
			return
		case c.dialogs.Asks(asker(x)) && !x.Resent(), !to.IsZero() && x.NeedsConnection:
			i++
		case to.IsZero():
			c.queue = slices.Delete(c.queue, i, i+1)
			c.write(x)
		case c.hand(x, to):
			c.queue = slices.Delete(c.queue, i, i+1)
		default:
			c.instances.SetDialog(to, nil) // the instance has ended
		}
	}
}

// passableInstance returns the instance on which a call can be written beside one whose user is
// being asked, and since when that user is. The zero Ref is this connection, which comes first. A
// zero time means that there is no such instance.
func (c *Connection) passableInstance() (to otp.Ref, since time.Time) {
	if since, ok := c.passable(); ok {
		return to, since
	}
	return c.instances.Passable()
}

// mayGrow reports whether another instance can be started for a call that waits for its turn.
func (c *Connection) mayGrow(x *request.Exchange) bool {
	return c.primary == (otp.Ref{}) && !x.NeedsConnection && c.instances.MayGrow(c.view())
}

// passable returns since when calls can be written beside those in flight here.
func (c *Connection) passable() (since time.Time, ok bool) {
	return c.questions.Passable(func(yield func(questions.Call) bool) {
		for _, f := range c.calls.all() {
			if interactive(f.x.Method) && !yield(questions.Call{Exchange: f.x.ID, Beside: f.beside}) {
				return
			}
		}
	})
}

// unaddressed returns the refusal of a question that could be of several calls, or of none.
func (c *Connection) unaddressed() error {
	if c.hasBeside() {
		return &protocol.Error{
			Condition:  protocol.ConditionOverloaded,
			RetryAfter: askersRetry,
			Message: "another user is being asked, " +
				"and this question does not name its call",
		}
	}
	return protocol.InvalidParams(
		"no call is in flight to which this question could belong, and it does not name its client",
	)
}

func (c *Connection) hasBeside() bool {
	for _, f := range c.calls.all() {
		if f.beside {
			return true
		}
	}
	return false
}

// noteAsker remembers that the tool, prompt or resource of x asks its user.
func (c *Connection) noteAsker(x *request.Exchange) {
	if f := c.inflightOf(x.ID); f != nil {
		f.beside = false // others may be written beside it from now on
	}
	if c.oneClientAtATime() {
		c.dialogs.NoteAsker(asker(x))
	}
}

// asker names the tool, prompt or resource of a call. It is empty if the name is too long to be
// remembered.
func asker(x *request.Exchange) string {
	member := "name"
	if x.Method == "resources/read" {
		member = "uri"
	}
	name, _ := jsonedit.GetString(x.Params, member)
	if len(name) > questions.MaxName {
		return ""
	}
	return x.Method + " " + name
}

// waitsBeside returns the call of a question whose answer has to wait: with the answer, the server
// would go on with the call, and could ask again while others are written beside it. It returns nil
// if the answer need not wait.
func (c *Connection) waitsBeside(o *openQuestion) *inflightRequest {
	f := c.inflightOf(o.Call)
	if f == nil || o.Round > 0 || f.beside || !c.hasBeside() {
		return nil
	}
	return f
}

// sendHeldAnswers passes on the answers that waited until the calls beside their own had ended.
func (c *Connection) sendHeldAnswers() {
	for _, o := range c.questions.All() {
		if a := o.To.late; a != nil && c.waitsBeside(o) == nil {
			c.answer(a)
		}
	}
}
