package streamable

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// S14: an HTTP/2 client has no more open requests on one connection than allowed. It needs another
// connection for more.
func TestHTTP2StreamsAreBounded(t *testing.T) {
	cert, key, pool := certificate(t)
	var mu sync.Mutex
	open := map[string]int{}
	begun, all := make(chan struct{}, 10), make(chan struct{})
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			return
		}
		mu.Lock()
		if open[r.RemoteAddr]++; open[r.RemoteAddr] > 3 {
			t.Errorf("%d requests are open on one connection, want 3", open[r.RemoteAddr])
		}
		mu.Unlock()
		begun <- struct{}{}
		<-all
	})
	address := start(t, ServerOptions{Handler: h, Certificate: loaded(t, cert, key), HTTP2Streams: 3},
		func(*http.Server) {})
	client := &http.Client{
		Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	defer client.CloseIdleConnections()
	get := func(path string) {
		resp, err := client.Get("https://" + address + path)
		if err != nil {
			t.Error(err)
			return
		}
		content(t, resp)
	}
	get("/first")
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() { get("/") })
	}
	for range 10 {
		<-begun
	}
	close(all)
	group.Wait()
	if len(open) < 4 {
		t.Errorf("10 requests on %d connections, want 4 at least", len(open))
	}
}

// Bodies that are not read do not block others on the same HTTP/2 connection, which may belong to
// other clients of a proxy.
func TestBodiesThatWaitLeaveHTTP2ToOthers(t *testing.T) {
	const streams = 60
	cert, key, pool := certificate(t)
	begun, release := make(chan struct{}), make(chan struct{})
	var remotes sync.Map
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		remotes.Store(r.RemoteAddr, true)
		if r.URL.Path == "/waits" {
			begun <- struct{}{}
			<-release
		}
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	})
	address := start(t, ServerOptions{Handler: h, Certificate: loaded(t, cert, key),
		HTTP2Streams: streams}, func(*http.Server) {})
	client := &http.Client{
		Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	defer client.CloseIdleConnections()
	post := func(path string, size int) {
		resp, err := client.Post("https://"+address+path, jsonType,
			strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Error(err)
			return
		}
		if got, want := content(t, resp), fmt.Sprint(size, nil); got != want {
			t.Errorf("%s has read %q, want %q", path, got, want)
		}
	}
	post("/passes", RequestWindow) // as much as may be sent before the settings are known
	var group sync.WaitGroup
	for range streams - 1 {
		group.Go(func() { post("/waits", 1<<20) })
		<-begun
	}
	post("/passes", 1<<20)
	close(release)
	group.Wait()
	seen := 0
	remotes.Range(func(any, any) bool { seen++; return true })
	if seen != 1 {
		t.Errorf("requests came over %d connections, want one", seen)
	}
}

// A refused body ends its own stream, and not the connection, which a proxy may use for other
// clients.
func TestRefusedBodyLeavesHTTP2ToOthers(t *testing.T) {
	cert, key, pool := certificate(t)
	host := newTestHost(t)
	h := NewHandler(Options{
		Host: host, Store: host.store, Bounds: Bounds{BodyTime: 100 * time.Millisecond},
	})
	var remotes sync.Map
	address := start(t, ServerOptions{Certificate: loaded(t, cert, key),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			remotes.Store(r.RemoteAddr, true)
			h.ServeHTTP(w, r)
		})}, func(*http.Server) {})
	client := &http.Client{
		Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	defer client.CloseIdleConnections()
	large := jsonrpc.Request(jsonrpc.IntID(1), "echo",
		jsontext.Value(`"`+strings.Repeat("x", protocol.MaxRequestBody)+`"`)).Append(nil)
	for range 3 {
		slow, end := io.Pipe()
		for _, c := range []struct {
			body io.Reader
			want int
		}{{slow, http.StatusRequestTimeout}, {bytes.NewReader(large), http.StatusRequestEntityTooLarge}} {
			r, err := http.NewRequest(http.MethodPost, "https://"+address+"/mcp", c.body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", jsonType)
			r.Header.Set("Accept", jsonType+", "+streamType)
			resp, err := client.Do(r)
			if err != nil {
				t.Error(err)
			} else if content(t, resp); resp.StatusCode != c.want {
				t.Errorf("got %s, want %d", resp.Status, c.want)
			}
		}
		end.Close()
	}
	seen := 0
	remotes.Range(func(any, any) bool { seen++; return true })
	if seen != 1 {
		t.Errorf("requests came over %d connections, want one", seen)
	}
}
