package streamable

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// keepMargin is how much earlier than its server the client gives up an idle connection. If the
// server closes a connection while a request is written, the request is lost, and it is unknown if
// the server read it.
const keepMargin = time.Second

// keptFor returns how long a connection may be reused after a response: as long as the server
// states in the field Keep-Alive (RFC 2068 §19.7.1), less keepMargin, or else idleKept.
func keptFor(h http.Header) time.Duration {
	for _, field := range h["Keep-Alive"] {
		if long, said := saysKept(field); said {
			return long
		}
	}
	return idleKept
}

// saysKept returns the time that one such field states.
func saysKept(field string) (long time.Duration, said bool) {
	for part := range strings.SplitSeq(field, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		seconds, err := strconv.ParseUint(strings.Trim(value, `" `), 10, 31)
		if strings.EqualFold(strings.TrimSpace(name), "timeout") && err == nil {
			return min(maxIdleKept, max(0, time.Duration(seconds)*time.Second-keepMargin)), true
		}
	}
	return 0, false
}
