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

// remoteVariable makes the server one with a URL. Its value is where it listens.
const remoteVariable = "RESILIENCE_REMOTE"

// far serves over Streamable HTTP, with an answer in JSON for each POST and no stream beside.
type far struct {
	mu       sync.Mutex // guards what follows
	next     int
	sessions map[string]bool
	server   *server
}

// serveRemote says where it listens. With SIGUSR1 it forgets its sessions, and says so in a file of its own.
func serveRemote(addr, effects string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	f := &far{sessions: map[string]bool{}, server: &server{effects: appendTo(effects), subscribed: appendTo(effects + subscribedTo)}}
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

func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		f.next++
		id = fmt.Sprintf("%d-%d", os.Getpid(), f.next)
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
	if len(answers) == 0 { // it is held, and so is whoever asked
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answers[len(answers)-1].Append(nil)) // who is gone is not answered
}

// initialized is how many sessions the server has opened in all its lives.
func initialized(t *testing.T, effects string) int { return remarks(t, effects, "initialized") }

// forgets is how often it has forgotten them.
func forgets(t *testing.T, effects string) int { return remarks(t, effects, "none forgotten") }

func remarks(t *testing.T, effects, what string) (n int) {
	t.Helper()
	text, err := os.ReadFile(effects + subscribedTo)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		if lines.Text() == what {
			n++
		}
	}
	return n
}
