package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// errLine says that a line is longer than allowed.
var errLine = errors.New("line too long")

const (
	// lineBuffer is what is read at once: the capacity of a pipe.
	lineBuffer = 64 << 10
	// ownLine is the size from which a line is handed over with its buffer, because copying costs more than a new buffer.
	ownLine = 32 << 10
)

// source is where lines come from. An error of ctx must lose no bytes.
type source interface {
	read(ctx context.Context, p []byte) (int, error)
}

// lines cuts a source into lines.
type lines struct {
	src     source
	max     int // bytes of a line
	buf     []byte
	at, end int // buf[at:end] was read and not handed out
	seen    int // of it, this many bytes hold no newline
}

// next returns the next line without its end; it belongs to the caller. A last line needs no end. Errors are those of the source, and
// errLine, after which only skip may be called.
func (l *lines) next(ctx context.Context) ([]byte, error) {
	for {
		if n := bytes.IndexByte(l.buf[l.at+l.seen:l.end], '\n'); n >= 0 {
			return l.take(l.seen+n, 1), nil
		}
		l.seen = l.end - l.at
		if l.seen > l.max {
			return nil, fmt.Errorf("%w: more than %d bytes", errLine, l.max)
		}
		if err := l.fill(ctx); err != nil {
			if errors.Is(err, io.EOF) && l.seen > 0 {
				return l.take(l.seen, 0), nil
			}
			return nil, err
		}
	}
}

// skip drops the rest of a line that was too long.
func (l *lines) skip(ctx context.Context) error {
	for {
		if n := bytes.IndexByte(l.buf[l.at:l.end], '\n'); n >= 0 {
			l.at += n + 1
			l.seen = 0
			return nil
		}
		l.at, l.end, l.seen = 0, 0, 0
		if err := l.fill(ctx); err != nil {
			return err
		}
	}
}

// take hands out the next n bytes and passes over the end of the line.
func (l *lines) take(n, end int) []byte {
	line := l.buf[l.at : l.at+n : l.at+n]
	l.at += n + end
	l.seen = 0
	if n < ownLine {
		return bytes.Clone(line)
	}
	rest := l.buf[l.at:l.end]
	l.buf = make([]byte, max(lineBuffer, len(rest)))
	l.at, l.end = 0, copy(l.buf, rest)
	return line
}

// fill reads more, making room first. The buffer doubles up to one byte over the longest line.
func (l *lines) fill(ctx context.Context) error {
	if l.at > 0 {
		l.end = copy(l.buf, l.buf[l.at:l.end])
		l.at = 0
	}
	if l.end == len(l.buf) {
		grown := make([]byte, min(max(lineBuffer, 2*len(l.buf)), l.max+1))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	n, err := l.src.read(ctx, l.buf[l.end:])
	l.end += n
	if n > 0 {
		return nil
	}
	return err
}
