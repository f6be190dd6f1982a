package tasks_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/tasks"
)

// ends are the two sides of a task.
type ends struct {
	down, up       tasks.Dialect
	client, server protocol.Version
}

var between = []ends{
	{tasks.Core, tasks.Core, protocol.V20251125, protocol.V20251125},
	{tasks.Core, tasks.Extension, protocol.V20251125, protocol.V20260728},
	{tasks.Extension, tasks.Core, protocol.V20260728, protocol.V20251125},
	{tasks.None, tasks.Core, protocol.V20250618, protocol.V20251125},
	{tasks.None, tasks.Extension, protocol.V20251125, protocol.V20260728},
}

// said lists answers that the server may send to any request.
var said = []string{
	`{"content":[]}`, `{"resultType":"complete","content":[],"isError":true}`, `{}`,
	`{"task":{"taskId":"s","status":"working","ttl":9000}}`,
	`{"task":{"taskId":7}}`, `{"resultType":"task","taskId":"s","status":"working","ttlMs":null}`,
	`{"taskId":"s","status":"completed"}`,
	`{"resultType":"complete","taskId":"s","status":"completed","result":{"resultType":"complete","content":[]}}`,
	`{"resultType":"complete","taskId":"s","status":"failed","error":{"code":-1,"message":"no"}}`,
	`{"taskId":"s","status":"failed"}`,
	`{"resultType":"complete","taskId":"s","status":"cancelled"}`,
	`{"resultType":"complete","taskId":"s","status":"working","pollIntervalMs":1}`,
	`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":` + asksUser +
		`},"requestState":"x"}`,
	`{"resultType":"complete","taskId":"s","status":"input_required","inputRequests":{"c":` +
		asksUser + `,"d":{"method":"roots/list"}}}`,
	`{"taskId":"s","status":"input_required"}`, `{"resultType":"input_required","requestState":"x"}`,
}

const asksUser = `{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`

// For any behaviour of the two sides: each request of the client gets exactly one answer unless the
// client cancels it. Each question of a legacy server gets one answer unless the server withdraws
// it. A final status does not change. Nothing is left when the time is over.
func TestTaskAgainstModel(t *testing.T) { check(t, false) }

// The same with crashes: the rest of an interrupted step is lost, while earlier messages remain
// valid.
func TestTaskThatRecoversAgainstModel(t *testing.T) { check(t, true) }

