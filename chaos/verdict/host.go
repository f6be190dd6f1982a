package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpd/chaos/record"
)

// ofProcesses are the holdings that I7 judges.
var ofProcesses = []string{"children", "processes", "zombies", "strays"}

// silent is the reason why no holding of the host is judged.
const silent = "the host could not be measured afterwards"

// judgeLeaks judges I6.
func judgeLeaks(r record.Record) (is, found string) {
	var f findings
	var good []string
	sums := map[string]float64{}
	for _, h := range r.Holdings {
		if h.Unmeasured {
			return record.Unjudged, silent
		}
		if h.Share > 0 {
			if h.Leaked() {
				f.add("%s: %.0f before%s, %.0f afterwards%s, at most %.3g %% or %.0f more", h.Name, h.Before,
					named(h.NamedBefore), h.After, named(h.Named), 100*h.Share, h.Kept)
			}
			good = append(good, fmt.Sprintf("%s %+.1f %%", h.Name, 100*h.Surplus()/h.Before))
		}
		if !h.Exact || slices.Contains(ofProcesses, h.Name) {
			continue
		}
		if h.Surplus() > 0 {
			f.add("%s: %g before%s, %g afterwards%s%s", h.Name, h.Before, named(h.NamedBefore), h.After,
				named(h.Named), which(h.More))
		}
		if h.Family == "" {
			good = append(good, fmt.Sprintf("%s %g", h.Name, h.After))
		} else {
			sums[h.Family] += h.After
		}
	}
	for _, family := range slices.Sorted(maps.Keys(sums)) {
		good = append(good, fmt.Sprintf("%s %g", family, sums[family]))
	}
	if len(good) == 0 {
		return record.Unjudged, "the host could not be measured"
	}
	return f.verdict("%s", strings.Join(good, ", "))
}

// which adds to a finding what there is more of.
func which(more string) string {
	if more == "" {
		return ""
	}
	return ": " + more
}

func named(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%g of them with a name)", n)
}

// judgeProcesses judges I7.
func judgeProcesses(r record.Record) (is, found string) {
	var f findings
	var good []string
	for _, name := range ofProcesses {
		h, ok := holding(r, name)
		if !ok {
			continue
		}
		if h.Unmeasured {
			return record.Unjudged, silent
		}
		// fewer is fine: an unused server may have ended, and a row that should run and does not is the
		// subject of I9
		if h.After > h.Before {
			f.add("%s: %g before, %g afterwards", name, h.Before, h.After)
		}
		good = append(good, fmt.Sprintf("%s %g", name, h.After))
	}
	if len(good) == 0 {
		return record.Unjudged, "the host could not be measured"
	}
	return f.verdict("%s", strings.Join(good, ", "))
}

// judgeBounds judges I8.
func judgeBounds(r record.Record) (is, found string) {
	var f findings
	n, near, share := 0, "", 0.0
	for _, h := range r.Holdings {
		if h.Limit == 0 {
			continue
		}
		n++
		if h.Peak > h.Limit {
			f.add("%s: %g, limit %g", h.Name, h.Peak, h.Limit)
		}
		if h.Peak/h.Limit > share {
			near, share = h.Name, h.Peak/h.Limit
		}
	}
	if n == 0 {
		return record.Unjudged, "the host has told no limit"
	}
	return f.verdict("%d bounds; nearest: %s, at %.0f %%", n, near, 100*share)
}

// durability judges I12 as far as sessions show it.
func durability(r record.Record) (is, found string) {
	if h, ok := holding(r, "hosts"); !ok || h.After == h.Before {
		return record.Unjudged, "the host was not started again"
	}
	var f findings
	if again, _ := holding(r, "sessions again"); again.After > 0 {
		f.add("%g sessions were forgotten", again.After)
	}
	if h, ok := holding(r, record.LegacySessions); ok && h.After < h.Before {
		f.add("%g sessions before, %g afterwards", h.Before, h.After)
	}
	return f.verdict("no session was forgotten")
}
