package streamable_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// spans is the number of rate-limit periods that the floods below take.
const spans = 50

// flooding is a server that sends the event so many times before it answers.
func flooding(times int, event string) *peer {
	p := newPeer()
	p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		stream(w)
		for range times {
			emit(w, event)
		}
		emit(w, data(jsonrpc.Response(m.ID, nil)))
	}
	return p
}

// answers receives n answers.
func answers(t *testing.T, c *streamable.Client, n int) {
	t.Helper()
	for n > 0 {
		if in := recv(t, c); in.Err != nil {
			t.Fatal(show(in))
		} else if in.Message.Kind() == jsonrpc.KindResult {
			n--
		}
	}
}

// Stray input on a stream is rate-limited, and all of it is read. Messages are not delayed,
// whatever fields they have.
func TestClientReadsUnsolicitedMessagesAtALimitedRate(t *testing.T) {
	const strays = spans * transport.PaceMost
	note := data(jsonrpc.Notification("n", nil))
	for _, c := range []struct {
		label, event string
		times        int
		paced        bool
	}{
		{"comments", ": nothing", strays, true},
		{"a long comment", ": " + strings.Repeat("x", strays*transport.PacePart), 1, true},
		{"empty lines", "", strays, true},
		{"ids", "id: 5", strays, true},
		{"events of other names", "event: ping\ndata: {}", strays, true},
		{"a long event of another name",
			"event: ping\ndata: " + strings.Repeat("x", strays*transport.PacePart), 1, true},
		{"what is no JSON", "data: garbage", strays, true},
		{"comments between messages", strings.Repeat(": nothing\n", transport.PaceMost-1) + note,
			2 * spans, true},
		{"lines of a message without anything",
			strings.Repeat("data:\n", 21*transport.PacePart/len("data:\n")) + note, spans, true},
		{"messages", "event: message\nid: 5\nretry: 10\n" + note, strays, false},
		{"messages and comments", ": nothing\n\nevent: message\nid: 5\n" + note, strays, false},
		{"messages of many lines",
			"data: {\"jsonrpc\": \"2.0\",\n" + strings.Repeat("data:\n", 100) + "data: \"method\": \"n\"}",
			strays, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := inMemory(t, flooding(c.times, c.event))
			began := time.Now()
			send(t, client, call(1, "x"))
			answers(t, client, 1)
			switch took := time.Since(began); {
			case c.paced && took < spans*transport.PaceSpan:
				t.Errorf("%s: they were read in %v", c.label, took)
			case !c.paced && took > 0:
				t.Errorf("%s: they took %v", c.label, took)
			}
		})
	}
}

// An array with an unreadable member counts as messages.
func TestClientReadsArraysAsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := inMemory(t, flooding(spans*transport.PaceMost,
			`data: [{"jsonrpc":"2.0","method":"n"},5]`))
		shake(t, client, protocol.V20250326)
		began := time.Now()
		send(t, client, call(1, "x"))
		for in := recv(t, client); in.Message.Kind() != jsonrpc.KindResult; in = recv(t, client) {
			if in.Err != nil {
				t.Fatal(show(in))
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("they took %v", took)
		}
	})
}

// Where answers arrive on the standalone stream, an unreadable answer still counts as an answer and
// not as stray input. The reader of messages rate-limits answers to unknown requests.
func TestClientReadsBrokenAnswersAsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const answers = spans * transport.PaceMost
		p := newPeer()
		p.get = func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			for range answers {
				emit(w, `data: {"jsonrpc":"2.0","id":7,"outcome":{}}`)
			}
			<-r.Context().Done()
		}
		c := inMemory(t, p)
		initialized(t, c)
		expect(t, c, "streamable.StandaloneState{Open:true Gap:false Err:<nil>}")
		began := time.Now()
		for range answers {
			if in := recv(t, c); in.Err == nil || in.RequestID != jsonrpc.IntID(7) {
				t.Fatal(show(in))
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("they took %v", took)
		}
	})
}

