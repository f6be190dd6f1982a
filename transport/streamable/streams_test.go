package streamable

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

func sized(method string, bytes int) jsonrpc.Message {
	return jsonrpc.Notification(method, jsontext.Value(`"`+strings.Repeat("x", bytes)+`"`))
}

// listening opens a GET.
func listening(t *testing.T, s *Streams, lastEventID string) *outlet {
	t.Helper()
	o := makeOutlet()
	if err := s.connect(&o, lastEventID, protocol.V20251125); err != nil {
		t.Fatal(err)
	}
	return &o
}

// taken is what an outlet has to write now, in batches of n.
func taken(s *Streams, o *outlet, n int) (all []string, last phase) {
	for {
		batch, phase := s.take(o, make([]entry, 0, n))
		for _, e := range batch {
			all = append(all, string(e.data))
		}
		if len(batch) == 0 {
			return all, phase
		}
	}
}

// kept is how many POST streams there are and whether a sweep is to come.
func kept(s *Streams) (posts int, sweep bool) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.state.posts), s.state.sweep != nil
}

func idAt(o *outlet, seq uint64) string { return string(o.appendID(nil, seq, ordinary)) }

func pushAll(t *testing.T, s *Streams, messages ...jsonrpc.Message) {
	t.Helper()
	for _, m := range messages {
		if err := s.Push(m); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHistoryIsDroppedAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewStore(StoreOptions{})
		s := store.Streams("a session")
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
		// Nothing was lost after the last event, so its owner may go on from there for as long as the session lives.
		s.detach(again)
		s.detach(listening(t, s, idAt(o, 2)))
	})
}

// A host whose clock jumps loses no more than the history of the jump, and nothing hangs.
func TestHistorySurvivesAClockThatJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		skewed := clock.NewSkewed(nil)
		s := NewStore(StoreOptions{Clock: skewed}).Streams("a session")
		defer s.Close()
		o := listening(t, s, "")
		pushAll(t, s, note("a", 1))
		skewed.Set(-24 * time.Hour)
		time.Sleep(2 * sweepEvery)
		pushAll(t, s, note("a", 2))
		if got, _ := taken(s, o, 8); len(got) != 2 {
			t.Errorf("got %q, want both", got)
		}
		skewed.Set(24 * time.Hour)
		time.Sleep(2 * sweepEvery)
		pushAll(t, s, note("a", 3))
		if got, _ := taken(s, o, 8); len(got) != 1 {
			t.Errorf("got %q, want the third", got)
		}
	})
}

