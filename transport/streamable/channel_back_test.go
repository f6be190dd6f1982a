package streamable

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// data returns the data of the next n events.
func (c *channelClient) data(n int) (all []string) {
	c.t.Helper()
	for range n {
		all = append(all, string(c.next().Data))
	}
	return all
}

// away disconnects and waits until the host has noticed it.
func (c *channelClient) away(session *testSession) {
	c.t.Helper()
	c.resp.Body.Close()
	waitFor(c.t, func() bool { return session.streams.Open() == 0 })
}

func notes(from, to int) (all []string) {
	for n := from; n <= to; n++ {
		all = append(all, line(note("notifications/message", n)))
	}
	return all
}

func (c *channelClient) expect(want ...string) {
	c.t.Helper()
	if got := c.data(len(want)); strings.Join(got, "\n") != strings.Join(want, "\n") {
		c.t.Errorf("got %q, want %q", got, want)
	}
}

// A client whose stream is cut continues its session. It gets each event of the meantime once,
// including events written to the broken connection.
func TestChannelComesBack(t *testing.T) {
	host := newTestHost(t)
	hold := make(chan struct{}, 1)
	host.scripts["hold"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		<-hold
		out.Finish(jsonrpc.Response(m.ID, jsontext.Value(`{"n":1}`)))
	}
	s := serve(t, host, Options{})
	c := s.stream(t.Context(), "ann")
	if status := c.back(); status != http.StatusOK { // before it has begun
		t.Fatalf("without a session the stream is answered %d", status)
	}
	c.begin(protocol.V20241105)
	session := host.last()
	pushAll(t, session.streams, note("notifications/message", 1), note("notifications/message", 2))
	c.expect(notes(1, 2)...)
	c.say(`{"jsonrpc":"2.0","id":"a","method":"hold"}`)
	c.away(session)
	pushAll(t, session.streams, note("notifications/message", 3))
	// The client posts before it has reconnected.
	c.say(`{"jsonrpc":"2.0","id":"b","method":"echo","params":{}}`)
	waitFor(t, func() bool { return session.streams.Open() == 0 && session.streams.waiting() == 2 })
	if status := c.back(); status != http.StatusOK {
		t.Fatalf("the stream is answered %d", status)
	}
	c.expect(append(notes(3, 3), `{"jsonrpc":"2.0","id":"b","result":{}}`)...)
	hold <- struct{}{}
	c.expect(`{"jsonrpc":"2.0","id":"a","result":{"n":1}}`)
	before := c.seen
	pushAll(t, session.streams, note("notifications/message", 4), note("notifications/message", 5))
	c.expect(notes(4, 5)...)
	c.seen = before // the connection broke before these were read
	if status := c.back(); status != http.StatusOK {
		t.Fatalf("the stream is answered %d", status)
	}
	c.expect(notes(4, 5)...)
	second := *c
	if status := second.again(); status != http.StatusOK { // while the old connection still looks open
		t.Fatalf("the second stream is answered %d", status)
	}
	if rest := c.rest(); len(rest) != 0 {
		t.Errorf("the old connection got %q", rest)
	}
	pushAll(t, session.streams, note("notifications/message", 6))
	second.expect(notes(6, 6)...)
	waitFor(t, func() bool { return session.streams.Open() == 1 })
}

// waiting returns the number of events that wait on the standalone stream.
func (s *Streams) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.standalone.waiting
}

// If answers that a client has missed are no longer stored, it is told that its session is over.
func TestChannelThatCannotGoOn(t *testing.T) {
	host := newTestHost(t)
	host.store = NewStore(StoreOptions{StreamEvents: 4})
	s := serve(t, host, Options{})
	c := s.stream(t.Context(), "ann").begin(protocol.V20251125)
	session := host.last()
	c.away(session)
	for i := range 6 {
		c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"echo","params":{}}`, i))
	}
	host.running.Wait()
	if status := c.back(); status != http.StatusNotFound {
		t.Errorf("the stream is answered %d", status)
	}
	if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"echo"}`); status != http.StatusNotFound {
		t.Errorf("a POST is answered %d", status)
	}
	if host.last() != nil {
		t.Error("the session goes on")
	}
}

