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
	// bodyBuffer is the size of the buffer that is allocated before the first byte arrives. A length
	// that is merely announced must not cost memory.
	bodyBuffer = 16 << 10
	// roomTime is how long a large body may wait for room. While a body waits, nothing of it is read
	// and its time limit is paused.
	roomTime = 10 * time.Second
	// roomPoll is the interval at which a waiting body checks whether its tenant has room.
	roomPoll = 50 * time.Millisecond
	// overLimitAfter is how long a body waits before it may become the one body of its tenant that is
	// read without room.
	overLimitAfter = 500 * time.Millisecond
)

// readBody reads the whole body within its limits of size and time. The messages decoded from the
// body share its memory. The body counts against its tenant until room is freed. The caller frees
// room after it has handed the messages over, because the session that takes the messages then
// counts them.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, ep Endpoint) (body []byte,
	reservation *bodyReservation, why refusal, detail string) {
	bounds := h.options.Admission().bounds
	limit := int64(bounds.Message.Bytes)
	if r.ContentLength > limit {
		closeAfter(w, r) // the rest of the body is not worth reading
		return nil, nil, bodyTooLarge, tooLarge(limit)
	}
	src := r.Body
	if r.ContentLength < 0 {
		src = http.MaxBytesReader(under(w), src, limit)
	}
	most := int(limit)
	if r.ContentLength >= 0 {
		most = int(r.ContentLength)
	}
	in := timed{src: src, timing: newTiming(w, bounds.BodyTime)}
	body = make([]byte, 0, min(bodyBuffer, most+1)) // one more byte, to detect the end of the body
	defer func() {
		if why != accepted {
			reservation.free()
		}
	}()
	for {
		to := body[len(body):cap(body)]
		switch {
		case len(body) == most && len(to) == 0:
			to = make([]byte, 1) // only the end of the body is left to read
		case len(to) == 0:
			if reservation == nil { // small bodies need no room
				reservation = &bodyReservation{patience: roomTime}
			}
			if need := needed(cap(body), most, r.ContentLength >= 0); need > reservation.size {
				paused := in.pause()
				full := h.take(r.Context(), reservation, ep, need)
				in.resume(paused)
				if full != "" && r.Context().Err() != nil {
					return nil, reservation, bodyBroken, brokeOff // the request was not refused
				}
				if full != "" {
					reservation.free()
					body = nil
					in.discard(w, r)
					return nil, reservation, noRoom, full
				}
			}
			body = transport.Grow(body, most)[:len(body)]
			to = body[len(body):cap(body)]
		}
		n, err := in.Read(to)
		if in.late >= 0 {
			surviveLateBody(w, r)
		}
		body = body[:len(body)+n]
		switch err {
		case nil:
		case io.EOF:
			in.end()
			// The body was read to its end: net/http need not look for the end.
			_ = r.Body.Close()
			reservation.read()
			return compact(body), reservation, accepted, ""
		default:
			closeAfter(w, r)
			return nil, reservation, bodyFailure(err), bodyDetail(err, limit, len(body), in.passed())
		}
	}
}

// closeAfter makes a request the last one on its HTTP/1 connection. It has no effect over HTTP/2,
// where a stream ends alone and a proxy may use the connection for other clients.
func closeAfter(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}

// surviveLateBody lets a request continue whose body was late. When a deadline passes while
// net/http reads, net/http treats the client as gone and cancels the context of the connection with
// all of its future requests. This request therefore becomes the last one on the connection. If the
// client is really gone, writing the answer shows it.
func surviveLateBody(w http.ResponseWriter, r *http.Request) {
	// HTTP/2 has no such problem. A context without a Done channel was detached by an earlier call.
	if r.ProtoMajor != 1 || r.Context().Done() == nil {
		return
	}
	closeAfter(w, r)
	if c := connectionOf(r); c != nil {
		c.disconnectUnknown = true
	}
	*r = *r.WithContext(context.WithoutCancel(r.Context()))
}