func TestPendingMessagesAreBounded(t *testing.T) {
	store := NewStore(StoreOptions{StreamEvents: 4, StreamBytes: 1000})
	s := store.Streams("a session")
	defer s.Close()
	for n := range 10 {
		pushAll(t, s, note("a", n))
	}
	o := listening(t, s, "")
	if got, _ := taken(s, o, 3); len(got) != 4 || got[0] != line(note("a", 6)) {
		t.Errorf("got %q, want the last four", got)
	}
	// They went out on no stream before, so nobody misses them: the stream can be resumed from its beginning.
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
			s := NewStore(c.options).Streams("a session")
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

// histories fills those of three streams of each of three sessions, and says how many bytes are kept of each session and of all.
func histories(t *testing.T, o StoreOptions) (each []int, all int64) {
	t.Helper()
	store := NewStore(o)
	for n := range 3 {
		s := store.Streams(fmt.Sprint("session ", n))
		t.Cleanup(s.Close)
		for range 3 {
			o := makeOutlet()
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

// What is kept for one session is bounded over all its streams, and does not cost another session anything.
func TestHistoryOfASessionIsBounded(t *testing.T) {
	each, all := histories(t, StoreOptions{SessionBytes: 15_000})
	for _, n := range each {
		if n > 15_000 || n < 13_000 {
			t.Errorf("kept are %d, in all %d", each, all)
		}
	}
}

// What is kept for all sessions is bounded too.
func TestHistoryOfAllIsBounded(t *testing.T) {
	if each, all := histories(t, StoreOptions{TotalBytes: 40_000}); all > 40_000 || all < 38_000 {
		t.Errorf("kept are %d, in all %d", each, all)
	}
}

// A client that comes back when much of its stream is gone is given its answer all the same, and what a server asks of it.
func TestOutcomeAndQuestionsOutliveNotifications(t *testing.T) {
	s := NewStore(StoreOptions{StreamEvents: 4}).Streams("a session")
	defer s.Close()
	o := makeOutlet()
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
	want := []string{line(ask), line(note("notifications/message", 18)), line(note("notifications/message", 19)), answer}
	if fmt.Sprint(got) != fmt.Sprint(want) || phase != completed {
		t.Errorf("got %q and %v, want %q and the end", got, phase, want)
	}
}

// A stream whose outcome itself is gone is not resumed: it would end as if there had been none.
func TestLostOutcomeIsNotPassedOver(t *testing.T) {
	s := NewStore(StoreOptions{SessionBytes: 100}).Streams("a session")
	defer s.Close()
	r := newReply(s, 2, true)
	r.Send(note("notifications/message", 1))
	taken(s, &r.out, 8)
	r.leave()
	r.Finish(jsonrpc.Response(jsonrpc.IntID(1), jsontext.Value(`"`+strings.Repeat("x", 200)+`"`)))
	if err := s.connect(&outlet{}, idAt(&r.out, 1), protocol.V20251125); !errors.Is(err, errUnreplayable) {
		t.Errorf("got %v, want errUnreplayable", err)
	}
}

// What was sent is not kept when memory is short, and when it is shorter nor is what waits for a client that is away, which is told so
// when it comes back. What a connection has yet to write stays, and nothing that is gone counts.
func TestTrimLetsGoOfWhatNobodyReads(t *testing.T) {
	store := NewStore(StoreOptions{})
	s := store.Streams("a session")
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
	if err := s.connect(&outlet{}, idAt(&away.out, 1), protocol.V20251125); err != nil {
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
	if err := s.connect(&outlet{}, idAt(&gone.out, 1), protocol.V20251125); !errors.Is(err, errUnreplayable) {
		t.Errorf("a client whose answer is gone: %v, want errUnreplayable", err)
	}
}

// What a client has not read takes room until it has, or has left; what comes for one that has left is the Store's.
func TestUnreadAnswersTakeRoom(t *testing.T) {
	s := NewStore(StoreOptions{}).Streams("a session")
	defer s.Close()
	room := transport.NewRoom(1000)
	taken := func(want int) {
		t.Helper()
		if now, _ := room.Used(); now != want {
			t.Errorf("%d bytes of room are taken, want %d", now, want)
		}
	}
	m := jsonrpc.Response(jsonrpc.IntID(1), jsontext.Value(`"`+strings.Repeat("x", 200)+`"`))
	for _, streamed := range []bool{false, true} {
		r, late := newReply(s, 1, true), newReply(s, 1, true)
		r.room, late.room = room, room
		if streamed {
			r.Send(note("notifications/message", 1))
			late.Send(note("notifications/message", 1))
		}
		r.Finish(m)
		r.Finish(m)
		taken(m.Size())
		r.leave()
		r.leave()
		taken(0)
		late.leave()
		late.Finish(m)
		taken(0)
	}
	channel := NewStore(StoreOptions{}).plain()
	channel.room = room
	pushAll(t, channel, m, m)
	taken(2 * len(m.Append(nil)))
	channel.Close()
	taken(0)
}

// B5: coalesce, then drop progress, then the oldest notification. The outcome of an exchange is never refused, what a server asks never
// dropped, and nobody is cut.
func TestFullQueue(t *testing.T) {
	s := NewStore(StoreOptions{StreamEvents: 4}).Streams("a session")
	defer s.Close()
	o := makeOutlet()
	st, err := s.begin(&o)
	if err != nil {
		t.Fatal(err)
	}
	changed := jsonrpc.Notification("notifications/tools/list_changed", nil)
	for _, m := range []jsonrpc.Message{
		note("notifications/progress", 1), changed, changed, note("notifications/progress", 2), note("notifications/message", 1),
		note("notifications/message", 2), // the queue is full: both progress notifications make room
		note("notifications/message", 3),
		note("notifications/progress", 3), // full again: dropped by itself
	} {
		if err := s.send(st, m); err != nil {
			t.Fatalf("%s: %v", line(m), err)
		}
	}
	if err := s.send(st, jsonrpc.Response(jsonrpc.IntID(1), nil)); err != nil {
		t.Errorf("outcome: %v", err)
	}
	got, phase := taken(s, &o, 3)
	if want := []string{line(changed), line(note("notifications/message", 1)), line(note("notifications/message", 2)),
		line(note("notifications/message", 3)), answer}; fmt.Sprint(got) != fmt.Sprint(want) || phase != live {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := s.missed(&o); n != 3 {
		t.Errorf("%d are counted as missed, want the three progress notifications", n)
	}
	ask := func(n uint64) jsonrpc.Message { return jsonrpc.Request(jsonrpc.IntID(n), "roots/list", nil) }
	messages := []jsonrpc.Message{note("notifications/message", 1), ask(2)}
	for n := range 8 {
		messages = append(messages, note("notifications/message", 3+n))
	}
	for _, m := range append(messages, ask(11), ask(12), ask(13), note("notifications/message", 14)) {
		if err := s.send(st, m); err != nil {
			t.Fatalf("%s: %v", line(m), err)
		}
	}
	if err := s.send(st, ask(15)); !errors.Is(err, transport.ErrSlowConsumer) {
		t.Errorf("nothing but requests waits, and one more: %v, want ErrSlowConsumer", err)
	}
	if n := s.missed(&o); n != 10 {
		t.Errorf("%d are counted as missed, want all ten messages", n)
	}
	got, phase = taken(s, &o, 8)
	if want := []string{line(ask(2)), line(ask(11)), line(ask(12)), line(ask(13))}; fmt.Sprint(got) != fmt.Sprint(want) || phase != live {
		t.Errorf("got %q and %v, want %q", got, phase, want)
	}
}

// A finished stream is kept for its client's return, but only so many, the oldest forgotten first.
func TestFinishedStreamsAreBounded(t *testing.T) {
	s := NewStore(StoreOptions{}).Streams("a session")
	defer s.Close()
	outlets := make([]outlet, keptStreams+10)
	for i := range outlets {
		outlets[i] = makeOutlet()
		st, err := s.begin(&outlets[i])
		if err != nil {
			t.Fatal(err)
		}
		s.send(st, jsonrpc.Response(jsonrpc.IntID(1), nil))
		s.detach(&outlets[i])
		s.finish(st)
	}
	if got := len(s.state.posts); got != keptStreams {
		t.Errorf("%d streams are kept, want %d", got, keptStreams)
	}
	if err := s.connect(&outlet{}, idAt(&outlets[9], 0), protocol.V20251125); !errors.Is(err, errUnreplayable) {
		t.Errorf("the tenth: %v, want errUnreplayable", err)
	}
	if got, phase := taken(s, listening(t, s, idAt(&outlets[10], 0)), 8); len(got) != 1 || phase != completed {
		t.Errorf("the eleventh: %q and %v, want its answer and the end", got, phase)
	}
}

// A finished stream whose events are past their time is forgotten, and with it its entry.
func TestFinishedStreamsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(StoreOptions{}).Streams("a session")
		defer s.Close()
		r := newReply(s, 1, true)
		for n := range 2 {
			if err := r.Send(note("notifications/message", n)); err != nil {
				t.Fatal(err)
			}
		}
		r.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil))
		taken(s, &r.out, 8)
		r.leave()
		time.Sleep(DefaultTTL - sweepEvery)
		if posts, sweep := kept(s); posts != 1 || !sweep {
			t.Errorf("%d streams before the TTL and sweep %v, want one and a sweep", posts, sweep)
		}
		time.Sleep(2 * sweepEvery)
		if posts, sweep := kept(s); posts != 0 || sweep {
			t.Errorf("%d streams after the TTL and sweep %v, want neither", posts, sweep)
		}
	})
}

// A session at its bound forgets finished streams before it drops what a running one may be resumed from.
func TestFinishedStreamsGoFirst(t *testing.T) {
	s := NewStore(StoreOptions{SessionBytes: 10_000}).Streams("a session")
	defer s.Close()
	finished := newReply(s, 1, true)
	finished.Send(sized("notifications/message", 4000))
	finished.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil))
	finished.leave()
	pushAll(t, s, sized("notifications/message", 4000))
	running := newReply(s, 1, true)
	running.Send(sized("notifications/message", 4000))
	if len(s.state.posts) != 1 || len(s.state.alone.entries) != 1 {
		t.Errorf("%d streams and %d pushed messages are kept, want the running one and the message", len(s.state.posts), len(s.state.alone.entries))
	}
	running.Send(sized("notifications/message", 4000)) // waits for its reader, so what was pushed goes
	if got, _ := taken(s, &running.out, 8); len(got) != 2 || len(s.state.alone.entries) != 0 {
		t.Errorf("%d messages of the running stream and %d pushed, want two and none", len(got), len(s.state.alone.entries))
	}
}

