package parity

import (
	"regexp"
	"strings"
)

// varying are the values that a server reports differently each time, with their placeholders in
// comparisons.
var varying = []struct {
	label   string
	pattern *regexp.Regexp
	instead string
	beside  string // sibling member that varies with the value
}{
	{"times, as 2026-01-02T03:04:05.678Z",
		regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "$$TIME", ""},
	{"times of day, as 3:04:05 AM", regexp.MustCompile(`\d\d?:\d\d:\d\d [AP]M`), "$$TIME", ""},
	{"times of day in base64, in blobs of server-everything",
		regexp.MustCompile(`IGNyZWF0ZWQgYXQg[A-Za-z0-9+/]{14,16}=*`), "$$TIME", ""},
	{"ids of sessions, as UUIDs", regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`),
		"$$UUID", ""},
	{"log messages that server-everything draws by lot, and their levels",
		regexp.MustCompile(`^\w+[- ]level[- ]message`), "$$ANY message", "level"},
}

// normal replaces the varying values of a JSON value by placeholders.
func normal(v any) any {
	switch v := v.(type) {
	case string:
		for _, each := range varying {
			v = each.pattern.ReplaceAllString(v, each.instead)
		}
		return v
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = normal(v[name])
		}
		for _, each := range varying {
			data, _ := v["data"].(string)
			if instead := strings.ReplaceAll(each.instead, "$$", "$"); each.beside != "" &&
				strings.HasPrefix(data, instead) {
				v[each.beside] = instead
			}
		}
	}
	return v
}
