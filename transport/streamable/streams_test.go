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

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

func sized(method string, bytes int) jsonrpc.Message {
	return jsonrpc.Notification(method, jsontext.Value(`"`+strings.Repeat("x", bytes)+`"`))
}

// listening opens a GET.
func listening(t *testing.T, s *Streams, lastEventID string) *streamResponse {
	t.Helper()
	o := makeStreamResponse()
	if err := s.connect(&o, lastEventID, protocol.V20251125); err != nil {
		t.Fatal(err)
	}
	return &o
}

// taken returns the events that a stream response has to write now, in batches of n.
func taken(s *Streams, o *streamResponse, n int) (all []string, last phase) {
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

// kept returns the number of POST streams and whether a sweep is scheduled.
func kept(s *Streams) (posts int, sweep bool) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.state.posts), s.state.sweep != nil
}

func idAt(o *streamResponse, seq uint64) string { return string(o.appendID(nil, seq, ordinary)) }

func pushAll(t *testing.T, s *Streams, messages ...jsonrpc.Message) {
	t.Helper()
	for _, m := range messages {
		if err := s.Push(m); err != nil {
			t.Fatal(err)
		}
	}
}

// Unread messages count against the byte budget until the client has read them or has left. For a
// client that has left, the limits of the Store apply instead.
func TestUnreadAnswersTakeRoom(t *testing.T) {
	s := NewStore(StoreOptions{}).Streams("acme", "a session")
	defer s.Close()
	budget := transport.NewByteBudget(1000)
	taken := func(want int) {
		t.Helper()
		if now, _ := budget.Used(); now != want {
			t.Errorf("%d bytes of room are taken, want %d", now, want)
		}
	}
	m := jsonrpc.Response(jsonrpc.IntID(1), jsontext.Value(`"`+strings.Repeat("x", 200)+`"`))
	for _, streamed := range []bool{false, true} {
		r, late := newReply(s, 1, true), newReply(s, 1, true)
		r.budget, late.budget = budget, budget
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
	channel := NewStore(StoreOptions{}).Channel("acme", "ticket")
	channel.budget = budget
	pushAll(t, channel, m)
	taken(0) // no client is connected
	o := makeStreamResponse()
	if err := channel.join(&o, 0, false); err != nil {
		t.Fatal(err)
	}
	pushAll(t, channel, m)
	taken(2 * len(m.Append(nil)))
	channel.take(&o, make([]entry, 0, 1))
	taken(len(m.Append(nil)))
	channel.detach(&o)
	taken(0)
	channel.Close()
	taken(0)
}

// B5: deduplicate hints, then drop progress, then the oldest notification. The outcome of an
// exchange is never rejected, questions of a server are never dropped, and no client is
// disconnected.
func TestFullQueue(t *testing.T) {
	s := NewStore(StoreOptions{StreamEvents: 4}).Streams("acme", "a session")
	defer s.Close()
	o := makeStreamResponse()
	st, err := s.begin(&o)
	if err != nil {
		t.Fatal(err)
	}
	changed := jsonrpc.Notification("notifications/tools/list_changed", nil)
	for _, m := range []jsonrpc.Message{
		note("notifications/progress", 1), changed, changed, note("notifications/progress", 2),
		note("notifications/message", 1),
		note("notifications/message", 2), // the queue is full: both progress notifications make room
		note("notifications/message", 3),
		note("notifications/progress", 3), // full again: dropped itself
	} {
		if err := s.send(st, m); err != nil {
			t.Fatalf("%s: %v", line(m), err)
		}
	}
	if err := s.send(st, jsonrpc.Response(jsonrpc.IntID(1), nil)); err != nil {
		t.Errorf("outcome: %v", err)
	}
	got, phase := taken(s, &o, 3)
	if want := []string{line(changed), line(note("notifications/message", 1)),
		line(note("notifications/message", 2)),
		line(note("notifications/message", 3)),
		answer}; fmt.Sprint(got) != fmt.Sprint(want) || phase != live {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := s.missed(&o); n != 3 {
		t.Errorf("%d are counted as missed, want the three progress notifications", n)
	}
	ask := func(n uint64) jsonrpc.Message {
		return jsonrpc.Request(jsonrpc.IntID(n), "roots/list", nil)
	}
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
	if want := []string{line(ask(2)), line(ask(11)), line(ask(12)),
		line(ask(13))}; fmt.Sprint(got) != fmt.Sprint(want) || phase != live {
		t.Errorf("got %q and %v, want %q", got, phase, want)
	}
}

// Finished streams are stored for a reconnect, up to a limit, beyond which the oldest are forgotten
// first.
func TestFinishedStreamsAreBounded(t *testing.T) {
	s := NewStore(StoreOptions{}).Streams("acme", "a session")
	defer s.Close()
	responses := make([]streamResponse, keptStreams+10)
	for i := range responses {
		responses[i] = makeStreamResponse()
		st, err := s.begin(&responses[i])
		if err != nil {
			t.Fatal(err)
		}
		s.send(st, jsonrpc.Response(jsonrpc.IntID(1), nil))
		s.detach(&responses[i])
		s.finish(st)
	}
	if got := len(s.state.posts); got != keptStreams {
		t.Errorf("%d streams are kept, want %d", got, keptStreams)
	}
	if err := s.connect(&streamResponse{}, idAt(&responses[9], 0), protocol.V20251125); !errors.Is(err,
		errUnreplayable) {
		t.Errorf("the tenth: %v, want errUnreplayable", err)
	}
	if got, phase := taken(s, listening(t, s, idAt(&responses[10], 0)), 8); len(got) != 1 ||
		phase != completed {
		t.Errorf("the eleventh: %q and %v, want its answer and the end", got, phase)
	}
}

// A finished stream whose events have expired is forgotten, including its map entry.
func TestFinishedStreamsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(StoreOptions{}).Streams("acme", "a session")
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

// A session at its limit forgets finished streams before it drops resumable events of a running
// one.
func TestFinishedStreamsGoFirst(t *testing.T) {
	s := NewStore(StoreOptions{SessionBytes: 10_000}).Streams("acme", "a session")
	defer s.Close()
	finished := newReply(s, 1, true)
	finished.Send(sized("notifications/message", 4000))
	finished.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil))
	finished.leave()
	pushAll(t, s, sized("notifications/message", 4000))
	running := newReply(s, 1, true)
	running.Send(sized("notifications/message", 4000))
	if len(s.state.posts) != 1 || len(s.state.standalone.entries) != 1 {
		t.Errorf("%d streams and %d pushed messages are kept, want the running one and the message",
			len(s.state.posts), len(s.state.standalone.entries))
	}
	// This message waits for its reader, so the pushed message is dropped.
	running.Send(sized("notifications/message", 4000))
	if got, _ := taken(s, &running.out, 8); len(got) != 2 || len(s.state.standalone.entries) != 0 {
		t.Errorf("%d messages of the running stream and %d pushed, want two and none", len(got),
			len(s.state.standalone.entries))
	}
}

