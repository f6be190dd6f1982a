package parity

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// way is the endpoint at which a client reaches a server through mcpd.
type way string

const (
	ownEndpoint way = "/SERVER/mcp" // the server's own endpoint
	aggregate   way = "aggregate"   // the one endpoint of all servers of the tenant
)

// location is the context in which a difference was found.
type location struct {
	server  published
	sdk     string
	way     way
	step    string            // method of the step, or greeting
	index   int               // of the step
	known   map[string]string // the server's names, by the names in the aggregate
	direct  map[string]seen   // direct results of the client, by server
	first   map[string]seen   // direct results of the first client, TypeScript 1, by server
	broken  bool              // a line that is not JSON had ended the direct connection
	through any               // outcome through mcpd
}

// rule is a kind of difference that is allowed. Its fields say where the difference may occur. An
// empty field matches everywhere. In a full survey, every value of the other fields must have
// matched a difference.
type rule struct {
	name    string
	cites   []clause
	quick   bool // it applies to the servers of every run
	ways    []way
	clients []string
	servers []string
	steps   []string
	paths   []string // members; * matches any name or index
	holds   func(location, difference) bool
}

// fields returns the fields that narrow a rule, with the values that a difference has for them.
func (r *rule) fields(a location, d difference) []field {
	var ways []string
	for _, w := range r.ways {
		ways = append(ways, string(w))
	}
	return []field{
		{"way", ways, string(a.way), equal}, {"client", r.clients, a.sdk, equal},
		{"server", r.servers, a.server.name, equal},
		{"step", r.steps, a.step, equal}, {"member", r.paths, d.path, matches},
	}
}

// field is one field that narrows a rule: the values that the rule allows, and the value that a
// difference has.
type field struct {
	name  string
	has   []string
	got   string
	match func(pattern, value string) bool
}

func equal(a, b string) bool { return a == b }

// matches reports whether a path matches a pattern.
func matches(pattern, path string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".+") +
		"$").MatchString(path)
}

// applies reports whether the rule allows a difference, and which values of the rule's fields
// matched.
func (r *rule) applies(a location, d difference) (by []string, ok bool) {
	for _, f := range r.fields(a, d) {
		if len(f.has) == 0 {
			continue
		}
		i := slices.IndexFunc(f.has, func(pattern string) bool { return f.match(pattern, f.got) })
		if i < 0 {
			return nil, false
		}
		by = append(by, f.name+" "+f.has[i])
	}
	return by, r.holds(a, d)
}

// where describes in words where a rule applies.
func (r *rule) where() string {
	var all []string
	for _, f := range r.fields(location{}, difference{}) {
		if len(f.has) > 0 {
			all = append(all, strings.Join(f.has, ", "))
		}
	}
	return strings.Join(all, "; ")
}

// values returns all values of a rule's fields, in the form that applies returns.
func (r *rule) values() (all []string) {
	for _, f := range r.fields(location{}, difference{}) {
		for _, value := range f.has {
			all = append(all, f.name+" "+value)
		}
	}
	return all
}

// modern are the clients that speak 2026-07-28 to mcpd.
var modern = []string{"TypeScript 2", "Go"}

// serverInfo is the member of _meta that names the server.
const serverInfo = "io.modelcontextprotocol/serverInfo"

// sameServer reports whether a description has all members of the server's own description, as the
// client got it directly. The Go SDK drops members that it does not know from the direct
// description.
func sameServer(a location, said any) bool {
	greeting, _ := a.direct[a.server.name].Greeting.(map[string]any)
	of, _ := greeting["serverInfo"].(map[string]any)
	through, _ := said.(map[string]any)
	for name, value := range of {
		if !reflect.DeepEqual(through[name], value) {
			return false
		}
	}
	return len(through) > 0
}

// declared reports whether one of the servers declares the capability at the given path directly.
func declared(a location, path string) bool {
	for _, saw := range a.direct {
		value := saw.Greeting
		for name := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		if value != nil && value != false {
			return true
		}
	}
	return false
}

// sameKind reports whether the outcome through mcpd has the same kind as the direct outcome of the
// first client: both are results, or both are errors with the same code. The aggregate may also
// return an empty list for a list that the server does not have.
func sameKind(a location) bool {
	if a.step == "greeting" {
		return true
	}
	saw, ok := a.first[a.server.name]
	if !ok {
		return false
	}
	kind := kindOf(saw.Steps[a.index])
	return kind == kindOf(a.through) ||
		a.way == aggregate && kind == "-32601" && strings.Contains(short(a.through), ":[]}")
}

// kindOf returns the error code of an outcome, or an empty string for a result.
func kindOf(outcome any) string {
	members, _ := outcome.(map[string]any)
	failed, _ := members["error"].(map[string]any)
	if failed == nil {
		return ""
	}
	return short(failed["code"])
}