// Any member of a batch can send its client away; the others' answers wait with the rest.
func TestBatchMemberClosesTheStream(t *testing.T) {
	s := NewStore(StoreOptions{}).Streams("a session")
	defer s.Close()
	r := newReply(s, 2, true)
	one, two := &member{reply: r}, &member{reply: r}
	one.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil))
	one.CloseStream(time.Hour) // has its outcome: nothing to close for
	if r.decide(false) != undecided {
		t.Error("want to wait for the other answer")
	}
	two.CloseStream(time.Second)
	if _, phase := taken(s, &r.out, 8); phase != hungUp || s.retryOf(&r.out) != time.Second {
		t.Errorf("phase %v with retry %v, want hung up with 1s", phase, s.retryOf(&r.out))
	}
	two.Finish(jsonrpc.Response(jsonrpc.IntID(2), nil))
	if got, phase := taken(s, listening(t, s, idAt(&r.out, 0)), 8); len(got) != 2 || phase != completed {
		t.Errorf("got %q and %v, want both answers and the end", got, phase)
	}
}

// An exchange of no session has no ids, keeps nothing that was written, and ends with its connection.
func TestPlainStreams(t *testing.T) {
	store := NewStore(StoreOptions{})
	s := store.plain()
	o := makeOutlet()
	st, err := s.begin(&o)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		s.send(st, note("a", n))
	}
	if got, _ := taken(s, &o, 2); len(got) != 5 || o.nonce != "" {
		t.Errorf("got %q with nonce %q, want five events without ids", got, o.nonce)
	}
	if n := store.Bytes(); n != 0 {
		t.Errorf("%d bytes are kept of what was written, want none", n)
	}
	s.send(st, note("a", 6))
	s.detach(&o)
	if err := s.send(st, note("a", 7)); !errors.Is(err, transport.ErrClosed) || store.Bytes() != 0 {
		t.Errorf("without a client: %v and %d bytes, want ErrClosed and none", err, store.Bytes())
	}
}

