package subscription_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/subscription"
)

const (
	toolsChanged = "notifications/tools/list_changed"
	updated      = "notifications/resources/updated"
	message      = "notifications/message"
)

func matched(t *subscription.Table[string], about subscription.Topic) string {
	list := slices.Collect(t.Match(about))
	slices.Sort(list)
	return strings.Join(list, " ")
}

// S4-63, S4-64, S4-67, S4-68: exact and wildcard handlers, sessions with a scope. Each receives a
// notification once.
func TestMatch(t *testing.T) {
	var table subscription.Table[string]
	for who, topics := range map[string][]subscription.Topic{
		"all": {{Method: subscription.Any}},
		"both": {{Method: subscription.Any}, {Method: toolsChanged},
			{Method: toolsChanged, Server: "files"}},
		"tools":    {{Method: toolsChanged}},
		"files":    {{Method: toolsChanged, Server: "files"}},
		"filesAny": {{Method: subscription.Any, Server: "files"}},
		"resource": {{Method: updated, Server: "files", URI: "file:///srv/a"}},
		"folder":   {{Method: updated, URI: "file:///srv/"}},
		"config":   {{Method: updated, URI: "config://system"}},
		"overAll":  {{Method: subscription.All, Connection: "mine"}},
		"overOne":  {{Method: subscription.Any, Server: "files", Connection: "mine"}},
	} {
		for _, topic := range topics {
			table.Subscribe(who, topic)
		}
	}
	for _, tc := range []struct {
		about subscription.Topic
		want  string
	}{
		{subscription.Topic{Method: toolsChanged, Server: "files"}, "all both files filesAny tools"},
		{subscription.Topic{Method: toolsChanged, Server: "search"}, "all both tools"},
		{subscription.Topic{Method: toolsChanged}, "all both tools"},
		{subscription.Topic{Method: message, Server: "files"}, "all both filesAny"},
		{subscription.Topic{Method: updated, Server: "files", URI: "file:///srv/a"},
			"all both filesAny folder resource"},
		{subscription.Topic{Method: updated, Server: "files", URI: "file:///srv/a/b/c"},
			"all both filesAny folder resource"},
		{subscription.Topic{Method: updated, Server: "files", URI: "file:///srv/ab"},
			"all both filesAny folder"},
		{subscription.Topic{Method: updated, Server: "files", URI: "file:///srv"}, "all both filesAny"},
		{subscription.Topic{Method: updated, Server: "search", URI: "config://system"},
			"all both config"},
		{subscription.Topic{Method: updated, Server: "search", URI: "config://system/x"},
			"all both config"},
		{subscription.Topic{Method: updated, Server: "search", URI: "config://"}, "all both"},
		{subscription.Topic{Method: updated, Server: "search", URI: "plain"}, "all both"},
		{subscription.Topic{Method: "notifications/tasks", URI: "file:///srv/a"}, "all both"},
		{subscription.Topic{Method: message, Server: "files", Connection: "mine"},
			"all both filesAny overAll overOne"},
		{subscription.Topic{Method: message, Server: "search", Connection: "mine"}, "all both overAll"},
		{subscription.Topic{Method: message, Server: "search", Connection: "yours"}, "all both"},
		{subscription.Topic{Method: updated, Server: "search", URI: "plain", Connection: "mine"},
			"all both overAll"},
		{subscription.Topic{Method: toolsChanged, Server: "files", Connection: "mine"},
			"all both files filesAny overOne tools"},
		{subscription.Topic{Method: toolsChanged, Connection: "mine"}, "all both overAll tools"},
	} {
		if got := matched(&table, tc.about); got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.about, got, tc.want)
		}
	}
	for range table.Match(subscription.Topic{Method: toolsChanged}) {
		break // a caller may stop at the first subscriber
	}
	// The number of look-ups is bounded, even for a URI that consists of slashes.
	if got := matched(&table,
		subscription.Topic{Method: updated, Server: "x",
			URI: "file:///srv/" + strings.Repeat("/", 1<<16)}); got != "all both" {
		t.Errorf("got %s", got)
	}
}

