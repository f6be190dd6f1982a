package sim

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// server is one of the run's servers, with all connections to it. It behaves as the plan says.
type server struct {
	s       *simulation
	tenant  string
	at      string // tenant and name
	modern  bool
	asked   int
	effects map[string]map[jsonrpc.ID]bool // of calls, by nonce: the request ids under which they came
	pending map[string]func(answer jsontext.Value)
	jobs    []*job
}

func newServer(s *simulation, tenant, name string) *server {
	return &server{
		s: s, tenant: tenant, at: tenant + "/" + name, modern: name == "new",
		effects: map[string]map[jsonrpc.ID]bool{}, pending: map[string]func(jsontext.Value){},
	}
}

// struck reports whether a fault with that chance happens now. None happens at the servers of a
// bystander.
func (v *server) struck(c chance) bool { return v.tenant == target && c.strikes(v.s.w.rand) }

// answers are a server's fixed answers, by era and method.
var answers = map[bool]map[string]string{
	false: {
		"tools/list":               `{"tools":[{"name":"do","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`,
		"resources/list":           "",
		"resources/templates/list": `{"resourceTemplates":[]}`,
		"resources/subscribe":      `{}`,
		"resources/unsubscribe":    `{}`,
		"logging/setLevel":         `{}`,
		"ping":                     `{}`,
	},
	true: {
		"server/discover": `{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
		"tools/list":      `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"do","inputSchema":{"type":"object"}}]}`,
	},
}

// greeting is the answer to initialize.
const greeting = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"sim","version":"1"}}`

// receive handles one message of the host.
func (v *server) receive(w *connection, m jsonrpc.Message) {
	if w.err != nil {
		return
	}
	if v.struck(v.s.plan.hangUps) && m.Kind() == jsonrpc.KindRequest {
		v.s.noteFault("hang up", v.at)
		// the effect happens, but the host gets no answer
		if m.Method == "tools/call" && v.s.w.rand.IntN(2) == 0 {
			v.did(m)
		}
		w.hangUp(io.ErrUnexpectedEOF)
		return
	}
	if v.struck(v.s.plan.strange) {
		v.s.noteFault("strange", v.at)
		w.say(transport.Inbound{
			Message: jsonrpc.Response(jsonrpc.IntID(900_000+v.s.w.rand.Uint64N(10)),
				jsontext.Value(`{"content":[{"type":"text","text":"nobody"}]}`)),
		})
	}
	switch m.Kind() {
	case jsonrpc.KindResult, jsonrpc.KindFailure:
		if then := v.pending[m.ID.Raw()]; then != nil {
			delete(v.pending, m.ID.Raw())
			then(m.Result)
		}
		return
	case jsonrpc.KindNotification:
		return
	}
	text, known := answers[v.modern][m.Method]
	if m.Method == "resources/list" {
		text = `{"resources":[{"uri":"sim://` + v.at + `","name":"x"}]}`
	}
	switch {
	case m.Method == "tools/call":
		v.call(w, m)
	case m.Method == "initialize" && !v.modern:
		v.reply(w, m, greeting, 0)
	case strings.HasPrefix(m.Method, "tasks/"):
		v.task(w, m)
	case known:
		v.reply(w, m, text, 0)
	default:
		v.refuse(w, m, jsonrpc.CodeMethodNotFound)
	}
}

// refuse answers with an error.
func (v *server) refuse(w *connection, m jsonrpc.Message, code int64) {
	w.say(transport.Inbound{
		RequestID: m.ID,
		Message:   jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: code, Message: m.Method + " at " + v.at}),
	})
}

// reply answers after a delay.
func (v *server) reply(w *connection, m jsonrpc.Message, result string, after time.Duration) {
	v.s.w.AfterFunc(after, func() {
		if w.err != nil {
			return
		}
		in := transport.Inbound{RequestID: m.ID, Message: jsonrpc.Response(m.ID, jsontext.Value(result))}
		w.say(in)
		if v.struck(v.s.plan.twice) {
			v.s.noteFault("answer twice", v.at)
			w.say(in)
		}
	})
}

// did records the effect of a call.
func (v *server) did(m jsonrpc.Message) (nonce string) {
	nonce, _ = jsonedit.GetString(m.Params, "arguments", "nonce")
	if v.effects[nonce] == nil {
		v.effects[nonce] = map[jsonrpc.ID]bool{}
	}
	v.effects[nonce][m.ID] = true
	return nonce
}

