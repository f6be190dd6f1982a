package streamable

import (
	"io"
	"net/http"
)

// unreadBody is the maximum number of body bytes of a refused request that are read so that its
// connection can be reused. net/http uses the same number.
const unreadBody = 256 << 10

// AnswerUnread calls answer, which refuses a request without reading its body, and then discards
// the body. net/http would do this in the opposite order: a client that sends its body slowly would
// get the refusal only when the body is complete or its time is over. The caller sets the read
// deadline.
func AnswerUnread(w http.ResponseWriter, r *http.Request, answer func()) {
	early := r.ProtoMajor == 1 && r.ContentLength != 0 && r.ContentLength <= unreadBody &&
		r.Header.Get("Expect") == "" // a client that waits for 100 sends no body after a refusal
	if !early || deadline(w).EnableFullDuplex() != nil {
		answer() // net/http closes the connection
		return
	}
	answer()
	if deadline(w).Flush() != nil {
		panic(http.ErrAbortHandler)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, unreadBody))
	if err != nil || n == unreadBody {
		// The rest of the body must not be read as another request. In full duplex, net/http would do so
		// after an error.
		panic(http.ErrAbortHandler)
	}
}
