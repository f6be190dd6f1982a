package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
	"mcpd/chaos/record"
)

// errPhaseOver is the cause of the end of a phase.
var errPhaseOver = errors.New("the phase is over")

// run is one run of an experiment.
type run struct {
	Options
	operator *operator
	about    about
	pid      atomic.Int64 // of a host on this machine, else 0
	roles    experiment.Roles
	traffic  []*traffic // the target's first
	peaks    *peaks
	growth   growth             // written by the guard until it has ended
	limits   map[string]float64 // limits of peaks, by name
	begun    time.Time
	stop     context.CancelCauseFunc
}

// now returns the time since the run began, in seconds.
func (r *run) now() float64 { return time.Since(r.begun).Seconds() }

// clientOf returns the client of a tenant. An empty tenant stands for the target.
func (r *run) clientOf(tenant string) faults.Client {
	if tenant == "" {
		tenant = r.roles.Target
	}
	for _, t := range r.traffic {
		if t.tenant == tenant {
			return t.client
		}
	}
	return faults.Client{
		URL: r.MCP + "/t/" + tenant + "/mcp", Key: r.Keys[tenant], Tool: r.Experiment.Load.Tool,
		Argument: r.Experiment.Load.Argument,
	}
}

// Run carries out an experiment. It returns when everything is healed, also if ctx or a guard has
// ended the run early. The record gives the reason of an early end. An error says that nothing was
// broken, and why.
func Run(ctx context.Context, o Options) (record.Record, error) {
	// for names and nonces, which must differ between runs
	rng := rand.New(rand.NewPCG(o.Seed, uint64(time.Now().UnixNano())))
	r := &run{
		Options: o, operator: newOperator(o, fmt.Sprintf("%s-%x", o.Experiment.Name, rng.Uint32())),
		peaks: newPeaks(),
	}
	if err := r.prepare(ctx); err != nil {
		return record.Record{}, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		defer cancel()
		for _, t := range r.traffic {
			disconnect(closing, t.sessions)
		}
	}()
	if err := r.connect(ctx, rng); err != nil {
		return record.Record{}, err
	}
	return r.carryOut(ctx, rng)
}

// prepare queries the host and assigns the roles.
func (r *run) prepare(ctx context.Context) (err error) {
	if r.about, err = r.operator.about(ctx); err != nil {
		return err
	}
	if r.about.Environment == "production" && !r.AllowProduction {
		return ErrProduction
	}
	if r.MCP == "" {
		r.MCP = "http://" + r.about.Listen
	}
	s, err := r.operator.scrape(ctx)
	if err != nil {
		return err
	}
	r.find(r.about, s)
	r.limits = limitsOf(r.about)
	tree, err := r.operator.Tree(ctx)
	if err != nil {
		return err
	}
	if r.roles, err = r.Experiment.AssignRoles(tree, r.Target, r.Bystanders); err != nil {
		return err
	}
	for _, tenant := range slices.Sorted(maps.Keys(r.Keys)) {
		if err := experiment.CheckTenant(tree, tenant); err != nil {
			return fmt.Errorf("a key: %w", err)
		}
	}
	if err := r.operator.resetTenant(ctx, r.roles.Target); err != nil {
		return err
	}
	return r.able(ctx)
}

// limitsOf returns the host's own limits of holdings with a peak. Guards of the experiment are not
// among them; the record reports those separately.
func limitsOf(a about) map[string]float64 {
	if a.ResidentMax == 0 {
		return nil
	}
	return map[string]float64{residentBytes: float64(a.ResidentMax)}
}

// find looks for the host's process on this machine.
func (r *run) find(a about, s scrape) {
	r.pid.Store(0)
	if started, _ := s.sum("process_start_time_seconds"); local(a.PID, started) {
		r.pid.Store(int64(a.PID))
	}
}

