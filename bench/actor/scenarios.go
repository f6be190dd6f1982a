package actor

import (
	"context"
	"fmt"

	"mcpd/bench/kit"
	"mcpd/bench/record"
)

// Scenarios are the scenarios of this package, in the order in which they are run.
var Scenarios = []kit.Scenario{
	{
		Name: "restart", Title: "A crashed actor answers again",
		Description: "From just before an actor is made to crash until a call to its next incarnation " +
			"has " +
			"returned. By a message: a panic on it, " +
			"beside exit(Pid, kill) of a gen_server. In a call: a panic, beside an exception, in a call " +
			"that fails before the next one is made. Paced runs wait " +
			"1 ms before each crash, tight ones do not. Calls share one deadline, made before. With " +
			"reports every crash is formatted with its stack and written to a file, " +
			"by the means of each side.",
		Measure: measureRestart,
	},
	{
		Name: "pool", Title: "A crashed child of a simple_one_for_one supervisor answers again",
		Description: "As restart by a message, paced, for pools of 1 to 100,000 children.",
		Measure:     measurePool,
	},
	{
		Name: "subtree", Title: "A crashed supervisor has its children back",
		Description: "From just before a supervisor is made to crash until each of its children has " +
			"answered a call, one after the other.",
		Measure: measureSubtree,
	},
	{
		Name: "restart-host", Title: "A crashed actor of a host serves again",
		Description: "From just before an actor of a running host is made to panic until it has " +
			"served: some " +
			"that keep state across crashes a question, a session a ping " +
			"for which it is attached anew, a connection a whole tools/call, for which it starts a new " +
			"server, shakes hands with it and asks for its lists. Beside " +
			"it an actor in the same process that keeps nothing.",
		Measure: measureHostRestart,
	},
	{
		Name: "isolation", Title: "What a sibling notices",
		Description: "One of 1,000 siblings is called in a loop while another is made to crash: never, " +
			"every " +
			"10 ms, every 1 ms, and every 1 ms " +
			"with reports that are written. And while a supervisor beside it is, of 1,000 children that " +
			"are all started again.",
		Measure: measureIsolation,
	},
	{
		Name: "isolation-host", Title: "What another tenant notices",
		Description: fmt.Sprintf("Tool calls of a tenant, %d/s on a schedule over HTTP, through a host "+
			"of "+
			"which another tenant's request manager, session and "+
			"connection to its server are made to crash in turn, and while servers of the other tenant "+
			"are killed and started again, every 100 ms: a program that "+
			"the host starts, and one over HTTP. Under released budgets, those that a host is run with, a "+
			"crash is asked for every 10 ms and made as often as the "+
			"budget allows: %d in %v of the request manager and of each connection, and any of sessions. "+
			"Under lifted budgets, which nothing exceeds, there is a crash "+
			"every 10 ms and every 1 ms, and beside it as many calls in place of a crash as take the same "+
			"processor time. Each host is a process of its own.",
			bystanderRate, allowed.Restarts, allowed.Within),
		Measure: measureHostIsolation,
	},
	{
		Name: "actor-call", Title: "A call of an actor",
		Description: "otp.Do beside gen_server:call, from one process to another and back, in a loop.",
		Measure:     measureCalls,
	},
	{
		Name: "mailbox", Title: "A message through the guarded mailbox",
		Description: "Messages sent to one actor without waiting, from the first send until the last " +
			"was handled, by the message. Beside it the same with protoactor's own mailbox, which has " +
			"no bound.",
		Measure: measureMailbox,
	},
	{
		Name: "idle", Title: "An idle supervised actor",
		Description: "What an idle child of a simple_one_for_one supervisor takes: heap and stacks " +
			"after a " +
			"collection, beside erlang:memory(total). And what the " +
			"watch for actors that hang costs among so many.",
		Measure: measureIdle,
	},
}

// crashed is one way in which actors are made to crash.
type crashed struct{ pace, reports, how string }

