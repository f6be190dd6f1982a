package jsonrpc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcpd/protocol/jsonrpc"
)

func TestDecodeFourShapes(t *testing.T) {
	for _, tc := range []struct {
		in   string
		kind jsonrpc.Kind
		id   string
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, jsonrpc.KindRequest, `1`},
		{` { "params" : { } , "method" : "m" , "id" : "a" , "jsonrpc" : "2.0" } `,
			jsonrpc.KindRequest, `"a"`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, jsonrpc.KindNotification, ``},
		{`{"jsonrpc":"2.0","id":7,"result":{}}`, jsonrpc.KindResult, `7`},
		{`{"jsonrpc":"2.0","id":7,"result":null}`, jsonrpc.KindResult, `7`},
		{`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`, jsonrpc.KindFailure, `7`},
		{`{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, jsonrpc.KindFailure, ``},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, jsonrpc.KindFailure, ``},
	} {
		m, err := jsonrpc.Decode([]byte(tc.in), jsonrpc.Limits{})
		if err != nil {
			t.Errorf("%s: %v", tc.in, err)
			continue
		}
		if m.Kind() != tc.kind || m.ID.Raw() != tc.id {
			t.Errorf("%s: got %v with id %s, want %v with id %s", tc.in, m.Kind(), m.ID, tc.kind, tc.id)
		}
	}
}

// Attacks S17-S22: input that is not strict JSON-RPC is refused. The refusal names the problem and
// its position.
func TestDecodeRefuses(t *testing.T) {
	deep := strings.Repeat(`[`, 63) + strings.Repeat(`]`, 63)
	for _, tc := range []struct {
		name, in string
		reason   jsonrpc.Reason
		detail   string
		offset   int
	}{
		{"empty input", ``, "parse", "the text ends where a value should be", 0},
		{"blank input", "  ", "parse", "the text ends", 2},
		{"byte order mark", "\xef\xbb\xbf{}", "parse", "a byte order mark", 0},
		{"UTF-16", "{\x00\"\x00", "parse", `'\x00' where a member's name should be`, 1},
		{"invalid UTF-8", `{"a":"` + "\xff" + `"}`, "parse", "invalid UTF-8", 6},
		{"encoded surrogate", `{"a":"` + "\xed\xa0\x80" + `"}`, "parse", "invalid UTF-8", 6},
		{"lone high surrogate", `{"a":"\ud800"}`, "parse", "lone surrogate", 6},
		{"lone low surrogate", `{"a":"\udc00"}`, "parse", "lone surrogate", 6},
		{"high surrogate before other", `{"a":"\ud800\u0041"}`, "parse", "lone surrogate", 6},
		{"high surrogate before text", `{"a":"\ud800xxxxxx"}`, "parse", "lone surrogate", 6},
		{"unknown escape", `{"a":"\x"}`, "parse", "broken escape", 6},
		{"short escape", `{"a":"\u12"}`, "parse", "broken escape", 6},
		{"escape at the end", `{"a":"\`, "parse", "broken escape", 6},
		{"control character", "{\"a\":\"\t\"}", "parse", "control character 0x09", 6},
		{"open string", `{"a`, "parse", "a string without end", 1},
		{"trailing text", `{"jsonrpc":"2.0","method":"m"} x`, "parse",
			`'x' where the end of the text should be`, 31},
		{"trailing comma", `{"a":1,}`, "parse", `'}' where a member's name should be`, 7},
		{"trailing comma in array", `{"a":[1,]}`, "parse", `']' where a value should be`, 8},
		{"missing comma", `{"a":1 "b":2}`, "parse", `'"' where ',' or '}' should be`, 7},
		{"missing comma in array", `{"a":[1 2]}`, "parse", `'2' where ',' or ']' should be`, 8},
		{"missing colon", `{"a" 1}`, "parse", `'1' where ':' should be`, 5},
		{"missing value", `{"a":}`, "parse", `'}' where a value should be`, 5},
		{"bare name", `{a:1}`, "parse", `'a' where a member's name should be`, 1},
		{"leading zero", `{"a":01}`, "parse", `'1' where`, 6},
		{"plus sign", `{"a":+1}`, "parse", `'+' where a value should be`, 5},
		{"bare minus", `{"a":-}`, "parse", `'}' where a digit should be`, 6},
		{"bare point", `{"a":1.}`, "parse", `'}' where a digit should be`, 7},
		{"bare exponent", `{"a":1e+}`, "parse", `'}' where a digit should be`, 8},
		{"NaN", `{"a":NaN}`, "parse", `'N' where a value should be`, 5},
		{"half a word", `{"a":tru}`, "parse", "an unknown word", 5},
		{"other false", `{"a":fals3}`, "parse", "an unknown word", 5},
		{"other null", `{"a":nul`, "parse", "an unknown word", 5},

		{"second method", `{"jsonrpc":"2.0","method":"a","method":"b"}`, "parse",
			`a second member "method"`, 30},
		{"second method, escaped", `{"jsonrpc":"2.0","method":"a","\u006dethod":"b"}`, "parse",
			`a second member "method"`, 30},
		{"second id", `{"id":1,"id":2}`, "parse", `a second member "id"`, 8},
		{"second member in params", `{"method":"a","params":{"x":1,"x":2}}`, "parse",
			`a second member "x"`, 30},
		{"second member in _meta", `{"params":{"_meta":{"a":1,"a":1}}}`, "parse",
			`a second member "a"`, 26},
		{"second member in error data",
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","code":2}}`, "parse",
			`a second member "code"`, 55},

		{"not an object", `1`, "invalid_request", "a message that is not an object", 0},
		{"an array", `[{"jsonrpc":"2.0","method":"m"}]`, "invalid_request",
			"a message that is not an object", 0},
		{"no version", `{"id":1,"method":"m"}`, "invalid_request", `no member "jsonrpc"`, 0},
		{"version 1.0", `{"jsonrpc":"1.0","method":"m"}`, "invalid_request", `other than "2.0"`, 11},
		{"version as number", `{"jsonrpc":2.0,"method":"m"}`, "invalid_request", `other than "2.0"`, 11},
		{"capital name", `{"jsonrpc":"2.0","id":1,"Method":"m"}`, "invalid_request",
			`no "method", "result" or "error"`, 0},
		{"look-alike name", `{"jsonrpc":"2.0","id":1,"method\u0000":"m"}`, "invalid_request",
			`no "method", "result" or "error"`, 0},
		{"look-alike params", `{"jsonrpc":"2.0","id":1,"methodſ":"m"}`, "invalid_request",
			`no "method", "result" or "error"`, 0},
		{"method not a string", `{"jsonrpc":"2.0","method":1}`, "invalid_request",
			`a "method" that is not a string`, 26},
		{"empty method", `{"jsonrpc":"2.0","method":""}`, "invalid_request", `an empty "method"`, 26},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"m"}`, "invalid_request",
			`an "id" that is neither string nor integer`, 22},
		{"boolean id", `{"jsonrpc":"2.0","id":true,"method":"m"}`, "invalid_request",
			`an "id" that is neither`, 22},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"m"}`, "invalid_request",
			`an "id" that is neither`, 22},
		{"array id", `{"jsonrpc":"2.0","id":[],"method":"m"}`, "invalid_request",
			`an "id" that is neither`, 22},
		{"fraction id", `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, "invalid_request",
			`an "id" that is not an integer`, 22},
		{"exponent id", `{"jsonrpc":"2.0","id":1e3,"method":"m"}`, "invalid_request",
			`an "id" that is not an integer`, 22},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, "invalid_request",
			`both "method" and an answer`, 0},
		{"method and error", `{"jsonrpc":"2.0","id":1,"method":"m","error":{}}`, "invalid_request",
			`both "method" and an answer`, 0},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, "invalid_request",
			`both "result" and "error"`, 44},
		{"neither", `{"jsonrpc":"2.0","id":1}`, "invalid_request", `no "method", "result" or "error"`, 0},
		{"params in an answer", `{"jsonrpc":"2.0","id":1,"params":{},"result":{}}`, "invalid_request",
			`"params" in an answer`, 33},
		{"params not structured", `{"jsonrpc":"2.0","method":"m","params":1}`, "invalid_request",
			`"params" that are neither`, 39},
		{"result without id", `{"jsonrpc":"2.0","result":{}}`, "invalid_request",
			`a result without "id"`, 0},
		{"result with null id", `{"jsonrpc":"2.0","id":null,"result":{}}`, "invalid_request",
			`an "id" that is neither`, 22},
		{"error not an object", `{"jsonrpc":"2.0","id":1,"error":"x"}`, "invalid_request",
			`an "error" that is not an object`, 32},
		{"error without code", `{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`, "invalid_request",
			`an "error" without "code"`, 32},
		{"error without message", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, "invalid_request",
			`an "error" without "message"`, 32},
		{"error code a fraction", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}`,
			"invalid_request", `an error "code" that is not an integer`, 40},
		{"error message a number", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":1}}`,
			"invalid_request", `an error "message" that is not a string`, 52},

		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"m","params":[` + deep + `]}`, "limits",
			"deeper than 64", 46 + 63},
		{"too long an id", `{"jsonrpc":"2.0","method":"m","id":"` + strings.Repeat("x", 257) + `"}`,
			"limits", `an "id" longer than 256 bytes`, 35},
		{"too long a method", `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 257) + `"}`, "limits",
			`a "method" longer than 256 bytes`, 26},
		{"too long a number", `{"params":{"a":` + strings.Repeat("1", 4301) + `}}`, "limits",
			"a number longer than 4300 bytes", 15},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := jsonrpc.Decode([]byte(tc.in), jsonrpc.Limits{})
			var refused *jsonrpc.DecodeError
			if !errors.As(err, &refused) {
				t.Fatalf("got %+v and %v, want a refusal", m, err)
			}
			code := int64(jsonrpc.CodeInvalidRequest)
			if tc.reason == jsonrpc.ReasonParse {
				code = jsonrpc.CodeParse
			}
			if refused.Reason != tc.reason || refused.Code != code || refused.Offset != tc.offset ||
				!strings.Contains(refused.Detail, tc.detail) {
				t.Errorf("got %v (%d), want %s: …%s… at byte %d", refused, refused.Code, tc.reason,
					tc.detail, tc.offset)
			}
			if !strings.Contains(err.Error(), " at byte ") {
				t.Errorf("got %q, want the place named", err)
			}
		})
	}
}

