package streamable_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// A URL that refuses a handshake, or answers it with an HTML page, is an obstacle at the start, but
// not during later requests. This also holds for a page in answer to the GET, where the URL does
// not accept POST.
func TestObstacleAtStart(t *testing.T) {
	page := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<html>")
	}
	status := func(code int, header ...string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
		}
	}
	for _, tt := range []struct {
		name      string
		post, get func(w http.ResponseWriter)
		cause, do string
	}{
		{"401", status(401), nil, streamable.CauseRefused, "look at its `headers`"},
		{"403", status(403), nil, streamable.CauseRefused, "look at its `headers`"},
		{"403 until then", status(403, "Retry-After", "7"), nil, "", ""},
		{"page", page, nil, streamable.CausePage, "correct the url"},
		{"page for GET", status(405), page, streamable.CausePage, "correct the url"},
		{"401 for GET", status(405), status(401), streamable.CauseRefused, "look at its `headers`"},
		{"no stream", status(405), status(405), "", ""},
		{"500", status(500), nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				p.posts["initialize"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
					tt.post(w)
				}
				if tt.get != nil {
					p.get = func(w http.ResponseWriter, _ *http.Request) { tt.get(w) }
				}
				c := inMemory(t, p)
				send(t, c, call(0, "initialize"))
				err := recv(t, c).Err
				if o, _ := streamable.ObstacleAtStart(err); o.Cause != tt.cause ||
					!strings.Contains(o.Do, tt.do) {
					t.Errorf("%v is the obstacle %+v", err, o)
				}
				if o, is := streamable.ObstacleOf(err); is {
					t.Errorf("%v is the obstacle %+v of any request", err, o)
				}
			})
		})
	}
}
