package soak

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"
)

// maxLines is how many lines of the log an event may cost.
const maxLines = 3

// line is a line of the host's log.
type line struct {
	Time   time.Time `json:"ts"`
	Event  string    `json:"event"`
	Tenant string    `json:"tenant"`
	Server string    `json:"server"`
	text   string
}

// log keeps the lines of all hosts. It is told them by the goroutine that reads a host's log.
type log struct {
	mu  sync.Mutex
	all []line
}

// uncounted are lines that may be more than maxLines for an event, and why.
var uncounted = map[string]string{
	"session_closed":       "clients come and go",
	"protocol_negotiation": "clients come and go",
	"version_lowered":      "clients come and go",
	"upstream_starting":    "each kind of client has a connection to a server, and after a start of the host each server starts",
	"upstream_ready":       "each kind of client has a connection to a server, and after a start of the host each server starts",
	"child_crashed":        "the supervision tree tells by its rows what `upstream_exited` tells by the server, with the same incident",
	"child_restarted":      "the supervision tree tells by its rows what `upstream_exited` tells by the server, with the same incident",
	"reply_dropped":        "answers to calls whose client is gone, and to probes of servers that start slowly: a line a second for each reason",
	"listener_up":          "one for each listener that starts",
}

// lineTime is how long after its event a line may come: servers start slowly on a busy machine.
const lineTime = time.Minute

func (l *log) add(text []byte) {
	n := line{text: string(text)}
	if json.Unmarshal(text, &n) != nil && len(text) == 0 || uncounted[n.Event] != "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, n)
}

// since are the lines from a time on.
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

// early is how much sooner than its event a line may be: the clocks are one, but the event's time
// is taken when it has begun.
const early = 50 * time.Millisecond

// linesOf says which lines each event has cost: a line belongs to the last event that had begun and
// hits its tenant and server. Those without an event are returned by themselves.
func linesOf(all []line, events []happened) (by [][]line, alone []line) {
	by = make([][]line, len(events))
	for _, n := range all {
		last := -1
		for i, h := range events {
			if h.tenant != "" && n.Tenant != "" && h.tenant != n.Tenant || h.server != "" && n.Server != "" && h.server != n.Server {
				continue
			}
			if n.Time.Before(h.began.Add(-early)) || n.Time.After(h.ended.Add(lineTime)) {
				continue
			}
			if last < 0 || h.began.After(events[last].began) {
				last = i
			}
		}
		if last < 0 {
			alone = append(alone, n)
		} else {
			by[last] = append(by[last], n)
		}
	}
	return by, alone
}

// wordy are the events that have cost more lines than they may.
func wordy(by [][]line, events []happened) (all []string) {
	for i, h := range events {
		if len(by[i]) > maxLines {
			said := fmt.Sprintf("%s of %s/%s: %d lines, %d may be", h.kind.name, h.tenant, h.server, len(by[i]), maxLines)
			for _, n := range by[i] {
				said += "\n\t" + n.text
			}
			all = append(all, said)
		}
	}
	return all
}

func TestLinesOf(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1e9+int64(seconds), 0) }
	events := []happened{
		{event{kind: kinds[0], tenant: "a", server: "s"}, at(10), at(10)},
		{event{kind: kinds[0], tenant: "a", server: "s"}, at(20), at(20)},
		{event{kind: kinds[0], tenant: "b", server: "s"}, at(21), at(21)},
	}
	var all []line
	for i, of := range []string{"a", "a", "a", "a", "b", "a", "b", "c"} {
		all = append(all, line{Time: at(12 + 2*i), Tenant: of, Server: "s"})
	}
	all = append(all, line{Time: at(13), Tenant: "a", Server: "s"})
	by, alone := linesOf(all, events)
	if len(by[0]) != 5 || len(by[1]) != 1 || len(by[2]) != 1 || len(alone) != 2 {
		t.Errorf("got %v and %v", by, alone)
	}
	if said := wordy(by, events); len(said) != 1 {
		t.Errorf("wordy: %v", said)
	}
}
