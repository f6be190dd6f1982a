package verdict

import (
	"fmt"
	"math"
	"strings"

	"mcpd/chaos/record"
)

// order is I10. That nothing follows a cancellation of the modern era is not judged, as a client of HTTP cancels by closing the one stream on which anything about
// the call may come (2026-07-28 §basic/patterns/cancellation); no other of its streams carries that (actors/server, TestNothingFollowsACancellation), and
// over stdio it is the transport's to hold back (transport/stdio, TestServeCancelsByID). Streams that could never be resumed are out of it too: the first phase has nothing wrong with it.
func order(r record.Record) (is, found string) {
	var f findings
	var sum record.Order
	unheard := "no call of the load has a stream of its own"
	for _, g := range groups(r, "") {
		o := ordered(g)
		if o.Unheard != "" {
			unheard = g.Tenant + ": " + o.Unheard
		}
		if o.Slips > 0 {
			f.add("%s: %d of %d messages were out of their order%s", g.Tenant, o.Slips, o.Events, firstText(g, "order"))
		}
		if o.Resumed == 0 && o.Refused > 0 {
			f.add("%s: no stream could be resumed, of %d", g.Tenant, o.Refused)
		}
		sum.Calls += o.Calls
		sum.Events += o.Events
		sum.Resumed += o.Resumed
		sum.Replayed += o.Replayed
	}
	if sum.Calls == 0 {
		return record.Unjudged, unheard
	}
	return f.verdict("all %d messages of %d calls; %d resumes, %d messages replayed", sum.Events, sum.Calls, sum.Resumed, sum.Replayed)
}

// ordered is the account of a group's calls with a stream, empty where there is none.
func ordered(g record.Group) record.Order {
	if g.Order == nil {
		return record.Order{}
	}
	return *g.Order
}

// firstText is what the first slip of a kind was.
func firstText(g record.Group, kind string) string {
	for _, s := range g.Slips {
		if s.Kind == kind {
			return fmt.Sprintf(", first at %.1f s: %s", s.At, s.Text)
		}
	}
	return ""
}

// told is I11. A fault that was armed has an event with its id; one that was done from outside has some event that says that something is wrong,
// but for those of which a healthy host has none.
func told(r record.Record) (is, found string) {
	var f findings
	n := 0
	by := tellers(r.Events)
	for _, s := range r.Strikes {
		if s.Hits == 0 || s.Error != "" || s.Quiet {
			continue
		}
		n++
		if !by.tell(s) {
			f.add("%s at %s: no event tells of it", s.Kind, s.Target)
		}
	}
	for _, p := range r.Probes {
		if h, ok := holding(r, "hosts"); p.Name != "livez" || ok && h.After != h.Before {
			continue
		}
		for _, a := range p.Answers {
			if !a.OK {
				f.add("livez answered %s at %.1f s", a.Is, a.At)
			}
		}
	}
	if n == 0 && len(f) == 0 {
		return record.Unjudged, "nothing struck of which a host tells"
	}
	return f.verdict("all %d", n)
}

// telling is what events tell, made of them once: an hour has a hundred thousand of them and hundreds of strikes.
type telling struct {
	armed  map[string]bool // by the id of a fault that an event is of: whether one says more than that it was armed
	latest float64         // when the host last told of something that it did not expect
}

func tellers(events []record.Event) telling {
	t := telling{armed: map[string]bool{}, latest: math.Inf(-1)}
	for _, e := range events {
		if id := e.Fields["fault"]; id != "" {
			t.armed[id] = t.armed[id] || e.Name != "fault_armed"
		}
		if e.Level != "debug" && e.Name != "fault_armed" && e.Name != "fault_disarmed" {
			t.latest = max(t.latest, e.At)
		}
	}
	return t
}

// tell reports whether an event is of a strike. What was done from outside shows as something that the host did not expect: from when it was done
// on, and until the end, since a host may notice it late.
func (t telling) tell(s record.Strike) bool {
	if more, ok := t.armed[s.ID]; ok {
		return more
	}
	const early = 0.05 // seconds by which clocks and the order of things may differ
	return t.latest >= s.From-early
}

// effects is I13. What was answered has to have been done too: a tool that forgets proves nothing.
func effects(r record.Record) (is, found string) {
	if r.Effects == nil {
		return record.Unjudged, "the tool of the load counts nothing"
	}
	var f findings
	e := *r.Effects
	if e.Doubled > 0 || e.Done > e.Asked {
		f.add("%d asked, %d done, %d of them twice%s", e.Asked, e.Done, e.Doubled, some(e.Twice))
	}
	if e.Done-e.Doubled < e.Answered {
		f.add("%d were answered, and %d were done", e.Answered, e.Done-e.Doubled)
	}
	switch {
	case len(f) > 0:
	case e.Uncounted != "":
		return record.Unjudged, e.Uncounted
	case e.Asked == 0:
		return record.Unjudged, "no call had an effect"
	}
	return f.verdict("%d asked, %d done, none twice", e.Asked, e.Done)
}

func some(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// complete is E1. Faults that do not strike show nothing: what they wait for may not have come to where they were aimed at.
func complete(r record.Record) (is, found string) {
	var f findings
	var idle []string
	if r.Aborted != "" {
		f.add("it was ended early: %s", r.Aborted)
	}
	for _, s := range r.Strikes {
		switch {
		case s.Error != "":
			f.add("%s at %s: %s", s.Kind, s.Target, s.Error)
		case s.Wrong != "":
			f.add("%s at %s: %s", s.Kind, s.Target, s.Wrong)
		case s.Hits == 0:
			idle = append(idle, s.Kind+" at "+s.Target)
		}
	}
	switch {
	case len(idle) > 0 && len(idle) == len(r.Strikes):
		f.add("no fault has struck, of %d", len(idle))
	case len(idle) > 0 && len(f) == 0:
		is, found = record.Unclear, fmt.Sprintf("%d of %d faults never struck: %s", len(idle), len(r.Strikes), idle[0])
		if more := len(idle) - 1; more > 0 {
			found += fmt.Sprintf("; and %d more", more)
		}
		return is, found
	}
	return f.verdict("%s", things(len(r.Strikes), "fault"))
}

// probes is E4. What they answer while something is broken is for people.
func probes(r record.Record) (is, found string) {
	var f findings
	n := 0
	var fault record.Phase
	for _, p := range r.Phases {
		if p.Name == record.Fault {
			fault = p
		}
	}
	for _, p := range r.Probes {
		if len(p.Answers) == 0 {
			continue
		}
		n++
		for _, a := range p.Answers {
			if !a.OK && a.At < fault.From {
				f.add("%s: %s before anything was broken, at %.1f s", p.Name, a.Is, a.At)
				break
			}
		}
		if a := p.Answers[len(p.Answers)-1]; !a.OK {
			f.add("%s: %s at the end", p.Name, a.Is)
		}
	}
	if n == 0 {
		return record.Unjudged, "none was asked"
	}
	return f.verdict("%s", things(n, "probe"))
}
