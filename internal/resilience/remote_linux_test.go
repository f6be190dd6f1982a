package resilience

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mcpd/protocol/jsonrpc"
)

// remoteVariable makes the test's own server a server with a URL. Its value is the address to
// listen on.
const remoteVariable = "RESILIENCE_REMOTE"

// remoteHandler serves over Streamable HTTP. It answers each POST with JSON and offers no GET
// stream.
type remoteHandler struct {
	mu          sync.Mutex // guards the fields below
	lastSession int
	sessions    map[string]bool
	server      *server
}

// serveRemote serves at an address and prints it. On SIGUSR1 it forgets its sessions, and notes
// that in the file for subscriptions.
func serveRemote(addr, effects string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	f := &remoteHandler{
		sessions: map[string]bool{},
		server:   &server{effects: appendTo(effects), subscribed: appendTo(effects + subscribedTo)},
	}
	fmt.Fprintln(f.server.subscribed, "none")
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1)
	go func() { // ends with the process
		for range told {
			f.mu.Lock()
			clear(f.sessions)
			fmt.Fprintln(f.server.subscribed, "none forgotten")
			f.mu.Unlock()
		}
	}()
	fmt.Println(l.Addr())
	return http.Serve(l, f)
}

func (f *remoteHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	m, e := jsonrpc.Decode(body, jsonrpc.Limits{Bytes: 1 << 20})
	if r.Method == http.MethodPost && (err != nil || e != nil) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	id := r.Header.Get("Mcp-Session-Id")
	switch {
	case m.Method == "initialize":
		f.lastSession++
		id = fmt.Sprintf("%d-%d", os.Getpid(), f.lastSession)
		f.sessions[id] = true
		fmt.Fprintln(f.server.subscribed, "initialized")
	case !f.sessions[id]:
		f.mu.Unlock()
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var answers []jsonrpc.Message
	if m.Kind() == jsonrpc.KindRequest {
		answers = f.server.answers(m)
	}
	f.mu.Unlock()
	w.Header().Set("Mcp-Session-Id", id)
	if m.Kind() != jsonrpc.KindRequest {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if len(answers) == 0 { // the call is held, and its client waits
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answers[len(answers)-1].Append(nil)) // an error means that the client has gone
}

// openedSessions returns how many sessions the server has opened in all its processes.
func openedSessions(t *testing.T, effects string) int {
	return countLines(t, effects, "initialized")
}

// forgottenCount returns how often the server has forgotten its sessions.
func forgottenCount(t *testing.T, effects string) int {
	return countLines(t, effects, "none forgotten")
}

func countLines(t *testing.T, effects, label string) (n int) {
	t.Helper()
	text, err := os.ReadFile(effects + subscribedTo)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		if lines.Text() == label {
			n++
		}
	}
	return n
}