func check(t *testing.T, crashes bool) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(between).Draw(t, "ends")
		w := &model{
			T: t, crashes: crashes, now: start, open: map[uint64]bool{}, sent: map[uint64]bool{},
			asked: map[string]bool{}, puts: map[uint64]uint64{},
			task: tasks.New(start, tasks.Options{
				ID: "T", ClientDialect: e.down, ServerDialect: e.up, Client: e.client, Server: e.server,
				Params: jsontext.Value(`{"name":"a"}`), TTL: time.Minute, Cancels: true,
			}),
		}
		w.request("")
		methods := map[tasks.Dialect][]string{
			tasks.Core:      {"tasks/get", "tasks/result", "tasks/cancel"},
			tasks.Extension: {"tasks/get", "tasks/update", "tasks/cancel"}, tasks.None: nil,
		}[e.down]
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0, 1, 2:
				if number, ok := w.any(w.sent, "call"); ok {
					in := tasks.Event{
						Op: tasks.Answered, Number: number,
						Result: jsontext.Value(rapid.SampledFrom(said).Draw(t, "answer")),
					}
					if rapid.IntRange(0, 7).Draw(t, "fails") == 0 {
						in.Result, in.Err = nil, &jsonrpc.Error{Code: -32602, Message: "no"}
					}
					delete(w.sent, number)
					w.step(in)
				}
			case 3:
				if e.up == tasks.Core {
					w.questions++
					id := jsonrpc.IntID(w.questions)
					w.asked[id.Raw()] = true
					method := rapid.SampledFrom([]string{"roots/list", "elicitation/create", "unknown"}).Draw(t,
						"method")
					w.step(tasks.Event{
						Op: tasks.ServerAsk, ID: id, Method: method,
						Params: jsontext.Value(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`),
					})
				}
			case 4:
				if len(methods) > 0 && !w.promised {
					w.request(rapid.SampledFrom(methods).Draw(t, "method"))
				}
			case 5:
				if request, ok := w.any(w.open, "request"); ok {
					delete(w.open, request)
					w.step(tasks.Event{Op: tasks.ClientCancel, Request: request})
				}
			case 6:
				for number := range w.puts {
					in := tasks.Event{
						Op: tasks.Reply, Number: number,
						Result: jsontext.Value(rapid.SampledFrom([]string{`{"action":"decline"}`, `{"roots":[]}`,
							`7`}).Draw(t, "reply")),
					}
					if rapid.Bool().Draw(t, "refuses") {
						in.Result, in.Err = nil, errors.New("no")
					}
					delete(w.puts, number)
					w.step(in)
					break
				}
			case 7:
				w.pass(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "time")) * time.Millisecond)
			}
		}
		w.pass(time.Minute)
		if !w.forgotten || len(w.open) > 0 || len(w.asked) > 0 || len(w.puts) > 0 {
			t.Fatalf("forgotten %t, left %v, %v, %v", w.forgotten, w.open, w.asked, w.puts)
		}
	})
}

type model struct {
	*rapid.T
	crashes   bool
	task      *tasks.Task
	now       time.Time
	armed     time.Time
	requests  uint64
	questions uint64
	promised  bool              // the client does not know a task yet
	open      map[uint64]bool   // client requests without answer
	sent      map[uint64]bool   // requests to the server
	asked     map[string]bool   // the server's requests
	puts      map[uint64]uint64 // open questions at the client, with the request that carries them
	forgotten bool
}

func (w *model) any(of map[uint64]bool, label string) (n uint64, ok bool) {
	least := uint64(0)
	for k := range of {
		if least == 0 || k < least {
			least = k
		}
	}
	if least == 0 {
		return 0, false
	}
	last := least
	for k := range of {
		last = max(last, k)
	}
	if rapid.Bool().Draw(w.T, label) {
		return last, true
	}
	return least, true
}

// request is a request of the client. An empty method stands for the tools/call.
func (w *model) request(method string) {
	if w.forgotten {
		return // the task is not found any more
	}
	w.requests++
	w.open[w.requests] = true
	if method == "" {
		w.promised = true
		w.step(tasks.Event{Op: tasks.Start, Request: w.requests})
		return
	}
	w.step(tasks.Event{
		Op: tasks.Ask, Request: w.requests, Method: method,
		Params: jsontext.Value(
			`{"inputResponses":{"elicit-1":{"action":"decline"},"roots-1":{"roots":[]}}}`,
		),
	})
}

func (w *model) pass(d time.Duration) {
	until := w.now.Add(d)
	for !w.armed.IsZero() && !w.armed.After(until) {
		w.now, w.armed = w.armed, time.Time{}
		w.step(tasks.Event{Op: tasks.Expire})
	}
	w.now = until
}

func (w *model) step(in tasks.Event) {
	if w.forgotten {
		if in.Op == tasks.ServerAsk {
			delete(w.asked, in.ID.Raw()) // the question reaches no task
		}
		return
	}
	before := w.task.Status()
	effects := w.task.Step(w.now, in)
	cut := len(effects)
	if w.crashes && rapid.IntRange(0, 3).Draw(w.T, "crashes") == 0 {
		cut = rapid.IntRange(0, cut).Draw(w.T, "done")
		effects = slices.Clone(effects[:cut])
		w.perform(effects)
		w.recover(in)
	} else {
		w.perform(effects)
	}
	for number, on := range w.puts {
		if in.Op == tasks.ClientCancel && in.Request == on {
			delete(w.puts, number)
		}
	}
	if before.Final() && w.task.Status() != before {
		w.Fatalf("%s became %s", before, w.task.Status())
	}
}

// recover continues after a crash, which may have lost an answer or a question of the server.
func (w *model) recover(in tasks.Event) {
	if w.forgotten {
		return
	}
	w.armed = time.Time{}
	if rapid.IntRange(0, 3).Draw(w.T, "loses") == 0 {
		if number, ok := w.any(w.sent, "call"); ok {
			delete(w.sent, number)
		}
	}
	k := tasks.OwnerState{
		Requests: slices.Collect(maps.Keys(w.open)), Calls: slices.Collect(maps.Keys(w.sent)),
	}
	for number, on := range w.puts {
		if in.Op != tasks.ClientCancel || in.Request != on {
			k.Puts = append(k.Puts, number)
		}
	}
	for raw := range w.asked {
		id, _ := jsonrpc.ParseID(jsontext.Value(raw))
		k.Asked = append(k.Asked, id)
	}
	w.perform(w.task.Recover(w.now, k))
	if !w.forgotten && w.armed.IsZero() {
		w.Fatal("nothing is to come")
	}
}

func (w *model) perform(effects []tasks.Effect) {
	for _, e := range effects {
		if w.forgotten {
			w.Fatalf("effect %+v of a task that is forgotten", e)
		}
		switch e.Do {
		case tasks.Call:
			w.sent[e.Number] = true
		case tasks.Recall:
			if !w.sent[e.Number] {
				w.Fatalf("%d is recalled and not there", e.Number)
			}
			delete(w.sent, e.Number)
		case tasks.Answer, tasks.Reject:
			if !w.asked[e.ID.Raw()] {
				w.Fatalf("question %v is answered and not open", e.ID)
			}
			delete(w.asked, e.ID.Raw())
		case tasks.Deliver:
			if !w.open[e.Request] {
				w.Fatalf("request %d is answered and not open", e.Request)
			}
			w.promised = w.promised && e.Request != 1
			delete(w.open, e.Request)
			for number, on := range w.puts {
				if on == e.Request { // the question ends with the request
					delete(w.puts, number)
				}
			}
		case tasks.Put:
			if !w.open[e.Request] {
				w.Fatalf("question %d is put on request %d, which is not open", e.Number, e.Request)
			}
			w.puts[e.Number] = e.Request
		case tasks.Retract:
			delete(w.puts, e.Number)
		case tasks.Arm:
			w.armed = e.At
		case tasks.Forget:
			w.forgotten = true
		}
	}
}
