package notification_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

var full = flag.Bool("full", false, "measure in full and hold the goals")

// function registers a callback for everything.
func function(name string, call func(*notification.Notice)) *notification.Register {
	return &notification.Register{
		Method: notification.Any, Handler: &notification.Function{Name: name, Call: call},
	}
}

// A message that arrives while a notification is delivered to very many listeners waits for a
// bounded number of deliveries only.
func TestDeliveriesOfOneTurnAreBounded(t *testing.T) {
	run(t, func(r *rig) {
		const listeners = 3 * notification.MaxDeliveries
		heard := make([]int, listeners)
		last := function("last", func(*notification.Notice) { heard[listeners-1]++ })
		for i := range listeners - 1 {
			r.send(function(strconv.Itoa(i), func(*notification.Notice) {
				if heard[i]++; i == 0 {
					r.send(&notification.Forget{Handler: last.Handler})
				}
			}))
		}
		r.send(last)
		r.send(&notification.Dispatch{Method: "notifications/message"})
		synctest.Wait()
		if slices.ContainsFunc(heard[:listeners-1], func(n int) bool {
			return n != 1
		}) || heard[listeners-1] != 0 {
			t.Errorf(
				"the last one, who was forgotten meanwhile, heard it %d times; or one of the others not once",
				heard[listeners-1],
			)
		}
		if c := r.counts(); c.Delivered != listeners-1 || c.Queued != 0 || c.Handlers != listeners-1 {
			t.Errorf("counts %+v", c)
		}
	})
}

// After a crash between two turns of one delivery, no listener gets the notification twice and none
// is left out.
func TestDeliveryGoesOnAfterACrash(t *testing.T) {
	onStage(t, func(s *testrig.Rig, box *testrig.Box) {
		const listeners, sent = 2*notification.MaxDeliveries + 10, 3
		heard := make([][]string, listeners)
		for i := range heard {
			s.Send("dispatcher", function(strconv.Itoa(i), func(n *notification.Notice) {
				if heard[i] = append(heard[i], n.URI); i == 7 && n.URI == "1" {
					s.Break("dispatcher", "notification.drain")
				}
			}))
		}
		for n := range sent {
			_ = s.Ref("dispatcher").Send(&notification.Dispatch{
				Method: "notifications/message", URI: strconv.Itoa(n),
			})
		}
		s.Struck()
		for i, got := range heard {
			if !slices.Equal(got, []string{"0", "1", "2"}) {
				t.Fatalf("listener %d heard %q", i, got)
			}
		}
		if got := testrig.Of[*notification.Notice](&box.Log); len(got) != sent ||
			s.Ref("dispatcher").Incarnation() != 2 {
			t.Errorf("the mailbox heard %d, incarnation %d", len(got), s.Ref("dispatcher").Incarnation())
		}
		if told := testrig.Of[telemetry.NotificationDropped](&s.Events); len(told) != 0 {
			t.Errorf("dropped %v", told)
		}
	})
}

// A listener that panics at each notification causes one restart, and then loses its registration.
// All others get everything, in order and once.
func TestPoisonousListenerCostsItself(t *testing.T) {
	run(t, func(r *rig) {
		const listeners, sent = notification.MaxDeliveries + 100, 5
		heard := make([][]string, listeners)
		for i := range heard {
			r.send(function(strconv.Itoa(i), func(n *notification.Notice) {
				heard[i] = append(heard[i], n.URI)
				if i == 50 {
					panic("poison")
				}
			}))
		}
		for n := range sent {
			r.send(&notification.Dispatch{Method: "notifications/message", URI: strconv.Itoa(n)})
		}
		synctest.Wait()
		for i, got := range heard {
			if want := []string{"0", "1", "2", "3", "4"}; i != 50 && !slices.Equal(got, want) {
				t.Fatalf("listener %d heard %q", i, got)
			}
		}
		if c := r.counts(); len(heard[50]) != 2 || c.Handlers != listeners-1 || c.Dropped != 2 ||
			r.ref.Incarnation() != 2 {
			t.Errorf("the poisonous one was told %d times, counts %+v, incarnation %d", len(heard[50]), c,
				r.ref.Incarnation())
		}
	})
}

// reader is a listener that reads, as a session does.
type reader struct {
	otp.Base
	heard *atomic.Int64
	last  int
	wrong *atomic.Int64
}

