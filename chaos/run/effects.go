package run

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"mcpd/chaos/record"
	"mcpd/internal/load"
)

// effectCounter counts a tenant's calls that have an effect. Calls go to a counting tool of the
// server. It stores each effect in a file under the nonce of the call, and reports all effects at
// the end. So the number of effects is known even if answers were lost.
type effectCounter struct {
	tool    string
	percent uint64 // of all calls
	// uncountedReason says why effects are not counted. It is set only before and after the calls.
	uncountedReason string
	run             uint64 // only calls of this run have effects

	asked, answered atomic.Uint64
}

// hasEffect reports whether the call with a nonce is to have an effect. Such calls are spread
// evenly.
func (e *effectCounter) hasEffect(n load.Nonce) bool {
	const hundred, spread = 100, 37 // coprime numbers
	sequence, ok := n.Sequence(e.run)
	return ok && e.uncountedReason == "" && sequence%hundred*spread%hundred < e.percent
}

// call makes a call that has an effect.
func (e *effectCounter) call(ctx context.Context, s *load.Session,
	n load.Nonce) (load.Nonce, error) {
	e.asked.Add(1)
	text, err := s.Ask(ctx, "tools/call", callOf(e.tool, object{"effect": string(n)}))
	if err == nil && text == string(n) {
		e.answered.Add(1)
	}
	return load.Nonce(text), err
}

type object = map[string]any

// callOf returns the params of a call of a tool.
func callOf(tool string, arguments object) string {
	data, err := json.Marshal(object{"name": tool, "arguments": arguments}, json.Deterministic(true))
	if err != nil {
		panic("run: arguments: " + err.Error()) // all arguments are built by this package
	}
	return string(data)
}

// effectReport is the tool's report of a run's effects: see server.Effects.
type effectReport struct {
	Done     *uint64  `json:"done"`
	Distinct uint64   `json:"different"`
	Repeats  []string `json:"twice"`
}

// fetchReport gets the tool's report. With forget set, the tool then forgets the effects.
func (e *effectCounter) fetchReport(ctx context.Context, o load.SessionOptions,
	forget bool) (t effectReport,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	s, err := load.Connect(ctx, o)
	if err != nil {
		return t, err
	}
	// otherwise the host ends it when it is idle
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	text, err := s.Ask(ctx, "tools/call", callOf(e.tool, object{
		"of": load.RunName(e.run), "forget": forget,
	}))
	if err != nil {
		return t, err
	}
	if json.Unmarshal([]byte(text), &t) != nil || t.Done == nil {
		return t, fmt.Errorf("it answers %.40q, which tells of no effects", text)
	}
	return t, nil
}

// prepareEffects checks whether the tool counts effects, and sets the run that is counted.
func (t *traffic) prepareEffects(ctx context.Context, run uint64) {
	if t.effects.run = run; t.effects.percent == 0 {
		return
	}
	if _, err := t.effects.fetchReport(ctx, t.sessions[0].options, false); err != nil {
		t.effects.uncountedReason = fmt.Sprintf("%s: %s counts nothing: %v", t.tenant,
			t.effects.tool, err)
	}
}

// sumEffects sums the counts of the tools of all tenants. It retries a tool that gives no report
// until releaseTime has passed, since the server of the tool may have to be started again first.
func (r *run) sumEffects(ctx context.Context) *record.Effects {
	var sum record.Effects
	for end, i := time.Now().Add(releaseTime), 0; i < len(r.traffic); i++ {
		t := r.traffic[i]
		e := t.effects
		if e.percent == 0 {
			return nil
		}
		var got effectReport
		err := error(nil)
		for e.uncountedReason == "" {
			if got, err = e.fetchReport(ctx, t.sessions[0].options, false); err == nil ||
				time.Now().After(end) ||
				sleep(ctx, time.Second/4) != nil {
				break
			}
		}
		if err != nil {
			e.uncountedReason = fmt.Sprintf("%s: %s has not told what it counted: %v", t.tenant, e.tool, err)
		}
		if e.uncountedReason != "" {
			sum.Uncounted = e.uncountedReason
			continue
		}
		sum.Asked += e.asked.Load()
		sum.Answered += e.answered.Load()
		sum.Done += *got.Done
		sum.Doubled += *got.Done - got.Distinct
		for _, name := range got.Repeats {
			sum.Twice = append(sum.Twice, t.tenant+": "+name)
		}
		// effects that are not forgotten do no harm
		_, _ = e.fetchReport(ctx, t.sessions[0].options, true)
	}
	return &sum
}
