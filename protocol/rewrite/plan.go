package rewrite

import "mcpd/protocol"

// step is what to do with one member of a type on the way between two revisions.
type step struct {
	name string
	drop bool
	as   string // its new name; empty: it keeps its own
	of   object // what its value is to be rewritten as
}

// plan is the table of objects, read for two revisions: what is left is what has to be done. A type that is not busy passes as it is.
type plan struct {
	from, to protocol.Version
	steps    [objectCount][]step
	busy     [objectCount]bool
}

// plans has one for every pair.
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

// planFor finds the plan. A revision that is not known is taken for the oldest one.
func planFor(from, to protocol.Version) *plan {
	return &plans[index(from)][index(to)]
}

func index(v protocol.Version) int {
	if v == 0 || int(v) > len(plans) {
		return 0
	}
	return int(v) - 1
}

// make fills in a type, and those that it is made of. No type is made of itself.
func (p *plan) make(o object) {
	if p.from == p.to || p.busy[o] {
		return
	}
	p.steps[o] = nil
	for _, m := range objects[o] {
		p.steps[o] = append(p.steps[o], p.stepsOf(m)...)
	}
	p.busy[o] = len(p.steps[o]) > 0 || p.special(o)
}

// stepsOf are what has to be done with a member. One that has another name on the other side leaves
// no room for a member that had that name already: it is none of its revision.
func (p *plan) stepsOf(m member) []step {
	s := step{name: m.in(p.from)}
	if !p.to.Has(m.since) || m.hop && !p.from.Has(m.since) {
		s.drop = true
		return []step{s}
	}
	if m.of != plain {
		if p.make(m.of); p.busy[m.of] {
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

// special reports whether the type needs more than members taken away. What stands for a whole message is rewritten in any case.
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
	case said:
		return !p.to.Has(protocol.AudioContent) || !p.to.Has(protocol.SamplingTools) || !p.to.Has(protocol.AnyStructuredContent)
	case fields, question:
		return !p.to.Has(protocol.RichForms)
	}
	return false
}

// unmirrored reports whether annotations of a schema that ask for headers come from a revision that has none to one that has.
func (p *plan) unmirrored() bool {
	return !p.from.Has(protocol.RoutingHeaders) && p.to.Has(protocol.RoutingHeaders)
}
