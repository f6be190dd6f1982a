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
	// bodyBuffer is what is set aside before the first byte came: a length that is only announced must not cost memory.
	bodyBuffer = 16 << 10
	// roomTime is how long a large body may wait for room. Meanwhile nothing of it is read, and none of its own time passes.
	roomTime = 10 * time.Second
	// roomPoll is how often it asks whether its tenant may keep more by now.
	roomPoll = 50 * time.Millisecond
	// beyondAfter is how long it waits until it may be the one of its tenant that is read without room.
	beyondAfter = 500 * time.Millisecond
)

// readBody reads the whole body within its bounds of size and time. The messages decoded from it
// share its memory. The body counts for its tenant until room is freed. The caller frees it when it
// has handed the messages over: the session that takes them counts them from then on.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, ep Endpoint) (body []byte, room *bodyRoom, why refusal, detail string) {
	bounds := h.options.Admission().bounds
	limit := int64(bounds.Message.Bytes)
	if r.ContentLength > limit {
		last(w, r) // what is left of the body is not worth reading
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
	body = make([]byte, 0, min(bodyBuffer, most+1)) // one more, to see its end
	defer func() {
		if why != accepted {
			room.free()
		}
	}()
	for {
		to := body[len(body):cap(body)]
		switch {
		case len(body) == most && len(to) == 0:
			to = make([]byte, 1) // there is only its end to come
		case len(to) == 0:
			if room == nil { // small ones have none
				room = &bodyRoom{patience: roomTime}
			}
			if need := needed(cap(body), most, r.ContentLength >= 0); need > room.size {
				paused := in.pause()
				full := h.take(r.Context(), room, ep, need)
				in.resume(paused)
				if full != "" && r.Context().Err() != nil {
					return nil, room, bodyBroken, brokeOff // nobody was turned away
				}
				if full != "" {
					room.free()
					body = nil
					in.discard(w, r)
					return nil, room, noRoom, full
				}
			}
			body = transport.Grow(body, most)[:len(body)]
			to = body[len(body):cap(body)]
		}
		n, err := in.Read(to)
		if in.late >= 0 {
			outlive(w, r)
		}
		body = body[:len(body)+n]
		switch err {
		case nil:
		case io.EOF:
			in.end()
			_ = r.Body.Close() // it was read: net/http need not look for its end
			room.read()
			return settled(body), room, accepted, ""
		default:
			last(w, r)
			return nil, room, bodyFailure(err), bodyDetail(err, limit, len(body), in.passed())
		}
	}
}

// last has nothing come after a request on its connection. Over HTTP/2 it has no effect: there a stream ends alone, and others of the same connection,
// which a proxy may have of other clients, go on.
func last(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}

// outlive has a request go on whose body was late. When a deadline passes while net/http reads, it takes the client for gone, and ends the context of
// the connection with all requests that are yet to come on it: so this is the last of them, and whether its client is gone shows when it is answered.
func outlive(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 1 || r.Context().Done() == nil { // HTTP/2 does not, or it is done
		return
	}
	last(w, r)
	if c := connectionOf(r); c != nil {
		c.outlived = true
	}
	*r = *r.WithContext(context.WithoutCancel(r.Context()))
}

// needed is how many bytes a body has to have room for before a full buffer of size bytes grows to
// twice that: so what it counts is in proportion to what has come, whatever length it announces. One
// that is known to be large begins as such, since it may wait for room.
func needed(size, most int, known bool) int {
	first := transport.Large
	if known && most > first {
		first *= 2
	}
	return min(max(first, 2*size), most)
}

// bodyRoom is what a body takes up while it is read, beyond its first buffer: of what its tenant may
// keep, and where it is large of its tenant's room, so that nobody has many that come at once.
type bodyRoom struct {
	size     int // bytes that it has room for
	own      transport.Hold
	reserved []func()      // let go of what it counts for its tenant
	patience time.Duration // how much longer it waits, of all its steps together
	beyond   bool          // it is the one of its tenant that is read without room
}

// take gets room for size bytes of a body in all, and says why there is none. A large body waits.
func (h *Handler) take(client context.Context, room *bodyRoom, ep Endpoint, size int) (full string) {
	reserve := func(again bool) bool {
		release, why := h.options.Reserve(ep, room.size, size-room.size, again)
		if full = why; release == nil {
			return false
		}
		room.size, room.reserved = size, append(room.reserved, release)
		return true
	}
	if size <= transport.Large {
		reserve(false)
		return full
	}
	began := time.Now()
	defer func() { room.patience -= time.Since(began) }()
	ctx, cancel := context.WithTimeout(client, room.patience)
	defer cancel()
	if room.size <= transport.Large {
		room.own = transport.NewHold(h.options.Bodies(ep))
	}
	if room.own.Take(ctx, size) != nil {
		return "tenant " + ep.Tenant + " is overloaded: other large requests of it are being read"
	}
	for full == "" {
		if reserve(ctx.Err() == nil || room.beyond) || h.beyond(room, ep, size, time.Since(began)) {
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

// beyond reads on without room, where a body has waited for some for a moment, and no other of its
// tenant is read so: it may answer what is in hand, which the tenant has to do to let go of anything.
// One that begins something is refused when it is read.
func (h *Handler) beyond(room *bodyRoom, ep Endpoint, size int, waited time.Duration) bool {
	if !room.beyond && waited < beyondAfter {
		return false
	}
	release := h.options.Beyond(ep, size-room.size, !room.beyond)
	if release == nil {
		return false
	}
	room.beyond, room.size, room.reserved = true, size, append(room.reserved, release)
	return true
}

// read lets the next large body of the tenant be read. This one still counts.
func (r *bodyRoom) read() {
	if r != nil {
		r.own.Free()
	}
}

// free lets go of all of it. It is idempotent, and may be called of a body that was not read.
func (r *bodyRoom) free() {
	if r == nil {
		return
	}
	r.own.Free()
	for _, release := range r.reserved {
		release()
	}
	r.reserved = nil
}

// settled is a message that is kept while it is in hand, in no much larger a buffer than it needs.
func settled(body []byte) []byte {
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
		return fmt.Sprintf("request body came too slowly: %d bytes in %v", n, took.Round(time.Millisecond))
	}
	return brokeOff
}

const brokeOff = "request body broke off"

func tooLarge(limit int64) string { return fmt.Sprintf("request body exceeds %d bytes", limit) }
