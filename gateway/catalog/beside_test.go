package catalog

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// A tool that only one instance lists keeps the position that it has in that instance's list.
func TestBesideKeepsTheOrder(t *testing.T) {
	for _, tt := range []struct{ list, other, want string }{
		{"a c e", "a b c d e", "a b c d e"},
		{"a c", "b", "b a c"},
		{"a c", "a c d", "a c d"},
		{"a c", "0 00 a c", "0 00 a c"},
		{"c a", "a b c d", "c d a b"},
		{"a c", "c a", "a c"},
		{"", "a b", "a b"},
		{"a", "b b", "b a"},
		{"a", "", "a"},
	} {
		got := itemNames(AddMissing(Tools, toolsNamed(tt.list), toolsNamed(tt.other)))
		if got != tt.want {
			t.Errorf("%q beside %q is %q, want %q", tt.other, tt.list, got, tt.want)
		}
	}
}

func toolsNamed(all string) (items []jsontext.Value) {
	for name := range strings.FieldsSeq(all) {
		items = append(items, jsontext.Value(`{"name":"`+name+`"}`))
	}
	return items
}

func itemNames(items []jsontext.Value) string {
	var all []string
	for _, item := range items {
		name, _ := jsonedit.GetString(item, "name")
		all = append(all, name)
	}
	return strings.Join(all, " ")
}
