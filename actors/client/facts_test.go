package client_test

import (
	"strings"
	"testing"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/gateway/catalog"
	"mcpd/protocol/jsonedit"
	"mcpd/telemetry"
)

// The instructions and capabilities of a server are kept whole. They are cut only in the list of
// all servers, and serverInfo is shortened only in results to which the host adds it. The operator
// is told of the cuts.
func TestServerThatSaysTooMuchOfItself(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Reply(p.Expect("initialize"),
			`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true,"x":"`+huge+
				`"},"resources":{"subscribe":true},"experimental":{"x":{"y":"`+huge+
				`"}}},"serverInfo":{"name":"peer","version":"1","title":"`+huge+
				`"},"instructions":"`+huge+`"}`)
		p.Expect("notifications/initialized")
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		p.Reply(p.Expect("resources/list"), `{"resources":[]}`)
		p.Reply(p.Expect("resources/templates/list"), `{"resourceTemplates":[]}`)
		r.WaitIdle()
		f := r.report().Facts
		if n := f.Size(); n < 4*len(huge) || n > 4*len(huge)+1024 {
			t.Errorf("%d bytes are kept", n)
		}
		if title, _ := jsonedit.GetString(f.Server.Raw(), "title"); title != huge {
			t.Errorf("the title has %d bytes", len(title))
		}
		if s := f.Stamp(); len(s.Raw()) > 100 || s.Name != "peer" {
			t.Errorf("results are from %s", s.Raw())
		}
		if x, _ := f.Capabilities.Settings("experimental.x"); len(x) < len(huge) {
			t.Errorf("of experimental.x %d bytes are kept", len(x))
		}
		if f.Server.Name != "peer" || f.Server.Version != "1" || f.Instructions != huge {
			t.Errorf("it is %s %s, and says %d bytes", f.Server.Name, f.Server.Version, len(f.Instructions))
		}
		told := map[string]int{}
		for _, e := range testrig.Of[telemetry.ListCut](&r.Events) {
			told[e.List+" "+e.Reason]++
		}
		for _, reason := range []catalog.Reason{catalog.LongInstructions, catalog.LargeCapabilities} {
			if told["initialize "+string(reason)] != 1 {
				t.Errorf("told of %v", told)
			}
		}
	})
}

// Facts within their bounds are not changed.
func TestFactsWithinTheirBounds(t *testing.T) {
	f := client.Facts{Instructions: strings.Repeat("x", catalog.MaxInstructions)}
	if got, cuts := f.Bound(); !got.Same(f) || len(cuts) > 0 {
		t.Errorf("%v are cut", cuts)
	}
}
