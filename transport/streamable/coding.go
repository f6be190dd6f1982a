package streamable

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"mcpd/transport"
)

// identity asks for bodies as they are (RFC 9110 §12.5.3): those of messages are small, and a reader
// of events waits for no block of a compressor.
var identity = []string{"identity"}

// codings are the content codings that are decoded although they were not asked for, as the fetch of
// the TypeScript SDK decodes them.
var codings = map[string]coding{
	"gzip": {gunzip, nil}, "x-gzip": {gunzip, nil}, "deflate": {inflate, nil},
	"br": {unbrotli, brotliWindow}, "zstd": {unzstd, zstdWindow},
}

// coding is one of them.
type coding struct {
	open func(in *bufio.Reader, window int) (io.ReadCloser, error)
	// window is how many bytes back the decoder has to remember, as the beginning of the body says;
	// nil where that is little.
	window func(in *bufio.Reader) int
}

// undecoded are the other codings that clients know. With any other word in its place the body is
// read as it comes, as fetch does: some servers name a character set there.
var undecoded = []string{"compress", "x-compress"}

func gunzip(in *bufio.Reader, _ int) (io.ReadCloser, error) { return gzip.NewReader(in) }

// inflate decodes what is called deflate: with the head of zlib, as RFC 9110 §8.4.1.2 wants it, or
// without, as some servers send it.
func inflate(in *bufio.Reader, _ int) (io.ReadCloser, error) {
	head, err := in.Peek(1)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 {
		return zlib.NewReader(in)
	}
	return flate.NewReader(in), nil
}

// decode has the body of a response read as what it means. Nothing is read yet. What bounds the body
// counts decoded bytes; what a decoder has to remember is counted in room.
func decode(resp *http.Response, room *transport.Room) {
	if len(resp.Header["Content-Encoding"]) == 0 || resp.ContentLength == 0 {
		return
	}
	var said []string
	for _, coding := range strings.Split(strings.ToLower(strings.Join(resp.Header["Content-Encoding"], ",")), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && coding != "identity" {
			said = append(said, coding)
		}
	}
	switch {
	case len(said) == 0:
		return
	case len(said) == 1 && codings[said[0]].open == nil && !slices.Contains(undecoded, said[0]):
		return
	}
	resp.Body = &codedBody{ReadCloser: resp.Body, coding: strings.Join(said, ", "), room: room}
	resp.ContentLength = -1
}

// codedBody is the body of a response that has a content coding.
type codedBody struct {
	io.ReadCloser // as it comes
	coding        string
	plain         io.ReadCloser // nil until the first Read
	err           error         // why there is none
	some          bool          // bytes were read

	room   *transport.Room
	window atomic.Int64 // counted there
}

// Read reads decoded bytes. Where they end too soon, or something else is behind them, they end there:
// whether a message is whole is seen when it is read.
func (b *codedBody) Read(p []byte) (int, error) {
	if b.plain == nil && b.err == nil {
		b.begin()
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.plain.Read(p)
	b.some = b.some || n > 0
	if b.some && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader)) {
		err = io.EOF
	}
	return n, err
}

func (b *codedBody) begin() {
	of := codings[b.coding]
	if of.open == nil {
		b.err = fmt.Errorf("the body is encoded as %q, which was not asked for", b.coding)
		return
	}
	in, window := bufio.NewReader(b.ReadCloser), 0
	if of.window != nil {
		window = of.window(in)
	}
	if !b.room.Try(window) {
		b.err = fmt.Errorf("the body is encoded as %q, which was not asked for, and there is no room for the %d bytes that decoding it takes", b.coding, window)
		return
	}
	b.window.Store(int64(window))
	if b.plain, b.err = of.open(in, window); b.err != nil && b.err != io.EOF {
		b.err = fmt.Errorf("decode %q: %w", b.coding, b.err)
	}
}

// Close closes the body, and lets go of what its decoder remembers.
func (b *codedBody) Close() error {
	if b.plain != nil {
		_ = b.plain.Close() // of what is read
		b.plain, b.err = nil, http.ErrBodyReadAfterClose
	}
	b.room.Add(-int(b.window.Swap(0)))
	return b.ReadCloser.Close()
}
