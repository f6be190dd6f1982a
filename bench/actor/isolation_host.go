package actor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/internal/clock"
	"mcpd/internal/load"
)

// The rate of a bystander's calls. It is high enough that an interruption of a tenth of a second
// shows in p99.9, and low enough that the machine is not busy.
const (
	bystanderRate     = 500 // calls/s
	bystanderSessions = 4
)

// hostRounds is more than isolationRounds, because two rounds of a p99 over HTTP differ by a third.
const hostRounds = 24

// The tool that both tenants call, and its argument.
const tool, argument = "demo__echo", "message"

func measureHostIsolation(ctx context.Context, r *kit.Run) error {
	hosts := map[budgets]*hurtTalk{}
	for _, b := range []budgets{released, lifted} {
		h, err := startHurt(ctx, b)
		if err != nil {
			return err
		}
		defer h.stop(ctx)
		hosts[b] = h
	}
	last := time.Duration(kit.ByForm(r, 4, 1)) * time.Second
	var lanes []*series
	add := func(h *hurtTalk, name, order string) {
		lanes = append(lanes, &series{scenario: "isolation-host", name: name, subject: record.Mcpd,
			ask: func() (answer, error) {
				a, _, err := h.bystander(ctx, order, last)
				return a, err
			}})
	}
	for _, c := range hostCases() {
		h := hosts[c.budgets]
		add(h, c.name(), c.kill.order())
		if !c.worked() {
			continue
		}
		n, err := h.worth(ctx, r, c.kill, last)
		if err != nil {
			return err
		}
		if n == 0 {
			r.Miss("isolation-host", record.Mcpd,
				"%s: a crash does not take the processor time of 1 to %d calls, as far as can be told: none "+
					"are as much work", c.name(), mostCalls)
			continue
		}
		r.Add(record.Measurement{
			Scenario: "isolation-host", Case: c.name(), Subject: record.Mcpd,
			Quantity: "calls that take as much processor time", Rounds: []float64{float64(n)},
		})
		add(h, c.asCalls(), fmt.Sprintf("work %d %d", c.kill.microseconds, n))
	}
	if err := runRounds(ctx, r, kit.ByForm(r, hostRounds, load.MinPairs), lanes); err != nil {
		return err
	}
	for _, l := range lanes {
		r.Add(l.value("a core's share", "%", func(a answer) float64 { return 100 * a.Share }))
	}
	if err := seen(r, lanes); err != nil {
		return err
	}
	for _, c := range hostCases() {
		if err := c.judge(r, lanes); err != nil {
			return err
		}
	}
	return nil
}

// judge compares the latencies of a bystander with those in the case without kills under the same
// budgets, and with those in the case of as much work in calls.
func (c hostCase) judge(r *kit.Run, lanes []*series) error {
	none, l := find(lanes, c.budgets.of(kills[0].name), record.Mcpd), find(lanes, c.name(),
		record.Mcpd)
	if l == none {
		return nil
	}
	limits := pair{} // a restarting server uses CPU time, which the promise does not cover
	if c.kill.victim == actorVictim {
		limits = tails(r, bystanderLimits)
	}
	if err := l.compareWith(r, "nobody killed, mcpd", none, limits); err != nil {
		return err
	}
	calls := find(lanes, c.asCalls(), record.Mcpd)
	if calls == nil {
		return nil
	}
	if err := calls.compareWith(r, "nobody killed, mcpd", none, pair{}); err != nil {
		return err
	}
	limits = tails(r, bystanderLimits)
	if !alike(none, l, calls) {
		r.Miss("isolation-host", record.Mcpd,
			"%s: the calls in place of crashes were not as much work: see a core's share", c.name())
		limits = pair{}
	}
	return l.compareWith(r, "as much work in calls, mcpd", calls, limits)
}

// hurtTalk is a host that is made to crash, and the sessions of its bystander.
type hurtTalk struct {
	talk     *kit.Talk
	sessions []load.Client
}

func startHurt(ctx context.Context, b budgets) (*hurtTalk, error) {
	talk, err := kit.StartTalk(ctx, hurtHost, string(b))
	if err != nil {
		return nil, err
	}
	h := &hurtTalk{talk: talk}
	var base string
	if err = talk.Ask("begin", &base); err == nil {
		h.sessions, err = connect(ctx, base+"/t/bystander/mcp")
	}
	if err != nil {
		h.stop(ctx)
		return nil, err
	}
	return h, nil
}

