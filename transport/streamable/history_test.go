package streamable

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

func TestHistoryIsDroppedAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewStore(StoreOptions{})
		s := store.Streams("acme", "a session")
		defer s.Close()
		o := listening(t, s, "")
		pushAll(t, s, note("a", 1))
		time.Sleep(DefaultTTL / 2)
		pushAll(t, s, note("a", 2))
		taken(s, o, 8)
		s.detach(o)
		time.Sleep(DefaultTTL/2 + sweepEvery)
		again := listening(t, s, idAt(o, 1))
		if got, _ := taken(s, again, 8); len(got) != 1 || got[0] != line(note("a", 2)) {
			t.Errorf("got %q, want what is younger than the TTL", got)
		}
		s.detach(again)
		again = listening(t, s, idAt(o, 0))
		if got, _ := taken(s, again, 8); len(got) != 1 || got[0] != line(note("a", 2)) {
			t.Errorf("from before what was dropped: %q, want what is left", got)
		}
		time.Sleep(DefaultTTL + sweepEvery)
		if _, sweep := kept(s); sweep || store.Bytes() != 0 {
			t.Errorf("%d bytes kept and sweep %v, want nothing and no timer", store.Bytes(), sweep)
		}
		// No event was lost after the last one, so the client may resume from there for as long as the
		// session lives.
		s.detach(again)
		s.detach(listening(t, s, idAt(o, 2)))
	})
}

// F54: a step of the machine's clock changes neither the age of stored events nor how long they are
// stored.
func TestHistoryHasItsTimeWhateverTheHour(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			skewed := clock.NewSkewed(nil)
			s := NewStore(StoreOptions{Clock: skewed}).Streams("acme", "a session")
			defer s.Close()
			o := listening(t, s, "")
			pushAll(t, s, note("a", 1))
			if got, _ := taken(s, o, 8); len(got) != 1 {
				t.Fatalf("got %q", got)
			}
			s.detach(o)
			again := func() int {
				o := listening(t, s, idAt(o, 0))
				defer s.detach(o)
				got, _ := taken(s, o, 8)
				return len(got)
			}
			time.Sleep(DefaultTTL / 2)
			skewed.Set(step)
			time.Sleep(DefaultTTL/2 - time.Second)
			if n := again(); n != 1 {
				t.Errorf("stepped by %s: %d events are left before their time is over", step, n)
			}
			time.Sleep(sweepEvery + 2*time.Second)
			if n := s.store.Bytes(); n != 0 {
				t.Errorf("stepped by %s: %d bytes are left after it", step, n)
			}
		})
	}
}

func TestPendingMessagesAreBounded(t *testing.T) {
	store := NewStore(StoreOptions{StreamEvents: 4, StreamBytes: 1000})
	s := store.Streams("acme", "a session")
	defer s.Close()
	for n := range 10 {
		pushAll(t, s, note("a", n))
	}
	o := listening(t, s, "")
	if got, _ := taken(s, o, 3); len(got) != 4 || got[0] != line(note("a", 6)) {
		t.Errorf("got %q, want the last four", got)
	}
	// They were sent on no stream before, so no client misses them: the stream can be resumed from its
	// beginning.
	s.detach(o)
	if got, _ := taken(s, listening(t, s, idAt(o, 9)), 8); len(got) != 1 {
		t.Errorf("got %q, want the last", got)
	}
}

func TestOldestIsDropped(t *testing.T) {
	for _, c := range []struct {
		name    string
		options StoreOptions
		size    int
	}{
		{"by count", StoreOptions{StreamEvents: 4}, 10},
		{"by bytes of the stream", StoreOptions{StreamBytes: 4500}, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewStore(c.options).Streams("acme", "a session")
			defer s.Close()
			o := listening(t, s, "")
			for range 9 {
				pushAll(t, s, sized("a", c.size))
				taken(s, o, 8)
			}
			s.detach(o)
			for _, seen := range []uint64{5, 1} {
				again := listening(t, s, idAt(o, seen))
				if got, _ := taken(s, again, 8); len(got) != 4 {
					t.Errorf("from %d: got %d events, want the last four", seen, len(got))
				}
				s.detach(again)
			}
		})
	}
}

// histories fills three streams of each of three sessions, and returns the number of stored bytes
// of each session and of all.
func histories(t *testing.T, o StoreOptions) (each []int, all int64) {
	t.Helper()
	store := NewStore(o)
	for n := range 3 {
		s := store.Streams("acme", fmt.Sprint("session ", n))
		t.Cleanup(s.Close)
		for range 3 {
			o := makeStreamResponse()
			st, err := s.begin(&o)
			if err != nil {
				t.Fatal(err)
			}
			for range 9 {
				s.send(st, sized("a", 1000))
				taken(s, &o, 8)
			}
			s.detach(&o)
		}
		each = append(each, s.state.bytes)
	}
	return each, store.Bytes()
}

// The stored events of one session are limited over all of its streams, at no cost to other
// sessions.
func TestHistoryOfASessionIsBounded(t *testing.T) {
	each, all := histories(t, StoreOptions{SessionBytes: 15_000})
	for _, n := range each {
		if n > 15_000 || n < 13_000 {
			t.Errorf("kept are %d, in all %d", each, all)
		}
	}
}

