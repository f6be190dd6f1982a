package streamable

import (
	"io"
	"net"
	"slices"
	"sync"
)

// sentBody is the body of a request to a server. The request lasts until its answer is complete,
// and net/http keeps a reference to the body for that time. sentBody releases the bytes as soon as
// they are sent.
type sentBody struct {
	mu    sync.Mutex // guards parts
	parts net.Buffers
}

// open implements http.Request.GetBody.
func (s *sentBody) open() (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &sentReader{from: slices.Clone(s.parts)}, nil
}

// drop releases the bytes, once the body will not be opened again: the response has begun, or the
// request has failed.
func (s *sentBody) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = nil
}

// sentReader reads the body once. Some transports close it during a read.
type sentReader struct {
	mu   sync.Mutex // guards from
	from net.Buffers
}

func (r *sentReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.from.Read(p)
}

// Close releases the bytes.
func (r *sentReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = nil
	return nil
}
