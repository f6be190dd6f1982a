package streamable

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// A large body waits for the byte budget of its tenant, and then until the memory limit of the
// tenant allows it. The wait does not count as body time, has a limit, and delays neither small
// bodies nor other tenants.
func TestLargeBodiesWaitForRoom(t *testing.T) {
	const reading = "tenant acme is overloaded: other large requests of it are being read"
	for full, words := range map[string]string{"room": reading, "account": "acme keeps too much"} {
		t.Run(full, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				budget, kept := transport.NewByteBudget(10), 0
				host := newTestHost(t)
				o := Options{Host: host, Store: host.store, Bounds: Bounds{BodyTime: time.Second}}
				o.BodyRoom = func(ep Endpoint) *transport.ByteBudget {
					if ep.Tenant == "acme" {
						return budget
					}
					return nil
				}
				var counting sync.Mutex // guards the account
				may, refused := full != "account", 0
				o.Reserve = func(ep Endpoint, _, n int, again bool) (func(), string) {
					counting.Lock()
					defer counting.Unlock()
					switch {
					case may || ep.Tenant != "acme":
						kept += n
						return func() {
							counting.Lock()
							defer counting.Unlock()
							kept -= n
						}, ""
					case again:
						return nil, ""
					}
					refused++
					return nil, words
				}
				h := NewHandler(o)
				post := func(tenant string, size int) <-chan *httptest.ResponseRecorder {
					host.route = func(*http.Request) (Endpoint, *protocol.Error) {
						return Endpoint{Tenant: tenant}, nil
					}
					s := host.add(Endpoint{Tenant: tenant}, protocol.V20251125, nil)
					m := jsonrpc.Request(jsonrpc.IntID(1), "echo",
						jsontext.Value(`{"pad":"`+strings.Repeat("x", size)+`"}`))
					r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp",
						strings.NewReader(string(m.Append(nil))))
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
				if full == "room" {
					budget.Add(1) // another large body is being read
				}

				if w := <-post("acme", 100); w.Code != 200 {
					t.Errorf("a small body: %d %s", w.Code, w.Body)
				}
				began, late := time.Now(), post("acme", 3*transport.Large)
				if w := <-post("other", 3*transport.Large); w.Code != 200 {
					t.Errorf("another tenant: %d %.200s", w.Code, w.Body)
				}
				w := <-late
				if body := w.Body.String(); w.Code != 503 || w.Header().Get("Retry-After") != "1" ||
					!strings.Contains(body, `"message":"`+words+`"`) ||
					!strings.Contains(body, `"data":{"reason":"overloaded","retryAfterMs":1000}`) {
					t.Errorf("got %d %v %.300s, want to be told to come back", w.Code, w.Header(), body)
				}
				if took := time.Since(began); took != roomTime {
					t.Errorf("told after %v, want %v", took, roomTime)
				}
				if (refused == 1) != (full == "account") {
					t.Errorf("%d refusals are counted", refused)
				}

				turn := post("acme", 3*transport.Large)
				time.Sleep(roomTime - time.Second) // many times the time limit of a body
				counting.Lock()
				may = true
				counting.Unlock()
				if full == "room" {
					budget.Add(-1)
				}
				if w := <-turn; w.Code != 200 {
					t.Errorf("whose turn came: %d %.200s", w.Code, w.Body)
				}
				if now, _ := budget.Used(); now != 0 || kept != 0 {
					t.Errorf("%d bytes of room and %d that count are nobody's", now, kept)
				}
			})
		})
	}
}

