package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpd/gateway/config"
	"mcpd/gateway/config/units"
)

// shownPrograms is how many programs of a tenant are named: those that can have the most
// processes.
const shownPrograms = 3

// printProcesses prints how many processes each tenant of a configuration can have.
func printProcesses(out io.Writer, c *config.Config) {
	byTenant := map[string][]config.Processes{}
	for _, p := range config.EstimateProcesses(c) {
		byTenant[p.Tenant] = append(byTenant[p.Tenant], p)
	}
	for _, t := range c.Tenants {
		list := byTenant[t.Name]
		if len(list) == 0 {
			continue
		}
		most, memory, bounded := 0, int64(0), true
		for _, p := range list {
			most, memory, bounded = most+p.Max, memory+p.Memory, bounded && p.Memory > 0
		}
		fmt.Fprintf(out, "tenant %s: up to %s of %s", t.Name,
			count(uint32(most), "process", "processes"), count(uint32(len(list)), "program", "programs"))
		if bounded {
			fmt.Fprintf(out, " with up to %s of memory", units.FormatSize(memory))
		}
		slices.SortStableFunc(list, func(a, b config.Processes) int {
			return cmp.Compare(b.Max, a.Max)
		})
		var named []string
		for _, p := range list[:min(len(list), shownPrograms)] {
			named = append(named, fmt.Sprintf("%s %d (%s, max_instances %d)", p.Server, p.Max,
				count(uint32(p.Sharers), p.SharerKind, p.SharerKind+"s"), p.Instances))
		}
		if more := len(list) - len(named); more > 0 {
			named = append(named, count(uint32(more), "other", "others"))
		}
		fmt.Fprintf(out, ": %s\n", strings.Join(named, ", "))
	}
}