// call runs the tool.
func (v *server) call(w *connection, m jsonrpc.Message) {
	p, r := &v.s.plan, v.s.w.rand
	if v.modern && v.asksBack(w, m) {
		return
	}
	nonce := v.did(m)
	after := time.Duration(r.Int64N(int64(50 * time.Millisecond)))
	switch {
	case v.struck(p.mutes):
		v.s.noteFault("never answer", v.at)
		return
	case v.struck(p.late):
		v.s.noteFault("answer late", v.at)
		after = callTimeout + time.Duration(r.Int64N(int64(callTimeout)))
	}
	v.tell(w, m, after)
	switch {
	case v.wantsJob(m):
		v.created(w, m, v.asJob(nonce))
	case !v.modern && p.asks.strikes(r):
		v.asked++
		id := jsonrpc.StringID("q" + strconv.Itoa(v.asked))
		v.pending[id.Raw()] = func(jsontext.Value) { v.reply(w, m, v.outcome(nonce), after) }
		w.say(transport.Inbound{
			RequestID: m.ID, Message: jsonrpc.Request(id, "elicitation/create", jsontext.Value(question)),
		})
	default:
		v.reply(w, m, v.outcome(nonce), after)
	}
}

// question is the question that servers ask.
const question = `{"message":"sure?","requestedSchema":{"type":"object","properties":{}}}`

// tell sends the host progress notifications of a call, and unrelated notifications.
func (v *server) tell(w *connection, m jsonrpc.Message, after time.Duration) {
	p, r := &v.s.plan, v.s.w.rand
	if token, ok := jsonedit.Get(m.Params, "_meta", "progressToken"); ok && p.progress.strikes(r) {
		for i := range 1 + r.IntN(3) {
			v.s.w.AfterFunc(after*time.Duration(i)/4, func() {
				params := `{"progressToken":` + string(token) + `,"progress":` + strconv.Itoa(i+1) + `}`
				if w.err == nil {
					w.say(transport.Inbound{
						RequestID: m.ID,
						Message:   jsonrpc.Notification("notifications/progress", jsontext.Value(params)),
					})
				}
			})
		}
	}
	if !v.modern && p.changes.strikes(r) {
		w.say(transport.Inbound{Message: jsonrpc.Notification("notifications/tools/list_changed", nil)})
	}
	if !v.modern && p.updates.strikes(r) {
		w.say(transport.Inbound{
			Message: jsonrpc.Notification("notifications/resources/updated",
				jsontext.Value(`{"uri":"sim://`+v.at+`"}`)),
		})
	}
}

// asksBack is how a modern server asks a question: it answers with the question, and gets the call
// again with the answer.
func (v *server) asksBack(w *connection, m jsonrpc.Message) bool {
	_, again := jsonedit.Get(m.Params, "inputResponses")
	_, may := jsonedit.Get(m.Params, "_meta", protocol.MetaClientCapabilities, "elicitation")
	if again || !may || !v.s.plan.asks.strikes(v.s.w.rand) {
		return false
	}
	v.reply(
		w, m,
		`{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":`+
			question+`}},"requestState":"here"}`, 0,
	)
	return true
}

// wantsJob reports whether a call is to be run as a task. A legacy host says so itself. A modern
// host gets a task only if it can follow one.
func (v *server) wantsJob(m jsonrpc.Message) bool {
	if !v.modern {
		_, wants := jsonedit.Get(m.Params, "task")
		return wants
	}
	_, may := jsonedit.Get(m.Params, "_meta", protocol.MetaClientCapabilities, "extensions",
		protocol.ExtensionTasks)
	return may && v.s.w.rand.IntN(2) == 0
}

// created answers a call with the task that it has become.
func (v *server) created(w *connection, m jsonrpc.Message, j *job) {
	text := v.object(j)
	if v.modern {
		text = strings.Replace(text, `"complete"`, `"task"`, 1)
	} else {
		text = `{"task":` + text + `}`
	}
	v.reply(w, m, text, 0)
}

// outcome returns the result of a call. It contains the nonce of the call and the name of the
// server.
func (v *server) outcome(nonce string) string {
	text := `{"content":[{"type":"text","text":"` + v.at + " " + nonce + `"}]`
	if v.modern {
		text += `,"resultType":"complete"`
	}
	return text + `}`
}
