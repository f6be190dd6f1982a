package soak

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// outcome is the result of one attempt of a call. A call is sent again with the same nonce if an
// error says that it was not executed.
type outcome struct {
	client         string
	nonce          string
	tenant, server string
	sent, ended    time.Time
	text           string     // of the result
	err            *callError // an error of JSON-RPC
	broken         string     // what the SDK reported when there was no answer
	timedOut       bool       // no answer came within the deadline
}

// callError is an error as a client receives it.
type callError struct {
	Code    int64      `json:"code"`
	Message string     `json:"message"`
	Data    *errorData `json:"data"`
}

// errorData is the data of an error.
type errorData struct {
	Reason        string `json:"reason"`
	Cause         string `json:"cause"`
	Incident      string `json:"incident"`
	Retryable     *bool  `json:"retryable"`
	MaybeExecuted *bool  `json:"maybeExecuted"`
	RetryAfterMs  int64  `json:"retryAfterMs"`
}

// pastEvent is an event with its actual times.
type pastEvent struct {
	event
	began, ended time.Time
}

// explains reports whether the event explains the failure of the attempt.
func (h pastEvent) explains(o outcome) bool {
	if h.tenant != "" && h.tenant != o.tenant || h.server != "" && h.server != o.server {
		return false
	}
	if o.ended.Before(h.began) || o.sent.After(h.ended.Add(startTime)) {
		return false
	}
	if h.kind.starts && o.err != nil && o.err.cause() == starting {
		return true
	}
	if o.sent.After(h.ended.Add(explainTime)) {
		return false
	}
	if o.err == nil {
		return strings.HasPrefix(h.kind.name, "host ")
	}
	return slices.Contains(h.kind.reasons, o.err.reason())
}

func (a *callError) cause() string {
	if a.Data == nil {
		return ""
	}
	return a.Data.Cause
}

// reasonsWithCause are the reasons of errors that must name what is wrong with the server.
var reasonsWithCause = unavailableReasons

// final are the reasons of errors for calls that were not executed and must not be sent again.
var final = []string{"upstream_quarantined"}

func (a *callError) reason() string {
	if a.Data == nil {
		return ""
	}
	return a.Data.Reason
}

// fact returns a fact from the data of an error. If the data does not have it, known is false.
func (a *callError) fact(of func(*errorData) *bool) (is, known bool) {
	if a.Data == nil || of(a.Data) == nil {
		return false, false
	}
	return *of(a.Data), true
}

func executed(d *errorData) *bool  { return d.MaybeExecuted }
func retryable(d *errorData) *bool { return d.Retryable }

// nonces matches the nonces in a text.
var nonces = regexp.MustCompile(`n-[0-9a-z]+-[0-9]+-n`)

// fault is a finding of judge.
type fault struct {
	verdict string // wrong, lost, double, untrue, unexplained
	label   string
}

// judge compares outcomes and events with the effects of the counting servers (how often, by
// nonce). counted reports whether a server is a counting server.
func judge(all []outcome, effects map[string]int, events []pastEvent,
	counted func(server string) bool) (faults []fault) {
	found := func(verdict string, o outcome, format string, args ...any) {
		faults = append(faults, fault{verdict,
			fmt.Sprintf("%s %s at %s/%s, sent %s, took %v: %s", o.client, o.nonce, o.tenant, o.server,
				o.sent.Format("15:04:05.000"), o.ended.Sub(o.sent).Round(time.Millisecond),
				fmt.Sprintf(format, args...))})
	}
	can := map[string]int{}  // how many attempts may have been executed, by nonce
	must := map[string]int{} // how many attempts were executed, by nonce
	for _, o := range all {
		explained := slices.ContainsFunc(events, func(h pastEvent) bool { return h.explains(o) })
		may := true
		switch {
		case o.err != nil:
			was, known := o.err.fact(executed)
			again, told := o.err.fact(retryable)
			may = was || !known
			switch {
			case o.err.reason() == "" || o.err.Message == "":
				found("untrue", o, "without a cause: %+v", o.err)
			case !known || !told:
				found("untrue", o, "%s does not say maybeExecuted and retryable: %s", o.err.reason(),
					o.err.Message)
			case slices.Contains(reasonsWithCause, o.err.reason()) && o.err.cause() == "":
				found("untrue", o, "%s without a cause: %s", o.err.reason(), o.err.Message)
			case !was && !again && !slices.Contains(final, o.err.reason()):
				found("untrue", o, "%s was not executed, and is not to be sent again: %s", o.err.reason(),
					o.err.Message)
			case was && again && counted(o.server):
				found("untrue", o, "%s is retryable, and may have been executed: %s", o.err.reason(),
					o.err.Message)
			}
			if !explained {
				found("unexplained", o, "%s: %s %+v", o.err.reason(), o.err.Message, o.err.Data)
			}
		case o.timedOut && !explained:
			found("lost", o, "no outcome: %s", o.broken)
		case o.broken != "" && !explained:
			found("unexplained", o, "no answer: %s", o.broken)
		case o.broken == "":
			must[o.nonce]++
			in := nonces.FindAllString(o.text, -1)
			if !slices.Contains(in, o.nonce) || slices.ContainsFunc(in, func(n string) bool {
				return n != o.nonce
			}) {
				found("wrong", o, "answered with %.200q", o.text)
			}
		}
		if may {
			can[o.nonce]++
		}
	}
	seen := map[string]bool{}
	for _, o := range all {
		if n := effects[o.nonce]; counted(o.server) && !seen[o.nonce] {
			seen[o.nonce] = true
			switch {
			case n > 1:
				found("double", o, "executed %d times", n)
			case n > can[o.nonce]:
				found("untrue", o, "executed, and every answer says that it was not")
			case n < must[o.nonce]:
				found("lost", o, "answered %d times, executed %d times", must[o.nonce], n)
			}
		}
	}
	return faults
}

