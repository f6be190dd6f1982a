package verdict

import (
	"fmt"
	"math"
	"strings"

	"mcpd/chaos/record"
)

// judgeOrder judges I10, the order of messages on streams. It also fails if no stream of a tenant
// could be resumed: in the first phase nothing is broken, so that resuming has to work.
//
// It does not judge that nothing follows a cancellation of the modern era. A client of HTTP cancels
// by closing the only stream that may carry anything about the call (2026-07-28
// §basic/patterns/cancellation). No other stream of the client carries such messages
// (actors/server, TestNothingFollowsACancellation), and over stdio the transport holds them back
// (transport/stdio, TestServeCancelsByID).
func judgeOrder(r record.Record) (is, found string) {
	var f findings
	var sum record.StreamCalls
	unheard := "no call of the load has a stream of its own"
	for _, g := range groups(r, "") {
		o := ordered(g)
		if o.Unavailable != "" {
			unheard = g.Tenant + ": " + o.Unavailable
		}
		if o.Slips > 0 {
			f.add("%s: %d of %d messages were out of their order%s", g.Tenant, o.Slips, o.Events,
				firstText(g, "order"))
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
	return f.verdict("all %d messages of %d calls; %d resumes, %d messages replayed", sum.Events,
		sum.Calls, sum.Resumed, sum.Replayed)
}

// ordered returns the summary of a group's calls with a stream, or an empty one.
func ordered(g record.Group) record.StreamCalls {
	if g.Streams == nil {
		return record.StreamCalls{}
	}
	return *g.Streams
}

// firstText describes the first slip of a kind.
func firstText(g record.Group, kind string) string {
	for _, s := range g.Violations {
		if s.Kind == kind {
			return fmt.Sprintf(", first at %.1f s: %s", s.At, s.Text)
		}
	}
	return ""
}

// judgeEvents judges I11. A fault that was armed needs an event with its id, besides the event of
// its arming. A fault that was injected from outside needs some event that reports a problem. A
// quiet fault needs no event. I11 also fails if a probe of livez failed, unless the host was
// started again.
func judgeEvents(r record.Record) (is, found string) {
	var f findings
	n := 0
	by := indexEvents(r.Events)
	for _, s := range r.Strikes {
		if s.Hits == 0 || s.Error != "" || s.Quiet {
			continue
		}
		n++
		if !by.reports(s) {
			f.add("%s at %s: no event tells of it", s.Kind, s.Target)
		}
	}
	for _, p := range r.Probes {
		if h, ok := holding(r, "hosts"); p.Name != "livez" || ok && h.After != h.Before {
			continue
		}
		for _, a := range p.Answers {
			if !a.OK {
				f.add("livez answered %s at %.1f s", a.Text, a.At)
			}
		}
	}
	if n == 0 && len(f) == 0 {
		return record.Unjudged, "nothing struck of which a host tells"
	}
	return f.verdict("all %d", n)
}

// eventIndex indexes the events. It is built once, because an hour has a hundred thousand events
// and hundreds of strikes.
type eventIndex struct {
	// armed maps the id of each fault that occurs in an event to whether an event other than
	// fault_armed has it.
	armed  map[string]bool
	latest float64 // time of the host's last event about something unexpected
}

func indexEvents(events []record.Event) eventIndex {
	t := eventIndex{armed: map[string]bool{}, latest: math.Inf(-1)}
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

// reports reports whether an event reports a strike. For a fault from outside, any unexpected event
// after the injection counts, up to the end of the run, since a host may notice it late.
func (t eventIndex) reports(s record.Strike) bool {
	if more, ok := t.armed[s.ID]; ok {
		return more
	}
	const early = 0.05 // seconds of tolerance between clocks
	return t.latest >= s.From-early
}

// judgeEffects judges I13. Each effect whose call was answered must be counted: a tool that forgets
// effects proves nothing.
func judgeEffects(r record.Record) (is, found string) {
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

// judgeRun judges E1. A fault that never struck shows nothing: no matching message may have come to
// its target.
func judgeRun(r record.Record) (is, found string) {
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
		is, found = record.Unclear, fmt.Sprintf("%d of %d faults never struck: %s", len(idle),
			len(r.Strikes), idle[0])
		if more := len(idle) - 1; more > 0 {
			found += fmt.Sprintf("; and %d more", more)
		}
		return is, found
	}
	return f.verdict("%s", things(len(r.Strikes), "fault"))
}

// probes judges E4. The answers during the fault are only informative.
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
				f.add("%s: %s before anything was broken, at %.1f s", p.Name, a.Text, a.At)
				break
			}
		}
		if a := p.Answers[len(p.Answers)-1]; !a.OK {
			f.add("%s: %s at the end", p.Name, a.Text)
		}
	}
	if n == 0 {
		return record.Unjudged, "none was asked"
	}
	return f.verdict("%s", things(n, "probe"))
}
