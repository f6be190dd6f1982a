package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a connection with scripted servers at its other end, one for each dial, and boxes in place
// of its neighbours.
type rig struct {
	*testrig.Rig
	dispatcher, catalog testrig.Box
	one, two            testrig.Box // sessions
	dials, others       chan dial   // of the connection, and of another instance of its server
	next                uint64
	closed              chan transport.Upstream
	other               func() otp.Child // the row of another instance
	books               receivedLog
	table               *request.Table
}

// dial is the result of one dial.
type dial struct {
	up  transport.Upstream
	err error
}

// pending is how many calls may wait for the connection.
const pending = 1500

// setup changes the options of the connection.
type setup func(o *client.Options)

// declares sets what clients of the connection can be asked.
func declares(raw string) setup {
	return func(o *client.Options) {
		o.Declare, _ = protocol.ParseClientCapabilities(jsontext.Value(raw))
	}
}

func run(t *testing.T, change setup, test func(r *rig)) {
	t.Helper()
	r := &rig{}
	r.table = request.NewTable(request.Options{Pending: func() int {
		return 1 << 20
	}, Meter: &r.books})
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		r.Rig, r.dials, r.others, r.closed = s, make(chan dial, 10), make(chan dial,
			10), make(chan transport.Upstream, 100)
		connection := func(instance uint8, dials chan dial) otp.Behaviour {
			o := client.Options{
				Tenant: "acme", Server: "files", Key: tenant.Key{Share: tenant.ByTenant}, Transport: "pipe",
				Target: "files",
				Self:   protocol.Implementation{Name: "mcpd", Version: "1"}, Emit: s.Events.Emit,
				Pending: func() int {
					return pending
				}, StartTimeout: time.Minute, RequestTimeout: func() time.Duration { return 5 * time.Second },
				ListTimeout: func() time.Duration { return 50 * time.Second },
				Dispatcher:  r.Ref("dispatcher"), Catalog: r.Ref("catalog"),
				Close: func(up transport.Upstream) {
					_ = up.Close(context.Background())
					r.closed <- up
				},
				Dial: func(ctx context.Context, _ otp.Ref) (transport.Upstream, error) {
					select {
					case d := <-dials:
						return d.up, d.err
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				},
			}
			if change != nil {
				change(&o)
			}
			o.Key.Instance = instance
			return client.New(o)
		}
		r.other = func() otp.Child {
			return otp.Child{ID: "other", Restart: otp.Transient,
				Start: r.Stalls.Worker("other", func() otp.Behaviour {
					return connection(1, r.others)
				})}
		}
		return []otp.Child{
			r.dispatcher.Child("dispatcher"), r.catalog.Child("catalog"), r.one.Child("one"),
			r.two.Child("two"),
			{ID: "conn", Restart: otp.Transient, Start: otp.Worker(func() otp.Behaviour {
				return s.Stalls.Behaviour("conn", connection(0, r.dials))
			})},
		}
	}, func(*testrig.Rig) { test(r) })
}

// server returns the other end of the next dial.
func (r *rig) server() *mcptest.Peer {
	r.T.Helper()
	p, up := mcptest.NewPeer(r.T)
	r.dials <- dial{up: up}
	return p
}

// ready returns a server after its handshake that has listed nothing but two tools.
func (r *rig) ready(capabilities string) *mcptest.Peer {
	r.T.Helper()
	p := r.server()
	p.Handshake(capabilities)
	p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"},{"name":"b"}]}`)
	r.WaitIdle()
	return p
}

func (r *rig) send(msg any) { r.T.Helper(); r.Send("conn", msg) }

// node returns the connection as the tree shows it.
func (r *rig) node() otp.Node {
	r.T.Helper()
	for _, n := range r.Tree.Snapshot().Children {
		if n.ID == "conn" {
			return n
		}
	}
	r.T.Fatal("no connection")
	return otp.Node{}
}

// attach makes a session use the connection.
func (r *rig) attach(session string) {
	r.T.Helper()
	r.attachAs(session, session)
}

// attachAs makes the session that has this row for its actor use the connection.
func (r *rig) attachAs(session, row string) {
	r.T.Helper()
	if _, err := testrig.Ask[client.AttachRequest, struct{}](r.Rig, "conn",
		client.AttachRequest{Session: session, Ref: r.Ref(row)}); err != nil {
		r.T.Fatal(err)
	}
	r.WaitIdle()
}