func (c crashed) name(siblings int) string {
	return fmt.Sprintf("%s siblings, %s, %s, %s", thousands(siblings), c.pace, c.reports,
		map[string]string{"message": "by a message", "call": "in a call"}[c.how])
}

// Limits relative to OTP's times, without and with reports; and relative to the times without
// siblings.
var (
	quietLimits   = both(kit.Limits{Gate: 1, Goal: 0.5})
	reportLimits  = both(kit.Limits{Gate: 0.5, Goal: 0.25})
	siblingLimits = both(kit.Limits{Gate: 1.5, Goal: 1.1})
)

func measureRestart(ctx context.Context, r *kit.Run) error {
	s, err := open(ctx, r, "restart")
	if err != nil {
		return err
	}
	defer s.close()
	siblings := kit.ByForm(r, []int{0, 1_000, 10_000}, []int{0, 10_000})
	for _, c := range kit.ByForm(r, everyWay(), []crashed{
		{"paced", "quiet", "message"}, {"tight", "quiet", "message"}, {"paced", "quiet", "call"},
		{"paced", "reports", "call"},
	}) {
		var lanes []*series
		crashes := pacedCrashes(r)
		if c.pace == "tight" {
			crashes = tightCrashes(r)
		}
		for _, n := range siblings {
			lanes = append(lanes, s.lanes("restart", c.name(n),
				question{"restart", n, c.pace, c.reports, c.how, crashes})...)
		}
		if err := runRounds(ctx, r, manyRounds(r), lanes); err != nil {
			return err
		}
		for _, l := range lanes {
			if _, _, err := l.times(r); err != nil {
				return err
			}
		}
		limits, without := tails(r, quietLimits), tails(r, siblingLimits)
		if c.reports == "reports" {
			limits = tails(r, reportLimits)
		}
		for _, n := range siblings {
			mine := find(lanes, c.name(n), record.Mcpd)
			if err := mine.compareWith(r, "OTP's", find(lanes, c.name(n), record.OTP), limits); err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if err := mine.compareWith(r, "that without siblings", find(lanes, c.name(0), record.Mcpd),
				without); err != nil {
				return err
			}
		}
	}
	return nil
}

func everyWay() (all []crashed) {
	for _, pace := range []string{"paced", "tight"} {
		for _, reports := range []string{"quiet", "reports"} {
			for _, how := range []string{"message", "call"} {
				all = append(all, crashed{pace, reports, how})
			}
		}
	}
	return all
}

func measurePool(ctx context.Context, r *kit.Run) error {
	return growing(ctx, r, "pool", "%s children",
		kit.ByForm(r, []int{1, 1_000, 10_000, 100_000}, []int{1, 10_000}), func(n int) question {
			return question{"pool", n, pacedCrashes(r)}
		}, manyRounds(r), func(int) pair { return tails(r, quietLimits) })
}

func measureSubtree(ctx context.Context, r *kit.Run) error {
	return growing(ctx, r, "subtree", "%s children", []int{10, 100, 1_000}, func(n int) question {
		return question{"subtree", n, kit.ByForm(r, 30, 10)}
	}, roundsOf(r), func(n int) pair {
		if n < 1_000 { // starting and ending the supervisor itself dominates
			return pair{}
		}
		return pair{p50: kit.Limits{Gate: 1, Goal: 0.5}}
	})
}

// growing asks both sides a question in several sizes.
func growing(ctx context.Context, r *kit.Run, scenario, name string, sizes []int,
	q func(n int) question, rounds int, limits func(n int) pair) error {
	s, err := open(ctx, r, scenario)
	if err != nil {
		return err
	}
	defer s.close()
	for _, n := range sizes {
		lanes := s.lanes(scenario, fmt.Sprintf(name, thousands(n)), q(n))
		if err := runRounds(ctx, r, rounds, lanes); err != nil {
			return err
		}
		if err := sideBySide(r, lanes, limits(n)); err != nil {
			return err
		}
	}
	return nil
}

