package streamable

import (
	"fmt"
	"strings"
	"testing"
)

const soundHead = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"

// sound contains consecutive requests of a connection that every reader understands in the same
// way.
var sound = []string{
	"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET / HTTP/1.0\r\n\r\n",
	soundHead + "Content-Length: 5\r\n\r\nhello",
	soundHead + "content-length:5 \r\nX-Empty:\r\nX: a\tb \xc3\xa9\r\n\r\n\r\n\x00\x01\n",
	soundHead + "Content-Length: 0\r\n\r\n",
	"POST /mcp HTTP/1.0\r\nContent-Length: 1\r\n\r\n\n",
	soundHead + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	soundHead + "Transfer-encoding:  CHUNKED\t\r\nTrailer: " +
		"X\r\n\r\nA;a=b;c=\"d\"\r\n0123456789\r\n00\r\nX: y\r\n\r\n",
	"\r\n" + soundHead + "\r\n",
	soundHead + "Content-Lengths: 5\r\nTransfer-Encodin: x\r\nTransfer-Encodingx: y\r\n\r\n",
}

// A connection with valid framing passes, in whatever pieces it arrives.
func TestSoundRequestsPass(t *testing.T) {
	all := strings.Join(sound, "") + "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\n\n"
	for size := range 70 {
		var f framing
		for rest := []byte(all); len(rest) > 0; {
			piece := rest[:min(size+1, len(rest))]
			if n, fault := f.scan(piece); fault || n != len(piece) {
				t.Fatalf("pieces of %d: fault %v after %d of %q at %d", size+1, fault, n, piece,
					len(all)-len(rest))
			}
			rest = rest[len(piece):]
		}
	}
}

// ambiguous contains heads that a proxy and a server may understand differently.
var ambiguous = map[string]string{
	"length and coding": soundHead +
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
	"coding and length": soundHead +
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
	"coding and no length": soundHead +
		"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
	"length and unknown coding": soundHead +
		"Content-Length: 5\r\nTransfer-Encoding: unknown\r\n\r\n",
	"length and no coding": soundHead + "Content-Length: 5\r\nTransfer-Encoding:\r\n\r\n",
	"identity and length": soundHead +
		"Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n",
	"two codings and no length": soundHead +
		"Transfer-Encoding: gzip, chunked\r\nContent-Length: 0\r\n\r\n",
	"equal lengths":              soundHead + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
	"two lengths":                soundHead + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
	"list of lengths":            soundHead + "Content-Length: 5, 5\r\n\r\n",
	"length with sign":           soundHead + "Content-Length: +5\r\n\r\n",
	"negative length":            soundHead + "Content-Length: -5\r\n\r\n",
	"length with space":          soundHead + "Content-Length: 1 5\r\n\r\n",
	"hexadecimal length":         soundHead + "Content-Length: 0x5\r\n\r\n",
	"empty length":               soundHead + "Content-Length:\r\n\r\n",
	"length that is a fraction":  soundHead + "Content-Length: 5.0\r\n\r\n",
	"length that overflows":      soundHead + "Content-Length: 99999999999999999999999\r\n\r\n",
	"folded line":                soundHead + "X: a\r\n b\r\n\r\n",
	"folded with a tab":          soundHead + "X: a\r\n\tContent-Length: 5\r\n\r\n",
	"folded first line":          "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
	"folded coding":              soundHead + "Transfer-Encoding:\r\n chunked\r\n\r\n",
	"bare LF":                    soundHead + "X: a\n\r\n",
	"bare LF at the end":         soundHead + "X: a\r\n\n",
	"bare LF after request line": "GET / HTTP/1.1\nHost: a\r\n\r\n",
	"bare LF everywhere":         "GET / HTTP/1.1\nHost: a\n\n",
	"bare LF before the request": "\n" + soundHead + "\r\n",
	"many lines before":          "\r\n\r\n\r\n" + soundHead + "\r\n",
	"bare CR":                    soundHead + "X: a\rContent-Length: 5\r\n\r\n",
	"CR before CR LF":            soundHead + "X: a\r\r\n\r\n",
	"NUL in a value":             soundHead + "X: a\x00b\r\n\r\n",
	"control in a value":         soundHead + "X: a\x0bb\r\n\r\n",
	"DEL in a value":             soundHead + "X: a\x7fb\r\n\r\n",
	"space before the colon":     soundHead + "Content-Length : 5\r\n\r\n",
	"tab before the colon":       soundHead + "Transfer-Encoding\t: chunked\r\n\r\n",
	"field without name":         soundHead + ": 5\r\n\r\n",
	"field without colon":        soundHead + "Content-Length\r\n\r\n",
	"name with control":          soundHead + "\x0bTransfer-Encoding: chunked\r\n\r\n",
	"name with NUL":              soundHead + "Content-Length\x00: 5\r\n\r\n",
	"name that is no token":      soundHead + "X[y]: 5\r\n\r\n",
	"unknown coding, HTTP/1.0":   "POST / HTTP/1.0\r\nTransfer-Encoding: xchunked\r\n\r\n",
	"coding repeated": soundHead +
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
	"coding with vertical tab": soundHead + "Transfer-Encoding: \x0bchunked\r\n\r\n",
	"coding in HTTP/1.0":       "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
	"coding and length, HTTP/1.0": "POST / HTTP/1.0\r\nTransfer-Encoding: " +
		"chunked\r\nContent-Length: 5\r\n\r\n",
	"version 1.2":             "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
	"two spaces":              "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
	"tab in the request line": "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
	"no version":              "GET /\r\nHost: a\r\n\r\n",
	"space at the end":        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
	"NUL in the target":       "GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
}

