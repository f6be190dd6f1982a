package streamable

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// crash is the error that is reported for a panic.
type crash struct{}

func (crash) Error() string    { return "crash" }
func (crash) Incident() string { return "abc" }

// A handler that panics affects only its request and, with HTTP/1.1, its connection. If the answer
// has not begun, the client gets a 500 with the incident. Each panic is reported with its value and
// its location, even after the answer has begun. Other requests, including those on the same HTTP/2
// connection, are not affected, and closed connections are no longer counted.
func TestHandlerThatPanicsCostsItsRequest(t *testing.T) {
	const panics = 100
	for _, two := range []bool{false, true} {
		t.Run(fmt.Sprint("HTTP/2 ", two), func(t *testing.T) {
			cert, key, pool := certificate(t)
			var reported, others, misplaced atomic.Int64
			waits, release := make(chan struct{}), make(chan struct{})
			all := &Connections{}
			address := start(t, ServerOptions{
				Certificate: loaded(t, cert, key), Connections: all,
				Panicked: func(_ *http.Request, value any, pcs []uintptr) error {
					if reported.Add(1); value != "crash" && fmt.Sprint(value) != "an error" {
						others.Add(1)
					}
					frames, here := runtime.CallersFrames(pcs), false
					for f, more := frames.Next(); more; f, more = frames.Next() {
						here = here || strings.HasSuffix(f.File, "panic_test.go")
					}
					if !here {
						misplaced.Add(1)
					}
					return crash{}
				},
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/panic":
						w.Header().Set("Content-Length", "1")
						panic("crash")
					case "/begun":
						fmt.Fprint(w, "begun")
						_ = http.NewResponseController(w).Flush()
						panic(errors.New("an error"))
					case "/abort":
						panic(http.ErrAbortHandler)
					case "/waits":
						close(waits)
						<-release
					}
					fmt.Fprint(w, "fine")
				}),
			}, func(*http.Server) {})
			client := &http.Client{
				Transport: &http.Transport{ForceAttemptHTTP2: two, TLSClientConfig: &tls.Config{RootCAs: pool}},
			}
			get := func(path string) {
				resp, err := client.Get("https://" + address + path)
				if err != nil {
					t.Error(err)
					return
				}
				if got := content(t, resp); got != "fine" || (resp.ProtoMajor == 2) != two {
					t.Errorf("%s: %q over %s", path, got, resp.Proto)
				}
			}
			var group sync.WaitGroup
			group.Go(func() { get("/waits") })
			<-waits
			for n := range panics {
				path := "/panic"
				if n%2 == 1 {
					path = "/begun"
				}
				for _, p := range []string{path, "/abort"} {
					// A GET would be repeated by the client.
					resp, err := client.Post("https://"+address+p, jsonType, nil)
					if err == nil {
						got, err := io.ReadAll(resp.Body)
						told := resp.StatusCode == http.StatusInternalServerError &&
							strings.Contains(string(got), `"incident":"abc"`)
						if resp.Body.Close(); err == nil && !(told && p == "/panic") {
							t.Errorf("%s is answered %d %q", p, resp.StatusCode, got)
						}
						if p == "/panic" && (err != nil || !two && !resp.Close) {
							t.Errorf("%s: %v, the connection ends %t", p, err, resp.Close)
						}
					} else if p == "/panic" {
						t.Error(err)
					}
				}
				get("/")
			}
			close(release)
			group.Wait()
			if reported.Load() != panics || others.Load()+misplaced.Load() != 0 {
				t.Errorf("%d reports, want %d; %d of something else, %d without the place", reported.Load(),
					panics, others.Load(), misplaced.Load())
			}
			client.CloseIdleConnections()
			for until := time.Now().Add(10 * time.Second); all.Open() != 0; time.Sleep(time.Millisecond) {
				if time.Now().After(until) {
					t.Fatalf("%d connections are counted", all.Open())
				}
			}
		})
	}
}
