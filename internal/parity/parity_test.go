package parity

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/gateway/catalog"
	"mcpd/internal/mcptest"
)

// A client that reaches a published server through mcpd gets the same results as directly. A rule
// explains each difference, and each rule has a difference.
func TestParity(t *testing.T) {
	all := servers(*full)
	direct, single, whole := newServerSet(t, "way-1", all), newServerSet(t, "way-2",
		all), newServerSet(t,
		"way-3", all)
	report := newReport(all)
	for _, client := range sdks {
		t.Run(client.name, func(t *testing.T) {
			host := mcptest.Start(t, mcptest.HostOptions{
				Config: "tenants:\n" + single.tenant(t, "single", all) + whole.tenant(t, "joint", all),
			})
			r := &run{t: t, client: client, all: all, report: report}
			r.refill(direct, single, whole)
			r.direct(direct)
			if report.first == nil {
				report.first = r.base
			}
			r.own(single, host.MCP+"/t/single")
			r.joint(whole, host.MCP+"/t/joint/mcp")
		})
	}
	report.judge(t)
}

// run is the survey with one client.
type run struct {
	t      *testing.T
	client sdk
	all    []published
	report *report
	base   map[string]seen // direct results, by server
}

func (r *run) refill(places ...*serverSet) {
	for _, p := range places {
		for _, s := range r.all {
			if s.kind != stdio {
				continue
			}
			if err := p.fill(s); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

func (r *run) direct(p *serverSet) {
	var sessions []session
	for _, s := range r.all {
		sessions = append(sessions, p.direct(r.t, s))
	}
	r.base = map[string]seen{}
	for i, saw := range r.survey(p, sessions) {
		switch {
		case saw.Refused == nil:
		case broken(saw.Refused):
			saw.Greeting = saw.Refused
			for range sessions[i].Steps {
				saw.Steps = append(saw.Steps, saw.Refused)
			}
		default:
			r.t.Fatalf("%s directly: %v", saw.Name, saw.Refused)
		}
		r.base[saw.Name] = saw
	}
}

// own surveys each server at its own endpoint.
func (r *run) own(p *serverSet, url string) {
	var sessions []session
	for _, s := range r.all {
		sessions = append(sessions, session{
			Name: s.name, URL: url + "/" + s.name + "/mcp", Root: p.root(),
			Steps: append(listSteps(), withDir(p.dir(s), s.steps)...),
		})
	}
	for i, saw := range r.survey(p, sessions) {
		r.compare(location{server: r.all[i], way: ownEndpoint}, saw)
	}
}

// joint surveys all servers at the endpoint of the aggregate.
func (r *run) joint(p *serverSet, url string) {
	lists := r.awaitLists(p, url)
	one := session{Name: "all", URL: url, Root: p.root(), Steps: listSteps()}
	parts := map[string]*part{}
	for _, s := range r.all {
		parts[s.name] = partOf(s, r.base[s.name], lists)
		for _, step := range withDir(p.dir(s), s.steps) {
			one.Steps = append(one.Steps, step.aggregated(s.name, parts[s.name].owned))
		}
	}
	saw := r.survey(p, []session{one})[0]
	if saw.Refused != nil {
		r.t.Fatalf("the aggregate: %v", saw.Refused)
	}
	next := len(lists)
	for _, s := range r.all {
		now := partOf(s, r.base[s.name], saw.Steps[:len(lists)])
		mine := seen{
			Name: s.name, Greeting: saw.Greeting,
			Steps: append(now.lists, saw.Steps[next:next+len(s.steps)]...),
		}
		next += len(s.steps)
		r.compare(location{server: s, way: aggregate, known: now.known}, mine)
	}
}

// settleTime limits the time until the aggregate lists every server.
const settleTime = 3 * time.Minute

// awaitLists waits until the aggregate lists all items that the servers list directly, and returns
// its lists.
func (r *run) awaitLists(p *serverSet, url string) []any {
	for deadline := time.Now().Add(settleTime); ; {
		saw := r.survey(p, []session{{Name: "all", URL: url, Root: p.root(), Steps: listSteps()}})[0]
		if saw.Refused != nil {
			r.t.Fatalf("the aggregate: %v", saw.Refused)
		}
		missing := ""
		for _, s := range r.all {
			part := partOf(s, r.base[s.name], saw.Steps)
			for i, l := range lists {
				want := len(items(r.base[s.name].Steps[i], l.name))
				if broken(r.base[s.name].Greeting) && l.name == "tools" {
					want = 1
				}
				if got := len(items(part.lists[i], l.name)); got < want {
					missing += fmt.Sprintf(" %s: %d of %d %s", s.name, got, want, l.name)
				}
			}
		}
		if missing == "" {
			return saw.Steps
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("the aggregate does not list everything within %[2]v:%[1]s", missing, settleTime)
		}
		time.Sleep(time.Second)
	}
}

func (r *run) survey(p *serverSet, sessions []session) []seen {
	all := r.client.survey(r.t, sessions)
	hide := strings.NewReplacer(p.base, "$BASE",
		strings.ReplaceAll(p.base, "/", "%2F"), "%24BASE") // inside a wrapped URI
	for i := range all {
		for j, step := range all[i].Steps {
			all[i].Steps[j] = normal(replaced(step, hide))
		}
	}
	return all
}

// compare compares the results through mcpd with the direct ones.
func (r *run) compare(a location, saw seen) {
	a.sdk = r.client.name
	if saw.Refused != nil {
		r.t.Errorf("%s at %s: %v", a.server.name, a.way, saw.Refused)
		return
	}
	base := r.base[a.server.name]
	a.direct, a.first = r.base, r.report.first
	a.step, a.broken = "greeting", broken(base.Greeting)
	r.found(a, "greeting", base.Greeting, saw.Greeting)
	steps := append(listSteps(), a.server.steps...)
	for i, step := range steps {
		a.step, a.index, a.broken = step.Method, i, broken(base.Steps[i])
		a.through = saw.Steps[i]
		direct, through := base.Steps[i], saw.Steps[i]
		if i < len(lists) {
			direct, through = byName(direct, i, nil), byName(through, i, a.known)
		}
		r.found(a, step.String(), direct, through)
	}
}

// broken reports whether the Go SDK has closed the connection because of a line that is not JSON.
func broken(outcome any) bool { return strings.Contains(short(outcome), "invalid character") }

func (r *run) found(a location, label string, direct, through any) {
	differences, compared := compare("", direct, through)
	r.report.add(a, label, differences, compared)
}

// part is the part of the aggregate that belongs to one server.
type part struct {
	lists []any             // its lists, as results of the four list steps
	owned map[string]bool   // URIs and templates that the aggregate does not wrap
	known map[string]string // the server's names, by the names in the aggregate
}

// partOf selects the items of a server from the lists of the aggregate.
func partOf(s published, base seen, steps []any) *part {
	p := &part{owned: map[string]bool{}, known: map[string]string{}}
	for i, l := range lists {
		all := items(steps[i], l.name)
		mine := []any{}
		there := map[string]bool{}
		for _, item := range all {
			there[item.(map[string]any)[l.key].(string)] = true
		}
		wanted := map[string]bool{}
		for _, item := range items(base.Steps[i], l.name) {
			name := item.(map[string]any)[l.key].(string)
			switch wrapped := wrap(l.name, s.name, name); {
			case there[wrapped]:
				wanted[wrapped], p.known[wrapped] = true, name
			case l.key != "name" && there[name]:
				wanted[name], p.owned[name] = true, true
			}
		}
		for _, item := range all {
			if name := item.(map[string]any)[l.key].(string); wanted[name] ||
				strings.HasPrefix(name, s.name+"__") {
				mine = append(mine, item)
			}
		}
		result := map[string]any{"result": map[string]any{l.name: mine}}
		if failed, ok := steps[i].(map[string]any)["error"]; ok {
			result = map[string]any{"error": failed}
		}
		p.lists = append(p.lists, result)
	}
	return p
}

// wrap returns the name under which the aggregate lists an item whose own name another server
// already uses.
func wrap(member, server, name string) string {
	switch member {
	case "resources":
		return catalog.Wrap(server, name)
	case "resourceTemplates":
		return wrapTemplate(server, name)
	}
	return catalog.External(server, name)
}

// items returns the items in the result of a list step.
func items(outcome any, name string) []any {
	result, _ := outcome.(map[string]any)["result"].(map[string]any)
	all, _ := result[name].([]any)
	return all
}

// byName returns a list as an object of items, keyed by the names that the server uses, and the
// order of these names. A missing item then does not shift the others. Known maps names in the
// aggregate to the server's names.
func byName(outcome any, i int, known map[string]string) any {
	all := items(outcome, lists[i].name)
	if all == nil {
		return outcome
	}
	named, order := map[string]any{}, []any{}
	for _, item := range all {
		name, _ := item.(map[string]any)[lists[i].key].(string)
		if own, ok := known[name]; ok {
			name = own
		}
		for named[name] != nil {
			name += " (again)"
		}
		named[name] = item
		order = append(order, name)
	}
	return map[string]any{"order": order, "items": named}
}

// report collects the results of a survey.
type report struct {
	all      []published
	compared map[string]int            // by server
	applied  map[string]map[string]int // by rule, by server
	used     map[string]bool           // needed field values, prefixed with the rule's name
	first    map[string]seen           // direct results of the first client
	wrong    []string
}

func newReport(all []published) *report {
	return &report{
		all: all, compared: map[string]int{}, applied: map[string]map[string]int{},
		used: map[string]bool{},
	}
}

func (r *report) add(a location, label string, differences []difference, compared int) {
	r.compared[a.server.name] += compared
	for _, d := range differences {
		i := slices.IndexFunc(rules, func(rule rule) bool {
			by, ok := rule.applies(a, d)
			for _, value := range by {
				r.used[rule.name+", "+value] = r.used[rule.name+", "+value] || ok
			}
			return ok
		})
		if i < 0 {
			r.wrong = append(r.wrong, fmt.Sprintf("%s, %s, %s, %s%s", a.server.name, a.sdk, a.way, label, d))
			continue
		}
		if r.applied[rules[i].name] == nil {
			r.applied[rules[i].name] = map[string]int{}
		}
		r.applied[rules[i].name][a.server.name]++
	}
}

// faults returns the differences without a rule, and the rules and field values without a
// difference. Rules without quick, and all field values, count only if full is set, because they
// need a survey of all servers.
func (r *report) faults(full bool) []string {
	all := slices.Clone(r.wrong)
	for _, rule := range rules {
		if len(r.applied[rule.name]) == 0 && (full || rule.quick) {
			all = append(all, fmt.Sprintf("the rule %q no longer applies: remove it", rule.name))
			continue
		}
		for _, value := range rule.values() {
			if full && !r.used[rule.name+", "+value] {
				all = append(all, fmt.Sprintf("the rule %q no longer applies to %s: remove that",
					rule.name, value))
			}
		}
	}
	return all
}

// judge fails the test for each fault.
func (r *report) judge(t *testing.T) {
	for _, fault := range r.faults(*full) {
		t.Error(fault)
	}
	total := 0
	for n := range maps.Values(r.compared) {
		total += n
	}
	t.Logf("%d servers, %d members compared", len(r.all), total)
	if *update && *full && !t.Failed() {
		if err := os.WriteFile(docsPage, []byte(r.page(t)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
