package session_test

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"testing"

	"mcpd/actors/session"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// zeros is a random source that repeats itself.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A new session whose row is taken by the actor of another session is refused. It must not share
// that actor, because its principal may differ. The same holds for a new session whose id another
// has.
func TestSessionsNeverShareAnActor(t *testing.T) {
	a := &actors{index: session.NewIndex(nil), limit: 10, random: zeros{}}
	a.perform(t, func(a *actors) {
		pool, _ := a.System.Whereis("top/pool")
		id := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(make([]byte, 33))[:52]
		sum := sha256.Sum256([]byte(id))
		row := hex.EncodeToString(sum[:16])
		other := &session.Handle{}
		if _, err := otp.StartChildArgs(a.T.Context(), pool, row,
			session.Args{Handle: other}); err != nil {
			t.Fatal(err)
		}
		if h, err := a.open(); err == nil {
			t.Errorf("session %s has the actor of another", h.Row())
		}
		if a.index.Len() != 0 {
			t.Errorf("%d sessions are left of it", a.index.Len())
		}
		if err := otp.TerminateChild(a.T.Context(), pool, row); err != nil {
			t.Fatal(err)
		}
		h, err := a.open()
		if err != nil || h.Row() != row {
			t.Fatalf("with the row free: %v, %v", h, err)
		}
		ep := streamable.Endpoint{Tenant: "acme", Principal: "other"}
		second, err := otp.Do[session.OpenRequest, *session.Handle](a.T.Context(), a.Ref("manager"),
			session.OpenRequest{Endpoint: ep})
		if err == nil {
			t.Errorf("a second session has the same id: %s, %s", second.ID(), h.ID())
		}
		if got, ok := a.index.Get(h.ID()); !ok || got != h {
			t.Error("the first lost its place to it")
		}
	})
}
