package rewrite

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// with adds a row to the table for one test, and creates a plan with it.
func with(t *testing.T, o object, m member, from, to protocol.Version) *plan {
	t.Helper()
	kept := objects[o]
	objects[o] = append(append([]member(nil), kept...), m)
	defer func() { objects[o] = kept }()
	p := &plan{from: from, to: to}
	for o := range object(objectCount) {
		p.make(o)
	}
	return p
}

// A row renames a member in both directions, together with the content of its value. It removes a
// member that already has the new name. Between revisions that use the same name the member stays.
func TestRowRenamesAMember(t *testing.T) {
	label := member{name: "label", oldName: "caption", renamed: protocol.ResultType}
	marks := member{name: "marks", oldName: "notes", renamed: protocol.ResultType, of: annotations}
	late := member{
		name: "label", oldName: "caption", since: protocol.Titles, renamed: protocol.ResultType,
	}
	for _, c := range []struct {
		name     string
		row      member
		from, to protocol.Version
		in, want string
	}{
		{"to the new name", label, protocol.V20251125, protocol.V20260728,
			`{"name":"a", "caption" : "c","x":1}`, `{"name":"a", "label" : "c","x":1}`},
		{"to the old name", label, protocol.V20260728, protocol.V20251125, `{"label":"c"}`,
			`{"caption":"c"}`},
		{"escaped", label, protocol.V20260728, protocol.V20251125, `{"l\u0061bel":{"label":1}}`,
			`{"caption":{"label":1}}`},
		{"within an era", label, protocol.V20250618, protocol.V20251125,
			`{"caption":"c","label":"other"}`, `{"caption":"c","label":"other"}`},
		{"in the way before it", label, protocol.V20251125, protocol.V20260728,
			`{"label":"other","caption":"c"}`, `{"label":"c"}`},
		{"in the way behind it", label, protocol.V20251125, protocol.V20260728,
			`{"caption":"c","label":"other"}`, `{"label":"c"}`},
		{"with its value", marks, protocol.V20260728, protocol.V20241105,
			`{"marks":{"lastModified":"x","priority":1}}`, `{"notes":{"priority":1}}`},
		{"where it does not exist", late, protocol.V20260728, protocol.V20241105,
			`{"label":"c","name":"a"}`, `{"name":"a"}`},
		{"from where it is younger", late, protocol.V20250618, protocol.V20260728, `{"caption":"c"}`,
			`{"label":"c"}`},
	} {
		got, reason := rewriteValue(with(t, resource, c.row, c.from, c.to),
			jsontext.Value(c.in), resource)
		if string(got) != c.want || reason != "" {
			t.Errorf("%s: got %s (%s), want %s", c.name, got, reason, c.want)
		}
	}
}