func TestDecodeLimits(t *testing.T) {
	message := func(params string) string {
		return `{"jsonrpc":"2.0","id":9,"method":"m","params":` + params + `}`
	}
	for _, tc := range []struct {
		name   string
		limits jsonrpc.Limits
		good   string
		bad    string
		reason jsonrpc.Reason
	}{
		{"bytes", jsonrpc.Limits{Bytes: 52}, message(`[111]`), message(`[1111]`), jsonrpc.ReasonTooLarge},
		{"depth", jsonrpc.Limits{Depth: 3}, message(`{"a":[1]}`), message(`{"a":[[]]}`),
			jsonrpc.ReasonLimits},
		{"tokens", jsonrpc.Limits{Tokens: 12}, message(`[1]`), message(`[1,1]`), jsonrpc.ReasonLimits},
		{"tokens, at a name", jsonrpc.Limits{Tokens: 12}, message(`{}`), message(`{"a":1}`),
			jsonrpc.ReasonLimits},
		{"keys", jsonrpc.Limits{Keys: 5}, message(`{"a":1,"b":1,"c":1,"d":1,"e":1}`),
			message(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`), jsonrpc.ReasonLimits},
		{"digits", jsonrpc.Limits{Digits: 3}, message(`[1.5]`), message(`[1.55]`), jsonrpc.ReasonLimits},
		{"id", jsonrpc.Limits{ID: 2}, `{"jsonrpc":"2.0","id":"12","method":"m"}`,
			`{"jsonrpc":"2.0","id":123,"method":"m"}`, jsonrpc.ReasonLimits},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := jsonrpc.Decode([]byte(tc.good), tc.limits); err != nil {
				t.Errorf("%s: %v", tc.good, err)
			}
			var refused *jsonrpc.DecodeError
			if _, err := jsonrpc.Decode([]byte(tc.bad), tc.limits); !errors.As(err, &refused) ||
				refused.Reason != tc.reason {
				t.Errorf("%s: got %v, want %s", tc.bad, err, tc.reason)
			}
		})
	}
}

// A refusal has the id of its message, so that the sender gets an error response. It also says
// whether the message itself was a response.
func TestRefusalNamesTheMessage(t *testing.T) {
	for _, tc := range []struct {
		in       string
		id       string
		response bool
	}{
		{`{"jsonrpc":"2.0","id":5,"method":1}`, `5`, false},
		{`{"jsonrpc":"1.0","id":"x","method":"m"}`, `"x"`, false},
		{`{"jsonrpc":"2.0","id":5,"error":{}}`, `5`, true},
		{`{"id":5,"result":{}}`, `5`, true},
		{`{"jsonrpc":"2.0","id":5,"result":[[[[[]]]]]}`, `5`, false},
		{`{"jsonrpc":"2.0","id":5,"result":{},"x":[[[[[]]]]]}`, `5`, true},
		{`{"jsonrpc":"2.0","id":[],"method":"m"}`, ``, false},
		{`{"jsonrpc":"2.0","id":5,"method":"m"`, ``, false},
	} {
		_, err := jsonrpc.Decode([]byte(tc.in), jsonrpc.Limits{Depth: 4})
		var refused *jsonrpc.DecodeError
		if !errors.As(err, &refused) || refused.ID.Raw() != tc.id || refused.Response != tc.response {
			t.Errorf("%s: got %+v, want id %s and response %v", tc.in, refused, tc.id, tc.response)
		}
	}
}

func TestManyMembersAreStillUnique(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","method":"m","params":{`)
	for i := range 100 {
		b.WriteString(`"k` + strings.Repeat("x", i) + `":{"a":1},`)
	}
	if _, err := jsonrpc.Decode([]byte(b.String()+`"last":1}}`), jsonrpc.Limits{}); err != nil {
		t.Errorf("unique members: %v", err)
	}
	for _, again := range []string{`"k"`, `"kxxx"`, `"\u006b"`, `"k` + strings.Repeat("x", 99) + `"`} {
		_, err := jsonrpc.Decode([]byte(b.String()+again+`:1}}`), jsonrpc.Limits{})
		if err == nil || !strings.Contains(err.Error(), "a second member") {
			t.Errorf("%s again: got %v", again, err)
		}
	}
}

// The names of one object must not count as duplicates in the next object.
func TestObjectsDoNotShareNames(t *testing.T) {
	for _, n := range []int{3, 20, 300} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":{"k0":[{"\u006b0":1}]},`, i)
		}
		members := strings.TrimSuffix(b.String(), ",")
		message := func(last string) []byte {
			return []byte(`{"jsonrpc":"2.0","method":"m","params":[{` + members + `},{` + members + `},{` +
				members + last + `}]}`)
		}
		if _, err := jsonrpc.Decode(message(`,"\u006b":1`), jsonrpc.Limits{}); err != nil {
			t.Errorf("%d: %v", n, err)
		}
		for _, again := range []string{`,"k1":1`, `,"\u006b2":1`} {
			if _, err := jsonrpc.Decode(message(again), jsonrpc.Limits{}); err == nil {
				t.Errorf("%d: %s was accepted", n, again)
			}
		}
	}
}

// Raw parts keep every byte: numbers that no float can hold, spacing, escapes.
func TestRawPartsKeepTheirBytes(t *testing.T) {
	const params = `{ "n" : 12345678901234567890.10, "s":"\u0041\/" ,"e":1E+2}`
	m, err := jsonrpc.Decode(
		[]byte(`{"jsonrpc":"2.0","id":18446744073709551616,"method":"tools\/call","params":`+params+`}`),
		jsonrpc.Limits{},
	)
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Params) != params || m.ID.Raw() != "18446744073709551616" || m.Method != "tools/call" {
		t.Errorf("got %s %s %s", m.ID, m.Method, m.Params)
	}
	if cap(m.Params) != len(m.Params) {
		t.Errorf("params have room for %d more bytes, which belong to the input",
			cap(m.Params)-len(m.Params))
	}
	f, err := jsonrpc.Decode(
		[]byte(`{"jsonrpc":"2.0","id":"é\n","error":{"code":-9223372036854775808,"message":"a\u0062c","data":1.0,"more":[]}}`), jsonrpc.Limits{},
	)
	if err != nil {
		t.Fatal(err)
	}
	if f.Error.Code != -9223372036854775808 || f.Error.Message != "abc" ||
		string(f.Error.Data) != "1.0" || f.ID.Raw() != `"é\n"` {
		t.Errorf("got %s %+v", f.ID, f.Error)
	}
}

