package catalog_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/storage"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

var errMissing = &transport.ExitError{Cause: stdio.CauseNotFound, Code: -1}

// missing ends the connection of a server as if its program did not exist.
func (r *rig) missing(path string) {
	r.T.Helper()
	r.reports(path, report{state: client.Quarantined, cause: errMissing})
	r.Send("client_sup/"+path+"/connection", otp.ShutdownWith(errMissing))
}

// refusal is the error data and the time to retry for a caller that asks for a connection to files.
func (r *rig) refusal(principal string) (data string, retry time.Duration) {
	r.T.Helper()
	start := time.Now()
	_, err := r.connects(r.caller(principal, ""), "files")
	var e *protocol.Error
	if !errors.As(err, &e) || !errors.Is(err, protocol.ConditionUpstreamQuarantined) ||
		!strings.Contains(err.Error(), "is quarantined") || time.Now() != start {
		r.T.Fatalf("%s is told %v after %v", principal, err, time.Since(start))
	}
	return string(protocol.Translate(err, protocol.V20251125).Data), e.RetryAfter
}

// operates sends an operator's command for files.
func (r *rig) operates(verb catalog.Verb) catalog.Record {
	r.T.Helper()
	rec, err := testrig.Ask[catalog.OperateRequest, catalog.Record](r.Rig, "catalog",
		catalog.OperateRequest{Server: "files", Verb: verb})
	if err != nil {
		r.T.Fatalf("%s: %v", verb, err)
	}
	r.WaitIdle()
	return rec
}

// F17: a server whose program does not exist is quarantined for everybody at the first failure. The
// first caller after the pause tries it once more. Pauses grow. When the program exists, the server
// is like any other.
func TestServerThatCannotWorkIsQuarantined(t *testing.T) {
	run(t, func(r *rig) {
		want := catalog.FirstProbe
		for round := range 8 {
			if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if round > 0 { // a probe is in progress
				if _, retry := r.refusal("bob"); retry != catalog.ProbeWait {
					t.Errorf("round %d: bob may come back after %v", round, retry)
				}
			}
			r.missing(files)
			rec := r.record("files")
			pause := time.Until(rec.Retry)
			if rec.State != client.Quarantined || rec.Ending.Class != client.Permanent || rec.Open != 0 ||
				pause < catalog.FirstProbe/2 || pause > want {
				t.Errorf("round %d: %+v, want a pause of at most %v", round, rec, want)
			}
			if data, retry := r.refusal("bob"); !strings.Contains(data, `"retryable":false`) ||
				!strings.Contains(data, "not found") || retry != pause {
				t.Errorf("round %d: bob is told %s, retry %v", round, data, retry)
			}
			want = min(2*want, catalog.LastProbe)
			time.Sleep(pause)
			if _, there := r.System.Whereis("top/client_sup/" + files); there {
				t.Error("it was started though nobody asked")
			}
		}
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Fatal(err)
		}
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		if got := r.record("files"); got.State != client.Ready || got.Ending != (telemetry.Ending{}) {
			t.Errorf("mended: %+v", got)
		}
		if by := testrig.Of[telemetry.UpstreamReleased](&r.Events); len(by) != 1 || by[0].By != "probe" {
			t.Errorf("released: %+v", by)
		}
	})
}