func (l *reader) Receive(_ *otp.Process, msg any) error {
	n := msg.(*notification.Notice)
	l.heard.Add(1)
	if i, _ := strconv.Atoi(n.URI); i != l.last+1 {
		l.wrong.Add(1)
	} else {
		l.last = i
	}
	return nil
}

// A busy dispatcher is not taken for stuck: with 100,000 listeners that read, 64 different
// notifications reach all of them, in order. The short form has fewer listeners, and a shorter
// limit for the dispatcher.
func TestManyListenersHearEveryAnnouncement(t *testing.T) {
	listeners, hard := 10_000, 300*time.Millisecond
	if *full {
		listeners, hard = 100_000, otp.DefaultHardTimeout
	}
	const announcements = 64
	var heard, wrong, stuck atomic.Int64
	system := otp.NewSystem(otp.Options{Events: func(e otp.Event) {
		if _, is := e.(otp.Stuck); is {
			stuck.Add(1)
		}
	}})
	defer system.Close()
	o := notification.Options{Tenant: "acme", Emit: func(telemetry.Event) {}}
	_, err := system.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
		{ID: "dispatcher", HardTimeout: hard, Start: otp.Worker(func() otp.Behaviour {
			return notification.New(o)
		})},
		{ID: "readers", Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne,
			Children: []otp.Child{
				{Restart: otp.Temporary, Start: otp.WorkerWith(func(any) otp.Behaviour {
					return &reader{heard: &heard, wrong: &wrong, last: -1}
				})},
			}})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	dispatcher, _ := system.Whereis("top/dispatcher")
	pool, _ := system.Whereis("top/readers")
	for i := range listeners {
		ref, err := otp.StartChildArgs(context.Background(), pool, fmt.Sprint(i), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := dispatcher.Send(&notification.Register{Method: notification.Any,
			Handler: notification.Mailbox{Ref: ref}}); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	for n := range announcements {
		if err := dispatcher.Send(&notification.Dispatch{Method: "notifications/message",
			URI: strconv.Itoa(n)}); err != nil {
			t.Fatal(err)
		}
	}
	want := int64(listeners * announcements)
	for end := time.Now().Add(5 * time.Minute); heard.Load() < want && dispatcher.Incarnation() == 1 &&
		time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("%d delivered in %s", heard.Load(), time.Since(begun))
	c, err := otp.Do[notification.StatsRequest, notification.Counts](t.Context(), dispatcher,
		notification.StatsRequest{})
	if err != nil || heard.Load() != want || wrong.Load() != 0 || c.Delivered != uint64(want) ||
		c.Dropped != 0 {
		t.Errorf("%d of %d heard, %d in the wrong order, counts %+v, %v", heard.Load(), want,
			wrong.Load(), c, err)
	}
	if stuck.Load() != 0 || system.Isolated() != 0 || dispatcher.Incarnation() != 1 {
		t.Errorf("%d told of as stuck, %d hung, incarnation %d", stuck.Load(), system.Isolated(),
			dispatcher.Incarnation())
	}
}

// Four thousand sessions that see a thousand servers as one are told once that lists of these have
// changed. A session that sees one server alone is told of that.
func TestChangedListsOfAllServersAreToldOnce(t *testing.T) {
	const servers, sessions = 1000, 4000
	run(t, func(r *rig) {
		key := tenant.Key{Share: tenant.ByPrincipal, Principal: "ci"}
		heard := make([]int, sessions+1)
		hears := func(i int) *notification.Function {
			return &notification.Function{Name: fmt.Sprint(i), Call: func(*notification.Notice) {
				heard[i]++
			}}
		}
		for i := range sessions {
			f := hears(i)
			if i%500 == 0 { // its mailbox is bounded
				synctest.Wait()
			}
			r.send(&notification.Register{Method: notification.All, Key: key, Handler: f})
		}
		r.send(&notification.Register{
			Method: notification.Any, Server: "1", Key: key, Handler: hears(sessions),
		})
		for s := range servers {
			r.send(&notification.Dispatch{
				Server: fmt.Sprint(s), Key: key, Method: "notifications/tools/list_changed",
			})
			if s%500 == 0 {
				synctest.Wait()
			}
		}
		r.send(&notification.Dispatch{Key: key, Method: "notifications/tools/list_changed"})
		r.send(&notification.Dispatch{Server: "2", Key: key, Method: "notifications/message"})
		synctest.Wait()
		for i, n := range heard {
			if want := 2; i < sessions && n != want || i == sessions && n != 1 {
				t.Fatalf("session %d heard %d notifications", i, n)
			}
		}
	})
}
