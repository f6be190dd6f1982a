package actor

import (
	"context"
	"log/slog"
	"time"

	protoactor "github.com/asynkron/protoactor-go/actor"

	"mcpd/supervisor/otp"
)

// counted is an actor's message.
type counted struct{}

// counter signals when it has handled want messages.
type counter struct {
	otp.Base
	n, want int
	all     chan<- struct{}
}

func (c *counter) one() {
	if c.n++; c.n == c.want {
		c.n = 0
		c.all <- struct{}{}
	}
}

func (c *counter) Receive(_ *otp.Process, msg any) error {
	if _, ok := msg.(counted); ok {
		c.one()
	}
	return nil
}

// flood sends messages to an actor without waiting. Each sample is the time until the last message
// was handled, divided by their number.
func flood(messages, times int) (answer, error) {
	all := make(chan struct{}, 1)
	child := otp.Child{ID: "0", Mailbox: messages, Start: otp.Worker(func() otp.Behaviour {
		return &counter{want: messages, all: all}
	})}
	g, err := newTestSystem(otp.Options{}, otp.Spec{Children: []otp.Child{child}}, nil)
	if err != nil {
		return answer{}, err
	}
	defer g.close()
	to := g.at("0")
	return floods(messages, times, all, func() error { return to.Send(counted{}) })
}

// bare floods an actor of protoactor with that library's own mailbox, which has no bound.
func bare(messages, times int) (answer, error) {
	all := make(chan struct{}, 1)
	c := &counter{want: messages, all: all}
	silent := func(*protoactor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }
	system := protoactor.NewActorSystem(protoactor.WithLoggerFactory(silent))
	defer system.Shutdown()
	pid := system.Root.Spawn(protoactor.PropsFromFunc(func(ctx protoactor.Context) {
		if _, ok := ctx.Message().(counted); ok {
			c.one()
		}
	}))
	defer func() { _ = system.Root.StopFuture(pid).Wait() }() // stop and wait
	return floods(messages, times, all, func() error { system.Root.Send(pid, counted{}); return nil })
}

func floods(messages, times int, all <-chan struct{}, send func() error) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h := newHistogram()
	for range times {
		start := time.Now()
		for range messages {
			if err := send(); err != nil {
				return answer{}, err
			}
		}
		select {
		case <-all:
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		}
		note(h, time.Since(start)/time.Duration(messages))
	}
	return timed(h), nil
}