// Any member of a batch can close the stream. The answers to the others wait with the rest.
func TestBatchMemberClosesTheStream(t *testing.T) {
	s := NewStore(StoreOptions{}).Streams("acme", "a session")
	defer s.Close()
	r := newReply(s, 2, true)
	one, two := &batchMember{reply: r}, &batchMember{reply: r}
	one.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil))
	one.CloseStream(time.Hour) // it has its outcome: nothing to close
	if r.decide(false) != undecided {
		t.Error("want to wait for the other answer")
	}
	two.CloseStream(time.Second)
	if _, phase := taken(s, &r.out, 8); phase != hungUp || s.retryOf(&r.out) != time.Second {
		t.Errorf("phase %v with retry %v, want hung up with 1s", phase, s.retryOf(&r.out))
	}
	two.Finish(jsonrpc.Response(jsonrpc.IntID(2), nil))
	if got, phase := taken(s, listening(t, s, idAt(&r.out, 0)), 8); len(got) != 2 ||
		phase != completed {
		t.Errorf("got %q and %v, want both answers and the end", got, phase)
	}
}

// An exchange without a session has no event ids, stores no written events, and ends with its
// connection.
func TestPlainStreams(t *testing.T) {
	store := NewStore(StoreOptions{})
	s := store.plain("acme")
	o := makeStreamResponse()
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
	s := store.Streams("acme", "a session")
	get, post := listening(t, s, ""), makeStreamResponse()
	st, err := s.begin(&post)
	if err != nil {
		t.Fatal(err)
	}
	s.send(st, note("a", 1))
	s.Close()
	s.Close()
	for _, o := range []*streamResponse{get, &post} {
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
	if err := s.connect(&streamResponse{}, "", protocol.V20251125); !errors.Is(err, ErrNoSession) {
		t.Errorf("connect: %v, want ErrNoSession", err)
	}
	if store.Bytes() != 0 {
		t.Errorf("%d bytes kept, want none", store.Bytes())
	}
}

// A client that left before there was a stream cannot reconnect to it. The exchange gets an error
// when it sends, and its outcome is accepted nevertheless.
func TestReplyWithoutClient(t *testing.T) {
	store := NewStore(StoreOptions{})
	s := store.Streams("acme", "a session")
	defer s.Close()
	r := newReply(s, 1, true)
	r.leave()
	if err := r.Send(note("a", 1)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Send: %v, want ErrClosed", err)
	}
	r.CloseStream(time.Second)
	if !r.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil)) ||
		r.Finish(jsonrpc.Response(jsonrpc.IntID(1), nil)) {
		t.Error("want one outcome to be taken")
	}
	if store.Bytes() != 0 || s.state != nil {
		t.Errorf("%d bytes kept for nobody", store.Bytes())
	}
}

// Weights apply to notifications only, whatever the method of a request.
func TestWeights(t *testing.T) {
	for _, c := range []struct {
		m    jsonrpc.Message
		want importance
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
