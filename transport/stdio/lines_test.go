package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

func TestLinesAreCutAtAnySplit(t *testing.T) {
	text := "one\n\ntwo\r\n" + strings.Repeat("z", 99) + "\nlast"
	for size := 1; size <= len(text); size++ {
		l := lines{src: plain{&chunks{[]byte(text), size}}, max: 99}
		var got []string
		for {
			line, err := l.next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if want := strings.Split(text, "\n"); !slices.Equal(got, want) {
			t.Fatalf("in pieces of %d: got %q, want %q", size, got, want)
		}
	}
}

func TestLineThatIsTooLongIsPassedOver(t *testing.T) {
	text := "ok\n" + strings.Repeat("z", 100) + "\nafter\n" + strings.Repeat("y", 990) + "0123456789"
	for size := 1; size <= 200; size++ {
		l := lines{src: plain{&chunks{[]byte(text), size}}, max: 99}
		for i, want := range []string{"ok", "", "after", ""} {
			line, err := l.next(t.Context())
			var long *longLine
			if (want == "") != errors.As(err, &long) || string(line) != want {
				t.Fatalf("in pieces of %d, line %d: got %q, %v", size, i, line, err)
			}
			if i == 3 && (long.size != 1000 || len(long.head) != 100 || len(long.tail) != longTail ||
				!bytes.HasSuffix(long.tail, []byte("y0123456789"))) {
				t.Fatalf("in pieces of %d: got %d bytes that begin with %q and end with %q", size, long.size,
					long.head, long.tail)
			}
		}
		if _, err := l.next(t.Context()); err != io.EOF {
			t.Fatalf("in pieces of %d: got %v at the end, want EOF", size, err)
		}
		if cap(l.buf) > 100 {
			t.Fatalf("the buffer grew to %d bytes for lines of at most 99", cap(l.buf))
		}
	}
}

func TestLineWithoutEndIsGivenUp(t *testing.T) {
	l := lines{src: plain{&chunks{bytes.Repeat([]byte("z"), 99*endless+100), 50}}, max: 99}
	for range 2 {
		if _, err := l.next(t.Context()); !errors.Is(err, errEndless) {
			t.Errorf("got %v, want errEndless", err)
		}
	}
}

// chunks is a reader that returns a few bytes at a time.
type chunks struct {
	data []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(c.size, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

func TestQueueTakesOneLargeMessageWhenEmpty(t *testing.T) {
	q := newQueue(bounds{count: 10, bytes: 100, urgent: 1000}, nil)
	large := jsonrpc.Notification("n", []byte(`{"p":"`+strings.Repeat("x", 500)+`"}`))
	small := jsonrpc.Notification("n", nil)
	if err := q.put(large, false); err != nil {
		t.Fatal(err)
	}
	if err := q.put(small, false); !errors.Is(err, transport.ErrSlowConsumer) {
		t.Errorf("beyond the bound: got %v, want %v", err, transport.ErrSlowConsumer)
	}
	if err := q.put(small, true); err != nil {
		t.Errorf("urgent: %v", err)
	}
	if err := q.put(large, true); !errors.Is(err, transport.ErrSlowConsumer) {
		t.Errorf("urgent beyond its bound: got %v, want %v", err, transport.ErrSlowConsumer)
	}
	q.finish()
	var out bytes.Buffer
	if err := q.drain(&out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("%d messages were written, want 2", got)
	}
}

// An oversized line takes no room, whenever its end comes.
func TestTooLongLineHasNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 2 * lineBuffer
		budget := transport.NewByteBudget(2 * most)
		end, finish := io.Pipe()
		l := lines{
			src: plain{io.MultiReader(strings.NewReader(strings.Repeat("x", most+1)), end)}, max: most,
			reservation: transport.NewReservation(budget),
		}
		passed := make(chan error)
		go func() { // owner: the test, which waits for it
			_, err := l.next(t.Context())
			passed <- err
		}()
		synctest.Wait()
		if now, most := budget.Used(); now != 0 || most == 0 {
			t.Errorf("room for %d bytes is taken, %d at most", now, most)
		}
		finish.Close()
		var long *longLine
		if err := <-passed; !errors.As(err, &long) {
			t.Error(err)
		}
	})
}

// A large line waits for room without losing bytes, and holds the room until the next line is
// requested. Small lines pass.
func TestLargeLineWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 3 * lineBuffer
		text := "small\n" + strings.Repeat("x", size) + "\nsmall\n"
		budget := transport.NewByteBudget(2 * size)
		budget.Add(2 * size)
		l := lines{
			src: plain{&chunks{[]byte(text), 10_000}}, max: 2 * size,
			reservation: transport.NewReservation(budget),
		}
		want := func(n int) {
			t.Helper()
			if line, err := l.next(t.Context()); err != nil || len(line) != n {
				t.Fatalf("got %d bytes and %v, want %d", len(line), err, n)
			}
		}
		want(5)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if line, err := l.next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("without room: %d bytes and %v", len(line), err)
		}
		budget.Add(-2 * size)
		want(size)
		if now, _ := budget.Used(); now != 4*lineBuffer {
			t.Errorf("the line in hand has %d bytes of room", now)
		}
		want(5)
		if now, _ := budget.Used(); now != 0 {
			t.Errorf("%d bytes of room are nobody's", now)
		}
	})
}

// A line takes room for at most twice the bytes that have come, however long it may become. So a
// line that stops half-way holds no more.
func TestLineCountsWhatHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const came, most = 100_000, 16 << 20
		budget := transport.NewByteBudget(most)
		rest, end := io.Pipe()
		l := lines{
			src: plain{io.MultiReader(strings.NewReader(strings.Repeat("x", came)), rest)}, max: most,
			reservation: transport.NewReservation(budget),
		}
		got := make(chan int)
		go func() { // owner: the test, which waits for it
			line, _ := l.next(t.Context())
			got <- len(line)
		}()
		synctest.Wait()
		if now, _ := budget.Used(); now < came || now > 2*came {
			t.Errorf("room for %d bytes is taken, %d are there", now, came)
		}
		end.Write(bytes.Repeat([]byte("y"), most-came))
		end.Write([]byte("\n"))
		if n := <-got; n != most {
			t.Errorf("got %d bytes", n)
		}
		if now, _ := budget.Used(); now != most {
			t.Errorf("room for %d bytes is taken by a line of %d", now, most)
		}
		l.reservation.Free()
	})
}
