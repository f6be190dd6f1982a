package notification_test

import (
	"strconv"
	"testing"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// onStage runs a dispatcher with a mailbox that has registered for everything.
func onStage(t *testing.T, test func(s *testrig.Rig, box *testrig.Box)) {
	t.Helper()
	box := &testrig.Box{}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		o := notification.Options{Tenant: "acme", Emit: s.Events.Emit}
		return []otp.Child{{ID: "dispatcher", Start: otp.Worker(func() otp.Behaviour {
			return notification.New(o)
		})}, box.Child("box")}
	}, func(s *testrig.Rig) {
		s.Send("dispatcher", &notification.Register{
			Method: notification.Any, Handler: notification.Mailbox{Ref: s.Ref("box")},
		})
		test(s, box)
	})
}

// S4-101, S4-119: on whatever message the dispatcher crashes, its next incarnation delivers the
// queue, in order. Only a notification that is itself the message of the crash is lost, and
// counted.
func TestQueueOutlivesACrash(t *testing.T) {
	for _, tt := range []struct {
		kind string
		lost int
	}{
		{"*notification.Dispatch", 1},
		{"notification.drain", 0},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			onStage(t, func(s *testrig.Rig, box *testrig.Box) {
				const sent = 3 * notification.Burst
				s.Break("dispatcher", tt.kind)
				dispatcher := s.Ref("dispatcher")
				for n := range sent {
					if err := dispatcher.Send(&notification.Dispatch{Server: "files",
						Method: "notifications/message", URI: strconv.Itoa(n)}); err != nil {
						s.T.Fatal(err)
					}
				}
				s.Struck()
				heard := testrig.Of[*notification.Notice](&box.Log)
				last := -1
				for _, n := range heard {
					if i, _ := strconv.Atoi(n.URI); i <= last {
						t.Errorf("%d after %d", i, last)
					} else {
						last = i
					}
				}
				if len(heard) != sent-tt.lost {
					t.Errorf("%d came, want %d", len(heard), sent-tt.lost)
				}
				c, err := testrig.Ask[notification.StatsRequest, notification.Counts](s, "dispatcher",
					notification.StatsRequest{})
				if err != nil || c.Dropped != uint64(tt.lost) || c.Queued != 0 ||
					c.Delivered != uint64(len(heard)) {
					t.Errorf("counts %+v, %v", c, err)
				}
				if told := testrig.Of[telemetry.NotificationDropped](&s.Events); len(told) != tt.lost {
					t.Errorf("told of %v", told)
				}
			})
		})
	}
}

// A mailbox that is gone is removed, also when it went after a crash of the dispatcher. A full
// mailbox misses the notification, and the loss is counted.
func TestMailboxThatIsGoneIsForgotten(t *testing.T) {
	onStage(t, func(s *testrig.Rig, box *testrig.Box) {
		s.Break("dispatcher", "*notification.Dispatch")
		s.Send("dispatcher", &notification.Dispatch{Method: "notifications/message"})
		s.Struck()
		handlers := func() int {
			c, err := testrig.Ask[notification.StatsRequest, notification.Counts](s, "dispatcher",
				notification.StatsRequest{})
			if err != nil {
				t.Error(err)
			}
			return c.Handlers
		}
		if got := handlers(); got != 1 {
			t.Errorf("%d handlers after the crash, want 1", got)
		}
		s.Send("box", otp.Normal)
		if got := handlers(); got != 0 {
			t.Errorf("%d handlers after its end, want none", got)
		}
	})
}
