package stdio

import (
	"io"
	"sync"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// bounds is how much may wait in a queue.
type bounds struct {
	count, bytes int
	urgent       int // bytes, when the message is urgent; their count is bounded by whoever sends them
}

// queue holds messages until its writer has written them, and knows of each request whether it was.
type queue struct {
	bounds
	wake  chan struct{}
	waits func(bytes int) // is told how many bytes more wait, or less where it is negative

	mu     sync.Mutex // guards what follows
	buf    []byte     // messages that wait, each with its newline
	spare  []byte     // an emptied buffer
	marks  []mark     // where they end, in order
	used   []mark     // an emptied list
	closed bool       // nothing more is taken
	lost   []lost     // requests of which the writer could not write all
	held   int        // bytes that wait or are being written, as waits was told
}

// mark is the end of one message in a buffer.
type mark struct {
	id  jsonrpc.ID // zero unless it is a request
	end int
}

// lost is a request that was not written, or not all of it.
type lost struct {
	id    jsonrpc.ID
	begun bool // some bytes were written
}

// newQueue makes an empty one. Waits is called with the mutex held, so it must not wait; nil counts
// nothing.
func newQueue(b bounds, waits func(bytes int)) *queue {
	if waits == nil {
		waits = func(int) {}
	}
	return &queue{bounds: b, wake: make(chan struct{}, 1), waits: waits}
}

// tally adds n bytes to those that wait. The mutex is held.
func (q *queue) tally(n int) {
	if n != 0 {
		q.held += n
		q.waits(n)
	}
}

// put adds a message. One message fits an empty queue whatever its size.
func (q *queue) put(m jsonrpc.Message, urgent bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var id jsonrpc.ID
	if m.Kind() == jsonrpc.KindRequest {
		id = m.ID
	}
	if err := q.room(urgent); err != nil {
		return err
	}
	return q.seal(m.Append(q.buf), id, urgent)
}

// putBatch adds an array of answers, which are urgent.
func (q *queue) putBatch(messages []jsonrpc.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.room(true); err != nil {
		return err
	}
	return q.seal(jsonrpc.AppendBatch(q.buf, messages), jsonrpc.ID{}, true)
}

func (q *queue) room(urgent bool) error {
	switch {
	case q.closed:
		return transport.ErrClosed
	case len(q.marks) >= q.count && !urgent:
		return transport.ErrSlowConsumer
	}
	return nil
}

// seal keeps what was appended to buf, unless that is too much.
func (q *queue) seal(buf []byte, id jsonrpc.ID, urgent bool) error {
	buf = append(buf, '\n')
	limit := q.bytes
	if urgent {
		limit = q.urgent
	}
	if len(q.buf) > 0 && len(buf) > limit {
		return transport.ErrSlowConsumer
	}
	q.tally(len(buf) - len(q.buf))
	q.buf = buf
	q.marks = append(q.marks, mark{id, len(buf)})
	q.rouse()
	return nil
}

func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// finish refuses further messages. The writer writes those that wait.
func (q *queue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.rouse()
}

// drain writes to w until the queue is finished and empty, or w fails. It is the one writer. Messages that wait together are written
// together.
func (q *queue) drain(w io.Writer) error {
	for range q.wake {
		for {
			chunk, marks, last := q.take()
			if last {
				return nil
			}
			if len(chunk) == 0 {
				break
			}
			n, err := w.Write(chunk)
			if err != nil {
				q.fail(marks, n)
				return err
			}
			q.reuse(chunk, marks)
		}
	}
	return nil
}

// take gets all that waits; last says that there is nothing and never will be.
func (q *queue) take() (chunk []byte, marks []mark, last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.buf) == 0 {
		return nil, nil, q.closed
	}
	chunk, marks = q.buf, q.marks
	q.buf, q.spare = q.spare[:0], nil
	q.marks, q.used = q.used[:0], nil
	return chunk, marks, false
}

// reuse takes an emptied buffer back, unless a large message has made it large.
func (q *queue) reuse(chunk []byte, marks []mark) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tally(-len(chunk))
	if cap(chunk) <= lineBuffer {
		q.spare = chunk
	}
	clear(marks)
	q.used = marks
}

// fail closes the queue after n bytes of what was taken last.
func (q *queue) fail(marks []mark, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	start := 0
	for _, m := range marks {
		if m.end > n && !m.id.IsZero() {
			q.lost = append(q.lost, lost{m.id, start < n})
		}
		start = m.end
	}
	for _, m := range q.marks {
		if !m.id.IsZero() {
			q.lost = append(q.lost, lost{m.id, false})
		}
	}
	q.buf, q.marks = nil, nil
	q.tally(-q.held)
}

// close refuses further messages and lists the requests that were left behind, in order. The writer must have ended.
func (q *queue) close() []lost {
	q.fail(nil, 0)
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.lost
	q.lost = nil
	return list
}
