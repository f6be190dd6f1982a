package server_test

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/session"
	"mcpd/internal/fault"
	"mcpd/protocol/jsonrpc"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// streamed opens a session over Streamable HTTP without a handshake.
func (r *rig) streamed(principal string) *user {
	r.T.Helper()
	h, err := otp.Do[session.OpenRequest, *session.Handle](r.T.Context(), r.Ref("sessions"),
		session.OpenRequest{
			Endpoint: streamable.Endpoint{Tenant: "acme", Principal: principal},
		})
	if err != nil {
		r.T.Fatal(err)
	}
	return &user{r: r, h: h}
}

// left checks that nothing is left of a session after its client was refused.
func (u *user) left(label string) {
	u.r.T.Helper()
	u.r.WaitIdle()
	if _, there := u.r.index.Get(u.h.ID()); there {
		u.r.T.Errorf("%s: the index has it", label)
	}
	if _, there := u.r.System.Whereis("top/server_sup/" + u.h.Row()); there {
		u.r.T.Errorf("%s: its row is there", label)
	}
	err := u.h.Deliver(u.r.T.Context(), jsonrpc.Request(jsonrpc.IntID(1), "ping", nil),
		&testrig.Sink{})
	if !errors.Is(err, streamable.ErrNoSession) {
		u.r.T.Errorf("%s: its handle takes messages: %v", label, err)
	}
	if u.r.disk != nil {
		time.Sleep(time.Second) // delayed writes happen within that time
		if u.r.disk.Has(store.Sessions, u.h.ID()) {
			u.r.T.Errorf("%s: the store has it", label)
		}
	}
}

// S4-103: any actor that the handshake needs may crash or hang. Then initialize is answered, once,
// and the refused session ends at once. Its client can open another.
func TestCrashDuringTheHandshake(t *testing.T) {
	const (
		negotiates = "*otp.Call[mcpd/actors/version.NegotiateRequest,mcpd/protocol.Agreement]"
		looks      = "*otp.Call[mcpd/actors/catalog.LookRequest,*mcpd/actors/catalog.View]"
		writes     = "*otp.Call[mcpd/actors/storage.PutRequest,struct {}]"
	)
	for _, test := range []struct {
		row, kind string
		action    fault.Action
		succeeds  bool
	}{
		{"", "*session.Deliver", fault.Panic, false},
		{"", "server.negotiated", fault.Panic, false},
		{"", "server.introduced", fault.Panic, false},
		{"", "server.introduced", fault.Hang, false},
		{"", "server.written", fault.Panic, false}, // the agreed terms are stored by then
		{"versions", negotiates, fault.Panic, false},
		{"versions", negotiates, fault.Hang, false},
		{"catalog", looks, fault.Panic, false},
		{"catalog", looks, fault.Hang, false},
		{"storage", writes, fault.Panic, true}, // only the storing fails
	} {
		name := cmp.Or(test.row, "session") + " " + test.kind + " " + string(test.action)
		run(t, func(r *rig) { r.disk = &disk{} }, func(r *rig) {
			u := r.streamed("ci")
			f := fault.Fault{
				Action: test.action,
				Point:  fault.Point{Path: "top/" + cmp.Or(test.row, "server_sup/"+u.h.Row()), Kind: test.kind},
				Count:  1, Lease: time.Minute,
			}
			if _, err := r.Faults.Arm(f); err != nil {
				t.Fatal(err)
			}
			out := u.ask("initialize", greeting("2025-11-25", `{}`))
			time.Sleep(r.tenant.Limits.ListWait)
			if test.action == fault.Panic {
				r.Struck()
			}
			if failed := out.Outcome().Error != nil; failed == test.succeeds || len(out.All()) != 1 {
				t.Errorf("%s: got %v", name, out.All())
			}
			if !test.succeeds {
				u.left(name)
			}
			for _, f := range r.Faults.Active() {
				r.Faults.Disarm(f.ID)
			}
			if out := r.ready(`{}`).call(); out.Word() != "result" {
				t.Errorf("%s: then %v", name, out.All())
			}
		})
	}
}