// The streams of clients that left before initialize make room for others.
func TestLeftChannelsMakeRoom(t *testing.T) {
	s := serve(t, newTestHost(t), Options{})
	first := s.stream(t.Context(), "ann")
	first.resp.Body.Close()
	all := &s.handler.channels
	waitFor(t, func() bool {
		all.mu.Lock()
		defer all.mu.Unlock()
		return all.oldest(first.ep()) != nil
	})
	for range maxUnopened {
		s.stream(t.Context(), "ann")
	}
	if status := first.back(); status != http.StatusNotFound {
		t.Errorf("the first is answered %d", status)
	}
}

func (c *channelClient) ep() Endpoint { return Endpoint{Tenant: "acme", Principal: c.who} }

// Clients of the Java SDKs resolve the reference against the root of the host.
func TestReferences(t *testing.T) {
	for _, row := range []struct{ agent, path, want string }{
		{"node", "/t/acme/sse", "?ticket=x"},
		{"Java-http-client/21", "/t/acme/sse", "/t/acme/sse/message?ticket=x"},
		{"ReactorNetty/1.2", "/t/acme/sse/", "/t/acme/sse/message?ticket=x"},
	} {
		r, _ := http.NewRequest(http.MethodGet, "http://host"+row.path, nil)
		r.Header.Set("User-Agent", row.agent)
		if got := reference(r, "x"); got != row.want {
			t.Errorf("%s: %s, want %s", row.agent, got, row.want)
		}
	}
}

// saves is a Store that saves to a simulated disk.
type saves struct {
	*Store
	disk map[string][]byte
}

func newSaves(disk map[string][]byte) *saves {
	return &saves{NewStore(StoreOptions{Save: func() {}}), disk}
}

func (s *saves) write() {
	for more := true; more; {
		var part []Saved
		for part, more = s.Unsaved(); len(part) > 0; part = part[1:] {
			if s.disk[part[0].Key] = part[0].Value; part[0].Value == nil {
				delete(s.disk, part[0].Key)
			}
		}
	}
}

func (s *saves) restored(t *testing.T) *Streams {
	t.Helper()
	streams, all := s.Channel("acme", "ticket"), []Saved{}
	for key, value := range s.disk {
		all = append(all, Saved{key, value})
	}
	if dropped := streams.Restore(all); len(dropped) != 0 {
		t.Errorf("dropped %v", dropped)
	}
	return streams
}

// joined attaches the connection of a client that has seen the events up to after.
func joined(t *testing.T, s *Streams, after uint64, resumed bool) *streamResponse {
	t.Helper()
	o := makeStreamResponse()
	if err := s.join(&o, after, resumed); err != nil {
		t.Fatal(err)
	}
	return &o
}

