package jsonrpc_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol/jsonrpc"
)

// MayHave never denies a member that is present, in whatever spelling and context. It denies most
// members that are absent.
func TestMayMissesNoMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.String(), 0, 20, rapid.ID).Draw(t, "names")
		var members strings.Builder
		for i, name := range names {
			quoted, _ := jsontext.AppendQuote(nil, name)
			if rapid.Bool().Draw(t, "escaped") {
				quoted = quoted[:1]
				for _, r := range name {
					quoted = fmt.Appendf(quoted, `\u%04x`, r)
				}
				quoted = append(quoted, '"')
				if strings.ContainsFunc(name, func(r rune) bool { return r > 0xffff }) {
					quoted, _ = jsontext.AppendQuote(nil, name)
				}
			}
			fmt.Fprintf(&members, `%c%s:{"in":%d}`, ",{"[btoi(i == 0)], quoted, i)
		}
		object := cmp.Or(members.String(), "{") + "}"
		text := rapid.SampledFrom([]string{
			`{"jsonrpc":"2.0","id":1,"method":"m","params":%s}`,
			`{"params":%s,"jsonrpc":"2.0","method":"m"}`,
			`{"jsonrpc":"2.0","id":1,"result":%s}`,
			`[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":1,"method":"m","params":%s}]`,
		}).Draw(t, "message")
		all, _, err := jsonrpc.DecodeBatch(fmt.Appendf(nil, text, object), jsonrpc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		m := all[len(all)-1]
		for _, name := range names {
			if !m.MayHave(name) {
				t.Fatalf("%q is in %s", name, object)
			}
		}
		if len(names) == 0 && m.MayHave("_meta") {
			t.Fatalf("there is no _meta in %s", object)
		}
		if other := m.WithParams(jsontext.Value(`{"_meta":{}}`)); !other.MayHave("_meta") {
			t.Fatal("_meta of other params is missed")
		}
	})
}

// For a call with the usual members, MayHave denies the members that the host looks for in every
// call and that most calls lack.
func TestMayTellsUsualMembersApart(t *testing.T) {
	m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call",`+
		`"params":{"name":"a","arguments":{"task":1}}}`), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"_meta", "task", "inputResponses", "requestState"} {
		if m.MayHave(name) {
			t.Errorf("%s may be there", name)
		}
	}
	if !jsonrpc.Request(m.ID, m.Method, m.Params).MayHave("task") {
		t.Error("nothing is known of what was not decoded")
	}
}

// Decoding a call needs one allocation: its id.
func TestObjectsOfADecodedCall(t *testing.T) {
	data := []byte(call)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := jsonrpc.Decode(data, jsonrpc.Limits{}); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v objects", n)
	}
}