// needed returns the number of bytes that a body must reserve before a full buffer of size bytes
// doubles. The reservation is thus proportional to the bytes received, whatever length is
// announced. A body that is known to be large reserves as a large one from the start, since it may
// have to wait for room.
func needed(size, most int, known bool) int {
	first := transport.Large
	if known && most > first {
		first *= 2
	}
	return min(max(first, 2*size), most)
}

// bodyReservation is the reservation of a body while it is read, beyond its first buffer. It counts
// against the memory limit of its tenant. A large body also counts against the tenant's byte budget
// for large bodies, so that a tenant cannot have many of them arriving at once.
type bodyReservation struct {
	size      int // bytes reserved
	own       transport.Reservation
	reserved  []func()      // release functions of the bytes that count for the tenant
	patience  time.Duration // how much longer the body may wait, over all of its steps
	overLimit bool          // the one body of its tenant that is read without room
}

// take reserves a total of size bytes for a body, or returns an error text. A large body waits.
func (h *Handler) take(client context.Context, reservation *bodyReservation, ep Endpoint,
	size int) (full string) {
	reserve := func(again bool) bool {
		release, reason := h.options.Reserve(ep, reservation.size, size-reservation.size, again)
		if full = reason; release == nil {
			return false
		}
		reservation.size, reservation.reserved = size, append(reservation.reserved, release)
		return true
	}
	if size <= transport.Large {
		reserve(false)
		return full
	}
	began := time.Now()
	defer func() { reservation.patience -= time.Since(began) }()
	ctx, cancel := context.WithTimeout(client, reservation.patience)
	defer cancel()
	if reservation.size <= transport.Large {
		reservation.own = transport.NewReservation(h.options.BodyRoom(ep))
	}
	if reservation.own.Take(ctx, size) != nil {
		return "tenant " + ep.Tenant + " is overloaded: other large requests of it are being read"
	}
	for full == "" {
		if reserve(ctx.Err() == nil || reservation.overLimit) ||
			h.reserveOverLimit(reservation, ep, size, time.Since(began)) {
			return ""
		}
		select {
		case <-time.After(roomPoll):
		case <-ctx.Done():
		}
		if client.Err() != nil {
			return brokeOff
		}
	}
	return full
}

// reserveOverLimit lets a body be read without room, after it has waited for a moment and if no
// other body of its tenant is read in this way. Such a body may hold the answer to a pending
// exchange, which the tenant must send to free any memory. If the body turns out to start new work,
// it is refused after it is read.
func (h *Handler) reserveOverLimit(reservation *bodyReservation, ep Endpoint, size int,
	waited time.Duration) bool {
	if !reservation.overLimit && waited < overLimitAfter {
		return false
	}
	release := h.options.ReserveOverLimit(ep, size-reservation.size, !reservation.overLimit)
	if release == nil {
		return false
	}
	reservation.overLimit, reservation.size, reservation.reserved = true, size,
		append(reservation.reserved, release)
	return true
}

// read lets the next large body of the tenant be read. This body still counts against the tenant's
// memory limit.
func (r *bodyReservation) read() {
	if r != nil {
		r.own.Free()
	}
}

// free releases all reservations. It is idempotent and accepts a nil receiver, for a body without
// room.
func (r *bodyReservation) free() {
	if r == nil {
		return
	}
	r.own.Free()
	for _, release := range r.reserved {
		release()
	}
	r.reserved = nil
}

// compact returns the body in a buffer that is not much larger than needed, since the body is kept
// while its messages are processed.
func compact(body []byte) []byte {
	if cap(body) <= transport.Large || cap(body)-len(body) <= len(body)/8 {
		return body
	}
	defer transport.Recycle(body)
	return bytes.Clone(body)
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

func bodyDetail(err error, limit int64, n int, took time.Duration) string {
	switch bodyFailure(err) {
	case bodyTooLarge:
		return tooLarge(limit)
	case bodyTooSlow:
		return fmt.Sprintf("request body came too slowly: %d bytes in %v", n,
			took.Round(time.Millisecond))
	}
	return brokeOff
}

const brokeOff = "request body broke off"

func tooLarge(limit int64) string { return fmt.Sprintf("request body exceeds %d bytes", limit) }
