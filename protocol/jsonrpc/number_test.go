package jsonrpc_test

import (
	"errors"
	"testing"

	"mcpd/protocol/jsonrpc"
)

// NumberID reads ids of responses as Number(...) of JavaScript does. The values come from Node 20.
func TestNumberID(t *testing.T) {
	for raw, want := range map[string]string{
		`11`: `11`, `11.0`: `11`, `1.1e1`: `11`, `110E-1`: `11`, `-0`: `0`,
		`"11"`: `11`, `"011"`: `11`, `"+11"`: `11`, `"11."`: `11`, `"1.1e1"`: `11`, `".11e2"`: `11`,
		`" 11 "`: `11`, `"\n11\u00a0\ufeff\u2028\u3000"`: `11`, `"\u0031\u0031"`: `11`,
		`"0xb"`: `11`, `"0XB"`: `11`, `"0o13"`: `11`, `"0B1011"`: `11`, `" 0xb\t"`: `11`,
		`"11.0000000000000000001"`: `11`, `""`: `0`, `"  "`: `0`,
		`"9007199254740991"`: `9007199254740991`, `"1e-400"`: `0`,

		``: ``, `null`: ``, `true`: ``, `11.5`: ``, `-11`: ``, `9007199254740993`: ``, `1e400`: ``,
		`"11a"`: ``, `"1 1"`: ``, `"1_1"`: ``, `"0x"`: ``, `"0xg"`: ``, `"-0xb"`: ``, `"+0xb"`: ``,
		`"0x+b"`: ``, `"0x_b"`: ``, `"0x1p3"`: ``, `"0b2"`: ``, `"."`: ``, `"e1"`: ``, `"1e"`: ``,
		`"inf"`: ``, `"Infinity"`: ``, `"NaN"`: ``, `"-11"`: ``, `"11.5"`: ``, `"1e400"`: ``,
		`"11\u0085"`: ``, `"11\u200b"`: ``, `"11n"`: ``, `"\x"`: ``, `[11]`: ``,
	} {
		id, ok := jsonrpc.NumberID([]byte(raw))
		if id.Raw() != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", raw, id.Raw(), ok, want)
		}
	}
}

// A response that cannot be decoded fails the request that its id names.
func TestRefusedAnswerNamesItsRequest(t *testing.T) {
	const text = `{"jsonrpc":"2.0","id":"0xb","error":true}`
	_, err := jsonrpc.DecodeLenient([]byte(text), jsonrpc.Limits{})
	var bad *jsonrpc.DecodeError
	if !errors.As(err, &bad) || bad.ID != jsonrpc.IntID(11) {
		t.Errorf("%v names %v", err, bad)
	}
	_, _, err = jsonrpc.DecodeBatchLenient([]byte("["+text+"]"), jsonrpc.Limits{})
	var some *jsonrpc.BatchError
	if !errors.As(err, &some) || some.Refused[0].ID != jsonrpc.IntID(11) {
		t.Errorf("in an array: %v", err)
	}
}
