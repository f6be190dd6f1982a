package telemetry

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxValue bounds one value in a log line or an event, in bytes before escaping:
// long enough for the last twenty lines of a dying process, short enough that a
// line stays one record in journald, which splits at 48 KiB.
const MaxValue = 4096

// Clean makes text that somebody else wrote safe to show: control characters,
// terminal escapes, line breaks, and characters that reorder or hide text become
// visible escapes (\x1b, \n, \u202e), invalid UTF-8 becomes \xNN, and what is
// longer than limit bytes is cut. Text without any of these is returned as it is.
func Clean(s string, limit int) string {
	cut := 0
	if len(s) > limit {
		end := limit
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		cut, s = len(s)-end, s[:end]
	}
	if strings.IndexFunc(s, unsafeRune) >= 0 {
		s = escape(s)
	}
	if cut > 0 {
		s += fmt.Sprintf("… (%d bytes more)", cut)
	}
	return s
}

// unsafeRune tells a rune that a terminal would obey or not show. The decoder's
// error value is one, since it may stand for bytes that are not UTF-8.
func unsafeRune(r rune) bool {
	return r != ' ' && !unicode.IsPrint(r) || r == utf8.RuneError
}

func escape(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unsafeRune(r) && r != utf8.RuneError:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}
