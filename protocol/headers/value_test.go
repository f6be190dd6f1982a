package headers_test

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mcpd/protocol/headers"
)

func TestEncode(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"us-east-1", "us-east-1"},
		{"two words ~ !", "two words ~ !"},
		{" led", "=?base64?IGxlZA==?="},
		{"trailed ", "=?base64?dHJhaWxlZCA=?="},
		{" ", "=?base64?IA==?="},
		{"a\tb", "=?base64?YQli?="}, // the specification permits it, the conformance suite does not
		{"a\r\nb", "=?base64?YQ0KYg==?="},
		{"grüezi", "=?base64?Z3LDvGV6aQ==?="},
		{"\x7f", "=?base64?fw==?="},
		{"=?base64?IA==?=", "=?base64?PT9iYXNlNjQ/SUE9PT89?="},
		{"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
		{"=?base64?IA==", "=?base64?IA=="},
		{"=?BASE64?IA==?=", "=?BASE64?IA==?="},
	} {
		if got := headers.Encode(tc.text); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, tc := range []struct{ value, want, err string }{
		{"", "", ""},
		{" \tplain text\t ", "plain text", ""},
		{"a\tb", "a\tb", ""}, // senders may leave an inner tab unencoded
		{"=?base64?Z3LDvGV6aQ==?=", "grüezi", ""},
		{" =?base64?IGxlZA==?= ", " led", ""},
		{"=?base64??=", "", ""},
		{"=?base64?=", "=?base64?=", ""}, // the marks may not overlap
		{"=?base64?IA==", "=?base64?IA==", ""},
		{"IA==?=", "IA==?=", ""},
		{"=?BASE64?IA==?=", "=?BASE64?IA==?=", ""}, // the mark is lower case
		{"=?base64?IA?=", "", "is not base64"},     // no padding
		{"=?base64?IB==?=", "", "is not base64"},   // bits beyond the last byte
		{"=?base64?IA=\t=?=", "", "is not base64"},
		{"=?base64?_-8=?=", "", "is not base64"}, // the alphabet of URLs
		{"=?base64?IA==\r\n?=", "", "contains a character that is not allowed"},
		{"=?base64?/w==?=", "", "is not UTF-8"},
		{"grüezi", "", "contains a character that is not allowed"},
		{"a\x00b", "", "contains a character that is not allowed"},
		{"a\x7fb", "", "contains a character that is not allowed"},
	} {
		got, err := headers.Decode(tc.value)
		if got != tc.want || err == nil != (tc.err == "") || err != nil && err.Error() != tc.err {
			t.Errorf("%q: got %q, %v; want %q, %s", tc.value, got, err, tc.want, tc.err)
		}
	}
}

// An encoded value passes through HTTP unchanged and decodes to the original text.
func TestValuesSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\t]{0,12}`),
			rapid.StringMatching(`=\?base64\?.*\?=`)).Draw(t, "text")
		value := headers.Encode(text)
		h := http.Header{}
		h.Set("X", value)
		if strings.TrimSpace(value) != value || strings.ContainsAny(value, "\r\n\t\x00") {
			t.Fatalf("%q: would not survive as %q", text, value)
		}
		if got, err := headers.Decode(value); got != text || err != nil {
			t.Fatalf("%q: got %q, %v from %q", text, got, err, value)
		}
	})
}

// FuzzDecode reads arbitrary values without a panic. Encode accepts each decoded text.
func FuzzDecode(f *testing.F) {
	for _, value := range []string{"", "plain", "=?base64?Z3LDvGV6aQ==?=", "=?base64?=",
		"=?base64?IB==?=", "\xff", " \t "} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		text, err := headers.Decode(value)
		if err != nil {
			return
		}
		if !utf8.ValidString(text) {
			t.Fatalf("%q: got %q", value, text)
		}
		if again, err := headers.Decode(headers.Encode(text)); again != text || err != nil {
			t.Fatalf("%q: got %q, then %q, %v", value, text, again, err)
		}
	})
}
