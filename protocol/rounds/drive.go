package rounds

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/mrtr"
)

// Options of a call.
type Options struct {
	Server        string                      // its name, for errors
	Version       protocol.Version            // of the server
	Client        protocol.ClientCapabilities // what the calls to the server declare
	ElicitationID string                      // begins the ids of pages that the user is sent to; unguessable
	NoRoots       bool                        // a client that fails to list its roots counts as one without roots
	Patience      time.Duration               // how long the client may take for an answer; 0 for protocol.ParkTimeout
}

// Drive is one call. It is made by NewDrive; its methods are for one goroutine at a time.
type Drive struct {
	options Options
	params  jsontext.Value // of the client, without what makes a retry

	phase     Phase
	state     jsontext.Value // of the last result that asked; empty for none
	questions []question     // of the last result that asked
	number    int            // of the last question
	rounds    int
	waits     int     // in a row
	visits    []visit // that the user agreed to

	now     time.Time // of the step
	end     time.Time // of the call at the latest
	next    time.Time // Waiting: of the next attempt
	armed   time.Time // what the timer was last set to; zero when it is not set
	effects []Effect
}

// NewDrive is a call that has just arrived, with the client's params. Step it with Start.
func NewDrive(now time.Time, params jsontext.Value, o Options) *Drive {
	if o.Patience == 0 {
		o.Patience = protocol.ParkTimeout
	}
	return &Drive{options: o, params: mrtr.Strip(params), end: now.Add(MaxTime)}
}

// Phase is where the call is.
func (d *Drive) Phase() Phase { return d.phase }

// Rounds is how often the client was asked.
func (d *Drive) Rounds() int { return d.rounds }

// Step takes an event and returns what to do, in order. The effects are valid until the next call. What is due happens first. After the
// end nothing happens any more.
func (d *Drive) Step(now time.Time, in Event) []Effect {
	clear(d.effects)
	d.effects = d.effects[:0]
	d.now = now
	if in.Op == Expire {
		d.armed = time.Time{}
	}
	d.expire()
	switch in.Op {
	case Start:
		if d.phase == New {
			d.call()
		}
	case Result:
		if d.phase == Calling {
			d.result(in.Result)
		}
	case Fail:
		if d.phase == Calling {
			d.finish(Effect{Do: Deliver, Err: in.Err})
		}
	case Answer:
		if q := d.open(in.Question); q != nil {
			d.answered(q, in.Result)
		}
	case Refuse:
		if q := d.open(in.Question); q != nil {
			d.refused(q, in.Err)
		}
	case Cancel:
		d.leave()
	case Abort:
		if d.phase != Over {
			d.fail(in.Err)
		}
	}
	d.arm()
	return d.effects
}

func (d *Drive) do(e Effect) { d.effects = append(d.effects, e) }

// open finds a question that waits for its answer. One that was recalled, or answered before, does not.
func (d *Drive) open(number int) *question {
	for i := range d.questions {
		if q := &d.questions[i]; d.phase == Asking && q.number == number && q.open() {
			return q
		}
	}
	return nil
}

// call sends the call, with the answers and the very state that the last result gave. Neither is said of any other attempt.
func (d *Drive) call() {
	retry := mrtr.Retry{State: d.state}
	for _, q := range d.questions {
		retry.Responses = append(retry.Responses, mrtr.Response{Key: q.input.Key, Value: q.answer})
	}
	d.phase, d.questions = Calling, nil
	d.do(Effect{Do: Call, Params: retry.Set(d.params)})
}

// result is what the server answered.
func (d *Drive) result(result jsontext.Value) {
	switch mrtr.TypeOf(result) {
	case mrtr.Complete:
		for _, v := range d.visits {
			d.do(Effect{Do: Complete, ElicitationID: v.id})
		}
		d.finish(Effect{Do: Deliver, Result: result})
	case mrtr.Task:
		d.finish(Effect{Do: Deliver, Result: result})
	case mrtr.InputRequired:
		d.required(result)
	default:
		d.invalid(errors.New("resultType is not known"))
	}
}

// required is a result that asks.
func (d *Drive) required(result jsontext.Value) {
	r, err := mrtr.Parse(result)
	if err != nil {
		d.invalid(err)
		return
	}
	if err := d.take(r); err != nil {
		d.invalid(err)
		return
	}
	d.state = r.State
	for _, q := range d.questions {
		if len(q.answer) == 0 {
			d.round()
			return
		}
	}
	d.wait()
}

// round asks the client.
func (d *Drive) round() {
	d.phase, d.waits = Asking, 0
	if d.rounds == MaxRounds {
		d.often()
		return
	}
	d.rounds++
	d.ask()
}

// wait calls again later: the server asks nothing, or only what the user agreed to before.
func (d *Drive) wait() {
	d.phase = Waiting
	if d.waits == MaxWaits {
		d.often()
		return
	}
	d.next = d.now.Add(Pause(d.waits))
	d.waits++
}

func (d *Drive) often() {
	d.fail(&protocol.Error{Condition: protocol.ConditionInternal, Message: "the server asks too often"})
}

func (d *Drive) invalid(cause error) {
	d.finish(Effect{Do: Deliver, Err: protocol.UpstreamInvalid(d.options.Server, cause)})
}

// fail ends the call with an error that did not come from the server.
func (d *Drive) fail(err error) {
	d.leave()
	d.do(Effect{Do: Deliver, Err: err})
}

// leave ends the call: nobody needs to do anything for it any more.
func (d *Drive) leave() {
	if d.phase == Calling {
		d.do(Effect{Do: Stop})
	}
	for _, q := range d.questions {
		if q.open() {
			d.do(Effect{Do: Recall, Question: q.number})
		}
	}
	d.over()
}

func (d *Drive) finish(e Effect) {
	d.do(e)
	d.over()
}

func (d *Drive) over() { d.phase, d.questions = Over, nil }
