package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// ErrNotOurs says that the run must not end the host, because nobody would start it again.
var ErrNotOurs = errors.New("the host is not ours to end")

const (
	// outlive is how long processes of a host may keep running after it has ended.
	outlive = time.Second
	// lookAgain is the interval between looks at whether the host and its processes have ended. It is
	// the resolution of the measured times.
	lookAgain = 5 * time.Millisecond
)

// host returns the process of the host. The handle keeps its signals from another process that gets
// the same pid.
func host(s *Site) (*os.Process, error) {
	if s.PID == 0 {
		return nil, errors.New("the host is on another machine")
	}
	return os.FindProcess(s.PID)
}

// endedHost is a host that was ended, until it is started again.
type endedHost struct {
	site  *Site
	over  sync.WaitGroup
	once  sync.Once
	left  []process // processes that outlived it for too long
	found map[string][]float64
}

// end ends the host with a signal. Healing waits until the host is gone, calls before if it is not
// nil, and starts the next host. It measures how long the end took, how long processes of the host
// outlived it, and how soon the next host was ready.
func end(s *Site, with syscall.Signal, before func() error) (Injected, error) {
	if s.Start == nil {
		return Injected{}, ErrNotOurs
	}
	d := &endedHost{site: s, found: map[string][]float64{}}
	if err := d.signal(s.PID, with); err != nil {
		return Injected{}, err
	}
	in := done(fmt.Sprintf("the host, process %d", s.PID))
	in.Heal = func(ctx context.Context) (err error) {
		d.once.Do(func() { err = d.again(ctx, before) })
		return err
	}
	in.Figures = func() map[string][]float64 { return d.found }
	return in, nil
}

// signal sends a signal to a host and starts to watch for its end.
func (d *endedHost) signal(pid int, with syscall.Signal) error {
	p, err := host(&Site{PID: pid})
	if err != nil {
		return err
	}
	defer p.Release() //nolint:errcheck // it closes a descriptor
	host, others := processOf(pid), descendants(pid)
	sent := time.Now()
	if err := p.Signal(with); err != nil {
		return err
	}
	// it ends with the host, or after hostEnd; Heal waits for it
	d.over.Go(func() { d.watch(sent, host, others) })
	return nil
}

// hostEnd is how long a host may take to end. It is longer than the drain time of any host that
// experiments break.
const hostEnd = 30 * time.Second

// watch waits until a host has ended, and then until all its descendants have.
func (d *endedHost) watch(sent time.Time, host process, others []process) {
	for host.runs() && time.Since(sent) < hostEnd {
		time.Sleep(lookAgain)
	}
	ended := time.Now()
	d.sample("end_ms", ended.Sub(sent))
	for d.left = running(others); len(d.left) > 0 &&
		time.Since(ended) < outlive; d.left = running(d.left) {
		time.Sleep(lookAgain)
	}
	d.sample("orphans_ms", time.Since(ended))
}

func (d *endedHost) sample(figure string, took time.Duration) {
	d.found[figure] = append(d.found[figure], float64(took)/float64(time.Millisecond))
}

func running(all []process) (some []process) {
	for _, p := range all {
		if p.runs() {
			some = append(some, p)
		}
	}
	return some
}

// again starts the host again, even if an earlier step failed.
func (d *endedHost) again(ctx context.Context, before func() error) error {
	d.over.Wait()
	var err error
	if before != nil {
		err = before()
	}
	began := time.Now()
	err = errors.Join(err, d.site.Start(ctx))
	d.sample("ready_ms", time.Since(began))
	return errors.Join(err, d.orphans())
}

// orphans returns an error that reports the processes that outlived a host for too long.
func (d *endedHost) orphans() error {
	if len(d.left) == 0 {
		return nil
	}
	return fmt.Errorf("%d processes of the host still ran %s after its end, one is %d", len(d.left),
		outlive, d.left[0].pid)
}
