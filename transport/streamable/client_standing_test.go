package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

func initialized(t *testing.T, c *streamable.Client) {
	t.Helper()
	shake(t, c, protocol.V20251125)
	send(t, c, jsonrpc.Notification("notifications/initialized", nil))
}

func TestClientDoesWithoutAStandingStream(t *testing.T) {
	for status, told := range map[int]string{
		405: "streamable.StandaloneState{Open:false Gap:false Err:<nil>}",
		400: "streamable.StandaloneState{Open:false Gap:false Err:status 400 Bad Request}",
		401: "streamable.StandaloneState{Open:false Gap:false Err:status 401 Unauthorized}",
		200: "streamable.StandaloneState{Open:false Gap:false Err:<nil>}", // an HTML page
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			p.get = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
			c := inMemory(t, p)
			initialized(t, c)
			expect(t, c, told)
			time.Sleep(time.Hour)
			synctest.Wait()
			if got := p.saw(); len(slices.DeleteFunc(got, func(s string) bool { return s != "GET" })) != 1 {
				t.Errorf("%d: got %q", status, got)
			}
		})
	}
}

func TestClientKeepsTheStandingStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		n := 0
		p.get = func(w http.ResponseWriter, r *http.Request) {
			n++
			last := r.Header.Get("Last-Event-ID")
			switch n {
			case 1: // an id: nothing is missing after the reconnect
				stream(w, "retry: 100\nid: a\n"+data(jsonrpc.Notification("one", nil)))
			case 2:
				if last != "a" {
					t.Errorf("came back with id %q", last)
				}
				w.WriteHeader(503)
			case 3:
				stream(w, data(jsonrpc.Notification("two", nil)))
			case 4: // the id has expired
				w.WriteHeader(404)
			case 5:
				if last != "" {
					t.Errorf("came back with id %q after it was refused", last)
				}
				stream(w, data(jsonrpc.Notification("three", nil)))
			case 6: // no id was given: a gap
				stream(w, ": quiet")
				<-r.Context().Done()
			}
		}
		c := inMemory(t, p)
		initialized(t, c)
		expect(t, c,
			"streamable.StandaloneState{Open:true Gap:false Err:<nil>}",
			`none: {"jsonrpc":"2.0","method":"one"}`,
			"streamable.StandaloneState{Open:true Gap:false Err:<nil>}",
			`none: {"jsonrpc":"2.0","method":"two"}`,
			"streamable.StandaloneState{Open:true Gap:true Err:<nil>}",
			`none: {"jsonrpc":"2.0","method":"three"}`,
			"streamable.StandaloneState{Open:true Gap:true Err:<nil>}")
	})
}

func TestClientWaitsLongerForAServerThatStaysDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		var at []time.Time
		p.get = func(w http.ResponseWriter, _ *http.Request) {
			at = append(at, time.Now())
			if len(at) == 3 {
				w.Header().Set("Retry-After", "100")
			}
			w.WriteHeader(503)
		}
		c := inMemory(t, p)
		initialized(t, c)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for i, least := range []time.Duration{2, 4, 100, 16, 30, 30} {
			if got := at[i+1].Sub(at[i]); got < least*time.Second || got > least*time.Second*5/4 {
				t.Errorf("pause %d: got %s, want about %d s", i, got, least)
			}
		}
	})
}

func TestClientFindsTheSessionLostOnTheStandingStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		n := 0
		p.get = func(w http.ResponseWriter, _ *http.Request) {
			if n++; n == 1 {
				stream(w, "id: a\ndata:")
				return
			}
			w.WriteHeader(404)
		}
		p.forget(refuse(404))
		c := inMemory(t, p)
		initialized(t, c)
		expect(t, c, "streamable.StandaloneState{Open:true Gap:false Err:<nil>}")
		if in, err := c.Recv(t.Context()); !errors.Is(err, streamable.ErrSessionLost) {
			t.Errorf("got %s, %v", show(in), err)
		}
	})
}

func TestClientDoesNotListenToAServerThatRefusedTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["notifications/initialized"] = func(w http.ResponseWriter, _ *http.Request,
			_ jsonrpc.Message) {
			w.WriteHeader(400)
		}
		c := inMemory(t, p)
		initialized(t, c)
		if _, ok := recv(t, c).Control.(streamable.Undelivered); !ok {
			t.Error("the refusal was not told")
		}
		send(t, c, jsonrpc.Notification("n", nil)) // and nothing waits for it for ever
		synctest.Wait()
		if got := p.saw(); !slices.Equal(got,
			[]string{"POST initialize", "POST notifications/initialized", "POST n"}) {
			t.Errorf("got %q", got)
		}
	})
}

