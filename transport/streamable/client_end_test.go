package streamable_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// F40: a 404 to the session id means that the request was not executed. It ends the connection
// after the other requests have had time to find the same.
func TestClientFindsTheSessionLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		release := make(chan struct{})
		p.posts["slow"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
			<-release
			w.WriteHeader(404)
		}
		p.posts["hung"] = func(w http.ResponseWriter, r *http.Request, _ jsonrpc.Message) {
			<-r.Context().Done()
		}
		p.posts["x"] = refuse(404)
		p.forget(refuse(404))
		c := inMemory(t, p)
		shake(t, c, protocol.V20251125)
		send(t, c, call(1, "slow"), call(2, "hung"))
		synctest.Wait()
		send(t, c, call(3, "x"))
		lost := " failed, written=false: " + streamable.ErrSessionLost.Error()
		expect(t, c, "3"+lost)
		if err := c.Send(t.Context(), call(4, "x")); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("send: got %v, want %v", err, transport.ErrClosed)
		}
		began := time.Now()
		close(release)
		expect(t, c, "1"+lost)
		for range 2 {
			if in, err := c.Recv(t.Context()); !errors.Is(err, streamable.ErrSessionLost) {
				t.Errorf("got %s, %v, want %v", show(in), err, streamable.ErrSessionLost)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("the hung request was waited for %s", took)
		}
		c.Close(t.Context())
		if slices.Contains(p.saw(), "DELETE") {
			t.Error("a lost session was deleted")
		}
	})
}

func TestClientWithNothingElseRunningLosesTheSessionAtOnce(t *testing.T) {
	for _, m := range []jsonrpc.Message{call(1, "x"), jsonrpc.Notification("x", nil)} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			p.posts["x"] = refuse(404)
			p.forget(refuse(404))
			c := inMemory(t, p)
			shake(t, c, protocol.V20251125)
			began := time.Now()
			send(t, c, m)
			recv(t, c)
			if _, err := c.Recv(t.Context()); !errors.Is(err, streamable.ErrSessionLost) ||
				time.Since(began) != 0 {
				t.Errorf("got %v after %s", err, time.Since(began))
			}
		})
	}
}

// Many servers answer 400 both to an unknown session and to a request that they reject. A ping
// tells the two apart. A 404 to one request concerns only that request if the server answers
// others: it may have no such path for GET, or no such method. A session that the server names as
// unknown is lost in any case.
func TestClientKeepsTheSessionThatOneThingIsNotFoundIn(t *testing.T) {
	gone := func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("Session not found"))
	}
	for name, tt := range map[string]struct {
		asked, others func(http.ResponseWriter, *http.Request, jsonrpc.Message)
		lists         bool
		lost          bool
	}{
		"a method":                {asked: refuse(404), others: refuse(200)},
		"all but a list":          {asked: refuse(404), others: refuse(404), lists: true},
		"everything":              {asked: refuse(404), others: refuse(404), lost: true},
		"a session, by its words": {asked: gone, others: refuse(200), lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				p.get = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
				p.posts["x"] = tt.asked
				p.forget(tt.others)
				if tt.lists {
					p.posts["tools/list"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
						answerJSON(w, jsonrpc.Response(m.ID, nil))
					}
				}
				c := inMemory(t, p)
				shake(t, c, protocol.V20251125)
				if !tt.lost {
					send(t, c, jsonrpc.Notification("notifications/initialized", nil))
					expect(t, c, "streamable.StandaloneState{Open:false Gap:false Err:<nil>}")
				}
				send(t, c, call(1, "x"))
				if in := recv(t, c); in.Err == nil || errors.Is(in.Err, streamable.ErrSessionLost) != tt.lost {
					t.Errorf("got %s, want lost=%v", show(in), tt.lost)
				}
			})
		})
	}
}

func TestClientFindsTheSessionLostBehind400(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(
			[]byte(`{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`),
		)
	}
	pong := func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		answerJSON(w, jsonrpc.Response(m.ID, nil))
	}
	for _, tc := range []struct {
		name string
		ping func(http.ResponseWriter, *http.Request, jsonrpc.Message)
		lost bool
	}{{"forgotten", refuse, true}, {"disliked", pong, false}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				p.posts["x"] = refuse
				p.forget(tc.ping)
				c := inMemory(t, p)
				shake(t, c, protocol.V20251125)
				send(t, c, call(1, "x"))
				if in := recv(t, c); errors.Is(in.Err, streamable.ErrSessionLost) != tc.lost || in.Err == nil ||
					in.Written {
					t.Errorf("got %s, want lost=%v", show(in), tc.lost)
				}
				synctest.Wait()
				if err := c.Send(t.Context(), call(2, "ping")); errors.Is(err, transport.ErrClosed) != tc.lost {
					t.Errorf("the next: got %v, want lost=%v", err, tc.lost)
				}
			})
		})
	}
}

