package demo

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// Each request is answered exactly once, whatever the client sends, unless the client cancels it. A
// cancelled request gets no more messages. After the longest wait no state is left. A modern client
// is sent no requests during a call.
func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	var names []string
	for _, row := range tools {
		names = append(names, row.name)
	}
	rapid.Check(t, func(t *rapid.T) {
		w := world{
			t: t, now: noon, due: map[uint64]moment{}, version: map[jsonrpc.ID]protocol.Version{},
			answers: map[jsonrpc.ID]int{}, gone: map[jsonrpc.ID]bool{},
		}
		w.core, _ = newCore("1", noise())
		hello := `{"protocolVersion":"2025-11-25","capabilities":` + string(all.Raw()) +
			`,"clientInfo":{"name":"a","version":"1"}}`
		w.request(protocol.LatestLegacy, "initialize", hello)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1, 2:
				version := rapid.SampledFrom([]protocol.Version{protocol.LatestLegacy, protocol.Latest}).Draw(t,
					"version")
				name := rapid.SampledFrom(names).Draw(t, "tool")
				args := anyArguments().Draw(t, "arguments")
				params := object{"name": name, "arguments": args}
				if version.Era() == protocol.Legacy && rapid.Bool().Draw(t, "as a task") {
					params["task"] = object{}
				}
				w.request(version, "tools/call", string(encode(params)))
			case 3:
				w.request(protocol.Latest, "subscriptions/listen",
					`{"notifications":{"toolsListChanged":true,"taskIds":["a"]}}`)
			case 4:
				if len(w.asked) > 0 {
					w.do(w.core.Step(w.now, jsonrpc.Response(w.asked[0],
						jsontext.Value(`{"action":"accept","content":{"name":"a"}}`))))
					w.asked = w.asked[1:]
				}
			case 5:
				w.pass(time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds")) * time.Second)
			case 6:
				id := jsonrpc.IntID(uint64(rapid.IntRange(1, 10).Draw(t, "id")))
				if w.version[id] != 0 && w.answers[id] == 0 {
					w.gone[id] = true
				}
				params := jsontext.Value(`{"requestId":` + id.Raw() + `}`)
				w.do(w.core.Step(w.now, jsonrpc.Notification("notifications/cancelled", params)))
			case 7:
				if len(w.tasks) > 0 {
					method := rapid.SampledFrom([]string{"tasks/get", "tasks/cancel", "tasks/update"}).Draw(t,
						"method")
					task := rapid.SampledFrom(w.tasks).Draw(t, "task")
					w.request(protocol.Latest, method,
						`{"taskId":"`+task+`","inputResponses":{"first":{"action":"decline"},"confirm_delete":{"action":"decline"}}}`)
				}
			case 8:
				w.do(w.core.End())
			case 9:
				if len(w.legacy) > 0 {
					method := rapid.SampledFrom([]string{"tasks/get", "tasks/result", "tasks/result",
						"tasks/cancel"}).Draw(t, "method")
					w.request(protocol.LatestLegacy, method,
						`{"taskId":"`+rapid.SampledFrom(w.legacy).Draw(t, "task")+`"}`)
				}
			}
		}
		w.pass(taskTTL)
		w.do(w.core.Step(w.now, jsonrpc.Notification("notifications/initialized", nil)))
		w.do(w.core.End())
		for id := range w.version {
			if w.answers[id] != 1 && !w.gone[id] {
				t.Fatalf("%s was answered %d times", id, w.answers[id])
			}
		}
		c := w.core
		if remaining := len(c.calls) + len(c.byID) + len(c.asked) + len(c.tasks) + len(c.listens) +
			len(w.due); remaining != 0 {
			t.Fatalf("left: %+v", c)
		}
	})
}

// world is a client and a clock around a core.
type world struct {
	t       *rapid.T
	core    *core
	now     time.Time
	due     map[uint64]moment // by call
	last    uint64
	version map[jsonrpc.ID]protocol.Version // of the requests
	answers map[jsonrpc.ID]int
	gone    map[jsonrpc.ID]bool // cancelled
	asked   []jsonrpc.ID
	tasks   []string
	legacy  []string // tasks of 2025-11-25
}

