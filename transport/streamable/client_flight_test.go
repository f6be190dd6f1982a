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
)

type flightKey struct{}

// A flight is a context like any other, whether it ends before or after somebody waits for it.
func TestFlightIsAContext(t *testing.T) {
	for _, waited := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := &flight{}
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

// A connection is cut when its flight ends, also when that was before, and not after it was let go.
func TestFlightCutsItsConnection(t *testing.T) {
	for name, c := range map[string]struct{ early, letGo, cut bool }{
		"ends meanwhile": {cut: true}, "had ended": {early: true, cut: true}, "was let go": {letGo: true},
	} {
		f, conn := &flight{}, &cutConn{}
		if c.early {
			f.cancel()
		}
		stop := cutAtEnd(f, newWire(nil, "", conn))
		if c.letGo && !stop() {
			t.Errorf("%s: it cannot be let go", name)
		}
		f.cancel()
		if !c.letGo && stop() {
			t.Errorf("%s: it is let go too late", name)
		}
		if conn.cut != c.cut {
			t.Errorf("%s: cut %t", name, conn.cut)
		}
	}
}

// cutConn is a connection that notices when it is cut.
type cutConn struct {
	net.Conn
	cut bool
}

func (c *cutConn) SetDeadline(time.Time) error {
	c.cut = true
	return nil
}

// Two requests that have one id both end when the client does.
func TestRequestsOfOneIDEndTogether(t *testing.T) {
	here := make(chan struct{}, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body) // its end is how net/http notices that the client is gone
			here <- struct{}{}
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	defer s.CloseClientConnections()
	c, err := NewClient(ClientOptions{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Send(t.Context(), jsonrpc.Request(jsonrpc.IntID(7), "tools/call", nil)); err != nil {
			t.Fatal(err)
		}
	}
	<-here
	<-here
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}
