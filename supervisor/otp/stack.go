package otp

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"
)

// maxGoroutines is how many goroutines are looked through for one that is stuck. Each takes 256 bytes while it is, and with more of them none is
// found.
const maxGoroutines = 20_000

// busy is the tick at which the process has begun what it is at; 0 when it is idle.
func (m *mailbox) busy() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.since
}

// doing is what the process is at since then: the message, nil when it is none, and the behaviour, nil when it is not known.
func (m *mailbox) doing(since uint64) (msg, behaviour any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since != since || !m.open { // what is written before it opens may be read while it is open
		return nil, nil
	}
	if p := m.guard.current.Load(); p != nil {
		behaviour = p.behaviour
	}
	return m.current, behaviour
}

// report says what a worker is stuck at. Goroutines are looked at once a second at most, for all who are stuck together.
func (w *watch) report(g *guard, since, tick uint64, now time.Time) *CrashReport {
	msg, behaviour := g.box.doing(since)
	var pcs []uintptr
	if behaviour != nil && (w.pictured == 0 || tick-w.pictured >= uint64(time.Second/Tick)) {
		w.pictured = tick
		pcs = picture(behaviour)
	}
	r := g.newReport(ErrStuck, msg, pcs)
	r.At = now
	return r
}

// picture is where the goroutine of a worker is. The runtime tells goroutines apart only at a price: labels cost every wake-up of every worker, and
// a dump with arguments stops the world for as long as it takes to write it. So what is found is a goroutine that handles a message
// with the same behaviour; with several of those it is the one of which there are most, as of those that are stuck at the same thing.
// The profile takes two short pauses, whatever the number of goroutines.
func picture(behaviour any) []uintptr {
	n := runtime.NumGoroutine() + 64
	if n > maxGoroutines {
		return nil
	}
	all := make([]runtime.StackRecord, n)
	n, ok := runtime.GoroutineProfile(all)
	if !ok {
		return nil
	}
	receive := receiver(behaviour)
	count := make(map[[32]uintptr]int)
	var best []uintptr
	most, rank := 0, 0
	for i := range all[:n] {
		r := rankOf(all[i].Stack(), receive)
		if r == 0 || r < rank {
			continue
		}
		count[all[i].Stack0]++
		if c := count[all[i].Stack0]; r > rank || c > most {
			best, most, rank = all[i].Stack(), c, r
		}
	}
	return append([]uintptr(nil), best...)
}

// rankOf says how well a stack fits: 2 when it is in the behaviour's method, 1 when it is on the way there, 0 when it is something else's.
func rankOf(pcs []uintptr, receive string) (rank int) {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		switch {
		case f.Function == receive:
			rank = 2
		case rank == 0 && strings.HasSuffix(f.Function, "otp.(*worker).receive"):
			rank = 1
		}
		if !more {
			return rank
		}
	}
}

// receiver is the name of a behaviour's Receive, as frames have it.
func receiver(behaviour any) string {
	t := reflect.TypeOf(behaviour)
	if t.Kind() == reflect.Pointer {
		return fmt.Sprintf("%s.(*%s).Receive", t.Elem().PkgPath(), t.Elem().Name())
	}
	return fmt.Sprintf("%s.%s.Receive", t.PkgPath(), t.Name())
}
