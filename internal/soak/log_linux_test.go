package soak

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxLines is how many log lines an event may cost.
const maxLines = 3

// line is a line of the host's log.
type line struct {
	Time   time.Time `json:"ts"`
	Event  string    `json:"event"`
	Tenant string    `json:"tenant"`
	Server string    `json:"server"`
	// Incident is the id of the incident that the line belongs to.
	Incident string `json:"incident"`
	Name     string `json:"name"` // of a listener
	// Negotiated is a protocol revision.
	Negotiated string `json:"negotiated_version"`
	text       string
}

// log keeps the lines of all hosts. The goroutine that reads a host's log adds them.
type log struct {
	mu  sync.Mutex
	all []line
}

// startupEvents are the events that a start of the host may log once for each listener, server or
// revision, with the reason. Such a line belongs to the start, however late it comes, and does
// not count.
var startupEvents = map[string]string{
	"listener_up":          "one for each listener: its address",
	"upstream_starting":    "one for each server",
	"upstream_ready":       "one for each server",
	"protocol_negotiation": "one for each revision, when the first client speaks it",
	"version_lowered":      "one for each revision, when the first client has to accept it",
}

// key is the same for all lines of which a start of the host may have one.
func (n line) key() string {
	return strings.Join([]string{n.Event, n.Name, n.Tenant, n.Server, n.Negotiated}, " ")
}

// withoutStartup leaves out the lines that belong to a start of the host. A start begins with the
// line of the admin listener.
func withoutStartup(all []line) (counted []line) {
	var starts []time.Time
	for _, n := range all {
		if n.Event == "listener_up" && n.Name == "admin" {
			starts = append(starts, n.Time)
		}
	}
	seen := map[string]time.Time{} // time of the last line, by key
	for _, n := range all {
		before := seen[n.key()]
		seen[n.key()] = n.Time
		first := slices.ContainsFunc(starts, func(at time.Time) bool {
			return !n.Time.Before(at) && before.Before(at)
		})
		if startupEvents[n.Event] == "" || !first {
			counted = append(counted, n)
		}
	}
	return counted
}

// lineTime is how long after its event a line may come. Servers start slowly on a busy machine.
const lineTime = time.Minute

func (l *log) add(text []byte) {
	n := line{text: string(text)}
	if json.Unmarshal(text, &n) != nil && len(text) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, n)
}

// since returns the lines after a time.
func (l *log) since(begin time.Time) (all []line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.all {
		if n.Time.After(begin) {
			all = append(all, n)
		}
	}
	return all
}

// lineLead is how much earlier than its event a line may be. Both times come from one clock, but
// the time of an event is taken when the event has begun.
const lineLead = 50 * time.Millisecond

// linesByEvent assigns each line to an event. A line belongs to the event of the first line of its
// incident. Any other line belongs to the last event that had begun and that hits the line's
// tenant and server. Lines without an event are returned in alone.
func linesByEvent(all []line, events []pastEvent) (by [][]line, alone []line) {
	by = make([][]line, len(events))
	of := map[string]int{} // index of the event, by incident
	for _, n := range all {
		if i, known := of[n.Incident]; known && n.Incident != "" {
			by[i] = append(by[i], n)
			continue
		}
		last := -1
		for i, h := range events {
			if h.tenant != "" && n.Tenant != "" && h.tenant != n.Tenant ||
				h.server != "" && n.Server != "" && h.server != n.Server {
				continue
			}
			if n.Time.Before(h.began.Add(-lineLead)) || n.Time.After(h.ended.Add(lineTime)) {
				continue
			}
			if last < 0 || h.began.After(events[last].began) {
				last = i
			}
		}
		if last < 0 {
			alone = append(alone, n)
		} else {
			by[last], of[n.Incident] = append(by[last], n), last
		}
	}
	return by, alone
}

// tooManyLines describes the events that cost more lines than maxLines.
func tooManyLines(by [][]line, events []pastEvent) (all []string) {
	for i, h := range events {
		if len(by[i]) > maxLines {
			said := fmt.Sprintf("%s of %s/%s: %d lines, %d may be", h.kind.name, h.tenant, h.server,
				len(by[i]), maxLines)
			for _, n := range by[i] {
				said += "\n\t" + n.text
			}
			all = append(all, said)
		}
	}
	return all
}

func TestCounting(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1e9+int64(seconds), 0) }
	ready := func(seconds int, server string) line {
		return line{Time: at(seconds), Event: "upstream_ready", Tenant: "a", Server: server}
	}
	up := func(seconds int) line {
		return line{Time: at(seconds), Event: "listener_up", Name: "admin"}
	}
	all := []line{
		ready(1, "s"), up(10), ready(11, "s"), ready(12, "s"), ready(13, "r"),
		{Time: at(14), Event: "draining"}, up(30), ready(40, "s"),
	}
	got := withoutStartup(all)
	if want := []line{all[0], all[3], all[5]}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLinesOf(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1e9+int64(seconds), 0) }
	events := []pastEvent{
		{event{kind: kinds[0], tenant: "a", server: "s"}, at(10), at(10)},
		{event{kind: kinds[0], tenant: "a", server: "s"}, at(20), at(20)},
		{event{kind: kinds[0], tenant: "b", server: "s"}, at(21), at(21)},
	}
	var all []line
	for i, of := range []string{"a", "a", "a", "a", "b", "a", "b", "c"} {
		all = append(all, line{Time: at(12 + 2*i), Tenant: of, Server: "s"})
	}
	all = append(all, line{Time: at(13), Tenant: "a", Server: "s"},
		line{Time: at(14), Tenant: "a", Server: "s", Incident: "i"},
		line{Time: at(25), Tenant: "a", Server: "s", Incident: "i"})
	by, alone := linesByEvent(all, events)
	if len(by[0]) != 7 || len(by[1]) != 1 || len(by[2]) != 1 || len(alone) != 2 {
		t.Errorf("got %v and %v", by, alone)
	}
	if said := tooManyLines(by, events); len(said) != 1 {
		t.Errorf("wordy: %v", said)
	}
}
