package streamable

import (
	"bufio"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxZstdWindow is the largest window that the content coding zstd allows (RFC 9659 §3).
	maxZstdWindow = 8 << 20
	// brotliTables and zstdBlocks are the approximate memory of the decoders in addition to their
	// windows.
	brotliTables = 3 << 20 // three groups of up to 256 Huffman codes: as many as the body requires
	zstdBlocks   = 512 << 10
)

func unbrotli(in *bufio.Reader, _ int) (io.ReadCloser, error) {
	return io.NopCloser(brotli.NewReader(in)), nil
}

// brotliWindow reads the size of the window from the first bits of the stream (RFC 7932 §9.1).
func brotliWindow(in *bufio.Reader) int {
	head, err := in.Peek(1)
	if err != nil {
		return 0
	}
	bits := 16
	switch first, second := head[0]>>1&7, head[0]>>4&7; {
	case head[0]&1 == 0:
	case first != 0:
		bits = 17 + int(first)
	case second != 0:
		bits = 8 + int(second)
	default:
		bits = 17
	}
	return 1<<bits + brotliTables
}

// unzstd returns a decoder that runs on the goroutine of its reader.
func unzstd(in *bufio.Reader, window int) (io.ReadCloser, error) {
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(uint64(window)))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// zstdWindow reads the size of the window from the header of the first frame (RFC 8878 §3.1.1.1).
func zstdWindow(in *bufio.Reader) int {
	var head zstd.Header
	text, _ := in.Peek(zstd.HeaderMaxSize) // a short body has fewer bytes
	if head.Decode(text) != nil || head.Skippable {
		return maxZstdWindow + zstdBlocks
	}
	window := head.WindowSize
	if head.SingleSegment { // the window is as large as the decoded frame
		window = head.FrameContentSize
	}
	return int(min(window, maxZstdWindow)) + zstdBlocks
}
