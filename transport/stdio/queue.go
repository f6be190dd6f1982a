package stdio

import (
	"io"
	"sync"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// bounds limits a queue.
type bounds struct {
	count, bytes int
	// urgent takes the place of bytes when an urgent message is added. Callers bound the number of
	// urgent messages.
	urgent int
}

// queue holds messages until its writer has written them, and tracks which requests were written.
type queue struct {
	bounds
	wake chan struct{}
	// waits is called with the change in waiting bytes, negative when bytes are written or dropped.
	waits func(bytes int)

	mu sync.Mutex // guards what follows
	// parts holds waiting messages, each with its newline; the last ones are in buf.
	parts  [][]byte
	buf    []byte   // the last waiting messages
	size   int      // bytes of parts and buf
	spare  []byte   // an emptied buffer
	taken  [][]byte // an emptied list of parts
	marks  []mark   // where the messages end, in order
	used   []mark   // an emptied list
	closed bool     // no more messages are taken
	lost   []lost   // requests that were not written completely
	held   int      // bytes that wait or are being written, as told to waits
}

// mark is the end of one message: the number of bytes in parts and buf up to there.
type mark struct {
	id  jsonrpc.ID // zero unless it is a request
	end int
}

// lost is a request that was not written completely.
type lost struct {
	id    jsonrpc.ID
	begun bool // some bytes were written
}

// newQueue makes an empty queue. It calls waits with the mutex held, so waits must not wait; it may
// be nil.
func newQueue(b bounds, waits func(bytes int)) *queue {
	if waits == nil {
		waits = func(int) {}
	}
	return &queue{bounds: b, wake: make(chan struct{}, 1), waits: waits}
}

// tally adds n to the waiting bytes. The mutex is held.
func (q *queue) tally(n int) {
	if n != 0 {
		q.held += n
		q.waits(n)
	}
}

// put adds a message. An empty queue takes one message of any size. The params of a large message
// are not copied.
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
	if len(m.Params) < transport.Large && len(m.Result) < transport.Large {
		return q.seal(m.Append(q.buf), id, urgent)
	}
	return q.append(m.Parts(transport.Large), id, urgent)
}

// putBatch adds an array of responses, which are urgent.
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

// seal keeps the bytes that were appended to buf, unless they exceed the bound.
func (q *queue) seal(buf []byte, id jsonrpc.ID, urgent bool) error {
	buf = append(buf, '\n')
	n := len(buf) - len(q.buf)
	if !q.fits(n, urgent) {
		return transport.ErrSlowConsumer
	}
	q.buf = buf
	q.mark(n, id)
	return nil
}

// append keeps a message in parts, unless it exceeds the bound.
func (q *queue) append(parts [][]byte, id jsonrpc.ID, urgent bool) error {
	n := 1 // the newline
	for _, part := range parts {
		n += len(part)
	}
	if !q.fits(n, urgent) {
		return transport.ErrSlowConsumer
	}
	if len(q.buf) > 0 {
		q.parts = append(q.parts, q.buf)
	}
	q.parts = append(q.parts, parts...)
	q.buf = []byte{'\n'}
	q.mark(n, id)
	return nil
}

func (q *queue) fits(n int, urgent bool) bool {
	limit := q.bytes
	if urgent {
		limit = q.urgent
	}
	return q.size == 0 || q.size+n <= limit
}

// has reports whether a request of n bytes fits. It is true for a closed queue, because put then
// returns transport.ErrClosed in any case.
func (q *queue) has(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed || q.fits(n, false)
}

// mark notes the end of a message of n bytes.
func (q *queue) mark(n int, id jsonrpc.ID) {
	q.size += n
	q.tally(n)
	q.marks = append(q.marks, mark{id, q.size})
	q.rouse()
}

func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// finish refuses further messages. The writer writes the waiting ones.
func (q *queue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.rouse()
}

// drain writes to w until the queue is finished and empty, or w fails. It is the only writer.
// Messages that wait together are written together.
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
			n := 0
			for _, part := range chunk {
				some, err := w.Write(part)
				if n += some; err != nil {
					q.fail(marks, n)
					return err
				}
			}
			q.reuse(chunk, n, marks)
		}
	}
	return nil
}

// take returns all waiting messages; last says that there are none and will be none.
func (q *queue) take() (chunk [][]byte, marks []mark, last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size == 0 {
		return nil, nil, q.closed
	}
	chunk, marks = append(q.parts, q.buf), q.marks
	q.parts, q.taken = q.taken[:0], nil
	q.buf, q.spare = q.spare[:0], nil
	q.marks, q.used = q.used[:0], nil
	q.size = 0
	return chunk, marks, false
}

// reuse takes back emptied lists and the last buffer, unless a large message has made the buffer
// large.
func (q *queue) reuse(chunk [][]byte, n int, marks []mark) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tally(-n)
	if buf := chunk[len(chunk)-1]; cap(buf) <= lineBuffer {
		q.spare = buf
	}
	clear(chunk)
	q.taken = chunk
	clear(marks)
	q.used = marks
}

// fail closes the queue after n bytes of the last take were written.
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
	q.parts, q.buf, q.marks, q.size = nil, nil, nil, 0
	q.tally(-q.held)
}

// close refuses further messages and lists the requests that were not written completely, in order.
// The writer must have ended.
func (q *queue) close() []lost {
	q.fail(nil, 0)
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.lost
	q.lost = nil
	return list
}
