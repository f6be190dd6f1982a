package client

import (
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/interest"
	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// RestoreWait is how long calls wait for a server that has just been started to answer what it was
// asked on behalf of clients.
const RestoreWait = interest.HoldTime

// stepInterest handles an event that concerns what sessions want to be told, and performs its
// effects. If answered is not nil, the event's call is to be written, and answered called with the
// answer.
func (c *Connection) stepInterest(in interest.Event) (answered func(error)) {
	to := interest.Server{
		Ready: c.state == Ready, Asleep: c.asleep(),
		Listens: c.facts.Version.Has(protocol.Listen),
		Levels:  c.facts.Version.Has(protocol.SetLevel) && c.facts.Capabilities.Has("logging"),
	}
	for _, e := range c.interest.Step(c.p.Now(), to, in) {
		switch e.Do {
		case interest.Listen:
			ask := interest.Ask{Method: "subscriptions/listen", Value: e.URI}
			c.listenTo(e.URI, c.onAnswer(ask, e.Call))
			c.missedOn(e)
		case interest.Unlisten:
			c.unlistenTo(e.URI)
		case interest.Write:
			answered = c.onAnswer(in.Ask, e.Call)
		case interest.Keep:
			c.written.Add(e.Call)
		case interest.Answer:
			c.written.Remove(e.Call)
			complete(e.Call, jsontext.Value("{}"), e.Err)
		case interest.Grant:
			if e.Err != nil {
				e.Waiter.Fail(e.Err)
			} else {
				e.Waiter.Reply(struct{}{})
			}
		case interest.Instances:
			for ref := range c.instances.All() {
				_ = c.p.Send(ref, alsoFollow{e.Op, e.URI, e.Session})
			}
		case interest.Serve:
			c.servesSubscriber(e.Session)
		case interest.Missed:
			c.missedOn(e)
		case interest.Pause:
			c.p.After(roomRetryDelay, interestDue{op: interest.Retry})
		case interest.Later:
			c.p.After(interest.AgainAfter, interestDue{interest.Again, e.URI, c.attempt})
		case interest.Hold:
			c.p.After(interest.HoldTime, interestDue{op: interest.Expire})
		case interest.Release:
			c.admitQueued()
		}
	}
	for a, ok := c.interest.Next(); ok; a, ok = c.interest.Next() {
		c.askAside(a)
	}
	return answered
}

// onAnswer returns the handler of the answer to a request about what sessions want.
func (c *Connection) onAnswer(a interest.Ask, call *request.Exchange) func(error) {
	return func(err error) {
		c.stepInterest(interest.Event{
			Op: interest.Answered, Ask: a, Call: call, Err: err, Late: errors.Is(err, errLate),
		})
	}
}

// askAside asks the server for something on behalf of sessions that do not wait for it themselves.
func (c *Connection) askAside(a interest.Ask) {
	name := "uri"
	if a.Method == "logging/setLevel" {
		name = "level"
	}
	params, _ := jsonedit.Set(nil, jsonedit.Quote(a.Value), name) // an empty value becomes an object
	answered := c.onAnswer(a, nil)
	err := c.request(a.Method, params, c.o.RequestTimeout(), func(_ jsontext.Value, err error) error {
		answered(err)
		return nil
	})
	if errors.Is(err, transport.ErrSlowConsumer) {
		c.stepInterest(interest.Event{Op: interest.QueueFull, Ask: a})
	} else if err != nil {
		answered(err)
	}
}

// interestDue says that time is up. It is reserved: there is one for each Pause and each
// Hold, and one for each resource that is asked for later.
type interestDue struct {
	op      interest.Op
	uri     string
	attempt uint64 // of the server that it is about; 0 for any
}

func (interestDue) Class() otp.Class { return otp.Reserved }

// alsoFollow tells an instance that somebody wants to be told of a resource, or nobody any more. A
// call may run on any instance of a server and change a resource there, and each instance announces
// changes to its own subscribers only. It is reserved: it is sent once to each instance for each
// such change.
type alsoFollow struct {
	op  interest.Op // Follow or Unfollow
	uri string
	row string // of the session that asked first
}

func (alsoFollow) Class() otp.Class { return otp.Reserved }

// followAll tells a new instance of all resources. If the instance is gone, its end is on its way
// here.
func (c *Connection) followAll(to otp.Ref) {
	for uri, who := range sortedmap.Sorted(c.interest.Resources()) {
		_ = c.p.Send(to, alsoFollow{interest.Follow, uri, slices.Min(slices.Collect(maps.Keys(who)))})
	}
}

// setIntent records what a session wants. That is granted when the server has answered.
func (c *Connection) setIntent(m *SetSubscriptionIntent) {
	m.AnswerLater()
	w := m.Req
	if len(w.URIs) > 0 {
		c.wake()
	}
	c.stepInterest(interest.Event{
		Op: interest.Intent, Session: w.Session, Level: w.Level, URIs: w.URIs, Missed: w.Missed,
		Waiter: m,
	})
}

// about returns the event of a call that subscribes to a resource or unsubscribes. Such a call is
// not just passed on, because several sessions may share the connection. It reports false, with a
// zero event for any other call, and with the event if the call names no resource.
func about(x *request.Exchange) (in interest.Event, ok bool) {
	if x.Method != "resources/subscribe" && x.Method != "resources/unsubscribe" {
		return in, false
	}
	uri, ok := jsonedit.GetString(x.Params, "uri")
	return interest.Event{Op: interest.Call, Call: x,
		Ask: interest.Ask{Method: x.Method, Value: uri}}, ok
}

// subscribes takes a call that is never written, and reports whether it did. One kind is any
// subscription call to a modern server, which has subscriptions of another kind. The other is a
// subscription to a resource while another request about that resource is open.
func (c *Connection) subscribes(x *request.Exchange) (taken bool) {
	in, ok := about(x)
	again := x.Method == "resources/subscribe" && c.interest.Asking(in.Ask.Value)
	switch {
	case in.Op == 0, !again && !c.facts.Version.Has(protocol.Listen):
		return false
	case !ok:
		complete(x, nil, protocol.InvalidParams("params.uri is missing or not a string"))
	default:
		c.stepInterest(in)
	}
	return true
}

// intercept reports written if the server is to receive a call. If done is not nil, it is called
// with the server's answer.
func (c *Connection) intercept(x *request.Exchange) (done func(error), written bool) {
	in, ok := about(x)
	if !ok { // the server says what is wrong
		return nil, true
	}
	done = c.stepInterest(in)
	return done, done != nil
}

// servesSubscriber records on whose behalf the server is subscribed to a resource: a message that
// names no call may be about that. An instance does not know the sessions of the first connection.
// If several principals share that connection, the message may be about any of them.
func (c *Connection) servesSubscriber(row string) {
	user, known := c.clients[row]
	switch {
	case known:
		c.served.add(user.Principal)
	case c.o.Key.Share == tenant.ByTenant:
		c.served.any, c.served.several = true, true
	default:
		c.served.add(c.o.Key.Principal)
	}
}
