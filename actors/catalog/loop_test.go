package catalog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/stage"
	"mcpd/protocol"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// F11, F17: a server whose budget ran out is in a crash loop, with its cause. Calls are refused at once and told when it may be tried
// again; after the pause it is.
func TestServerThatGaveUpIsTriedAgainAfterAPause(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.fails(files, errDisk)
		rec := r.record("files")
		if rec.State != client.CrashLoop || !strings.Contains(rec.Cause, "the disk is full") || rec.Retry.IsZero() || rec.Open != 0 {
			t.Errorf("record: %+v", rec)
		}
		start := time.Now()
		_, err := r.connects(r.caller("ci", ""), "files")
		var e *protocol.Error
		if !errors.As(err, &e) || !errors.Is(err, protocol.ConditionUpstreamLost) || e.RetryAfter != rec.Retry.Sub(start) || time.Now() != start {
			t.Errorf("refused with %v (retry %v)", err, e.RetryAfter)
		}
		if _, err := r.connects(r.caller("ci", ""), "search"); err != nil {
			t.Errorf("the other server: %v", err)
		}
		if told := stage.Of[telemetry.UpstreamCrashLoop](&r.Events); len(told) != 1 || told[0].Retry != rec.Retry.Sub(start) || told[0].Cause == "" {
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
		if got := r.record("files"); got.State != client.Ready || got.Cause != "" {
			t.Errorf("back: %+v", got)
		}
	})
}

// A program that is not there is failed: no amount of starting helps.
func TestServerThatCannotWorkIsFailed(t *testing.T) {
	run(t, func(r *rig) {
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			r.T.Fatal(err)
		}
		gone := &transport.ExitError{Cause: stdio.CauseNotFound}
		for range 3 {
			r.reports(files, report{state: client.Failed, cause: gone})
			r.Send("client_sup/"+files, gone)
		}
		if got := r.record("files"); got.State != client.Failed || got.Retry.IsZero() {
			t.Errorf("record: %+v", got)
		}
	})
}

// F10: pauses double, up to a bound, with jitter; and begin anew after the server was well for a while.
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
			if pause < want/2 || pause >= want*3/2 {
				t.Errorf("round %d: pause %v, want around %v", round, pause, want)
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
		if pause := time.Until(r.record("files").Retry); pause >= catalog.FirstPause*3/2 {
			t.Errorf("after it was well for a while: pause %v", pause)
		}
	})
}

// A server in its pause is not started sooner because another one's supervisor ended, or because the catalogue crashed.
func TestPauseIsKept(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.fails(files, errDisk)
		due := r.record("files").Retry
		r.Break("catalog", "")
		_ = r.Ref("catalog").Send(struct{}{})
		r.Struck()
		time.Sleep(time.Until(due) - time.Millisecond)
		if _, err := r.connects(r.caller("ci", ""), "files"); !errors.Is(err, protocol.ConditionUpstreamLost) {
			t.Errorf("before its time: %v", err)
		}
		if _, there := r.System.Whereis("top/client_sup/files"); there {
			t.Error("its supervisor was started before its time")
		}
		time.Sleep(time.Millisecond)
		r.Rest()
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Errorf("after its time: %v", err)
		}
	})
}

// How a connection ended is told to those who use it. Others hear that the server cannot be used now, and no word of what it wrote.
func TestLastWordsAreForThoseWhoseServerItWas(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		if _, err := r.connects(r.caller("bob", ""), "search"); err != nil {
			r.T.Fatal(err)
		}
		r.fails(search, &transport.ExitError{Cause: "crashed", Code: 1, Stderr: []byte("the key of ci is wrong")})
		_, own := r.connects(r.caller("ci", ""), "search")
		_, other := r.connects(r.caller("bob", ""), "search")
		if text := string(protocol.Translate(own, protocol.V20251125).Data); !strings.Contains(text, "the key of ci") {
			t.Errorf("ci is told %s", text)
		}
		able := r.caller("ci", "")
		able.Capabilities, _ = protocol.ParseClientCapabilities(jsontext.Value(`{"sampling":{}}`))
		if _, err := r.connects(able, "search"); !strings.Contains(err.Error(), "crashed") {
			t.Errorf("ci with another client is told %v", err)
		}
		if text := string(protocol.Translate(other, protocol.V20251125).Data) + other.Error(); strings.Contains(text, "the key of ci") || strings.Contains(text, "crashed") {
			t.Errorf("bob is told %s", text)
		}
		if look := <-r.looks(r.caller("bob", "search")); look.err == nil || strings.Contains(look.err.Error(), "crashed") {
			t.Errorf("bob's list: %v", look.err)
		}
		if got := r.record("search").Cause; !strings.Contains(got, "the key of ci") {
			t.Errorf("the operator is told %q", got)
		}
	})
}
