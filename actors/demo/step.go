package demo

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// step is one thing that a tool does. It reports whether the call goes on at once; if not, it waits, or it is over.
type step interface {
	do(c *core, k *call) (effects []effect, on bool)
}

// answer ends the call with a result made from what the call has come to know.
type answer func(k *call) object

// says ends the call with a result that is always the same.
func says(result object) answer { return func(*call) object { return result } }

func (a answer) do(c *core, k *call) ([]effect, bool) { return c.finish(k, a(k)), false }

// pause lets time pass.
type pause time.Duration

func (p pause) do(_ *core, k *call) ([]effect, bool) {
	return []effect{k.wait(time.Duration(p))}, false
}

// logs sends a line at level info, if the client wants that level.
type logs string

func (l logs) do(c *core, k *call) ([]effect, bool) {
	if c.level > levelOf("info") {
		return nil, true
	}
	params := object{"level": "info", "logger": k.tool.name, "data": string(l)}
	return []effect{notify(k, "notifications/message", params)}, true
}

// progress reports how far the call is, if the client gave a token for that (2025-11-25 §basic/utilities/progress).
type progress struct{ done, total float64 }

func (p progress) do(_ *core, k *call) ([]effect, bool) {
	if k.token == nil {
		return nil, true
	}
	params := object{"progressToken": k.token, "progress": p.done, "total": p.total}
	return []effect{notify(k, "notifications/progress", params)}, true
}

// closeStream has the stream of the call closed. The client is to come back after this time (2025-11-25 §basic/transports, SEP-1699).
type closeStream time.Duration

func (s closeStream) do(_ *core, k *call) ([]effect, bool) {
	return []effect{breakStream{k.id, time.Duration(s)}}, true
}

// touch changes the watched resource and tells the client if it subscribed to it.
type touch string

func (t touch) do(c *core, k *call) ([]effect, bool) {
	c.touched++
	k.touched = c.touched
	if !c.watched[string(t)] {
		return nil, true
	}
	// Not tied to the call: the subscription is older and lasts longer.
	return []effect{send{message: jsonrpc.Notification("notifications/resources/updated", encode(object{"uri": string(t)}))}}, true
}

// ask sends the client a request and goes on with its answer. A client that did not declare the capability is not asked: the call
// then ends with an error (2025-11-25 §basic/lifecycle "Operation").
type ask struct {
	method, needs string
	params        func(k *call) object
}

func (a ask) do(c *core, k *call) ([]effect, bool) {
	if !c.client.Has(a.needs) {
		return c.finish(k, failed("this tool needs a client with the capability "+a.needs)), false
	}
	c.questions++
	k.asked = jsonrpc.StringID(questionID(c.questions))
	c.asked[k.asked] = k
	return []effect{
		send{jsonrpc.Request(k.asked, a.method, encode(a.params(k))), k.id},
		k.wait(protocol.ParkTimeout),
	}, false
}

func notify(k *call, method string, params object) effect {
	return send{jsonrpc.Notification(method, encode(params)), k.id}
}

// call is a tools/call under way.
type call struct {
	number uint64     // in order of arrival; unlike the client's id it is never reused
	id     jsonrpc.ID // the client's
	tool   tool
	args   jsontext.Value // an object, or empty
	token  jsontext.Value // of progress; nil for none
	stage  int            // the step that is done next, or is waiting
	now    time.Time      // of the step

	waiting  bool           // for time to pass or, at most so long, for the client
	asked    jsonrpc.ID     // our request that the client has not answered; zero for none
	answered jsontext.Value // what it answered last
	refused  *jsonrpc.Error // or refused with
	touched  int            // the version of the watched resource that the call made
}

// arg is an argument that was found to be a string, or "" for an optional one that is absent.
func (k *call) arg(name string) string {
	s, _ := splice.GetString(k.args, name)
	return s
}

// wait marks the call as waiting for at most d.
func (k *call) wait(d time.Duration) effect {
	k.waiting = true
	return wait{wake{k.number, k.stage}, d}
}
