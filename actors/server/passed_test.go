package server

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// The gate is asked again for another method, for another record, and for params that are invalid
// for every method. Its refusals are not cached.
func TestTheGateDecidesOnceForARecord(t *testing.T) {
	offers := func(text string) *session.Record {
		offered, err := protocol.ParseServerCapabilities(jsontext.Value(text))
		if err != nil {
			t.Fatal(err)
		}
		return &session.Record{Version: protocol.V20251125, Offered: offered}
	}
	tools, none := offers(`{"tools":{}}`), offers(`{}`)
	var p gateCache
	for i, c := range []struct {
		record         *session.Record
		method, params string
		refused, asked bool
	}{
		{tools, "tools/call", `{}`, false, true},
		{tools, "tools/call", `{}`, false, false},
		{tools, "tools/call", `[]`, true, true},
		{tools, "tools/call", `{}`, false, false},
		{none, "tools/call", `{}`, true, true}, // the offer has changed
		{none, "tools/call", `{}`, true, true},
		{tools, "resources/read", `{}`, true, true},
		{tools, "tools/call", `{}`, false, false},
		{offers(`{"tools":{}}`), "tools/call", `{}`, false, true},
		{tools, "tools/list", ``, false, true},
		{tools, "tools/list", ``, false, false},
	} {
		asked := false
		m := jsonrpc.Request(jsonrpc.IntID(1), c.method, jsontext.Value(c.params))
		err := p.check(c.record, m, func() protocol.Gate {
			asked = true
			return protocol.Gate{Version: c.record.Version, Server: c.record.Offered}
		})
		if (err != nil) != c.refused || asked != c.asked {
			t.Errorf("%d: %v, asked %v", i, err, asked)
		}
	}
}

// A request that the cache allows makes no allocation.
func TestWhoPassedCostsNothing(t *testing.T) {
	s := &Session{record: &session.Record{Version: protocol.V20251125}}
	m := jsonrpc.Request(jsonrpc.IntID(1), "tools/call", jsontext.Value(`{}`))
	s.gateCache = gateCache{m.Method, s.record}
	gate := func() protocol.Gate { panic("asked") }
	if n := testing.AllocsPerRun(100, func() {
		if err := s.gateCache.check(s.record, m, gate); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v objects", n)
	}
}
