package streamable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// A body that waited for room is not late afterwards, on a connection with deadlines.
func TestBodyThatWaitedIsNotTooSlow(t *testing.T) {
	const bodyTime = 200 * time.Millisecond
	budget := transport.NewByteBudget(10)
	budget.Add(1)
	s := serve(t, newTestHost(t),
		Options{Bounds: Bounds{BodyTime: bodyTime}, BodyRoom: func(Endpoint) *transport.ByteBudget {
			return budget
		}})
	id := s.session(protocol.V20251125)
	freed := time.AfterFunc(3*bodyTime, func() { budget.Add(-1) })
	defer freed.Stop()
	m := jsonrpc.Request(jsonrpc.IntID(1), "echo",
		jsontext.Value(`{"pad":"`+strings.Repeat("x", 3<<20)+`"}`))
	if resp := s.post(string(m.Append(nil)), "Mcp-Session-Id", id); resp.StatusCode != 200 {
		t.Errorf("got %d %.300s", resp.StatusCode, content(t, resp))
	} else {
		content(t, resp)
	}
}

// A client that has sent its body in time is not late if the host reads it slowly.
func TestBodyThatTheHostReadsLateIsNotTooSlow(t *testing.T) {
	const bodyTime = 200 * time.Millisecond
	host := newTestHost(t)
	host.scripts["slow"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		time.Sleep(bodyTime)
		out.Finish(jsonrpc.Response(m.ID, m.Params))
	}
	s := serve(t, host, Options{Bounds: Bounds{BodyTime: bodyTime}})
	id := s.session(protocol.V20251125)
	begun, sent := make(chan struct{}), make(chan struct{})
	handler := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = &lateReader{ReadCloser: r.Body, begun: begun, late: func() {
			<-sent
			time.Sleep(2 * bodyTime)
		}}
		handler.ServeHTTP(w, r)
	})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	m := jsonrpc.Request(jsonrpc.IntID(1), "slow",
		jsontext.Value(`{"pad":"`+strings.Repeat("x", 100_000)+`"}`)).Append(nil)
	head := strings.ReplaceAll(strings.Replace(postHead, "Connection: close\n", "", 1), "\n", "\r\n")
	fmt.Fprintf(conn, head+"Host: localhost\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%c", id,
		len(m), m[0])
	<-begun
	conn.Write(m[1:])
	close(sent)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body := content(t, resp); resp.StatusCode != 200 || !strings.HasSuffix(body, `xxx"}}`) ||
		!resp.Close {
		t.Errorf(
			"got %d, %d bytes %.300s, closed %t; want the answer, and no other request on the connection",
			resp.StatusCode, len(body), body, resp.Close,
		)
	}
}

// A body that found no room and then stalls ends its connection.
func TestBodyThatIsRefusedHasToComeInTime(t *testing.T) {
	const bodyTime = 200 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		host, budget := newTestHost(t), transport.NewByteBudget(10)
		budget.Add(1)
		h := NewHandler(Options{Host: host, Store: host.store, Bounds: Bounds{BodyTime: bodyTime},
			BodyRoom: func(Endpoint) *transport.ByteBudget {
				return budget
			}})
		src, w := &stuck{}, httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", src)
		r.ContentLength = 3 * transport.Large
		_, read, refusal, _ := h.readBody(&stuckWriter{w, src}, r, Endpoint{Tenant: "acme"})
		read.free()
		if refusal != noRoom || w.Header().Get("Connection") != "close" {
			t.Errorf("refused as %v with %v, want the connection closed", refusal, w.Header())
		}
		if until := src.until; until.IsZero() || until.After(time.Now()) {
			t.Errorf("its deadline is %v, want it kept", until)
		}
	})
}

// stuck is a body that arrives up to the point where it needs room, and then stalls.
type stuck struct {
	n     int
	until time.Time
}

func (s *stuck) Read(p []byte) (int, error) {
	if s.n < transport.Large {
		n := min(len(p), transport.Large-s.n)
		s.n += n
		return n, nil
	}
	time.Sleep(time.Until(s.until))
	return 0, os.ErrDeadlineExceeded
}

// stuckWriter sets the deadline of a stuck body.
type stuckWriter struct {
	*httptest.ResponseRecorder
	body *stuck
}

func (w *stuckWriter) SetReadDeadline(until time.Time) error {
	w.body.until = until
	return nil
}

// lateReader closes begun and calls late at its second read.
type lateReader struct {
	io.ReadCloser
	begun chan struct{}
	late  func()
	reads int
}

func (r *lateReader) Read(p []byte) (int, error) {
	if r.reads++; r.reads == 2 {
		close(r.begun)
		r.late()
	}
	return r.ReadCloser.Read(p)
}

