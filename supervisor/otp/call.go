package otp

import (
	"context"
	"sync/atomic"
)

// Call is a message that asks for an answer. The receiver gets a *Call[Req, Resp] and answers with
// Reply or Fail. Only the first answer counts. A receiver that answers after its Receive has
// returned says so with AnswerLater; otherwise the call fails with ErrUnhandled.
type Call[Req, Resp any] struct {
	Req Req

	ctx     context.Context
	done    atomic.Bool
	later   atomic.Bool
	pending atomic.Pointer[pendingCalls]
	result  chan answer[Resp]  // set by Do
	async   func(answer[Resp]) // set by CallAsync

	timed timed // safely by the timeouts of the system
}

type answer[Resp any] struct {
	resp Resp
	err  error
}

// Reply answers the call and reports whether this was the first answer. A call made by Do can be
// answered only while Do waits.
func (c *Call[Req, Resp]) Reply(resp Resp) (first bool) {
	return c.finish(answer[Resp]{resp: resp})
}

// Fail answers the call with an error. The package calls it itself when the receiver crashes on the
// call or stops before it.
func (c *Call[Req, Resp]) Fail(reason error) { c.finish(answer[Resp]{err: reason}) }

// Class returns the class of the request.
func (c *Call[Req, Resp]) Class() Class { return classOf(&c.Req) }

// Context returns the context that the caller gave to Do. Run the receiver's own I/O for this call
// under it. It does not end with DefaultCallTimeout: Reply says whether the caller still waits.
func (c *Call[Req, Resp]) Context() context.Context { return c.ctx }

func (c *Call[Req, Resp]) finish(a answer[Resp]) (first bool) {
	if !c.done.CompareAndSwap(false, true) {
		return false
	}
	if d := c.pending.Load(); d != nil {
		d.remove(c)
	}
	if c.result != nil {
		c.result <- a
		return true
	}
	c.async(a)
	return true
}

// AnswerLater says that the receiver, or a goroutine or process that has the call from it, answers
// after this Receive. The receiver calls it before Receive returns, and before it passes the call
// on.
func (c *Call[Req, Resp]) AnswerLater() { c.later.Store(true) }

func (c *Call[Req, Resp]) answered() bool { return c.done.Load() }

func (c *Call[Req, Resp]) deferred() bool { return c.later.Load() }

func (c *Call[Req, Resp]) setTracker(d *pendingCalls) bool {
	return c.pending.CompareAndSwap(nil, d)
}

// Do sends req to an actor and waits for its answer, at most until ctx ends; then it returns the
// cause of ctx. With a ctx that has no deadline it waits for DefaultCallTimeout, and then fails
// with ErrTimeout. It fails at once with ErrNoProc or ErrOverloaded when req is not accepted, with
// ErrUnhandled when the actor does not know it, and with the *CrashReport when the actor crashes on
// it. It is for goroutines that may block; use CallAsync inside an actor.
func Do[Req, Resp any](ctx context.Context, to Ref, req Req) (Resp, error) {
	if _, bounded := ctx.Deadline(); bounded || to.row == nil {
		return do[Req, Resp](ctx, to, req, nil)
	}
	return do[Req, Resp](ctx, to, req, &to.row.sys.timeouts)
}

// do is Do with a time-out from t; with the bound of ctx alone, if t is nil.
func do[Req, Resp any](ctx context.Context, to Ref, req Req, t *timeouts) (Resp, error) {
	c := &Call[Req, Resp]{Req: req, ctx: ctx, result: make(chan answer[Resp], 1)}
	if err := to.Send(c); err != nil {
		var zero Resp
		return zero, err
	}
	if t != nil {
		c.timed.call = c
		t.begin(&c.timed)
		defer t.end(&c.timed)
	}
	if s := to.row.sys.scheduler; s != nil {
		s.Wait(func() bool { return len(c.result) > 0 || ctx.Err() != nil })
		if len(c.result) > 0 {
			ctx = context.WithoutCancel(ctx)
		}
	}
	select {
	case a := <-c.result:
		return a.resp, a.err
	case <-ctx.Done():
		c.Fail(context.Cause(ctx)) // has no effect if the call has just been answered
		a := <-c.result
		return a.resp, a.err
	}
}

// CallAsync sends req to an actor and returns at once. The answer or the error reaches the caller
// as the message that wrap makes of it. wrap runs on the caller's goroutine, just before that
// message is handled. Nothing arrives if this incarnation of the caller is over by then. The
// receiver sees p's context as Call.Context.
func CallAsync[Req, Resp any](p *Process, to Ref, req Req, wrap func(Resp, error) any) {
	c := &Call[Req, Resp]{Req: req, ctx: p.Context()}
	c.async = func(a answer[Resp]) {
		p.deliver(&reply[Resp]{a, wrap, c, to})
	}
	if err := p.Send(to, c); err != nil {
		c.Fail(err)
	}
}
