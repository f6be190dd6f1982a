package otp

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"
)

// maxGoroutines is the largest number of goroutines that are searched for a stuck one. Each takes
// 256 bytes during the search. When there are more, the search finds none.
const maxGoroutines = 20_000

// doing returns what the process has been at since the given stamp: the message, nil when it is
// none, and the functions that identify its goroutine, the most specific one first. It returns
// nothing when the process has moved on.
func (m *mailbox) doing(since stamp) (msg any, in []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reconcile()
	if m.cursor.at() != since {
		return nil, nil
	}
	if m.guard.row.child().Start.Type() == SupervisorType {
		return m.currentMessage, []string{
			"", "otp.(*supervisor).begin", "otp.(*supervisor).receive", "otp.(*supervisor).signal",
			"otp.(*supervisor).conclude",
		}
	}
	if !m.open { // others know its behaviour only once it is open
		return nil, []string{"", "otp.(*worker).begin", "otp.(*worker).conclude"}
	}
	if p := m.guard.current.Load(); p != nil {
		return m.currentMessage, []string{receiver(p.behaviour), "otp.(*worker).receive"}
	}
	return m.currentMessage, nil
}

// report describes what a process is stuck at. It takes a profile of goroutines at most once a
// second, for all stuck processes together.
func (w *watch) report(g *guard, since stamp, tick uint64, now time.Time) *CrashReport {
	msg, in := g.mailbox.doing(since)
	var pcs []uintptr
	if in != nil && (w.profiledAt == 0 || tick-w.profiledAt >= uint64(time.Second/WatchInterval)) {
		w.profiledAt = tick
		pcs = findStack(in)
	}
	r := g.newReport(ErrStuck, msg, pcs)
	r.At = now
	return r
}

// findStack returns the stack of a worker's goroutine. The runtime identifies goroutines only at a
// price: labels would cost every wake-up of every worker, and a dump with arguments stops the world
// while it is written. So findStack looks for a goroutine that handles a message with the same
// behaviour. If there are several, it returns the most frequent stack, because goroutines that are
// stuck at the same thing have the same stack. The profile takes two short pauses, whatever the
// number of goroutines.
func findStack(in []string) []uintptr {
	n := runtime.NumGoroutine() + 64
	if n > maxGoroutines {
		return nil
	}
	all := make([]runtime.StackRecord, n)
	n, ok := runtime.GoroutineProfile(all)
	if !ok {
		return nil
	}
	count := make(map[[32]uintptr]int)
	var best []uintptr
	most, rank := 0, 0
	for i := range all[:n] {
		r := rankOf(all[i].Stack(), in)
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

// rankOf says how well a stack fits: 2 when it is in the first of the functions, 1 when it is in
// one of the others, 0 when it is in none.
func rankOf(pcs []uintptr, in []string) (rank int) {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		switch i := slices.IndexFunc(in, func(name string) bool {
			return name != "" && strings.HasSuffix(f.Function, name)
		}); {
		case i == 0:
			rank = 2
		case i > 0:
			rank = max(rank, 1)
		}
		if !more {
			return rank
		}
	}
}

// receiver returns the name of a behaviour's Receive method, as it appears in stack frames.
func receiver(behaviour any) string {
	t := reflect.TypeOf(behaviour)
	if t.Kind() == reflect.Pointer {
		return fmt.Sprintf("%s.(*%s).Receive", t.Elem().PkgPath(), t.Elem().Name())
	}
	return fmt.Sprintf("%s.%s.Receive", t.PkgPath(), t.Name())
}
