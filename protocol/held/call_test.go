package held_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/held"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

var (
	start    = time.Unix(1_800_000_000, 0)
	everyone = func() protocol.ClientCapabilities {
		c, err := protocol.ParseClientCapabilities(
			jsontext.Value(`{"elicitation":{},"sampling":{},"roots":{}}`),
		)
		if err != nil {
			panic(err)
		}
		return c
	}()
	// questions, each with a valid answer
	questions = []struct{ method, params, answer string }{
		{"elicitation/create", `{"message":"m","requestedSchema":{},"_meta":{"progressToken":1}}`,
			`{"action":"accept"}`},
		{"sampling/createMessage", `{"messages":[],"maxTokens":1}`,
			`{"role":"assistant","model":"m","content":[]}`},
		{"roots/list", ``, `{"roots":[]}`},
	}
)

// transitions lists all changes of phase. The scenarios show each of them, and no other.
var transitions = map[string]bool{
	"running collecting": true, "running done": true, "running cancelled": true,
	"running expired": true, "running lost": true,
	"collecting running": true, "collecting published": true, "collecting done": true,
	"collecting cancelled": true,
	"collecting expired":   true, "collecting lost": true,
	"published running": true, "published parked": true, "published expired": true,
	"published lost": true,
	"parked done":    true, "parked expired": true,
}

// asked is a question of the server in the model.
type asked struct {
	id        jsonrpc.ID
	what      int
	key       string // "" before it is published
	answered  int
	withdrawn bool
}

// world is a call beside a model. The model knows only the client's open request, the server's
// questions, and whether either side has ended. The phase follows from these.
type world struct {
	*rapid.T
	call     *held.Call
	now      time.Time
	armed    time.Time
	open     held.RequestNumber
	round    uint32
	expiry   time.Time // of the last state
	finished bool      // the server answered, died, or was told of the cancellation
	over     bool
	forgot   bool
	outcomes map[held.RequestNumber]int
	dropped  map[held.RequestNumber]bool // cancelled
	asked    []*asked
}

func (w *world) pending() (list []*asked) {
	for _, q := range w.asked {
		if q.answered == 0 && !q.withdrawn {
			list = append(list, q)
		}
	}
	return list
}

// phase is the phase according to the model, which does not distinguish the final phases.
func (w *world) phase() held.Phase {
	switch {
	case w.over:
		return held.Done
	case w.open == 0 && w.finished:
		return held.Parked
	case w.open == 0:
		return held.Published
	case len(w.pending()) > 0:
		return held.Collecting
	}
	return held.Running
}

func (w *world) request() held.Request {
	sink := held.RequestNumber(len(w.outcomes) + 1)
	w.outcomes[sink] = 0
	return held.Request{
		Sink: sink, Capabilities: everyone, Progress: rapid.Bool().Draw(w.T, "progress"),
	}
}

// step gives the call an event, and checks every effect against the model.
func (w *world) step(in held.Event, seen map[string]bool) {
	before := w.call.Phase()
	change := func(to held.Phase) {
		if before != to {
			seen[fmt.Sprint(before, " ", to)] = true
		}
		before = to
	}
	for _, e := range w.call.Step(w.now, in) {
		if before.Over() && e.Do != held.Refuse && e.Do != held.Reject && e.Do != held.Forget &&
			e.Do != held.Arm {
			w.Fatalf("%+v after the end", e)
		}
		switch e.Do {
		case held.Arm:
			w.armed = e.At
		case held.Publish, held.Deliver, held.Refuse:
			w.outcome(in, e)
			if e.Do == held.Publish {
				change(held.Published) // may not be the last change of this step
			}
		case held.Relay:
			if e.Sink != w.open {
				w.Fatalf("progress for %d, but %d is open", e.Sink, w.open)
			}
		case held.Answer, held.Reject:
			i := slices.IndexFunc(w.asked, func(q *asked) bool { return q.id == e.ID })
			if i < 0 || w.asked[i].answered > 0 || w.asked[i].withdrawn {
				w.Fatalf("%+v is no answer to an open question", e)
			}
			w.asked[i].answered++
		case held.Recall:
			if w.finished {
				w.Fatal("the server is told to stop after it has")
			}
			w.finished, w.over = true, true
		case held.Forget:
			if w.forgot || !w.call.Phase().Over() {
				w.Fatal("forgotten twice or too early")
			}
			w.forgot, w.over = true, true
		}
	}
	after := w.call.Phase()
	change(after)
	if w.over = w.over || after.Over(); w.over != w.forgot {
		w.Fatalf("the call is %v, and forgotten is %v: what is over keeps nothing", after, w.forgot)
	}
	if got := min(after, held.Done); got != w.phase() || w.call.Round() != w.round {
		w.Fatalf("got %v after round %d, the model says %v after %d", after, w.call.Round(),
			w.phase(), w.round)
	}
	if !w.over && w.call.Waiting() != len(w.pending()) && !w.finished {
		w.Fatalf("%d questions wait, the model says %d", w.call.Waiting(), len(w.pending()))
	}
}