// The stored events of all sessions are limited too.
func TestHistoryOfAllIsBounded(t *testing.T) {
	if each, all := histories(t, StoreOptions{TotalBytes: 40_000}); all > 40_000 || all < 38_000 {
		t.Errorf("kept are %d, in all %d", each, all)
	}
}

// A client that reconnects after most events were dropped still gets its answer, and the questions
// of a server.
func TestOutcomeAndQuestionsOutliveNotifications(t *testing.T) {
	s := NewStore(StoreOptions{StreamEvents: 4}).Streams("acme", "a session")
	defer s.Close()
	o := makeStreamResponse()
	st, err := s.begin(&o)
	if err != nil {
		t.Fatal(err)
	}
	ask := jsonrpc.Request(jsonrpc.IntID(7), "elicitation/create", nil)
	for _, m := range []jsonrpc.Message{note("notifications/message", 0), ask} {
		s.send(st, m)
	}
	taken(s, &o, 8)
	s.detach(&o)
	for n := range 20 {
		s.send(st, note("notifications/message", n))
	}
	s.send(st, jsonrpc.Response(jsonrpc.IntID(1), nil))
	s.finish(st)
	got, phase := taken(s, listening(t, s, idAt(&o, 0)), 8)
	want := []string{
		line(ask), line(note("notifications/message", 18)), line(note("notifications/message", 19)),
		answer,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || phase != completed {
		t.Errorf("got %q and %v, want %q and the end", got, phase, want)
	}
}

// A stream whose outcome was dropped cannot be resumed: it would end without an outcome.
func TestLostOutcomeIsNotPassedOver(t *testing.T) {
	s := NewStore(StoreOptions{SessionBytes: 100}).Streams("acme", "a session")
	defer s.Close()
	r := newReply(s, 2, true)
	r.Send(note("notifications/message", 1))
	taken(s, &r.out, 8)
	r.leave()
	r.Finish(jsonrpc.Response(jsonrpc.IntID(1), jsontext.Value(`"`+strings.Repeat("x", 200)+`"`)))
	if err := s.connect(&streamResponse{}, idAt(&r.out, 1), protocol.V20251125); !errors.Is(err,
		errUnreplayable) {
		t.Errorf("got %v, want errUnreplayable", err)
	}
}

// When memory is short, sent events are dropped. When it is very short, events that wait for a
// disconnected client are dropped too, and the client is told when it reconnects. Events that a
// connection still has to write stay, and dropped events no longer count.
func TestTrimLetsGoOfWhatNobodyReads(t *testing.T) {
	store := NewStore(StoreOptions{})
	s := store.Streams("acme", "a session")
	defer s.Close()
	open, away := newReply(s, 2, true), newReply(s, 1, true)
	for _, r := range []*reply{open, away} {
		r.Send(note("notifications/message", 1))
		taken(s, &r.out, 8)
		r.Send(note("notifications/message", 2))
	}
	away.leave()
	away.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil))
	before := store.Bytes()
	s.Trim(false)
	if got := store.Bytes(); got >= before {
		t.Errorf("%d bytes are kept after %d", got, before)
	}
	if err := s.connect(&streamResponse{}, idAt(&away.out, 1), protocol.V20251125); err != nil {
		t.Errorf("what waits for a client is gone: %v", err)
	}
	s.Trim(true)
	if got, _ := taken(s, &open.out, 8); len(got) != 1 {
		t.Errorf("a connection still writes %q, want its one event", got)
	}
	gone := newReply(s, 1, true)
	gone.Send(note("notifications/message", 1))
	taken(s, &gone.out, 8)
	gone.leave()
	gone.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil))
	s.Trim(true)
	if err := s.connect(&streamResponse{}, idAt(&gone.out, 1), protocol.V20251125); !errors.Is(err,
		errUnreplayable) {
		t.Errorf("a client whose answer is gone: %v, want errUnreplayable", err)
	}
}

// The count of waiting progress notifications matches the waiting entries.
func TestProgressThatWaitsIsCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, l := newHistory(), StoreOptions{StreamEvents: 8, StreamBytes: 1 << 20}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				w := rapid.SampledFrom([]importance{ordinary, progress, hint, question, outcome}).Draw(t,
					"weight")
				if _, room := h.makeRoom(w, &l, false); room {
					h.add([]byte("{}"), w, 0, 0)
				}
			},
			"give": func(t *rapid.T) {
				if h.waiting > 0 {
					h.markSent(len(h.entries)-h.waiting, 1)
				}
			},
			"remove": func(t *rapid.T) {
				if n := len(h.entries); n > 0 {
					h.remove(rapid.IntRange(0, n-1).Draw(t, "which"))
				}
			},
			"": func(t *rapid.T) {
				n := 0
				for _, e := range h.entries[len(h.entries)-h.waiting:] {
					if e.weight == progress {
						n++
					}
				}
				if h.progressWaiting != n {
					t.Fatalf("counted %d of %d", h.progressWaiting, n)
				}
			},
		})
	})
}