// An ambiguous head is a fault, in whatever pieces it arrives, and none of its bytes are valid. The
// bytes before it are valid.
func TestAmbiguousHeadsAreFaults(t *testing.T) {
	for name, head := range ambiguous {
		t.Run(name, func(t *testing.T) {
			var f framing
			if n, fault := f.scan([]byte(sound[2] + head)); !fault || n < len(sound[2]) ||
				n > len(sound[2])+4 {
				t.Errorf("fault %v, %d sound, want the %d of the request before it", fault, n, len(sound[2]))
			}
			f = framing{}
			for i, b := range []byte(head) {
				if _, fault := f.scan([]byte{b}); fault {
					return
				}
				if i == len(head)-1 {
					t.Error("passed byte by byte")
				}
			}
		})
	}
}

// A fault after a head does not affect the bytes before it.
func TestAmbiguousChunksAreFaults(t *testing.T) {
	chunked := soundHead + "Transfer-Encoding: chunked\r\n\r\n"
	for name, c := range map[string]struct{ sound, rest string }{
		"bare LF after the size":     {"5", "\nhello\r\n0\r\n\r\n"},
		"bare LF in an extension":    {"5;a", "\nhello\r\n0\r\n\r\n"},
		"bare CR in an extension":    {"5;a\r", "b\r\nhello\r\n0\r\n\r\n"},
		"bare LF after a chunk":      {"5\r\nhello", "\n0\r\n\r\n"},
		"chunk longer than its size": {"5\r\nhello", "o\r\n0\r\n\r\n"},
		"no size":                    {"", "\r\n\r\n"},
		"size with sign":             {"", "+5\r\nhello\r\n0\r\n\r\n"},
		"size with prefix":           {"0", "x5\r\nhello\r\n0\r\n\r\n"},
		"size with space":            {"5", " \r\nhello\r\n0\r\n\r\n"},
		"size that overflows":        {"100000000000000", "05\r\nhello\r\n0\r\n\r\n"},
		"bare LF at the end":         {"0\r\n", "\n"},
		"folded trailer":             {"0\r\nX: y\r\n", " z\r\n\r\n"},
		"length in the trailer":      {"0\r\n", "Content-Length: 5\r\n\r\n"},
		"bare LF in the trailer":     {"0\r\nX: y", "\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var f framing
			whole := chunked + c.sound
			if n, fault := f.scan([]byte(whole + c.rest)); !fault || n != len(whole) {
				t.Errorf("fault %v, sound is %q of %q", fault, (whole + c.rest)[:max(n, 0)], whole)
			}
		})
	}
}

func BenchmarkFraming(b *testing.B) {
	request := []byte(soundHead +
		"User-Agent: Go-http-client/1.1\r\nContent-Length: 120\r\nAccept: application/json, " +
		"text/event-stream\r\n" +
		"Authorization: Bearer mcpd_0123456789abcdef0123456789abcdef0123456789abcdef\r\nContent-Type: " +
		"application/json\r\n" +
		"Mcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: " +
		"0123456789abcdef0123456789abcdef\r\nAccept-Encoding: gzip\r\n\r\n" +
		fmt.Sprintf("%120s", ""))
	var f framing
	b.SetBytes(int64(len(request)))
	for b.Loop() {
		if _, fault := f.scan(request); fault {
			b.Fatal("a fault")
		}
	}
}

// The position of a fault does not depend on the pieces in which the bytes arrive.
func FuzzFraming(f *testing.F) {
	for _, s := range sound {
		f.Add([]byte(s))
	}
	for _, s := range ambiguous {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var whole, single framing
		n, fault := whole.scan(text)
		for i := range text {
			m, faulty := single.scan(text[i : i+1])
			switch {
			case faulty && !fault:
				t.Fatalf("a fault at byte %d of %q, and none in the whole", i, text)
			case faulty && m < 0 && n > i, faulty && m == 0 && n > i:
				t.Fatalf("a fault at byte %d of %q, of which %d are sound", i, text, n)
			case faulty:
				return
			}
		}
		if fault {
			t.Fatalf("a fault in %q, and none byte by byte", text)
		}
	})
}
