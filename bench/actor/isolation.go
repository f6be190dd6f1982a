package actor

import (
	"context"
	"fmt"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/internal/load"
)

// siblings is how many siblings the crashing actor has.
const siblings = 1_000

// kills are the cases of isolation. The others are compared with the first.
var kills = []crashCase{
	{"none", 0, "quiet", actorVictim},
	{"every 10 ms", 10_000, "quiet", actorVictim},
	{"every 1 ms", 1_000, "quiet", actorVictim},
	{"every 1 ms, with reports", 1_000, "reports", actorVictim},
	{"a supervisor of 1,000 children, every 10 ms", 10_000, "quiet", supervisorVictim},
	{"its program, every 100 ms", 100_000, "quiet", programVictim},
	{"its server over HTTP, every 100 ms", 100_000, "quiet", siteVictim},
}

// crashCase says what is made to crash, and how often.
type crashCase struct {
	name         string
	microseconds int // interval between two crashes; 0 for none
	reports      string
	victim       string
}

// Victims. An actor is a single actor, or in a host one of several actors of the tenant in turn.
// The others occur in only one of the scenarios.
const (
	actorVictim      = "actor"
	supervisorVictim = "supervisor" // with as many children as an actor has siblings
	programVictim    = "program"    // a server that the host has started
	// a server that the host reaches over HTTP, and that is restarted at once
	siteVictim = "site"
)

// bystanderLimits limit the p99 of a bystander while another is killed, relative to its p99 while
// none is killed.
var bystanderLimits = pair{p99: kit.Limits{Gate: 1.3, Goal: 1.1}}

func measureIsolation(ctx context.Context, r *kit.Run) error {
	s, err := open(ctx, r, "isolation")
	if err != nil {
		return err
	}
	defer s.close()
	var lanes []*series
	for _, k := range kills {
		if k.victim == actorVictim || k.victim == supervisorVictim {
			lanes = append(lanes, s.lanes("isolation", k.name,
				question{"isolation", siblings, k.microseconds, k.reports, kit.ByForm(r, 3000, 400),
					k.victim})...)
		}
	}
	if err := runRounds(ctx, r, isolationRounds, lanes); err != nil {
		return err
	}
	return isolated(r, lanes, []string{record.Mcpd, record.OTP}, bystanderLimits)
}

const isolationRounds = 10

// isolated adds the latencies of bystanders, and compares them with the case without kills.
func isolated(r *kit.Run, lanes []*series, subjects []string, ours pair) error {
	if err := seen(r, lanes); err != nil {
		return err
	}
	for _, subject := range subjects {
		for _, k := range kills[1:] {
			l := find(lanes, k.name, subject)
			if l == nil {
				continue
			}
			limits := ours
			if subject != record.Mcpd || k.reports == "reports" || k.victim != actorVictim {
				limits = pair{} // the crashes use CPU time, which the promise does not cover
			}
			if err := l.compareWith(r, "nobody killed, "+subject, find(lanes, kills[0].name, subject),
				limits); err != nil {
				return err
			}
		}
	}
	return nil
}

// seen adds the latencies of bystanders. A failed call of a bystander is an error.
func seen(r *kit.Run, lanes []*series) error {
	for _, l := range lanes {
		if _, _, err := l.times(r, tail...); err != nil {
			return err
		}
		r.Add(l.value("kills", "", func(a answer) float64 { return float64(a.Kills) }))
		calls, failures := l.value("calls", "", func(a answer) float64 { return float64(a.Calls) }), 0
		for _, a := range l.answers {
			failures += a.Failures
		}
		calls.Calls = &load.Counts{
			Sent: sum(calls.Rounds), OK: sum(calls.Rounds) - uint64(failures), Failed: uint64(failures),
		}
		r.Add(calls)
		if l.subject == record.Mcpd && failures > 0 {
			return fmt.Errorf("%s: %d calls of a bystander failed", l.name, failures)
		}
	}
	return nil
}

func sum(values []float64) (n uint64) {
	for _, v := range values {
		n += uint64(v)
	}
	return n
}