func TestClosedStreamsTakeNothing(t *testing.T) {
	store := NewStore(StoreOptions{})
	s := store.Streams("a session")
	get, post := listening(t, s, ""), makeOutlet()
	st, err := s.begin(&post)
	if err != nil {
		t.Fatal(err)
	}
	s.send(st, note("a", 1))
	s.Close()
	s.Close()
	for _, o := range []*outlet{get, &post} {
		if got, phase := taken(s, o, 8); len(got) != 0 || phase != over {
			t.Errorf("got %q and %v, want the end", got, phase)
		}
		s.detach(o)
	}
	if err := s.Push(note("a", 2)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Push: %v, want ErrClosed", err)
	}
	if err := s.send(st, note("a", 2)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("send: %v, want ErrClosed", err)
	}
	if _, err := s.begin(&post); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("begin: %v, want ErrClosed", err)
	}
	if err := s.connect(&outlet{}, "", protocol.V20251125); !errors.Is(err, ErrNoSession) {
		t.Errorf("connect: %v, want ErrNoSession", err)
	}
	if store.Bytes() != 0 {
		t.Errorf("%d bytes kept, want none", store.Bytes())
	}
}

// A client that left before there was a stream has nothing to come back to: the exchange is told, and its outcome is taken all the same.
func TestReplyWithoutClient(t *testing.T) {
	store := NewStore(StoreOptions{})
	s := store.Streams("a session")
	defer s.Close()
	r := newReply(s, 1, true)
	r.leave()
	if err := r.Send(note("a", 1)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Send: %v, want ErrClosed", err)
	}
	r.CloseStream(time.Second)
	if !r.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil)) || r.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil)) {
		t.Error("want one outcome to be taken")
	}
	if store.Bytes() != 0 || s.state != nil {
		t.Errorf("%d bytes kept for nobody", store.Bytes())
	}
}

