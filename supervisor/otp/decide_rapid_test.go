package otp

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// world models what the actions of a state do to processes. It fails the test when an action makes
// no sense.
type world struct {
	*rapid.T
	s   *state
	now time.Time
	// "starting", "running", "ending", "leaving", "parked"; absent: no process
	procs   map[*childRecord]string
	asked   map[string]int // requests that have not been answered
	again   []*childRecord
	started bool
	shut    bool
	exited  bool
	n       int
}

var anyReason = []error{
	Normal, ErrShutdown, ShutdownWith(errors.New("term")), errors.New("crash"), ErrKilled, ErrGiveUp,
}

func newWorld(t *rapid.T) *world {
	spec := Spec{
		Strategy: rapid.SampledFrom([]Strategy{OneForOne, OneForAll, RestForOne,
			SimpleOneForOne}).Draw(t, "strategy"),
		AutoShutdown: rapid.SampledFrom([]AutoShutdown{Never, AnySignificant, AllSignificant}).Draw(t,
			"auto"),
		Intensity: Intensity{rapid.IntRange(0, 4).Draw(t, "restarts"), 10},
	}
	if spec.Strategy == OneForOne && rapid.Bool().Draw(t, "backoff") {
		spec.Backoff = Backoff{3, 20, 50, rapid.Bool().Draw(t, "boots")}
	}
	w := &world{
		T: t, s: newState("w", spec), procs: map[*childRecord]string{}, asked: map[string]int{},
		now: time.Unix(0, 0),
	}
	w.s.maxRequestedStarts = rapid.IntRange(1, 3).Draw(t, "most")
	if spec.Strategy != SimpleOneForOne {
		for i := range rapid.IntRange(0, 4).Draw(t, "children") {
			w.s.roster.add(w.child(fmt.Sprint(i)))
		}
	}
	return w
}

func (w *world) child(id string) *childRecord {
	c := Child{
		ID:      id,
		Restart: rapid.SampledFrom([]Restart{Permanent, Transient, Temporary}).Draw(w.T, "restart"),
		Start:   scripted(id),
	}
	if rapid.IntRange(0, 4).Draw(w.T, "kind") == 0 {
		c.Start = Supervisor(Spec{})
	}
	if rapid.IntRange(0, 5).Draw(w.T, "shutdown") == 0 {
		c.Shutdown = BrutalKill
	}
	c.Significant = c.Restart != Permanent && w.s.auto != Never &&
		rapid.Bool().Draw(w.T, "significant")
	return newRecord(id, c)
}

// step gives the state an input and performs the actions that it returns.
func (w *world) step(in any) {
	for _, a := range w.s.Step(w.now, in) {
		w.perform(a)
	}
	asked := 0
	for k := w.s.roster.first; k != nil; k = k.next {
		if k.starter != nil {
			asked++
		}
	}
	if asked != w.s.requestedStarts || asked > w.s.maxRequestedStarts {
		w.Fatalf("%d starts are waited for, %d are counted, at most %d may be", asked,
			w.s.requestedStarts, w.s.maxRequestedStarts)
	}
	if w.started && w.shut && w.s.mode == serving && len(w.s.plan) == 0 &&
		asked < w.s.maxRequestedStarts {
		w.Fatalf("requests wait for nothing")
	}
	if w.s.strategy == OneForAll || w.s.strategy == RestForOne {
		going := 0
		for _, p := range w.procs {
			if p == "starting" {
				going++
			}
		}
		if going > 1 {
			w.Fatalf("%d children of a group start at the same time", going)
		}
	}
}

func (w *world) perform(a action) {
	expect := func(ok ...string) {
		for _, p := range ok {
			if w.procs[a.child] == p {
				return
			}
		}
		w.Fatalf("%s with process %q", actionText(a), w.procs[a.child])
	}
	if w.exited {
		w.Fatalf("%s after exit", actionText(a))
	}
	switch a.verb {
	case doSpawn:
		expect("")
		w.procs[a.child] = "starting"
	case doBegin:
		expect("parked")
		w.procs[a.child] = "starting"
	case doPark:
		expect("starting", "running")
		w.procs[a.child] = "ending"
	case doStop, doKill:
		expect("starting", "running", "ending")
		w.procs[a.child] = "leaving"
	case doReap:
		expect("parked")
		delete(w.procs, a.child)
	case doAbandon:
		expect("starting", "ending", "leaving")
		delete(w.procs, a.child)
	case doAgain:
		w.again = append(w.again, a.child)
	case doDelete, doRest:
		expect("", "leaving")
	case doPause:
		expect("")
		// The supervisor ends, because of an earlier exit.
		ends := a.child.stage == idle && w.s.mode != serving
		if a.child.stage != paused && !ends || a.delay < w.s.backoff.First || a.delay > w.s.backoff.Max {
			w.Fatalf("%s at stage %s", actionText(a), a.child.stage)
		}
	case doGiveUp:
		if !w.s.backoff.isZero() {
			w.Fatalf("a supervisor with a backoff gives up")
		}
	case doReply:
		name := a.request.(string)
		if w.asked[name]--; w.asked[name] < 0 {
			w.Fatalf("%s answered twice", name)
		}
	case doReady:
		if w.started {
			w.Fatalf("ready twice")
		}
		w.started = true
	case doOpen:
		w.shut = false
	case doShut, doClose:
		w.shut = true
	case doExit:
		w.exited = true
		if len(w.procs) > 0 {
			w.Fatalf("exit with %d processes", len(w.procs))
		}
	}
}

