package streamable

import (
	"io"
	"net/http"
)

// unreadBody is how much of the body of a refused request is read, so that its connection can be
// used again. It is what net/http reads in the same place.
const unreadBody = 256 << 10

// AnswerUnread calls answer, which refuses a request without reading its body, and discards the
// body afterwards. net/http would do it the other way round: a client that sends its body slowly
// would get its refusal when the body is complete, or its time over. The read deadline is the
// caller's.
func AnswerUnread(w http.ResponseWriter, r *http.Request, answer func()) {
	early := r.ProtoMajor == 1 && r.ContentLength != 0 && r.ContentLength <= unreadBody &&
		r.Header.Get("Expect") == "" // who waits for 100 sends no body after a refusal
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
		// What is left of the body must not be read as another request. In full duplex, net/http
		// would do so after an error.
		panic(http.ErrAbortHandler)
	}
}
