package otp

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// goroutineID returns the id of the calling goroutine, as the runtime prints it.
func goroutineID() string {
	var b [64]byte
	return strings.Fields(string(b[:runtime.Stack(b[:], false)]))[1]
}

// passing holds two workers: a passes its messages on to b and then calls after. Both report the
// goroutine on which they run.
type passing struct {
	heard chan string // made by begin, in the bubble
	gate  chan struct{}
	after func(gate chan struct{})
}

func (w *passing) begin() { w.heard, w.gate = make(chan string, 10), make(chan struct{}) }

func (w *passing) spec() Spec {
	return Spec{Strategy: OneForOne, Intensity: Intensity{5, time.Hour}, Children: []Child{
		{ID: "b", Start: scriptWorker(script{receive: func(*Process, any) error {
			w.heard <- goroutineID()
			return nil
		}})},
		{ID: "a", Start: scriptWorker(script{receive: func(p *Process, msg any) error {
			if err := p.Pass(msg.(Ref), "news"); err != nil {
				w.heard <- err.Error()
			}
			w.heard <- goroutineID()
			w.after(w.gate)
			return nil
		}})},
	}}
}

func TestTheGoroutineGoesOnWithWhoIsPassedTo(t *testing.T) {
	w := &passing{after: func(chan struct{}) {}}
	runTree(t, w.spec(), func(t *testing.T, r *rig) {
		w.begin()
		for range 3 {
			send(t, r.ref("a"), r.ref("b"))
			if passed, next := <-w.heard, <-w.heard; passed != next {
				t.Errorf("passed on goroutine %s, handled on %s", passed, next)
			}
			synctest.Wait()
		}
		send(t, r.ref("a"), Ref{})
		if err := <-w.heard; err != ErrNoProc.Error() {
			t.Errorf("passed to nobody: %s", err)
		}
	})
}

// If a worker passes to another one and then does not return, the other one waits only until the
// watch notices. If the worker crashes or ends its goroutine, the other one does not wait at all.
func TestWhoIsPassedToIsHeldUpByNobody(t *testing.T) {
	for name, after := range map[string]func(gate chan struct{}){
		"hangs":   func(gate chan struct{}) { <-gate },
		"panics":  func(chan struct{}) { panic("now") },
		"Goexits": func(chan struct{}) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			w := &passing{after: after}
			runTree(t, w.spec(), func(t *testing.T, r *rig) {
				w.begin()
				begun := time.Now()
				send(t, r.ref("a"), r.ref("b"))
				<-w.heard
				<-w.heard
				if took := time.Since(begun); took > (lookEvery+2)*WatchInterval {
					t.Errorf("after %s", took)
				}
				close(w.gate)
				synctest.Wait()
				send(t, r.ref("a"), r.ref("b"))
				<-w.heard
				<-w.heard
			})
		})
	}
}