// happen makes one random possible event happen.
func (w *world) happen() {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 6).Draw(w.T, "pause")))
	var alive []*childRecord
	for k := w.s.roster.first; k != nil; k = k.next {
		if p := w.procs[k]; p != "" && p != "parked" {
			alive = append(alive, k)
		}
	}
	if len(alive) > 0 && rapid.IntRange(0, 3).Draw(w.T, "what") > 0 {
		w.live(rapid.SampledFrom(alive).Draw(w.T, "who"))
		return
	}
	for k := w.s.roster.first; k != nil; k = k.next {
		if k.stage == paused && rapid.Bool().Draw(w.T, "pause over") {
			w.step(inTimeout{child: k, timer: k.timer})
			return
		}
	}
	if len(w.again) > 0 && !w.shut && rapid.Bool().Draw(w.T, "again") {
		k := w.again[0]
		w.again = w.again[1:]
		w.step(inAgain{k})
		return
	}
	if w.started && !w.shut {
		w.request()
	}
}

// live advances one child's process.
func (w *world) live(k *childRecord) {
	reason := rapid.SampledFrom(anyReason).Draw(w.T, "reason")
	switch p := w.procs[k]; {
	case p == "starting" && rapid.IntRange(0, 3).Draw(w.T, "start") > 0:
		w.procs[k] = "running"
		w.step(inReady{k})
	case rapid.IntRange(0, 9).Draw(w.T, "timeout") == 0 && (k.stage == going || k.stage == away):
		w.step(inTimeout{child: k, timer: k.timer})
	default:
		parked := p != "leaving" && k.inPlace()
		if parked {
			w.procs[k] = "parked"
		} else {
			delete(w.procs, k)
			if p != "leaving" && k.child.Restart == Temporary && k.child.Start.Type() == WorkerType {
				w.procs[k], parked = "parked", true // it waits for the decision too
			}
		}
		w.step(inExit{child: k, reason: reason, parked: parked,
			blame:  rapid.SampledFrom([]blame{blameNone, blameMessage, blameSelf}).Draw(w.T, "blame"),
			origin: rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(w.T, "origin")})
	}
}

// full draws whether too many processes are stuck.
func (w *world) full() bool { return rapid.IntRange(0, 9).Draw(w.T, "full") == 0 }

func (w *world) request() {
	w.n++
	id := fmt.Sprint(rapid.IntRange(0, 5).Draw(w.T, "id"))
	name := fmt.Sprintf("request %d", w.n)
	w.asked[name] = 1
	switch rapid.IntRange(0, 3).Draw(w.T, "request") {
	case 0:
		w.step(inStart{child: w.child(id), request: name, full: w.full()})
	case 1:
		w.step(inTerminate{id, name})
	case 2:
		w.step(inRestart{id: id, request: name, full: w.full()})
	case 3:
		w.step(inDelete{id, name})
	}
}

// TestStateKeepsItsPromises checks random sequences of events. No action is impossible, every
// request is answered once, and the supervisor becomes ready at most once. When told to stop it
// ends once, with nothing left running.
func TestStateKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.step(inBoot{})
		for range rapid.IntRange(0, 80).Draw(t, "events") {
			if w.exited {
				break
			}
			w.happen()
		}
		if !w.exited {
			w.step(inStop{ErrShutdown})
		}
		for range 1000 {
			if w.exited {
				break
			}
			for k := range w.procs {
				if w.procs[k] != "parked" {
					w.procs[k] = "leaving"
					delete(w.procs, k)
					w.step(inExit{child: k, reason: ErrShutdown})
					break
				}
			}
		}
		if !w.exited {
			t.Fatalf("told to stop, %d processes left: %v", len(w.procs), w.procs)
		}
		for name, n := range w.asked {
			if n != 0 {
				t.Errorf("%s not answered", name)
			}
		}
		if n := w.s.roster.significant; n != 0 {
			t.Errorf("%d significant children counted at the end", n)
		}
	})
}

// GoString makes rapid's logs readable.
func (k *childRecord) GoString() string { return k.id + ":" + k.stage.String() }
