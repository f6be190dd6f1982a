package streamable

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// keepMargin is how much earlier than its server a connection is given up. A request that is written
// while the server closes the connection is lost, and nobody knows whether it was read.
const keepMargin = time.Second

// keptFor is for how long after a response its connection may be used again: as long as the server
// says that it keeps it (the field Keep-Alive of RFC 2068 §19.7.1), but for the margin, or
// idleKept.
func keptFor(h http.Header) time.Duration {
	for _, field := range h["Keep-Alive"] {
		if long, said := saysKept(field); said {
			return long
		}
	}
	return idleKept
}

// saysKept is what one such field says.
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
