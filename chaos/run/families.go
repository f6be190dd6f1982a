package run

import (
	"cmp"
	"maps"
	"slices"

	"mcpd/chaos/record"
)

// family is a metric whose labels are compared one by one, so that a verdict names what is left, of which label and
// how many.
type family struct {
	name, metric, label string
	but                 []string // labels that are no leak: they have an end of their own
}

// families are what actors and budgets of the host hold. A host at rest holds exactly as much as before: one row,
// monitor, timer, message, reply or byte more is a leak.
var families = []family{
	{"rows", "mcpd_actors", "class", nil},
	{"messages", "mcpd_actor_messages", "class", nil},
	{"monitors", "mcpd_actor_monitors", "class", nil},
	{"watchers", "mcpd_actor_watchers", "class", nil},
	// The tenant manager has a timer for a minute after a tenant was started again.
	{"timers", "mcpd_actor_timers", "class", []string{"tenant_manager"}},
	{"pending replies", "mcpd_actor_pending_replies", "class", nil},
	{"reserved bytes", "mcpd_reserved_bytes", "budget", nil},
	{"records", "mcpd_kept_records", "kind", nil},
	// Histories wait for clients that come back, tasks are kept for their time to live, and lists are what servers say.
	{"kept bytes", "mcpd_kept_bytes", "kind", []string{"histories", "tasks", "lists"}},
}

// counts are numbers of holdings, by family and label.
type counts map[[2]string]float64

// counted adds up a scrape's samples of all families.
func counted(s scrape) counts {
	sums := counts{}
	for _, f := range families {
		for _, x := range s.samples(f.metric) {
			if label := x.label(f.label); !slices.Contains(f.but, label) {
				sums[[2]string{f.name, label}] += x.value
			}
		}
	}
	return sums
}

// middles is, of each label, the middle of what was counted; a read that does not have the label counted none.
func middles(reads []counts) counts {
	all := counts{}
	for _, read := range reads {
		maps.Copy(all, read)
	}
	for key := range all {
		var values []float64
		for _, read := range reads {
			values = append(values, read[key])
		}
		all[key] = middle(values)
	}
	return all
}

// compared are the holdings of two looks, in order of their names. A label of which neither has any is left out.
func compared(before, after counts) (list []record.Holding) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for key := range all {
		h := record.Holding{Name: key[0] + " of " + key[1], Family: key[0], Before: before[key], After: after[key], Exact: true}
		if h.Before != 0 || h.After != 0 {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b record.Holding) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
