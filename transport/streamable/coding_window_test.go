package streamable

import (
	"bufio"
	"bytes"
	"io"
	"runtime"
	"testing"
)

// bitWriter writes a stream whose fields begin with the lowest bit.
type bitWriter struct {
	all  []byte
	used uint
}

func (b *bitWriter) write(n uint, value uint32) {
	for i := range n {
		if b.used%8 == 0 {
			b.all = append(b.all, 0)
		}
		b.all[len(b.all)-1] |= byte(value>>i&1) << (b.used % 8)
		b.used++
	}
}

// most writes 256 as the number of block types or of trees (RFC 7932 §9.2).
func (b *bitWriter) most() {
	b.write(1, 1)
	b.write(3, 7)
	b.write(7, 127)
}

// only writes a prefix code with a single symbol, 0, of an alphabet with so many bits per symbol.
func (b *bitWriter) only(symbol uint) {
	b.write(2, 1) // simple
	b.write(2, 0) // one symbol
	b.write(symbol, 0)
}

// greedy returns the beginning of a brotli stream that makes its decoder allocate the maximum
// number of prefix codes of each kind, with the smallest window.
func greedy() []byte {
	var b bitWriter
	b.write(1, 0)       // WBITS: 16
	b.write(2, 1)       // ISLAST, and not empty
	b.write(2, 0)       // MLEN has 4 nibbles
	b.write(16, 0xffff) // MLEN-1
	b.write(1, 0)       // one type of blocks of literals
	b.most()            // of insert and copy
	b.only(9)           // block types
	b.only(5)           // block counts
	b.write(2, 0)       // the first count
	b.write(1, 0)       // one type of blocks of distances
	b.write(2, 3)       // NPOSTFIX
	b.write(4, 15)      // NDIRECT
	b.write(2, 0)       // the context of literals
	for range 2 {       // the context maps of literals and of distances
		b.most()
		b.write(1, 0) // no runs of zeroes
		b.only(8)
		b.write(1, 0) // as it is
	}
	return append(b.all, make([]byte, 64)...)
}

// A decoder takes no more memory than is counted for it, whatever the beginning of the body
// requests.
func TestBrotliTakesNoMoreThanIsCounted(t *testing.T) {
	text := greedy()
	counted := brotliWindow(bufio.NewReader(bytes.NewReader(text)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := unbrotli(bufio.NewReader(bytes.NewReader(text)), counted)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, d); err == nil {
		t.Error("the stream is good: it is not read as far as its codes")
	}
	runtime.ReadMemStats(&after)
	took := int(after.TotalAlloc - before.TotalAlloc)
	if took > counted {
		t.Errorf("the decoder took %d bytes, and %d are counted", took, counted)
	}
	if least := 2 << 20; took < least {
		t.Errorf("the decoder took %d bytes: the stream asks for less than it could", took)
	}
}
