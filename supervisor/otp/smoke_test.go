package otp

import (
	"context"
	"errors"
	"testing"
	"time"
)

type echo struct {
	Base
	n int
}

func (e *echo) Receive(p *Process, msg any) error {
	switch m := msg.(type) {
	case *Call[string, string]:
		if m.Req == "panic" {
			panic("boom")
		}
		if m.Req == "stop" {
			return Normal
		}
		e.n++
		m.Reply(m.Req)
	}
	return nil
}

func TestSmoke(t *testing.T) {
	sys := NewSystem(Options{Events: func(e Event) { t.Logf("%T %+v", e, e) }})
	defer sys.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	tree, err := sys.Start(ctx, "root", Spec{Intensity: Intensity{3, time.Minute}, Children: []Child{
		{ID: "a", Start: Worker(func() Behaviour { return &echo{} })},
		{ID: "s", Start: Supervisor(Spec{Children: []Child{{ID: "b", Start: Worker(func() Behaviour { return &echo{} })}}})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := sys.Whereis("root/a")
	if got, err := Do[string, string](ctx, a, "x"); got != "x" || err != nil {
		t.Fatal(got, err)
	}
	_, err = Do[string, string](ctx, a, "panic")
	var rep *CrashReport
	if !errors.As(err, &rep) {
		t.Fatal(err)
	}
	t.Log(rep, "\n", rep.Stack())
	if got, err := Do[string, string](ctx, a, "y"); got != "y" || err != nil {
		t.Fatal(got, err)
	}
	b, _ := sys.Whereis("root/s/b")
	for range 2 {
		_, err = Do[string, string](ctx, b, "panic")
	}
	for {
		if got, err := Do[string, string](ctx, b, "z"); err == nil {
			t.Log(got)
			break
		}
		time.Sleep(time.Millisecond)
	}
	t.Logf("%+v", tree.Snapshot())
	if err := tree.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	t.Log(tree.Err())
}