// A body counts for its tenant while it is read, with or without a stated length. The count is at
// least the bytes received, and at most twice that once the body is large. An announced length does
// not count.
func TestLargeBodyCountsWhatHasCome(t *testing.T) {
	const size, limit = 3 * transport.Large, 64 * transport.Large
	for name, length := range map[string]int64{"with its length": size,
		"of which much is to come": limit, "without": -1} {
		t.Run(name, func(t *testing.T) {
			host, ownBudget, kept := newTestHost(t), transport.NewByteBudget(size), 0
			h := NewHandler(Options{
				Host: host, Store: host.store, Bounds: Bounds{Message: jsonrpc.Limits{Bytes: limit}},
				BodyRoom: func(Endpoint) *transport.ByteBudget { return ownBudget },
				Reserve: func(_ Endpoint, had, n int, _ bool) (func(), string) {
					if had != kept {
						t.Errorf("%d bytes more than %d are asked for, %d count", n, had, kept)
					}
					kept += n
					return sync.OnceFunc(func() { kept -= n }), ""
				},
			})
			watched := &watcher{Reader: strings.NewReader(strings.Repeat("x", size))}
			watched.look = func(came int) {
				mine, _ := ownBudget.Used()
				if large := kept > transport.Large; large != (mine > 0) || large && mine != kept {
					t.Errorf("%d bytes are taken and %d count", mine, kept)
				}
				if kept > max(2*transport.Large, 2*came) || came > bodyBuffer && kept < came {
					t.Errorf("%d bytes count when %d have come", kept, came)
				}
			}
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", watched)
			r.ContentLength = length
			body, reservation, refusal, detail := h.readBody(httptest.NewRecorder(), r, Endpoint{
				Tenant: "acme",
			})
			if mine, _ := ownBudget.Used(); mine != 0 || refusal == accepted && kept < len(body) ||
				refusal != accepted && kept != 0 {
				t.Errorf("%d bytes are taken and %d count of %d that were read, %v", mine, kept,
					len(body), refusal)
			}
			reservation.free()
			reservation.free()
			if length != limit && (len(body) != size || refusal != accepted) {
				t.Errorf("read %d bytes of %d, %v %s", len(body), size, refusal, detail)
			}
			if now, most := ownBudget.Used(); now != 0 || most < size || kept != 0 {
				t.Errorf("%d bytes were taken, %d are, and %d count in the end", most, now, kept)
			}
		})
	}
}

// Slow bodies do not keep others of their tenant waiting before they fill its byte budget.
func TestSlowBodiesLeaveRoom(t *testing.T) {
	const limit = 64 * transport.Large
	for _, length := range []int64{limit, -1} {
		synctest.Test(t, func(t *testing.T) {
			host, ownBudget := newTestHost(t), transport.NewByteBudget(limit)
			h := NewHandler(Options{
				Host: host, Store: host.store, Bounds: Bounds{Message: jsonrpc.Limits{Bytes: limit}},
				BodyRoom: func(Endpoint) *transport.ByteBudget { return ownBudget },
			})
			read := func(body io.Reader, length int64) (int, refusal) {
				r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", body)
				r.ContentLength = length
				got, reservation, why, _ := h.readBody(httptest.NewRecorder(), r, Endpoint{Tenant: "acme"})
				reservation.free()
				return len(got), why
			}
			const slow = 10
			var ends []io.Closer
			ended := make(chan bool, slow)
			for range slow {
				rest, end := io.Pipe()
				ends = append(ends, end)
				go func() { // owner: the test waits for it
					read(io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), rest), length)
					ended <- true
				}()
			}
			synctest.Wait()
			for _, length := range []int64{100_000, -1} {
				began := time.Now()
				if n, refusal := read(strings.NewReader(strings.Repeat("x", 100_000)), length); n != 100_000 ||
					refusal != accepted {
					t.Errorf("another body of the tenant: %v, %d bytes after %v", refusal, n, time.Since(began))
				}
			}
			for _, end := range ends {
				end.Close()
				<-ended
			}
			if now, _ := ownBudget.Used(); now != 0 {
				t.Errorf("%d bytes are nobody's", now)
			}
		})
	}
}

// Large bodies in progress that do not fit together are read one after the other, and exceed the
// byte budget by at most one body.
func TestBodiesThatGrowTakeTurns(t *testing.T) {
	const size, limit = 32 * transport.Large, 40 * transport.Large
	synctest.Test(t, func(t *testing.T) {
		host, ownBudget := newTestHost(t), transport.NewByteBudget(limit)
		h := NewHandler(Options{
			Host: host, Store: host.store, Bounds: Bounds{Message: jsonrpc.Limits{Bytes: size}},
			BodyRoom: func(Endpoint) *transport.ByteBudget { return ownBudget },
		})
		ended := make(chan refusal)
		const many = 10
		for range many {
			go func() { // owner: the test waits for it
				chunks := &watcher{Reader: strings.NewReader(strings.Repeat("x", size)), look: func(int) {
					time.Sleep(time.Millisecond)
				}}
				r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", chunks)
				r.ContentLength = size
				_, reservation, refusal, _ := h.readBody(httptest.NewRecorder(), r, Endpoint{Tenant: "acme"})
				reservation.free()
				ended <- refusal
			}()
		}
		for range many {
			if refusal := <-ended; refusal != accepted {
				t.Errorf("a body is refused: %v", refusal)
			}
		}
		if now, most := ownBudget.Used(); now != 0 || most > limit+size {
			t.Errorf("%d bytes of room are nobody's, and %d were taken", now, most)
		}
	})
}

