package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"mcpd/chaos/faults"
	"mcpd/gateway/config/document"
)

// Roles are the roles of tenants.
type Roles struct {
	Target     string
	Bystanders []string
}

// Strike is one planned strike.
type Strike struct {
	At     time.Duration // since the phase began
	For    time.Duration
	Fault  int    // index of the experiment's fault
	Kind   string // of fault
	Tenant string // the tenant that is hit; empty when none is
	Server string // of the tenant
	// Row is a path. In an outline it can also be a pattern, from whose rows one is chosen later.
	Row          string
	RowUndecided bool // in an outline: no row matches the pattern yet
	// AnyServer says that the experiment names no server. If the chosen server has no process, the
	// process of another server is hit.
	AnyServer bool
	Percent   float64
	With      faults.Values
	Seed      uint64 // for the random choices of the fault itself
}

// AssignRoles assigns the roles to the named tenants, or else to tenants in the tree's order. A
// tenant that all faults name is the target. The experiment says how many of the other tenants are
// bystanders.
func (e Experiment) AssignRoles(tree faults.Tree, target string,
	bystanders []string) (Roles, error) {
	all := tree.Tenants()
	if target == "" {
		target = e.named()
	}
	for _, name := range append([]string{target}, bystanders...) {
		if err := CheckTenant(tree, name); name != "" && err != nil {
			return Roles{}, err
		}
	}
	if len(all) == 0 {
		return Roles{}, fmt.Errorf("the host has no tenant")
	}
	if slices.Contains(bystanders, target) {
		return Roles{}, fmt.Errorf("tenant %q is both the target and a bystander", target)
	}
	if target == "" {
		target = first(all, bystanders)
	}
	if target == "" {
		return Roles{}, fmt.Errorf("no tenant is left to be the target")
	}
	if bystanders == nil {
		for _, name := range all {
			if name != target && len(bystanders) < e.Load.Bystanders {
				bystanders = append(bystanders, name)
			}
		}
	}
	return Roles{Target: target, Bystanders: bystanders}, nil
}

// CheckTenant returns nil for a tenant of the tree, and otherwise an error that lists the tenants.
func CheckTenant(tree faults.Tree, tenant string) error {
	all := tree.Tenants()
	if slices.Contains(all, tenant) {
		return nil
	}
	return fmt.Errorf("there is no tenant %q: %s", tenant,
		document.DidYouMean(tenant, all, "there are "+strings.Join(all, ", ")))
}

// named returns the tenant that all faults at tenants name, or nothing if they name different ones.
func (e Experiment) named() (name string) {
	for _, f := range e.Faults {
		switch at := f.At.Tenant; {
		case at == "":
		case at == Target, at == Bystander, name != "" && at != name:
			return ""
		default:
			name = at
		}
	}
	return name
}

// first returns the first element of all that is not in others.
func first(all, others []string) string {
	for _, name := range all {
		if !slices.Contains(others, name) {
			return name
		}
	}
	return ""
}

// Expand replaces {target} in a pattern of paths by the target's name.
func (r Roles) Expand(pattern string) string {
	return strings.ReplaceAll(pattern, "{target}", r.Target)
}

// fill replaces {target} in parameters by the target's name.
func (r Roles) fill(with faults.Values) faults.Values {
	out := maps.Clone(with)
	for name, v := range out {
		if text, ok := v.(string); ok {
			out[name] = r.Expand(text)
		}
	}
	return out
}

// Schedule returns every strike, ordered by time. It is a pure function of the experiment, the
// rows, the roles and the seed. The random choices for one line of the experiment do not depend on
// the other lines. The strikes of a shorter phase are a prefix of those of a longer phase.
func (e Experiment) Schedule(tree faults.Tree, roles Roles, seed uint64) ([]Strike, error) {
	strikes, err := e.DraftSchedule(tree, roles, seed)
	for _, s := range strikes {
		if s.RowUndecided {
			return nil, fmt.Errorf("fault %d, %s: %w", s.Fault+1, s.Kind, missing("row "+s.Row))
		}
	}
	return strikes, err
}

