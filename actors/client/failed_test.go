package client_test

import (
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// The log has one line of a start and one of a failure for a program that exits at each start. Each
// start still has its event, and the ending counts the starts.
func TestFailedStartsAreToldOnce(t *testing.T) {
	run(t, func(o *client.Options) { o.StartTimeout = time.Hour }, func(r *rig) {
		fails := func(cause string) {
			r.dials <- dial{
				err: &transport.ExitError{Cause: cause, Code: 1, Stderr: []byte("API_KEY is required\n")},
			}
			r.WaitIdle()
		}
		told := func(starts, failures int) {
			t.Helper()
			for _, e := range testrig.Of[telemetry.UpstreamStarting](&r.Events) {
				if !e.Routine {
					starts--
				}
			}
			for _, e := range testrig.Of[telemetry.UpstreamStartFailed](&r.Events) {
				if !e.Routine {
					failures--
				}
			}
			if starts != 0 || failures != 0 {
				t.Errorf("%d starts and %d failures too few are told", starts, failures)
			}
		}
		for range 3 {
			fails(stdio.CauseHandshake)
		}
		told(1, 1)
		if all := testrig.Of[telemetry.UpstreamStartFailed](&r.Events); len(all) != 3 ||
			all[2].Starts != 3 || all[2].Incident != all[0].Incident {
			t.Errorf("the events are %+v", all)
		}
		for _, rep := range r.reports() {
			if rep.State != client.Backoff || rep.Cause == nil {
				continue
			}
			if end := client.EndingOf(rep.Cause); end.Stderr != "API_KEY is required" || end.Starts == 0 {
				t.Errorf("a report says %+v", end)
			}
		}
		fails(stdio.CauseSignal) // another cause is reported
		told(1, 2)
		time.Sleep(client.FailureEvery)
		fails(stdio.CauseSignal)
		told(1, 3)
		p := r.ready(`{"tools":{}}`)
		p.Close(&transport.ExitError{Cause: stdio.CauseSignal})
		r.WaitIdle()
		told(2, 3)
		fails(stdio.CauseSignal)
		told(2, 4)
	})
}
