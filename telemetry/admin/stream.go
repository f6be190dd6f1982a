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
	// treeGap is the shortest time between two snapshots of a stream: four a
	// second is as fast as a person reads.
	treeGap = 250 * time.Millisecond
	// treeIdle is when a snapshot is taken although no event said so: mailboxes
	// change without one.
	treeIdle = time.Second
	// keepAlive is how often a stream says that it is there, within the idle time
	// of common proxies.
	keepAlive = 15 * time.Second
	// writeTime is how long one write may take before the reader is given up.
	writeTime = 5 * time.Second
)

// stream is one answer as server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	clock   clock.Clock
	last    time.Time // of the last write
}

// open starts a stream unless there are too many; the caller ends it by returning.
func (h *handler) open(w http.ResponseWriter) (s *stream, done func(), ok bool) {
	if h.watchers.Add(1) > maxWatchers {
		h.watchers.Add(-1)
		w.Header().Set("Retry-After", "10")
		problem(w, http.StatusServiceUnavailable, "too many streams at once", "close those that nobody reads")
		return nil, nil, false
	}
	s = &stream{w: w, control: http.NewResponseController(w), clock: h.Clock, last: h.Clock.Now()}
	// The server's time for a request is over long before a stream is.
	if err := s.control.SetReadDeadline(time.Time{}); err != nil {
		h.watchers.Add(-1)
		problem(w, http.StatusInternalServerError, "this connection cannot stream", "ask without watch")
		return nil, nil, false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	return s, func() { h.watchers.Add(-1) }, true
}

// send writes one event. Its data holds no line breaks.
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

// wait waits until more is closed or the time is over, saying now and then that
// the stream is there. It reports whether the stream goes on.
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

// watchTree streams the tree whenever it differs from the one sent last. What
// happens faster than treeGap is one change.
func (h *handler) watchTree(w http.ResponseWriter, r *http.Request, all bool) {
	s, done, ok := h.open(w)
	if !ok {
		return
	}
	defer done()
	for sent := []byte(nil); ; {
		more := h.Recorder.Recent().Changed() // before the snapshot: a change after it wakes us
		if now := encode(Tree(h.Tree(), all)); !bytes.Equal(now, sent) {
			if s.send("tree", "", now) != nil {
				return
			}
			sent = now
		}
		if !s.wait(r.Context(), nil, treeGap) || !s.wait(r.Context(), more, treeIdle-treeGap) {
			return
		}
	}
}