func TestFirstAndLastAreReported(t *testing.T) {
	var table subscription.Table[string]
	a := subscription.Topic{Method: updated, URI: "x:a"}
	b := subscription.Topic{Method: updated, URI: "x:b"}
	if !table.Subscribe("one", a) || table.Subscribe("two", a) || table.Subscribe("one", a) ||
		!table.Subscribe("two", b) {
		t.Error("the first subscriber of a topic is reported, and no other")
	}
	if got := table.Topics("two"); !slices.Equal(got, []subscription.Topic{a, b}) ||
		table.Topics("nobody") != nil {
		t.Errorf("got %v", got)
	}
	wanted := make(map[subscription.Topic]int)
	for topic, n := range table.Wanted() {
		wanted[topic] = n
	}
	for range table.Wanted() {
		break
	}
	if wanted[a] != 2 || wanted[b] != 1 || len(wanted) != 2 {
		t.Errorf("got %v", wanted)
	}
	if was, last := table.Unsubscribe("one", a); !was || last || table.Len() != 1 {
		t.Errorf("got %v, %v with %d left", was, last, table.Len())
	}
	if was, _ := table.Unsubscribe("one", a); was {
		t.Error("unsubscribed twice")
	}
	if was, _ := table.Unsubscribe("two", subscription.Topic{Method: message}); was {
		t.Error("unsubscribed from what it never wanted")
	}
	if got := table.Drop("two"); !slices.Equal(got, []subscription.Topic{a, b}) || table.Len() != 0 {
		t.Errorf("got %v with %d left", got, table.Len())
	}
	if got := table.Drop("two"); got != nil {
		t.Errorf("got %v", got)
	}
}

// Compared with a model: Match yields exactly the current subscribers, after any sequence of
// changes.
func TestTableProperties(t *testing.T) {
	topics := []subscription.Topic{
		{Method: toolsChanged}, {Method: toolsChanged, Server: "a"}, {Method: toolsChanged, Server: "b"},
		{Method: message, Server: "a"}, {Method: subscription.Any},
	}
	rapid.Check(t, func(t *rapid.T) {
		var table subscription.Table[int]
		model := make(map[int]map[subscription.Topic]bool)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			who := rapid.IntRange(0, 5).Draw(t, "who")
			topic := rapid.SampledFrom(topics).Draw(t, "topic")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				table.Drop(who)
				delete(model, who)
			case 1:
				was, _ := table.Unsubscribe(who, topic)
				if was != model[who][topic] {
					t.Fatalf("%d from %v: got %v", who, topic, was)
				}
				if delete(model[who], topic); len(model[who]) == 0 {
					delete(model, who)
				}
			default:
				table.Subscribe(who, topic)
				if model[who] == nil {
					model[who] = make(map[subscription.Topic]bool)
				}
				model[who][topic] = true
			}
			about := subscription.Topic{
				Method: toolsChanged, Server: rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "server"),
			}
			var want []int
			for w, wants := range model {
				if wants[about] || wants[subscription.Topic{Method: toolsChanged}] ||
					wants[subscription.Topic{Method: subscription.Any}] {
					want = append(want, w)
				}
			}
			got := slices.Collect(table.Match(about))
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || table.Len() != len(model) {
				t.Fatalf("%v: got %v of %d, want %v of %d", about, got, table.Len(), want, len(model))
			}
		}
	})
}

