package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// output reads a child's standard output. The end of ctx interrupts a read. So does the end of the
// program, even if a process that it left behind keeps the pipe open.
type output struct {
	file  *os.File
	over  func() bool // no new output will come: the pipe holds the rest
	heard func()      // called when bytes were read

	cut  <-chan struct{} // the Done channel of the ctx that is watched
	stop func() bool
}

// read waits for bytes. A read deadline interrupts it for several reasons (ctx, Child.run,
// Conn.write) that look the same, so read checks which one it was.
func (o *output) read(ctx context.Context, p []byte) (int, error) {
	o.watch(ctx)
	for quiet := false; ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if !quiet && o.over() {
			quiet = true
			o.file.SetReadDeadline(time.Now().Add(emptyPipeTime))
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
			o.file.SetReadDeadline(time.Time{}) // the deadline was for an earlier ctx
		}
	}
}

// watch lets the end of ctx interrupt reads. Callers pass the same ctx again and again, so the
// AfterFunc is kept until the ctx changes.
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
