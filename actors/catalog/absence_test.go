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
	"mcpd/protocol"
)

var errAway = &client.Ending{Cause: "unreachable", Text: "connection refused", Incident: "abcdefgh"}

// takes is what connections were told since the last time, without the pauses.
func (r *rig) takes() (all []string) {
	r.T.Helper()
	r.Rest()
	r.noting.Lock()
	defer r.noting.Unlock()
	for _, l := range r.led {
		if _, pause := l.msg.(client.Pause); !pause {
			all = append(all, fmt.Sprintf("%s %T", l.principal, l.msg))
		}
	}
	r.led = nil
	slices.Sort(all) // connections note it in any order
	return all
}

// A server that is away is dialled by one connection of all at a time, at growing pauses. Callers without a
// connection are told when it is dialled next. When it is back, all others dial at once.
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
		if rec := r.record("search"); rec.State != client.Backoff || rec.Ending.Incident != errAway.Incident {
			t.Errorf("record: %+v", rec)
		}
		_, err := r.connects(r.caller("new", ""), "search")
		var told *protocol.Error
		if !errors.As(err, &told) || told.RetryAfter < catalog.FirstDial || !strings.Contains(string(told.Data), errAway.Incident) {
			t.Errorf("a new caller is told %v", err)
		}
		var dials []time.Duration
		for time.Since(began) < 10*time.Minute {
			time.Sleep(10 * time.Millisecond)
			for _, dial := range r.takes() {
				if dial != "bob client.Redial" { // the first of those that wait
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

// The end of the connection that dials leaves that to another.
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

// A server that is back for moments only is dialled less and less often too.
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
