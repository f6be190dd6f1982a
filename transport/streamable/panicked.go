package streamable

import (
	"net/http"
	"runtime"
	"slices"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// maxFrames is the maximum number of reported frames of a panic.
const maxFrames = 64

// report handles a panic of the Handler. It reports the panic to the panicked function, and sends
// an error to the client if its answer has not begun. Otherwise it panics again with a value that
// net/http does not log.
func (s *recovering) report(w *response, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler || s.panicked == nil {
		panic(v)
	}
	var pcs [maxFrames]uintptr
	crash := s.panicked(r, v, slices.Clone(pcs[:runtime.Callers(2, pcs[:])]))
	if crash == nil || w.begun || r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	w.crashed(crash)
}

// response is an http.ResponseWriter that records if the answer has begun.
type response struct {
	http.ResponseWriter
	begun  bool
	length [1]string // reused as the value of Content-Length
}

// respond returns the response to a request of the connection. HTTP/1 requests come one after the
// other and share one response. A nil connection shares none.
func (c *connection) respond(w http.ResponseWriter, major int) *response {
	if c == nil || major != 1 {
		return &response{ResponseWriter: w}
	}
	c.response.ResponseWriter = w
	return &c.response
}

// clear resets the response after a request.
func (w *response) clear() { *w = response{} }

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) WriteHeader(status int) {
	w.begun = w.begun || status >= http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// under returns the ResponseWriter of net/http, for functions that need its own type:
// http.MaxBytesReader uses it to close the connection after a body that is too large.
func under(w http.ResponseWriter) http.ResponseWriter {
	if own, ok := w.(*response); ok {
		return own.ResponseWriter
	}
	return w
}

// FlushError is for http.ResponseController. Flushing sends the header.
func (w *response) FlushError() error {
	w.begun = true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// crashed answers a request whose Handler has panicked. The rest of the request is not read, so its
// connection ends, except with HTTP/2.
func (w *response) crashed(crash error) {
	clear(w.Header())
	refusal := protocol.Translate(&protocol.Error{Condition: protocol.ConditionInternal,
		Message: "internal error", Cause: crash}, protocol.V20251125)
	w.Header()["Content-Type"] = jsonHeader
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusInternalServerError)
	// a client that is gone needs no answer
	_, _ = w.Write(jsonrpc.Message{Error: refusal}.Append(nil))
}
