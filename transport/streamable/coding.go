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
)

// identity asks for bodies as they are (RFC 9110 §12.5.3): those of messages are small, and a reader
// of events waits for no block of a compressor.
var identity = []string{"identity"}

// codings are the content codings that are decoded although they were not asked for, as the fetch of
// the TypeScript SDK decodes them.
var codings = map[string]func(io.Reader) (io.Reader, error){
	"gzip": gunzip, "x-gzip": gunzip, "deflate": inflate,
}

// undecoded are the other codings that clients decode. With any other word in its place the body is
// read as it comes, as fetch does: some servers name a character set there.
var undecoded = []string{"br", "zstd", "compress", "x-compress"}

func gunzip(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }

// inflate decodes what is called deflate: with the head of zlib, as RFC 9110 §8.4.1.2 wants it, or
// without, as some servers send it.
func inflate(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
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
// counts decoded bytes.
func decode(resp *http.Response) {
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
	case len(said) == 1 && codings[said[0]] == nil && !slices.Contains(undecoded, said[0]):
		return
	}
	resp.Body = &codedBody{ReadCloser: resp.Body, coding: strings.Join(said, ", ")}
	resp.ContentLength = -1
}

// codedBody is the body of a response that has a content coding.
type codedBody struct {
	io.ReadCloser // as it comes
	coding        string
	plain         io.Reader // nil until the first Read
	err           error     // why there is none
	some          bool      // bytes were read
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
	open := codings[b.coding]
	if open == nil {
		b.err = fmt.Errorf("the body is encoded as %q, which was not asked for", b.coding)
		return
	}
	if b.plain, b.err = open(b.ReadCloser); b.err != nil && b.err != io.EOF {
		b.err = fmt.Errorf("decode %q: %w", b.coding, b.err)
	}
}
