package stdio

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Bytes count while they wait and while they are written, and no longer: also when the writer fails,
// when the connection ends, and when a message is refused.
func TestQueueCountsWhatWaits(t *testing.T) {
	large := jsonrpc.Request(jsonrpc.IntID(1), "n", []byte(`{"p":"`+strings.Repeat("x", 500)+`"}`))
	size := len(large.Append(nil)) + 1
	for _, c := range []struct {
		name     string
		ends     func(q *queue, w *io.PipeWriter, r *io.PipeReader)
		finished bool
	}{
		{"written", func(_ *queue, _ *io.PipeWriter, r *io.PipeReader) {
			go io.Copy(io.Discard, r) // owner: the pipe, which the test closes
		}, false},
		{"the writer fails", func(_ *queue, _ *io.PipeWriter, r *io.PipeReader) { r.CloseWithError(io.ErrClosedPipe) }, true},
		{"the writer fails in the middle", func(_ *queue, _ *io.PipeWriter, r *io.PipeReader) {
			_, _ = io.ReadFull(r, make([]byte, size/2))
			r.Close()
		}, true},
		{"the connection ends", func(q *queue, w *io.PipeWriter, _ *io.PipeReader) { q.finish(); w.Close() }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waits := 0
				q := newQueue(bounds{count: 2, bytes: 10 * size, urgent: 10 * size}, func(n int) { waits += n })
				r, w := io.Pipe()
				ended := make(chan struct{})
				go func() { defer close(ended); _ = q.drain(w) }() // owner: the test waits for it
				put := func(want int) {
					t.Helper()
					if err := q.put(large, false); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if waits != want {
						t.Errorf("%d bytes count, want %d", waits, want)
					}
				}
				put(size) // which the writer has taken, and nobody reads
				put(2 * size)
				put(3 * size)
				if err := q.put(large, false); err == nil || waits != 3*size {
					t.Errorf("beyond the bound: %v, %d bytes count", err, waits)
				}
				c.ends(q, w, r)
				synctest.Wait()
				if !c.finished {
					q.finish()
				}
				<-ended
				w.Close() // so that who reads it ends
				q.close()
				if waits != 0 {
					t.Errorf("%d bytes count at the end", waits)
				}
				if err := q.put(large, false); !errors.Is(err, transport.ErrClosed) || waits != 0 {
					t.Errorf("after the end: %v, %d bytes count", err, waits)
				}
			})
		})
	}
}

// A batch counts like a message.
func TestQueueCountsABatch(t *testing.T) {
	waits := 0
	q := newQueue(bounds{count: 2, bytes: 100, urgent: 1000}, func(n int) { waits += n })
	if err := q.putBatch([]jsonrpc.Message{jsonrpc.Response(jsonrpc.IntID(1), nil), jsonrpc.Response(jsonrpc.IntID(2), nil)}); err != nil || waits != len(q.buf) || waits == 0 {
		t.Errorf("%v, %d bytes count of %d", err, waits, len(q.buf))
	}
	q.finish()
	var out bytes.Buffer
	if err := q.drain(&out); err != nil || waits != 0 {
		t.Errorf("%v, %d bytes count of what is written", err, waits)
	}
}
