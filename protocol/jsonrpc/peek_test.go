package jsonrpc

import "testing"

func TestPeek(t *testing.T) {
	for _, c := range []struct {
		text     string
		id       string // raw; empty for none
		response bool
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{"a":`, `7`, true},
		{`{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}`, `7`, true},
		{`{"result":{"a":1,"a":2},"jsonrpc":"2.0","id":7}`, `7`, true},
		{"{\"id\":\"x\",\"error\":{\"message\":\"\xff\"}}", `"x"`, true},
		{`{"jsonrpc":"2.0","id":7,"error":`, `7`, true},
		{`{"result":{"id":8,"deep":[`, ``, true},
		{`{"jsonrpc":"2.0","id":7,"method":"ping","params":[`, `7`, false},
		{`{"jsonrpc":"2.0","id":7,"params":{`, ``, false},
		{`{"id":7,"id":8,"result":{}}`, ``, true},
		{`{"id":7,"method":"m","result":{}}`, ``, false},
		{`{"id":{},"result":{}}`, ``, true},
		{`{"id":7.5,"result":{}}`, ``, true},
		{`{"id":7.0,"result":{"a":`, `7`, true},
		{`{"id":"0x7","result":{"a":`, `7`, true},
		{`{"id":"0x7","method":"ping","params":[`, `"0x7"`, false},
		{`{"id":7`, ``, false},
		{`{"id":`, ``, false},
		{`[{"id":7,"result":{}}]`, ``, false},
		{`loading`, ``, false},
		{``, ``, false},
	} {
		id, response := PeekID([]byte(c.text))
		if id.Raw() != c.id || response != c.response {
			t.Errorf("%s: got %s, %v, want %s, %v", c.text, id.Raw(), response, c.id, c.response)
		}
	}
}

func TestLastID(t *testing.T) {
	for text, want := range map[string]string{
		`x"]},"jsonrpc":"2.0","id":12}`:         `12`,
		`x"]}, "jsonrpc": "2.0", "id": 12 } `:   `12`,
		`x"]},"id":12,"jsonrpc":"2.0"}`:         `12`,
		`{"id":12}`:                             `12`,
		`{"x":{"id":12}}`:                       ``,
		`,"id":12.5}`:                           ``,
		`,"id":"12"}`:                           ``,
		`\"id":12}`:                             ``,
		`,"id":12`:                              ``,
		`,"id":99999999999999999999}`:           ``,
		`,"id":12,"jsonrpc":"2.0","result":{}}`: ``,
	} {
		if id, _ := LastID([]byte(text)); id.Raw() != want {
			t.Errorf("%s: got %q, want %q", text, id.Raw(), want)
		}
	}
}