// watcher calls look at each read, with the number of bytes read before.
type watcher struct {
	io.Reader
	came int
	look func(came int)
}

func (w *watcher) Read(p []byte) (int, error) {
	w.look(w.came)
	n, err := w.Reader.Read(p)
	w.came += n
	return n, err
}

// A body may have exactly the maximum number of bytes, with or without a stated length, and not one
// more.
func TestBodyOfJustTheLimit(t *testing.T) {
	for _, limit := range []int{1, bodyBuffer, bodyBuffer + 1, transport.Large, 2 * transport.Large,
		3*transport.Large + 1} {
		for _, over := range []int{-1, 0, 1} {
			for _, told := range []bool{true, false} {
				host := newTestHost(t)
				h := NewHandler(Options{
					Host: host, Store: host.store, Bounds: Bounds{Message: jsonrpc.Limits{Bytes: limit}},
				})
				r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp",
					strings.NewReader(strings.Repeat("x", limit+over)))
				if !told {
					r.ContentLength = -1
				}
				body, reservation, refusal, _ := h.readBody(httptest.NewRecorder(), r, Endpoint{Tenant: "acme"})
				reservation.free()
				if over > 0 && refusal != bodyTooLarge ||
					over <= 0 && (refusal != accepted || len(body) != limit+over) {
					t.Errorf("%d bytes of at most %d, told %t: %d are read, %v", limit+over, limit, told,
						len(body), refusal)
				}
			}
		}
	}
}

// If a tenant has reached its memory limit, one of its large bodies at a time is read nevertheless,
// after a moment: it may answer a pending call. Another body waits until that one is read.
func TestOneBodyIsReadWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newTestHost(t)
		var mu sync.Mutex // guards the rest
		kept, taken := 0, false
		now := func() (int, bool) {
			mu.Lock()
			defer mu.Unlock()
			return kept, taken
		}
		h := NewHandler(Options{
			Host: host, Store: host.store, Bounds: Bounds{BodyTime: time.Minute},
			Reserve: func(_ Endpoint, had, _ int, again bool) (func(), string) {
				if !again {
					t.Error("a body that is read is counted as refused")
				}
				return nil, ""
			},
			ReserveOverLimit: func(_ Endpoint, n int, first bool) func() {
				mu.Lock()
				defer mu.Unlock()
				if first && taken {
					return nil
				}
				taken, kept = true, kept+n
				return func() {
					mu.Lock()
					defer mu.Unlock()
					if kept -= n; first {
						taken = false
					}
				}
			},
		})
		read := func(r io.Reader, size int) <-chan refusal {
			done := make(chan refusal, 1)
			req := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", r)
			req.ContentLength = int64(size)
			go func() { // owner: the test, which waits for it
				_, reservation, refusal, _ := h.readBody(httptest.NewRecorder(), req, Endpoint{Tenant: "acme"})
				reservation.free()
				done <- refusal
			}()
			return done
		}
		const size = 5 * transport.Large
		slow, rest := io.Pipe()
		began := time.Now()
		first := read(slow, size)
		rest.Write(make([]byte, size-1))
		if bytes, _ := now(); time.Since(began) < overLimitAfter || bytes < size/2 {
			t.Errorf("read after %v, and %d bytes count", time.Since(began), bytes)
		}
		second := read(strings.NewReader(strings.Repeat("x", size)), size)
		time.Sleep(2 * time.Second)
		if len(second) != 0 {
			t.Errorf("another was not made to wait: %v", <-second)
		}
		rest.Write(make([]byte, 1))
		rest.Close()
		if refusal := <-first; refusal != accepted {
			t.Errorf("the first: %v", refusal)
		}
		why := <-second
		if bytes, taken := now(); why != accepted || bytes != 0 || taken {
			t.Errorf("the second: %v; %d bytes count in the end", why, bytes)
		}
	})
}
