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

// identity asks for bodies without compression (RFC 9110 §12.5.3). Bodies of messages are small,
// and a compressor would delay events until a block is complete.
var identity = []string{"identity"}

// codings are the content codings that are decoded although they were not requested. The fetch of
// the TypeScript SDK decodes the same ones.
var codings = map[string]coding{
	"gzip": {gunzip, nil}, "x-gzip": {gunzip, nil}, "deflate": {inflate, nil},
	"br": {unbrotli, brotliWindow}, "zstd": {unzstd, zstdWindow},
}

// coding is a content coding and its decoder.
type coding struct {
	open func(in *bufio.Reader, window int) (io.ReadCloser, error)
	// window returns how many bytes back the decoder has to remember, as stated at the beginning of
	// the body. It is nil where that number is small.
	window func(in *bufio.Reader) int
}

// undecoded are the other registered codings. A body with any unregistered name is read without
// decoding, as fetch does: some servers put a character set there.
var undecoded = []string{"compress", "x-compress"}

func gunzip(in *bufio.Reader, _ int) (io.ReadCloser, error) { return gzip.NewReader(in) }

// inflate decodes the coding "deflate": with a zlib header, as RFC 9110 §8.4.1.2 requires, or
// without one, as some servers send it.
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

// decode replaces the body of a response with its decoded form. It reads nothing yet. Limits on the
// body then count decoded bytes. The memory of the decoder is reserved in room.
func decode(resp *http.Response, budget *transport.ByteBudget) {
	if len(resp.Header["Content-Encoding"]) == 0 || resp.ContentLength == 0 {
		return
	}
	var said []string
	for _, coding := range strings.Split(strings.ToLower(strings.Join(resp.Header["Content-Encoding"],
		",")), ",") {
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
	resp.Body = &codedBody{ReadCloser: resp.Body, coding: strings.Join(said, ", "), budget: budget}
	resp.ContentLength = -1
}

// codedBody is the body of a response that has a content coding.
type codedBody struct {
	io.ReadCloser // the encoded body
	coding        string
	plain         io.ReadCloser // nil until the first Read
	err           error         // why plain is nil
	some          bool          // some bytes were read

	budget *transport.ByteBudget
	window atomic.Int64 // bytes reserved in room
}

// Read reads decoded bytes. If they end too early or are followed by other data, Read reports
// io.EOF at that point: decoding the message shows if it is complete.
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
	if !b.budget.TryAdd(window) {
		b.err = fmt.Errorf(
			"the body is encoded as %q, which was not asked for, and there is no room for the %d bytes "+
				"that decoding it takes", b.coding, window,
		)
		return
	}
	b.window.Store(int64(window))
	if b.plain, b.err = of.open(in, window); b.err != nil && b.err != io.EOF {
		b.err = fmt.Errorf("decode %q: %w", b.coding, b.err)
	}
}

// Close closes the body, and releases the memory reserved for the decoder.
func (b *codedBody) Close() error {
	if b.plain != nil {
		_ = b.plain.Close() // its error is of no interest after reading
		b.plain, b.err = nil, http.ErrBodyReadAfterClose
	}
	b.budget.Add(-int(b.window.Swap(0)))
	return b.ReadCloser.Close()
}
