package tasks

import (
	"errors"
	"slices"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// OwnerState is the owner's information about a task after a crash.
type OwnerState struct {
	Requests []uint64     // the client's requests without an answer
	Calls    []uint64     // the host's requests to the server whose answers can still arrive
	Puts     []uint64     // the questions that were sent to the client
	Asked    []jsonrpc.ID // the server's requests without an answer
}

var errForgotten = errors.New("lost in a crash")

// FailedByCrash returns a failed task in place of a task of which a crash has left only the
// options.
func FailedByCrash(now time.Time, o Options) *Task {
	t := New(now, o)
	t.status = Failed
	err := protocol.LostInCrash(o.Name, errForgotten)
	t.err, t.message = err, err.Message
	return t
}

// Recover restores a consistent state after a crash in the middle of a step. It continues the work
// that both the task and its owner know, and ends all other work. No peer waits forever, and no
// request is sent twice.
func (t *Task) Recover(now time.Time, k OwnerState) []Effect {
	clear(t.effects)
	t.effects, t.now, t.armed = t.effects[:0], now, time.Time{}
	t.created, t.updated = past(now, t.created), past(now, t.updated)
	t.endUnknown(k)
	if t.expire(); !t.forgotten {
		t.continueKnown(k)
	} else {
		t.do(Effect{Do: Forget})
	}
	t.arm()
	return t.effects
}

// past converts a time that may come from another clock. The result is as long ago as at says, and
// not later than now.
func past(now, at time.Time) time.Time { return now.Add(-max(now.Sub(at), 0)) }

// endUnknown ends the requests and questions that the task does not know.
func (t *Task) endUnknown(k OwnerState) {
	for _, r := range k.Requests {
		if r != t.creator && !slices.Contains(t.waiters, r) {
			t.refuse(r, protocol.InternalError(errForgotten))
		}
	}
	for _, c := range k.Calls {
		if c != t.toolCall && c != t.pollCall && c != t.resultCall && !slices.Contains(t.ignored, c) {
			t.do(Effect{Do: Recall, Number: c})
		}
	}
	for _, p := range k.Puts {
		if !slices.ContainsFunc(t.inputs, func(in input) bool {
			return in.number == p && in.request != 0
		}) {
			t.do(Effect{Do: Retract, Number: p})
		}
	}
	for _, id := range k.Asked {
		if !slices.ContainsFunc(t.inputs, func(in input) bool {
			return in.upstreamKey == "" && in.id == id
		}) {
			t.do(Effect{Do: Reject, ID: id, Err: protocol.InternalError(errForgotten)})
		}
	}
}

// continueKnown drops the requests that the owner does not know, and ensures that the task makes
// progress.
func (t *Task) continueKnown(k OwnerState) {
	unasked := func(r uint64) bool { return !slices.Contains(k.Requests, r) }
	unsent := func(c uint64) bool { return !slices.Contains(k.Calls, c) }
	t.ignored = slices.DeleteFunc(t.ignored, unsent)
	t.waiters = slices.DeleteFunc(t.waiters, unasked)
	creator := t.creator
	if unasked(creator) {
		t.creator = 0
	}
	t.repairInputs(k)
	if unsent(t.pollCall) {
		t.pollCall = 0
	}
	if unsent(t.resultCall) {
		t.resultCall = 0
	}
	lost := unsent(t.toolCall)
	if lost {
		t.toolCall = 0
	}
	begun := t.numbers > 0 || len(t.upstreamID) > 0 || t.status.Final()
	asking := slices.ContainsFunc(t.inputs, func(in input) bool { return in.first })
	switch {
	// No client knows the task.
	case !begun, t.creator != creator, t.o.ClientDialect == None && len(t.waiters) == 0:
		if t.stop(); !t.status.Final() {
			t.end(Cancelled)
		}
		t.forget()
	case t.status.Final():
		t.end(t.status)
	case len(t.upstreamID) == 0 && lost && !asking:
		t.fail(errForgotten)
	default:
		if len(t.upstreamID) > 0 && t.pollCall == 0 && t.due.IsZero() {
			t.due = t.now
			t.expire()
		}
		t.sendQuestions()
	}
}

// missed handles the loss of a server's answer in a crash. A request that only reads is sent again.
func (t *Task) missed(in Event) {
	switch {
	case in.Number == t.toolCall && in.Number != 0:
		t.toolCall = 0
		t.fail(in.Err)
	case in.Number == t.resultCall && in.Number != 0: // the next poll requests the result again
		t.resultCall = 0
	default:
		t.answered(in)
	}
}

// fail ends a task whose work was lost.
func (t *Task) fail(cause error) {
	err := protocol.LostInCrash(t.o.Name, cause)
	t.message = err.Message
	t.finish(nil, err)
}

// repairInputs drops the questions that cannot be answered. It marks the questions that did not
// reach the client as not sent.
func (t *Task) repairInputs(k OwnerState) {
	seen := map[uint64]bool{0: true}
	t.inputs = slices.DeleteFunc(t.inputs, func(in input) bool {
		again := seen[in.number]
		seen[in.number] = true
		return again || in.key == "" || in.kind < mrtr.Elicitation || in.kind > mrtr.Roots ||
			in.upstreamKey == "" && !slices.Contains(k.Asked, in.id)
	})
	for i := range t.inputs {
		in := &t.inputs[i]
		if !slices.Contains(k.Puts, in.number) || !slices.Contains(k.Requests, in.request) {
			in.request = 0
		}
		t.numbers = max(t.numbers, in.number)
	}
}
