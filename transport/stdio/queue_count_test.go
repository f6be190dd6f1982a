package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Bytes count while they wait and while they are written, and no longer: also when the writer
// fails, when the connection ends, and when a message is refused.
func TestQueueCountsWhatWaits(t *testing.T) {
	for _, long := range []int{500, transport.Large} { // the second is not copied
		countsWhatWaits(t, jsonrpc.Request(jsonrpc.IntID(1), "n",
			[]byte(`{"p":"`+strings.Repeat("x", long)+`"}`)))
	}
}

func countsWhatWaits(t *testing.T, large jsonrpc.Message) {
	size := len(large.Append(nil)) + 1
	for _, c := range []struct {
		name     string
		ends     func(q *queue, w *io.PipeWriter, r *io.PipeReader)
		finished bool
	}{
		{"written", func(_ *queue, _ *io.PipeWriter, r *io.PipeReader) {
			go io.Copy(io.Discard, r) // owner: the pipe, which the test closes
		}, false},
		{"the writer fails", func(_ *queue, _ *io.PipeWriter, r *io.PipeReader) {
			r.CloseWithError(io.ErrClosedPipe)
		}, true},
		{"the writer fails in the middle", func(_ *queue, _ *io.PipeWriter, r *io.PipeReader) {
			_, _ = io.ReadFull(r, make([]byte, size/2))
			r.Close()
		}, true},
		{"the connection ends", func(q *queue, w *io.PipeWriter, _ *io.PipeReader) {
			q.finish()
			w.Close()
		}, true},
	} {
		t.Run(fmt.Sprintf("%d bytes, %s", size, c.name), func(t *testing.T) {
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
				put(size) // the writer has taken it, and nothing reads it
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
				w.Close() // so that its reader ends
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
	if err := q.putBatch([]jsonrpc.Message{jsonrpc.Response(jsonrpc.IntID(1), nil),
		jsonrpc.Response(jsonrpc.IntID(2), nil)}); err != nil || waits != q.size || waits == 0 {
		t.Errorf("%v, %d bytes count of %d", err, waits, q.size)
	}
	q.finish()
	var out bytes.Buffer
	if err := q.drain(&out); err != nil || waits != 0 {
		t.Errorf("%v, %d bytes count of what is written", err, waits)
	}
}

// Messages, small and large, are written in the order in which they were put. For each unwritten
// message it is known whether its writing had begun. The params of a large message are not copied.
func TestQueueOfLargeMessages(t *testing.T) {
	call := func(id uint64, size int) jsonrpc.Message {
		return jsonrpc.Request(jsonrpc.IntID(id), "n", []byte(`{"p":"`+strings.Repeat("x", size)+`"}`))
	}
	all := []jsonrpc.Message{
		call(1, 10), call(2, transport.Large), call(3, 2*transport.Large), call(4, 10), call(5, 20),
		call(6, transport.Large),
	}
	fill := func() (q *queue, want []byte, ends []int) {
		q = newQueue(bounds{count: 10, bytes: 1 << 20, urgent: 1 << 20}, nil)
		for _, m := range all {
			if err := q.put(m, false); err != nil {
				t.Fatal(err)
			}
			want = append(m.Append(want), '\n')
			ends = append(ends, len(want))
		}
		if params := all[2].Params; !slices.ContainsFunc(q.parts, func(p []byte) bool {
			return &p[0] == &params[0]
		}) {
			t.Error("the params of a large message are copied")
		}
		return q, want, ends
	}
	q, want, ends := fill()
	q.finish()
	var out bytes.Buffer
	if err := q.drain(&out); err != nil || !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%v, %d bytes of %d are written", err, out.Len(), len(want))
	}
	for i, end := range ends {
		for _, at := range []int{end - 1, end} {
			q, _, _ := fill()
			if err := q.drain(&full{at}); !errors.Is(err, io.ErrShortWrite) {
				t.Fatal(err)
			}
			left := q.close()
			n := i // the first message that is not written
			if at == end {
				n++
			}
			if len(left) != len(all)-n || at < end && (left[0].id != all[i].ID || !left[0].begun) ||
				at == end && n < len(all) && left[0].begun {
				t.Errorf("after %d bytes are left behind %+v", at, left)
			}
		}
	}
}

// full is a writer that fails after so many bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	if f.room -= n; n < len(p) || f.room == 0 {
		return n, io.ErrShortWrite
	}
	return n, nil
}
