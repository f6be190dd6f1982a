package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

var errAway = &client.Ending{Cause: "unreachable", Text: "connection refused", Incident: "abcdefgh"}

// takes is what connections were told since the last call, without the pauses.
func (r *rig) takes() (all []string) {
	r.T.Helper()
	r.WaitIdle()
	r.noting.Lock()
	defer r.noting.Unlock()
	for _, l := range r.led {
		if _, pause := l.msg.(client.Pause); !pause {
			all = append(all, fmt.Sprintf("%s %T", l.principal, l.msg))
		}
	}
	r.led = nil
	slices.Sort(all) // connections record it in any order
	return all
}

// Of all connections to an unreachable server one at a time dials, with growing pauses. Callers
// without a connection are told when the next dial is. When the server is back, all others dial at
// once.
func TestServerThatIsAwayIsDialledByOne(t *testing.T) {
	const bobs = "search/principal=bob"
	run(t, func(r *rig) {
		for _, who := range []string{"ci", "bob", "eve"} {
			if _, err := r.connects(r.caller(who, ""), "search"); err != nil {
				t.Fatal(err)
			}
			r.reports("search/principal="+who, report{state: client.Ready})
		}
		began := time.Now()
		r.reports(search, report{state: client.Backoff, cause: errAway, away: true})
		if got := strings.Join(r.takes(), ", "); got != "bob client.Check, eve client.Check" {
			t.Fatalf("told %s", got)
		}
		r.reports(bobs, report{state: client.Backoff, cause: errAway, away: true})
		if rec := r.record("search"); rec.State != client.Backoff ||
			rec.Ending.Incident != errAway.Incident {
			t.Errorf("record: %+v", rec)
		}
		_, err := r.connects(r.caller("new", ""), "search")
		var told *protocol.Error
		if !errors.As(err, &told) || told.RetryAfter < catalog.FirstDial ||
			!strings.Contains(string(told.Data), errAway.Incident) {
			t.Errorf("a new caller is told %v", err)
		}
		var dials []time.Duration
		for time.Since(began) < 10*time.Minute {
			time.Sleep(10 * time.Millisecond)
			for _, dial := range r.takes() {
				if dial != "bob client.Redial" { // the first connection that waits
					t.Fatalf("told %s", dial)
				}
				dials = append(dials, time.Since(began))
				r.reports(bobs, report{state: client.Starting})
				r.reports(bobs, report{state: client.Backoff, cause: errAway, away: true})
			}
		}
		for i, within := range []time.Duration{110, 320, 730, 1240} {
			if dials[i] > within*time.Millisecond {
				t.Errorf("dial %d after %v, want at most %v", i, dials[i], within*time.Millisecond)
			}
		}
		in6 := 0
		for i, at := range dials {
			if at <= 6*time.Second {
				in6++
			}
			if i > 0 && at > 10*time.Second && at-dials[i-1] > at/9 {
				t.Errorf("away for %v, with a pause of %v", at, at-dials[i-1])
			}
		}
		if in6 > 20 || len(dials) > 90 {
			t.Errorf("dialled %d times in 6 s, and %d times in 10 min", in6, len(dials))
		}
		r.reports(bobs, report{state: client.Ready})
		if got := strings.Join(r.takes(), ", "); got != "ci client.Redial" {
			t.Errorf("at the end told %s", got)
		}
		if rec := r.record("search"); rec.State != client.Ready {
			t.Errorf("record: %+v", rec)
		}
	})
}

// When the connection that dials ends, another one dials.
func TestProbeThatEndsIsFollowedByAnother(t *testing.T) {
	run(t, func(r *rig) {
		for _, who := range []string{"ci", "bob"} {
			if _, err := r.connects(r.caller(who, ""), "search"); err != nil {
				t.Fatal(err)
			}
		}
		for _, who := range []string{"ci", "bob"} {
			r.reports("search/principal="+who, report{state: client.Backoff, cause: errAway, away: true})
		}
		time.Sleep(catalog.FirstDial * 2)
		if got := strings.Join(r.takes(), ", "); got != "bob client.Redial" {
			t.Fatalf("told %s", got)
		}
		r.missing("search/principal=bob")
		r.operates("release")
		time.Sleep(time.Minute)
		if got := r.takes(); len(got) == 0 || got[0] != "ci client.Redial" {
			t.Errorf("told %q", got)
		}
	})
}

// A server that is back only for moments is dialled ever more rarely too.
func TestServerThatIsBackForMomentsOnly(t *testing.T) {
	run(t, func(r *rig) {
		if _, err := r.connects(r.caller("ci", ""), "search"); err != nil {
			t.Fatal(err)
		}
		r.reports(search, report{state: client.Ready})
		dials, began := 0, time.Now()
		r.reports(search, report{state: client.Backoff, cause: errAway, away: true})
		for time.Since(began) < 10*time.Minute {
			time.Sleep(50 * time.Millisecond)
			for range r.takes() {
				dials++
				r.reports(search, report{state: client.Ready})
				r.reports(search, report{state: client.Backoff, cause: errAway, away: true})
			}
		}
		if dials > 60 {
			t.Errorf("dialled %d times in 10 min", dials)
		}
	})
}

// A program that does not complete its handshake is given up each time, with pauses that double,
// and finally quarantined. It is started only for a caller, or for a session that has
// subscriptions.
func TestProgramThatDoesNotShakeHandsIsGivenUp(t *testing.T) {
	unready := &transport.ExitError{Cause: stdio.CauseUnready, Code: -1}
	run(t, func(r *rig) {
		for round := range catalog.MaxGivenUp {
			if _, err := r.connects(r.caller("ci", ""), "search"); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			r.reports(search, report{state: client.Backoff, cause: unready, over: true})
			_, err := r.connects(r.caller("ci", ""), "search") // before it has ended
			if got := protocol.Translate(err, protocol.V20251125); got.Code != protocol.CodeTransport ||
				!strings.Contains(got.Message, unready.Error()) {
				t.Errorf("round %d: asked while it ends: %v", round, err)
			}
			r.Send("client_sup/"+search+"/connection", otp.ShutdownWith(client.EndingOf(unready)))
			key := tenant.NewKey(tenant.ByPrincipal, "ci", "", 0)
			abandoned := &client.AbandonedState{
				Server: "search", Key: key, Sessions: map[string]otp.Ref{"s-ci": r.Ref("session")},
			}
			subscribed := round == 1
			if subscribed {
				abandoned.URIs = map[string]map[string]bool{"x:y": {"s-ci": true}}
			}
			r.Send("catalog", abandoned)
			rec := r.record("search")
			pause := time.Until(rec.Retry)
			if pause < catalog.FirstPause/2 ||
				round < catalog.MaxGivenUp-1 && pause > catalog.FirstPause<<round {
				t.Errorf("round %d: a pause of %v", round, pause)
			}
			time.Sleep(pause + time.Second)
			r.WaitIdle()
			if _, there := r.System.Whereis("top/client_sup/" + search); there != subscribed {
				t.Errorf("round %d: started %v", round, there)
			}
		}
		if rec := r.record("search"); rec.State != client.Quarantined ||
			rec.Ending.Class != client.Permanent {
			t.Errorf("record: %+v", rec)
		}
	})
}
