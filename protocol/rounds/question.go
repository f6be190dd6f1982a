package rounds

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// question is one entry of inputRequests.
type question struct {
	number   int
	kind     mrtr.Kind
	input    mrtr.Input
	visit    pageVisit
	deadline time.Time      // zero before the client is asked
	answer   jsontext.Value // empty before there is an answer
}

// open reports whether the client was asked and has not answered.
func (q question) open() bool { return !q.deadline.IsZero() && len(q.answer) == 0 }

// pageVisit is a page for the user to visit. The user consents only once, although the server asks
// again until the visit is complete.
type pageVisit struct{ key, url, id string }

// take turns the inputs of a result into questions. It returns an error if the server asks for
// something that the client did not declare.
func (d *Drive) take(r mrtr.Required) error {
	if err := r.Check(protocol.Gate{Version: d.options.Version,
		Client: d.options.Client}); err != nil {
		return err
	}
	d.questions = nil
	for _, in := range r.Inputs {
		q := question{input: in}
		q.kind, _ = mrtr.KindOf(in.Method)
		if mode, _ := jsonedit.GetString(in.Params, "mode"); q.kind == mrtr.Elicitation && mode == "url" {
			url, _ := jsonedit.GetString(in.Params, "url")
			q.visit = pageVisit{key: in.Key, url: url}
			if d.hasConsent(q.visit) {
				q.answer = jsontext.Value(`{"action":"accept"}`)
			}
		}
		d.questions = append(d.questions, q)
	}
	return nil
}

func (d *Drive) hasConsent(v pageVisit) bool {
	return slices.ContainsFunc(d.visits, func(past pageVisit) bool {
		return past.key == v.key && past.url == v.url
	})
}

// ask sends the questions that the client can receive now. It sends all at once, except that
// elicitations follow one after the other, because each occupies the user's screen.
func (d *Drive) ask() {
	busy := slices.ContainsFunc(d.questions, func(q question) bool {
		return q.kind == mrtr.Elicitation && q.open()
	})
	for i := range d.questions {
		q := &d.questions[i]
		elicits := q.kind == mrtr.Elicitation
		if len(q.answer) > 0 || q.open() || elicits && busy {
			continue
		}
		busy = busy || elicits
		d.number++
		q.number, q.deadline = d.number, d.now.Add(d.options.AnswerTimeout)
		params := q.input.Params
		if q.visit.url != "" {
			q.visit.id = fmt.Sprintf("%s-%d", d.options.ElicitationID, q.number)
			// mrtr.Parse has checked that params is an object.
			params, _ = jsonedit.Set(params, jsonedit.Quote(q.visit.id), "elicitationId")
		}
		d.do(Effect{Do: Ask, Question: q.number, Method: q.input.Method, Params: params})
	}
}

// answered handles the client's answer to one question. It treats a malformed answer as a refusal.
func (d *Drive) answered(q *question, result jsontext.Value) {
	if !q.kind.Fits(result) {
		d.refused(q, errors.New("the client's answer does not have the expected shape"))
		return
	}
	if action, _ := jsonedit.GetString(result, "action"); q.visit.url != "" && action == "accept" {
		d.visits = append(d.visits, q.visit)
	}
	d.settle(q, q.kind.EmbeddedAnswer(result))
}

// refused handles a question without an answer. For an elicitation the server receives a
// cancellation. Any other refusal ends the call. A modern client would end the call as well, by not
// retrying it.
func (d *Drive) refused(q *question, err error) {
	if v, ok := q.kind.Refusal(); ok {
		d.settle(q, v)
		return
	}
	if q.kind == mrtr.Roots && d.options.NoRoots {
		d.settle(q, jsontext.Value(`{"roots":[]}`))
		return
	}
	q.deadline = time.Time{} // the question is no longer open
	data, _ := jsonedit.Set(nil, jsonedit.Quote(q.input.Method), "method")
	var sent *jsonrpc.Error
	if errors.As(err, &sent) {
		data, _ = jsonedit.Set(data, fmt.Appendf(nil, "%d", sent.Code), "code")
	}
	d.fail(&protocol.Error{
		Condition: protocol.ConditionInternal,
		Message:   "the server needs " + q.input.Method + ", which was declined or failed",
		Data:      data,
		Cause:     err,
	})
}

// settle stores an answer, and continues the call if no question is left.
func (d *Drive) settle(q *question, answer jsontext.Value) {
	q.answer = answer
	if slices.ContainsFunc(d.questions, func(q question) bool { return len(q.answer) == 0 }) {
		d.ask()
		return
	}
	d.call()
}