// setIntent tells the connection what a session wants. The channel that it returns gets the answer.
func (r *rig) setIntent(w client.SubscriptionIntent) <-chan error {
	r.T.Helper()
	granted := make(chan error, 1)
	go func() { // it ends with the connection at the latest
		_, err := otp.Do[client.SubscriptionIntent, struct{}](r.T.Context(), r.Ref("conn"), w)
		granted <- err
	}()
	r.WaitIdle()
	return granted
}

// forward hands in a call of a session.
func (r *rig) forward(session, method, params string) *request.Exchange {
	r.T.Helper()
	x := r.exchange(session, method, params)
	r.send(&request.Forward{Exchange: x})
	return x
}

func (r *rig) exchange(session, method, params string) *request.Exchange {
	x := r.untaken(session, method, params)
	r.take(x)
	return x
}

func (r *rig) untaken(session, method, params string) *request.Exchange {
	r.next++
	return &request.Exchange{
		ID: r.next, Session: session, Owner: r.Ref(session), Version: protocol.V20251125,
		Downstream: jsonrpc.IntID(1),
		Server:     "files", Upstream: r.Ref("conn"), Method: method, Params: jsontext.Value(params),
		Sink: &testrig.Sink{},
	}
}

// deadline returns how long an exchange may still take.
func (r *rig) deadline(x *request.Exchange) time.Time {
	r.T.Helper()
	r.WaitIdle()
	its := func(other *request.Exchange) bool { return other == x }
	for _, info := range r.table.Pending(its) {
		return info.Deadline
	}
	r.T.Fatal("it has ended")
	return time.Time{}
}

// take takes an exchange on, as the request manager does.
func (r *rig) take(x *request.Exchange) {
	r.T.Helper()
	if _, err := r.table.Take(time.Now(), x); err != nil {
		r.T.Fatal(err)
	}
}

// failure is the message that a request did not reach the server.
func failure(m jsonrpc.Message, err error) transport.Inbound {
	return transport.Inbound{RequestID: m.ID, Err: err}
}

// failed is an error with data.
func failed(m jsonrpc.Message, code int64, data string) transport.Inbound {
	return transport.Inbound{
		RequestID: m.ID,
		Message: jsonrpc.Failure(m.ID, &jsonrpc.Error{
			Code: code, Message: "refused", Data: jsontext.Value(data),
		}),
	}
}

func (r *rig) call(session string) *request.Exchange {
	r.T.Helper()
	return r.forward(session, "tools/call", `{"name":"a"}`)
}

// ended is an exchange with its outcome.
type ended struct {
	request.Outcome
	ID       uint64
	Exchange *request.Exchange
}

// receivedLog records the outcomes of exchanges.
type receivedLog struct{ testrig.Log }

func (b *receivedLog) Begin(*request.Exchange) {}

func (b *receivedLog) End(x *request.Exchange, o request.Outcome) { b.Add(&ended{o, x.ID, x}) }

// outcomes returns the exchanges that have ended, in order.
func (r *rig) outcomes() []*ended { return testrig.Of[*ended](&r.books.Log) }

// outcome returns the outcome of one exchange, of which there must be exactly one.
func (r *rig) outcome(x *request.Exchange) *ended {
	r.T.Helper()
	var found []*ended
	for _, c := range r.outcomes() {
		if c.ID == x.ID {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		r.T.Fatalf("exchange %d has %d outcomes, want 1", x.ID, len(found))
	}
	return found[0]
}

// report returns the last report to the catalogue.
func (r *rig) report() *client.Report {
	r.T.Helper()
	all := r.reports()
	if len(all) == 0 {
		r.T.Fatal("no report")
	}
	return all[len(all)-1]
}

// reports returns the reports to the catalogue.
func (r *rig) reports() []*client.Report { return testrig.Of[*client.Report](&r.catalog.Log) }

// states returns the states that the catalogue was told, each change once.
func (r *rig) states() (list []client.State) {
	for _, p := range r.reports() {
		if len(list) == 0 || list[len(list)-1] != p.State {
			list = append(list, p.State)
		}
	}
	return list
}