// outcome checks an answer to a request of the client.
func (w *world) outcome(in held.Event, e held.Effect) {
	retried := in.Op == held.Retry && e.Sink == in.Request.Sink
	if w.outcomes[e.Sink]++; w.outcomes[e.Sink] > 1 || w.dropped[e.Sink] {
		w.Fatalf("%+v is one outcome too many", e)
	}
	switch e.Do {
	case held.Refuse:
		if !retried {
			w.Fatalf("%+v refuses what was no retry", e)
		}
		return
	case held.Publish:
		list := w.pending()
		if in.Op == held.Ask && len(e.Inputs) == len(list)-1 {
			// The window had ended before this question, and only the timer was late.
			list = list[:len(list)-1]
		}
		if len(e.Inputs) != len(list) || len(list) == 0 || e.Round != w.round+1 ||
			!e.At.Equal(w.now.Add(protocol.InputTimeout)) {
			w.Fatalf("%+v, but %d questions wait", e, len(list))
		}
		for i, q := range list {
			if e.Inputs[i].Method != questions[q.what].method || q.key != "" && q.key != e.Inputs[i].Key {
				w.Fatalf("%+v is not about %+v", e.Inputs[i], q)
			}
			q.key = e.Inputs[i].Key
		}
		w.round, w.expiry = e.Round, e.At
	case held.Deliver:
		w.over = true
	}
	if !retried && e.Sink != w.open {
		w.Fatalf("%+v answers something other than the open request %d", e, w.open)
	}
	w.open = 0
}

// retry sends a retry with some of the answers. It computes the expected result before it calls the
// state machine.
func (w *world) retry(seen map[string]bool) {
	in := held.Event{Op: held.Retry, Request: w.request(), Round: w.round}
	if rapid.IntRange(0, 4).Draw(w.T, "other round") == 0 {
		in.Round += uint32(rapid.IntRange(0, 2).Draw(w.T, "off")) - 1
	}
	if w.phase() == held.Collecting {
		// A late timer may publish the next round in this very step. No client can know the state of that
		// round yet.
		in.Round = min(in.Round, w.round)
	}
	malformed := false
	for _, q := range w.pending() {
		if q.key == "" {
			continue
		}
		switch rapid.IntRange(0, 8).Draw(w.T, "answer") {
		case 0:
			malformed = true
			in.Answers.Responses = append(in.Answers.Responses, mrtr.Response{
				Key: q.key, Value: jsontext.Value(`12345`),
			})
		case 1, 2:
		default:
			in.Answers.Responses = append(in.Answers.Responses, mrtr.Response{
				Key: q.key, Value: jsontext.Value(questions[q.what].answer),
			})
		}
	}
	in.Answers.Responses = append(in.Answers.Responses, mrtr.Response{
		Key: "extra", Value: jsontext.Value(`7`),
	})
	// A late timer lets the call expire in this very step.
	asks := w.phase() == held.Published && w.now.Before(w.expiry)
	taken := asks && in.Round == w.round && !malformed
	if taken {
		w.open = in.Request.Sink
	}
	parked := w.phase() == held.Parked && w.now.Before(w.expiry) && in.Round == w.round
	w.step(in, seen)
	if refused := w.outcomes[in.Request.Sink] == 1 && !taken && !parked; !taken &&
		!parked && !refused {
		w.Fatal("a retry that is no good was not refused")
	}
}

