package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"mcpd/transport"
)

// Buffers are reused, but each line belongs to its reader. Many readers read long lines at once,
// some without waiting for their ends. Each finds its own bytes in its lines, also later.
func TestLinesAreNobodyElses(t *testing.T) {
	const most, lines = 1 << 20, 60
	var all sync.WaitGroup
	for who := range 6 {
		all.Go(func() {
			mark, random := byte('a'+who), rand.New(rand.NewPCG(1, uint64(who)))
			var sizes []int
			for range lines {
				sizes = append(sizes, []int{1 + random.IntN(100), ownLine + random.IntN(ownLine),
					transport.Large + random.IntN(most-transport.Large),
					most + 1 + random.IntN(most)}[random.IntN(4)])
			}
			in, out, err := os.Pipe()
			if err != nil {
				t.Error(err)
				return
			}
			defer in.Close()
			all.Go(func() {
				defer out.Close()
				for i, n := range sizes {
					line := append(bytes.Repeat([]byte{mark}, n), '\n')
					line[0] = byte(' ' + i)
					if _, err := out.Write(line); err != nil {
						t.Error(err)
						return
					}
				}
			})
			readMarked(t, in, mark, most, sizes)
		})
	}
	all.Wait()
}

// readMarked reads lines of the given sizes, which consist of a number and then mark bytes, and
// keeps those that are not too long.
func readMarked(t *testing.T, in *os.File, mark byte, most int, sizes []int) {
	src := &output{file: in, over: func() bool { return false }, heard: func() {}}
	defer src.release()
	l := lines{src: src, max: most}
	kept := map[int][]byte{}
	for i := 0; ; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%5+1)*time.Millisecond)
		line, err := l.next(ctx)
		cancel()
		var long *longLine
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			continue
		case errors.As(err, &long):
			if whole := append(bytes.Clone(long.head[1:]), long.tail...); long.size != sizes[i] ||
				bytes.Count(whole, []byte{mark}) != len(whole) {
				t.Errorf("%c: line %d: %d bytes, want %d, or another's", mark, i, long.size, sizes[i])
			}
		case err == nil:
			kept[i] = line
		case err == io.EOF:
			if i != len(sizes) {
				t.Errorf("%c: %d lines, want %d", mark, i, len(sizes))
			}
			for i, line := range kept {
				if len(line) != sizes[i] || line[0] != byte(' '+i) ||
					bytes.Count(line[1:], []byte{mark}) != len(line)-1 {
					t.Errorf("%c: line %d has %d bytes, want %d of its own", mark, i, len(line), sizes[i])
				}
			}
			return
		default:
			t.Errorf("%c: line %d: %v", mark, i, err)
			return
		}
		i++
	}
}
