package admin

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"mcpd/internal/clock"
)

const (
	// minTreeInterval is the least time between two snapshots of a stream. Four a second is as fast as
	// a person reads.
	minTreeInterval = 250 * time.Millisecond
	// maxTreeInterval is when a snapshot is taken without an event, because mailboxes change without
	// one.
	maxTreeInterval = time.Second
	// keepAlive is how often a silent stream sends a comment. It is within the idle time of common
	// proxies.
	keepAlive = 15 * time.Second
	// writeTime is how long one write may take before the stream ends.
	writeTime = 5 * time.Second
)

// stream is one answer as server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	clock   clock.Clock
	last    time.Time // time of the last write
}

// open starts a stream, or refuses it if there are too many. The caller must call done when it
// returns.
func (h *handler) open(w http.ResponseWriter) (s *stream, done func(), ok bool) {
	if h.watchers.Add(1) > maxWatchers {
		h.watchers.Add(-1)
		w.Header().Set("Retry-After", "10")
		problem(w, http.StatusServiceUnavailable, "too many streams at once",
			"close those that nobody reads")
		return nil, nil, false
	}
	s = &stream{w: w, control: http.NewResponseController(w), clock: h.Clock, last: h.Clock.Now()}
	// A stream lasts longer than the server's time limit for a request.
	if err := s.control.SetReadDeadline(time.Time{}); err != nil {
		h.watchers.Add(-1)
		problem(w, http.StatusInternalServerError, "this connection cannot stream", "ask without watch")
		return nil, nil, false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	return s, func() { h.watchers.Add(-1) }, true
}

// send writes one event. Its data must not contain line breaks.
func (s *stream) send(name, id string, data []byte) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\n", name)
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "data: %s\n\n", data)
	return s.write(b.Bytes())
}

func (s *stream) write(p []byte) error {
	s.last = s.clock.Now()
	if err := s.control.SetWriteDeadline(s.last.Add(writeTime)); err != nil {
		return err
	}
	if _, err := s.w.Write(p); err != nil {
		return err
	}
	return s.control.Flush()
}

// wait waits until more is closed or the time most is over. It sends comments in the meantime to
// keep the connection alive. It reports whether the stream goes on.
func (s *stream) wait(ctx context.Context, more <-chan struct{}, most time.Duration) bool {
	for most > 0 {
		step := min(most, keepAlive)
		timer := time.NewTimer(step)
		select {
		case <-more:
			timer.Stop()
			return true
		case <-timer.C:
			most -= step
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		if s.clock.Now().Sub(s.last) >= keepAlive && s.write([]byte(":\n\n")) != nil {
			return false
		}
	}
	return true
}

// watchTree sends the tree whenever it differs from the last one that was sent. Changes within
// minTreeInterval are sent as one.
func (h *handler) watchTree(w http.ResponseWriter, r *http.Request, all bool) {
	s, done, ok := h.open(w)
	if !ok {
		return
	}
	defer done()
	for sent := []byte(nil); ; {
		// The channel is taken before the snapshot, so that a change after the snapshot ends the wait.
		more := h.Recorder.Recent().Changed()
		if now := encode(Tree(h.Tree(), all)); !bytes.Equal(now, sent) {
			if s.send("tree", "", now) != nil {
				return
			}
			sent = now
		}
		if !s.wait(r.Context(), nil, minTreeInterval) ||
			!s.wait(r.Context(), more, maxTreeInterval-minTreeInterval) {
			return
		}
	}
}
