package streamable

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mcpd/protocol"
	"mcpd/transport"
)

// media returns the media type of a body, without parameters.
func media(h http.Header) string {
	name, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// readAnswer reads a body of at most max bytes. A large body waits for a reservation before more of
// it is read.
func readAnswer(ctx context.Context, resp *http.Response, max int,
	room *transport.Reservation) ([]byte, error) {
	if resp.ContentLength > int64(max) {
		return nil, protocol.TooLarge("answer of the server", max)
	}
	if n := resp.ContentLength; 0 < n && n < transport.Large {
		body := make([]byte, n, n+1)
		if _, err := io.ReadFull(resp.Body, body); err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		// Reading the end of the body frees the connection.
		_, _ = resp.Body.Read(body[n : n+1])
		return body[:n:n], nil
	}
	most := max
	if resp.ContentLength > 0 {
		most = int(resp.ContentLength)
	}
	body := make([]byte, 0, answerBuffer)
	for {
		if len(body) == cap(body) {
			if len(body) >= transport.Large {
				if err := room.Take(ctx, min(2*len(body), most)); err != nil {
					return nil, fmt.Errorf("read the answer: %w", err)
				}
			}
			body = transport.Grow(body, most+1)[:len(body)]
		}
		n, err := resp.Body.Read(body[len(body):cap(body)])
		switch body = body[:len(body)+n]; {
		case len(body) > max:
			return nil, protocol.TooLarge("answer of the server", max)
		case err == io.EOF:
			return compact(body), nil
		case err != nil:
			return nil, fmt.Errorf("read the answer: %w", err)
		}
	}
}

// discard ends a response whose body is not needed. It reads a short body to its end, so that the
// connection can be reused.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody) // an error closes the connection, as intended
	resp.Body.Close()
}
