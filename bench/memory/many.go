package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/subject"
	"mcpd/internal/load"
)

// crowds are the numbers of simultaneous sessions that are measured.
var crowds = []struct {
	n     int
	use   sessionUse
	short bool // measured in a short run too
}{
	{1000, sessionUse{detached: true}, true}, {10_000, sessionUse{detached: true}, false},
	{100_000, sessionUse{detached: true}, false},
	{1000, sessionUse{stream: true}, true}, {10_000, sessionUse{stream: true}, false},
	{100_000, sessionUse{stream: true}, false},
}

// asked is how many sessions of a crowd have to answer a request.
const asked = 200

// slack is how much larger the live heap may be after all sessions are gone, as a factor.
const slack = 1.05

// settling is how long a host has before its heap is measured, in order to finish its work for the
// last session. For example, mailboxes that were long are checked once a second.
const settling = 2 * time.Second

// crowd is the memory use of the host before, during and after one crowd.
type crowd struct{ base, held, after kit.Usage }

func measureMany(ctx context.Context, r *kit.Run) error {
	for _, c := range crowds {
		if r.Short && !c.short {
			continue
		}
		n, with := c.n, "without a connection"
		if c.use.stream {
			with = "with its stream"
			var err error
			if n, err = affordable(r, n); err != nil {
				return err
			}
		}
		r.Say("%d sessions, each %s", n, with)
		m := record.Measurement{
			Scenario: "sessions", Case: fmt.Sprintf("%d sessions, each %s", n, with), Subject: record.Mcpd,
			Unit: "KiB",
		}
		each, base, after := m, m, m
		each.Quantity, base.Quantity, after.Quantity = "heap and stacks of each", "live heap before",
			"live heap after"
		for range load.MinPairs {
			one, err := gather(ctx, n, c.use)
			if err != nil {
				return fmt.Errorf("%s: %w", m.Case, err)
			}
			each.Rounds = append(each.Rounds, one.held.Minus(one.base, float64(n)).InUse()/kib)
			base.Rounds, after.Rounds = append(base.Rounds, one.base.Heap/kib), append(after.Rounds,
				one.after.Heap/kib)
		}
		// otherwise gather has failed
		each.Calls = &load.Counts{Sent: asked * load.MinPairs, OK: asked * load.MinPairs}
		r.Add(each)
		r.Add(base)
		r.Add(after)
		if err := r.Compare("live heap after they were deleted", after, base,
			kit.Limits{Gate: slack}); err != nil {
			return err
		}
	}
	return nil
}

// gather opens n sessions with a host, sends requests to some of them, and deletes all.
func gather(ctx context.Context, n int, u sessionUse) (c crowd, err error) {
	p, err := kit.Start(ctx, subject.Host, config)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	settle := func(u *kit.Usage) error {
		time.Sleep(settling)
		var err error
		*u, err = p.Usage(true)
		return err
	}
	cycle := func(n int, held *kit.Usage) error {
		var list []*open
		defer func() {
			for _, o := range list {
				o.close()
			}
		}()
		if err := hold(p.URL, n, u, &list); err != nil {
			return err
		}
		if held != nil {
			if err := settle(held); err != nil {
				return err
			}
		}
		return each(list, p.URL, func(o *opener, i int, s *open) error {
			if step := max(len(list)/asked, 1); i%step == 0 {
				if err := o.ask(s); err != nil {
					return fmt.Errorf("session %d of %d: %w", i, n, err)
				}
			}
			return o.end(s)
		})
	}
	// A crowd of the same size comes and goes first, so that lasting allocations exist: pools, and the
	// buckets that empty maps keep.
	if err := cycle(n, nil); err != nil {
		return c, err
	}
	if err := settle(&c.base); err != nil {
		return c, err
	}
	if err := cycle(n, &c.held); err != nil {
		return c, err
	}
	err = settle(&c.after)
	return c, err
}