func TestNullParamsAreNoParams(t *testing.T) {
	m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`),
		jsonrpc.Limits{})
	if err != nil || m.Params != nil {
		t.Errorf("got %s, %v", m.Params, err)
	}
}

func TestDecodeBatch(t *testing.T) {
	const one = `{"jsonrpc":"2.0","id":1,"method":"m"}`
	for _, tc := range []struct {
		name, in string
		messages int
		batch    bool
		refused  int    // messages in the array
		err      string // error of the whole input
	}{
		{"one message", one, 1, false, 0, ""},
		{"array of one", ` [` + one + `]`, 1, true, 0, ""},
		{"array of two", `[` + one + ` , ` + one + `]`, 2, true, 0, ""},
		{"array with a stranger", `[1,` + one + `,{}]`, 1, true, 2, ""},
		{"only strangers", `[1,2,3]`, 0, true, 3, ""},
		{"empty array", `[]`, 0, true, 0, "an empty array"},
		{"open array", `[` + one, 0, true, 0, "the text ends where ',' or ']' should be"},
		{"text behind", `[` + one + `]]`, 0, true, 0, "the end of the text"},
		{"too many", `[` + strings.Repeat(one+`,`, 50) + one + `]`, 0, true, 0, "more than 50 messages"},
		{"broken message", `[{"a"]`, 0, true, 0, "':' should be"},
		{"one broken message", `{"a"`, 0, false, 0, "':' should be"},
		{"mark before the array", "\xef\xbb\xbf[]", 0, false, 0, "byte order mark"},
		{"too deep", `[` + strings.Repeat(`[`, 64) + strings.Repeat(`]`, 64) + `]`, 0, true, 0,
			"deeper than 64"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			messages, batch, err := jsonrpc.DecodeBatch([]byte(tc.in), jsonrpc.Limits{})
			if len(messages) != tc.messages || batch != tc.batch {
				t.Errorf("got %d messages, batch %v; want %d, %v", len(messages), batch, tc.messages, tc.batch)
			}
			var within *jsonrpc.BatchError
			if errors.As(err, &within) != (tc.refused > 0) ||
				tc.refused > 0 && (len(within.Refused) != tc.refused || len(within.Unwrap()) != tc.refused) {
				t.Errorf("got %v, want %d refused", err, tc.refused)
			}
			if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %v, want …%s…", err, tc.err)
			}
			if tc.err == "" && tc.refused == 0 && err != nil {
				t.Error(err)
			}
			if tc.refused > 0 && !strings.Contains(err.Error(), "refused in a batch") {
				t.Errorf("got %q", err)
			}
		})
	}
	if _, _, err := jsonrpc.DecodeBatch([]byte(`[1]`+strings.Repeat(" ", 100)),
		jsonrpc.Limits{Bytes: 10}); err == nil {
		t.Error("an array beyond the bytes was accepted")
	}
}

func TestIDs(t *testing.T) {
	for raw, good := range map[string]bool{`1`: true, ` "a" `: true, `-0`: true, `""`: true,
		`1.0`: false, `null`: false, `1 2`: false, `"`: false, ``: false} {
		id, err := jsonrpc.ParseID([]byte(raw))
		if (err == nil) != good || good && id.Raw() != strings.TrimSpace(raw) {
			t.Errorf("%q: got %s, %v", raw, id, err)
		}
	}
	if n, ok := jsonrpc.IntID(1<<53 - 1).Int(); !ok || n != 1<<53-1 {
		t.Errorf("got %d, %v", n, ok)
	}
	if _, ok := jsonrpc.StringID("1").Int(); ok {
		t.Error("a string is taken for a number")
	}
	if got, want := jsonrpc.StringID("a\"\n\xff").Raw(), "\"a\\\"\\n\ufffd\""; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (jsonrpc.ID{}).String(); got != "none" {
		t.Errorf("got %q", got)
	}
	if got := jsonrpc.IntID(7).String(); got != "7" {
		t.Errorf("got %q", got)
	}
}