// Each request of the client has exactly one outcome. Each question of the server gets one answer,
// or its call ends. After the end only refusals follow. Every phase equals the phase of the model.
func TestCallAgainstModel(t *testing.T) {
	seen := make(map[string]bool)
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			T: t, now: start, outcomes: map[held.RequestNumber]int{}, dropped: map[held.RequestNumber]bool{},
		}
		first := w.request()
		w.open = first.Sink
		w.call = held.New(first, held.Options{Version: protocol.V20260728, Method: "tools/call"})
		pass := func(d time.Duration) {
			end := w.now.Add(d)
			for !w.armed.IsZero() && !w.armed.After(end) {
				w.now, w.armed = w.armed, time.Time{}
				w.step(held.Event{Op: held.Expire}, seen)
			}
			w.now = end
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				q := &asked{id: jsonrpc.IntID(uint64(len(w.asked))), what: rapid.IntRange(0, 2).Draw(t, "what")}
				late := w.finished || w.over
				w.asked = append(w.asked, q)
				w.step(held.Event{Op: held.Ask, ID: q.id, Method: questions[q.what].method,
					Params: jsontext.Value(questions[q.what].params)}, seen)
				if late && q.answered != 1 {
					t.Fatal("a question of a call that is over was not rejected")
				}
			},
			"withdraw": func(t *rapid.T) {
				if list := w.pending(); len(list) > 0 && !w.finished {
					q := rapid.SampledFrom(list).Draw(t, "question")
					if w.call.Phase() == held.Collecting && w.armed.After(w.now) ||
						w.call.Phase() == held.Published && w.now.Before(w.expiry) {
						q.withdrawn = true
						w.step(held.Event{Op: held.Withdraw, ID: q.id}, seen)
					}
				}
			},
			"progress": func(t *rapid.T) {
				w.step(held.Event{Op: held.Progress, Params: jsontext.Value(`{}`)}, seen)
			},
			"finish": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "really") && !w.finished && (w.open != 0 || w.now.Before(w.expiry)) {
					w.finished = true
					w.step(held.Event{Op: held.Finish, Result: jsontext.Value(`{}`)}, seen)
				}
			},
			"lose": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "really") == 0 && !w.finished &&
					(w.open != 0 || w.now.Before(w.expiry)) {
					w.finished, w.over = true, true
					w.step(held.Event{Op: held.Lose, Err: errors.New("gone")}, seen)
				}
			},
			"retry": func(t *rapid.T) { w.retry(seen) },
			"cancel": func(t *rapid.T) {
				sink := held.RequestNumber(rapid.IntRange(1, len(w.outcomes)+1).Draw(t, "sink"))
				// The end of the window comes first if its timer is late.
				due := w.call.Phase() == held.Collecting && !w.armed.After(w.now)
				if rapid.IntRange(0, 3).Draw(t, "really") == 0 && !due {
					if sink == w.open {
						w.dropped[sink], w.open = true, 0
					}
					w.step(held.Event{Op: held.Cancel, Request: held.Request{Sink: sink}}, seen)
				}
			},
			"abort": func(t *rapid.T) {
				if rapid.IntRange(0, 5).Draw(t, "really") == 0 {
					w.step(held.Event{Op: held.Abort, Err: errors.New("too long")}, seen)
				}
			},
			"pass": func(t *rapid.T) {
				pass(rapid.SampledFrom([]time.Duration{10 * time.Millisecond, held.Window,
					held.ProgressInterval,
					protocol.InputTimeout}).Draw(t, "time"))
			},
			"sleep": func(t *rapid.T) { // no timer fires
				w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, held.Window,
					protocol.InputTimeout}).Draw(t, "time"))
			},
		})
		pass(time.Hour)
		if w.open != 0 {
			w.finished = true
			w.step(held.Event{Op: held.Finish, Result: jsontext.Value(`{}`)}, seen)
			pass(time.Hour)
		}
		for sink, n := range w.outcomes {
			if n != 1 && !w.dropped[sink] {
				t.Errorf("request %d has %d outcomes", sink, n)
			}
		}
		for _, q := range w.asked {
			if q.answered != 1 && !q.withdrawn && !w.finished {
				t.Errorf("question %v has %d answers", q.id, q.answered)
			}
		}
		if !w.forgot {
			t.Error("the call is never forgotten")
		}
	})
	for change := range seen {
		if !transitions[change] {
			t.Errorf("%s: is not among the transitions", change)
		}
	}
}
