package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Requests that are rejected for one incident of a server have one line a minute, which counts
// them. The incident has a line of its own. No count is lost when no further request is rejected.
func TestRefusalsOfOneIncidentAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r := NewRecorder(Options{Logger: NewLogger(&out, FormatJSON, slog.LevelInfo)})
		reject := func(server string, times int) {
			for range times {
				r.Emit(Rejected{
					Where: Where{Tenant: "a", Server: server, Incident: "i-" + server}, Reason: "upstream_lost",
				})
			}
			r.Flush()
		}
		said := func(want ...string) {
			t.Helper()
			got := strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' })
			out.Reset()
			ok := len(got) == len(want)
			for i := range min(len(got), len(want)) {
				for _, part := range strings.Fields(want[i]) {
					ok = ok && strings.Contains(got[i], part)
				}
			}
			if !ok {
				t.Errorf("the log says %q, want %q", got, want)
			}
		}
		reject("one", 15)
		reject("two", 2)
		said()
		time.Sleep(SampleEvery)
		reject("one", 1)
		said(`"two" "suppressed":1`, `"one" "suppressed":15`)
		reject("one", 3)
		time.Sleep(SampleEvery)
		r.Emit(ListenerUp{Name: "x"}) // any line
		r.Flush()
		said(`"one" "suppressed":2`, `"x"`)
		for i := range 2 * MaxSamples {
			reject(fmt.Sprint("s", i), 1)
		}
		if n := len(r.samples.all); n > MaxSamples {
			t.Errorf("%d causes are kept, want at most %d", n, MaxSamples)
		}
	})
}

// Lines of a server that are not messages have one line of the log at once and then one a minute,
// which counts the lines since. The metric counts each line as it comes.
func TestNoiseIsSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r := NewRecorder(Options{Logger: NewLogger(&out, FormatJSON, slog.LevelInfo)})
		say := func(server string, times int) {
			for range times {
				r.Emit(UpstreamNoise{
					Where: Where{Tenant: "a", Server: server}, Lines: 2, Sample: "[1/300] compiling",
				})
			}
			r.Flush()
		}
		lines := func() []string { return strings.Split(strings.TrimSpace(out.String()), "\n") }
		say("one", 300)
		say("two", 1)
		if n := len(lines()); n != 2 {
			t.Errorf("%d lines, want one for each server", n)
		}
		time.Sleep(SampleEvery)
		r.Emit(ListenerUp{Name: "x"}) // any line
		r.Flush()
		if got := lines(); len(got) != 4 || !strings.Contains(got[2], `"lines":598`) ||
			strings.Contains(got[2], "suppressed") {
			t.Errorf("the log says %q", got)
		}
		say("one", 3)
		time.Sleep(SampleEvery)
		say("one", 1)
		if got := lines(); len(got) != 6 || !strings.Contains(got[5], `"lines":6`) {
			t.Errorf("the log says %q", got)
		}
	})
}

// Requests whose session has ended have one line a minute for each tenant. Requests that arrive
// while the host drains are reported at the end, because the drain has a line already.
func TestRefusalsOfEndedSessionsAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r := NewRecorder(Options{Logger: NewLogger(&out, FormatJSON, slog.LevelInfo)})
		reject := func(tenant, reason string) {
			r.Emit(Rejected{Where: Where{Tenant: tenant}, Reason: reason})
			r.Flush()
		}
		for range 5 {
			reject("a", sessionGone)
			reject("b", sessionGone)
			reject("a", stopping)
			reject("b", stopping)
			reject("a", "unauthorized")
		}
		if n := strings.Count(out.String(), sessionGone); n != 2 {
			t.Errorf("%d lines of ended sessions, want one for each tenant", n)
		}
		if n := strings.Count(out.String(), stopping); n != 0 {
			t.Errorf("%d lines of requests that a draining host refuses, want none yet", n)
		}
		if n := strings.Count(out.String(), "unauthorized"); n != 5 {
			t.Errorf("%d lines of unauthorized requests, want all 5", n)
		}
		time.Sleep(SampleEvery)
		reject("a", sessionGone)
		if !strings.Contains(out.String(), `"suppressed":4`) {
			t.Errorf("the log does not count the others:\n%s", out.String())
		}
	})
}

// The end of the log counts every refusal without a line, of each cause and of each kind.
func TestTheEndCountsWhatHasNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r := NewRecorder(Options{Logger: NewLogger(&out, FormatJSON, slog.LevelInfo)})
		for range 7 {
			r.Emit(Rejected{Where: Where{Tenant: "a"}, Reason: stopping})
		}
		for range peer + 3 { // with the one line before
			r.Emit(Rejected{Reason: "rate_limited"})
		}
		r.Flush()
		r.Close(t.Context())
		total := 0
		for line := range strings.Lines(strings.TrimSpace(out.String())) {
			var told struct {
				Suppressed int `json:"suppressed"`
			}
			if err := json.Unmarshal([]byte(line), &told); err != nil {
				t.Fatal(err)
			}
			total += 1 + told.Suppressed
		}
		if want := 7 + peer + 3; total != want {
			t.Errorf("%d of %d refusals are told:\n%s", total, want, out.String())
		}
		if strings.Count(out.String(), stopping) != 1 ||
			strings.Count(out.String(), `"suppressed"`) == 0 {
			t.Errorf("the log says\n%s", out.String())
		}
		written := out.Len()
		if r.Close(t.Context()); out.Len() != written {
			t.Errorf("a second end says\n%s", out.String()[written:])
		}
	})
}

// The line that counts refusals is written when it is due, even if nothing else happens then.
func TestSamplesAreToldInAQuietLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r := NewRecorder(Options{Logger: NewLogger(&out, FormatJSON, slog.LevelInfo)})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Serve(ctx) }() // owner: the test waits for it
		where := Where{Tenant: "a", Server: "s", Incident: "i"}
		for range 2 {
			for range 3 {
				r.Emit(Rejected{Where: where, Reason: "upstream_lost"})
			}
			time.Sleep(3 * SampleEvery)
		}
		synctest.Wait()
		if n := strings.Count(out.String(), `"suppressed":2`); n != 2 {
			t.Errorf("the log says\n%s", out.String())
		}
		r.Emit(Rejected{Where: where, Reason: "upstream_lost"})
		synctest.Wait()
		end()
		<-ended
		r.Close(t.Context())
	})
}