// Many streams of one connection together are rate-limited like one, and a stream that is not
// flooded is not delayed.
func TestClientReadsManyStreamsAtOnePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const streams = 8
		p := flooding(spans*transport.PaceMost, ": nothing")
		p.posts["calm"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			stream(w, ": nothing", "id: 1\ndata:", "id: 2\n"+data(jsonrpc.Response(m.ID, nil)))
		}
		c := inMemory(t, p)
		began := time.Now()
		for id := range uint64(streams) {
			send(t, c, call(id, "x"))
		}
		synctest.Wait()
		send(t, c, call(streams, "calm"))
		expect(t, c, fmt.Sprintf(`%d: {"jsonrpc":"2.0","id":%[1]d,"result":{}}`, streams))
		if took := time.Since(began); took > 0 {
			t.Errorf("one that says what it must took %v", took)
		}
		answers(t, c, streams)
		if took := time.Since(began); took < streams*spans*transport.PaceSpan {
			t.Errorf("they were read in %v", took)
		}
	})
}

// Close does not wait for a rate-limited reader, and such a reader holds no reservation.
func TestClientClosesWhileItRests(t *testing.T) {
	for _, long := range []string{"event: ping\ndata: ", ": ", "id: 5\n: "} {
		synctest.Test(t, func(t *testing.T) {
			budget := transport.NewByteBudget(1 << 30)
			// The stray input is followed by more input.
			p := flooding(2, long+strings.Repeat("x", 4<<20)+"\n: "+strings.Repeat("x", 16<<10))
			c := newTestClient(t, streamable.ClientOptions{
				URL: "http://peer/mcp", Transport: memory{p.ServeHTTP}, Room: budget,
			})
			for id := range uint64(2) {
				send(t, c, call(id, "x"))
			}
			synctest.Wait()
			if now, most := budget.Used(); now != 0 || most == 0 {
				t.Errorf("%q: room for %d bytes is taken, %d at most", long, now, most)
			}
			began := time.Now()
			if err := c.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("%q: it took %v", long, took)
			}
		})
	}
}

// After a long stray line, a quiet stream holds no reservation. If an event begins with such a
// line, the reservation lasts as long as the event.
func TestQuietStreamsHaveNoRoom(t *testing.T) {
	long := strings.Repeat("x", 2*transport.Large)
	for _, c := range []struct {
		text  string
		taken bool
	}{
		{": " + long + "\n\n: " + long + "\n: and so on", false}, {"event: " + long, true},
		{"data: " + long, true}, {"event: " + long + "\n\n", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			budget := transport.NewByteBudget(1 << 30)
			p := newPeer()
			p.get = func(w http.ResponseWriter, r *http.Request) {
				stream(w)
				io.WriteString(w, c.text)
				for r.Context().Err() == nil {
					io.WriteString(w, "\n: keep-alive")
					transport.Rest(r.Context(), time.Minute)
				}
			}
			client := newTestClient(t, streamable.ClientOptions{
				URL: "http://peer/mcp", Transport: memory{p.ServeHTTP}, Room: budget,
			})
			initialized(t, client)
			time.Sleep(time.Hour)
			if now, most := budget.Used(); now > 0 != c.taken || most == 0 {
				t.Errorf("%.10q: room for %d bytes is taken, %d at most", c.text, now, most)
			}
		})
	}
}

// An event that is too large is not requested again with the id of the previous event, and the
// stream is not reopened at once.
func TestClientPassesOverAnEventThatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1000
		p := newPeer()
		var asked []string
		var at []time.Time
		p.get = func(w http.ResponseWriter, r *http.Request) {
			asked, at = append(asked, r.Header.Get("Last-Event-ID")), append(at, time.Now())
			stream(w)
			if len(asked) == 1 {
				emit(w, "retry: 1\nid: 1\n"+data(jsonrpc.Notification("one", nil)))
				emit(w, "id: 2\ndata: "+strings.Repeat("x", 10*most))
			} else {
				emit(w, data(jsonrpc.Notification("two", nil)))
			}
			<-r.Context().Done()
		}
		c := newTestClient(t, streamable.ClientOptions{
			URL: "http://peer/mcp", Transport: memory{p.ServeHTTP}, MaxMessage: most,
		})
		initialized(t, c)
		expect(t, c,
			"streamable.StandaloneState{Open:true Gap:false Err:<nil>}",
			`none: {"jsonrpc":"2.0","method":"one"}`,
			"streamable.StandaloneState{Open:true Gap:true Err:<nil>}",
			`none: {"jsonrpc":"2.0","method":"two"}`)
		if asked[1] != "" || at[1].Sub(at[0]) < time.Second {
			t.Errorf("asked for what follows %q after %v", asked[1], at[1].Sub(at[0]))
		}
	})
}
