package streamable

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

type flightKey struct{}

// A flight behaves like any other context, whether it ends before or after code waits for it.
func TestFlightIsAContext(t *testing.T) {
	for _, waited := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := &inFlight{}
			if f.Err() != nil || f.Value(flightKey{}) != nil {
				t.Errorf("it begins with %v and %v", f.Err(), f.Value(flightKey{}))
			}
			child := func() context.Context {
				ctx, cancel := context.WithTimeout(context.WithValue(f, flightKey{}, 1), time.Hour)
				t.Cleanup(cancel)
				return ctx
			}
			var before context.Context
			if waited {
				before = child()
			}
			f.cancel()
			f.cancel()
			synctest.Wait()
			if waited && before.Err() != context.Canceled {
				t.Errorf("its child ends with %v", before.Err())
			}
			if f.Err() != context.Canceled || child().Err() != context.Canceled {
				t.Errorf("ended: %v, and a child that comes late with %v", f.Err(), child().Err())
			}
			<-f.Done()
		})
	}
}

// A connection is cut when its flight ends, even if the flight ended before. A released connection
// is not cut.
func TestFlightCutsItsConnection(t *testing.T) {
	for name, c := range map[string]struct{ early, letGo, cut bool }{
		"ends meanwhile": {cut: true}, "had ended": {early: true, cut: true}, "was let go": {letGo: true},
	} {
		f, conn := &inFlight{}, &cutConn{}
		if c.early {
			f.cancel()
		}
		grip := guardCut(f, newWire(nil, "", conn))
		if c.letGo && !grip.release() {
			t.Errorf("%s: it cannot be let go", name)
		}
		f.cancel()
		if !c.letGo && grip.release() {
			t.Errorf("%s: it is let go too late", name)
		}
		if conn.cut != c.cut {
			t.Errorf("%s: cut %t", name, conn.cut)
		}
	}
}

// cutConn is a connection that records that it was cut.
type cutConn struct {
	net.Conn
	cut bool
}

func (c *cutConn) SetDeadline(time.Time) error {
	c.cut = true
	return nil
}

// Requests with the same id all end with the client, whichever of them was answered before.
func TestRequestsOfOneIDEndTogether(t *testing.T) {
	for _, answered := range []int{-1, 0, 1, 2} {
		here := make(chan chan struct{}, 3)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, r.Body) // reading to the end lets net/http detect a disconnect
				answer := make(chan struct{})
				here <- answer
				select {
				case <-answer:
					w.Header().Set("Content-Type", jsonType)
					_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":7,"result":{}}`)
				case <-r.Context().Done():
				}
			}
		}))
		c, err := NewClient(ClientOptions{URL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		var answers []chan struct{}
		for range 3 {
			if err := c.Send(t.Context(), jsonrpc.Request(jsonrpc.IntID(7), "tools/call", nil)); err != nil {
				t.Fatal(err)
			}
			answers = append(answers, <-here)
		}
		if answered >= 0 {
			close(answers[answered])
			if _, err := c.Recv(t.Context()); err != nil {
				t.Error(err)
			}
			waitFor(t, func() bool { return len(c.posts) == 2 })
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := c.Close(ctx); err != nil || len(c.inFlight) != 0 {
			t.Errorf("with number %d answered: %v, %d are kept", answered, err, len(c.inFlight))
		}
		cancel()
		s.CloseClientConnections()
		s.Close()
	}
}

// A connection that has ended by itself accepts no message.
func TestEndedClientSendsNothing(t *testing.T) {
	c, err := NewClient(ClientOptions{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	c.finish(io.EOF)
	if err := c.Send(t.Context(),
		jsonrpc.Request(jsonrpc.IntID(1), "tools/call", nil)); err != transport.ErrClosed {
		t.Errorf("got %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
