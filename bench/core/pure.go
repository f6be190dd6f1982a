package core

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/session"
	"mcpd/protocol/subscription"
)

// offering are the capabilities of a server with all features, and wanting the params of a client's
// initialize. Both are realistic.
const (
	offering = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}`
	wanting  = `{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}},` +
		`"clientInfo":{"name":"client","title":"A client","version":"1.2.3"}}`
)

// negotiate negotiates a known and an unknown revision in turn.
func negotiate() (func() error, error) {
	var n protocol.Negotiation
	asked, next := [2]string{protocol.LatestLegacy.String(), "2031-01-01"}, 0
	return func() error {
		next = 1 - next
		a, err := n.Initialize(asked[next])
		if err == nil && a.Version.Era() != protocol.Legacy {
			err = fmt.Errorf("agreed on %v", a.Version)
		}
		return err
	}, nil
}

// handshake parses the client's capabilities, and adapts the server's capabilities to the revision.
func handshake() (func() error, error) {
	server, err := protocol.ParseServerCapabilities(jsontext.Value(offering))
	params := jsontext.Value(wanting)
	return func() error {
		_, err := protocol.Negotiation{}.Handshake(params, server)
		return err
	}, err
}

// transition takes a connection through its phases. Every fourth run begins with a new connection.
func transition() (func() error, error) {
	now := time.Now()
	events := [...]session.Event{session.Greet, session.Confirm, session.Shutdown, session.Stop}
	l, next := session.NewServer(now, session.Options{}), 0
	return func() error {
		if next == len(events) {
			l, next = session.NewServer(now, session.Options{}), 0
		}
		next++
		_, err := l.Step(now, events[next-1])
		return err
	}, nil
}

// waiting is how many requests are in flight while others come and go.
const waiting = 1000

// correlate adds a request to a table with many waiting requests, and settles it.
func correlate() (func() error, error) {
	now := time.Now()
	table := request.NewTable(request.Options{
		Pending: func() int { return 2 * waiting }, Meter: uncounted{},
	})
	id := uint64(0)
	begin := func() (*request.Exchange, error) {
		id++
		x := &request.Exchange{
			ID: id, Owner: taken(nil), Method: "tools/call", Downstream: jsonrpc.IntID(1),
			Timeout: stageTime, Sink: &blind{},
		}
		_, err := table.Take(now, x)
		return x, err
	}
	for range waiting {
		if _, err := begin(); err != nil {
			return nil, err
		}
	}
	result := jsontext.Value("{}")
	return func() error {
		x, err := begin()
		if err == nil && !x.Settle(request.Outcome{Result: result}) {
			err = fmt.Errorf("request %d has an outcome already", id)
		}
		return err
	}, nil
}

// uncounted is a meter that counts nothing.
type uncounted struct{}

func (uncounted) Begin(*request.Exchange)                {}
func (uncounted) End(*request.Exchange, request.Outcome) {}

// blind is a client that ignores what it gets.
type blind struct{}

func (*blind) Send(jsonrpc.Message) error  { return nil }
func (*blind) Finish(jsonrpc.Message) bool { return true }

// translate translates an error of the host, and an error of a server, for a client.
func translate() (func() error, error) {
	errs, next := [2]error{protocol.RateLimited(time.Second),
		&jsonrpc.Error{Code: -32602, Message: "unknown tool"}}, 0
	return func() error {
		next = 1 - next
		if e := protocol.Translate(errs[next], protocol.LatestLegacy); e.Code == 0 {
			return fmt.Errorf("%v became %v", errs[next], e)
		}
		return nil
	}, nil
}

// dispatch queues a notification and finds its subscriber, among many subscribers to other
// resources.
func dispatch() (func() error, error) {
	var table subscription.Table[int]
	var queue subscription.Queue[int]
	const method = "notifications/resources/updated"
	topic := func(i int) subscription.Topic {
		return subscription.Topic{
			Method: method, Server: "files", URI: fmt.Sprintf("file:///srv/acme/%d.md", i),
		}
	}
	for i := range waiting {
		table.Subscribe(i, topic(i))
	}
	about := topic(7)
	return func() error {
		if !queue.Push(about, 1) {
			return fmt.Errorf("the queue is full")
		}
		what, _, _ := queue.Pop()
		found := 0
		for who := range table.Match(what) {
			found += who
		}
		if found != 7 {
			return fmt.Errorf("found %d", found)
		}
		return nil
	}, nil
}
