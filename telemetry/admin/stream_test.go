package admin

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// watch opens a stream and returns a function that yields the data of its events.
func (h *host) watch(path string, headers ...string) (next func() (id, data string), stop func()) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		h.t.Fatalf("%s: %d %s", path, res.StatusCode, res.Header.Get("Content-Type"))
	}
	lines := bufio.NewReader(res.Body)
	next = func() (id, data string) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return id, "end: " + err.Error()
			}
			if v, ok := strings.CutPrefix(line, "id: "); ok {
				id = strings.TrimSpace(v)
			}
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				return id, strings.TrimSpace(v)
			}
		}
	}
	return next, func() { cancel(); res.Body.Close() }
}

// The tree is sent when it changes. Changes in quick succession are sent as one.
func TestTreeIsStreamed(t *testing.T) {
	var restarts counter
	h := start(t, func(o *Options) {
		o.Tree = func() otp.Node {
			n := small
			n.Restarts = restarts.get()
			return n
		}
	})
	next, stop := h.watch("/admin/v1/tree?watch=1")
	defer stop()
	decode := func() *mcpdv1.Node {
		_, data := next()
		n := new(mcpdv1.Node)
		if err := protojson.Unmarshal([]byte(data), n); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		return n
	}
	if got := decode(); got.GetRestarts() != 0 || got.GetId() != "mcpd" {
		t.Errorf("first snapshot %v", got)
	}
	const changes = 50
	began := time.Now()
	for range changes {
		restarts.add()
		h.recorder.Emit(telemetry.ChildRestarted{})
		h.recorder.Flush()
	}
	snapshots := 0
	for decode().GetRestarts() != changes {
		snapshots++
	}
	if most := int(time.Since(began)/minTreeInterval) + 1; snapshots > most {
		t.Errorf("%d snapshots for %d quick changes, want at most %d", snapshots+1, changes, most+1)
	}
}

// Events arrive as they happen, and a reader that comes back misses none.
func TestEventsAreStreamedAndResumed(t *testing.T) {
	h := start(t, nil)
	emit := func(generation uint32) {
		h.recorder.Emit(telemetry.ConfigLoaded{Source: "a\nb", Generation: generation})
		h.recorder.Flush()
	}
	emit(1)
	next, stop := h.watch("/admin/v1/events?watch=1")
	expect := func(wantID, generation string) {
		t.Helper()
		id, data := next()
		var e mcpdv1.Event
		if err := protojson.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if id != wantID || e.GetId() != id || e.GetName() != "config_loaded" ||
			e.GetFields()["generation"] != generation || e.GetFields()["source"] != `a\nb` {
			t.Errorf("event %s %v, want %s of generation %s", id, &e, wantID, generation)
		}
	}
	expect("1", "1")
	emit(2)
	expect("2", "2")
	stop()
	emit(3)
	emit(4)
	next, stop = h.watch("/admin/v1/events?watch=1", "Last-Event-ID", "2")
	expect("3", "3")
	expect("4", "4")
	stop()

	_, _, answer := h.do(http.MethodGet, "/admin/v1/events?after=3", "")
	var list mcpdv1.EventList
	if err := protojson.Unmarshal([]byte(answer), &list); err != nil || len(list.GetEvents()) != 1 ||
		list.GetEvents()[0].GetId() != "4" {
		t.Errorf("after 3: %s, %v", answer, err)
	}
}

// A stream outlives the time limit for the arrival of a request.
func TestStreamOutlivesTheReadTimeout(t *testing.T) {
	h := start(t, nil)
	next, stop := h.watch("/admin/v1/events?watch=1")
	defer stop()
	timer := time.AfterFunc(600*time.Millisecond, func() {
		h.recorder.Emit(telemetry.ConfigLoaded{})
		h.recorder.Flush()
	})
	defer timer.Stop()
	if _, data := next(); !strings.Contains(data, "config_loaded") {
		t.Errorf("got %s after three read timeouts", data)
	}
}

func TestStreamsAreBoundedAndEndWithTheServer(t *testing.T) {
	h := start(t, nil)
	var stops []func()
	for range maxWatchers {
		_, stop := h.watch("/admin/v1/events?watch=1")
		stops = append(stops, stop)
	}
	if status, header, _ := h.do(http.MethodGet, "/admin/v1/tree?watch=1", ""); status != 503 ||
		header.Get("Retry-After") == "" {
		t.Errorf("stream %d: %d, want 503 and when to come back", maxWatchers+1, status)
	}
	if status, _, _ := h.do(http.MethodGet, "/admin/v1/tree", ""); status != 200 {
		t.Errorf("a snapshot beside %d streams: %d, want 200", maxWatchers, status)
	}
	for _, stop := range stops[1:] {
		stop()
	}
	// The first stream is left to the server, which ends it when the server stops.
	h.t.Cleanup(stops[0])
}
