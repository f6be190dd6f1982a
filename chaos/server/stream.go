package server

import (
	"bytes"
	"net/http"
	"sync"
)

// stream is a standing stream of a client.
type stream struct {
	mu   sync.Mutex // guards the fields below
	out  events
	over bool
}

func (s *stream) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		_, _ = s.out.Write(b) // the client may be gone
	}
}

// end prevents further writes to the stream.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// events writes lines as SSE events.
type events struct {
	to     http.ResponseWriter
	begun  bool // the response has begun
	inside bool // the last write ended within a line
}

// begin sends the header.
func (e *events) begin() {
	if e.begun {
		return
	}
	e.begun = true
	e.to.Header().Set("Content-Type", "text/event-stream")
	e.to.WriteHeader(http.StatusOK)
	e.flush()
}

func (e *events) flush() {
	_ = http.NewResponseController(e.to).Flush() // the client may be gone
}

// Write writes a part of a line, one line, or several lines.
func (e *events) Write(b []byte) (int, error) {
	e.begin()
	var out bytes.Buffer
	for line := range bytes.Lines(b) {
		if !e.inside {
			out.WriteString("data: ")
		}
		out.Write(line)
		if e.inside = line[len(line)-1] != '\n'; !e.inside {
			out.WriteByte('\n')
		}
	}
	if _, err := e.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	e.flush()
	return len(b), nil
}
