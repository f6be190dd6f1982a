package parity

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// way is how a client reaches a server through mcpd.
type way string

const (
	own   way = "/SERVER/mcp" // the server's own endpoint
	joint way = "aggregate"   // the one endpoint of all servers of the tenant
)

// about is what a difference was found in.
type about struct {
	server  published
	sdk     string
	way     way
	step    string            // its method, or greeting
	index   int               // of the step
	known   map[string]string // the server's names by the aggregate's
	direct  map[string]seen   // what the client saw of each server directly
	first   map[string]seen   // the same of the first client, which is TypeScript 1
	broken  bool              // the direct connection had ended because of a line that is no JSON
	through any               // what came through mcpd
}

// rule is a kind of difference that is right. It says where the difference may be: a field that is
// empty stands for everywhere, and each value of the others must have been needed.
type rule struct {
	name    string
	cites   []clause
	quick   bool // it applies to the servers of every run
	ways    []way
	clients []string
	servers []string
	steps   []string
	paths   []string // members; * stands for any name or index
	holds   func(about, difference) bool
}

// fields are the ones that narrow a rule, with what a difference has there.
func (r *rule) fields(a about, d difference) []field {
	var ways []string
	for _, w := range r.ways {
		ways = append(ways, string(w))
	}
	return []field{
		{"way", ways, string(a.way), equal}, {"client", r.clients, a.sdk, equal}, {"server", r.servers, a.server.name, equal},
		{"step", r.steps, a.step, equal}, {"member", r.paths, d.path, matches},
	}
}

// field is one that narrows a rule: what it has, and what a difference has.
type field struct {
	name  string
	has   []string
	got   string
	match func(pattern, value string) bool
}

func equal(a, b string) bool { return a == b }

// matches says that a path is of a pattern.
func matches(pattern, path string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".+") + "$").MatchString(path)
}

// applies says whether a difference is of this kind, and by which values of the rule's fields.
func (r *rule) applies(a about, d difference) (by []string, ok bool) {
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

// where says in words where a rule applies.
func (r *rule) where() string {
	var all []string
	for _, f := range r.fields(about{}, difference{}) {
		if len(f.has) > 0 {
			all = append(all, strings.Join(f.has, ", "))
		}
	}
	return strings.Join(all, "; ")
}

// values are all that a rule's fields have, as applies names them.
func (r *rule) values() (all []string) {
	for _, f := range r.fields(about{}, difference{}) {
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

// sameServer says that a description has all that the server said of itself directly. The Go SDK
// drops members that it does not know from that.
func sameServer(a about, said any) bool {
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

// declared says that one of the servers declares a capability directly. The path of a member says
// which.
func declared(a about, path string) bool {
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

// sameKind says that what came through mcpd is a result where the first client got one directly,
// and an error of the same code where it got an error. The aggregate adds nothing for a list that
// the server does not have.
func sameKind(a about) bool {
	if a.step == "greeting" {
		return true
	}
	saw, ok := a.first[a.server.name]
	if !ok {
		return false
	}
	kind := kindOf(saw.Steps[a.index])
	return kind == kindOf(a.through) || a.way == joint && kind == "-32601" && strings.Contains(short(a.through), ":[]}")
}

// kindOf is the code of an outcome's error, or nothing for a result.
func kindOf(outcome any) string {
	members, _ := outcome.(map[string]any)
	failed, _ := members["error"].(map[string]any)
	if failed == nil {
		return ""
	}
	return short(failed["code"])
}