// §B5: a connection that is given up ten times in a row is quarantined, alone. One failed probe
// continues the quarantine, and one success ends it.
func TestConnectionThatIsGivenUpTooOftenIsQuarantined(t *testing.T) {
	run(t, func(r *rig) {
		exits := &transport.ExitError{Cause: stdio.CauseHandshake, Code: 3, Stderr: []byte("boom")}
		for round := range catalog.MaxGivenUp {
			if got := r.record("search"); round > 0 && got.State != client.CrashLoop {
				t.Fatalf("round %d: %+v", round, got)
			}
			if _, err := r.connects(r.caller("ci", ""), "search"); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			r.fails(search, exits)
			time.Sleep(time.Until(r.record("search").Retry))
		}
		rec := r.record("search")
		if rec.State != client.Quarantined || rec.Ending.Class != client.Permanent ||
			rec.Ending.Stderr != "boom" {
			t.Fatalf("record: %+v", rec)
		}
		if told := testrig.Of[telemetry.UpstreamQuarantined](&r.Events); len(told) != 1 ||
			told[0].Connection != "principal=ci" || told[0].Retry < catalog.FirstProbe/2 {
			t.Errorf("told %+v", told)
		}
		if _, err := r.connects(r.caller("bob", ""), "search"); err != nil {
			t.Errorf("bob is told %v", err)
		}
		if _, err := r.connects(r.caller("ci", ""), "search"); err != nil {
			t.Fatalf("the probe: %v", err)
		}
		r.reports(search, report{state: client.Backoff, cause: exits})
		if _, err := r.connects(r.caller("ci", ""), "search"); err == nil ||
			!strings.Contains(err.Error(), "exited before handshake") {
			t.Errorf("after the probe ci is told %v", err)
		}
		if _, there := r.System.Whereis("top/client_sup/" + search); there {
			t.Error("the probe was tried more than once")
		}
		time.Sleep(catalog.LastProbe)
		if _, err := r.connects(r.caller("ci", ""), "search"); err != nil {
			t.Fatalf("the next probe: %v", err)
		}
		r.reports(search, report{state: client.Ready})
		if got := r.record("search"); got.State != client.Ready {
			t.Errorf("mended: %+v", got)
		}
	})
}

// When an operator quarantines a server, its connections end, and none is started until the
// operator releases it. A restart restarts the shared connections.
func TestOperatorHasTheLastWord(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		conn, err := r.connects(r.caller("ci", ""), "files")
		if err != nil {
			t.Fatal(err)
		}
		if got := r.operates(catalog.Quarantine); got.State != client.Quarantined || !got.Operator ||
			!got.Retry.IsZero() || got.Open != 0 {
			t.Errorf("quarantined: %+v", got)
		}
		if conn.Alive() {
			t.Error("its connection lives on")
		}
		time.Sleep(24 * time.Hour)
		if data, retry := r.refusal("ci"); !strings.Contains(data, `"retryable":false`) ||
			!strings.Contains(data, `"cause":"operator"`) || retry != 0 {
			t.Errorf("ci is told %s, retry %v", data, retry)
		}
		restart := catalog.OperateRequest{Server: "files", Verb: catalog.Restart}
		if _, err := testrig.Ask[catalog.OperateRequest, catalog.Record](r.Rig, "catalog",
			restart); !errors.Is(err, catalog.ErrOperatorQuarantine) || !r.record("files").Operator {
			t.Errorf("a restart: %v, %+v", err, r.record("files"))
		}
		if v := <-r.looks(r.caller("ci", "")); v.err != nil || len(v.Servers) != 2 {
			t.Errorf("its lists: %+v, %v", v.View, v.err)
		}
		if got := r.operates(catalog.Release); got.State != client.Stopped || got.Operator {
			t.Errorf("released: %+v", got)
		}
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Errorf("after its release: %v", err)
		}
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		if got := r.operates(catalog.Restart); got.State != client.Starting {
			t.Errorf("restarted: %+v", got)
		}
		if released := testrig.Of[telemetry.UpstreamReleased](&r.Events); len(released) != 1 {
			t.Errorf("told %+v, want the release only", released)
		}
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		if got := r.record("files"); got.State != client.Ready || got.Open != 1 {
			t.Errorf("after the restart: %+v", got)
		}
		_, err = testrig.Ask[catalog.OperateRequest, catalog.Record](r.Rig, "catalog",
			catalog.OperateRequest{Server: "nothing", Verb: catalog.Release})
		if !errors.Is(err, protocol.ConditionEndpointNotFound) {
			t.Errorf("no such server: %v", err)
		}
	})
}