// judge finds each planted fault, and nothing where all is right.
func TestJudge(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1e9+int64(seconds), 0) }
	yes, no := new(bool), new(bool)
	*yes = true
	kill := pastEvent{event{kind: kinds[0], tenant: "a", server: "count"}, at(100), at(100)}
	dead := pastEvent{event{kind: kinds[slices.IndexFunc(kinds, func(k kind) bool {
		return k.name == "host killed"
	})]}, at(500), at(502)}
	lost := func(may, again *bool) *callError {
		return &callError{
			-32008, "it ended",
			&errorData{Reason: "upstream_lost", Cause: "killed", MaybeExecuted: may, Retryable: again},
		}
	}
	late := func(cause string, sent int) outcome {
		return outcome{client: "go", nonce: "n-c1-1-n", tenant: "a", server: "count", sent: at(sent),
			ended: at(sent + 20),
			err: &callError{
				-32009, "no answer",
				&errorData{Reason: "timeout", Cause: cause, MaybeExecuted: no, Retryable: yes},
			}}
	}
	base := outcome{
		client: "go", nonce: "n-c1-1-n", tenant: "a", server: "count", sent: at(99), ended: at(101),
	}
	of := func(change func(*outcome)) outcome { o := base; change(&o); return o }
	ok := of(func(o *outcome) { o.text = base.nonce })
	for name, c := range map[string]struct {
		all     []outcome
		effects int
		want    string // the expected verdicts
	}{
		"right":            {[]outcome{ok}, 1, ""},
		"another's answer": {[]outcome{of(func(o *outcome) { o.text = "n-c2-1-n" })}, 1, "wrong"},
		"with another's answer": {[]outcome{of(func(o *outcome) {
			o.text = base.nonce + "n-c2-1-n"
		})}, 1, "wrong"},
		"nothing":               {[]outcome{of(func(o *outcome) { o.text = "" })}, 1, "wrong"},
		"executed twice":        {[]outcome{ok}, 2, "double"},
		"answered and not done": {[]outcome{ok}, 0, "lost"},
		"killed, and true":      {[]outcome{of(func(o *outcome) { o.err = lost(yes, no) })}, 1, ""},
		"killed, and again":     {[]outcome{of(func(o *outcome) { o.err = lost(no, yes) }), ok}, 1, ""},
		"says it was not done": {[]outcome{of(func(o *outcome) {
			o.err = lost(no, yes)
		})}, 1, "untrue"},
		"says do it again": {[]outcome{of(func(o *outcome) {
			o.err = lost(yes, yes)
		})}, 1, "untrue"},
		"does not say": {[]outcome{of(func(o *outcome) {
			o.err = lost(nil, no)
		})}, 0, "untrue"},
		"without a reason": {[]outcome{of(func(o *outcome) {
			o.err = &callError{-32603, "no", &errorData{MaybeExecuted: no, Retryable: no}}
		})}, 0, "untrue unexplained"},
		"never again": {[]outcome{of(func(o *outcome) {
			o.err = lost(no, no)
		})}, 0, "untrue"},
		"says not why": {[]outcome{of(func(o *outcome) {
			o.err = lost(yes, no)
			o.err.Data.Cause = ""
		})}, 1, "untrue"},
		"late, host killed":   {[]outcome{late("", 501)}, 0, "unexplained"},
		"starts, host killed": {[]outcome{late(starting, 540)}, 0, ""},
		"starts, long after":  {[]outcome{late(starting, 600)}, 0, "unexplained"},
		"of another server": {[]outcome{of(func(o *outcome) {
			o.err, o.server = lost(yes, no), "other"
		})}, 0, "unexplained"},
		"of another tenant": {[]outcome{of(func(o *outcome) {
			o.err, o.tenant = lost(yes, no), "b"
		})}, 0, "unexplained"},
		"another kind of error": {[]outcome{of(func(o *outcome) {
			o.err = lost(yes, no)
			o.err.Data.Reason = "overloaded"
		})}, 0, "unexplained"},
		"before": {[]outcome{of(func(o *outcome) {
			o.err, o.sent, o.ended = lost(yes, no), at(1), at(2)
		})}, 0, "unexplained"},
		"long after": {[]outcome{of(func(o *outcome) {
			o.err, o.sent, o.ended = lost(yes, no), at(200), at(201)
		})}, 0, "unexplained"},
		"no outcome": {[]outcome{of(func(o *outcome) {
			o.broken, o.timedOut = "timeout", true
		})}, 0, "lost"},
		"no answer": {[]outcome{of(func(o *outcome) {
			o.broken = "reset"
		})}, 0, "unexplained"},
		"no answer, host killed": {[]outcome{of(func(o *outcome) {
			o.broken, o.sent, o.ended = "reset", at(499), at(501)
		})}, 1, ""},
		"no outcome, host killed": {[]outcome{of(func(o *outcome) {
			o.broken, o.timedOut, o.sent, o.ended = "timeout", true, at(499), at(560)
		})}, 1, ""},
	} {
		var got []string
		for _, f := range judge(c.all, map[string]int{base.nonce: c.effects}, []pastEvent{kill, dead},
			func(s string) bool {
				return s == "count"
			}) {
			got = append(got, f.verdict)
		}
		if said := strings.Join(got, " "); said != c.want {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
}