// DraftSchedule returns a schedule for a host that is not under load yet. If a pool has no rows
// now, the row to hit is left open.
func (e Experiment) DraftSchedule(tree faults.Tree, roles Roles, seed uint64) ([]Strike, error) {
	var strikes []Strike
	for i, f := range e.Faults {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		f.At.Server = e.Load.server(f.At.Server)
		for n := 0; f.Times == 0 || n < f.Times; n++ {
			at := f.After + time.Duration(n)*f.Every
			if at >= e.Phases.Fault || n > 0 && f.Every == 0 {
				break
			}
			s := Strike{
				At: at, For: f.lasts(e.Phases.Fault - at), Fault: i, Kind: f.Kind, Percent: f.At.Percent,
				With: roles.fill(f.Params),
			}
			if err := s.aim(f, tree, roles, rng); err != nil {
				return nil, fmt.Errorf("fault %d, %s: %w", i+1, f.Kind, err)
			}
			s.Seed = rng.Uint64()
			strikes = append(strikes, s)
		}
	}
	slices.SortStableFunc(strikes, func(a, b Strike) int { return cmp.Compare(a.At, b.At) })
	return strikes, nil
}

// loadServer stands for the server that the load calls.
const loadServer = "{load}"

// server resolves the name of a server. The name of a tool begins with the name of its server.
func (l Load) server(said string) string {
	if said != loadServer {
		return said
	}
	name, _, _ := strings.Cut(l.Tool, "__")
	return name
}

// lasts returns the length of a strike when that much of the phase is left.
func (f Fault) lasts(remaining time.Duration) time.Duration {
	switch {
	case f.For > 0:
		return min(f.For, remaining)
	case f.Every > 0:
		return min(f.Every, remaining)
	}
	return remaining
}

// aim chooses the target of the strike.
func (s *Strike) aim(f Fault, tree faults.Tree, roles Roles, rng *rand.Rand) error {
	switch f.At.Tenant {
	case "":
	case Target:
		s.Tenant = roles.Target
	case Bystander:
		if len(roles.Bystanders) == 0 {
			return fmt.Errorf("there is no bystander to hit")
		}
		s.Tenant = roles.Bystanders[rng.IntN(len(roles.Bystanders))]
	default:
		s.Tenant = f.At.Tenant
	}
	if s.Tenant != "" {
		if err := CheckTenant(tree, s.Tenant); err != nil {
			return err
		}
	}
	var err error
	switch f.Aim {
	case faults.AtServer, faults.AtProgram:
		label, servers := strings.TrimSpace("server "+f.At.Server)+" of "+s.Tenant, tree.Servers(s.Tenant)
		if f.Aim == faults.AtProgram && slices.ContainsFunc(servers, f.at) {
			label, servers = label+" that is a program", tree.Programs(s.Tenant)
		}
		s.Server, err = choose(rng, label, servers, f.at)
		s.AnyServer = f.Aim == faults.AtProgram && f.At.Server == ""
	case faults.AtRow:
		pattern := roles.Expand(f.At.Row)
		if !absolute(pattern) {
			pattern = faults.TenantPath(s.Tenant) + "/" + pattern
		}
		all := tree.Paths()
		s.Row, err = choose(rng, "row "+pattern, all, func(path string) bool {
			return faults.Match(pattern, path)
		})
		if above, _, pool := strings.Cut(pattern, "/*"); err != nil && pool &&
			slices.Contains(all, above) {
			s.Row, s.RowUndecided, err = pattern, true, nil
		}
	}
	return err
}

// Running returns the strike with a server that has a process now, if any server of the tenant will
// do and the chosen one has no process. If no server has a process, it returns the strike
// unchanged.
func (s Strike) Running(tree faults.Tree) Strike {
	if !s.AnyServer || len(tree.Children(s.Tenant, s.Server)) > 0 {
		return s
	}
	running := slices.DeleteFunc(tree.Programs(s.Tenant), func(name string) bool {
		return len(tree.Children(s.Tenant, name)) == 0
	})
	if len(running) > 0 {
		slices.Sort(running)
		s.Server = running[s.Seed%uint64(len(running))]
	}
	return s
}

// at reports whether the fault may hit a server with that name.
func (f Fault) at(server string) bool { return f.At.Server == "" || server == f.At.Server }

// choose chooses one of the names that fit. The result does not depend on the order of the names,
// because rows of a pool change places.
func choose(rng *rand.Rand, label string, all []string, fits func(string) bool) (string, error) {
	var list []string
	for _, name := range all {
		if fits(name) {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return "", missing(label)
	}
	slices.Sort(list)
	return list[rng.IntN(len(list))], nil
}

func missing(label string) error { return fmt.Errorf("there is no %s now", label) }
