// Package verdict judges the record of an experiment. It is a table of invariants that hold
// whatever is broken, and of the experiment's own expectations. Each judgement is a pure function
// of the record. The package queries no host and shows nothing.
package verdict

import (
	"fmt"
	"slices"

	"mcpd/chaos/record"
)

// Row is one invariant or expectation.
type Row struct {
	ID   string
	Text string
	// Judge returns a result of the package record, such as record.Pass, and a text with the findings.
	Judge func(r record.Record) (is, found string)
}

// Table is everything that is judged, in the order in which it is shown: the invariants of every
// experiment, then the expectations of this experiment.
var Table = []Row{
	{"I1", "every call has exactly one outcome, within its deadline and 250 ms", judgeOutcomes},
	{"I2", "every reply belongs to its call", judgeReplies},
	{"I3", "no call of a bystander fails", judgeBystanders},
	{"I4", "calls of bystanders take no longer than in the baseline", judgeLatency},
	{"I5", "the target is steady soon after the last fault", judgeRecovery},
	{"I6", "afterwards the host holds no more resources than before", judgeLeaks},
	{"I7", "afterwards the host has no additional processes, and no zombies", judgeProcesses},
	{"I8", "memory and queues stay within their limits", judgeBounds},
	{"I9", "only broken parts restart, as often as they were broken", judgeRestarts},
	{"I10", "progress, events and replays come in order", judgeOrder},
	{"I11", "every fault is reported by an event, and the host stays alive", judgeEvents},
	{"I12", "acknowledged state survives the end of the host", durability},
	{"I13", "no call is carried out twice", judgeEffects},
	{"E1", "the run completed, and every fault struck", judgeRun},
	{"E2", "no more calls of the target failed than expected", targetErrors},
	{"E3", "figures reach their goals", figures},
	{"E4", "probes give the right answer before the fault and at the end", probes},
}

// Judge returns one verdict for each row of the table.
func Judge(r record.Record) []record.Verdict {
	list := make([]record.Verdict, len(Table))
	for i, row := range Table {
		is, found := row.Judge(r)
		list[i] = record.Verdict{ID: row.ID, Text: row.Text, Result: is, Found: found}
	}
	return list
}

// Failed reports whether any verdict is a failure.
func Failed(list []record.Verdict) bool {
	return slices.ContainsFunc(list, func(v record.Verdict) bool { return v.Result == record.Fail })
}

// findings are the violations of an invariant. Without any, the invariant passes.
type findings []string

// maxFindings bounds the findings in a verdict's text; the record has all of them.
const maxFindings = 5

func (f *findings) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// verdict passes with the text good if there are no findings.
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

// total sums the calls of a group.
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

// groups returns the groups of a role, or all groups if the role is empty.
func groups(r record.Record, role string) (list []record.Group) {
	for _, g := range r.Groups {
		if role == "" || g.Role == role {
			list = append(list, g)
		}
	}
	return list
}

func holding(r record.Record, name string) (record.Holding, bool) {
	for _, h := range r.Holdings {
		if h.Name == name {
			return h, true
		}
	}
	return record.Holding{}, false
}