// able returns an error if something that the faults need is missing.
func (r *run) able(ctx context.Context) error {
	var needs faults.Need
	for _, f := range r.Experiment.Faults {
		if k, ok := faults.Find(r.Kinds, f.Kind); ok {
			needs |= k.Needs
		}
	}
	if needs&faults.NeedFaultPoints != 0 {
		// nothing is armed yet: this only checks the permission
		if err := r.operator.disarmAll(ctx); err != nil {
			return fmt.Errorf("%w: its faults need the host's fault points: %w", ErrUnable, err)
		}
		if err := r.operator.checkNoOtherRun(ctx); err != nil {
			return err
		}
	}
	if needs&faults.NeedSameMachine != 0 && r.pid.Load() == 0 {
		return fmt.Errorf("%w: its faults need signals: run it on the host's machine, as its user",
			ErrUnable)
	}
	if needs&faults.NeedOwnHost != 0 && r.Start == nil {
		return fmt.Errorf("%w: its faults kill the host: say with --start how it is started again",
			ErrUnable)
	}
	return nil
}

// connect opens all sessions and makes calls until everything is warm.
func (r *run) connect(ctx context.Context, rng *rand.Rand) error {
	for i, tenant := range append([]string{r.roles.Target}, r.roles.Bystanders...) {
		role := record.Bystander
		if i == 0 {
			role = record.Target
		}
		t, err := open(ctx, r.Experiment.Load, tenant, role, r.MCP, r.Keys[tenant])
		if err != nil {
			return err
		}
		r.traffic = append(r.traffic, t)
	}
	spread(r.traffic)
	r.say("%s: target %s, bystanders %v, seed %d", r.Experiment.Name, r.roles.Target,
		r.roles.Bystanders, r.Seed)
	alive := func(ctx context.Context) error {
		_, err := r.operator.status(ctx, "/livez")
		return err
	}
	var warmed sync.WaitGroup
	errs, seconds := make([]error, len(r.traffic)), warmSeconds
	if r.Short {
		seconds = warmSecondsShort
	}
	for i, t := range r.traffic {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		warmed.Go(func() { errs[i] = t.warm(ctx, seconds, r.Experiment.Load, own, alive, r.say) })
	}
	warmed.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return r.before(ctx)
}

// before makes the host create, for every tenant, the state that it keeps for minutes after use, so
// that the measurement before the run includes it (faults.Kind.Prewarm). It returns an error if the
// target of a fault lacks something.
func (r *run) before(ctx context.Context) error {
	if err := r.targets(ctx); err != nil {
		return err
	}
	for _, f := range r.Experiment.Faults {
		kind, _ := faults.Find(r.Kinds, f.Kind)
		for _, t := range r.traffic {
			if kind.Prewarm == nil {
				continue
			}
			if err := kind.Prewarm(ctx, t.client, f.Params); err != nil {
				return fmt.Errorf("before %s: tenant %s: %w", f.Kind, t.tenant, err)
			}
		}
	}
	return nil
}

// targets checks whether each kind of fault can be injected at its targets, as far as the targets
// are known now.
func (r *run) targets(ctx context.Context) error {
	tree, err := r.operator.Tree(ctx)
	if err != nil {
		return err
	}
	plan, err := r.Experiment.DraftSchedule(tree, r.roles, r.Seed)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnable, err)
	}
	type aim struct {
		fault          int
		tenant, server string
	}
	asked := map[aim]bool{}
	for _, s := range plan {
		kind, _ := faults.Find(r.Kinds, s.Kind) // the experiment was parsed with these kinds
		at := aim{s.Fault, s.Tenant, s.Server}
		if kind.Check == nil || asked[at] {
			continue
		}
		asked[at] = true
		if err := kind.Check(ctx, &faults.Site{Tenant: s.Tenant, Client: r.clientOf(s.Tenant),
			Server: s.Server, Params: s.With}); err != nil {
			return fmt.Errorf("%w: fault %d, %s: %w", ErrUnable, s.Fault+1, s.Kind, err)
		}
	}
	return nil
}

