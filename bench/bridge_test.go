package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/load"
	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rewrite"
)

// itself is the host, as it tells servers.
var itself = protocol.Implementation{Name: "mcpd", Version: "1"}

// asking is what a client of each era sends first, as real ones do, and what a server offers.
const (
	asking = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},` +
		`"sampling":{},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"client","title":"A client","version":"1.2.3"}}}`
	discovering = `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"client","title":"A client","version":"1.2.3"}}}}`
	offering = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}`
)

// initialize answers a first message of the legacy era, from its bytes to those of the answer.
func initialize(t testing.TB, server protocol.ServerCapabilities, out []byte) []byte {
	m, err := jsonrpc.Decode([]byte(asking), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := protocol.Negotiation{}.Handshake(m.Params, server)
	if err != nil {
		t.Fatal(err)
	}
	return jsonrpc.Response(m.ID, h.Result(itself, "")).Append(out)
}

// discover answers one of the modern era.
func discover(t testing.TB, server protocol.ServerCapabilities, out []byte) []byte {
	m, err := jsonrpc.Decode([]byte(discovering), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var n protocol.Negotiation
	class, err := n.Classify(protocol.Arrival{Method: m.Method, Params: m.Params, Header: protocol.Latest.String()})
	if err != nil {
		t.Fatal(err)
	}
	r := protocol.DiscoverResult{Versions: n.Names(), Capabilities: server.Shape(class.Version), Info: itself}
	return jsonrpc.Response(m.ID, r.Result()).Append(out)
}

// pair is a call and its answer, as they come from a client and a server of their revisions.
type pair struct {
	name             string
	client, server   protocol.Version
	request, result  []byte
	declared         protocol.ClientCapabilities
	requestID, askID jsonrpc.ID
}

func newPair(t testing.TB, name string, client, server protocol.Version) pair {
	t.Helper()
	declared, err := protocol.ParseClientCapabilities(jsontext.Value(`{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	params := jsontext.Value(`{"name":"read_text_file","arguments":{"path":"/srv/acme/README.md","head":100},"_meta":{"progressToken":7}}`)
	if client.Era() == protocol.Modern {
		params = protocol.Meta{Version: client.String(), Capabilities: declared, Info: itself}.Set(params)
	}
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("lorem ipsum ", 170) + `"},{"type":"resource_link",` +
		`"uri":"file:///srv/acme/README.md","name":"README.md"}],"structuredContent":{"lines":100},"isError":false}`
	if server.Era() == protocol.Modern {
		result = `{"resultType":"complete",` + result[1:]
	}
	p := pair{name: name, client: client, server: server, declared: declared, requestID: jsonrpc.IntID(5), askID: jsonrpc.IntID(1234)}
	p.request = jsonrpc.Request(p.requestID, "tools/call", params).Append(nil)
	p.result = jsonrpc.Response(p.askID, jsontext.Value(result)).Append(nil)
	return p
}

// carry takes the pair through the host, from the bytes that arrive to those that leave, without its actors. Bridged is the way between two
// eras; otherwise only the ids are exchanged.
func (p *pair) carry(t testing.TB, bridged bool, out []byte) []byte {
	call, err := jsonrpc.Decode(p.request, jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	params := call.Params
	if bridged {
		if params, err = rewrite.Request(call.Method, p.client, p.server, params); err != nil {
			t.Fatal(err)
		}
		params = protocol.SetProgressToken(params, jsontext.Value(p.askID.Raw()))
		if p.server.Era() == protocol.Modern {
			params = protocol.Meta{Version: p.server.String(), Capabilities: p.declared, Info: itself}.Set(params)
			if _, err := (headers.Request{Method: call.Method, Params: params}).Fields(); err != nil {
				t.Fatal(err)
			}
		}
	}
	out = jsonrpc.Request(p.askID, call.Method, params).Append(out[:0])
	answer, err := jsonrpc.Decode(p.result, jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	result := answer.Result
	if bridged {
		if p.server.Era() == protocol.Modern && mrtr.TypeOf(result) != mrtr.Complete {
			t.Fatal("no answer")
		}
		if result, err = rewrite.Result(call.Method, p.server, p.client, result, rewrite.Options{Server: itself}); err != nil {
			t.Fatal(err)
		}
	}
	return jsonrpc.Response(call.ID, result).Append(out[:0])
}

// crossing are the pairs between the eras, both ways.
func crossing(t testing.TB) []pair {
	return []pair{
		newPair(t, "legacy to modern", protocol.LatestLegacy, protocol.Latest), newPair(t, "modern to legacy", protocol.Latest, protocol.LatestLegacy),
	}
}

func offered(t testing.TB) protocol.ServerCapabilities {
	server, err := protocol.ParseServerCapabilities(jsontext.Value(offering))
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func BenchmarkNegotiation(b *testing.B) {
	server, out := offered(b), make([]byte, 0, 1<<12)
	for name, do := range map[string]func(testing.TB, protocol.ServerCapabilities, []byte) []byte{"initialize": initialize, "discover": discover} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do(b, server, out)
			}
		})
	}
}

func BenchmarkBridge(b *testing.B) {
	out := make([]byte, 0, 1<<13)
	for _, p := range crossing(b) {
		for name, bridged := range map[string]bool{"": true, ", ids only": false} {
			b.Run(p.name+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.carry(b, bridged, out)
				}
			})
		}
	}
}

// TestNegotiationAndBridgeAreCheap measures what is pure in a first message and its answer, and in a call and its answer between two eras,
// beside the same pair within one. How often memory is asked for does not depend on the machine, and is held everywhere.
func TestNegotiationAndBridgeAreCheap(t *testing.T) {
	unraced(t)
	server, out := offered(t), make([]byte, 0, 1<<13)
	report := load.Report{Title: "Negotiation, and a call between two eras", Figures: []load.Figure{
		load.NewFigure("initialize", "µs", took(func() { initialize(t, server, out) }), goal(micros(negotiationGoal))),
		load.NewFigure("server/discover", "µs", took(func() { discover(t, server, out) }), goal(micros(negotiationGoal))),
	}}
	for _, p := range crossing(t) {
		bridged, plain := func() { p.carry(t, true, out) }, func() { p.carry(t, false, out) }
		beyond := testing.AllocsPerRun(100, bridged) - testing.AllocsPerRun(100, plain)
		report.Figures = append(report.Figures,
			load.NewFigure(p.name+", ids only", "µs", took(plain), 0),
			load.NewFigure(p.name, "µs", took(bridged), goal(micros(bridgeGoal))),
			load.NewFigure(p.name+": beyond ids only", "allocations", []float64{beyond}, bridgeAllocations))
	}
	publish(t, "bridge", report)
}

// took are times of one run of do, in µs, each the mean of many.
func took(do func()) (samples []float64) {
	const runs = 200
	do()
	for range either(50, load.MinPairs) {
		begin := time.Now()
		for range runs {
			do()
		}
		samples = append(samples, micros(time.Since(begin))/runs)
	}
	return samples
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
