package supervisor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"mcpd/actors/session"
	"mcpd/actors/tenancy"
	"mcpd/gateway/ladder"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/protocol"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
)

func (h *host) tenancyOptions() tenancy.Options {
	return tenancy.Options{
		Board: &h.standing, Tenants: h.tenantNames,
		Supervisor: func() otp.Ref {
			ref, _ := h.system.Whereis(root + "/tenants")
			return ref
		},
		Child:    func(name string) otp.Child { return h.tenant(h.now().tenants[name]) },
		Starting: h.system.AcceptOrigin, Resumed: h.wakeSessions,
		Storage: func() otp.Ref {
			return h.core("storage")
		}, Stored: h.stored(store.Tenants), Records: h.records,
		Emit: h.recorder.Emit,
	}
}

func (h *host) tenantNames() []string {
	tenants := h.now().config.Tenants
	names := make([]string, len(tenants))
	for i := range tenants {
		names[i] = tenants[i].Name
	}
	return names
}

// wakeSessions gives each session of a tenant that runs again an actor, so that a client with an
// open stream hears of changes without asking.
func (h *host) wakeSessions(tenant string) {
	for _, s := range h.index.Sorted(func(s *session.Handle) bool {
		return s.Endpoint().Tenant == tenant
	}) {
		_ = h.core("session_manager").Send(&session.Wake{Handle: s})
	}
}

// ending is the incident for which a tenant's supervisor has given up. It is kept until the tenant
// manager has decided what to do with the tenant.
type ending struct{ incident string }

// dispatchEvents passes events to the log and the metrics. It also tells the tenant manager the
// events that it needs.
func (h *host) dispatchEvents(recorded func(otp.Event)) func(otp.Event) {
	return func(e otp.Event) {
		recorded(e)
		switch e := e.(type) {
		case otp.ChildStarted:
			if name, ok := tenantRow(e.Path); ok {
				h.endings.Delete(name)
				// A tenant manager that starts later looks for itself.
				_ = h.core("tenant_manager").Send(tenancy.Started{Tenant: name})
			}
		case otp.IntensityExceeded:
			if name, ok := tenantRow(e.Path); ok {
				h.endings.Store(name, ending{incidentOf(e.Err)})
			}
		case otp.CrashCharged:
			h.charge(e)
		}
	}
}

// tenantRow returns the tenant whose row in the tree has this path.
func tenantRow(path string) (name string, ok bool) {
	name, ok = strings.CutPrefix(path, root+"/tenants/")
	return name, ok && !strings.Contains(name, "/")
}

// incidentOf returns the incident id of the crash behind an error, "" without a crash.
func incidentOf(err error) string {
	var crash *otp.CrashReport
	if errors.As(err, &crash) {
		return crash.Incident()
	}
	return ""
}

// charge tells the tenant manager of a crash that a message of a tenant has caused.
func (h *host) charge(c otp.CrashCharged) {
	reason := ladder.Why{
		Cause:    "its messages crash " + strings.TrimPrefix(c.Path, root+"/"),
		Incident: incidentOf(c.Reason),
	}
	charged := tenancy.Charged{Tenant: c.Origin, Why: reason}
	_ = h.core("tenant_manager").Send(charged)
	// After a hang or too many crashes the component takes no message of the tenant, so the tenant
	// must not seem to run. The second report (ladder.MaxCharges) pauses it.
	if c.Pause > 0 {
		_ = h.core("tenant_manager").Send(charged)
	}
}

// down returns the refusal for a tenant that does not run, or whose supervisor has just given up,
// otherwise nil.
func (h *host) down(tenant string) *protocol.Error {
	if s := h.standing.Of(tenant); !s.Runs() {
		return protocol.TenantDown(tenant, string(s.State), s.Incident,
			max(second, s.Wait(h.awake.Now())))
	}
	if e, ok := h.endings.Load(tenant); ok {
		return protocol.TenantDown(tenant, string(ladder.Paused), e.(ending).incident, ladder.FirstPause)
	}
	return nil
}

// withTenants adds the standing of the tenants to a snapshot. A tenant that was down when the host
// started has no row in the tree until it is started.
func (h *host) withTenants(tree otp.Node) otp.Node {
	share := int64(h.guaranteed())
	for i := range tree.Children {
		pool := &tree.Children[i]
		if pool.ID != "tenants" {
			continue
		}
		rows := map[string]int{}
		for j, row := range pool.Children {
			rows[row.ID] = j
		}
		for _, name := range h.tenantNames() {
			s := h.standing.Of(name)
			j, ok := rows[name]
			if !ok && !s.Runs() {
				j = len(pool.Children)
				pool.Children = append(pool.Children, otp.Node{
					ID: name, Path: pool.Path + "/" + name, Label: name, Type: otp.SupervisorType,
					Restart: otp.Transient, Status: otp.Stopped, Since: s.Since,
				})
				ok = true
			}
			if ok {
				st := status(name, s)
				st.Usage = h.ledger.Account(name).Holding().Above(share)
				pool.Children[j].Extra = st
			}
		}
	}
	return tree
}

