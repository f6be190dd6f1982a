package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

const modernMeta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}`

// A server that speaks both eras tells them apart by these signals, one row each. The rows also
// show the order of its checks.
func TestClassify(t *testing.T) {
	const v4, v5 = protocol.V20251125, protocol.V20260728
	meta := func(version string) string {
		return strings.ReplaceAll(modernMeta, "2026-07-28", version)
	}
	for _, tc := range []struct {
		name    string
		in      protocol.Incoming
		params  string
		era     protocol.Era
		version protocol.Version
		code    int64 // 0 for no refusal
		http    int
	}{
		{"modern", protocol.Incoming{Method: "tools/list", HTTP: true, Header: "2026-07-28"}, modernMeta,
			protocol.Modern, v5, 0, 0},
		{"modern on stdio", protocol.Incoming{Method: "tools/list"}, modernMeta,
			protocol.Modern, v5, 0, 0},
		{"modern though it names a session",
			protocol.Incoming{Method: "tools/list", HTTP: true, Header: "2026-07-28", Session: v4},
			modernMeta, protocol.Modern, v5, 0, 0},
		{"modern though it says initialize",
			protocol.Incoming{Method: "initialize", HTTP: true, Header: "2026-07-28"}, modernMeta,
			protocol.Modern, v5, 0, 0},
		{"modern without header", protocol.Incoming{Method: "tools/list", HTTP: true}, modernMeta,
			protocol.Modern, v5, -32020, 400},
		{"modern, header differs",
			protocol.Incoming{Method: "tools/list", HTTP: true, Header: "2025-11-25"}, modernMeta,
			protocol.Modern, v5, -32020, 400},
		{"modern, unknown revision",
			protocol.Incoming{Method: "tools/list", HTTP: true, Header: "v999.0.0"}, meta("v999.0.0"),
			protocol.Modern, v5, -32022, 400},
		{"modern, legacy revision",
			protocol.Incoming{Method: "tools/list", HTTP: true, Header: "2025-06-18"}, meta("2025-06-18"),
			protocol.Modern, v5, -32022, 400},
		{"modern without capabilities",
			protocol.Incoming{Method: "tools/list", HTTP: true, Header: "2026-07-28"},
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, protocol.Modern, v5,
			-32602, 400},
		{"modern, revision a number", protocol.Incoming{Method: "tools/list"},
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}`, protocol.Modern, v5, -32602, 400},
		{"modern header without _meta",
			protocol.Incoming{Method: "tools/list", HTTP: true, Header: "2026-07-28"}, ``, protocol.Modern,
			v5, -32602, 400},
		{"unknown header without _meta",
			protocol.Incoming{Method: "tools/list", HTTP: true, Header: "2099-01-01"}, `{}`, protocol.Modern,
			v5, -32022, 400},
		{"header that is no revision, without _meta",
			protocol.Incoming{Method: "server/discover", HTTP: true, Header: "banana"}, ``, protocol.Modern,
			v5, -32022, 400},
		{"modern notification", protocol.Incoming{Method: "notifications/cancelled", Notification: true,
			HTTP: true, Header: "2026-07-28"}, `{"requestId":1}`, protocol.Modern, v5, 0, 0},
		{"modern notification with _meta",
			protocol.Incoming{Method: "notifications/cancelled", Notification: true},
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, protocol.Modern, v5, 0, 0},

		{"initialize", protocol.Incoming{Method: "initialize", HTTP: true}, ``, protocol.Legacy, 0, 0, 0},
		{"initialize with a modern header",
			protocol.Incoming{Method: "initialize", HTTP: true, Header: "2026-07-28"}, ``, protocol.Legacy,
			0,
			0, 0},
		{"session", protocol.Incoming{Method: "tools/list", HTTP: true, Session: v4}, ``,
			protocol.Legacy, v4, 0, 0},
		{"session with its header",
			protocol.Incoming{Method: "tools/list", HTTP: true, Session: v4, Header: "2025-11-25"},
			`{"_meta":{"progressToken":1}}`, protocol.Legacy, v4, 0, 0},
		{"session with another header",
			protocol.Incoming{Method: "tools/list", HTTP: true, Session: v4, Header: "2025-06-18"}, ``,
			protocol.Legacy, v4, -32602, 400},
		{"session with an unknown header",
			protocol.Incoming{Method: "tools/list", HTTP: true, Session: v4, Header: "nonsense"}, ``,
			protocol.Legacy, v4, -32602, 400},
		{"stdio before initialize", protocol.Incoming{Method: "tools/list"}, ``,
			protocol.Legacy, 0, 0, 0},
		{"stdio", protocol.Incoming{Method: "tools/list", Session: v4}, ``, protocol.Legacy, v4, 0, 0},
		{"stdio, probe without _meta", protocol.Incoming{Method: "server/discover"}, ``,
			protocol.Legacy, 0, 0, 0},
		{"legacy header without session",
			protocol.Incoming{Method: "tools/list", HTTP: true, Header: "2025-06-18"}, ``, protocol.Legacy,
			protocol.V20250618, 0, 0},
		{"nothing", protocol.Incoming{Method: "tools/list", HTTP: true}, ``, protocol.Legacy, 0,
			-32005, 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.in.Params = jsontext.Value(tc.params)
			c, err := protocol.Negotiation{}.Classify(tc.in)
			if c.Era != tc.era || c.Version != tc.version || (err != nil) != (tc.code != 0) {
				t.Fatalf("got %v %v, %v", c.Era, c.Version, err)
			}
			if err == nil {
				return
			}
			if e := protocol.Translate(err, c.Version); e.Code != tc.code {
				t.Errorf("got %v, want %d", e, tc.code)
			}
			if got := protocol.HTTPStatus(err, c.Version, tc.in.Session != 0); got != tc.http {
				t.Errorf("got %d, want %d", got, tc.http)
			}
		})
	}
}