// sideBySide adds the times of one case, and compares mcpd's with OTP's.
func sideBySide(r *kit.Run, lanes []*series, limits pair, more ...quantile) error {
	for _, l := range lanes {
		if _, _, err := l.times(r, more...); err != nil {
			return err
		}
	}
	return lanes[0].compareWith(r, "OTP's", find(lanes, lanes[0].name, record.OTP), limits)
}

func measureCalls(ctx context.Context, r *kit.Run) error {
	s, err := open(ctx, r, "actor-call")
	if err != nil {
		return err
	}
	defer s.close()
	lanes := s.lanes("actor-call", "one actor, one caller", question{
		"call", kit.ByForm(r, 1_000_000, 100_000),
	})
	if err := runRounds(ctx, r, roundsOf(r), lanes); err != nil {
		return err
	}
	return sideBySide(r, lanes, pair{p50: kit.Limits{Gate: 1, Goal: 0.5}}, tail...)
}

func measureMailbox(ctx context.Context, r *kit.Run) error {
	s, err := open(ctx, r, "mailbox")
	if err != nil {
		return err
	}
	defer s.close()
	const name, messages = "10,000 at a time", 10_000
	times := kit.ByForm(r, 200, 50)
	guarded := &series{
		scenario: "mailbox", name: name, subject: record.Mcpd,
		ask: asks(s.talks[record.Mcpd], question{"flood", messages, times}),
	}
	bare := &series{
		scenario: "mailbox", name: name, subject: protoactorBare,
		ask: asks(s.talks[record.Mcpd], question{"bare", messages, times}),
	}
	if err := runRounds(ctx, r, roundsOf(r), []*series{guarded, bare}); err != nil {
		return err
	}
	for _, l := range []*series{guarded, bare} {
		if _, _, err := l.times(r); err != nil {
			return err
		}
	}
	return guarded.compareWith(r, "the bare one's", bare, pair{
		p50: kit.Limits{Gate: 1.15, Goal: 1.05},
	})
}

func measureIdle(ctx context.Context, r *kit.Run) error {
	s, err := open(ctx, r, "idle")
	if err != nil {
		return err
	}
	defer s.close()
	n := kit.ByForm(r, 100_000, 10_000)
	name := thousands(n) + " actors"
	lanes := s.lanes("idle", name, question{"idle", n})
	if err := runRounds(ctx, r, kit.ByForm(r, 10, 5), lanes); err != nil {
		return err
	}
	var bytes []record.Measurement
	for _, l := range lanes {
		bytes = append(bytes, l.value("memory of one", "B", func(a answer) float64 { return a.Bytes }))
		r.Add(bytes[len(bytes)-1])
	}
	if len(bytes) == 2 {
		if err := r.Compare("memory of OTP's", bytes[0], bytes[1],
			kit.Limits{Gate: 0.7, Goal: 0.5}); err != nil {
			return err
		}
	}
	if r.Short { // it takes seconds of idling and has no gate
		return nil
	}
	return measureWatch(ctx, r, s, name, n)
}

// measureWatch measures the CPU time with many actors and with one. The difference is the cost of
// the watch for hanging actors.
func measureWatch(ctx context.Context, r *kit.Run, s *subjects, name string, n int) error {
	const last = 5000 // milliseconds: the watch checks all actors once a second
	var lanes []*series
	for _, c := range []struct {
		name string
		n    int
	}{{name, n}, {"1 actor", 1}} {
		lanes = append(lanes, &series{
			scenario: "idle", name: c.name, subject: record.Mcpd,
			ask: asks(s.talks[record.Mcpd], question{"watch", c.n, last}),
		})
	}
	if err := runRounds(ctx, r, 5, lanes); err != nil {
		return err
	}
	for _, l := range lanes {
		r.Add(l.value("a core's share with the watch at work", "%", func(a answer) float64 {
			return 100 * a.Share
		}))
	}
	return nil
}

// thousands formats a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
