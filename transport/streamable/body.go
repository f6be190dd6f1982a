package streamable

import (
	"bytes"
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
)

// deadline is what sets the deadlines of a response. Their errors are not looked at: a connection without deadlines is one of a test.
func deadline(w http.ResponseWriter) *http.ResponseController { return http.NewResponseController(w) }

// readBody reads the whole body within its bounds of size and time. The messages decoded from it share its memory.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, refusal, string) {
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
	for {
		if len(body) == cap(body) {
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