// The standalone stream detects a lost session without a request.
func TestClientFindsTheSessionLostBehind400OnItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.get = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }
		p.forget(refuse(http.StatusBadRequest))
		c := inMemory(t, p)
		shake(t, c, protocol.V20251125)
		send(t, c, jsonrpc.Notification("notifications/initialized", nil))
		if in, err := c.Recv(t.Context()); !errors.Is(err, streamable.ErrSessionLost) {
			t.Errorf("got %s, %v", show(in), err)
		}
	})
}

func TestClientTellsOfNotificationsThatDoNotArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["n"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
			w.WriteHeader(500)
		}
		c := inMemory(t, p)
		send(t, c, jsonrpc.Notification("n", nil))
		u, ok := recv(t, c).Control.(streamable.Undelivered)
		if !ok || u.Method != "n" || u.Err == nil {
			t.Errorf("got %+v", u)
		}
		began := time.Now()
		p.posts["n"] = func(_ http.ResponseWriter, r *http.Request, _ jsonrpc.Message) {
			<-r.Context().Done()
		}
		send(t, c, jsonrpc.Notification("n", nil))
		if u, _ := recv(t, c).Control.(streamable.Undelivered); !errors.Is(u.Err,
			context.DeadlineExceeded) || time.Since(began) != 30*time.Second {
			t.Errorf("got %v after %s", u.Err, time.Since(began))
		}
	})
}

// An answer that the server refuses with 400 is reported as undelivered. If the server refuses a
// ping too, the session is lost and the connection ends. A server without a session gets no ping.
func TestClientTellsOfAnswersThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		session         bool
		status, ping    int
		lost, delivered bool
	}{
		"forgotten":                 {session: true, status: 400, ping: 400, lost: true},
		"forgotten, by 404":         {session: true, status: 404, ping: 404, lost: true},
		"404 of what it lacks":      {session: true, status: 404, ping: 200},
		"it knows no such question": {session: true, status: 400, ping: 200},
		"no session":                {status: 400, ping: 400},
		"trouble":                   {session: true, status: 500, ping: 200, delivered: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				p.posts[""] = refuse(tc.status)
				p.forget(refuse(tc.ping))
				c := inMemory(t, p)
				if tc.session {
					shake(t, c, protocol.V20251125)
				}
				send(t, c, jsonrpc.Response(jsonrpc.StringID("q"), nil))
				u, ok := recv(t, c).Control.(streamable.Undelivered)
				if !ok || u.ID != jsonrpc.StringID("q") ||
					errors.Is(u.Err, streamable.ErrSessionLost) != tc.lost || u.Written != tc.delivered {
					t.Errorf("got %+v", u)
				}
				synctest.Wait()
				if err := c.Send(t.Context(), call(2, "ping")); errors.Is(err, transport.ErrClosed) != tc.lost {
					t.Errorf("the next: got %v, want lost=%v", err, tc.lost)
				}
			})
		})
	}
}

func TestClientCloseIsBoundedAndRepeatable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		hang := func(r *http.Request) { <-r.Context().Done() }
		p.posts["slow"] = func(_ http.ResponseWriter, r *http.Request, _ jsonrpc.Message) { hang(r) }
		c := newTestClient(t, streamable.ClientOptions{URL: "http://peer/",
			Transport: memory{func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete {
					hang(r)
				}
				p.ServeHTTP(w, r)
			}}})
		shake(t, c, protocol.V20251125)
		send(t, c, call(1, "slow"))
		waiting := make(chan error)
		go func() {
			_, err := c.Recv(context.Background())
			waiting <- err
		}()
		synctest.Wait()
		began := time.Now()
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("a server that hangs held up Close for %s", took)
		}
		if err := <-waiting; !errors.Is(err, transport.ErrClosed) {
			t.Errorf("recv: got %v, want %v", err, transport.ErrClosed)
		}
		if err := c.Send(t.Context(), call(2, "x")); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("send: got %v, want %v", err, transport.ErrClosed)
		}
	})
}

// A panic in a goroutine of the client ends the connection, not the process.
func TestClientPanicEndsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, streamable.ClientOptions{URL: "http://peer/", Transport: panicking{}})
		send(t, c, call(1, "x"))
		if _, err := c.Recv(t.Context()); err == nil || !strings.Contains(err.Error(), "panic: kaputt") {
			t.Errorf("got %v", err)
		}
	})
}

type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("kaputt") }
