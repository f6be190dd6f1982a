package catalog

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Action is the treatment of an item that violates the schemas, in the list of all servers.
type Action string

// The actions.
const (
	LeftOut  Action = "left_out"
	Repaired Action = "repaired"
)

// ItemIssue is the treatment of some items of one list.
type ItemIssue struct {
	Action Action
	Count  int
	// First is the name or URI of one of them, if it could be read.
	First string
	// Why is the fault of the first item that is left out.
	Why string
}

// maxShown bounds First and Why, each in bytes.
const maxShown = 200

// ItemIssues returns how the list of all servers treats the faulty items of one server, see Repair.
// Legacy is the era of the server, because the schemas of the modern era allow more.
func ItemIssues(k Kind, legacy bool, items []jsontext.Value) (odd []ItemIssue) {
	var left, repaired ItemIssue
	listed := map[string]bool{}
	note := func(o *ItemIssue, a Action, name, reason string) {
		if o.Count++; o.Count == 1 {
			o.Action, o.First, o.Why = a, Ellipsis(name, maxShown), Ellipsis(reason, maxShown)
		}
	}
	for _, item := range items {
		name, unnamed := nameOf(k, item)
		sound, fault := Repair(k, legacy, item)
		switch {
		case fault != "":
			note(&left, LeftOut, name, fault)
			continue
		case unnamed != "":
			note(&left, LeftOut, name, unnamed)
			continue
		case listed[name]:
			note(&left, LeftOut, name, "the server lists it twice")
			continue
		case string(sound) != string(item), k == Resources && !clientsParse(name),
			k == Tools && len(makeIDsUnique(item, "x")) != len(item):
			note(&repaired, Repaired, name, "")
		}
		listed[name] = true
	}
	for _, o := range []ItemIssue{left, repaired} {
		if o.Count > 0 {
			odd = append(odd, o)
		}
	}
	return odd
}

// DescribeIssues describes the oddities of all lists for a reader: "tools: 2 left out (a: tool.name
// is not a string), 1 repaired (b)". It is empty if there are none.
func DescribeIssues(odd [kindCount][]ItemIssue) string {
	var lists []string
	for k, of := range odd {
		var all []string
		for _, o := range of {
			words := strings.ReplaceAll(string(o.Action), "_", " ")
			first := strings.Trim(o.First+": "+o.Why, ": ")
			all = append(all, fmt.Sprintf("%d %s (%s)", o.Count, words, first))
		}
		if len(all) > 0 {
			lists = append(lists, Kind(k).String()+": "+strings.Join(all, ", "))
		}
	}
	return strings.Join(lists, "; ")
}
