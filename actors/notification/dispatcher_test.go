package notification_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/internal/drops"
	"mcpd/actors/notification"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// listener is a row that records notices.
type listener struct {
	otp.Base
	heard *[]string
}

func (l listener) Receive(_ *otp.Process, msg any) error {
	if n, ok := msg.(*notification.Notice); ok {
		*l.heard = append(*l.heard, n.Server+" "+n.Method)
	}
	return nil
}

type rig struct {
	t      *testing.T
	system *otp.System
	ref    otp.Ref
	// events are written by the dispatcher, and read when all goroutines are blocked.
	events []telemetry.Event
	heard  []string // written by the mailbox
}

// run starts a dispatcher in a bubble, in which all goroutines are blocked when synctest.Wait
// returns.
func run(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, system: otp.NewSystem(otp.Options{})}
		// The pause lets goroutines end that live a moment longer.
		defer func() { r.system.Close(); time.Sleep(time.Second) }()
		o := notification.Options{Tenant: "acme", Emit: func(e telemetry.Event) {
			r.events = append(r.events, e)
		}}
		tree, err := r.system.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
			{ID: "dispatcher", Mailbox: 4 * protocol.MaxNotifications,
				Start: otp.Worker(func() otp.Behaviour {
					return notification.New(o)
				})},
			{ID: "box", Start: otp.Worker(func() otp.Behaviour { return listener{heard: &r.heard} })},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tree.Shutdown(context.Background()) }()
		r.ref, _ = r.system.Whereis("top/dispatcher")
		test(r)
	})
}

func (r *rig) send(msg any) {
	r.t.Helper()
	if err := r.ref.Send(msg); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) counts() notification.Counts {
	r.t.Helper()
	c, err := otp.Do[notification.StatsRequest, notification.Counts](r.t.Context(), r.ref,
		notification.StatsRequest{})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// S4-63, S4-64, S4-66 to S4-68: callbacks and mailboxes, registered for one method or any, of one
// server or all, each called in order and once.
func TestHandlersHearWhatTheyRegisteredFor(t *testing.T) {
	run(t, func(r *rig) {
		var called []string
		f := &notification.Function{Name: "tools", Call: func(n *notification.Notice) {
			called = append(called, n.Server+" "+n.Method)
		}}
		box, _ := r.system.Whereis("top/box")
		r.send(&notification.Register{Method: "notifications/tools/list_changed", Handler: f})
		r.send(&notification.Register{
			Method: notification.Any, Server: "files", Handler: notification.Mailbox{Ref: box},
		})
		for _, n := range []notification.Dispatch{
			{Server: "files", Method: "notifications/tools/list_changed"},
			{Server: "files", Method: "notifications/message"},
			{Server: "search", Method: "notifications/tools/list_changed"},
			{Server: "search", Method: "notifications/message"},
		} {
			r.send(&n)
		}
		synctest.Wait()
		if want := []string{"files notifications/tools/list_changed",
			"search notifications/tools/list_changed"}; !slices.Equal(called, want) {
			t.Errorf("the callback heard %q, want %q", called, want)
		}
		if want := []string{"files notifications/tools/list_changed",
			"files notifications/message"}; !slices.Equal(r.heard, want) {
			t.Errorf("the mailbox heard %q, want %q", r.heard, want)
		}
		r.send(&notification.Forget{Handler: f})
		r.send(&notification.Dispatch{Server: "search", Method: "notifications/tools/list_changed"})
		if got := r.counts(); len(called) != 2 || got.Handlers != 1 || got.Delivered != 4 ||
			got.Dropped != 0 {
			t.Errorf("after Forget: heard %d, counts %+v", len(called), got)
		}
	})
}

// S4-65, S4-132: beyond its bound the queue drops, counts and reports.
func TestQueueThatIsFullDropsAndCounts(t *testing.T) {
	run(t, func(r *rig) {
		const more = 10
		stuck, free := make(chan struct{}), make(chan struct{})
		first := true
		r.send(&notification.Register{Method: notification.Any,
			Handler: &notification.Function{Name: "slow", Call: func(*notification.Notice) {
				if first {
					first = false
					close(stuck)
					<-free
				}
			}}})
		r.send(&notification.Dispatch{Method: "notifications/message"})
		<-stuck
		for i := range protocol.MaxNotifications + more {
			r.send(&notification.Dispatch{Method: "notifications/message", URI: fmt.Sprint(i)})
		}
		close(free)
		synctest.Wait()
		got := r.counts()
		if got.Delivered != protocol.MaxNotifications+1 || got.Dropped != more || got.Queued != 0 {
			t.Errorf("counts %+v, want %d delivered and %d dropped", got, protocol.MaxNotifications+1, more)
		}
		time.Sleep(drops.Every)
		synctest.Wait()
		told, events := 0, 0
		for _, e := range r.events {
			if d, ok := e.(telemetry.NotificationDropped); ok && d.Reason == "queue_full" {
				told, events = told+int(d.Count), events+1
			}
		}
		if told != more || events != 2 {
			t.Errorf("told of %d dropped by %d events, want %d by 2", told, events, more)
		}
	})
}

// A dispatcher that hung in one callback and was replaced calls no other when it continues.
func TestWhoHungInACallbackCallsNoOther(t *testing.T) {
	run(t, func(r *rig) {
		gate, called := make(chan struct{}), 0
		for _, name := range []string{"one", "other"} {
			r.send(&notification.Register{Method: notification.Any,
				Handler: &notification.Function{Name: name, Call: func(*notification.Notice) {
					called++
					<-gate
				}}})
		}
		r.send(&notification.Dispatch{Method: "notifications/message"})
		time.Sleep(otp.DefaultHardTimeout + 2*time.Second)
		hung := r.system.Isolated()
		close(gate)
		synctest.Wait()
		if hung != 1 || called != 1 || r.ref.Incarnation() != 2 {
			t.Errorf("%d hung, %d callbacks, incarnation %d", hung, called, r.ref.Incarnation())
		}
	})
}

// S4-101, S4-119: a notification that crashes the dispatcher is dropped and counted; all others are
// delivered in order.
func TestPoisonousNotificationIsDroppedAlone(t *testing.T) {
	run(t, func(r *rig) {
		var heard []string
		r.send(&notification.Register{Method: notification.Any,
			Handler: &notification.Function{Name: "picky", Call: func(n *notification.Notice) {
				if n.URI == "2" {
					panic("poison")
				}
				heard = append(heard, n.URI)
			}}})
		for _, uri := range []string{"1", "2", "3"} {
			r.send(&notification.Dispatch{Method: "notifications/resources/updated", URI: uri})
		}
		synctest.Wait()
		if want := []string{"1", "3"}; !slices.Equal(heard, want) {
			t.Errorf("heard %q, want %q", heard, want)
		}
		if got := r.counts(); got.Dropped != 1 || got.Handlers != 1 || r.ref.Incarnation() != 2 {
			t.Errorf(
				"counts %+v in incarnation %d, want 1 dropped, the handler kept, the second incarnation", got,
				r.ref.Incarnation(),
			)
		}
	})
}
