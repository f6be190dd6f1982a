package jsonrpc_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mcpd/protocol/jsonrpc"
)

// The outline has every member, with long values elided. A long value deep inside a member elides
// the whole member.
func TestElidedTextHasNothingLong(t *testing.T) {
	long := `"` + strings.Repeat("x", jsonrpc.LongMember) + `"`
	short := `"` + strings.Repeat("x", jsonrpc.LongMember-3) + `"`
	for _, test := range []struct{ message, want string }{
		{`"id":1,"method":"m","params":{"name":"n","arguments":{"a":` + long +
			`},"_meta":{"progressToken":7}}`, `{"name":"n","arguments":{},"_meta":{"progressToken":7}}`},
		{`"method":"m","params":{"a":` + long + `,"_meta":{"a":` + long + `}}`,
			`{"a":"","_meta":{"a":` + long + `}}`},
		{`"method":"m","params":[` + long + `]`, `[` + long + `]`},
		{`"id":1,"params":{ "a" : ` + long + ` , "b":{"a":1}},"method":"m"`, `{ "a" : "" , "b":{"a":1}}`},
		{`"id":1,"other":{"a":` + long + `},"result":{"content":[` + long + `],"isError":true,"more":` +
			long + `}`, `{"content":[],"isError":true,"more":""}`},
		{`"id":1,"result":{"content":` + short + `}`, `{"content":` + short + `}`},
		{`"id":1,"error":{"code":1,"message":"m","data":` + long + `}`, ``},
	} {
		text := `{"jsonrpc":"2.0",` + test.message + `}`
		m, err := jsonrpc.Decode([]byte(text), jsonrpc.Limits{})
		if got := string(m.Elided()); err != nil || got != test.want {
			t.Errorf("%.80s: got %.100q, %v, want %.100q", test.message, got, err, test.want)
		}
		if got := string(m.Append(nil)); m.Error == nil && len(got) < len(text)-len(long)-20 {
			t.Errorf("%.80s: %d bytes of %d are left of the message", test.message, len(got), len(text))
		}
		all, _, err := jsonrpc.DecodeBatch(fmt.Appendf(nil, "[%s,%s]", text,
			`{"jsonrpc":"2.0","method":"n","params":{}}`), jsonrpc.Limits{})
		if err != nil || string(all[0].Elided()) != test.want || string(all[1].Elided()) != "{}" {
			t.Errorf("%.80s: in an array it is another: %v", test.message, err)
		}
	}
	if got := string(jsonrpc.Request(jsonrpc.IntID(1), "m",
		[]byte(`{"a":`+long+`}`)).Elided()); len(got) < len(long) {
		t.Errorf("a message that was put together has the outline %.80q", got)
	}
}

// The parts of a message together equal the output of Append. A large member shares the memory of
// the message, unless it has line breaks.
func TestPartsAreWhatAppendWrites(t *testing.T) {
	large := `{"a":"` + strings.Repeat("x", 100) + `"}`
	for _, test := range []struct {
		m      jsonrpc.Message
		pieces int
	}{
		{jsonrpc.Request(jsonrpc.IntID(1), "m", []byte(large)), 3},
		{jsonrpc.Notification("n", []byte(large)), 3},
		{jsonrpc.Response(jsonrpc.StringID("a"), []byte(large)), 3},
		{jsonrpc.Request(jsonrpc.IntID(1), "m", []byte("{\n"+large[1:])), 1},
		{jsonrpc.Request(jsonrpc.IntID(1), "m", []byte("{}")), 1},
		{jsonrpc.Request(jsonrpc.IntID(1), "m", nil), 1},
		{jsonrpc.Failure(jsonrpc.IntID(1), &jsonrpc.Error{Code: 1, Message: large, Data: []byte(large)}),
			1},
	} {
		parts, want := test.m.Parts(len(large)), string(test.m.Append(nil))
		if got := string(bytes.Join(parts, nil)); got != want || len(parts) != test.pieces {
			t.Errorf("%d parts, %s; want %d, %s", len(parts), got, test.pieces, want)
		}
		if own := append([]byte(test.m.Params), test.m.Result...); test.pieces == 3 {
			if shared := &parts[1][0]; len(test.m.Params) > 0 && shared != &test.m.Params[0] ||
				len(parts[1]) != len(own) {
				t.Errorf("%s is copied", parts[1])
			}
		}
	}
}