func TestParseMeta(t *testing.T) {
	m, err := protocol.ParseMeta(jsontext.Value(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/logLevel":"warning"}}`))
	if err != nil || m.Version != "2026-07-28" || m.Info.Name != "a" || m.LogLevel != "warning" {
		t.Errorf("got %+v, %v", m, err)
	}
	const start = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`
	for _, bad := range []string{
		``, `{}`, `{"_meta":1}`, `{"_meta":{}}`,
		start + `1}}`, start + `{"roots":1}}}`,
		start + `{},"io.modelcontextprotocol/clientInfo":1}}`,
		start + `{},"io.modelcontextprotocol/logLevel":"loud"}}`,
		start + `{},"io.modelcontextprotocol/logLevel":1}}`,
	} {
		_, err := protocol.ParseMeta(jsontext.Value(bad))
		condition(t, err, protocol.ConditionInvalidParams)
	}
	// ParseMeta reads the values that Set writes. Other members of _meta stay.
	params := m.Set(jsontext.Value(`{"name":"x","_meta":{"progressToken":0}}`))
	again, err := protocol.ParseMeta(params)
	if err != nil || again.Version != m.Version || again.LogLevel != m.LogLevel ||
		again.Info.Name != "a" {
		t.Errorf("got %+v, %v from %s", again, err, params)
	}
	expect(t, params, `0`, "_meta", "progressToken")
	if got := (protocol.Meta{Version: "2026-07-28"}).Set(nil); string(got) !=
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}` {
		t.Errorf("got %s", got)
	}
}

// Attack S34: _meta is bounded before it is read.
func TestMetaIsBounded(t *testing.T) {
	for _, tc := range []struct {
		name, meta string
		good       bool
	}{
		{"none", ``, true},
		{"empty", `"_meta":{}`, true},
		{"not an object", `"_meta":[]`, false},
		{"8 deep", `"_meta":` + strings.Repeat(`{"a":`, 8) + `1` + strings.Repeat(`}`, 8), true},
		{"10 deep", `"_meta":` + strings.Repeat(`{"a":`, 10) + `1` + strings.Repeat(`}`, 10), false},
		{"10 deep in arrays", `"_meta":{"a":` + strings.Repeat(`[`, 9) + `1` + strings.Repeat(`]`, 9) +
			`}`, false},
		{"64 members", `"_meta":{` + members(64) + `}`, true},
		{"65 members", `"_meta":{` + members(65) + `}`, false},
		{"65 members below", `"_meta":{"a":{` + members(65) + `}}`, false},
		{"64 KiB", `"_meta":{"a":"` + strings.Repeat("x", 64<<10) + `"}`, true},
		{"80 KiB", `"_meta":{"a":"` + strings.Repeat("x", 80<<10) + `"}`, false},
	} {
		err := protocol.CheckMeta(jsontext.Value(`{` + tc.meta + `}`))
		if (err == nil) != tc.good {
			t.Errorf("%s: got %v", tc.name, err)
		}
	}
}

func members(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"m%d":1`, i))
	}
	return strings.Join(list, ",")
}

// Progress tokens are strings or numbers. 0 and "" are valid tokens.
func TestProgressToken(t *testing.T) {
	for params, want := range map[string]string{
		`{"_meta":{"progressToken":0}}`:                      `0`,
		`{"_meta":{"progressToken":""}}`:                     `""`,
		`{"_meta":{"progressToken":12345678901234567890.0}}`: `12345678901234567890.0`,
		`{"_meta":{"progressToken":null}}`:                   ``,
		`{"_meta":{"progressToken":{}}}`:                     ``,
		`{"_meta":{}}`:                                       ``, `{}`: ``, ``: ``,
	} {
		got, ok := protocol.ProgressToken(jsontext.Value(params))
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: got %s, %v", params, got, ok)
		}
	}
	for _, tc := range []struct{ params, token, want string }{
		{`{"a":1,"_meta":{"x":1,"progressToken":"t"}}`, `7`, `{"a":1,"_meta":{"x":1,"progressToken":7}}`},
		{`{"a":1}`, `7`, `{"a":1,"_meta":{"progressToken":7}}`},
		{``, `7`, `{"_meta":{"progressToken":7}}`},
		{`{"_meta":{"x":1,"progressToken":"t"}}`, ``, `{"_meta":{"x":1}}`},
		{`{"a":1}`, ``, `{"a":1}`},
		{`[1]`, `7`, `[1]`},
	} {
		if got := protocol.SetProgressToken(jsontext.Value(tc.params),
			jsontext.Value(tc.token)); string(got) != tc.want {
			t.Errorf("%s: got %s, want %s", tc.params, got, tc.want)
		}
	}
}

func TestLogLevels(t *testing.T) {
	if !protocol.AtLeast("error", "warning") || protocol.AtLeast("info", "warning") ||
		!protocol.AtLeast("debug", "debug") {
		t.Error("levels are out of order")
	}
	if protocol.AtLeast("loud", "debug") || protocol.AtLeast("error", "loud") ||
		protocol.ValidLogLevel("") {
		t.Error("a level that does not exist counts")
	}
}

// Every message pays for the detection of its era.
func BenchmarkClassifyModern(b *testing.B) {
	in := protocol.Incoming{
		Method: "tools/call", HTTP: true, Header: "2026-07-28", Params: jsontext.Value(modernMeta),
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (protocol.Negotiation{}).Classify(in); err != nil {
			b.Fatal(err)
		}
	}
}
