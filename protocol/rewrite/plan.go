package rewrite

import "mcpd/protocol"

// step is the treatment of one member of a type between two revisions.
type step struct {
	name string
	drop bool
	as   string // new name; empty to keep the name
	of   object // type as which to rewrite the value
}

// plan is the table of objects, evaluated for two revisions. It contains only the members that need
// a change. A type that is not busy passes unchanged.
type plan struct {
	from, to protocol.Version
	steps    [objectCount][]step
	active   [objectCount]bool
}

// plans holds a plan for every pair of revisions.
var plans = func() [][]plan {
	all := make([][]plan, len(protocol.Versions()))
	for i, from := range protocol.Versions() {
		all[i] = make([]plan, len(protocol.Versions()))
		for j, to := range protocol.Versions() {
			p := &all[i][j]
			p.from, p.to = from, to
			for o := range object(objectCount) {
				p.make(o)
			}
		}
	}
	return all
}()

// planFor returns the plan for a pair. An unknown revision counts as the oldest one.
func planFor(from, to protocol.Version) *plan {
	return &plans[index(from)][index(to)]
}

func index(v protocol.Version) int {
	if v == 0 || int(v) > len(plans) {
		return 0
	}
	return int(v) - 1
}

// make fills in a type and the types of its members. The types are not recursive.
func (p *plan) make(o object) {
	if p.from == p.to || p.active[o] {
		return
	}
	p.steps[o] = nil
	for _, m := range objects[o] {
		p.steps[o] = append(p.steps[o], p.stepsOf(m)...)
	}
	p.active[o] = len(p.steps[o]) > 0 || p.special(o)
}

// stepsOf returns the steps for a member. If a member gets a new name, an existing member with that
// name is removed, because it does not belong to the source revision.
func (p *plan) stepsOf(m member) []step {
	s := step{name: m.in(p.from)}
	if !p.to.Has(m.since) || m.hopByHop && !p.from.Has(m.since) {
		s.drop = true
		return []step{s}
	}
	if m.of != plain {
		if p.make(m.of); p.active[m.of] {
			s.of = m.of
		}
	}
	if as := m.in(p.to); as != s.name {
		s.as = as
		return []step{s, {name: as, drop: true}}
	}
	if s.of == plain {
		return nil
	}
	return []step{s}
}

// special reports whether the type needs more than the removal of members. Types of whole messages
// are not listed, because they are always rewritten.
func (p *plan) special(o object) bool {
	switch o {
	case clientCapabilities, serverCapabilities:
		return true
	case inputSchema:
		return p.unmirrored()
	case outputSchema, properties:
		return !p.to.Has(protocol.FullSchemas)
	case block:
		return !p.to.Has(protocol.AudioContent) || !p.to.Has(protocol.ResourceLinks)
	case conversationBlock:
		return !p.to.Has(protocol.AudioContent) || !p.to.Has(protocol.SamplingTools) ||
			!p.to.Has(protocol.AnyStructuredContent)
	case fields, formField:
		return !p.to.Has(protocol.RichForms)
	}
	return false
}

// unmirrored reports whether the target revision defines the header annotation and the source
// revision does not.
func (p *plan) unmirrored() bool {
	return !p.from.Has(protocol.RoutingHeaders) && p.to.Has(protocol.RoutingHeaders)
}
