package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"mcpd/chaos/faults"
	"mcpd/telemetry/admin"
)

// order is mcpd.v1.ArmFault.
type order struct {
	Action  string  `json:"action"`
	Path    string  `json:"path,omitzero"`
	Kind    string  `json:"kind,omitzero"`
	Count   int     `json:"count,omitzero"`
	Lease   string  `json:"lease"`
	Place   string  `json:"place,omitzero"`
	Tenant  string  `json:"tenant,omitzero"`
	Server  string  `json:"server,omitzero"`
	Session string  `json:"session,omitzero"`
	Percent float64 `json:"percent,omitzero"`
	Seed    uint64  `json:"seed,omitzero,string"`
	Delay   string  `json:"delay,omitzero"`
	Run     string  `json:"run"`
	Meant   bool    `json:"meant,omitzero"`
}

// armed holds the fields of mcpd.v1.Fault that a run needs.
type armed struct {
	ID      string `json:"id"`
	Hits    int    `json:"hits"`
	Run     string `json:"run"`
	Expires string `json:"expires"`
}

// seconds formats a duration as protobuf's JSON does.
func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.9fs", d.Seconds())
}

// Arm implements faults.Operator.
func (p *operator) Arm(ctx context.Context, o faults.ArmRequest) (string, error) {
	p.mu.Lock()
	p.asked = true // set before the request, because the answer may be lost
	p.mu.Unlock()
	data, err := p.ask(ctx, http.MethodPost, "/admin/v1/faults", admin.Chaos, order{
		o.Action, o.Path, o.Kind, o.Count, seconds(o.Lease), o.Place, o.Tenant, o.Server, o.Session,
		o.Percent, o.Seed, seconds(o.Delay), p.name, p.meant,
	})
	if err != nil {
		return "", err
	}
	var a armed
	if err := json.Unmarshal(data, &a); err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leases[a.ID] = o.Lease
	return a.ID, nil
}

// Disarm implements faults.Operator.
func (p *operator) Disarm(ctx context.Context, id string) error {
	p.mu.Lock()
	delete(p.leases, id)
	p.mu.Unlock()
	_, err := p.ask(ctx, http.MethodDelete, "/admin/v1/faults/"+url.PathEscape(id), admin.Chaos, nil)
	if r, ok := errors.AsType[*refusal](err); ok && r.status == http.StatusNotFound {
		return nil
	}
	return err
}

// disarmAll disarms everything that the run has armed.
func (p *operator) disarmAll(ctx context.Context) error {
	p.mu.Lock()
	clear(p.leases)
	p.mu.Unlock()
	_, err := p.ask(ctx, http.MethodDelete, "/admin/v1/faults?run="+url.QueryEscape(p.name),
		admin.Chaos, nil)
	if err == nil {
		p.mu.Lock()
		p.asked = false
		p.mu.Unlock()
	}
	return err
}

// checkNoOtherRun returns an error if another run has a fault armed: a run on another machine, or a
// run that was killed a moment ago.
func (p *operator) checkNoOtherRun(ctx context.Context) error {
	list, err := p.armed(ctx)
	for _, a := range list {
		if a.Run != "" && a.Run != p.name {
			return fmt.Errorf(
				"%w: %s has armed %s, until %s at least: end it where it was started; what it has armed ends "+
					"with it, or soon after", ErrBusy, a.Run, a.ID, a.Expires,
			)
		}
	}
	return err
}

// armed lists all armed faults, whoever has armed them.
func (p *operator) armed(ctx context.Context) ([]armed, error) {
	data, err := p.ask(ctx, http.MethodGet, "/admin/v1/faults", admin.Chaos, nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Faults []armed `json:"faults"`
	}
	err = json.Unmarshal(data, &list)
	return list.Faults, err
}

// mayHaveArmed reports whether something may be armed.
func (p *operator) mayHaveArmed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// Struck implements faults.Operator. A fault that has ended is no longer listed; the event about
// its end gives its number of hits.
func (p *operator) Struck(ctx context.Context, id string) (int, error) {
	const wait = 2 * time.Second // for an event that is on its way
	for end := time.Now().Add(wait); ; {
		if e, ok := p.feed.fault(id); ok {
			return e.hits, nil
		}
		list, err := p.armed(ctx)
		if err != nil {
			return 0, err
		}
		for _, a := range list {
			if a.ID == id {
				return a.Hits, nil
			}
		}
		if time.Now().After(end) {
			return 0, fmt.Errorf("fault %s has ended, and no event says how often it has struck", id)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// renew extends the lease of everything that is armed whenever a third of the lease has passed,
// until ctx ends.
func (p *operator) renew(ctx context.Context) {
	const step = 200 * time.Millisecond // finer than a third of any lease in use
	renewed := map[string]time.Time{}
	for sleep(ctx, step) == nil {
		p.mu.Lock()
		due := map[string]time.Duration{}
		for id, lease := range p.leases {
			if renewed[id].IsZero() {
				renewed[id] = time.Now()
			}
			if time.Since(renewed[id]) >= lease/3 {
				due[id] = lease
			}
		}
		p.mu.Unlock()
		for id, lease := range due {
			renewed[id] = time.Now()
			_, err := p.ask(ctx, http.MethodPost, "/admin/v1/faults/"+url.PathEscape(id)+"/renew",
				admin.Chaos, map[string]string{"lease": seconds(lease)})
			// the fault is used up
			if r, ok := errors.AsType[*refusal](err); ok && r.status == http.StatusNotFound {
				p.mu.Lock()
				delete(p.leases, id)
				p.mu.Unlock()
				delete(renewed, id)
			}
		}
	}
}

// sleep waits for d, or returns the cause of the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
