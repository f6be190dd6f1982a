package jsonrpc_test

import (
	"bytes"
	"strings"
	"testing"

	"mcpd/protocol/jsonrpc"
)

// DecodeLenient reads messages of servers as JSON.parse does, and returns strict JSON.
func TestDecodeLenient(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"strict", `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`},
		{"lone high surrogate", `{"jsonrpc":"2.0","id":1,"result":{"a":"x\ud83dy"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"a":"x\ufffdy"}}`},
		{"lone low surrogate", `{"jsonrpc":"2.0","id":1,"result":{"a":"\uDE00"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"a":"\ufffd"}}`},
		{"two high and a pair", `{"jsonrpc":"2.0","id":1,"result":["\ud83d\ud83d\ude00"]}`,
			`{"jsonrpc":"2.0","id":1,"result":["\ufffd\ud83d\ude00"]}`},
		{"an escaped backslash before u", `{"jsonrpc":"2.0","id":1,"result":["\\\\ud83d","\ud83d"]}`,
			`{"jsonrpc":"2.0","id":1,"result":["\\\\ud83d","\ufffd"]}`},
		{"a surrogate in a name", `{"jsonrpc":"2.0","id":1,"result":{"\ud83d":1}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"\ufffd":1}}`},
		{"latin-1", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[\"caf\xe9\"]}",
			`{"jsonrpc":"2.0","id":1,"result":["caf\uFFFD"]}`},
		{"a character that is cut", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[\"\xe2\x82\"]}",
			`{"jsonrpc":"2.0","id":1,"result":["\uFFFD"]}`},
		{"a surrogate as UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[\"\xed\xa0\xbd\"]}",
			`{"jsonrpc":"2.0","id":1,"result":["\uFFFD\uFFFD\uFFFD"]}`},
		{"a byte order mark", "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"two byte order marks", "\xef\xbb\xbf\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"a member twice", `{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":2,"a":3}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"b":2,"a":3}}`},
		{
			"three times, deeper",
			`{"jsonrpc":"2.0","id":1,"result":[{"x":{"a":{"a":1,"a":2},"a":[],"a":{"b":1,"b":{"c":1,"c":2}}}}]}`, `{"jsonrpc":"2.0","id":1,"result":[{"x":{"a":{"b":{"c":2}}}}]}`,
		},
		{"the same with an escape", `{"jsonrpc":"2.0","id":1,"result":{"a":1,"\u0061":2}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"\u0061":2}}`},
		{"the id twice", `{"jsonrpc":"2.0","id":1,"result":{},"id":2}`,
			`{"jsonrpc":"2.0","id":2,"result":{}}`},
		{"a null error beside a result", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"a null result beside an error",
			`{"jsonrpc":"2.0","result":null,"id":1,"error":{"code":1,"message":"m"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`},
		{"null for all it has not",
			`{"jsonrpc":"2.0","id":1,"method":null,"params":null,"result":{},"error":null}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"an id as a decimal text", `{"jsonrpc":"2.0","id":"11","result":{}}`,
			`{"jsonrpc":"2.0","id":11,"result":{}}`},
		{"an id with a fraction of nothing", `{"jsonrpc":"2.0","id":11.0,"result":{}}`,
			`{"jsonrpc":"2.0","id":11,"result":{}}`},
		{"an error's code with a fraction of nothing",
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32000.0,"message":"m"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m"}}`},
		{"an error's code with an exponent, twice",
			`{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m","c\u006fde":1e15}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":1000000000000000,"message":"m"}}`},
		{"a code within an error's data",
			`{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":"m","data":{"code":2.0}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"code":2.0}}}`},
		{"an id with an exponent", `{"jsonrpc":"2.0","id":1.1e1,"result":{}}`,
			`{"jsonrpc":"2.0","id":11,"result":{}}`},
		{"an error's id", `{"jsonrpc":"2.0","id":"7","error":{"code":1,"message":"m"}}`,
			`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}`},
		{"an id with a zero before it", `{"jsonrpc":"2.0","id":"011","result":{}}`,
			`{"jsonrpc":"2.0","id":11,"result":{}}`},
		{"an id that is almost a whole number",
			`{"jsonrpc":"2.0","id":11.00000000000000000000000000000000001,"result":{}}`,
			`{"jsonrpc":"2.0","id":11,"result":{}}`},
		{"an id that is no number", `{"jsonrpc":"2.0","id":"x11","result":{}}`,
			`{"jsonrpc":"2.0","id":"x11","result":{}}`},
		{"a request keeps its id", `{"jsonrpc":"2.0","id":"11","method":"ping"}`,
			`{"jsonrpc":"2.0","id":"11","method":"ping"}`},
		{"a request with a member twice",
			`{"jsonrpc":"2.0","id":"11","method":"x","params":{"a":1,"a":2}}`,
			`{"jsonrpc":"2.0","id":"11","method":"x","params":{"a":2}}`},
		{"a notification with a lone surrogate",
			`{"jsonrpc":"2.0","method":"n","params":{"data":"\ud800"}}`,
			`{"jsonrpc":"2.0","method":"n","params":{"data":"\ufffd"}}`},
		{"an id with a real fraction", `{"jsonrpc":"2.0","id":1.5,"result":{}}`, ""},
		{"an error and a result", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`},
		{"a result and an error that is none", `{"jsonrpc":"2.0","id":1,"result":{},"error":false}`, ""},
		{"a null result", `{"jsonrpc":"2.0","id":1,"result":null}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"an error without a message", `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"data":{"x":1}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"","data":{"x":1}}}`},
		{"a null message", `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":null}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":""}}`},
		{"an error without a code, its message twice",
			`{"jsonrpc":"2.0","id":1,"error":{"message":"a","message":"m"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m"}}`},
		{"a code that is a text", `{"jsonrpc":"2.0","id":1,"error":{"code":"E_FAIL","message":"m"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m"}}`},
		{"a code with a fraction", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m"}}`},
		{"data alone", `{"jsonrpc":"2.0","id":1,"error":{"data":[1]}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"","data":[1]}}`},
		{"an empty error", `{"jsonrpc":"2.0","id":1,"error":{ }}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":""}}`},
		{"an error that is a text", `{"jsonrpc":"2.0","id":1,"error":"it \ud83d failed"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"it \uFFFD failed"}}`},
		{"an error that is true", `{"jsonrpc":"2.0","id":1,"error":true}`, ""},
		{"a message that is an object", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":{}}}`, ""},
		{"a broken escape", `{"jsonrpc":"2.0","id":1,"result":["\x"]}`, ""},
		{"a control character", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[\"\n\"]}", ""},
		{"NaN", `{"jsonrpc":"2.0","id":1,"result":[NaN]}`, ""},
		{"a text that ends", `{"jsonrpc":"2.0","id":1,"result":["\ud83d`, ""},
		{"a text that ends in an escape", `{"jsonrpc":"2.0","id":1,"result":["\`, ""},
	} {
		text := strings.Clone(c.text)
		m, err := jsonrpc.DecodeLenient([]byte(text), jsonrpc.Limits{})
		got := ""
		if err == nil {
			got = string(m.Append(nil))
		}
		if got != strings.ReplaceAll(c.want, `\uFFFD`, "\uFFFD") {
			t.Errorf("%s: got %s, %v; want %s", c.name, got, err, c.want)
		}
		if c.want == "" || strings.HasPrefix(c.want, `{"jsonrpc":"2.0","method"`) {
			continue
		}
		batch, isBatch, err := jsonrpc.DecodeBatchLenient([]byte("["+strings.TrimLeft(text, "\ufeff")+
			"]"), jsonrpc.Limits{})
		if err != nil || !isBatch || len(batch) != 1 || string(batch[0].Append(nil)) != got {
			t.Errorf("%s: in an array it is %v, %v", c.name, batch, err)
		}
	}
}

// DecodeLenient returns data's own memory if no repair is needed, and never changes data.
func TestDecodeLenientLeavesItsInput(t *testing.T) {
	data := []byte(`{"jsonrpc":"2.0","id":1,"result":{"a":"\ud83d","a":"\ud83d"}}`)
	before := bytes.Clone(data)
	if _, err := jsonrpc.DecodeLenient(data, jsonrpc.Limits{}); err != nil ||
		!bytes.Equal(data, before) {
		t.Errorf("%v, the input is %s", err, data)
	}
	data = []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	m, err := jsonrpc.DecodeLenient(data, jsonrpc.Limits{})
	if err != nil || &m.Result[0] != &data[bytes.Index(data, []byte("{}"))] {
		t.Errorf("%v, strict text is copied", err)
	}
}

// The limits also apply to repaired input.
func TestDecodeLenientIsBounded(t *testing.T) {
	deep := `{"jsonrpc":"2.0","id":1,"result":{"x":"\ud83d","a":` + strings.Repeat("[", 100) +
		strings.Repeat("]", 100) + `}}`
	for name, limits := range map[string]jsonrpc.Limits{
		"depth":   {Depth: 50},
		"bytes":   {Bytes: 50},
		"tokens":  {Tokens: 50, Depth: 1000},
		"members": {Keys: 1, Depth: 1000},
	} {
		if _, err := jsonrpc.DecodeLenient([]byte(deep), limits); err == nil {
			t.Errorf("%s is not bounded", name)
		}
	}
}
