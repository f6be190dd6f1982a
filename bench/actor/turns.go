package actor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"mcpd/bench/kit"
	"mcpd/bench/otp"
	"mcpd/bench/record"
	"mcpd/internal/load"
)

// protoactorBare is the subject of measurements of protoactor's own mailbox.
const protoactorBare = "protoactor"

// subjects are the processes that answer: mcpd's, and OTP's if Erlang is installed.
type subjects struct {
	talks  map[string]*kit.Talk // by subject
	folder string
}

// open starts both sides for a scenario. The caller must close them.
func open(ctx context.Context, r *kit.Run, scenario string) (*subjects, error) {
	folder, err := os.MkdirTemp("", "mcpd-bench-")
	if err != nil {
		return nil, err
	}
	s := &subjects{talks: map[string]*kit.Talk{}, folder: folder}
	mine, err := kit.StartTalk(ctx, ours, filepath.Join(folder, "mcpd.log"))
	if err != nil {
		s.close()
		return nil, err
	}
	s.talks[record.Mcpd] = mine
	if s.talks[record.OTP], err = otp.Start(ctx, folder); err != nil {
		delete(s.talks, record.OTP)
		r.Miss(scenario, record.OTP, "no Erlang: %v", err)
		return s, nil
	}
	if r.Record.Machine.Erlang, err = otp.Release(s.talks[record.OTP]); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *subjects) close() {
	for _, t := range s.talks {
		_ = t.Stop() // all answers have been read
	}
	_ = os.RemoveAll(s.folder) // it is a temporary folder
}

// series is the question to one side in every round of a case.
type series struct {
	scenario, name string // as records have them
	subject        string
	ask            func() (answer, error)
	answers        []answer // one for each round
}

// asks returns a function that asks a process.
func asks(talk *kit.Talk, q question) func() (answer, error) {
	return func() (a answer, err error) {
		err = talk.Ask(q.String(), &a)
		return a, err
	}
}

// lanes returns a series for each existing side.
func (s *subjects) lanes(scenario, name string, q question) (l []*series) {
	for _, subject := range []string{record.Mcpd, record.OTP} {
		if talk := s.talks[subject]; talk != nil {
			l = append(l, &series{scenario: scenario, name: name, subject: subject, ask: asks(talk, q)})
		}
	}
	return l
}

// runRounds takes the rounds. Each round asks every series once, in a new random order, so that no
// series always runs after the same other series.
func runRounds(ctx context.Context, r *kit.Run, rounds int, lanes []*series) error {
	rng := rand.New(rand.NewPCG(r.Seed, 0))
	for range rounds {
		for _, i := range rng.Perm(len(lanes)) {
			l := lanes[i]
			if err := ctx.Err(); err != nil {
				return err
			}
			a, err := l.ask()
			if err != nil {
				return fmt.Errorf("%s: %s: %w", l.subject, l.name, err)
			}
			l.answers = append(l.answers, a)
		}
	}
	for _, l := range lanes {
		r.Say("%s: %s: %s: %d rounds", l.scenario, l.name, l.subject, rounds)
	}
	return nil
}

// find returns the series of a case and a subject, or nil if there is none.
func find(lanes []*series, name, subject string) *series {
	if i := slices.IndexFunc(lanes, func(l *series) bool {
		return l.name == name && l.subject == subject
	}); i >= 0 {
		return lanes[i]
	}
	return nil
}

// percentile returns a quantile of the times of each round.
func (l *series) percentile(name string, q float64) record.Measurement {
	m := l.measurement(name, "ns")
	for _, a := range l.answers {
		m.Rounds = append(m.Rounds, float64(a.histogram().ValueAtQuantile(q)))
	}
	return m
}

// value returns another quantity of each round.
func (l *series) value(name, unit string, of func(answer) float64) record.Measurement {
	m := l.measurement(name, unit)
	for _, a := range l.answers {
		m.Rounds = append(m.Rounds, of(a))
	}
	return m
}

func (l *series) measurement(quantity, unit string) record.Measurement {
	return record.Measurement{
		Scenario: l.scenario, Case: l.name, Subject: l.subject, Quantity: quantity, Unit: unit,
	}
}

// times adds the median and further quantiles of a series to the record, and returns p50 and p99.
// The median has the histogram.
func (l *series) times(r *kit.Run, more ...quantile) (p50, p99 record.Measurement, err error) {
	all := newHistogram()
	for _, a := range l.answers {
		all.Merge(a.histogram())
	}
	p50, p99 = l.percentile("p50", 50), l.percentile("p99", 99)
	if p50.Histogram, err = kit.Encode(all); err != nil {
		return p50, p99, err
	}
	r.Add(p50)
	r.Add(p99)
	for _, q := range more {
		r.Add(l.percentile(q.name, q.at))
	}
	return p50, p99, nil
}

type quantile struct {
	name string
	at   float64
}

// tail are the quantiles besides p50 and p99 that are recorded for isolation.
var tail = []quantile{{"p99.9", 99.9}, {"max", 100}}

// pair are the limits of a ratio of medians and of a ratio of 99th percentiles.
type pair struct{ p50, p99 kit.Limits }

// tails removes the limit of the 99th percentile in a short run. It would depend on the two or
// three slowest of some hundred samples, which are due to the machine.
func tails(r *kit.Run, limits pair) pair {
	if r.Short {
		limits.p99 = kit.Limits{}
	}
	return limits
}

// both uses the same limits for both ratios.
func both(l kit.Limits) pair { return pair{l, l} }

// compareWith compares the times of a series with those of another, if there is one.
func (l *series) compareWith(r *kit.Run, of string, baseline *series, limits pair) error {
	if baseline == nil {
		return nil
	}
	if err := r.Compare("p50 of "+of, l.percentile("p50", 50), baseline.percentile("p50", 50),
		limits.p50); err != nil {
		return err
	}
	return r.Compare("p99 of "+of, l.percentile("p99", 99), baseline.percentile("p99", 99), limits.p99)
}

// roundsOf is the least number of rounds for an interval, or in a full run enough rounds for a
// narrow one.
func roundsOf(r *kit.Run) int { return kit.ByForm(r, 15, load.MinPairs) }

// manyRounds is a larger number of rounds for crashes. Rounds differ because of the machine,
// whatever their length, so that many short rounds make the interval narrow enough to judge its
// gate. A tight round has more crashes, because each takes microseconds: in a few milliseconds, the
// 99th percentile would depend on whether a garbage collection happened.
func manyRounds(r *kit.Run) int   { return kit.ByForm(r, 40, load.MinPairs) }
func pacedCrashes(r *kit.Run) int { return kit.ByForm(r, 500, 200) }
func tightCrashes(r *kit.Run) int { return kit.ByForm(r, 2000, 200) }
