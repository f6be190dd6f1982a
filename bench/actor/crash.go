package actor

import (
	"context"
	"fmt"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
)

// pace is the wait before each crash of a paced run.
const pace = time.Millisecond

// patience bounds every wait, so that a bug ends a run instead of hanging it.
const patience = 10 * time.Second

// lasting bounds a whole series of timed calls. A deadline for each call would be timed as well: a
// timer that is set after a pause makes the runtime wake a second thread (docs/adr/0029).
const lasting = 2 * time.Minute

func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), lasting)
}

// restarts crashes one actor among siblings, by a message or by a call. Each sample is the time
// until a call to the actor has been answered.
func (s side) restarts(siblings int, paced, quiet, message bool, times int) (answer, error) {
	told := newArrivals(0)
	g, err := s.plant(quiet, otp.Options{}, append(workers(1, told), siblingsOf(1, siblings)...))
	if err != nil {
		return answer{}, err
	}
	defer g.close()
	victim := g.at("0")
	once := byCall
	if message {
		once = byMessage
	}
	ctx, cancel := bounded()
	defer cancel()
	h := newHistogram()
	for range times {
		if paced {
			time.Sleep(pace)
		}
		start := time.Now()
		if err := once(ctx, victim); err != nil {
			return answer{}, err
		}
		note(h, time.Since(start))
	}
	if n := victim.Incarnation(); n != uint64(times)+1 {
		return answer{}, fmt.Errorf("%d incarnations after %d crashes", n, times)
	}
	return timed(h), nil
}

func byMessage(ctx context.Context, victim otp.Ref) error {
	if err := victim.Send(crash{}); err != nil {
		return err
	}
	return ping(ctx, victim)
}

func byCall(ctx context.Context, victim otp.Ref) error {
	if _, err := otp.Do[crash, int](ctx, victim, crash{}); err == nil {
		return fmt.Errorf("a call that crashes was answered")
	}
	_, err := otp.Do[int, int](ctx, victim, 1)
	return err
}

func ping(ctx context.Context, to otp.Ref) error {
	_, err := otp.Do[int, int](ctx, to, 1)
	return err
}

// plant creates a tree of these actors. Unless quiet is set, crash reports are written to the
// side's log.
func (s side) plant(quiet bool, o otp.Options, children []otp.Child) (*testSystem, error) {
	spec := otp.Spec{Intensity: unlimited, Children: children}
	if quiet {
		return newTestSystem(o, spec, nil)
	}
	log, err := openLog(s.log)
	if err != nil {
		return nil, err
	}
	return newTestSystem(o, spec, log)
}

// siblingsOf returns n actors, numbered from first.
func siblingsOf(first, n int) []otp.Child { return workers(first+n, nil)[first:] }

// pool crashes one child of a simple_one_for_one supervisor.
func pool(children, times int) (answer, error) {
	g, err := newTestSystem(otp.Options{}, poolOf(), nil)
	if err != nil {
		return answer{}, err
	}
	defer g.close()
	if err := fill(g, 0, children); err != nil {
		return answer{}, err
	}
	ctx, cancel := bounded()
	defer cancel()
	victim, h := g.at("0"), newHistogram()
	for range times {
		time.Sleep(pace)
		start := time.Now()
		if err := byMessage(ctx, victim); err != nil {
			return answer{}, err
		}
		note(h, time.Since(start))
	}
	return timed(h), nil
}

func poolOf() otp.Spec {
	return otp.Spec{
		Strategy: otp.SimpleOneForOne, Intensity: unlimited, Children: []otp.Child{{Start: worker(nil)}},
	}
}

// fill starts n children of a pool, numbered from first.
func fill(g *testSystem, first, n int) error {
	for i := range n {
		if _, err := otp.StartChildArgs(context.Background(), g.tree.Ref(), fmt.Sprint(first+i),
			nil); err != nil {
			return err
		}
	}
	return nil
}

// subtree crashes a supervisor. Each sample is the time until every child of it has answered.
func subtree(children, times int) (answer, error) {
	faults := fault.New(clock.System)
	told := newArrivals(children)
	below := otp.Child{
		ID:    "sub",
		Start: otp.Supervisor(otp.Spec{Intensity: unlimited, Children: workers(children, told)}),
	}
	g, err := newTestSystem(otp.Options{Faults: faults},
		otp.Spec{Intensity: unlimited, Children: []otp.Child{below}}, nil)
	if err != nil {
		return answer{}, err
	}
	defer g.close()
	<-told.all
	if _, err := faults.Arm(crashing("bench/sub")); err != nil {
		return answer{}, err
	}
	ctx, cancel := bounded()
	defer cancel()
	h, sub := newHistogram(), g.at("sub")
	for range times {
		time.Sleep(pace)
		told.expect(children)
		start := time.Now()
		if err := sub.Send(crash{}); err != nil {
			return answer{}, err
		}
		<-told.all
		for i := range children {
			if err := ping(ctx, sub.Child(fmt.Sprint(i))); err != nil {
				return answer{}, err
			}
		}
		note(h, time.Since(start))
	}
	return timed(h), nil
}
