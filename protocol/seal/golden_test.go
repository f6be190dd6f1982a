package seal_test

import (
	"bufio"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/sortedmap"
	"mcpd/protocol/seal"
)

var pin = flag.Bool("pin", false, "write the digests of requests that have none yet")

// pinned returns requests, by name. Tokens of earlier hosts are bound to the digests of these
// requests.
func pinned() map[string]string {
	nested := func(n int, open, closed string) string {
		return strings.Repeat(open, n) + "1" + strings.Repeat(closed, n)
	}
	all := map[string]string{
		"call":               `{"name":"files__read","arguments":{"path":"/srv/README.md","head":100},"_meta":{"progressToken":1}}`,
		"members not sorted": `{"name":"t","arguments":{"z":1,"a":{"y":[{"d":1,"c":2}],"b":{}}}}`,
		"retry":              `{"name":"t","requestState":"s","inputResponses":{"a":{"action":"accept"}},"arguments":{"b":1,"a":2}}`,
		"left out alone":     `{"_meta":{"a":1},"requestState":"s"}`,
		"left out twice":     `{"a":1,"_meta":1,"_meta":2}`,
		"left out, escaped":  `{"name":"t","_me\u0074a":{"a":1}}`,
		"left out below":     `{"arguments":{"_meta":1,"requestState":2}}`,
		"left out, broken":   `{"name":"t","_meta":{"a":1,"a":2}}`,
		"odd numbers":        `[0,-0,-0.0,1e400,1E+2,0.10,1.0,123456789012345678901234567890,5e-324,1e-400,100000000000000000000000]`,
		"numbers in objects": `{"n":12345678901234567890,"a":-0.0,"e":1E5,"f":1e+05}`,
		"literals":           `[true,false,null]`,
		"short escapes":      `"\b\f\n\r\t\"\\\/"`,
		"long escapes":       `"\u0000\u001f\u0008\u0009\u000a\u000c\u000d\u0022\u005c\u002f\u007f\u0080\u00e4\u2028\u2029\ud7ff\ue000\ufffd\uffff"`,
		"capital escapes":    `"\u00E4\uD83D\uDE00\uDBFF\uDFFF"`,
		"surrogates":         `"\ud83d\ude00x\ud800\udc00\udbff\udfff"`,
		"lone surrogates":    `["\ud83d","\udc00x","\ud83d\u0041"]`,
		"characters":         `"<>&'äß€😀` + "\u2028\u2029\u007f" + `"`,
		"escaped names":      `{"\u0062":1,"a":2,"\/":3,"\n":4,"\"":5,"\\":6,"\ud83d\ude00":7,"\uffee":8}`,
		"names by UTF-16":    `{"€":1,"😀":2,"דּ":3,"ö":4,"\u0080":5,"1":6,"\r":7}`,
		"names in order":     `{"":0," ":1,"A":2,"a":3,"aa":4,"b":5,"ä":6}`,
		"duplicate names":    `{"a":{"b":1,"b":2}}`,
		"duplicate, escaped": `{"x":1,"\u0078":2}`,
		"duplicate, far":     `{"c":1,"b":2,"a":3,"c":4}`,
		"spaces":             " \r\n\t{ \"b\" :\t[ 1 ,\n2 , { } , [ ] ] , \"a\" : \"  x  \" } \n",
		"empty":              ``,
		"only spaces":        ` `,
		"empty object":       `{}`,
		"empty array":        `[]`,
		"scalar":             `1`,
		"string":             `"_meta"`,
		"broken":             `{"broken`,
		"two values":         `{} {}`,
		"no UTF-8":           "{\"a\":\"\xff\"}",
		"no UTF-8, left out": "{\"b\":1,\"_meta\":\"\xff\",\"a\":2}",
		"100 arrays":         nested(100, "[", "]"),
		"1024 arrays":        nested(1024, "[ ", "]"),
		"1025 arrays":        nested(1025, "[ ", "]"),
		"100 objects":        nested(100, `{"b":0, "a":`, "}"),
		"1024 objects":       nested(1024, `{"b":0, "a":`, "}"),
		"1025 objects":       nested(1025, `{"b":0, "a":`, "}"),
		"large text": `{"name":"t","arguments":{"text":"` +
			strings.Repeat("lorem ipsum ", 100_000) + `"}}`,
		"large escapes": `{"name":"t","arguments":{"text":"` +
			strings.Repeat(`lorem\/ipsum\u0020\n`, 50_000) + `"}}`,
		"nothing but them": `["` + strings.Repeat(`\u0041\ud83d\ude00\/\"`, 10_000) + `"]`,
		"large list":       `{"list":[` + strings.Repeat(`{"b":1, "a":[ ]}, `, 50_000) + `1],"a":0}`,
	}
	var wide strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&wide, `"%d-%c":%d,`, i*7919%10_000, 'a'+i%26, i)
	}
	all["wide object"] = `{` + wide.String() + `"":0}`
	return all
}

// Tokens of earlier hosts stay valid: the digests equal those in the file of pinned digests.
func TestDigestsStayAsTheyWere(t *testing.T) {
	const path = "testdata/digests.txt"
	raw, err := os.ReadFile(path)
	if err != nil && !*pin {
		t.Fatal(err)
	}
	want := map[string]string{}
	var text strings.Builder
	text.Write(raw)
	for lines := bufio.NewScanner(strings.NewReader(string(raw))); lines.Scan(); {
		digest, name, _ := strings.Cut(lines.Text(), " ")
		want[name] = digest
	}
	for name, params := range sortedmap.Sorted(pinned()) {
		d := seal.DigestOf("tools/call", jsontext.Value(params))
		switch got := hex.EncodeToString(d[:]); {
		case want[name] == "" && *pin:
			fmt.Fprintf(&text, "%s %s\n", got, name)
		case got != want[name]:
			t.Errorf("%s: the digest is %s, was %q", name, got, want[name])
		}
	}
	if *pin {
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
