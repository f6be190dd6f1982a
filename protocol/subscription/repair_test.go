package subscription

import (
	"slices"
	"testing"
)

// What one of the two indices has lost the other still has; what belongs to nobody is dropped; and the table works on.
func TestRepairFindsSubscriptionsInEitherIndex(t *testing.T) {
	a, b := Topic{Method: "a"}, Topic{Method: "b"}
	for name, harm := range map[string]func(*Table[string]){
		"nothing":                  func(*Table[string]) {},
		"a topic":                  func(t *Table[string]) { delete(t.topics, a) },
		"all topics":               func(t *Table[string]) { t.topics = nil },
		"a topic is nil":           func(t *Table[string]) { t.topics[a] = nil },
		"a member":                 func(t *Table[string]) { t.topics[a].members = t.topics[a].members[:1] },
		"a member that is none":    func(t *Table[string]) { t.topics[a].members = append(t.topics[a].members, 99, -1) },
		"the index":                func(t *Table[string]) { t.index = nil },
		"a reference":              func(t *Table[string]) { t.slots[0].refs = nil },
		"a reference to no topic":  func(t *Table[string]) { t.slots[0].refs[0].topic = nil },
		"a place that is too far":  func(t *Table[string]) { t.slots[0].refs[0].at = 99 },
		"free slots that are used": func(t *Table[string]) { t.free = []int32{0, 1, 7} },
		"twice":                    func(t *Table[string]) { t.slots[0].refs = append(t.slots[0].refs, t.slots[0].refs...) },
	} {
		t.Run(name, func(t *testing.T) {
			var table Table[string]
			table.Subscribe("one", a)
			table.Subscribe("two", a)
			table.Subscribe("one", b)
			table.Subscribe("bad", b)
			harm(&table)
			if dropped := table.Repair(func(who string) bool { return who != "bad" }); dropped != 1 {
				t.Errorf("%d dropped, want the one that is not sound", dropped)
			}
			for about, want := range map[Topic][]string{a: {"one", "two"}, b: {"one"}} {
				if got := slices.Sorted(table.Match(about)); !slices.Equal(got, want) {
					t.Errorf("%s is wanted by %v, want %v", about.Method, got, want)
				}
			}
			table.Drop("one")
			table.Drop("two")
			if table.Len() != 0 {
				t.Errorf("%d left", table.Len())
			}
		})
	}
}

// The order is kept, changes are found again, and what is no notification is dropped.
func TestRepairKeepsTheQueue(t *testing.T) {
	var q Queue[string]
	list := Topic{Method: "notifications/tools/list_changed"}
	for _, v := range []string{"1", "2", "bad", "3"} {
		q.Push(Topic{Method: "log"}, v)
	}
	q.Push(list, "4")
	q.Pop()
	q.items[q.first].about = Topic{}
	q.changes, q.live, q.base = nil, -3, 17
	if dropped := q.Repair(func(v string) bool { return v != "bad" }); dropped != 2 || q.Len() != 2 {
		t.Errorf("%d dropped, %d left, want 2 and 2", dropped, q.Len())
	}
	q.Push(list, "5")
	var got []string
	for _, v, ok := q.Pop(); ok; _, v, ok = q.Pop() {
		got = append(got, v)
	}
	if !slices.Equal(got, []string{"3", "5"}) {
		t.Errorf("got %v", got)
	}
	q.first = 99
	if q.Repair(func(string) bool { return true }) != 0 || q.Len() != 0 || !q.Push(list, "6") {
		t.Error("does not work on")
	}
}
