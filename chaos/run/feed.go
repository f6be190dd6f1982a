package run

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"mcpd/chaos/record"
	"mcpd/telemetry/admin"
)

// event holds the fields of mcpd.v1.Event that are recorded.
type event struct {
	ID      string            `json:"id"`
	At      time.Time         `json:"at"`
	Level   string            `json:"level"`
	Name    string            `json:"name"`
	Message string            `json:"message"`
	Tenant  string            `json:"tenant"`
	Server  string            `json:"server"`
	Path    string            `json:"path"`
	Fields  map[string]string `json:"fields"`
}

// feed collects the host's events since the beginning of the run. It survives broken connections
// and restarts of the host.
type feed struct {
	operator *operator

	mu      sync.Mutex // guards the fields below
	after   uint64     // the id of the last event that was seen
	events  []event
	missed  int               // events beyond maxEvents
	passing int               // events of sessions that come and go, bounded by maxPassing
	omitted int               // events beyond maxPassing
	ended   map[string]ending // ended faults, by id
}

// ending says how an armed fault ended.
type ending struct {
	hits int
	at   time.Time
}

// begin skips all events that have happened so far.
func (f *feed) begin(ctx context.Context) error {
	last, err := f.last(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after = last
	return err
}

// last returns the id of the host's last event.
func (f *feed) last(ctx context.Context) (uint64, error) {
	data, err := f.operator.ask(ctx, http.MethodGet, "/admin/v1/events", admin.Read, nil)
	if err != nil {
		return 0, err
	}
	var list struct {
		Events []event `json:"events"`
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list.Events) == 0 {
		return 0, err
	}
	return strconv.ParseUint(list.Events[len(list.Events)-1].ID, 10, 64)
}

// follow reads events until ctx ends. It reopens a broken stream at the same position. The event
// ids of a restarted host begin at one again.
func (f *feed) follow(ctx context.Context) {
	const pause = 100 * time.Millisecond
	for ctx.Err() == nil {
		f.read(ctx)
		if sleep(ctx, pause) != nil {
			return
		}
		if last, err := f.last(ctx); err == nil {
			f.mu.Lock()
			if last < f.after {
				f.after = 0
			}
			f.mu.Unlock()
		}
	}
}

// read reads one stream to its end.
func (f *feed) read(ctx context.Context) {
	f.mu.Lock()
	after := f.after
	f.mu.Unlock()
	resp, err := f.operator.send(ctx, http.MethodGet,
		"/admin/v1/events?watch=1&after="+strconv.FormatUint(after, 10), admin.Read, nil)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		raw, ok := strings.CutPrefix(lines.Text(), "data: ")
		var e event
		if ok && json.Unmarshal([]byte(raw), &e) == nil {
			f.add(e)
		}
	}
}

func (f *feed) add(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id, err := strconv.ParseUint(e.ID, 10, 64); err == nil {
		f.after = id
	}
	if e.Name == "fault_disarmed" {
		hits, _ := strconv.Atoi(e.Fields["hits"])
		f.ended[e.Fields["fault"]] = ending{hits, e.At}
	}
	if e.Name == "fault_renewed" {
		return // it occurs every few seconds and only says that this run is alive
	}
	switch {
	case len(f.events) >= maxEvents:
		f.missed++
		return
	case ordinarySessionEvent(e) && f.passing >= maxPassing:
		f.omitted++
		return
	case ordinarySessionEvent(e):
		f.passing++
	}
	f.events = append(f.events, e)
}

// ordinarySessionEvent reports whether an event belongs to the ordinary life of a session. An hour
// has hundreds of thousands of them, and no verdict depends on one.
func ordinarySessionEvent(e event) bool {
	switch e.Name {
	case "session_opened", "session_closed", "phase_changed", "protocol_negotiation":
		return true
	case "child_started", "child_exited":
		return e.Fields["class"] == "session"
	}
	return false
}

// fault returns the end of a fault, if it has ended.
func (f *feed) fault(id string) (ending, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.ended[id]
	return e, ok
}

// over returns when the last of the faults ended. It returns false if one has not ended, or if
// there is none.
func (f *feed) over(ids []string) (last time.Time, ok bool) {
	for _, id := range ids {
		e, ok := f.fault(id)
		if !ok {
			return last, false
		}
		if e.at.After(last) {
			last = e.at
		}
	}
	return last, len(ids) > 0
}

// records returns the events with their times since the run began, and the number of events of
// sessions that were left out. It returns an error if other events were left out.
func (f *feed) records(begun time.Time) (_ []record.Event, omitted int, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]record.Event, len(f.events))
	for i, e := range f.events {
		list[i] = record.Event{
			At: e.At.Sub(begun).Seconds(), Level: e.Level, Name: e.Name, Path: e.Path, Tenant: e.Tenant,
			Server: e.Server, Message: e.Message, Fields: e.Fields,
		}
	}
	if f.missed > 0 {
		return list, f.omitted, errors.New(strconv.Itoa(f.missed) +
			" events are beyond the bound of a record")
	}
	return list, f.omitted, nil
}