// If a server ends its streams at once, the client reopens them with growing delays, however short
// the requested delay is. A message resets the delays.
func TestStreamThatEndsAtOnceIsOpenedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		var at []time.Time
		p.get = func(w http.ResponseWriter, _ *http.Request) {
			if at = append(at, time.Now()); len(at) == 13 {
				stream(w, "retry: 50\n"+data(jsonrpc.Notification("n", nil)))
				return
			}
			stream(w, "retry: 50\ndata:")
		}
		c := inMemory(t, p)
		initialized(t, c)
		go func() { // ends with the client
			for {
				if _, err := c.Recv(context.Background()); err != nil {
					return
				}
			}
		}()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		want := 50 * time.Millisecond
		for i := range 12 {
			if got := at[i+1].Sub(at[i]); got < want || got > want*5/4 {
				t.Errorf("pause %d: got %v, want about %v", i, got, want)
			}
			want = min(2*want, 30*time.Second)
		}
		if got := at[13].Sub(at[12]); got > 100*time.Millisecond {
			t.Errorf("after a message: a pause of %v", got)
		}
	})
}

// A client that cannot connect for its stream reports this once, and opens the stream when the
// server has answered another request. It does not dial an unreachable server a second time.
func TestStreamOfAServerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		var gets atomic.Int64
		var away atomic.Bool
		refuse := roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				gets.Add(1)
			}
			if away.Load() {
				return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			}
			return memory{p.ServeHTTP}.RoundTrip(r)
		})
		p.get = func(w http.ResponseWriter, r *http.Request) {
			if gets.Load() == 1 {
				stream(w, ": the first")
				return
			}
			stream(w, ": the next")
			<-r.Context().Done()
		}
		p.posts["ping"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			answerJSON(w, jsonrpc.Response(m.ID, nil))
		}
		c := newTestClient(t, streamable.ClientOptions{URL: "http://peer/mcp", Transport: refuse})
		shake(t, c, protocol.V20251125)
		send(t, c, jsonrpc.Notification("notifications/initialized", nil))
		expect(t, c, "streamable.StandaloneState{Open:true Gap:false Err:<nil>}")
		away.Store(true)
		if in := recv(t, c); !transport.IsUnreachable(in.Control.(streamable.Unreached).Err) {
			t.Errorf("got %s", show(in))
		}
		time.Sleep(20 * time.Second)
		if n := gets.Load(); n != 2 {
			t.Errorf("%d streams were asked for, want 2", n)
		}
		away.Store(false)
		send(t, c, call(5, "ping"))
		for range 2 {
			if got := show(recv(t, c)); !strings.Contains(got, `"id":5,"result"`) &&
				got != "streamable.StandaloneState{Open:true Gap:true Err:<nil>}" {
				t.Errorf("got %s", got)
			}
		}
		if n := gets.Load(); n != 3 {
			t.Errorf("%d streams were asked for, want 3", n)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The answer to an accepted request may arrive on the standalone stream. Without that stream the
// request has failed.
func TestClientTakesAnswersOfTheStandingStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, events := newPeer(), make(chan string, 2)
		p.get = func(w http.ResponseWriter, r *http.Request) {
			stream(w, ": hello")
			for {
				select {
				case e := <-events:
					emit(w, e)
				case <-r.Context().Done():
					return
				}
			}
		}
		p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.WriteHeader(http.StatusAccepted)
			time.AfterFunc(time.Minute, func() { events <- data(jsonrpc.Response(m.ID, nil)) })
		}
		p.posts["first"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			events <- data(jsonrpc.Response(m.ID, nil))
			time.Sleep(time.Second)
			w.WriteHeader(http.StatusAccepted)
		}
		p.posts["hangs"] = func(_ http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			events <- data(jsonrpc.Response(m.ID, nil))
			<-r.Context().Done()
		}
		p.posts["never"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
			w.WriteHeader(http.StatusAccepted)
		}
		c := inMemory(t, p)
		shake(t, c, protocol.V20251125)
		send(t, c, jsonrpc.Notification("notifications/initialized", nil))
		expect(t, c, "streamable.StandaloneState{Open:true Gap:false Err:<nil>}")
		send(t, c, call(1, "x"), call(2, "never"))
		expect(t, c, `none: {"jsonrpc":"2.0","id":1,"result":{}}`)
		send(t, c, jsonrpc.Notification("notifications/cancelled", jsontext.Value(`{"requestId":2}`)),
			call(3, "x"))
		expect(t, c, `none: {"jsonrpc":"2.0","id":3,"result":{}}`)
		for id := range uint64(2 * streamable.MaxPosts) { // none keeps its token
			send(t, c, call(10+id, "first"))
			expect(t, c, fmt.Sprintf(`none: {"jsonrpc":"2.0","id":%d,"result":{}}`, 10+id))
			time.Sleep(2 * time.Second)
			send(t, c, call(1000+id, "hangs"))
			expect(t, c, fmt.Sprintf(`none: {"jsonrpc":"2.0","id":%d,"result":{}}`, 1000+id))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
			w.WriteHeader(http.StatusAccepted)
		}
		c := inMemory(t, p)
		shake(t, c, protocol.V20251125)
		send(t, c, jsonrpc.Notification("notifications/initialized", nil))
		expect(t, c, "streamable.StandaloneState{Open:false Gap:false Err:<nil>}")
		send(t, c, call(1, "x"))
		expect(
			t, c,
			"1 failed, written=true: the server accepted the request without an answer, and has no stream "+
				"for it",
		)
	})
}
