package features

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// difference is one member whose value through mcpd differs from the reference. The value of a
// missing member is empty.
type difference struct {
	path               string
	reference, through string
}

func (d difference) String() string {
	show := func(text string) string {
		if text == "" {
			return "nothing"
		}
		return text
	}
	return fmt.Sprintf("%s: %s, through mcpd %s", d.path, show(d.reference), show(d.through))
}

// compare returns the differences of two values, ordered by path.
func compare(reference, through any) (all []difference) {
	a, b := flat(reference), flat(through)
	paths := maps.Clone(a)
	maps.Copy(paths, b)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if a[path] != b[path] {
			all = append(all, difference{path, a[path], b[path]})
		}
	}
	return all
}

// rule is a kind of difference that is allowed. An empty field matches everything.
type rule struct {
	name     string
	cites    string   // the clause, or the row of the bridge table
	eras     []string // of client and server, as "legacy to modern"
	clients  []string // SDKs
	servers  []string // SDKs
	ways     []string // of servers
	features []string
	step     int                         // of the feature, from 1; 0 for any
	paths    []string                    // patterns of members; * matches anything
	holds    func(cell, difference) bool // nil for always
}

// applies reports whether the rule allows a difference.
func (r rule) applies(c cell, feature string, step int, d difference) bool {
	if r.step > 0 && r.step != step {
		return false
	}
	for _, f := range []struct {
		has []string
		got string
	}{
		{r.eras, c.eras()}, {r.clients, c.client.sdk.name}, {r.servers, c.server.sdk.name},
		{r.ways, c.server.way}, {r.features, feature},
	} {
		if len(f.has) > 0 && !slices.Contains(f.has, f.got) {
			return false
		}
	}
	return slices.ContainsFunc(r.paths, func(p string) bool {
		return matches(p, d.path)
	}) && (r.holds == nil || r.holds(c, d))
}

// matches reports whether a path matches a pattern.
func matches(pattern, path string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") +
		"$").MatchString(path)
}

// where describes in words where a rule applies.
func (r rule) where() string {
	var all []string
	for _, f := range [][]string{r.eras, r.clients, r.servers, r.ways, r.features} {
		if len(f) > 0 {
			all = append(all, strings.Join(f, ", "))
		}
	}
	return strings.Join(all, "; ")
}
