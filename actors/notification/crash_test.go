package notification_test

import (
	"strconv"
	"testing"

	"mcpd/actors/internal/stage"
	"mcpd/actors/notification"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// onStage runs a dispatcher with a mailbox that has registered for everything.
func onStage(t *testing.T, test func(s *stage.Stage, box *stage.Box)) {
	t.Helper()
	box := &stage.Box{}
	stage.Run(t, func(s *stage.Stage) []otp.Child {
		o := notification.Options{Tenant: "acme", Emit: s.Events.Emit}
		return []otp.Child{{ID: "dispatcher", Start: otp.Worker(func() otp.Behaviour {
			return notification.New(o)
		})}, box.Child("box")}
	}, func(s *stage.Stage) {
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
			onStage(t, func(s *stage.Stage, box *stage.Box) {
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
				heard := stage.Of[*notification.Notice](&box.Log)
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
				c, err := stage.Ask[notification.StatsRequest, notification.Counts](s, "dispatcher",
					notification.StatsRequest{})
				if err != nil || c.Dropped != uint64(tt.lost) || c.Queued != 0 ||
					c.Delivered != uint64(len(heard)) {
					t.Errorf("counts %+v, %v", c, err)
				}
				if told := stage.Of[telemetry.NotificationDropped](&s.Events); len(told) != tt.lost {
					t.Errorf("told of %v", told)
				}
			})
		})
	}
}

// A mailbox that is gone is removed, also when it went after a crash of the dispatcher. A full
// mailbox misses the notification, and the loss is counted.
func TestMailboxThatIsGoneIsForgotten(t *testing.T) {
	onStage(t, func(s *stage.Stage, box *stage.Box) {
		s.Break("dispatcher", "*notification.Dispatch")
		s.Send("dispatcher", &notification.Dispatch{Method: "notifications/message"})
		s.Struck()
		handlers := func() int {
			c, err := stage.Ask[notification.StatsRequest, notification.Counts](s, "dispatcher",
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
