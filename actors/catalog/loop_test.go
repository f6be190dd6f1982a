package catalog_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// F11, F17: a server whose restart budget ran out is in a crash loop, with its cause. Calls are
// refused at once, with the time to retry. After the pause the server is tried again.
func TestServerThatGaveUpIsTriedAgainAfterAPause(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.fails(files, errDisk)
		rec := r.record("files")
		if rec.State != client.CrashLoop || !strings.Contains(rec.Ending.Cause, "the disk is full") ||
			rec.Retry.IsZero() || rec.Open != 0 {
			t.Errorf("record: %+v", rec)
		}
		start := time.Now()
		_, err := r.connects(r.caller("ci", ""), "files")
		var e *protocol.Error
		if !errors.As(err, &e) || !errors.Is(err, protocol.ConditionUpstreamLost) ||
			e.RetryAfter != rec.Retry.Sub(start) || time.Now() != start {
			t.Errorf("refused with %v (retry %v)", err, e.RetryAfter)
		}
		if _, err := r.connects(r.caller("ci", ""), "search"); err != nil {
			t.Errorf("the other server: %v", err)
		}
		if told := testrig.Of[telemetry.UpstreamCrashLoop](&r.Events); len(told) != 1 ||
			told[0].Retry != rec.Retry.Sub(start) || told[0].Cause == "" {
			t.Errorf("events: %+v", told)
		}
		time.Sleep(rec.Retry.Sub(start))
		if got := r.record("files"); got.State != client.CrashLoop || !got.Retry.IsZero() {
			t.Errorf("due again: %+v, want it shown as it was until somebody asks for it", got)
		}
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Errorf("after its pause: %v", err)
		}
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		if got := r.record("files"); got.State != client.Ready || got.Ending.Cause != "" {
			t.Errorf("back: %+v", got)
		}
	})
}

// F10: pauses double, up to a bound, with jitter. They start from the beginning after the server
// was ready for a while.
func TestPausesDouble(t *testing.T) {
	run(t, func(r *rig) {
		want := catalog.FirstPause
		for round := range 9 {
			if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
				r.T.Fatalf("round %d: %v", round, err)
			}
			r.reports(files, report{state: client.Ready}) // not for long enough
			r.fails(files, errDisk)
			pause := time.Until(r.record("files").Retry)
			if pause < catalog.FirstPause/2 || pause > want {
				t.Errorf("round %d: pause %v, want at most %v", round, pause, want)
			}
			want = min(2*want, catalog.LastPause)
			time.Sleep(pause)
		}
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			r.T.Fatal(err)
		}
		r.reports(files, report{state: client.Ready})
		time.Sleep(catalog.Steady)
		r.fails(files, errDisk)
		if pause := time.Until(r.record("files").Retry); pause > catalog.FirstPause {
			t.Errorf("after it was well for a while: pause %v", pause)
		}
	})
}

// A paused server is not started sooner because the supervisor of another server ended, or because
// the catalogue crashed.
func TestPauseIsKept(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.fails(files, errDisk)
		due := r.record("files").Retry
		r.Break("catalog", "")
		_ = r.Ref("catalog").Send(struct{}{})
		r.Struck()
		time.Sleep(time.Until(due) - time.Millisecond)
		if _, err := r.connects(r.caller("ci", ""), "files"); !errors.Is(err,
			protocol.ConditionUpstreamLost) {
			t.Errorf("before its time: %v", err)
		}
		if _, there := r.System.Whereis("top/client_sup/" + files); there {
			t.Error("it was started before its time")
		}
		time.Sleep(time.Millisecond)
		r.WaitIdle()
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Errorf("after its time: %v", err)
		}
	})
}

// A connection that is given up affects no other: neither another principal's, nor one with other
// capabilities. The cause is told to its users, and to nobody else.
func TestConnectionThatIsGivenUpIsNobodyElsesAffair(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		theirs, err := r.connects(r.caller("bob", ""), "search")
		if err != nil {
			t.Fatal(err)
		}
		r.reports("search/principal=bob", report{state: client.Ready, tools: []string{"find"}})
		r.fails(search, &transport.ExitError{
			Cause: "crashed", Code: 1, Stderr: []byte("the key of ci is wrong"),
		})
		_, own := r.connects(r.caller("ci", ""), "search")
		if text := string(protocol.Translate(own, protocol.V20251125).Data); !strings.Contains(text,
			"the key of ci") || strings.Contains(own.Error(), "client_sup") {
			t.Errorf("ci is told %v %s", own, text)
		}
		if still, err := r.connects(r.caller("bob", ""), "search"); err != nil || still != theirs ||
			still.Incarnation() != 1 {
			t.Errorf("bob's connection: %v, %v", still, err)
		}
		if got := r.record("search"); got.State != client.Degraded || got.Open != 1 {
			t.Errorf("with bob's connection the server is %+v", got)
		}
		able := r.caller("ci", "")
		able.Capabilities, _ = protocol.ParseClientCapabilities(jsontext.Value(`{"sampling":{}}`))
		if _, err := r.connects(able, "search"); err != nil {
			t.Errorf("ci with another client is told %v", err)
		}
		r.fails("search/principal=bob", errDisk)
		if _, err := r.connects(r.caller("bob", ""), "search"); err == nil ||
			!strings.Contains(err.Error(), "disk") {
			t.Errorf("bob is told %v", err)
		}
		if look := <-r.looks(r.caller("eve", "search")); look.err != nil &&
			strings.Contains(look.err.Error(), "crashed") {
			t.Errorf("eve's list: %v", look.err)
		}
	})
}

// The carried state of a connection whose sessions still run counts as a connection of its
// principal.
func TestConnectionThatIsRestoredCountsForItsPrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, tenant.BySession, 0)
		alive := s.connect("first")
		catalog, _ := s.system.Whereis("top/catalog")
		for i := range most - 1 {
			key := tenant.Key{Share: tenant.BySession, Principal: "ci", Session: strconv.Itoa(i)}
			if err := catalog.Send(&client.AbandonedState{Server: "files", Key: key,
				Sessions: map[string]otp.Ref{"s": alive}}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if _, err := s.try("ci", "more"); !errors.Is(err, protocol.ConditionOverloaded) {
			t.Errorf("one more: %v", err)
		}
	})
}
