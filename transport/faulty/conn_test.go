package faulty

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mcpd/internal/fault"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/pipe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var who = fault.Who{Tenant: "acme", Server: "files"}

// rig is a connection and its server.
type rig struct {
	*testing.T
	faults *fault.Registry
	conn   *Conn
	server pipe.Server
	began  time.Time
}

func bubble(t *testing.T, test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		up, server := pipe.Pair(0)
		faults := fault.New(nil)
		// Faults have leases, which are timers.
		defer faults.DisarmRun("")
		test(&rig{t, faults, New(up, faults, who), server, time.Now()})
	})
}

func (r *rig) arm(f fault.Fault) {
	r.Helper()
	if f.Lease = fault.MaxLease; f.Count == 0 {
		f.Count = 1
	}
	if _, err := r.faults.Arm(f); err != nil {
		r.Fatal(err)
	}
}

// say has the server answer requests.
func (r *rig) say(ids ...uint64) {
	for _, id := range ids {
		in := transport.Inbound{
			Message: jsonrpc.Response(jsonrpc.IntID(id), []byte(`{"content":[{"type":"text"}]}`)),
		}
		if err := r.server.Send(r.Context(), in); err != nil {
			r.Fatal(err)
		}
	}
}

// heard returns the messages that arrive until none does for a day, each with its time in seconds.
func (r *rig) heard() string {
	ctx, cancel := context.WithTimeout(r.Context(), 24*time.Hour)
	defer cancel()
	var list []string
	for {
		in, err := r.conn.Recv(ctx)
		at := int(time.Since(r.began).Seconds())
		switch {
		case ctx.Err() != nil:
			return strings.Join(list, " ")
		case err != nil:
			return strings.Join(append(list, "end"), " ")
		case in.Err != nil:
			list = append(list, fmt.Sprintf("%s!%d", in.RequestID.Raw(), at))
		default:
			list = append(list, fmt.Sprintf("%s%s@%d", in.Message.ID.Raw(), in.Message.Method, at))
		}
	}
}

