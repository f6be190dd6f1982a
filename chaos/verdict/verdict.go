// Package verdict judges what an experiment saw: a table of invariants that hold whatever is broken, and of what the experiment itself expects,
// each a pure function of the record. It asks no host and shows nothing.
package verdict

import (
	"fmt"
	"slices"

	"mcpd/chaos/record"
)

// Row is one thing that has to be so.
type Row struct {
	ID   string
	Text string
	// Judge says whether it is so, in one of record's words, and what was found.
	Judge func(r record.Record) (is, found string)
}

// Table is all that is judged, in the order in which it is shown: the invariants of every experiment, then what this one expects.
var Table = []Row{
	{"I1", "every call has exactly one outcome, within its deadline and 250 ms", once},
	{"I2", "every reply is that of its call", own},
	{"I3", "no call of a bystander fails", unnoticed},
	{"I4", "calls of bystanders take no longer than in the baseline", latency},
	{"I5", "the target is steady soon after the last fault", recovery},
	{"I6", "afterwards the host holds no more than before", leaks},
	{"I7", "it has no processes beyond those that it had, and no zombies", processes},
	{"I8", "memory and queues stay within their limits", bounds},
	{"I9", "what restarts is what was broken, as often as it was broken", supervision},
	{"I10", "progress, events and replays come in their order", order},
	{"I11", "every fault is told by an event, and the host stays alive", told},
	{"I12", "what was acknowledged outlives the host", durability},
	{"I13", "no call is carried out twice", effects},
	{"E1", "the run came to its end, and every fault struck", complete},
	{"E2", "no more calls of the target failed than expected", targetErrors},
	{"E3", "figures reach their goals", figures},
	{"E4", "probes are right before and afterwards", probes},
}

// Judge returns one verdict for each row of the table.
func Judge(r record.Record) []record.Verdict {
	list := make([]record.Verdict, len(Table))
	for i, row := range Table {
		is, found := row.Judge(r)
		list[i] = record.Verdict{ID: row.ID, Text: row.Text, Is: is, Found: found}
	}
	return list
}

// Failed reports whether any verdict says so.
func Failed(list []record.Verdict) bool {
	return slices.ContainsFunc(list, func(v record.Verdict) bool { return v.Is == record.Fail })
}

// findings are what speaks against something. Without any it passes.
type findings []string

// maxFindings bounds what a verdict tells; the record has all of it.
const maxFindings = 5

func (f *findings) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// verdict passes with good unless there is something.
func (f findings) verdict(good string, args ...any) (is, found string) {
	if len(f) == 0 {
		return record.Pass, fmt.Sprintf(good, args...)
	}
	text := ""
	for i, one := range f[:min(len(f), maxFindings)] {
		if i > 0 {
			text += "; "
		}
		text += one
	}
	if more := len(f) - maxFindings; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return record.Fail, text
}

// total adds up the calls of a group.
func total(g record.Group) (sum record.Calls) {
	for _, c := range g.Phases {
		sum.Sent += c.Sent
		sum.OK += c.OK
		sum.Failed += c.Failed
		sum.Refused += c.Refused
		sum.Lost += c.Lost
		sum.Crossed += c.Crossed
		sum.Duplicate += c.Duplicate
	}
	return sum
}

// groups are those of a role, all where it is empty.
func groups(r record.Record, role string) (list []record.Group) {
	for _, g := range r.Groups {
		if role == "" || g.Role == role {
			list = append(list, g)
		}
	}
	return list
}

func holding(r record.Record, name string) (record.Holding, bool) {
	for _, h := range r.Holds {
		if h.Name == name {
			return h, true
		}
	}
	return record.Holding{}, false
}
