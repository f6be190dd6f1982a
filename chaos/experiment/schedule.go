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

// Roles say which tenants are which.
type Roles struct {
	Target     string
	Bystanders []string
}

// Strike is one planned strike.
type Strike struct {
	At      time.Duration // since the phase began
	For     time.Duration
	Fault   int    // which of the experiment's, from 0
	Kind    string // of fault
	Tenant  string // who is hit; empty when no tenant is
	Server  string // of the tenant
	Row     string // a path, of an outline also the pattern of those of which one is drawn later
	Open    bool   // of an outline: none of them is there yet
	Any     bool   // nobody has said which server's process: when the drawn one has none, that of another is hit
	Percent float64
	With    faults.Values
	Seed    uint64 // of what the fault draws itself
}

// Cast gives out the roles: to those that are named, else in the tree's order. A tenant that all faults name is the target. Of the tenants that are
// left, as many are bystanders as the experiment wants.
func (e Experiment) Cast(tree faults.Tree, target string, bystanders []string) (Roles, error) {
	all := tree.Tenants()
	if target == "" {
		target = e.named()
	}
	for _, name := range append([]string{target}, bystanders...) {
		if err := Known(tree, name); name != "" && err != nil {
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

// Known is nil for a tenant of the tree, and else says which there are.
func Known(tree faults.Tree, tenant string) error {
	all := tree.Tenants()
	if slices.Contains(all, tenant) {
		return nil
	}
	return fmt.Errorf("there is no tenant %q: %s", tenant, document.DidYouMean(tenant, all, "there are "+strings.Join(all, ", ")))
}

// named is the tenant that all faults at tenants name; empty when they do not.
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

// first is the first of all that is none of the others.
func first(all, others []string) string {
	for _, name := range all {
		if !slices.Contains(others, name) {
			return name
		}
	}
	return ""
}

// Expand fills the target's name into a pattern of paths.
func (r Roles) Expand(pattern string) string {
	return strings.ReplaceAll(pattern, "{target}", r.Target)
}

// fill puts the target's name into parameters.
func (r Roles) fill(with faults.Values) faults.Values {
	out := maps.Clone(with)
	for name, v := range out {
		if text, ok := v.(string); ok {
			out[name] = r.Expand(text)
		}
	}
	return out
}

// Schedule is every strike, in the order of time. The same experiment, rows, roles and seed have the same one. What a line of the experiment
// draws does not depend on the other lines, and the strikes that a shorter phase has room for are those of a longer one.
func (e Experiment) Schedule(tree faults.Tree, roles Roles, seed uint64) ([]Strike, error) {
	strikes, err := e.Outline(tree, roles, seed)
	for _, s := range strikes {
		if s.Open {
			return nil, fmt.Errorf("fault %d, %s: %w", s.Fault+1, s.Kind, missing("row "+s.Row))
		}
	}
	return strikes, err
}

// Outline is a schedule for a host that is not under load yet: of a pool in which there is nothing now it leaves open which row is hit.
func (e Experiment) Outline(tree faults.Tree, roles Roles, seed uint64) ([]Strike, error) {
	var strikes []Strike
	for i, f := range e.Faults {
		draw := rand.New(rand.NewPCG(seed, uint64(i)))
		f.At.Server = e.Load.server(f.At.Server)
		for n := 0; f.Times == 0 || n < f.Times; n++ {
			at := f.After + time.Duration(n)*f.Every
			if at >= e.Phases.Fault || n > 0 && f.Every == 0 {
				break
			}
			s := Strike{At: at, For: f.lasts(e.Phases.Fault - at), Fault: i, Kind: f.Do, Percent: f.At.Percent, With: roles.fill(f.With)}
			if err := s.aim(f, tree, roles, draw); err != nil {
				return nil, fmt.Errorf("fault %d, %s: %w", i+1, f.Do, err)
			}
			s.Seed = draw.Uint64()
			strikes = append(strikes, s)
		}
	}
	slices.SortStableFunc(strikes, func(a, b Strike) int { return cmp.Compare(a.At, b.At) })
	return strikes, nil
}

// loadServer stands for the server that the load calls.
const loadServer = "{load}"

// server is the name of a server that was said. Tools have that of their server before them.
func (l Load) server(said string) string {
	if said != loadServer {
		return said
	}
	name, _, _ := strings.Cut(l.Tool, "__")
	return name
}

// lasts is how long a strike lasts, with so much of the phase left.
func (f Fault) lasts(left time.Duration) time.Duration {
	switch {
	case f.For > 0:
		return min(f.For, left)
	case f.Every > 0:
		return min(f.Every, left)
	}
	return left
}

// aim draws whom the strike hits.
func (s *Strike) aim(f Fault, tree faults.Tree, roles Roles, draw *rand.Rand) error {
	switch f.At.Tenant {
	case "":
	case Target:
		s.Tenant = roles.Target
	case Bystander:
		if len(roles.Bystanders) == 0 {
			return fmt.Errorf("there is no bystander to hit")
		}
		s.Tenant = roles.Bystanders[draw.IntN(len(roles.Bystanders))]
	default:
		s.Tenant = f.At.Tenant
	}
	if s.Tenant != "" {
		if err := Known(tree, s.Tenant); err != nil {
			return err
		}
	}
	var err error
	switch f.Aim {
	case faults.AtServer, faults.AtProgram:
		what, servers := strings.TrimSpace("server "+f.At.Server)+" of "+s.Tenant, tree.Servers(s.Tenant)
		if f.Aim == faults.AtProgram && slices.ContainsFunc(servers, f.at) {
			what, servers = what+" that is a program", tree.Programs(s.Tenant)
		}
		s.Server, err = drawn(draw, what, servers, f.at)
		s.Any = f.Aim == faults.AtProgram && f.At.Server == ""
	case faults.AtRow:
		pattern := roles.Expand(f.At.Row)
		if !absolute(pattern) {
			pattern = faults.TenantPath(s.Tenant) + "/" + pattern
		}
		all := tree.Paths()
		s.Row, err = drawn(draw, "row "+pattern, all, func(path string) bool { return faults.Match(pattern, path) })
		if above, _, pool := strings.Cut(pattern, "/*"); err != nil && pool && slices.Contains(all, above) {
			s.Row, s.Open, err = pattern, true, nil
		}
	}
	return err
}

// Running is the strike on a server that has a process now, where any of the tenant's will do and the drawn one has none. Where none has one it is as it was.
func (s Strike) Running(tree faults.Tree) Strike {
	if !s.Any || len(tree.Children(s.Tenant, s.Server)) > 0 {
		return s
	}
	running := slices.DeleteFunc(tree.Programs(s.Tenant), func(name string) bool { return len(tree.Children(s.Tenant, name)) == 0 })
	if len(running) > 0 {
		slices.Sort(running)
		s.Server = running[s.Seed%uint64(len(running))]
	}
	return s
}

// at reports whether it may hit a server of that name.
func (f Fault) at(server string) bool { return f.At.Server == "" || server == f.At.Server }

// drawn is one of those that fit. Their order does not matter: rows of a pool change places.
func drawn(draw *rand.Rand, what string, all []string, fits func(string) bool) (string, error) {
	var list []string
	for _, name := range all {
		if fits(name) {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return "", missing(what)
	}
	slices.Sort(list)
	return list[draw.IntN(len(list))], nil
}

func missing(what string) error { return fmt.Errorf("there is no %s now", what) }
