package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"time"
)

// Trace is what happened, one line for each thing, or as much of it as tells one run from another.
type Trace struct {
	sum hash.Hash
	out io.Writer // nil keeps no lines
	buf []byte
}

// NewTrace makes a trace. Its lines go to out, unless that is nil.
func NewTrace(out io.Writer) *Trace { return &Trace{sum: sha256.New(), out: out} }

func (t *Trace) line(step int, at time.Duration, what, who, detail string) {
	t.buf = fmt.Appendf(t.buf[:0], "%6d %12.6f %-8s %s %s\n", step, at.Seconds(), what, who, detail)
	t.sum.Write(t.buf)
	if t.out != nil {
		_, _ = t.out.Write(t.buf) // a trace that nobody reads is still summed up
	}
}

// Sum is the same for two runs that were the same.
func (t *Trace) Sum() string { return hex.EncodeToString(t.sum.Sum(nil)[:8]) }