// After a restart of the host, a channel gives its client the missed events once, and reports the
// requests that were lost with the host.
func TestChannelOutlivesTheHost(t *testing.T) {
	disk := map[string][]byte{}
	before := newSaves(disk)
	s := before.Channel("acme", "ticket")
	o := joined(t, s, 0, false)
	answer := jsonrpc.Response(jsonrpc.IntID(1), jsontext.Value(`{}`))
	pushAll(t, s, note("notifications/message", 1), note("notifications/message", 2), answer)
	seen := o.next // the first of them
	taken(s, o, 8)
	s.saveInFlight(jsonrpc.StringID("slow"))
	s.saveInFlight(jsonrpc.StringID("quick"))
	s.forgetInFlight(jsonrpc.StringID("quick"))
	before.write()
	if len(disk) != 1 {
		t.Errorf("written down: %q", disk)
	}
	s.detach(o)
	pushAll(t, s, note("notifications/message", 3))
	before.write()
	s.Close() // without writing to the disk

	after := newSaves(disk)
	again := after.restored(t)
	o = joined(t, again, seen, true)
	got, _ := taken(again, o, 2)
	failed := got[len(got)-1]
	want := []string{
		line(note("notifications/message", 2)), line(answer), line(note("notifications/message", 3)),
	}
	if strings.Join(got[:len(got)-1], "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(failed, `"id":"slow"`) || !strings.Contains(failed, `"maybeExecuted":true`) {
		t.Errorf("who waits is told %s", failed)
	}
	last := o.next - 1
	pushAll(t, again, note("notifications/message", 4))
	again.detach(o)
	o = joined(t, again, last, true)
	if got, _ := taken(again, o, 2); len(got) != 1 ||
		got[0] != line(note("notifications/message", 4)) {
		t.Errorf("then %q", got)
	}
	again.Close()
	after.write()
	if len(disk) != 0 {
		t.Errorf("after the end there is %q", disk)
	}
}

// A client reconnects without stating its last event, long after its host was replaced. It gets the
// answers that the earlier host has saved. It is also told of a request that had been in flight for
// longer than events are stored.
func TestAnswersOfAnEarlierHostAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := map[string][]byte{}
		before := newSaves(disk)
		s := before.Channel("acme", "ticket")
		o := joined(t, s, 0, false)
		s.saveInFlight(jsonrpc.StringID("slow"))
		before.write()
		time.Sleep(before.options.TTL)
		answer := jsonrpc.Response(jsonrpc.IntID(1), jsontext.Value(`{}`))
		pushAll(t, s, answer)
		taken(s, o, 8)
		s.detach(o) // it is unknown if the client got it
		before.write()
		s.Close() // without writing to the disk
		time.Sleep(2 * unsureTime)

		after := newSaves(disk)
		again := after.restored(t)
		blind := makeStreamResponse()
		blind.unsureOfLast = true
		if err := again.join(&blind, 0, false); err != nil {
			t.Fatal(err)
		}
		got, _ := taken(again, &blind, 8)
		if len(got) != 2 || got[0] != line(answer) || !strings.Contains(got[1], `"id":"slow"`) {
			t.Errorf("got %q", got)
		}
		again.Close()
	})
}

// If the clock of an earlier host was ahead, the client loses only the events that it had missed.
func TestChannelOfALaterClock(t *testing.T) {
	s := NewStore(StoreOptions{}).Channel("acme", "ticket")
	defer s.Close()
	pushAll(t, s, note("notifications/message", 1))
	o := joined(t, s, uint64(time.Now().Add(time.Hour).UnixMilli())<<placeBits, true)
	pushAll(t, s, note("notifications/message", 2))
	if got, _ := taken(s, o, 2); len(got) == 0 ||
		got[len(got)-1] != line(note("notifications/message", 2)) {
		t.Errorf("got %q", got)
	}
}

// again reconnects while the previous connection is open.
func (c *channelClient) again() int {
	c.t.Helper()
	was := c.events
	open := *was.resp
	c.events = &events{was.t, &http.Response{Body: http.NoBody}, was.r}
	defer func() { was.resp = &open }()
	return c.back()
}

