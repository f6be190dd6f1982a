package rounds_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rounds"
)

var (
	everyone = func() protocol.ClientCapabilities {
		c, err := protocol.ParseClientCapabilities(
			jsontext.Value(`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`),
		)
		if err != nil {
			panic(err)
		}
		return c
	}()
	// questions, each with a valid answer
	questions = []struct{ method, params, answer string }{
		{"elicitation/create", `{"message":"m","requestedSchema":{}}`, `{"action":"accept"}`},
		{"elicitation/create", `{"mode":"url","message":"m","url":"https://a.example/"}`,
			`{"action":"accept"}`},
		{"sampling/createMessage", `{"messages":[],"maxTokens":1}`,
			`{"role":"assistant","model":"m","content":[]}`},
		{"roots/list", ``, `{"roots":[]}`},
	}
)

func required(state string, inputs ...mrtr.Input) jsontext.Value {
	r := mrtr.Required{Inputs: inputs}
	if state != "" {
		r.State = jsontext.Value(state)
	}
	return r.Result()
}

// world is a Drive beside a model. The model knows only whether the server works on the call, the
// content of the last result, and the client's open questions.
type world struct {
	*rapid.T
	drive     *rounds.Drive
	now       time.Time
	armed     time.Time
	working   bool
	keys      []string // of the last result
	state     string
	open      map[int]string // question number to method
	most      int            // highest question number so far
	delivered int
	cancelled bool
	rounds    int // rounds with at least one question
	fresh     bool
}

func (w *world) step(in rounds.Event) {
	over := w.drive.Phase() == rounds.Over
	for _, e := range w.drive.Step(w.now, in) {
		if over {
			w.Fatalf("%+v after the end", e)
		}
		switch e.Do {
		case rounds.Arm:
			w.armed = e.At
		case rounds.Call:
			delete(w.open, in.Question) // it was the last
			w.called(e.Params)
		case rounds.Stop:
			if !w.working {
				w.Fatal("the server is stopped, but does nothing")
			}
			w.working = false
		case rounds.Ask:
			w.asked(in, e)
		case rounds.Recall:
			if _, ok := w.open[e.Question]; !ok {
				w.Fatalf("question %d is recalled, but not open", e.Question)
			}
			delete(w.open, e.Question)
		case rounds.Deliver:
			w.delivered++
		}
	}
	if in.Op == rounds.Answer || in.Op == rounds.Refuse {
		delete(w.open, in.Question)
	}
	phase := w.drive.Phase()
	if (phase == rounds.Calling) != w.working || phase == rounds.Over && len(w.open) > 0 ||
		(phase == rounds.Asking) != (len(w.open) > 0) {
		w.Fatalf("%v, but the server works %v, and %v are open", phase, w.working, w.open)
	}
	if ended := w.delivered > 0 || w.cancelled; ended != (phase == rounds.Over) || w.delivered > 1 ||
		w.delivered == 1 && w.cancelled {
		w.Fatalf("%v with %d outcomes", phase, w.delivered)
	}
	if w.drive.Rounds() != w.rounds || w.rounds > rounds.MaxRounds {
		w.Fatalf("got %d rounds, the model says %d", w.drive.Rounds(), w.rounds)
	}
}

// called checks that an attempt carries exactly the keys and the state of the last result, and
// nothing from an earlier result.
func (w *world) called(params jsontext.Value) {
	if w.working || len(w.open) > 0 {
		w.Fatalf("a call while the server works, or %v are open", w.open)
	}
	w.working = true
	retry, err := mrtr.ParseRetry(params)
	if err != nil || string(retry.State) != w.state || len(retry.Responses) != len(w.keys) {
		w.Fatalf("%s, but the state is %s and the keys are %v", params, w.state, w.keys)
	}
	for i, key := range w.keys {
		if retry.Responses[i].Key != key || retry.Responses[i].Value.Kind() != '{' {
			w.Fatalf("%s, but the keys are %v", params, w.keys)
		}
	}
	if n, _ := jsonedit.Get(params, "arguments", "n"); string(n) != "12345678901234567890" {
		w.Fatalf("the arguments are %s", params)
	}
}

func (w *world) asked(in rounds.Event, e rounds.Effect) {
	if e.Question <= w.most {
		w.Fatalf("question %d comes after %d", e.Question, w.most)
	}
	w.most = e.Question
	for n, method := range w.open {
		if method == e.Method && method == "elicitation/create" && n != in.Question {
			w.Fatal("two elicitations at once")
		}
	}
	w.open[e.Question] = e.Method
	if w.fresh {
		w.rounds++
		w.fresh = false
	}
}

