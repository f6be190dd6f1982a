package telemetry

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxValue bounds one value in a log line or an event, in bytes before escaping. It has room for
// the last twenty lines of a dying process. A line stays one record in journald, which splits at
// 48 KiB.
const MaxValue = 4096

// Clean makes untrusted text safe to show. Control characters, terminal escapes, line breaks, and
// characters that reorder or hide text become visible escapes (\x1b, \n, \u202e). Invalid UTF-8
// becomes \xNN. Text longer than limit bytes is cut. Text without any of these is returned
// unchanged.
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

// unsafeRune reports whether a terminal would interpret a rune or not show it. The decoder's
// error value counts, because it may stand for bytes that are not UTF-8.
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
