package sim

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"mcpd/supervisor/otp"
)

// counter is a worker that calls others, is called, waits and crashes.
type counter struct {
	otp.Base
	left otp.Ref
	n    int
}

type poke struct{ n int }

func (c *counter) Init(p *otp.Process) error {
	p.After(time.Duration(p.Incarnation())*time.Millisecond, poke{3})
	return nil
}

func (c *counter) Receive(p *otp.Process, msg any) error {
	switch m := msg.(type) {
	case poke:
		if c.n++; c.n == 7 {
			panic("seven")
		}
		if m.n > 0 && p.Now().Sub(epoch) < time.Second {
			p.Go("work", func(ctx context.Context) error {
				_, err := otp.Do[int, int](ctx, c.left, m.n)
				return err
			})
		}
	case *otp.Call[int, int]:
		m.Reply(m.Req)
		p.After(time.Millisecond, poke{m.Req - 1})
		_ = c.left.Send(poke{m.Req - 1})
	}
	return nil
}

// ring runs workers that talk to one another, and returns the trace and its checksum.
func ring(seed uint64) (lines string, sum string) {
	var out bytes.Buffer
	trace := NewTrace(&out)
	w := NewWorld(seed, trace)
	system := otp.NewSystem(otp.Options{Scheduler: w, Clock: w, Events: func(e otp.Event) {
		w.Note("event", e.Where(), fmt.Sprintf("%T", e))
	}})
	spec := otp.Spec{Intensity: otp.Intensity{Restarts: 1000, Within: time.Minute}}
	for i := range 5 {
		spec.Children = append(spec.Children,
			otp.Child{ID: fmt.Sprint(i), Start: otp.Worker(func() otp.Behaviour {
				left, _ := system.Whereis("ring/" + fmt.Sprint((i+1)%5))
				return &counter{left: left}
			})})
	}
	tree, err := system.Start(context.Background(), "ring", spec)
	if err != nil {
		panic(err)
	}
	w.RunFor(2 * time.Second)
	if err := tree.Shutdown(context.Background()); err != nil {
		panic(err)
	}
	system.Close()
	return out.String(), trace.Sum()
}

func TestASeedIsOneOrderOfWorkersTimersAndGoroutines(t *testing.T) {
	sums := map[string]bool{}
	for seed := range uint64(20) {
		lines, sum := ring(seed)
		again, sum2 := ring(seed)
		if lines != again || sum != sum2 {
			t.Fatalf("seed %d: two runs differ:\n%s", seed, difference(lines, again))
		}
		sums[sum] = true
	}
	if len(sums) != 20 {
		t.Errorf("20 seeds are %d runs", len(sums))
	}
}

// difference shows where two traces diverge.
func difference(a, b string) string {
	la, lb := bytes.Split([]byte(a), []byte("\n")), bytes.Split([]byte(b), []byte("\n"))
	for i := range min(len(la), len(lb)) {
		if !bytes.Equal(la[i], lb[i]) {
			return string(bytes.Join(la[max(0, i-10):i], []byte("\n"))) + "\n- " + string(la[i]) + "\n+ " +
				string(lb[i])
		}
	}
	return fmt.Sprintf("one has %d lines, the other %d", len(la), len(lb))
}
