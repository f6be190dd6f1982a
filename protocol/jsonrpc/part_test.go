package jsonrpc

import (
	"bytes"
	"strings"
	"testing"
)

// A holder of a small part does not keep the large message in memory.
func TestSmallPartsAreCopies(t *testing.T) {
	pad := strings.Repeat(" ", 2*copyThreshold)
	for _, tt := range []struct {
		text string
		part func(m Message) []byte
		own  bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}` + pad + `}`, func(m Message) []byte {
			return m.Params
		}, true},
		{`{"jsonrpc":"2.0","id":1,"result":{"a":1},"x":"` + pad + `"}`, func(m Message) []byte {
			return m.Result
		}, true},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"a":1}` + pad + `}}`,
			func(m Message) []byte {
				return m.Error.Data
			}, true},
		{`[{"jsonrpc":"2.0","id":1,"result":{"a":1}},{"jsonrpc":"2.0","method":"m","params":{"a":"` +
			pad + `"}}]`, func(m Message) []byte {
			return m.Result
		}, true},
		{`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, func(m Message) []byte { return m.Result }, false},
		{`{"jsonrpc":"2.0","id":1,"result":{"a":"` + pad + pad + `"}` + pad + `}`,
			func(m Message) []byte {
				return m.Result
			}, false},
	} {
		text := []byte(tt.text)
		messages, _, err := DecodeBatch(text, Limits{})
		if err != nil {
			t.Fatalf("%.100s: %v", tt.text, err)
		}
		part := tt.part(messages[0])
		before := bytes.Clone(part)
		clear(text)
		if own := bytes.Equal(part, before); own != tt.own {
			t.Errorf("%.100s: a copy: %v", tt.text, own)
		}
	}
}
