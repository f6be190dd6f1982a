package server

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Endpoint is the path of a server behind a URL.
const Endpoint = "/mcp"

// Bounds of a server behind a URL.
const (
	maxSessions = 1000
	// headerTime is how long a client may take to send the header of a request.
	headerTime = 5 * time.Second
	// idleTime is how long a connection is kept that no request is on: as long as Node.js keeps it, which many servers are made with.
	idleTime = 5 * time.Second
)

// HTTPOptions say where a server behind a URL is.
type HTTPOptions struct {
	Listener net.Listener
	State    string // as in Options
}

// ServeHTTP serves any number of clients over Streamable HTTP until ctx ends: with a session in the revisions that have a handshake, one request
// after another without in the later one. Its error is that of the listener.
func ServeHTTP(ctx context.Context, o HTTPOptions) error {
	ctx, stop := context.WithCancel(ctx)
	w := &web{memory: &memory{}, state: o.State, all: ctx, sessions: map[string]bool{}, streams: map[*stream]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Endpoint, w.post)
	mux.HandleFunc("GET "+Endpoint, w.get)
	mux.HandleFunc("DELETE "+Endpoint, w.delete)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime}
	w.under.Go(func() { // ends with ctx
		<-ctx.Done()
		_ = s.Close()
	})
	err := s.Serve(o.Listener)
	stop()
	w.under.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// web is a server behind a URL.
type web struct {
	*memory
	state string
	all   context.Context
	under sync.WaitGroup // what goes on beside requests

	mu       sync.Mutex // guards what is below
	sessions map[string]bool
	streams  map[*stream]bool
}

// exchange is one request over HTTP.
type exchange struct {
	web *web
	to  http.ResponseWriter
}

// raw sends a part of a stream as it is.
func (x *exchange) raw(text string) {
	x.to.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(x.to, text) // a client that is gone needs none
	_ = http.NewResponseController(x.to).Flush()
}

// post takes a message.
func (w *web) post(to http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(to, r.Body, maxLine))
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(to, "no message", http.StatusBadRequest)
		return
	}
	switch {
	case stands(m): // and needs no session
	case m.Method == "initialize":
		id, ok := w.open()
		if !ok {
			http.Error(to, "too many sessions", http.StatusServiceUnavailable)
			return
		}
		to.Header().Set("Mcp-Session-Id", id)
	case !w.knows(to, r):
		return
	}
	if m.ID == nil || m.Method == "" { // a notification, or an answer to what was asked
		to.WriteHeader(http.StatusAccepted)
		return
	}
	s := &server{Options: Options{Out: &events{to: to}, State: w.state}, memory: w.memory, over: &exchange{w, to}}
	s.whole = func(line []byte) {
		to.Header().Set("Content-Type", "application/json")
		_, _ = to.Write(line) // a client that is gone needs none
	}
	s.prepare(m)(r.Context())
}

// get is the stream on which the server speaks by itself.
func (w *web) get(to http.ResponseWriter, r *http.Request) {
	if !w.knows(to, r) {
		return
	}
	s := &stream{out: events{to: to}}
	s.out.begin()
	w.mu.Lock()
	w.streams[s] = true
	w.mu.Unlock()
	select {
	case <-r.Context().Done():
	case <-w.all.Done():
	}
	w.mu.Lock()
	delete(w.streams, s)
	w.mu.Unlock()
	s.end()
}

// delete ends a session.
func (w *web) delete(to http.ResponseWriter, r *http.Request) {
	if w.knows(to, r) {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.sessions, r.Header.Get("Mcp-Session-Id"))
	}
}

func (w *web) open() (id string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, ok = rand.Text(), len(w.sessions) < maxSessions
	if ok {
		w.sessions[id] = true
	}
	return id, ok
}

// knows reports whether a request is of a session, and refuses it otherwise (2025-11-25 §basic/transports, "Session Management").
func (w *web) knows(to http.ResponseWriter, r *http.Request) bool {
	id := r.Header.Get("Mcp-Session-Id")
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case id == "":
		http.Error(to, "no session", http.StatusBadRequest)
	case !w.sessions[id]:
		http.Error(to, "no such session", http.StatusNotFound)
	}
	return w.sessions[id]
}

// forget forgets all sessions.
func (w *web) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.sessions)
}

// beside does something with all standing streams to write to.
func (w *web) beside(do func(context.Context, *server)) {
	s := &server{Options: Options{Out: w, State: w.state}, memory: w.memory, over: &exchange{web: w}}
	w.under.Go(func() { do(w.all, s) }) // ends with what is switched on, or with all
}

// Write writes to all standing streams. What was said while there was none is lost.
func (w *web) Write(b []byte) (int, error) {
	w.mu.Lock()
	list := make([]*stream, 0, len(w.streams))
	for s := range w.streams {
		list = append(list, s)
	}
	w.mu.Unlock()
	for _, s := range list {
		s.write(b)
	}
	return len(b), nil
}
