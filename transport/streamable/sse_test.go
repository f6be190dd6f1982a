package streamable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func readAll(r *Reader) (all []Event, err error) {
	for {
		e, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

// WHATWG HTML §9.2.6, except that events without data are returned.
func TestReader(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []Event
	}{
		{"one line", "data: a\n\n", []Event{{Data: []byte("a")}}},
		{"line ends of all kinds", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", []Event{
			{Data: []byte("a")}, {Data: []byte("b")}, {Data: []byte("c")},
		}},
		{"CR LF counts once", "data: a\r\ndata: b\r\n\r\n", []Event{{Data: []byte("a\nb")}}},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []Event{{Data: []byte("a")}}},
		{"a second mark is a field name", "\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", nil},
		{"comments", ": hello\n\n:\n\ndata: a\n: within\n\n", []Event{{Data: []byte("a")}}},
		{"several data lines", "data: a\ndata\ndata:\ndata: b\n\n", []Event{{Data: []byte("a\n\n\nb")}}},
		{"one space is removed", "data:a\n\ndata:  b\n\n", []Event{
			{Data: []byte("a")}, {Data: []byte(" b")},
		}},
		{"names are exact", "Data: a\ndata : b\n data: c\n\n", nil},
		{"priming", "id: 7\ndata:\n\n", []Event{{ID: "7", Data: []byte{}}}},
		{"id without data", "id: 7\n\n", []Event{{ID: "7"}}},
		{"id stays", "id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []Event{
			{ID: "7", Data: []byte("a")}, {ID: "7", Data: []byte("b")}, {Data: []byte("c")},
		}},
		{"id with NUL is ignored", "id: 7\ndata: a\n\nid: 8\x00\ndata: b\n\n", []Event{
			{ID: "7", Data: []byte("a")}, {ID: "7", Data: []byte("b")},
		}},
		{"event type", "event: endpoint\ndata: /x\n\n", []Event{{Type: "endpoint", Data: []byte("/x")}}},
		{"retry", "retry: 1500\n\n", []Event{{Retry: 1500 * time.Millisecond}}},
		{"retry that is no number", "retry: 1.5\nretry: -1\nretry: +1\nretry:\ndata: a\n\n", []Event{
			{Data: []byte("a")},
		}},
		{"retry without end", "retry: 99999999999999999999999\n\n", []Event{{Retry: maxRetry}}},
		{"cut off", "data: a\n\ndata: b\n", []Event{{Data: []byte("a")}}},
		{"empty", "", nil},
	} {
		for way, src := range map[string]io.Reader{
			"at once":      strings.NewReader(c.in),
			"byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
		} {
			got, err := readAll(NewReader(src, ReaderLimits{}))
			if err != io.EOF || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("%s, %s: got %q (%v), want %q", c.name, way, got, err, c.want)
			}
		}
	}
}

// A CR that ends an event must not make the reader wait for the next byte.
func TestReaderDoesNotWaitAfterCR(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	done := make(chan Event, 1)
	go func() {
		e, _ := NewReader(in, ReaderLimits{}).Next()
		done <- e
	}()
	if _, err := out.Write([]byte("data: a\r\r")); err != nil {
		t.Fatal(err)
	}
	if e := <-done; string(e.Data) != "a" {
		t.Errorf("got %q, want a", e.Data)
	}
}

func TestReaderBounds(t *testing.T) {
	for name, in := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", 100) + "\n\n",
		"many lines": strings.Repeat("data: xxxxx\n", 20) + "\n",
		"a comment":  ":" + strings.Repeat("x", 100) + "\n\n",
		"no end":     strings.Repeat("x", 1000),
	} {
		r := NewReader(strings.NewReader(in), ReaderLimits{EventBytes: 64})
		for range 2 {
			if e, err := r.Next(); !errors.Is(err, ErrEventTooLarge) {
				t.Errorf("%s: got %q (%v), want ErrEventTooLarge each time", name, e, err)
			}
		}
	}
	long := strings.Repeat("x", 300<<10)
	r := NewReader(strings.NewReader("data: "+long+"\n\ndata: a\n\n"), ReaderLimits{})
	if got, err := readAll(r); err != io.EOF || len(got) != 2 || string(got[0].Data) != long {
		t.Errorf("got %d events (%v), want the long one and the short one", len(got), err)
	}
	if len(r.buf) > 16*readerBuffer {
		t.Errorf("the buffer stays at %d bytes after a long line", len(r.buf))
	}
	if _, err := NewReader(noProgressReader{}, ReaderLimits{}).Next(); !errors.Is(err,
		io.ErrNoProgress) {
		t.Errorf("a source that gives nothing: %v, want io.ErrNoProgress", err)
	}
}

type noProgressReader struct{}

func (noProgressReader) Read([]byte) (int, error) { return 0, nil }

func TestAppendEvent(t *testing.T) {
	for _, c := range []struct {
		event Event
		want  string
	}{
		{Event{ID: "1", Data: []byte("{}")}, "id: 1\ndata: {}\n\n"},
		{Event{ID: "1", Data: []byte{}, Retry: 2 * time.Second}, "id: 1\nretry: 2000\ndata: \n\n"},
		{Event{Type: "endpoint", Data: []byte("/x")}, "event: endpoint\ndata: /x\n\n"},
		{Event{Retry: time.Second}, "retry: 1000\n\n"},
		{Event{Data: []byte("a\nb\r\nc\rd\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
	} {
		if got := string(appendEvent(nil, c.event)); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Events that are read and written again read the same. Reading fails only at its limit. The pieces
// in which the bytes arrive make no difference.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"id: 1\nevent: x\nretry: 5\ndata: {\"a\":1}\n\n", "\xef\xbb\xbfdata\r\rdata:\r\n: c\r\n\r\n",
		"id:\x00\ndata: a\n\n", "data: a\n\ndata: b",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		limits := ReaderLimits{EventBytes: 256}
		first, err := readAll(NewReader(bytes.NewReader(in), limits))
		if err != io.EOF && !errors.Is(err, ErrEventTooLarge) {
			t.Fatalf("unexpected error %v", err)
		}
		slow, slowErr := readAll(NewReader(iotest.OneByteReader(bytes.NewReader(in)), limits))
		if fmt.Sprintf("%q %v", first, err) != fmt.Sprintf("%q %v", slow, slowErr) {
			t.Fatalf("at once %q (%v), byte by byte %q (%v)", first, err, slow, slowErr)
		}
		var out []byte
		for _, e := range first {
			if e.ID == "" {
				out = append(out, "id\n"...) // resets the last id
			}
			out = appendEvent(out, e)
		}
		second, err := readAll(NewReader(bytes.NewReader(out), ReaderLimits{EventBytes: 1024}))
		if err != io.EOF || fmt.Sprintf("%q", first) != fmt.Sprintf("%q", second) {
			t.Fatalf("read %q, wrote %q, read %q (%v)", first, out, second, err)
		}
	})
}
