package rounds

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/mrtr"
)

// Options are the settings of one call.
type Options struct {
	// Server is the name of the server, for errors.
	Server string
	// Version is the revision of the server.
	Version protocol.Version
	// Client holds the capabilities that the calls to the server declare.
	Client protocol.ClientCapabilities
	// ElicitationID is the prefix of the ids of URL elicitations. It must be unguessable.
	ElicitationID string
	// NoRoots treats a client that fails to list its roots as a client without roots.
	NoRoots bool
	// AnswerTimeout is the time that the client has to answer a question. 0 stands for
	// protocol.InputTimeout, 5 minutes.
	AnswerTimeout time.Duration
}

// Drive is the state machine of one call. Create it with NewDrive. It is not safe for concurrent
// use.
type Drive struct {
	options Options
	params  jsontext.Value // of the client, without inputResponses and requestState

	phase       Phase
	state       jsontext.Value // of the last input_required result; empty for none
	questions   []question     // of the last input_required result
	number      int            // of the last question
	rounds      int
	idleRetries int         // retries in a row without a question
	visits      []pageVisit // pages that the user agreed to visit

	now     time.Time // time of the current step
	end     time.Time // latest end of the call
	next    time.Time // Waiting: time of the next attempt
	armed   time.Time // time to which the timer is set; zero when it is not set
	effects []Effect
}

// NewDrive returns the state machine for a call that has just arrived with params. Its first event
// is Start.
func NewDrive(now time.Time, params jsontext.Value, o Options) *Drive {
	if o.AnswerTimeout == 0 {
		o.AnswerTimeout = protocol.InputTimeout
	}
	return &Drive{options: o, params: mrtr.Strip(params), end: now.Add(MaxTime)}
}

// Phase is the state of the call.
func (d *Drive) Phase() Phase { return d.phase }

// Rounds is the number of rounds of questions to the client so far.
func (d *Drive) Rounds() int { return d.rounds }

// Step takes an event and returns its effects, in order. It first handles time-outs that are due.
// The effects are valid until the next call of Step. After the phase Over, Step has no effects.
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
		d.stop()
	case Abort:
		if d.phase != Over {
			d.fail(in.Err)
		}
	}
	d.arm()
	return d.effects
}

func (d *Drive) do(e Effect) { d.effects = append(d.effects, e) }

// open returns the question with that number if it waits for an answer. It returns nil if the
// question was recalled or answered.
func (d *Drive) open(number int) *question {
	for i := range d.questions {
		if q := &d.questions[i]; d.phase == Asking && q.number == number && q.open() {
			return q
		}
	}
	return nil
}

// call sends the call to the server with the answers and the state of the last input_required
// result. It never sends answers or states of an earlier attempt.
func (d *Drive) call() {
	retry := mrtr.Retry{State: d.state}
	for _, q := range d.questions {
		retry.Responses = append(retry.Responses, mrtr.Response{Key: q.input.Key, Value: q.answer})
	}
	d.phase, d.questions = Calling, nil
	d.do(Effect{Do: Call, Params: retry.Set(d.params)})
}

// result handles a result of the server.
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

// required handles an input_required result.
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

// round starts a round of questions to the client.
func (d *Drive) round() {
	d.phase, d.idleRetries = Asking, 0
	if d.rounds == MaxRounds {
		d.tooManyRounds()
		return
	}
	d.rounds++
	d.ask()
}

// wait schedules a retry. The server asked nothing, or only for pages that the user agreed to visit
// before.
func (d *Drive) wait() {
	d.phase = Waiting
	if d.idleRetries == MaxWaits {
		d.tooManyRounds()
		return
	}
	d.next = d.now.Add(Pause(d.idleRetries))
	d.idleRetries++
}

func (d *Drive) tooManyRounds() {
	d.fail(&protocol.Error{
		Condition: protocol.ConditionInternal, Message: "the server asks too often",
	})
}

func (d *Drive) invalid(cause error) {
	d.finish(Effect{Do: Deliver, Err: protocol.UpstreamInvalid(d.options.Server, cause)})
}

// fail ends the call with an error that did not come from the server.
func (d *Drive) fail(err error) {
	d.stop()
	d.do(Effect{Do: Deliver, Err: err})
}

// stop ends the call. It cancels the work of the server and recalls the open questions.
func (d *Drive) stop() {
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