// A reload that changes the server ends its quarantine; another reload does not.
func TestReloadEndsTheQuarantineOfWhatItChanges(t *testing.T) {
	run(t, func(r *rig) {
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Fatal(err)
		}
		r.missing(files)
		r.reload(func(servers []tenant.Server) []tenant.Server {
			return append(servers, tenant.Server{Name: "more"})
		})
		r.refusal("ci")
		r.reload(rewrite)
		if got := r.record("files"); got.State != client.Idle {
			t.Errorf("declared anew: %+v", got)
		}
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Error(err)
		}
	})
}

// I12: a quarantine survives the host, with the same explanation, unless the declaration of the
// server has changed.
func TestQuarantineOutlivesTheHost(t *testing.T) {
	stored := map[string]jsontext.Value{}
	remember := func(r *rig) {
		r.WaitIdle()
		for _, k := range testrig.Of[*storage.Keep](&r.storage.Log) {
			if k.Bucket != store.Quarantines {
				continue
			}
			if stored[k.Key] = k.Value; k.Value == nil {
				delete(stored, k.Key)
			}
		}
	}
	var before string
	var due time.Time
	(&rig{quarantined: maps.Clone(stored)}).run(t, func(r *rig) {
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Fatal(err)
		}
		r.missing(files)
		before, _ = r.refusal("bob")
		due = r.record("files").Retry
		remember(r)
		if len(stored) != 1 || stored["acme/files"] == nil {
			t.Fatalf("stored %s", stored)
		}
	})
	(&rig{quarantined: maps.Clone(stored)}).run(t, func(r *rig) {
		if after, _ := r.refusal("bob"); after != before {
			t.Errorf("before %s, after %s", before, after)
		}
		if got := r.record("files"); got.State != client.Quarantined || !got.Retry.Equal(due) {
			t.Errorf("record %+v, want it due at %v", got, due)
		}
		r.Break("catalog", "")
		_ = r.Ref("catalog").Send(struct{}{})
		r.Struck()
		r.refusal("bob")
		time.Sleep(time.Until(due))
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Errorf("the probe: %v", err)
		}
	})
	never := strings.Replace(string(stored["acme/files"]), `"until":"2000-`, `"until":"2999-`, 1)
	other := func(t *tenant.Tenant) { t.Servers[0].Command = tenant.NewSecret("other") }
	(&rig{quarantined: maps.Clone(stored), configure: other}).run(t, func(r *rig) {
		if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
			t.Errorf("declared otherwise: %v", err)
		}
		if remember(r); len(stored) != 0 {
			t.Errorf("stored %s", stored)
		}
	})
	for _, damaged := range []string{`{`, `[]`, `{"identity":"x"}`, `{"identity":1}`,
		`{"whole":{}}`, never} {
		stored = map[string]jsontext.Value{
			"acme/files": jsontext.Value(damaged), "acme/gone": jsontext.Value(`{}`),
			"other/files": jsontext.Value(`{}`),
		}
		(&rig{quarantined: maps.Clone(stored)}).run(t, func(r *rig) {
			if _, err := r.connects(r.caller("ci", ""), "files"); err != nil {
				t.Errorf("%s: %v", damaged, err)
			}
			if remember(r); len(stored) != 1 {
				t.Errorf("stored %s", stored)
			}
		})
	}
}

// The operator is answered when the decision is stored.
func TestOperatorHearsWhetherItIsStored(t *testing.T) {
	run(t, func(r *rig) {
		r.full = errDisk
		_, err := testrig.Ask[catalog.OperateRequest, catalog.Record](r.Rig, "catalog",
			catalog.OperateRequest{Server: "files", Verb: catalog.Quarantine})
		if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "would not survive") {
			t.Errorf("got %v", err)
		}
		r.refusal("ci")
	})
}
