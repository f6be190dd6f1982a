package drops_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mcpd/telemetry"
	"mcpd/telemetry/drops"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// drop drops a notification, or a reply if the method is "reply".
func drop(tally *drops.Tally, server, method, reason string, count uint32,
	now time.Time) (telemetry.Event, bool) {
	where := telemetry.Where{Server: server}
	if tenant, name, ok := strings.Cut(server, "/"); ok {
		where = telemetry.Where{Tenant: tenant, Server: name}
	}
	if method == "reply" {
		return drops.Drop(tally, telemetry.ReplyDropped{Where: where, Reason: reason, Count: count}, now)
	}
	return drops.Drop(tally, telemetry.NotificationDropped{Where: where, Method: method,
		Reason: reason, Count: count}, now)
}

// parts returns the parts of an event in the form of drop's parameters.
func parts(e telemetry.Event) (server, method, reason string, count uint32) {
	switch e := e.(type) {
	case telemetry.NotificationDropped:
		return named(e.Where), e.Method, e.Reason, e.Count
	case telemetry.ReplyDropped:
		return named(e.Where), "reply", e.Reason, e.Count
	}
	return "", "", fmt.Sprintf("%T", e), 0
}

func named(w telemetry.Where) string {
	if w.Tenant == "" {
		return w.Server
	}
	return w.Tenant + "/" + w.Server
}

func text(e telemetry.Event) string {
	server, method, reason, count := parts(e)
	return fmt.Sprintf("%s %s %s %d", server, method, reason, count)
}

// Each step is a drop, or "due" to take the due events, with the events that are expected.
func TestTally(t *testing.T) {
	type step struct {
		at time.Duration
		// drop is server, method and reason, or "due" or "rest".
		drop string
		want string
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"one alone is told at once", []step{
			{0, "a log full", "a log full 1"}, {time.Second, "due", ""}, {time.Second, "rest", ""},
		}},
		{"what follows is one", []step{
			{0, "a log full", "a log full 1"}, {1, "a log full", ""}, {2, "a log full", ""},
			{time.Second - 1, "due", ""}, {time.Second, "due", "a log full 2"}, {2 * time.Second, "due", ""},
		}},
		{"a second counts from what was told last", []step{
			{0, "a log full", "a log full 1"}, {1, "a log full", ""}, {time.Second, "due", "a log full 1"},
			{time.Second + 1, "a log full", ""}, {2*time.Second - 1, "due", ""},
			{2 * time.Second, "due", "a log full 1"},
		}},
		{"after a quiet second it is at once again", []step{
			{0, "a log full", "a log full 1"}, {time.Second, "a log full", "a log full 1"},
		}},
		{"what waits is told with the next, when nobody looked", []step{
			{0, "a log full", "a log full 1"}, {1, "a log full", ""},
			{time.Minute, "a log full", "a log full 2"},
		}},
		{"methods are one kind, and the last is told", []step{
			{0, "a log full", "a log full 1"}, {1, "a made full", ""}, {2, "a up full", ""},
			{time.Second, "due", "a up full 2"},
		}},
		{"servers and reasons are kinds", []step{
			{0, "b log full", "b log full 1"}, {0, "a log full", "a log full 1"},
			{0, "a log fast", "a log fast 1"},
			{1, "b log full", ""}, {1, "a log full", ""}, {1, "a log fast", ""},
			{time.Second, "due", "a log fast 1, a log full 1, b log full 1"},
		}},
		{"tenants are kinds", []step{
			{0, "acme/a log full", "acme/a log full 1"}, {0, "globex/a log full", "globex/a log full 1"},
			{1, "globex/a log full", ""}, {1, "acme/a log full", ""},
			{time.Second, "due", "acme/a log full 1, globex/a log full 1"},
		}},
		{"replies are a kind", []step{
			{0, "a reply full", "a reply full 1"}, {0, "a log full", "a log full 1"},
			{0, "b log full", "b log full 1"},
			{1, "a reply full", ""}, {1, "a reply full", ""}, {1, "a log full", ""}, {1, "b log full", ""},
			{time.Second, "due", "a log full 1, b log full 1, a reply full 2"},
		}},
		{"at the end all is told", []step{
			{0, "a log full", "a log full 1"}, {1, "a log full", ""}, {2, "rest", "a log full 1"},
			{3, "rest", ""},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tally drops.Tally
			for _, s := range tt.steps {
				var told []string
				switch now := start.Add(s.at); s.drop {
				case "due":
					for _, e := range tally.Due(now) {
						told = append(told, text(e))
					}
				case "rest":
					for _, e := range tally.Rest() {
						told = append(told, text(e))
					}
				default:
					words := strings.Fields(s.drop)
					if e, tell := drop(&tally, words[0], words[1], words[2], 1, now); tell {
						told = append(told, text(e))
					}
				}
				if got := strings.Join(told, ", "); got != s.want {
					t.Errorf("after %s, %s: told %q, want %q", s.at, s.drop, got, s.want)
				}
			}
		})
	}
}

// For any sequence of drops, the sum of the reported counts equals the number of drops. No kind
// is reported more than once a second, except at the end. Every waiting event is due within a
// second.
func TestTallyTellsAllOfItAndNotTooOften(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tally drops.Tally
		now := start
		dropped, told, last := map[string]uint32{}, map[string]uint32{}, map[string]time.Time{}
		key := func(server, method, reason string) string {
			return fmt.Sprint(server, " ", method == "reply", " ", reason)
		}
		tell := func(e telemetry.Event) {
			server, method, reason, count := parts(e)
			k := key(server, method, reason)
			if before, ok := last[k]; ok && now.Sub(before) < drops.Every {
				t.Fatalf("%s was told twice within %s", k, now.Sub(before))
			}
			if count == 0 {
				t.Fatalf("%s: told of nothing", k)
			}
			last[k] = now
			told[k] += count
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(drops.Every*3/2)).Draw(t, "wait")))
			if rapid.Bool().Draw(t, "look") {
				for _, e := range tally.Due(now) {
					tell(e)
				}
				if wait, any := tally.Next(now); any && (wait <= 0 || wait > drops.Every) {
					t.Fatalf("what waits is due in %s", wait)
				}
				continue
			}
			server, method := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t,
				"server"), rapid.OneOf(rapid.Just("reply"), rapid.String()).Draw(t, "method")
			reason, count := rapid.SampledFrom([]string{"full", "fast"}).Draw(t,
				"reason"), rapid.Uint32Range(1, 5).Draw(t, "count")
			dropped[key(server, method, reason)] += count
			if all, ok := drop(&tally, server, method, reason, count, now); ok {
				tell(all)
			}
		}
		waits := map[string]bool{}
		_, any := tally.Next(now)
		for _, e := range tally.Rest() {
			server, method, reason, count := parts(e)
			k := key(server, method, reason)
			if waits[k] {
				t.Fatalf("%s waits twice", k)
			}
			waits[k] = true
			told[k] += count
		}
		if any != (len(waits) > 0) {
			t.Fatalf("Next says %t, and %d wait", any, len(waits))
		}
		for k, n := range dropped {
			if told[k] != n {
				t.Fatalf("%s: told of %d, want %d", k, told[k], n)
			}
		}
	})
}
