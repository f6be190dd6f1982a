package subject

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"mcpd/protocol/jsonrpc"
)

// Listen serves on an address for as long as the process lives, and returns the URL of its
// endpoint. The default address is any port of loopback.
func Listen(name, address string, h http.Handler) (url string, err error) {
	l, err := net.Listen("tcp", cmp.Or(address, "127.0.0.1:0"))
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go func() { // owner: the process, which ends with it
		fmt.Fprintf(os.Stderr, "bench: %s: %v\n", name, server.Serve(l))
		os.Exit(1)
	}()
	return "http://" + l.Addr().String() + "/mcp", nil
}

func serveEcho(_ context.Context, argument string) (string, error) {
	e, err := newEcho(argument)
	if err != nil {
		return "", err
	}
	return Listen(Echo, "", e)
}

// serveBare serves the reference for a host: it has the cost of the connections alone, and of a
// call without work.
func serveBare(_ context.Context, address string) (string, error) {
	e, err := newEcho("legacy")
	if err != nil {
		return "", err
	}
	e.streams = true
	return Listen(Bare, address, e)
}

// echoSession is the session id of every client. The ids of an earlier process are unknown.
var echoSession = strconv.Itoa(os.Getpid())

// ServeHTTP answers a POST. It holds a GET open if sessions may have a stream.
func (e echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id := r.Header.Get("Mcp-Session-Id"); id != "" && id != echoSession {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if e.streams && r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the client may be gone
		<-r.Context().Done()
		return
	}
	m, ok := ReadRequest(w, r)
	if !ok {
		return
	}
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", echoSession)
	}
	answer := e.answer(m)
	if e.sse && m.Method == "tools/call" {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(append(answer.Append([]byte("data: ")), "\n\n"...)) // the client may be gone
		return
	}
	WriteMessage(w, answer)
}

// ReadRequest reads a request. It answers any other message itself and returns false.
func ReadRequest(w http.ResponseWriter, r *http.Request) (m jsonrpc.Message, ok bool) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return m, false
	}
	m, err := readMessage(r)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case m.Kind() != jsonrpc.KindRequest:
		w.WriteHeader(http.StatusAccepted)
	default:
		return m, true
	}
	return m, false
}

func readMessage(r *http.Request) (jsonrpc.Message, error) {
	body := make([]byte, max(0, min(r.ContentLength, MaxMessage)))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return jsonrpc.Message{}, err
	}
	return jsonrpc.Decode(body, jsonrpc.Limits{Bytes: MaxMessage})
}

// WriteMessage writes a message as a JSON response.
func WriteMessage(w http.ResponseWriter, m jsonrpc.Message) {
	body := m.Append(make([]byte, 0, m.Size()))
	w.Header()["Content-Type"] = []string{"application/json"}
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body) // the client may be gone
}