// The call has one outcome unless the client cancels it. Every question is answered or recalled
// before the end. Each attempt carries exactly the keys and the state of the last result. Nothing
// happens after the end.
func TestDriveAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t, now: start, open: map[int]string{}}
		w.drive = rounds.NewDrive(w.now,
			jsontext.Value(`{"name":"t","arguments":{"n":12345678901234567890}}`), rounds.Options{
				Version: protocol.V20260728, Client: everyone, ElicitationID: "e",
				NoRoots: rapid.Bool().Draw(t, "no roots"),
			})
		w.step(rounds.Event{Op: rounds.Start})
		number := func(t *rapid.T) int {
			return rapid.IntRange(max(1, w.most-3), w.most+1).Draw(t, "question")
		}
		result := func(r jsontext.Value) {
			w.working = false
			w.step(rounds.Event{Op: rounds.Result, Result: r})
		}
		t.Repeat(map[string]func(*rapid.T){
			"require": func(t *rapid.T) {
				if !w.working || w.late() {
					return
				}
				var inputs []mrtr.Input
				w.keys, w.state, w.fresh = nil, rapid.SampledFrom([]string{"", `""`, `"s\u0041"`}).Draw(t,
					"state"), true
				for i := range rapid.IntRange(0, 4).Draw(t, "questions") {
					q := rapid.SampledFrom(questions).Draw(t, "question")
					w.keys = append(w.keys, fmt.Sprint("k", i))
					inputs = append(inputs, mrtr.Input{
						Key: w.keys[i], Method: q.method, Params: jsontext.Value(q.params),
					})
				}
				if len(inputs) == 0 && w.state == "" {
					w.state = `"x"`
				}
				result(required(w.state, inputs...))
				w.fresh = false
			},
			"complete": func(t *rapid.T) {
				if w.working && !w.late() && rapid.IntRange(0, 5).Draw(t, "really") == 0 {
					result(jsontext.Value(rapid.SampledFrom([]string{`{"resultType":"complete"}`, `{}`,
						`{"resultType":"task"}`, `{"resultType":"x"}`,
						`{"resultType":"input_required"}`}).Draw(t, "result")))
				}
			},
			"fail": func(t *rapid.T) {
				if w.working && !w.late() && rapid.IntRange(0, 5).Draw(t, "really") == 0 {
					w.working = false
					w.step(rounds.Event{Op: rounds.Fail, Err: errors.New("broken")})
				}
			},
			"answer": func(t *rapid.T) {
				n := number(t)
				value := `{}`
				for _, q := range questions {
					if q.method == w.open[n] && rapid.IntRange(0, 5).Draw(t, "fits") > 0 {
						value = q.answer
					}
				}
				w.step(rounds.Event{Op: rounds.Answer, Question: n, Result: jsontext.Value(value)})
			},
			"refuse": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
					w.step(rounds.Event{Op: rounds.Refuse, Question: number(t), Err: errors.New("no")})
				}
			},
			"cancel": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 && !w.late() && w.delivered == 0 {
					w.cancelled = true
					w.step(rounds.Event{Op: rounds.Cancel})
				}
			},
			"abort": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					w.step(rounds.Event{Op: rounds.Abort, Err: errors.New("too long")})
				}
			},
			"pass": func(t *rapid.T) {
				w.pass(rapid.SampledFrom([]time.Duration{rounds.Backoff, rounds.MaxBackoff, time.Minute,
					protocol.InputTimeout}).Draw(t, "time"))
			},
			"sleep": func(t *rapid.T) { // no timer fires
				w.now = w.now.Add(rapid.SampledFrom([]time.Duration{rounds.Backoff, time.Minute}).Draw(t,
					"time"))
			},
		})
		w.pass(rounds.MaxTime)
		if w.drive.Phase() != rounds.Over {
			t.Fatalf("%v after all the time there is", w.drive.Phase())
		}
	})
}

// late reports whether the timer is due, so that its event must come first.
func (w *world) late() bool { return !w.armed.After(w.now) }

func (w *world) pass(d time.Duration) {
	end := w.now.Add(d)
	for !w.armed.IsZero() && !w.armed.After(end) {
		if w.armed.After(w.now) {
			w.now = w.armed
		}
		w.armed = time.Time{}
		w.step(rounds.Event{Op: rounds.Expire})
	}
	w.now = end
}

func form(key string) mrtr.Input {
	return mrtr.Input{
		Key: key, Method: questions[0].method, Params: jsontext.Value(questions[0].params),
	}
}

