package catalog

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// §B5: items within the bounds keep their bytes. A description is cut at a character boundary,
// and the cut is reported. Items that cannot be cut are left out.
func TestItemsAreBounded(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		item string
		why  Reason
		// want is the description; empty when the item is unchanged or left out.
		want string
	}{
		"small": {`{ "name":"t" }`, "", ""},
		"full":  {`{"name":"t", "description":"` + x(MaxDescription) + `"}`, "", ""},
		"long": {`{"name":"t", "description":"` + x(MaxDescription+1) + `"}`, LongDescription,
			x(MaxDescription-3) + "…"},
		"letters": {`{"description":"` + x(1) + strings.Repeat("é", MaxDescription/2) + `"}`,
			LongDescription, "x" + strings.Repeat("é", MaxDescription/2-2) + "…"},
		"escaped":         {`{"description":"` + strings.Repeat(`\n`, MaxDescription) + `"}`, "", ""},
		"full schema":     {`{"inputSchema":"` + x(MaxSchema-2) + `"}`, "", ""},
		"large schema":    {`{"inputSchema":"` + x(MaxSchema-1) + `"}`, LargeSchema, ""},
		"schema of more":  {`{"outputSchema":"` + x(MaxSchema-1) + `"}`, LargeSchema, ""},
		"large":           {`{"x":"` + x(MaxItem) + `"}`, LargeItem, ""},
		"no item":         {`"` + x(MaxDescription) + `"`, "", ""},
		"not a text":      {`{"description":["` + x(MaxDescription) + `"]}`, "", ""},
		"a nested member": {`{"x":{"description":"` + x(MaxDescription+1) + `"}}`, "", ""},
	} {
		got, reason := BoundItem(jsontext.Value(c.item))
		text, _ := jsonedit.GetString(got, "description")
		left := c.why == LargeSchema || c.why == LargeItem
		switch {
		case reason != c.why || (got == nil) != left:
			t.Errorf("%s: %q, left out %v", name, reason, got == nil)
		case c.why == "" && string(got) != c.item:
			t.Errorf("%s: its bytes are others", name)
		case c.want != "" && (text != c.want || len(text) > MaxDescription || !utf8.ValidString(text)):
			t.Errorf("%s: %d bytes end in %q", name, len(text), text[len(text)-10:])
		}
	}
}

// Each change to a list is reported once per reason, with the number of items and the first of
// them.
func TestListsAreBounded(t *testing.T) {
	large := jsontext.Value(`{"name":"l","inputSchema":"` + strings.Repeat("x", MaxSchema) + `"}`)
	long := jsontext.Value(`{"name":"d","description":"` +
		strings.Repeat("x", MaxDescription+1) + `"}`)
	items := []jsontext.Value{large, long, large}
	for len(items) < MaxItems {
		items = append(items, jsontext.Value(`{"name":"t"}`))
	}
	within, cuts := BoundItems(Tools, items)
	want := []Cut{{LargeSchema, 2, "l"}, {LongDescription, 1, "d"}}
	if len(within) != MaxItems-2 || !slices.Equal(cuts, want) {
		t.Errorf("%d items, %+v", len(within), cuts)
	}
	within, cuts = BoundItems(Tools, append(items, long, long))
	if want = append([]Cut{{ManyItems, 2, "d"}}, want...); len(within) != MaxItems-2 ||
		!slices.Equal(cuts, want) {
		t.Errorf("%d items, %+v", len(within), cuts)
	}
}
