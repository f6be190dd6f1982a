package run

import (
	"cmp"
	"maps"
	"slices"

	"mcpd/chaos/record"
)

// family is a metric whose values are compared for each label, so that a verdict names the label
// that has grown and by how much.
type family struct {
	name, metric, label string
	// but lists labels that are no leak, because their values shrink by themselves.
	but []string
}

// families are the holdings of the host's actors and budgets. A host at rest holds exactly as much
// as before: one more row, monitor, timer, message, reply or byte is a leak.
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
	// Histories wait for clients that return, tasks are kept for their time to live, and the size of
	// lists depends on the servers.
	{"kept bytes", "mcpd_kept_bytes", "kind", []string{"histories", "tasks", "lists"}},
}

// counts are numbers of holdings, by family and label.
type counts map[[2]string]float64

// counted sums the samples of all families in a scrape.
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

// middles returns the median of each label. A read without the label counts as 0.
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

// compared returns the holdings of two looks, sorted by name. It omits labels that are 0 in both.
func compared(before, after counts) (list []record.Holding) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for key := range all {
		h := record.Holding{
			Name: key[0] + " of " + key[1], Family: key[0], Before: before[key], After: after[key],
			Exact: true,
		}
		if h.Before != 0 || h.After != 0 {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b record.Holding) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
