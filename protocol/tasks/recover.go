package tasks

import (
	"errors"
	"slices"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// Known is what the owner of a task has in hand after a crash.
type Known struct {
	Requests []uint64     // the client's that have no answer
	Calls    []uint64     // those to the server whose answer will come
	Puts     []uint64     // the questions that the client has
	Asked    []jsonrpc.ID // the server's requests that have no answer
}

var errForgotten = errors.New("lost in a crash")

// Broken is a task of which a crash has left no more than what it was made from: it has failed.
func Broken(now time.Time, o Options) *Task {
	t := New(now, o)
	t.status = Failed
	err := protocol.Forgotten(o.Name, errForgotten)
	t.err, t.message = err, err.Message
	return t
}

// Recover goes on after a crash in the midst of a step. What the task and its owner agree on goes on; what only one of them knows is ended:
// nobody is left waiting, and no request is made twice.
func (t *Task) Recover(now time.Time, k Known) []Effect {
	clear(t.effects)
	t.effects, t.now, t.armed = t.effects[:0], now, time.Time{}
	t.created, t.updated = past(now, t.created), past(now, t.updated)
	t.disown(k)
	if t.expire(); !t.forgotten {
		t.takeUp(k)
	} else {
		t.do(Effect{Do: Forget})
	}
	t.arm()
	return t.effects
}

// past is a time that may have been written down as now's clock counts it: as long ago as it says, and not later than now.
func past(now, at time.Time) time.Time { return now.Add(-max(now.Sub(at), 0)) }

// disown ends what the task knows nothing of.
func (t *Task) disown(k Known) {
	for _, r := range k.Requests {
		if r != t.creator && !slices.Contains(t.waiters, r) {
			t.refuse(r, protocol.InternalError(errForgotten))
		}
	}
	for _, c := range k.Calls {
		if c != t.calling && c != t.polling && c != t.getting && !slices.Contains(t.told, c) {
			t.do(Effect{Do: Recall, Number: c})
		}
	}
	for _, p := range k.Puts {
		if !slices.ContainsFunc(t.inputs, func(in input) bool { return in.number == p && in.at != 0 }) {
			t.do(Effect{Do: Retract, Number: p})
		}
	}
	for _, id := range k.Asked {
		if !slices.ContainsFunc(t.inputs, func(in input) bool { return in.theirs == "" && in.id == id }) {
			t.do(Effect{Do: Reject, ID: id, Err: protocol.InternalError(errForgotten)})
		}
	}
}

// takeUp forgets what its owner knows nothing of, and sees to it that something is under way.
func (t *Task) takeUp(k Known) {
	unasked := func(r uint64) bool { return !slices.Contains(k.Requests, r) }
	unsent := func(c uint64) bool { return !slices.Contains(k.Calls, c) }
	t.told = slices.DeleteFunc(t.told, unsent)
	t.waiters = slices.DeleteFunc(t.waiters, unasked)
	creator := t.creator
	if unasked(creator) {
		t.creator = 0
	}
	t.mendInputs(k)
	if unsent(t.polling) {
		t.polling = 0
	}
	if unsent(t.getting) {
		t.getting = 0
	}
	lost := unsent(t.calling)
	if lost {
		t.calling = 0
	}
	begun := t.numbers > 0 || len(t.own) > 0 || t.status.Final()
	asking := slices.ContainsFunc(t.inputs, func(in input) bool { return in.first })
	switch {
	case !begun, t.creator != creator, t.o.Down == None && len(t.waiters) == 0: // nobody knows of it
		if t.stop(); !t.status.Final() {
			t.end(Cancelled)
		}
		t.forget()
	case t.status.Final():
		t.end(t.status)
	case len(t.own) == 0 && lost && !asking:
		t.fail(errForgotten)
	default:
		if len(t.own) > 0 && t.polling == 0 && t.due.IsZero() {
			t.due = t.now
			t.expire()
		}
		t.put()
	}
}

// missed takes an answer of the server that nobody can read any more. What only asks is asked again.
func (t *Task) missed(in Event) {
	switch {
	case in.Number == t.calling && in.Number != 0:
		t.calling = 0
		t.fail(in.Err)
	case in.Number == t.getting && in.Number != 0: // the next poll leads there again
		t.getting = 0
	default:
		t.answered(in)
	}
}

// fail ends a task whose work is lost track of.
func (t *Task) fail(cause error) {
	err := protocol.Forgotten(t.o.Name, cause)
	t.message = err.Message
	t.finish(nil, err)
}

// mendInputs drops questions that can go nowhere, and those that the client was not put are not put.
func (t *Task) mendInputs(k Known) {
	seen := map[uint64]bool{0: true}
	t.inputs = slices.DeleteFunc(t.inputs, func(in input) bool {
		again := seen[in.number]
		seen[in.number] = true
		return again || in.key == "" || in.kind < mrtr.Elicitation || in.kind > mrtr.Roots || in.theirs == "" && !slices.Contains(k.Asked, in.id)
	})
	for i := range t.inputs {
		in := &t.inputs[i]
		if !slices.Contains(k.Puts, in.number) || !slices.Contains(k.Requests, in.at) {
			in.at = 0
		}
		t.numbers = max(t.numbers, in.number)
	}
}