// Ten thousand sessions with three list subscriptions each are normal operation.
func TestManySessionsAreCheap(t *testing.T) {
	const sessions = 10_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	table := new(subscription.Table[int])
	for who := range sessions {
		for _, method := range []string{toolsChanged, "notifications/prompts/list_changed",
			"notifications/resources/list_changed"} {
			table.Subscribe(who, subscription.Topic{Method: method})
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if per := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / sessions; per > 250 {
		t.Errorf("got %d bytes for each session, want at most 250", per)
	}
	if got := len(slices.Collect(table.Match(subscription.Topic{Method: toolsChanged,
		Server: "files"}))); got != sessions {
		t.Errorf("found %d", got)
	}
	for who := range sessions {
		table.Drop(who)
	}
	if table.Len() != 0 {
		t.Errorf("%d are left", table.Len())
	}
}

// S4-65: at most 1000, and dropped ones are counted.
func TestQueueIsBounded(t *testing.T) {
	var q subscription.Queue[int]
	about := subscription.Topic{Method: message}
	for i := range protocol.MaxNotifications + 10 {
		if got, want := q.Push(about, i), i < protocol.MaxNotifications; got != want {
			t.Fatalf("%d: got %v", i, got)
		}
	}
	if q.Len() != protocol.MaxNotifications || q.Dropped() != 10 {
		t.Errorf("got %d queued, %d dropped", q.Len(), q.Dropped())
	}
	for want := range protocol.MaxNotifications {
		if _, got, ok := q.Pop(); got != want || !ok {
			t.Fatalf("got %d, want %d: they come out in order", got, want)
		}
	}
	if _, _, ok := q.Pop(); ok || q.Len() != 0 {
		t.Error("the queue is not empty at its end")
	}
}

func TestChangesCoalesceAndComeThrough(t *testing.T) {
	q := subscription.Queue[string]{Limit: 3}
	log := func(v string) bool { return q.Push(subscription.Topic{Method: message}, v) }
	change := func(server, v string) bool {
		return q.Push(subscription.Topic{Method: toolsChanged, Server: server}, v)
	}
	drain := func() string {
		var list []string
		for {
			_, v, ok := q.Pop()
			if !ok {
				return strings.Join(list, " ")
			}
			list = append(list, v)
		}
	}
	log("l1")
	change("a", "a1")
	log("l2")
	if !change("a", "a2") || q.Len() != 3 {
		t.Error("a second change of the same list takes a place of its own")
	}
	if log("l3") {
		t.Error("a log line was taken beyond the bound")
	}
	if !change("b", "b1") || !change("c", "c1") {
		t.Error("a change was lost while there were log lines")
	}
	if change("d", "d1") {
		t.Error("a change was taken beyond the bound")
	}
	if q.Len() != 3 || q.Dropped() != 4 {
		t.Errorf("got %d queued, %d dropped", q.Len(), q.Dropped())
	}
	if got := drain(); got != "a2 b1 c1" {
		t.Errorf("got %s", got)
	}
	q.Push(subscription.Topic{Method: toolsChanged, Server: "a", Connection: "mine"}, "m1")
	q.Push(subscription.Topic{Method: toolsChanged, Server: "a", Connection: "yours"}, "y1")
	q.Push(subscription.Topic{Method: toolsChanged, Server: "a", Connection: "mine"}, "m2")
	if got := drain(); got != "m2 y1" {
		t.Errorf("changes told over two connections are for two subscribers: got %s", got)
	}
	change("a", "a3")
	log("l4")
	if got := drain(); got != "a3 l4" {
		t.Errorf("got %s", got)
	}
}

// Compared with a model: no notification is missing unless it was dropped. Changes are the latest,
// and the order is kept.
func TestQueueProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := subscription.Queue[int]{Limit: 5}
		last, pushed, popped := make(map[string]int), 0, -1
		for i := range rapid.IntRange(1, 100).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "pop") {
				about, v, ok := q.Pop()
				if !ok && q.Len() > 0 {
					t.Fatal("no notification, but some are queued")
				}
				if ok && subscription.IsChange(about.Method) && last[about.Server] != v {
					t.Fatalf("%s: got %d, the latest is %d", about.Server, v, last[about.Server])
				}
				if ok && !subscription.IsChange(about.Method) {
					if v <= popped {
						t.Fatalf("%d after %d", v, popped)
					}
					popped = v
				}
				continue
			}
			about := subscription.Topic{
				Method: rapid.SampledFrom([]string{message, toolsChanged}).Draw(t, "method"),
				Server: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "server"),
			}
			pushed++
			if q.Push(about, i) && about.Method == toolsChanged {
				last[about.Server] = i
			}
			if q.Len() > 5 {
				t.Fatalf("%d are queued", q.Len())
			}
		}
		if int(q.Dropped())+q.Len() > pushed {
			t.Fatalf("%d dropped and %d queued of %d", q.Dropped(), q.Len(), pushed)
		}
	})
}