func (w *world) request(v protocol.Version, method, params string) {
	w.last++
	id, raw := jsonrpc.IntID(w.last), jsontext.Value(params)
	if v.Era() == protocol.Modern {
		raw = protocol.Meta{Version: v.String(), Capabilities: all}.Set(raw)
	}
	w.version[id] = v
	w.do(w.core.Step(w.now, jsonrpc.Request(id, method, raw)))
}

func (w *world) do(effects []effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case wait:
			w.due[e.w.call] = moment{w.now.Add(e.d), e.w}
		case stopWait:
			delete(w.due, e.call)
		case send:
			w.took(e)
		}
	}
}

func (w *world) took(e send) {
	m := e.message
	if w.gone[e.related] && !(m.Method == "notifications/cancelled" &&
		w.version[e.related].Era() == protocol.Legacy) {
		w.t.Fatalf("%s about a cancelled request", m.Append(nil))
	}
	switch m.Kind() {
	case jsonrpc.KindResult, jsonrpc.KindFailure:
		if w.answers[m.ID]++; w.answers[m.ID] > 1 {
			w.t.Fatalf("%s is a second answer", m.Append(nil))
		}
		if task, ok := jsonedit.GetString(m.Result, "taskId"); ok {
			w.tasks = append(w.tasks, task)
		}
		if task, ok := jsonedit.GetString(m.Result, "task", "taskId"); ok {
			w.legacy = append(w.legacy, task)
		}
	case jsonrpc.KindRequest:
		if w.version[e.related].Era() == protocol.Modern {
			w.t.Fatalf("%s within a modern request", m.Append(nil))
		}
		w.asked = append(w.asked, m.ID)
	case jsonrpc.KindNotification:
		_, tagged := jsonedit.Get(m.Params, "_meta", protocol.MetaSubscriptionID)
		ended := m.Method == "notifications/cancelled"
		if w.answers[e.related] > 0 && !ended {
			w.t.Fatalf("%s after the answer", m.Append(nil))
		}
		if listens := m.Method != "notifications/progress" &&
			m.Method != "notifications/message"; !e.related.IsZero() &&
			w.version[e.related].Era() == protocol.Modern && tagged != listens {
			w.t.Fatalf("%s: tagged = %t", m.Append(nil), tagged)
		}
	}
}

// pass advances the time, from the end of one wait to the next.
func (w *world) pass(d time.Duration) {
	until := w.now.Add(d)
	for {
		var next *moment
		for _, m := range w.due {
			if !m.at.After(until) && (next == nil || m.at.Before(next.at) ||
				m.at.Equal(next.at) && m.w.call < next.w.call) {
				next = &m
			}
		}
		if next == nil {
			w.now = until
			return
		}
		delete(w.due, next.w.call)
		w.now = next.at
		w.do(w.core.Wake(w.now, next.w))
	}
}

// Arbitrary input never breaks the server, before or after initialize.
func FuzzStep(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"tools/call","params":{"name":"test_x_mcp_header","arguments":{"region":"a","count":1e5}}}`,
		`{"id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"name":"test_input_required_result_request_state","inputResponses":{"confirm":{"action":"accept"}},"requestState":"AA"}}`,
		`{"id":"a","method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"taskIds":[]}}}`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"id":"demo-1","result":{"content":[]}}`,
	} {
		f.Add([]byte(`{"jsonrpc":"2.0",` + seed[1:]))
	}
	hello := jsonrpc.Request(jsonrpc.StringID("i"), "initialize",
		jsontext.Value(`{"protocolVersion":"2025-11-25","capabilities":`+string(all.Raw())+`}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := jsonrpc.Decode(data, jsonrpc.Limits{})
		if err != nil {
			return
		}
		c := fresh(t)
		c.Step(noon, m)
		c.Step(noon, hello)
		c.Step(noon, jsonrpc.Request(jsonrpc.IntID(2), "tools/call",
			jsontext.Value(`{"name":"multi_input"}`)))
		c.Step(noon.Add(time.Minute), m)
		c.Wake(noon.Add(time.Hour), wake{1, 1})
		for _, e := range c.Step(noon.Add(time.Hour), m) {
			if s, ok := e.(send); ok && !s.message.Params.IsValid() && len(s.message.Params) > 0 {
				t.Errorf("%s is not JSON", s.message.Params)
			}
		}
	})
}
