package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
)

var seeds = []string{
	call,
	`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\ud83d\ude00 é"}],"isError":false}}`,
	`{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no","data":{"a":[1.5e3,-0,null,true]}}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}`,
	"[{\"jsonrpc\":\"2.0\",\"method\":\"a\"},\n 1]",
	`{"a":{"a":1,"\u0061":2}}`,
	"\xef\xbb\xbf{}",
	`{"jsonrpc":"2.0","id":"\ud800","method":"m"}`,
	`{"a":"` + "\xff" + `"}`,
	`[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]`,
	``,
	`{"a":01}`,
}

// FuzzDecode compares the scanner with the JSON library: both accept the same texts as strict JSON.
// A message that was accepted is the same after it is written and read again.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := jsonrpc.Decode(data, jsonrpc.Limits{})
		var refused *jsonrpc.DecodeError
		if err == nil {
			checkRoundTrip(t, m)
		} else if !errors.As(err, &refused) {
			t.Fatalf("%T: %v", err, err)
		} else if refused.Offset < 0 || refused.Offset > len(data) {
			t.Fatalf("byte %d of %d", refused.Offset, len(data))
		}
		valid := jsontext.Value(data).IsValid()
		switch {
		case err == nil && !valid:
			t.Fatalf("accepted, but is not JSON: %q", data)
		case err != nil && refused.Reason == jsonrpc.ReasonParse && valid:
			t.Fatalf("is JSON, but %v: %q", err, data)
		case err != nil && refused.Reason == jsonrpc.ReasonInvalidRequest && !valid:
			t.Fatalf("is not JSON, but %v: %q", err, data)
		}
		messages, _, err := jsonrpc.DecodeBatch(data, jsonrpc.Limits{})
		if err == nil && !valid {
			t.Fatalf("accepted as a batch, but is not JSON: %q", data)
		}
		for _, m := range messages {
			checkRoundTrip(t, m)
		}
	})
}

// FuzzDecodeLenient checks that DecodeLenient returns strict JSON with the meaning that
// encoding/json gives the input. encoding/json reads duplicate names as JSON.parse does.
func FuzzDecodeLenient(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":"\ud83d","b":[1,{"c":1,"c":2}],"a":null},"error":null}`,
		`{"jsonrpc":"2.0","id":1.0,"result":{"a":{"x":1},"a":2,"\u0061":3}}`,
		`{"jsonrpc":"2.0","method":"n","params":{"a":1,"a":"\udead\ud83d\ude00"}}`,
		`{"result":{},"jsonrpc":"2.0","id":"5","id":"5","method":null}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := jsonrpc.DecodeLenient(data, jsonrpc.Limits{})
		if err != nil {
			return
		}
		if again, err := jsonrpc.Decode(m.Append(nil), jsonrpc.Limits{}); err != nil ||
			again.Kind() != m.Kind() {
			t.Fatalf("%q is not strict JSON: %v", m.Append(nil), err)
		}
		if !utf8.Valid(data) { // encoding/json replaces each such byte by one U+FFFD
			return
		}
		var in struct{ Result, Params any }
		if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &in); err != nil {
			return // names in another case, and numbers that no float64 can hold
		}
		for read, meant := range map[string]any{string(m.Result): in.Result,
			string(m.Params): in.Params} {
			var got any
			if read == "" {
				continue
			}
			if err := json.Unmarshal([]byte(read), &got); err != nil || !reflect.DeepEqual(got, meant) {
				t.Fatalf("read %s of %s, %v", read, data, err)
			}
		}
	})
}