// stop ends the host. All its answers have been read.
func (h *hurtTalk) stop(ctx context.Context) {
	for _, s := range h.sessions {
		_ = s.(*load.Session).Close(ctx)
	}
	_ = h.talk.Stop()
}

// order returns the line that orders the kill.
func (k crashCase) order() string { return fmt.Sprintf("crash %d %s", k.microseconds, k.victim) }

// asCalls is the name of the case in which the victim makes calls instead of crashing. The calls
// use as much CPU time as the crashes. The host and its callers share two cores, so that this case
// separates the effect of a crash from the effect of any work.
func (k crashCase) asCalls() string { return k.name + ", as much work in calls" }

// mostCalls bounds how many calls stand for one crash. They are made one after the other and take a
// few hundred microseconds each.
const mostCalls = 20

// alike reports whether two lanes used the same share of a core beyond the case without kills, to
// within a fifth.
func alike(none, crashes, calls *series) bool {
	const most = 0.2
	share := func(l *series) (all float64) {
		for _, a := range l.answers {
			all += a.Share
		}
		return all
	}
	return math.Abs(share(crashes)-share(calls)) <= most*(share(crashes)-share(none))
}

// worth returns how many calls of the victim use the CPU time of one crash. The number is rounded.
// It is 0 if that is less than one call, more than mostCalls, or unknown.
func (h *hurtTalk) worth(ctx context.Context, r *kit.Run, k crashCase,
	last time.Duration) (int, error) {
	var list []float64
	for range kit.ByForm(r, 3, 1) {
		n, err := h.quotient(ctx, k, last)
		if err != nil {
			return 0, err
		}
		list = append(list, n)
	}
	slices.Sort(list)
	// a quotient of small differences may be anything
	if n := math.Round(list[len(list)/2]); n >= 1 && n <= mostCalls {
		return int(n), nil
	}
	return 0, nil
}

// quotient measures that number once.
func (h *hurtTalk) quotient(ctx context.Context, k crashCase, last time.Duration) (float64, error) {
	var spent [3]done
	for i, order := range []string{kills[0].order(), k.order(),
		fmt.Sprintf("work %d 1", k.microseconds)} {
		var err error
		if _, spent[i], err = h.bystander(ctx, order, last); err != nil {
			return 0, err
		}
	}
	each := func(d done) float64 {
		return (d.CPU - spent[0].share()*d.Took) / float64(max(1, d.Times))
	}
	return each(spent[1]) / max(each(spent[2]), 0), nil
}

func connect(ctx context.Context, url string) (sessions []load.Client, err error) {
	for range bystanderSessions {
		s, err := load.Connect(ctx, load.SessionOptions{URL: url, Tool: tool, Argument: argument})
		if err != nil {
			return sessions, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// bystander takes one round: another tenant crashes or works at an interval while the bystander's
// sessions make calls.
func (h *hurtTalk) bystander(ctx context.Context, order string, last time.Duration) (a answer,
	d done, err error) {
	var did int
	if err := h.talk.Ask(order, &did); err != nil {
		return a, d, err
	}
	// There are more workers than sessions, so that a call is made when it is due, whatever happens to
	// earlier calls.
	result, err := load.Run(ctx, h.sessions, load.Options{
		Clock: clock.System, Run: uint64(time.Now().UnixNano()), Workers: 16 * bystanderSessions,
		Rate:  bystanderRate,
		Calls: int(bystanderRate * last.Seconds()), For: 2 * last, Timeout: patience,
	})
	if err := h.talk.Ask("calm", &d); err != nil {
		return a, d, err
	}
	a = timed(result.Latency)
	a.Calls, a.Failures, a.Share = int(result.Counts.Sent), int(result.Counts.Sent-
		result.Counts.OK), d.share()
	if strings.HasPrefix(order, "crash") {
		a.Kills = d.Times
	} else if d.Times == 0 {
		return a, d, fmt.Errorf("%s: nothing was done", order)
	}
	return a, d, err
}