// carryOut carries out the run. It always returns with everything healed and nothing in progress.
func (r *run) carryOut(ctx context.Context, rng *rand.Rand) (out record.Record, err error) {
	if err := r.operator.feed.begin(ctx); err != nil {
		return out, err
	}
	always, end := context.WithCancel(context.WithoutCancel(ctx)) // lives until all is measured
	var owned sync.WaitGroup
	defer owned.Wait()
	defer end()
	owned.Go(func() { r.operator.feed.follow(always) })
	for _, t := range r.traffic {
		t.prepareEffects(ctx, rng.Uint64())
		t.listener.checkTool(ctx)
	}
	before, err := r.measureIdle(ctx)
	if err != nil {
		return out, err
	}
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	defer r.healAll(ctx)

	p := r.Experiment.Phases
	ends := []time.Duration{p.Baseline, p.Baseline + p.Fault, p.Baseline + p.Fault + p.Heal}
	r.begun = time.Now()
	for _, t := range r.traffic {
		t.book = newBook(t.tenant, t.role, t.rate, r.begun, ends)
	}
	var calls, watchers sync.WaitGroup
	for _, t := range r.traffic {
		calls.Go(func() {
			if err := t.run(ctx, r.Experiment.Load, ends[2], t.effects.run); err != nil {
				r.abort("load on %s: %v", t.tenant, err)
			}
		})
	}
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	watchers.Go(func() { r.guard(watching) })
	watchers.Go(func() { r.operator.renew(watching) })
	probes := r.probes()
	answers := make([]record.Probe, len(probes))
	for i, p := range probes {
		watchers.Go(func() { r.probe(watching, p, &answers[i]) })
	}

	phases, done := r.phases(ctx, ends)
	calls.Wait()
	unwatch()
	watchers.Wait()
	r.healAll(ctx)
	cause := context.Cause(ctx)
	effects := r.sumEffects(context.WithoutCancel(ctx))
	after, err := r.measureAfter(context.WithoutCancel(ctx), before)
	if err != nil {
		after = measurement{} // a partial measurement would look like missing holdings
	}
	out = r.record(phases, done, before, after)
	out.Probes, out.Effects = answers, effects
	switch {
	case cause != nil:
		out.Aborted = cause.Error()
		if errors.Is(cause, context.Canceled) {
			out.Aborted = "interrupted"
		}
	case err != nil:
		out.Aborted = "the host could not be measured afterwards: " + err.Error()
	}
	end()
	owned.Wait()
	events, omitted, err := r.operator.feed.records(r.begun)
	if omitted > 0 {
		r.say("%d events of sessions that came and went are left out of the record", omitted)
	}
	if err != nil && out.Aborted == "" {
		out.Aborted = err.Error()
	}
	out.Events = events
	r.figures(&out, done)
	return out, nil
}

// healAll disarms everything that the run has armed. It retries for healTime if the host does not
// answer. A fault that it cannot reach ends with its lease.
func (r *run) healAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTime)
	defer cancel()
	for r.operator.mayHaveArmed() && r.operator.disarmAll(ctx) != nil {
		if sleep(ctx, 250*time.Millisecond) != nil {
			r.say("the host does not answer: what is armed ends with its lease")
			return
		}
	}
}

// phases waits for the end of each phase, and injects faults in the second. A run that is ended
// early has only the phases that it reached.
func (r *run) phases(ctx context.Context, ends []time.Duration) (list []record.Phase,
	done []struck) {
	for i, name := range names {
		if ctx.Err() != nil {
			break
		}
		from := r.now()
		remaining := time.Until(r.begun.Add(ends[i]))
		r.say("%s: %s", name, remaining.Round(time.Second))
		if name == record.Fault {
			done = r.fault(ctx, remaining)
		} else {
			_ = sleep(ctx, remaining) // whatever ends it, the phase is over
		}
		list = append(list, record.Phase{Name: name, From: from, To: r.now()})
	}
	return list, done
}

// fault is the phase of the faults. It schedules them with the rows that exist now.
func (r *run) fault(ctx context.Context, lasts time.Duration) []struck {
	tree, err := r.operator.Tree(ctx)
	var plan []experiment.Strike
	if err == nil {
		plan, err = r.Experiment.Schedule(tree, r.roles, r.Seed)
	}
	if err != nil {
		r.abort("the faults could not be planned: %v", err)
		return nil
	}
	return r.strikes(ctx, plan, lasts)
}