// A client that reconnects without Last-Event-ID is identified by a ping, and continues the session
// to which it posts the answer. A client without a session is told so.
func TestChannelOfAClientThatDoesNotSay(t *testing.T) {
	host := newTestHost(t)
	s := serve(t, host, Options{})
	s.handler.options.Host = findingHost{host}
	blind := func() *events {
		return readStream(t, s.do(s.at(s.request(t.Context(), http.MethodGet, "", "Authorization", "ann",
			"Mcp-Protocol-Version", "2025-11-25"), "/t/acme/sse")))
	}
	c := s.stream(t.Context(), "ann").begin(protocol.V20251125)
	other := s.stream(t.Context(), "ann").begin(protocol.V20251125)
	session := host.last() // of other
	other.away(session)
	other.say(`{"jsonrpc":"2.0","id":"b","method":"echo","params":{}}`)
	other.events = blind()
	ping, err := jsonrpc.Decode(other.events.next().Data, jsonrpc.Limits{})
	if err != nil || ping.Method != "ping" {
		t.Fatalf("it is asked %+v, %v", ping, err)
	}
	bob := s.stream(t.Context(), "bob")
	bob.post(line(jsonrpc.Response(ping.ID, nil))) // bob knows the id of the ping
	other.say(line(jsonrpc.Response(ping.ID, nil)))
	if e := other.next(); e.Type != "endpoint" || "/t/acme/sse"+string(e.Data) != other.at {
		t.Fatalf("the stream goes on with %+v", e)
	}
	// The client may not have received this answer.
	if again := string(other.next().Data); !strings.Contains(again, `"id":0,`) {
		t.Errorf("then %s", again)
	}
	other.expect(`{"jsonrpc":"2.0","id":"b","result":{}}`)
	if len(session.delivered) != 0 {
		t.Errorf("the session was given %v", session.delivered)
	}
	c.say(`{"jsonrpc":"2.0","id":"c","method":"echo","params":{}}`)
	c.expect(`{"jsonrpc":"2.0","id":"c","result":{}}`)

	for _, each := range host.sessions {
		_ = each.Close(t.Context())
	}
	lost := &channelClient{events: blind(), s: s, who: "ann"}
	lost.at = "/t/acme/sse" + string(lost.next().Data)
	if status, _ := lost.post(`{"jsonrpc":"2.0","id":"d","method":"echo","params":{}}`); status !=
		http.StatusNotFound {
		t.Errorf("a client without a session is answered %d", status)
	}
	lost.begin(protocol.V20251125)
}

// A host that no longer opens sessions lets clients reconnect to theirs, including clients that do
// not name their session. Otherwise they would lose pending answers.
func TestChannelComesBackWhileTheHostCloses(t *testing.T) {
	host := newTestHost(t)
	var closing atomic.Pointer[protocol.Error]
	s := serve(t, host, Options{Closing: closing.Load})
	s.handler.options.Host = findingHost{host}
	c := s.stream(t.Context(), "ann").begin(protocol.V20251125)
	session := host.last()
	refused := protocol.Stopping("", false)
	refused.RetryAfter = 2 * time.Second
	closing.Store(refused)

	c.away(session)
	c.say(`{"jsonrpc":"2.0","id":"a","method":"echo","params":{}}`)
	if status := c.back(); status != http.StatusOK {
		t.Fatalf("the stream is answered %d", status)
	}
	c.expect(`{"jsonrpc":"2.0","id":"a","result":{}}`)

	open := func(header ...string) *http.Response {
		return s.do(s.at(s.request(t.Context(), http.MethodGet, "",
			append(header, "Authorization", "ann")...), "/t/acme/sse"))
	}
	c.away(session)
	c.events = readStream(t, open("Mcp-Protocol-Version", "2025-11-25"))
	ping, err := jsonrpc.Decode(c.events.next().Data, jsonrpc.Limits{})
	if err != nil || ping.Method != "ping" {
		t.Fatalf("it is asked %+v, %v", ping, err)
	}
	c.say(line(jsonrpc.Response(ping.ID, nil)))
	if e := c.next(); e.Type != "endpoint" || "/t/acme/sse"+string(e.Data) != c.at {
		t.Fatalf("the stream goes on with %+v", e)
	}

	resp := open()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "2" {
		t.Errorf("a new stream is answered %d, Retry-After %q", resp.StatusCode,
			resp.Header.Get("Retry-After"))
	}
}

// findingHost is a Finder: it knows the sessions over HTTP+SSE.
type findingHost struct{ *testHost }

func (h findingHost) Channels(ep Endpoint) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		if s.ep == ep && s.streams.Channel() {
			return true
		}
	}
	return false
}
