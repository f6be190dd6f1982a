package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"mcpd/transport"
)

// errEndless is the error for a line that goes on far beyond the limit.
var errEndless = errors.New("a line without an end")

// longLine is the error for a line that is longer than allowed. The line was skipped to its end.
type longLine struct {
	head []byte // its first longHead bytes
	tail []byte // its last longTail bytes, or fewer
	size int    // bytes of the whole line
	max  int    // bytes allowed
}

func (l *longLine) Error() string { return fmt.Sprintf("%d bytes, more than %d", l.size, l.max) }

const (
	// lineBuffer is how much is read at once: the capacity of a pipe.
	lineBuffer = 64 << 10
	// ownLine is the size from which a line is handed over together with its buffer: copying costs
	// more than a new buffer.
	ownLine = 32 << 10
	// longHead and longTail are how much of a too long line is kept: room for the members around its
	// payload.
	longHead = 4 << 10
	longTail = 256
	// endless is the factor by which a line may exceed the limit. A longer one is not read to its end.
	endless = 64
)

// source is an input of lines. After an error of ctx no bytes are lost.
type source interface {
	read(ctx context.Context, p []byte) (int, error)
}

// lines splits a source into lines.
type lines struct {
	src         source
	max         int // limit of a line, in bytes
	buf         []byte
	start, end  int       // buf[at:end] was read and not handed out
	searched    int       // the first seen bytes of that hold no newline
	long        *longLine // the line that is being skipped; nil for none
	reservation transport.Reservation
	cut         bool // the last line had no newline
	// pace is called with the number of bytes read of a line that is already too long, including bytes
	// after its end. It may wait, to rate-limit the reading; nil does not.
	pace func(ctx context.Context, bytes int)
}

// next returns the next line without its end; the caller owns it. A last line needs no newline. The
// error is that of the source; or a *longLine, after which the next line can be read; or
// errEndless, after which none can.
func (l *lines) next(ctx context.Context) ([]byte, error) {
	if l.searched == 0 { // the caller is done with the line before
		l.reservation.Free()
	}
	for {
		if l.long != nil {
			return nil, l.skip(ctx)
		}
		if n := bytes.IndexByte(l.buf[l.start+l.searched:l.end], '\n'); n >= 0 {
			return l.take(l.searched+n, 1), nil
		}
		l.searched = l.end - l.start
		if l.searched > l.max {
			l.long = &longLine{head: bytes.Clone(l.buf[l.start:min(l.end, l.start+longHead)]), max: l.max}
			continue
		}
		if err := l.fill(ctx); err != nil {
			if errors.Is(err, io.EOF) && l.searched > 0 {
				l.cut = true
				return l.take(l.searched, 0), nil
			}
			return nil, err
		}
	}
}

// skip skips a too long line to its end, and returns it. It can be called again after an error of
// ctx.
func (l *lines) skip(ctx context.Context) error {
	for {
		part := l.buf[l.start:l.end]
		n := bytes.IndexByte(part, '\n')
		if n >= 0 {
			part = part[:n]
		}
		l.long.add(part)
		if n >= 0 {
			l.start += n + 1
			return l.passed()
		}
		if l.long.size > endless*l.max {
			return fmt.Errorf("%w: more than %d bytes", errEndless, endless*l.max)
		}
		l.start, l.end = 0, 0
		if len(l.buf) > lineBuffer {
			l.buf = nil
			l.reservation.Free()
		}
		if err := l.fill(ctx); err != nil {
			if errors.Is(err, io.EOF) {
				return l.passed()
			}
			return err
		}
		if l.pace != nil {
			l.pace(ctx, l.end-l.start)
		}
	}
}

func (l *lines) passed() error {
	long := l.long
	l.long, l.searched = nil, 0
	return long
}

// add takes the next part of the line.
func (l *longLine) add(part []byte) {
	l.size += len(part)
	l.tail = append(l.tail, part[max(0, len(part)-longTail):]...)
	l.tail = slices.Delete(l.tail, 0, max(0, len(l.tail)-longTail))
}

// take returns the next n bytes and skips the end of the line.
func (l *lines) take(n, end int) []byte {
	line := l.buf[l.start : l.start+n : l.start+n]
	l.start += n + end
	l.searched = 0
	if n < ownLine {
		return bytes.Clone(line)
	}
	rest := l.buf[l.start:l.end]
	buf := l.buf
	l.buf = make([]byte, max(lineBuffer, len(rest)))
	l.start, l.end = 0, copy(l.buf, rest)
	if cap(buf) <= lineBuffer {
		return line
	}
	line = bytes.Clone(line)
	transport.Recycle(buf)
	return line
}

// fill reads more bytes, and makes space first. When a line fills the buffer, fill waits until the
// tenant's byte budget has room for the next size. The buffer doubles up to one byte over the
// longest line.
func (l *lines) fill(ctx context.Context) error {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		if l.end >= transport.Large && l.long == nil {
			if err := l.reservation.Take(ctx, min(2*l.end, l.max)); err != nil {
				return err
			}
		}
		if len(l.buf) == 0 {
			l.buf = make([]byte, min(lineBuffer, l.max+1))
		} else {
			l.buf = transport.Grow(l.buf, l.max+1)
		}
	}
	n, err := l.src.read(ctx, l.buf[l.end:])
	l.end += n
	if n > 0 {
		return nil
	}
	return err
}
