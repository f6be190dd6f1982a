package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// output reads a child's standard output. The end of ctx interrupts a read, and so does the end of the other side even if something that
// it left behind keeps the pipe open.
type output struct {
	file  *os.File
	over  func() bool // nothing new will come: what is in the pipe is the rest
	heard func()      // bytes were read

	cut  <-chan struct{} // of the ctx that is watched
	stop func() bool
}

// read waits for bytes. A deadline is how everything interrupts it: those of ctx, Child.run and Conn.write look the same, so what
// happened is asked for.
func (o *output) read(ctx context.Context, p []byte) (int, error) {
	o.watch(ctx)
	for quiet := false; ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if !quiet && o.over() {
			quiet = true
			o.file.SetReadDeadline(time.Now().Add(drainTime))
		}
		n, err := o.file.Read(p)
		if n > 0 {
			o.heard()
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if quiet && ctx.Err() == nil {
			return 0, io.EOF
		}
		if !o.over() {
			o.file.SetReadDeadline(time.Time{}) // it was for an earlier ctx
		}
	}
}

// watch makes the end of ctx interrupt reads. Callers pass the same ctx again and again, so the arrangement is kept until it changes.
func (o *output) watch(ctx context.Context) {
	if o.cut == ctx.Done() {
		return
	}
	o.release()
	o.cut = ctx.Done()
	o.stop = context.AfterFunc(ctx, func() { o.file.SetReadDeadline(time.Unix(1, 0)) })
}

// release undoes watch.
func (o *output) release() {
	if o.stop != nil {
		o.stop()
		o.cut, o.stop = nil, nil
	}
}
