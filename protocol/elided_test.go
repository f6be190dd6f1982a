package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/tasks"
)

// decided lists the members on which the host bases decisions. The test uses each with and without
// an escape in its name.
var decided = []string{
	"_meta", "task", "inputResponses", "requestState", "resultType", "isError", "ttlMs", "arguments",
}

// drawValue returns a value of any kind, sometimes one that an outline elides.
func drawValue(t *rapid.T, name string) string {
	long := ""
	if rapid.Bool().Draw(t, name+" is long") {
		long = strings.Repeat("1", jsonrpc.LongMember)
	}
	return rapid.SampledFrom([]string{
		"null", "true", "false", "60000", `"complete"`, `"input_required"`, `"task"`, `"` + long + `"`,
		`["` + long + `"]`, "[]", "{}",
		`{"ttl":60000,"x":"` + long + `"}`,
		`{ "` + protocol.MetaProtocolVersion + `" : "2026-07-28" , "x":"` + long + `"}`,
		`{"` + protocol.MetaProtocolVersion + `":"` + long + `"}`,
		`{"a":{"b":{"c":` + strings.Repeat("[", 20) + `"` + long + `"` + strings.Repeat("]", 20) + `}}}`,
	}).Draw(t, name)
}

// The outline of a message leads to the same decisions as the whole message.
func TestElidedTextDecidesAsTheWhole(t *testing.T) {
	decide := func(v jsontext.Value) string {
		class, refused := protocol.Negotiation{}.Classify(protocol.Incoming{
			Method: "tools/call", Params: v, HTTP: true, Header: "2026-07-28",
		})
		level, _ := jsonedit.GetString(v, "_meta", protocol.MetaLogLevel)
		token, _ := jsonedit.Get(v, "_meta", "progressToken")
		kind, _ := jsonedit.GetString(v, "resultType")
		short := func(s string) string { return s[:min(len(s), 1000)] }
		return short(fmt.Sprint(protocol.IsModern(v), protocol.CheckMeta(v), class.Era, class.Version,
			refused, mrtr.IsRetry(v), mrtr.TypeOf(v), tasks.RetentionOf(v), level, token,
			jsonedit.Kind(v, "task"), jsonedit.Kind(v, "isError"), kind == "task", kind == "input_required"))
	}
	rapid.Check(t, func(t *rapid.T) {
		var members []string
		for _, name := range rapid.Permutation(decided).Draw(t,
			"members")[:rapid.IntRange(0, len(decided)).Draw(t, "how many")] {
			value := drawValue(t, name)
			if rapid.Bool().Draw(t, "escaped") {
				name = name[:1] + fmt.Sprintf("\\u%04x", name[1]) + name[2:]
			}
			space := rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "space")
			members = append(members, space+`"`+name+`"`+space+":"+space+value+space)
		}
		object := "{" + strings.Join(members, ",") + "}"
		for _, text := range []string{`{"jsonrpc":"2.0","method":"m","params":%s,"id":1}`,
			`{"jsonrpc":"2.0","id":1,"result":%s}`} {
			m, err := jsonrpc.Decode(fmt.Appendf(nil, text, object), jsonrpc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if whole := jsontext.Value(object); decide(m.Elided()) != decide(whole) {
				t.Errorf("%.300s: decided %s, by the whole %s", object, decide(m.Elided()), decide(whole))
			}
		}
	})
}