// Recv returns the message that the armed fault has changed, and all other messages unchanged. The
// fault strikes the first message.
func TestWhatIsReadIsStruck(t *testing.T) {
	for _, c := range []struct {
		fault fault.Fault
		want  string
	}{
		{fault.Fault{Action: fault.Drop}, "2@0 3@0"},
		{fault.Fault{Action: fault.Duplicate}, "1@0 1@0 2@0 3@0"},
		{fault.Fault{Action: fault.Slow, Delay: 5 * time.Second}, "1@5 2@5 3@5"},
		{fault.Fault{Action: fault.Slow, Delay: 5 * time.Second, Count: 2}, "1@5 2@10 3@10"},
		{fault.Fault{Action: fault.Late, Delay: 5 * time.Second}, "2@0 3@0 1@5"},
		{fault.Fault{Action: fault.Late, Delay: 5 * time.Second, Count: 2}, "3@0 1@5 2@5"},
		{fault.Fault{Action: fault.Garble}, "2@0 3@0"},
		{fault.Fault{Action: fault.Truncate}, "1!0 2@0 3@0"},
		{fault.Fault{Action: fault.Cut}, "end"},
		{fault.Fault{Action: fault.Drop, Point: fault.Point{Who: who}}, "2@0 3@0"},
		{fault.Fault{Action: fault.Drop, Point: fault.Point{Who: fault.Who{Tenant: "globex"}}},
			"1@0 2@0 3@0"},
	} {
		t.Run(fmt.Sprint(c.fault.Action, c.fault.Count, c.fault.Point.Tenant), func(t *testing.T) {
			bubble(t, func(r *rig) {
				c.fault.Point.Place = fault.UpstreamRead
				r.arm(c.fault)
				r.say(1, 2, 3)
				if got := r.heard(); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		})
	}
}

// A sent message goes out never, or twice.
func TestWhatIsWrittenIsStruck(t *testing.T) {
	for action, want := range map[fault.Action]string{fault.Drop: "b", fault.Duplicate: "aab"} {
		bubble(t, func(r *rig) {
			r.arm(fault.Fault{Action: action, Point: fault.Point{Place: fault.UpstreamWrite}})
			for _, name := range []string{"a", "b"} {
				if err := r.conn.Send(r.Context(), jsonrpc.Notification(name, nil)); err != nil {
					t.Fatal(err)
				}
			}
			_ = r.conn.Close(r.Context())
			got := ""
			for m, err := r.server.Recv(r.Context()); err == nil; m, err = r.server.Recv(r.Context()) {
				got += m.Method
			}
			if got != want {
				t.Errorf("%s: %s arrived, want %s", action, got, want)
			}
		})
	}
}

// An unreadable response fails its request if it is on the stream of that request. A broken
// notification is lost. A cut connection stays cut.
func TestWhatIsSpoiltFailsItsRequestOnly(t *testing.T) {
	bubble(t, func(r *rig) {
		r.arm(fault.Fault{Action: fault.Garble, Point: fault.Point{Place: fault.UpstreamRead}})
		_ = r.server.Send(r.Context(), transport.Inbound{
			Message: jsonrpc.Response(jsonrpc.IntID(7), nil), RequestID: jsonrpc.IntID(7),
		})
		in, err := r.conn.Recv(r.Context())
		var effect fault.Effect
		var bad *jsonrpc.DecodeError
		if err != nil || in.RequestID != jsonrpc.IntID(7) || !in.Written || !errors.As(in.Err, &effect) ||
			!errors.As(in.Err, &bad) {
			t.Errorf("%+v, %v", in, err)
		}
		r.arm(fault.Fault{Action: fault.Truncate, Point: fault.Point{Place: fault.UpstreamRead}})
		_ = r.server.Send(r.Context(), transport.Inbound{Message: jsonrpc.Notification("n", nil)})
		r.say(8)
		if got := r.heard(); got != "8@0" {
			t.Errorf("heard %s", got)
		}
		r.arm(fault.Fault{Action: fault.Cut, Point: fault.Point{Place: fault.UpstreamRead}})
		r.say(9, 10)
		for range 2 {
			if _, err := r.conn.Recv(r.Context()); !errors.Is(err, io.ErrUnexpectedEOF) ||
				!transport.IsConnectionLost(err) {
				t.Errorf("a cut connection says %v", err)
			}
		}
	})
}

// Faults do not strike errors and events of the transport. A Recv that is given up loses no delayed
// message.
func TestOnlyMessagesAreStruck(t *testing.T) {
	bubble(t, func(r *rig) {
		r.arm(fault.Fault{
			Action: fault.Late, Delay: time.Hour, Point: fault.Point{Place: fault.UpstreamRead},
		})
		_ = r.server.Send(r.Context(), transport.Inbound{RequestID: jsonrpc.IntID(1), Err: io.EOF})
		_ = r.server.Send(r.Context(), transport.Inbound{Control: "news"})
		r.say(2)
		ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
		defer cancel()
		for range 2 {
			if in, err := r.conn.Recv(ctx); err != nil || in.Err == nil && in.Control == nil {
				t.Errorf("%+v, %v", in, err)
			}
		}
		if _, err := r.conn.Recv(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if got := r.heard(); got != "2@3600" {
			t.Errorf("heard %s", got)
		}
	})
}

// The number of delayed messages is bounded.
func TestLateMessagesAreBounded(t *testing.T) {
	bubble(t, func(r *rig) {
		r.arm(fault.Fault{
			Action: fault.Late, Delay: time.Hour, Count: 2 * MaxHeld,
			Point: fault.Point{Place: fault.UpstreamRead},
		})
		for id := range uint64(MaxHeld) {
			r.say(id + 1)
			ctx, cancel := context.WithTimeout(r.Context(), time.Millisecond)
			if _, err := r.conn.Recv(ctx); err == nil {
				t.Fatalf("%d came in time", id+1)
			}
			cancel()
		}
		r.say(5000)
		if in, err := r.conn.Recv(r.Context()); err != nil || in.Message.ID != jsonrpc.IntID(5000) {
			t.Errorf("%+v, %v", in, err)
		}
	})
}

// looker is a transport with an ability of its own.
type looker struct {
	transport.Upstream
	looked int
}

func (l *looker) Look() { l.looked++ }

// An ability of a single transport is found through the wrappers.
func TestWhatATransportCanIsFound(t *testing.T) {
	l := &looker{}
	up, ok := transport.As[interface{ Look() }](New(New(l, nil, who), nil, who))
	if !ok {
		t.Fatal("it is not found")
	}
	if up.Look(); l.looked != 1 {
		t.Error("it is another's")
	}
	if _, ok := transport.As[interface{ Jump() }](New(l, nil, who)); ok {
		t.Error("what it cannot do is found")
	}
}

// prompt is a transport that hands over responses where it reads them.
type prompt struct {
	transport.Upstream
	take func(transport.Inbound) bool
}

func (p *prompt) Answers(take func(transport.Inbound) bool) { p.take = take }

// Responses bypass Recv only while no fault is armed that could strike them there.
func TestAnswersAreHandedOverWhileNothingIsArmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults, up := fault.New(nil), &prompt{}
		p, ok := transport.As[transport.Prompt](New(up, faults, who))
		if !ok {
			t.Fatal("it is not found")
		}
		p.Answers(func(transport.Inbound) bool { return true })
		if !up.take(transport.Inbound{}) {
			t.Error("not handed over")
		}
		id, err := faults.Arm(fault.Fault{
			Action: fault.Drop, Point: fault.Point{Place: fault.UpstreamRead}, Count: 1, Lease: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		if up.take(transport.Inbound{}) {
			t.Error("handed over past a fault")
		}
		if faults.Disarm(id); !up.take(transport.Inbound{}) {
			t.Error("not handed over any more")
		}
	})
}
