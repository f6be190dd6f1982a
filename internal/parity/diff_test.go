package parity

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// difference is one member that differs between the direct connection and the one through mcpd. A
// missing value is absent{}.
type difference struct {
	path            string
	direct, through any
}

// absent stands for a member that an object lacks.
type absent struct{}

func (absent) String() string { return "absent" }

func (d difference) String() string {
	return fmt.Sprintf("%s: %s directly, %s through mcpd", d.path, short(d.direct), short(d.through))
}

// short formats a value for error messages.
func short(v any) string {
	if (v == absent{}) {
		return "absent"
	}
	text, _ := json.Marshal(v)
	if len(text) > 300 {
		return string(text[:300]) + " …"
	}
	return string(text)
}

// compare returns the differences of two JSON values, ordered by path, and the number of members
// that it compared.
func compare(path string, direct, through any) (found []difference, compared int) {
	switch a := direct.(type) {
	case map[string]any:
		if b, ok := through.(map[string]any); ok {
			return members(path, a, b)
		}
	case []any:
		if b, ok := through.([]any); ok {
			return elements(path, a, b)
		}
	}
	if !reflect.DeepEqual(direct, through) {
		found = append(found, difference{path, direct, through})
	}
	return found, 1
}

func members(path string, a, b map[string]any) (found []difference, compared int) {
	names := map[string]bool{}
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		more, n := compare(path+"."+name, memberOf(a, name), memberOf(b, name))
		found, compared = append(found, more...), compared+n
	}
	return found, compared + 1
}

func memberOf(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	return absent{}
}

func elements(path string, a, b []any) (found []difference, compared int) {
	for i := range max(len(a), len(b)) {
		var x, y any = absent{}, absent{}
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		more, n := compare(fmt.Sprintf("%s[%d]", path, i), x, y)
		found, compared = append(found, more...), compared+n
	}
	return found, compared + 1
}

// replaced applies the replacer to every string of a JSON value.
func replaced(v any, replacer *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return replacer.Replace(v)
	case []any:
		for i := range v {
			v[i] = replaced(v[i], replacer)
		}
	case map[string]any:
		for name := range v {
			v[name] = replaced(v[name], replacer)
		}
	}
	return v
}
