package session

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// A session over HTTP+SSE from an earlier host ends together with its streams: none of their data
// stays.
func TestChannelOfAnEarlierHostEndsWithItsStreams(t *testing.T) {
	id := strings.Repeat("x", minID)
	h := &Handle{
		id: id, endpoint: streamable.Endpoint{Tenant: "acme"}, opened: time.Now(), channel: true,
	}
	h.record.Store(&Record{Version: protocol.V20241105})
	session := h.Saved()

	missed := jsonrpc.Notification("notifications/tools/list_changed", nil)
	place := strconv.FormatInt(time.Now().UnixMilli()<<20, 36)
	events := map[string]jsontext.Value{
		id + "." + place: jsontext.Value(fmt.Sprintf(`{"at":%d,"data":%q}`, time.Now().UnixNano(),
			missed.Append(nil))),
	}

	streams := streamable.NewStore(streamable.StoreOptions{Save: func() {}})
	index, box := NewIndex(nil), &testrig.Box{}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{box.Child("storage"), {ID: "manager", Start: otp.Worker(func() otp.Behaviour {
			return New(Options{
				Clock: clock.System, Store: streams, Limit: func(string) int {
					return 1
				}, Total: func() int { return 1 },
				Idle: func(string) time.Duration {
					return time.Hour
				}, Storage: func() otp.Ref { return s.Ref("storage") }, Emit: s.Events.Emit,
				Pool:    func(string) (otp.Ref, bool) { return s.Ref("storage"), true },
				Restore: maps.All(map[string]jsontext.Value{id: session.Value}), Events: maps.All(events),
			}, index)
		})}}
	}, func(s *testrig.Rig) {
		s.WaitIdle()
		if index.Len() != 1 {
			t.Errorf("%d sessions are taken over", index.Len())
		}
		if deleted, _ := streams.Unsaved(); len(deleted) != 0 {
			t.Errorf("before its end %v are deleted", deleted)
		}
		_, err := otp.Do[CloseRequest, struct{}](context.Background(), s.Ref("manager"), CloseRequest{
			ID: id,
		})
		if err != nil {
			t.Error(err)
		}
		deleted, _ := streams.Unsaved()
		if len(deleted) != 1 || events[deleted[0].Key] == nil || deleted[0].Value != nil {
			t.Errorf("at its end %v are deleted, want %v", deleted, events)
		}
		if n := streams.Bytes(); n != 0 {
			t.Errorf("%d bytes of its streams are kept", n)
		}
	})
}

// The stored stream events are given to the restored sessions. Events of no session are deleted,
// and the reason is logged once.
func TestStreamsAreRestored(t *testing.T) {
	id := strings.Repeat("x", minID)
	h := &Handle{id: id, endpoint: streamable.Endpoint{Tenant: "acme"}, opened: time.Now()}
	h.record.Store(&Record{Version: protocol.V20251125})
	session := h.Saved()
	events := map[string]jsontext.Value{
		"gone.a": jsontext.Value(`{}`), "gone.b": jsontext.Value(`{}`), "lost.a": jsontext.Value(`{}`),
		id + ".foreign": jsontext.Value(`7`),
	}
	streams := streamable.NewStore(streamable.StoreOptions{Save: func() {}})
	index, box := NewIndex(nil), &testrig.Box{}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{box.Child("storage"), {ID: "manager", Start: otp.Worker(func() otp.Behaviour {
			return New(Options{
				Clock: clock.System, Store: streams, Limit: func(string) int {
					return 1
				}, Total: func() int { return 1 },
				Idle: func(string) time.Duration {
					return time.Hour
				}, Storage: func() otp.Ref { return s.Ref("storage") }, Emit: s.Events.Emit,
				Restore: maps.All(map[string]jsontext.Value{id: session.Value}), Events: maps.All(events),
			}, index)
		})}}
	}, func(s *testrig.Rig) {
		s.WaitIdle()
		told := map[string]int{}
		for _, d := range testrig.Of[telemetry.RecordDropped](&s.Events) {
			told[d.Kind+": "+d.Reason]++
		}
		if len(told) != 2 || told["event: its session is gone"] != 1 ||
			told["event: not an event id of this session"] != 1 {
			t.Errorf("told %v", told)
		}
		deleted, more := streams.Unsaved()
		for _, e := range deleted {
			if _, there := events[e.Key]; !there || e.Value != nil {
				t.Errorf("%s is %s", e.Key, e.Value)
			}
		}
		if len(deleted) != len(events) || more || index.Len() != 1 {
			t.Errorf("deleted %v, %d sessions", deleted, index.Len())
		}
	})
}