func TestFilter(t *testing.T) {
	const wanted = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:1","a:2"],"taskIds":["t"]}`
	f, err := subscription.ParseFilter(jsontext.Value(`{"notifications":` +
		strings.Replace(wanted, `"a:2"`, `"a:2","a:1"`, 1) + `}`))
	if err != nil || string(f.Notifications()) != wanted {
		t.Errorf("got %s, %v; want %s", f.Notifications(), err, wanted)
	}
	if got := len(f.Topics("files")); got != 6 {
		t.Errorf("got %d topics", got)
	}
	for declared, want := range map[string]string{
		`{}`:                               `{}`,
		`{"tools":{"listChanged":true}}`:   `{"toolsListChanged":true}`,
		`{"tools":{"listChanged":false}}`:  `{}`,
		`{"resources":{"subscribe":true}}`: `{"resourceSubscriptions":["a:1","a:2"]}`,
		`{"prompts":{"listChanged":true},"resources":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{}}}`: `{"promptsListChanged":true,"resourcesListChanged":true,"taskIds":["t"]}`,
	} {
		server, err := protocol.ParseServerCapabilities(jsontext.Value(declared))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.Grant(server).Notifications()); got != want {
			t.Errorf("%s: got %s, want %s", declared, got, want)
		}
	}
	var many []string
	for i := range protocol.MaxSubscribedURIs + 1 {
		many = append(many, fmt.Sprintf(`"a:%d"`, i))
	}
	list := func(n int) string {
		return `{"notifications":{"resourceSubscriptions":[` + strings.Join(many[:n], ",") + `]}}`
	}
	for params, good := range map[string]bool{
		`{"notifications":{}}`:                               true,
		`{"notifications":{"toolsListChanged":false,"x":7}}`: true,
		list(protocol.MaxSubscribedURIs):                     true,
		list(protocol.MaxSubscribedURIs + 1):                 false,
		``:                                                   false,
		`{"notifications":[]}`:                               false,
		`{"notifications":{"resourceSubscriptions":"a"}}`:    false,
		`{"notifications":{"taskIds":[1]}}`:                  false,
		`{"notifications":{"toolsListChanged":"yes"}}`:       false,
		`{"notifications":{"promptsListChanged":null}}`:      false,
		`{"notifications":{"resourcesListChanged":1}}`:       false,
	} {
		if _, err := subscription.ParseFilter(jsontext.Value(params)); (err == nil) != good {
			t.Errorf("%.80s: got %v", params, err)
		}
	}
}

// S4-126: dispatch takes less than 100 µs; here one of ten thousand sessions subscribed.
func BenchmarkNotificationDispatch(b *testing.B) {
	var table subscription.Table[int]
	for who := range 10_000 {
		table.Subscribe(who, subscription.Topic{Method: toolsChanged, Server: fmt.Sprint("s", who)})
	}
	var q subscription.Queue[int]
	about := subscription.Topic{Method: toolsChanged, Server: "s5000"}
	b.ReportAllocs()
	for b.Loop() {
		q.Push(about, 1)
		topic, _, _ := q.Pop()
		n := 0
		for range table.Match(topic) {
			n++
		}
		if n != 1 {
			b.Fatal(n)
		}
	}
}

func ExampleTable() {
	var table subscription.Table[string]
	table.Subscribe("session-1", subscription.Topic{
		Method: updated, Server: "files", URI: "file:///srv/a",
	})
	table.Subscribe("metrics", subscription.Topic{Method: subscription.Any})

	for who := range table.Match(subscription.Topic{Method: updated, Server: "files",
		URI: "file:///srv/a"}) {
		fmt.Println(who)
	}
	fmt.Println(len(table.Drop("session-1")))
	// Output:
	// session-1
	// metrics
	// 1
}

// An iteration over subscribers or topics has the same order each time.
func TestOrderIsNotThatOfAMap(t *testing.T) {
	var table subscription.Table[int]
	for who := range 64 {
		table.Subscribe(who, subscription.Topic{Method: toolsChanged, Server: fmt.Sprintf("s%02d", who)})
	}
	table.Drop(7)
	for range 2 {
		var all []int
		for who := range table.All() {
			all = append(all, who)
		}
		var servers []string
		for topic := range table.Wanted() {
			servers = append(servers, topic.Server)
		}
		if len(all) != 63 || !slices.IsSorted(all) || len(servers) != 63 || !slices.IsSorted(servers) {
			t.Errorf("subscribers %v, topics %v", all, servers)
		}
	}
}
