package actor

import (
	"context"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
)

// warmCalls is the number of calls before those that are timed.
const warmCalls = 10_000

// calls calls one actor in a loop.
func calls(times int) (answer, error) {
	g, err := newTestSystem(otp.Options{}, otp.Spec{Children: workers(1, nil)}, nil)
	if err != nil {
		return answer{}, err
	}
	defer g.close()
	to, h, ctx := g.at("0"), newHistogram(), context.Background()
	for i := range warmCalls + times {
		start := time.Now()
		if _, err := otp.Do[int, int](ctx, to, 1); err != nil {
			return answer{}, err
		}
		if i >= warmCalls {
			note(h, time.Since(start))
		}
	}
	return timed(h), nil
}

// isolation calls one of several siblings in a loop while another one is crashed repeatedly. If
// every is 0, none is crashed. If one is false, a supervisor of that many children is crashed
// instead of an actor.
func (s side) isolation(siblings int, every time.Duration, quiet bool, last time.Duration,
	one bool) (answer, error) {
	var o otp.Options
	children := workers(siblings+1, nil)
	if !one {
		faults := fault.New(clock.System)
		if _, err := faults.Arm(crashing("bench/0")); err != nil {
			return answer{}, err
		}
		o.Faults = faults
		below := otp.Supervisor(otp.Spec{Intensity: unlimited, Children: workers(siblings, nil)})
		children = append([]otp.Child{{ID: "0", Start: below}}, siblingsOf(1, 1)...)
	}
	g, err := s.plant(quiet, o, children)
	if err != nil {
		return answer{}, err
	}
	defer g.close()
	victim, bystander := g.at("0"), g.at("1")
	enough, killed := make(chan struct{}), make(chan int)
	go func() { // owner: this function, which waits for it
		kills := 0
		for !after(enough, every) {
			if victim.Send(crash{}) == nil {
				kills++
			}
		}
		killed <- kills
	}()
	var failures, n int
	h, ctx := newHistogram(), context.Background()
	for end := time.Now().Add(last); ; n++ {
		start := time.Now()
		if !start.Before(end) {
			break
		}
		if v, err := otp.Do[int, int](ctx, bystander, n); err != nil || v != n {
			failures++
		}
		note(h, time.Since(start))
	}
	close(enough)
	a := timed(h)
	a.Calls, a.Failures, a.Kills = n, failures, <-killed
	return a, nil
}

// after waits for d, where 0 is forever. It reports whether enough was closed first.
func after(enough <-chan struct{}, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		over = time.After(d)
	}
	select {
	case <-enough:
		return true
	case <-over:
		return false
	}
}
