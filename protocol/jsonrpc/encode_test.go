package jsonrpc_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
)

func TestAppend(t *testing.T) {
	for _, tc := range []struct {
		m    jsonrpc.Message
		want string
	}{
		{jsonrpc.Request(jsonrpc.IntID(1), "tools/list", nil),
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
		{jsonrpc.Request(jsonrpc.StringID("a"), "x\"y", jsontext.Value(`{"a":1}`)),
			`{"jsonrpc":"2.0","id":"a","method":"x\"y","params":{"a":1}}`},
		{jsonrpc.Notification("n", nil), `{"jsonrpc":"2.0","method":"n"}`},
		{jsonrpc.Response(jsonrpc.IntID(2), nil), `{"jsonrpc":"2.0","id":2,"result":{}}`},
		{jsonrpc.Response(jsonrpc.IntID(2), jsontext.Value(`null`)),
			`{"jsonrpc":"2.0","id":2,"result":null}`},
		{
			jsonrpc.Failure(jsonrpc.IntID(3), &jsonrpc.Error{
				Code: -32602, Message: "no\n", Data: jsontext.Value(`{"a":[]}`),
			}),
			`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no\n","data":{"a":[]}}}`,
		},
		{jsonrpc.Failure(jsonrpc.ID{}, &jsonrpc.Error{Code: -32700, Message: "x"}),
			`{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`},
		{jsonrpc.Message{}, `{"jsonrpc":"2.0"}`},
	} {
		got := string(tc.m.Append([]byte("before ")))
		if got != "before "+tc.want {
			t.Errorf("got  %s\nwant before %s", got, tc.want)
		}
		if n := tc.m.Size(); n < len(tc.want)/2 || n > len(tc.want)+96 {
			t.Errorf("%s: size %d is no estimate of %d", tc.want, n, len(tc.want))
		}
	}
}

// Line breaks of a pretty-printed body would end the frame of the next transport.
func TestAppendIsOneLine(t *testing.T) {
	m, err := jsonrpc.Decode(
		[]byte("{\n \"jsonrpc\":\"2.0\",\r\n\"method\":\"m\",\"params\":{\r\n  \"a\" : "+
			"\"x\\ny\",\r\"b\":\n[1,\n2]}}\n"), jsonrpc.Limits{},
	)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(m.Append(nil)),
		`{"jsonrpc":"2.0","method":"m","params":{  "a" : "x\ny","b":[1,2]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAppendBatch(t *testing.T) {
	got := string(jsonrpc.AppendBatch(nil, []jsonrpc.Message{
		jsonrpc.Response(jsonrpc.IntID(1), nil), jsonrpc.Response(jsonrpc.IntID(2), nil),
	}))
	if want := `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`; got !=
		want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestKindsAndErrorsReadWell(t *testing.T) {
	for kind, want := range map[jsonrpc.Kind]string{0: "invalid", 1: "request", 2: "notification",
		3: "result", 4: "failure"} {
		if got := kind.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (&jsonrpc.Error{Code: -1, Message: "user said no"}).Error(); got != "user said no (-1)" {
		t.Errorf("got %q", got)
	}
}

// checkRoundTrip checks that a decoded message, once appended, decodes to the same message.
func checkRoundTrip(t *testing.T, m jsonrpc.Message) {
	t.Helper()
	line := m.Append(nil)
	if bytes.ContainsAny(line, "\r\n") {
		t.Fatalf("more than one line: %q", line)
	}
	again, err := jsonrpc.Decode(line, jsonrpc.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if again.Kind() != m.Kind() || again.ID != m.ID || again.Method != m.Method {
		t.Fatalf("got %v %s %s, want %v %s %s", again.Kind(), again.ID, again.Method, m.Kind(),
			m.ID, m.Method)
	}
	if twice := again.Append(nil); !bytes.Equal(twice, line) {
		t.Fatalf("got %s, then %s", line, twice)
	}
}

func ExampleDecode() {
	m, err := jsonrpc.Decode(
		[]byte(`{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"name":"add","arguments":{"n":12345678901234567890}}}`), jsonrpc.Limits{},
	)
	fmt.Println(m.Kind(), m.ID, m.Method, m.Params, err)

	_, err = jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`),
		jsonrpc.Limits{})
	fmt.Println(err)

	answer := jsonrpc.Failure(m.ID, &jsonrpc.Error{
		Code: jsonrpc.CodeMethodNotFound, Message: "method not found",
	})
	fmt.Printf("%s\n", answer.Append(nil))
	// Output:
	// request "a-1" tools/call {"name":"add","arguments":{"n":12345678901234567890}} <nil>
	// parse: a second member "method" at byte 40
	// {"jsonrpc":"2.0","id":"a-1","error":{"code":-32601,"message":"method not found"}}
}
