package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"mcpd/transport"
)

const (
	// fastEnough is the rate, counted after half of Bounds.BodyTime, at which a body may take longer than that: a slow mobile uplink.
	// What trickles below it holds a connection for no reason.
	fastEnough  = 10 << 10          // bytes a second
	maxBodyTime = 120 * time.Second // no message is worth a longer wait
	// bodyBuffer is what is set aside before the first byte came: a length that is only announced must not cost memory.
	bodyBuffer = 16 << 10
	// roomTime is how long a large body may wait for room. Meanwhile nothing of it is read, and none of its own time passes.
	roomTime = 10 * time.Second
)

// deadline is what sets the deadlines of a response. Their errors are not looked at: a connection without deadlines is one of a test.
func deadline(w http.ResponseWriter) *http.ResponseController { return http.NewResponseController(w) }

// readBody reads the whole body within its bounds of size and time. The messages decoded from it share its memory.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, ep Endpoint) ([]byte, refusal, string) {
	bounds := h.options.Admission().bounds
	limit := int64(bounds.Message.Bytes)
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close") // what is left of the body is not worth reading
		return nil, bodyTooLarge, tooLarge(limit)
	}
	src := r.Body
	if r.ContentLength < 0 {
		src = http.MaxBytesReader(w, src, limit)
	}
	most := limit + 1 // a byte more than may come, for the read that finds the end
	if r.ContentLength >= 0 {
		most = r.ContentLength + 1
	}
	control, start, extended := deadline(w), time.Now(), bounds.BodyTime
	body := make([]byte, 0, min(bodyBuffer, most))
	var room bodyRoom
	defer room.free()
	for {
		if len(body) == cap(body) {
			if cap(body) >= transport.Large && !room.taken {
				waits := time.Now()
				control.SetReadDeadline(time.Time{}) // this wait is not the client's
				if full := h.take(r.Context(), &room, ep, int(most)); full != "" {
					w.Header().Set("Connection", "close")
					return nil, noRoom, full + " is overloaded"
				}
				start = start.Add(time.Since(waits))
				control.SetReadDeadline(start.Add(extended))
			}
			body = transport.Grow(body, int(most))[:len(body)]
		}
		n, err := src.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == nil:
			if may := bodyTime(bounds.BodyTime, len(body)); may > extended {
				extended = may
				control.SetReadDeadline(start.Add(may))
			}
		case err == io.EOF:
			control.SetReadDeadline(time.Time{}) // else it would end the wait for the answer
			return settled(body), accepted, ""
		default:
			w.Header().Set("Connection", "close")
			return nil, bodyFailure(err), bodyDetail(err, limit)
		}
	}
}

// bodyRoom is what a large body takes up while it is read, of its tenant's and, where that is scarce, of everybody's.
type bodyRoom struct {
	taken       bool
	own, scarce transport.Hold
}

// take waits for room for a body of at most size bytes, and says who has none.
func (h *Handler) take(ctx context.Context, room *bodyRoom, ep Endpoint, size int) (full string) {
	ctx, cancel := context.WithTimeout(ctx, roomTime)
	defer cancel()
	room.taken, room.own = true, transport.NewHold(h.options.Bodies(ep))
	if room.own.Take(ctx, size) != nil {
		return "tenant " + ep.Tenant
	}
	room.scarce = transport.NewHold(h.options.Scarce())
	if room.scarce.Take(ctx, size) != nil {
		return "host"
	}
	return ""
}

func (r *bodyRoom) free() {
	r.own.Free()
	r.scarce.Free()
}

// settled is a message that is kept while it is in hand, in no larger a buffer than it needs.
func settled(body []byte) []byte {
	if cap(body) <= transport.Large {
		return body
	}
	defer transport.Recycle(body)
	return bytes.Clone(body)
}

// bodyTime is how long a body may have taken when n bytes of it are there.
func bodyTime(least time.Duration, n int) time.Duration {
	return max(least, min(maxBodyTime, least/2+time.Duration(n)*time.Second/fastEnough))
}

func bodyFailure(err error) refusal {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return bodyTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return bodyTooSlow
	}
	return bodyBroken
}

func bodyDetail(err error, limit int64) string {
	switch bodyFailure(err) {
	case bodyTooLarge:
		return tooLarge(limit)
	case bodyTooSlow:
		return "request body came too slowly"
	}
	return "request body broke off"
}

func tooLarge(limit int64) string { return fmt.Sprintf("request body exceeds %d bytes", limit) }
