package streamable

import (
	"bytes"
	"strconv"
	"time"
)

// plainAnswer is a common response: complete, with a JSON body, and with no unusual header.
type plainAnswer struct {
	size  int    // of the whole response, in bytes
	body  []byte // a copy
	lasts time.Duration
}

var (
	plainStart = []byte(http11 + " 200 OK" + newline)
	eol        = []byte(newline)
	headEnd    = []byte(newline + newline)
	fieldEnd   = []byte(": ")
)

// plainAnswer parses the buffered input without consuming it. It reports false for any response
// that net/http has to parse, and for one that names another session.
func (w *upstreamConn) plainAnswer(session string) (a plainAnswer, ok bool) {
	there, _ := w.in.Peek(w.in.Buffered()) // the length is what is buffered, so it cannot fail
	end := bytes.Index(there, headEnd)
	if end < 0 || !bytes.HasPrefix(there, plainStart) {
		return a, false
	}
	length, isJSON, kept := -1, false, false
	a.lasts = idleKept
	for fields := there[min(len(plainStart), end):end]; len(fields) > 0; {
		var line []byte
		line, fields, _ = bytes.Cut(fields, eol)
		name, value, ok := bytes.Cut(line, fieldEnd)
		if !ok || !isPlain(name, value) {
			return a, false
		}
		switch {
		case is(name, "Content-Length"):
			n, err := strconv.Atoi(string(value))
			if length >= 0 || err != nil || n <= 0 || value[0] == '+' || len(value) > maxDigits {
				return a, false
			}
			length = n
		case is(name, "Content-Type"):
			kind, _, _ := bytes.Cut(value, []byte(";"))
			if isJSON || !is(kind, jsonType) {
				return a, false
			}
			isJSON = true
		case is(name, "Mcp-Session-Id"):
			if string(value) != session {
				return a, false
			}
		case is(name, "Keep-Alive"):
			if long, said := saysKept(string(value)); said && !kept {
				a.lasts, kept = long, true
			}
		case is(name, "Connection"):
			if !is(value, "keep-alive") {
				return a, false
			}
		case is(name, "Transfer-Encoding"), is(name, "Trailer"), is(name, "Pragma"),
			is(name, "Content-Encoding"):
			return a, false
		}
	}
	a.size = end + len(headEnd) + length
	if length < 0 || !isJSON || len(there) != a.size {
		return a, false
	}
	a.body = bytes.Clone(there[end+len(headEnd):])
	return a, true
}

// is reports whether name equals other, ignoring case.
func is(name []byte, other string) bool {
	return len(name) == len(other) && bytes.EqualFold(name, []byte(other))
}

// isPlain reports whether a field has a name, and a value without surrounding blanks.
func isPlain(name, value []byte) bool {
	for _, b := range name {
		if b >= 0x80 || b != '-' && !tokenRune(rune(b)) {
			return false
		}
	}
	for _, b := range value {
		if b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return len(name) > 0 && len(value) > 0 && !blank(value[0]) && !blank(value[len(value)-1])
}

func blank(b byte) bool { return b == ' ' || b == '\t' }

// done consumes an answer and stores the connection for the next request. whole reports that
// nothing has ended the connection in the meantime.
func (w *upstreamConn) done(a plainAnswer, whole bool) {
	_, _ = w.in.Discard(a.size) // it is buffered
	w.idleLimit = a.lasts
	if whole && w.probe != nil && !w.unusable.Load() {
		w.transport.keep(w)
		return
	}
	_ = w.conn.Close() // it cannot be reused
}
