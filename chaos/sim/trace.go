package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"time"
)

// Trace records what happens, one line for each event. Without an output it keeps only a checksum,
// which identifies the run.
type Trace struct {
	sum hash.Hash
	out io.Writer // nil keeps no lines
	buf []byte
}

// NewTrace returns a trace that writes its lines to out, unless out is nil.
func NewTrace(out io.Writer) *Trace { return &Trace{sum: sha256.New(), out: out} }

func (t *Trace) line(step int, at time.Duration, label, who, detail string) {
	t.buf = fmt.Appendf(t.buf[:0], "%6d %12.6f %-8s %s %s\n", step, at.Seconds(), label, who, detail)
	t.sum.Write(t.buf)
	if t.out != nil {
		_, _ = t.out.Write(t.buf) // the checksum does not depend on the output
	}
}

// Sum returns the checksum. It is equal for two identical runs.
func (t *Trace) Sum() string { return hex.EncodeToString(t.sum.Sum(nil)[:8]) }
