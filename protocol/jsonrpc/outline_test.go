package jsonrpc_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpd/protocol/jsonrpc"
)

// The outline has every member, and none that is long. What is long further in is left out with the member that it is in.
func TestOutlineHasNothingLong(t *testing.T) {
	long := `"` + strings.Repeat("x", jsonrpc.LongMember) + `"`
	short := `"` + strings.Repeat("x", jsonrpc.LongMember-3) + `"`
	for _, test := range []struct{ message, want string }{
		{`"id":1,"method":"m","params":{"name":"n","arguments":{"a":` + long + `},"_meta":{"progressToken":7}}`, `{"name":"n","arguments":{},"_meta":{"progressToken":7}}`},
		{`"method":"m","params":{"a":` + long + `,"_meta":{"a":` + long + `}}`, `{"a":"","_meta":{"a":` + long + `}}`},
		{`"method":"m","params":[` + long + `]`, `[` + long + `]`},
		{`"id":1,"params":{ "a" : ` + long + ` , "b":{"a":1}},"method":"m"`, `{ "a" : "" , "b":{"a":1}}`},
		{`"id":1,"other":{"a":` + long + `},"result":{"content":[` + long + `],"isError":true,"more":` + long + `}`, `{"content":[],"isError":true,"more":""}`},
		{`"id":1,"result":{"content":` + short + `}`, `{"content":` + short + `}`},
		{`"id":1,"error":{"code":1,"message":"m","data":` + long + `}`, ``},
	} {
		text := `{"jsonrpc":"2.0",` + test.message + `}`
		m, err := jsonrpc.Decode([]byte(text), jsonrpc.Limits{})
		if got := string(m.Outline()); err != nil || got != test.want {
			t.Errorf("%.80s: got %.100q, %v, want %.100q", test.message, got, err, test.want)
		}
		if got := string(m.Append(nil)); m.Error == nil && len(got) < len(text)-len(long)-20 {
			t.Errorf("%.80s: %d bytes of %d are left of the message", test.message, len(got), len(text))
		}
		all, _, err := jsonrpc.DecodeBatch(fmt.Appendf(nil, "[%s,%s]", text, `{"jsonrpc":"2.0","method":"n","params":{}}`), jsonrpc.Limits{})
		if err != nil || string(all[0].Outline()) != test.want || string(all[1].Outline()) != "{}" {
			t.Errorf("%.80s: in an array it is another: %v", test.message, err)
		}
	}
	if got := string(jsonrpc.Request(jsonrpc.IntID(1), "m", []byte(`{"a":`+long+`}`)).Outline()); len(got) < len(long) {
		t.Errorf("a message that was put together has the outline %.80q", got)
	}
}

// What stands around a result is what Append writes around it.
func TestAroundIsWhatAppendWrites(t *testing.T) {
	m := jsonrpc.Response(jsonrpc.StringID("a"), []byte(`{"b":1}`))
	before, after := m.Around(nil)
	if got, want := string(before)+string(m.Result)+after, string(m.Append(nil)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
