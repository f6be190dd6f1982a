package streamable

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// A large body waits for room of its tenant, and while there is little memory for room of the host. The wait is none of its own time, has a
// bound, and concerns neither small bodies nor other tenants.
func TestLargeBodiesWaitForRoom(t *testing.T) {
	for _, c := range []struct {
		full  string // who has no room
		other int    // the status of another tenant's large body
	}{{"tenant acme", 200}, {"host", 503}} {
		t.Run(c.full, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				full, rest := transport.NewRoom(10), transport.NewRoom(10)
				host := newTestHost(t)
				o := Options{Host: host, Store: host.store, Bounds: Bounds{BodyTime: time.Second}}
				o.Bodies = func(ep Endpoint) *transport.Room {
					if "tenant "+ep.Tenant == c.full {
						return full
					}
					return rest
				}
				if c.full == "host" {
					o.Scarce = func() *transport.Room { return full }
				}
				h := NewHandler(o)
				post := func(tenant string, size int) <-chan *httptest.ResponseRecorder {
					host.route = func(*http.Request) (Endpoint, *protocol.Error) { return Endpoint{Tenant: tenant}, nil }
					s := host.add(Endpoint{Tenant: tenant}, protocol.V20251125, nil)
					m := jsonrpc.Request(jsonrpc.IntID(1), "echo", jsontext.Value(`{"pad":"`+strings.Repeat("x", size)+`"}`))
					r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(string(m.Append(nil))))
					for name, value := range map[string]string{
						"Content-Type": jsonType, "Accept": jsonType + ", " + streamType, "Mcp-Session-Id": s.id,
					} {
						r.Header.Set(name, value)
					}
					answered := make(chan *httptest.ResponseRecorder, 1)
					go func() {
						w := httptest.NewRecorder()
						h.ServeHTTP(w, r)
						answered <- w
					}()
					synctest.Wait()
					return answered
				}
				full.Add(1) // somebody reads a large body

				small := post("acme", 100)
				if w := <-small; w.Code != 200 {
					t.Errorf("a small body: %d %s", w.Code, w.Body)
				}
				began, late, other := time.Now(), post("acme", 3*transport.Large), post("other", 3*transport.Large)
				if w := <-other; w.Code != c.other {
					t.Errorf("another tenant: %d %.200s, want %d", w.Code, w.Body, c.other)
				}
				w := <-late
				if body := w.Body.String(); w.Code != 503 || w.Header().Get("Retry-After") != "1" || w.Header().Get("Connection") != "close" ||
					!strings.Contains(body, `"message":"`+c.full+` is overloaded"`) || !strings.Contains(body, `"data":{"reason":"overloaded","retryAfterMs":1000}`) {
					t.Errorf("got %d %v %.300s, want to be told to come back", w.Code, w.Header(), body)
				}
				if took := time.Since(began); took != roomTime {
					t.Errorf("told after %v, want %v", took, roomTime)
				}

				turn := post("acme", 3*transport.Large)
				time.Sleep(roomTime - time.Second) // many times what a body may take
				full.Add(-1)
				if w := <-turn; w.Code != 200 {
					t.Errorf("whose turn came: %d %.200s", w.Code, w.Body)
				}
				for _, room := range []*transport.Room{full, rest} {
					if now, _ := room.Used(); now != 0 {
						t.Errorf("%d bytes of room are nobody's", now)
					}
				}
			})
		})
	}
}

// What waits for room is not late when its turn comes, on a connection that has deadlines.
func TestBodyThatWaitedIsNotTooSlow(t *testing.T) {
	const bodyTime = 200 * time.Millisecond
	room := transport.NewRoom(10)
	room.Add(1)
	s := serve(t, newTestHost(t), Options{Bounds: Bounds{BodyTime: bodyTime}, Bodies: func(Endpoint) *transport.Room { return room }})
	id := s.session(protocol.V20251125)
	freed := time.AfterFunc(3*bodyTime, func() { room.Add(-1) })
	defer freed.Stop()
	m := jsonrpc.Request(jsonrpc.IntID(1), "echo", jsontext.Value(`{"pad":"`+strings.Repeat("x", 3<<20)+`"}`))
	if resp := s.post(string(m.Append(nil)), "Mcp-Session-Id", id); resp.StatusCode != 200 {
		t.Errorf("got %d %.300s", resp.StatusCode, content(t, resp))
	} else {
		content(t, resp)
	}
}
