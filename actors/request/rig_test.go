package request_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a request manager with room for three exchanges, with boxes in place of a connection and a
// session.
type rig struct {
	*testrig.Rig
	conn, other, owner testrig.Box
	codes              chan int64 // codes of errors, as they are counted
	metrics            *telemetry.Metrics
	kept               quota.Ledger
	next               uint64
	each               atomic.Int32 // bound for one principal; 0 for none
	principal          string
	params             jsontext.Value // of submitted exchanges; nil is that of a small call
	method             string         // of submitted exchanges; empty is tools/call
	// stalls, if set, is awaited by the manager while it accepts an exchange.
	stalls atomic.Pointer[chan struct{}]
	queues bool // the connection does not write submitted exchanges
}

func run(t *testing.T, test func(r *rig)) {
	t.Helper()
	r := &rig{}
	r.kept.Bound(quota.Bounds{Tenants: 1, Total: 1000})
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		r.Rig, r.codes = s, make(chan int64, 10)
		r.metrics = telemetry.NewMetrics(telemetry.MetricsOptions{})
		o := request.Options{
			Tenant: "acme", Pending: r.pendingNow, Account: r.kept.Account("acme"), OfPrincipal: func() int {
				return int(r.each.Load())
			}, Failed: func(code int64) { r.codes <- code }, Emit: s.Events.Emit,
			Meter: request.NewMeters(func(server, method string) *telemetry.Requests {
				return r.metrics.Requests("acme", server, method)
			}, time.Now),
		}
		return []otp.Child{
			{ID: "manager", Start: s.CrashRestored.Worker(func() otp.Behaviour {
				return request.New(o)
			})}, r.conn.Child("conn"), {ID: "other", Start: s.Stalls.Worker("other",
				r.other.Behaviour)}, r.owner.Child("owner"),
		}
	}, func(*testrig.Rig) { test(r) })
}

func (r *rig) pendingNow() int {
	if c := r.stalls.Load(); c != nil {
		<-*c
	}
	return 3
}

// submit submits an exchange with ten seconds for its response and thirty in all.
func (r *rig) submit(session string) (*request.Exchange, *testrig.Sink) {
	r.T.Helper()
	r.next++
	out := &testrig.Sink{}
	params := r.params
	if params == nil {
		params = jsontext.Value(`{"name":"t"}`)
	}
	x := &request.Exchange{
		ID: r.next, Session: session, Principal: r.principal, Owner: r.Ref("owner"),
		Version: protocol.V20251125, Downstream: jsonrpc.IntID(1),
		Server: "files", Upstream: r.Ref("conn"), Method: "tools/call", Params: params,
		Arrived: time.Now(), Timeout: 10 * time.Second, MaxTimeout: 30 * time.Second, Sink: out,
	}
	if r.method != "" {
		x.Method = r.method
	}
	if !r.queues {
		x.Write()
	}
	r.send(&request.Submit{Exchange: x})
	return x, out
}

// large submits an exchange whose params have the given number of bytes.
func (r *rig) large(bytes int) (*request.Exchange, *testrig.Sink) {
	r.T.Helper()
	r.params = jsontext.Value(`"` + strings.Repeat("x", bytes-2) + `"`)
	defer func() { r.params = nil }()
	return r.submit("s")
}

func (r *rig) send(msg any) { r.T.Helper(); r.Send("manager", msg) }

// complete gives an exchange a result, once all goroutines are blocked.
func (r *rig) complete(x *request.Exchange, result string) (first bool) {
	r.T.Helper()
	r.WaitIdle()
	return x.Settle(request.Outcome{Result: jsontext.Value(result)})
}

// written returns the exchanges that the connection was given.
func (r *rig) written() (list []*request.Exchange) {
	for _, f := range testrig.Of[*request.Forward](&r.conn.Log) {
		list = append(list, f.Exchange)
	}
	return list
}

// withdrawn returns the Withdraw messages to the connection.
func (r *rig) withdrawn() []*request.Withdraw { return testrig.Of[*request.Withdraw](&r.conn.Log) }

// done returns the ids of the exchanges of whose end the session was told.
func (r *rig) done() (ids []uint64) {
	for _, d := range testrig.Of[request.Done](&r.owner.Log) {
		ids = append(ids, d.Exchange.ID)
	}
	return ids
}

// pending returns the exchanges in flight.
func (r *rig) pending(q request.PendingQuery) []request.Info {
	r.T.Helper()
	list, err := testrig.Ask[request.PendingQuery, []request.Info](r.Rig, "manager", q)
	if err != nil {
		r.T.Fatal(err)
	}
	return list
}

// inFlight returns how many requests the metrics count as in flight.
func (r *rig) inFlight() (n float64) {
	r.T.Helper()
	families, err := r.metrics.Gatherer().Gather()
	if err != nil {
		r.T.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "mcpd_requests_in_flight" {
			for _, m := range f.GetMetric() {
				n += m.GetGauge().GetValue()
			}
		}
	}
	return n
}

// reserved returns how many bytes the ledger counts for the requests of the tenant.
func (r *rig) reserved() int64 { return r.kept.Account("acme").Total() }