// Reading a late body continues where it stopped, and ends when no more bytes arrive.
func TestTimedBodyGoesOnWhenItIsLate(t *testing.T) {
	late, broken := os.ErrDeadlineExceeded, errors.New("broken")
	for _, c := range []struct {
		reads []read
		bytes int
		err   error
	}{
		{[]read{{10, nil}, {fastEnough, late}, {fastEnough, late}, {5, nil}, {3, io.EOF}},
			2*fastEnough + 18, nil},
		{[]read{{10, nil}, {0, late}, {10, late}, {100, nil}}, 20, late},
		{[]read{{10, nil}, {0, late}, {0, broken}}, 10, broken},
	} {
		in := timed{src: &reads{c.reads}, timing: newTiming(httptest.NewRecorder(), time.Second)}
		if n, err := io.Copy(io.Discard, &in); int(n) != c.bytes || in.n != c.bytes || err != c.err {
			t.Errorf("%v: %d bytes, counted as %d, and %v; want %d and %v", c.reads, n, in.n, err,
				c.bytes, c.err)
		}
	}
}

// After the rest of a refused body, the connection can be used for the next request, unless the
// body was late: then net/http gives up the connection.
func TestLateRestOfABodyIsTheLast(t *testing.T) {
	for _, c := range []struct {
		reads []read
		want  string
	}{{[]read{{10, nil}, {5, io.EOF}}, ""},
		{[]read{{10, nil}, {fastEnough, os.ErrDeadlineExceeded}, {5, io.EOF}}, "close"}} {
		w := httptest.NewRecorder()
		in := timed{src: &reads{c.reads}, timing: newTiming(w, time.Second)}
		in.discard(w, &http.Request{ProtoMajor: 1})
		if got := w.Header().Get("Connection"); got != c.want {
			t.Errorf("%v: Connection is %q, want %q", c.reads, got, c.want)
		}
	}
}

// reads is a body with the given results of Read.
type reads struct{ next []read }

type read struct {
	n   int
	err error
}

func (r *reads) Read(p []byte) (int, error) {
	now := &r.next[0]
	if now.n > len(p) {
		now.n -= len(p)
		return len(p), nil
	}
	r.next = r.next[1:]
	return now.n, now.err
}

// The time limit is extended as long as bytes arrive fast enough, but not beyond the maximum for
// any body.
func TestOvertimeOfABody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timing := newTiming(httptest.NewRecorder(), time.Second)
		time.Sleep(time.Second)
		for i, c := range []struct {
			bytes int
			want  bool
		}{{100, true}, {100 + fastEnough, true}, {100 + 2*fastEnough - 1, false}} {
			if got := timing.more(c.bytes); got != c.want {
				t.Errorf("%d: %d bytes: %t", i, c.bytes, got)
			}
			time.Sleep(overtime)
		}
		bytes, timing := 0, newTiming(httptest.NewRecorder(), time.Second)
		began := time.Now()
		for timing.more(bytes) {
			bytes += fastEnough
			time.Sleep(overtime)
		}
		if took := time.Since(began); took < maxBodyTime || took > maxBodyTime+2*overtime {
			t.Errorf("went on for %v, want %v", took, maxBodyTime)
		}
	})
}

// A client that leaves while its body waits does not count as refused, and no reservation remains
// for it.
func TestWhoLeavesWhileHisBodyWaitsIsNotRefused(t *testing.T) {
	for _, waits := range []string{"room", "account"} {
		t.Run(waits, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, budget, full := newTestHost(t), transport.NewByteBudget(10), 0
				if waits == "room" {
					full = 1
				}
				budget.Add(full)
				h := NewHandler(Options{
					Host: host, Store: host.store, BodyRoom: func(Endpoint) *transport.ByteBudget {
						return budget
					},
					Reserve: func(Endpoint, int, int, bool) (func(), string) { return nil, "" }, // not yet
				})
				ctx, leave := context.WithTimeout(t.Context(), roomTime/2)
				defer leave()
				body := strings.NewReader(strings.Repeat("x", 3*transport.Large))
				r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", body).WithContext(ctx)
				began := time.Now()
				_, read, refusal, detail := h.readBody(httptest.NewRecorder(), r, Endpoint{Tenant: "acme"})
				read.free()
				if refusal != bodyBroken {
					t.Errorf("refused as %v: %s", refusal, detail)
				}
				if took := time.Since(began); took != roomTime/2 {
					t.Errorf("took %v", took)
				}
				budget.Add(-full)
				if now, most := budget.Used(); now != 0 || (most > full) != (waits == "account") {
					t.Errorf("%d bytes of room stay taken, %d were", now, most)
				}
			})
		})
	}
}
