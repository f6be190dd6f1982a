package held_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/held"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// A result has up to MaxInputs questions, and further ones are rejected. A server that asks
// endlessly is stopped.
func TestBounds(t *testing.T) {
	call := held.New(held.Request{Sink: 1, Capabilities: everyone}, held.Options{
		Version: protocol.V20260728, Method: "tools/call",
	})
	published, rejected := 0, 0
	for i := range mrtr.MaxInputs + 1 {
		for _, e := range call.Step(start,
			held.Event{Op: held.Ask, ID: jsonrpc.IntID(uint64(i)), Method: "roots/list"}) {
			switch {
			case e.Do == held.Publish:
				published = len(e.Inputs)
			case e.Do == held.Reject && errors.Is(e.Err, protocol.ConditionQueueFull):
				rejected++
			}
		}
	}
	if published != mrtr.MaxInputs || rejected != 1 {
		t.Errorf("got %d published, %d rejected", published, rejected)
	}
	rounds := 1
	for call.Phase() == held.Published {
		retry := held.Event{
			Op: held.Retry, Round: call.Round(),
			Request: held.Request{Sink: held.RequestNumber(rounds + 1), Capabilities: everyone},
		}
		effects := call.Step(start, retry)
		if last := effects[0]; call.Phase() != held.Published &&
			(last.Do != held.Deliver || last.Err == nil || last.Sink != retry.Request.Sink) {
			t.Errorf("got %+v", effects)
		}
		rounds++
	}
	if call.Round() != held.MaxRounds || call.Phase() != held.Expired {
		t.Errorf("got %v after %d rounds", call.Phase(), call.Round())
	}
}

// BenchmarkRound measures a call with one question.
func BenchmarkRound(b *testing.B) {
	ask := held.Event{
		Op: held.Ask, ID: jsonrpc.IntID(1), Method: questions[0].method,
		Params: jsontext.Value(questions[0].params),
	}
	retry := held.Event{
		Op: held.Retry, Request: held.Request{Sink: 2, Capabilities: everyone}, Round: 1,
	}
	retry.Answers.Responses = []mrtr.Response{
		{Key: "elicit-1", Value: jsontext.Value(questions[0].answer)},
	}
	b.ReportAllocs()
	for b.Loop() {
		call := held.New(held.Request{Sink: 1, Capabilities: everyone}, held.Options{
			Version: protocol.V20260728, Method: "tools/call",
		})
		call.Step(start, ask)
		call.Step(start.Add(held.Window), held.Event{Op: held.Expire})
		call.Step(start.Add(time.Second), retry)
		call.Step(start.Add(2*time.Second), held.Event{Op: held.Finish, Result: jsontext.Value(`{}`)})
		if call.Phase() != held.Done {
			b.Fatal(call.Phase())
		}
	}
}

// BenchmarkPlain measures a call whose server asks no question, as most calls.
func BenchmarkPlain(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		call := held.New(held.Request{Sink: 1, Capabilities: everyone}, held.Options{
			Version: protocol.V20260728, Method: "tools/call",
		})
		call.Step(start, held.Event{Op: held.Finish, Result: jsontext.Value(`{}`)})
	}
}

func Example() {
	call := held.New(held.Request{Sink: 1, Capabilities: everyone}, held.Options{
		Version: protocol.V20260728, Method: "tools/call",
	})
	show := func(effects []held.Effect) {
		for _, e := range effects {
			switch e.Do {
			case held.Publish:
				fmt.Println("client is asked", e.Inputs[0].Key, "in round", e.Round)
			case held.Answer:
				fmt.Println("server is answered", string(e.Result))
			case held.Deliver:
				fmt.Println("client gets", string(e.Result))
			}
		}
	}
	now := start
	show(call.Step(now, held.Event{Op: held.Ask, ID: jsonrpc.IntID(7), Method: "roots/list"}))
	now = now.Add(held.Window)
	show(call.Step(now, held.Event{Op: held.Expire})) // the timer that Arm has set
	retry := held.Event{
		Op: held.Retry, Request: held.Request{Sink: 2, Capabilities: everyone}, Round: 1,
	}
	retry.Answers.Responses = []mrtr.Response{{Key: "roots-1", Value: jsontext.Value(`{"roots":[]}`)}}
	show(call.Step(now, retry))
	show(call.Step(now, held.Event{Op: held.Finish, Result: jsontext.Value(`{"content":[]}`)}))
	// Output:
	// client is asked roots-1 in round 1
	// server is answered {"roots":[]}
	// client gets {"content":[]}
}