func TestRoundsAreBounded(t *testing.T) {
	drive := rounds.NewDrive(start, nil, rounds.Options{Version: protocol.V20260728, Client: everyone})
	drive.Step(start, rounds.Event{Op: rounds.Start})
	for n := 1; drive.Phase() != rounds.Over; n++ {
		effects := drive.Step(start, rounds.Event{Op: rounds.Result, Result: required("", form("k"))})
		if drive.Phase() == rounds.Over && (effects[0].Do != rounds.Deliver || effects[0].Err == nil) {
			t.Errorf("got %+v", effects)
		}
		drive.Step(start, rounds.Event{
			Op: rounds.Answer, Question: n, Result: jsontext.Value(`{"action":"accept"}`),
		})
	}
	if drive.Rounds() != rounds.MaxRounds {
		t.Errorf("got %d rounds", drive.Rounds())
	}
}

func TestWaitsAreBounded(t *testing.T) {
	drive := rounds.NewDrive(start, nil, rounds.Options{Version: protocol.V20260728, Client: everyone})
	drive.Step(start, rounds.Event{Op: rounds.Start})
	now, waits := start, 0
	for drive.Phase() != rounds.Over {
		effects := drive.Step(now, rounds.Event{Op: rounds.Result, Result: required(`"s"`)})
		if drive.Phase() == rounds.Waiting {
			pause := effects[len(effects)-1].At.Sub(now)
			if want := min(rounds.Backoff<<min(waits, 10), rounds.MaxBackoff); effects[0].Do != rounds.Arm ||
				pause != want {
				t.Errorf("after %d: got %v, want %v", waits, pause, want)
			}
			waits++
			now = now.Add(pause)
			drive.Step(now, rounds.Event{Op: rounds.Expire})
		}
	}
	if waits != rounds.MaxWaits {
		t.Errorf("got %d waits", waits)
	}
}

// BenchmarkRound measures a call with one question.
func BenchmarkRound(b *testing.B) {
	params := jsontext.Value(`{"name":"t","arguments":{"path":"/srv/acme/README.md"}}`)
	ask, done := required(`"state"`,
		form("k")), jsontext.Value(`{"resultType":"complete","content":[]}`)
	b.ReportAllocs()
	for b.Loop() {
		drive := rounds.NewDrive(start, params, rounds.Options{
			Version: protocol.V20260728, Client: everyone,
		})
		drive.Step(start, rounds.Event{Op: rounds.Start})
		drive.Step(start, rounds.Event{Op: rounds.Result, Result: ask})
		drive.Step(start, rounds.Event{
			Op: rounds.Answer, Question: 1, Result: jsontext.Value(`{"action":"accept"}`),
		})
		drive.Step(start, rounds.Event{Op: rounds.Result, Result: done})
		if drive.Phase() != rounds.Over {
			b.Fatal(drive.Phase())
		}
	}
}

// BenchmarkPlain measures a call whose server asks no question, as most calls.
func BenchmarkPlain(b *testing.B) {
	params := jsontext.Value(`{"name":"t","arguments":{"path":"/srv/acme/README.md"}}`)
	done := jsontext.Value(`{"resultType":"complete","content":[]}`)
	b.ReportAllocs()
	for b.Loop() {
		drive := rounds.NewDrive(start, params, rounds.Options{
			Version: protocol.V20260728, Client: everyone,
		})
		drive.Step(start, rounds.Event{Op: rounds.Start})
		drive.Step(start, rounds.Event{Op: rounds.Result, Result: done})
	}
}

func Example() {
	drive := rounds.NewDrive(start, jsontext.Value(`{"name":"greet"}`), rounds.Options{
		Version: protocol.V20260728, Client: everyone,
	})
	show := func(effects []rounds.Effect) {
		for _, e := range effects {
			switch e.Do {
			case rounds.Call:
				fmt.Println("server is called with", string(e.Params))
			case rounds.Ask:
				fmt.Println("client is asked", e.Method)
			case rounds.Deliver:
				fmt.Println("client gets", string(e.Result))
			}
		}
	}
	show(drive.Step(start, rounds.Event{Op: rounds.Start}))
	show(drive.Step(start, rounds.Event{
		Op:     rounds.Result,
		Result: jsontext.Value(`{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}},"requestState":"s"}`),
	}))
	show(drive.Step(start, rounds.Event{
		Op: rounds.Answer, Question: 1, Result: jsontext.Value(`{"roots":[]}`),
	}))
	show(drive.Step(start, rounds.Event{
		Op: rounds.Result, Result: jsontext.Value(`{"resultType":"complete","content":[]}`),
	}))
	// Output:
	// server is called with {"name":"greet"}
	// client is asked roots/list
	// server is called with {"name":"greet","inputResponses":{"k":{"roots":[]}},"requestState":"s"}
	// client gets {"resultType":"complete","content":[]}
}