func TestEventIDs(t *testing.T) {
	nonce := newNonce("one")
	if again := newNonce("one"); nonce == again || !earlier(nonce, again) || earlier(nonce, nonce) || earlier(nonce, newNonce("two")) {
		t.Error("lives and sessions are not told apart")
	}
	long := jsonrpc.StringID(strings.Repeat("x", maxAsks-2))
	for _, id := range []eventID{
		{postStream, 1, 0, ""}, {standaloneStream, 1<<32 - 1, 1<<64 - 1, ""}, {postStream, 35, 36, asking(jsonrpc.IntID(1))},
		{postStream, 1<<32 - 1, 1<<64 - 1, asking(long)}, {answeredStream, 1, 3, ""},
	} {
		text := string(id.append(nil, nonce))
		if got, of, err := parseEventID(text); err != nil || got != id || of != nonce || len(text) > maxEventID {
			t.Errorf("%s read as %v of %s (%v), want %v", text, got, of, err, id)
		}
	}
	if got, ok := (eventID{asks: asking(long)}).asked(); !ok || got != long {
		t.Errorf("asked %v, %t", got, ok)
	}
	if got := asking(jsonrpc.StringID(strings.Repeat("x", maxAsks))); got != "" {
		t.Errorf("a long id is carried: %s", got)
	}
	for _, text := range []string{"", "1", nonce, nonce + ".p1", nonce + ".x1.1", nonce + "..1", nonce + ".p1.1.a.b", "abc.p1.1", nonce + ".p-1.1", nonce + ".p1.!"} {
		if _, _, err := parseEventID(text); !errors.Is(err, errEventID) {
			t.Errorf("%q: %v, want errEventID", text, err)
		}
	}
}

// A session that outlives its host takes its clients back: one that listens goes on, and one that waits for an answer is told that nobody
// knows what became of its request. The event ids of another session are still nobody's.
func TestStreamsOfAnEarlierLife(t *testing.T) {
	before, after := NewStore(StoreOptions{}).Streams("one"), NewStore(StoreOptions{}).Streams("one")
	get := listening(t, before, "")
	pushAll(t, before, note("notifications/message", 1))
	taken(before, get, 1)
	r := newReply(before, 1, true)
	r.ask = jsonrpc.StringID("seven")
	if err := r.Send(note("notifications/progress", 1)); err != nil {
		t.Fatal(err)
	}

	again := listening(t, after, idAt(get, 1))
	pushAll(t, after, note("notifications/message", 2))
	if got, _ := taken(after, again, 1); len(got) != 1 || !strings.Contains(got[0], "2") {
		t.Errorf("the standing stream has %v", got)
	}
	answered := listening(t, after, idAt(&r.out, 0))
	got, phase := taken(after, answered, 2)
	if len(got) != 1 || phase != completed || !strings.Contains(got[0], `"id":"seven"`) || !strings.Contains(got[0], `"maybeExecuted":true`) {
		t.Errorf("answered %v, %v", got, phase)
	}
	for _, id := range []string{idAt(listening(t, NewStore(StoreOptions{}).Streams("two"), ""), 0), strings.Replace(idAt(&r.out, 0), ".p", ".p9", 1)[:20]} {
		if err := after.connect(&outlet{}, id, protocol.V20251125); !errors.Is(err, errEventID) && !errors.Is(err, errUnreplayable) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// Weights apply to notifications alone, whatever a request is called.
func TestWeights(t *testing.T) {
	for _, c := range []struct {
		m    jsonrpc.Message
		want weight
	}{
		{note("notifications/progress", 1), progress},
		{note("notifications/resources/updated", 1), hint},
		{note("notifications/message", 1), ordinary},
		{jsonrpc.Request(jsonrpc.IntID(1), "notifications/progress", nil), question},
		{jsonrpc.Response(jsonrpc.IntID(1), nil), outcome},
	} {
		data, got := encode(c.m)
		if got != c.want || bytes.ContainsAny(data, "\r\n") {
			t.Errorf("%s has weight %d, want %d", data, got, c.want)
		}
	}
}
