package main

import (
	"io"
	"time"
)

// logQueue is a writer that never blocks. One goroutine writes to the underlying writer. Lines
// that arrive while the queue is full are dropped, because a client need not read standard error.
type logQueue struct {
	lines   chan []byte
	stop    chan struct{}
	written chan struct{} // closed when the goroutine has ended
}

const (
	// maxLogLines bounds the queued lines. Each has at most maxLogLine bytes and a prefix.
	maxLogLines = 64
	// logFlushTimeout is how long close waits for the last lines.
	logFlushTimeout = 200 * time.Millisecond
)

func newLogQueue(to io.Writer) *logQueue {
	q := &logQueue{
		lines: make(chan []byte, maxLogLines), stop: make(chan struct{}), written: make(chan struct{}),
	}
	go q.write(to) // owner: close, which abandons it when a Write does not return
	return q
}

// Write queues one line, or drops it.
func (q *logQueue) Write(line []byte) (int, error) {
	select {
	case q.lines <- append([]byte(nil), line...):
	default:
	}
	return len(line), nil
}

func (q *logQueue) write(to io.Writer) {
	defer close(q.written)
	for {
		select {
		case line := <-q.lines:
			// There is nowhere to report an error.
			_, _ = to.Write(line)
		case <-q.stop:
			for len(q.lines) > 0 {
				_, _ = to.Write(<-q.lines)
			}
			return
		}
	}
}

// close writes the queued lines, for at most logFlushTimeout. It is called once.
func (q *logQueue) close() {
	close(q.stop)
	late := time.NewTimer(logFlushTimeout)
	defer late.Stop()
	select {
	case <-q.written:
	case <-late.C:
	}
}
