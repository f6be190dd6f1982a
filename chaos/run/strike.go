package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
	"mcpd/chaos/record"
)

// maxStruck bounds the faults that are being injected or healed at once.
const maxStruck = 64

// struck is one strike that was carried out.
type struck struct {
	plan experiment.Strike
	// when the injection was done, in seconds since the run began; From is before the injection
	at float64
	record.Strike
	figures map[string][]float64 // measured by the kind
}

// strikes carries out a schedule from the beginning of the phase, and returns at the end of the
// phase with everything healed.
func (r *run) strikes(ctx context.Context, plan []experiment.Strike, lasts time.Duration) []struck {
	phase := time.Now()
	ctx, end := context.WithDeadlineCause(ctx, phase.Add(lasts), errPhaseOver)
	defer end()
	done := make([]struck, len(plan))
	slots := make(chan struct{}, maxStruck)
	var under sync.WaitGroup
	n := 0
	for i, s := range plan {
		if sleep(ctx, time.Until(phase.Add(s.At))) != nil {
			break
		}
		n++
		slots <- struct{}{}
		under.Go(func() {
			defer func() { <-slots }()
			done[i] = r.strike(ctx, s, i, slots)
		})
	}
	<-ctx.Done()
	under.Wait()
	return done[:n]
}

// strike carries out one strike, until its own end or that of the phase. While the fault lasts it
// releases its turn to others.
func (r *run) strike(ctx context.Context, s experiment.Strike, n int, slots chan struct{}) struck {
	kind, _ := faults.Find(r.Kinds, s.Kind) // the experiment was parsed with these kinds
	host := &armer{operator: r.operator}
	out := struck{
		Strike: record.Strike{
			ID: fmt.Sprintf("%s-%d", s.Kind, n+1), Kind: s.Kind, From: r.now(), Fatal: kind.Fatal,
			Quiet: kind.Quiet, Silent: kind.Silent,
		},
	}
	site := &faults.Site{
		Host: host, PID: int(r.pid.Load()), Start: r.starter(), Launch: r.launcher(), Tenant: s.Tenant,
		Client: r.clientOf(s.Tenant), Server: s.Server, Row: s.Row, Percent: s.Percent, Duration: s.For,
		Params: s.With,
		Rand:   rand.New(rand.NewPCG(s.Seed, uint64(n))),
	}
	in, err := injectWithRetry(ctx, kind, site, func() {
		if !s.AnyServer {
			return
		}
		// without a tree the kind reports that the host does not answer
		if tree, err := host.Tree(ctx); err == nil {
			s = s.Running(tree)
			site.Server = s.Server
		}
	})
	out.plan, out.Target = s, target(s)
	if err != nil {
		out.To, out.Error = r.now(), err.Error()
		r.say("%s could not be done: %v", s.Kind, err)
		return out
	}
	out.Target, out.at = in.Target, r.now()
	if len(host.ids) > 0 {
		out.ID = host.ids[0]
	}
	<-slots
	_ = sleep(ctx, s.For) // the end of the phase heals too
	slots <- struct{}{}
	healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTime)
	defer cancel()
	if err := in.Heal(healing); err != nil {
		out.Wrong = "not healed: " + err.Error()
		r.say("%s could not be healed: %v", s.Kind, err)
	}
	out.To = r.now()
	if in.Figures != nil {
		out.figures = in.Figures()
	}
	if out.Hits, err = in.Hits(healing); err != nil && out.Wrong == "" {
		out.Wrong = err.Error()
	}
	if at, ok := r.operator.feed.over(host.ids); ok { // it may have been used up long ago
		out.To = max(out.From, min(out.To, at.Sub(r.begun).Seconds()))
	}
	return out
}

// Retries of an injection. With several faults, one may find its target gone, or its client
// refused, because of another fault. The retries last longer than a tenant is paused after its
// first ends: 1, 2 and 4 s.
const (
	injectTries = 20
	injectPause = 500 * time.Millisecond
)

// errPanicked says that a kind has panicked.
var errPanicked = errors.New("panicked")

// injectWithRetry injects a fault and retries if that fails. It calls aim before each attempt. An
// error says that nothing was injected, unless the kind panicked.
func injectWithRetry(ctx context.Context, k faults.Kind, s *faults.Site,
	aim func()) (in faults.Injected,
	err error) {
	for try := 1; ; try++ {
		aim()
		in, err = inject(ctx, k, s)
		if err == nil || errors.Is(err, errPanicked) || try == injectTries ||
			sleep(ctx, injectPause) != nil {
			return in, err
		}
	}
}

// inject injects a fault. If the kind panics, its effects stay, and the run goes on in order to
// heal the other faults.
func inject(ctx context.Context, k faults.Kind, s *faults.Site) (in faults.Injected, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s %w: %v\n%s", k.Name, errPanicked, p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, healTime)
	defer cancel()
	return k.Inject(ctx, s)
}

// target describes the target of a strike.
func target(s experiment.Strike) string {
	switch {
	case s.Row != "":
		return s.Row
	case s.Server != "":
		return s.Server + " of " + s.Tenant
	case s.Tenant != "":
		return "tenant " + s.Tenant
	}
	return "the host"
}

// armer is an operator that records the faults that one strike has armed.
type armer struct {
	*operator
	ids []string
}

// Arm implements faults.Operator.
func (a *armer) Arm(ctx context.Context, o faults.ArmRequest) (string, error) {
	id, err := a.operator.Arm(ctx, o)
	if err == nil {
		a.ids = append(a.ids, id)
	}
	return id, err
}
