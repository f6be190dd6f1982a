package streamable

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"mcpd/protocol"
	"mcpd/transport"
)

// Refused describes why a request is rejected before its content is examined: a reason from a
// closed list of words, a sentence, and the HTTP status.
type Refused struct {
	Reason, Detail string
	Status         int
	Wait           time.Duration // until a retry makes sense; 0 if a retry changes nothing
}

func refused(f refusal, detail string) *Refused {
	if f == accepted {
		return nil
	}
	row := refusals[f]
	why := &Refused{Reason: row.word, Detail: detail, Status: row.status}
	if row.code == protocol.CodeRateLimited {
		why.Wait = retryAfter
	}
	return why
}

// Admit makes the checks that a Handler makes of every request, for another interface on the same
// listener. It answers preflights itself, and then answered is true.
func (h *Handler) Admit(w http.ResponseWriter, r *http.Request) (why *Refused, answered bool) {
	// The deadline applies even if no handler reads the body: net/http discards the rest before it
	// answers.
	if r.ContentLength != 0 {
		deadline(w).SetReadDeadline(time.Now().Add(h.options.Admission().bounds.BodyTime))
	}
	for _, check := range edgeChecks {
		if f, detail := check(h, r); f != accepted {
			return refused(f, detail), false
		}
	}
	return nil, h.handleCORS(w, r)
}

// ReadJSON reads the body of a request of an endpoint, within a Handler's limits of size and time.
// A missing body counts as empty.
func (h *Handler) ReadJSON(w http.ResponseWriter, r *http.Request, ep Endpoint) ([]byte, *Refused) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	if f, detail := checkContent(r); f != accepted {
		return nil, refused(f, detail)
	}
	body, reservation, f, detail := h.readBody(w, r, ep)
	reservation.free()
	return body, refused(f, detail)
}

// WriteJSON writes a complete answer. If body is empty, it writes the status alone.
func (h *Handler) WriteJSON(w http.ResponseWriter, status int, body []byte) {
	if len(body) == 0 {
		h.writeEmpty(w, status)
		return
	}
	h.writeJSON(w, status, body)
}

// Room returns the byte budget for answers of an endpoint: see Options.Room.
func (h *Handler) Room(ep Endpoint) *transport.ByteBudget { return h.options.Room(ep) }

// Count reports a refusal by another interface: see Options.Refused.
func (h *Handler) Count(r *http.Request, ep Endpoint, reason string, status int) {
	h.options.Refused(r, ep.Tenant, reason, status)
}

// CountDropped reports notifications that a client of another interface missed: see
// Options.Dropped.
func (h *Handler) CountDropped(ep Endpoint, n int) {
	if n > 0 {
		h.options.Dropped(ep.Tenant, n)
	}
}

// SessionID returns the session id that a client sent, under either header name, and whether it
// sent one.
func SessionID(r *http.Request) (id string, given bool) { return sessionID(r) }

// TakesEvents reports whether the client accepts the media type of event streams by name.
func TakesEvents(r *http.Request) bool {
	for _, field := range r.Header["Accept"] {
		for part := range strings.SplitSeq(field, ",") {
			name, params, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), streamType) && !refusedByQuality(params) {
				return true
			}
		}
	}
	return false
}

// EventWriter writes server-sent events as the answer to one request. Only the goroutine of that
// request may use it.
type EventWriter struct {
	handler  *Handler
	response http.ResponseWriter
	control  *http.ResponseController
	tenant   string
}

// StartEvents begins a stream to a client of an endpoint.
func (h *Handler) StartEvents(w http.ResponseWriter, ep Endpoint) *EventWriter {
	streamHeaders(w.Header())
	w.WriteHeader(http.StatusOK)
	return &EventWriter{h, w, deadline(w), ep.Tenant}
}

// Write writes one event at once. An error means that the client has gone or does not read.
func (e *EventWriter) Write(event Event) error { return e.write(appendEvent(nil, event)) }

func (e *EventWriter) write(p []byte) error {
	err := flushAll(e.response, e.control, e.handler.options.Stall, p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		e.handler.options.Stalled(e.tenant)
	}
	return err
}

// Await returns true when wake yields a value. Unless patient is set, it also returns true after a
// keep-alive period, when the client and the proxies in between need a sign of life. It returns
// false when the client has gone.
func (h *Handler) Await(ctx context.Context, wake <-chan struct{}, patient bool) bool {
	late := make(chan struct{})
	if !patient {
		timer := h.options.Store.options.Clock.AfterFunc(h.options.KeepAlive, func() { close(late) })
		defer timer.Stop()
	}
	select {
	case <-wake:
	case <-late:
	case <-ctx.Done():
		return false
	}
	return true
}

// Wait returns true when wake yields a value. It returns false when the client has gone or, if
// endless is set, when the handler drains. While it waits it sends keep-alive comments, and calls
// touch before each.
func (e *EventWriter) Wait(ctx context.Context, wake <-chan struct{}, endless bool,
	touch func()) bool {
	var drain <-chan struct{}
	if endless {
		drain = e.handler.drain
	}
	tick := make(chan struct{}, 1)
	for {
		timer := e.handler.options.Store.options.Clock.AfterFunc(e.handler.options.KeepAlive, func() {
			tick <- struct{}{}
		})
		select {
		case <-wake:
			timer.Stop()
			return true
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-drain:
			timer.Stop()
			_ = e.Write(Event{Retry: e.handler.retryDelay()})
			return false
		case <-tick:
			touch()
			if e.write(keepAlive) != nil {
				return false
			}
		}
	}
}

// Close sets a write deadline for the end of the response, which net/http writes.
func (e *EventWriter) Close() {
	e.control.SetWriteDeadline(time.Now().Add(e.handler.options.Stall))
}