func status(tenant string, s ladder.Standing) telemetry.TenantStatus {
	out := telemetry.TenantStatus{Tenant: tenant, State: string(s.State), Retry: s.Until}
	if s.State == "" {
		out.State = string(ladder.Running)
	}
	if !s.Clean() {
		out.Ending = telemetry.Ending{Cause: s.Cause, Incident: s.Incident}
	}
	return out
}

// tenantsCheck is the readiness check of the tenants. A tenant that is down does not affect others.
// A tenant that was started again is listed until it has run for a while.
func (h *host) tenantsCheck() admin.Check {
	c := admin.Check{Name: "tenant_state", OK: true}
	var lines []string
	for _, name := range h.tenantNames() {
		switch s := h.standing.Of(name); {
		case !s.Runs() || s.State == ladder.Probing:
			lines = append(lines, name+" is "+string(s.State)+", incident "+s.Incident)
		case !s.Clean():
			lines = append(lines, name+" is started again (ends in a row: "+strconv.Itoa(s.Ends)+
				"), incident "+s.Incident)
		}
	}
	if len(lines) > 0 {
		c.OK, c.Detail = false, strings.Join(lines, "; ")
	}
	return c
}

// componentsCheck is the readiness check of rows that end too often or are stuck. It covers the
// rows that all tenants share, and in each tenant those that all its clients share.
func componentsCheck(tree otp.Node) admin.Check {
	var paused, tried, stuck []string
	var walk func(n otp.Node)
	walk = func(n otp.Node) {
		switch path := strings.TrimPrefix(n.Path, root+"/"); {
		case n.Status == otp.Paused:
			paused = append(paused, path)
		case n.Unstable:
			tried = append(tried, path)
		case n.Stuck:
			stuck = append(stuck, path)
		}
		if n.Strategy == otp.SimpleOneForOne {
			return
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(tree)
	var lines []string
	for _, l := range []struct {
		label string
		rows  []string
	}{
		{"paused, because it ends too often: ", paused},
		{"started again after such a pause, and not stable yet: ", tried},
		{"stuck at one message: ", stuck},
	} {
		if len(l.rows) > 0 {
			lines = append(lines, l.label+strings.Join(l.rows, ", "))
		}
	}
	return admin.Check{Name: "components", OK: len(lines) == 0, Detail: strings.Join(lines, "; ")}
}

// tenantList yields the tenants for the admin listener.
func (h *host) tenantList() iter.Seq[*mcpdv1.Tenant] {
	return func(yield func(*mcpdv1.Tenant) bool) {
		for _, name := range h.tenantNames() {
			if !yield(h.tenantRecord(name, h.standing.Of(name))) {
				return
			}
		}
	}
}

func (h *host) tenantRecord(name string, s ladder.Standing) *mcpdv1.Tenant {
	st := status(name, s)
	t := &mcpdv1.Tenant{
		Name: name, State: st.State, Ends: telemetry.Count(s.Ends), Cause: st.Cause,
		Incident: st.Incident, ByOperator: s.Operator,
	}
	if move := h.standing.Move(name); move != "" {
		t.State = string(move)
	}
	if !s.Since.IsZero() {
		t.Since = timestamppb.New(s.Since)
	}
	if !s.Until.IsZero() {
		t.Retry = timestamppb.New(s.Until)
	}
	return t
}

// operateTenant performs an operator's action on a tenant.
func (h *host) operateTenant(ctx context.Context, name, verb string) (*mcpdv1.Tenant, error) {
	ctx, cancel := context.WithTimeout(ctx, operateTime)
	defer cancel()
	s, err := otp.Do[tenancy.OperateRequest, ladder.Standing](ctx, h.core("tenant_manager"),
		tenancy.OperateRequest{Tenant: name, Verb: ladder.Verb(verb)})
	switch {
	case errors.Is(err, tenancy.ErrNoTenant):
		return nil, admin.ErrNoTenant
	case errors.Is(err, tenancy.ErrPutAway):
		return nil, admin.ErrQuarantined
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf(
			"not confirmed within %s: core/tenant_manager or core/storage is busy. If it is done, it may "+
				"not survive a restart of the host", operateTime,
		)
	case err != nil:
		return nil, err
	}
	return h.tenantRecord(name, s), nil
}
