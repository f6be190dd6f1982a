package features

import (
	"encoding/json"
	"fmt"
	"strings"
)

// timedOut is the text with which Go clients report a time-out.
const timedOut = "context deadline exceeded"

// normal returns an outcome with placeholders for the values that differ between sessions.
func normal(v any, name string) any {
	switch v := v.(type) {
	case string:
		// The text before it says at what step and place the client timed out.
		if strings.Contains(v, timedOut) {
			return timedOut
		}
		return strings.ReplaceAll(v, name, "$NAME")
	case []any:
		out := []any{}
		for _, each := range v {
			if each == nil {
				each = map[string]any{} // absent params
			}
			if !ofAnotherSession(each, name) {
				out = append(out, normal(each, name))
			}
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, each := range v {
			switch {
			case each == nil: // the Go SDK writes absent data as null
			case key == "_meta" && empty(each): // means nothing; mcp-go shows one if there are params
			case key == "progressToken" && each != "p", key == "io.modelcontextprotocol/subscriptionId",
				key == "taskId":
				out[key] = "$ID"
			default:
				out[key] = normal(each, name)
			}
		}
		return out
	}
	return v
}

func empty(v any) bool {
	object, ok := v.(map[string]any)
	return ok && len(object) == 0
}

// ofAnotherSession reports whether an item belongs to another session: a tool which that session
// has added, or an event about its resource.
func ofAnotherSession(item any, name string) bool {
	object, _ := item.(map[string]any)
	tool, _ := object["name"].(string)
	uri, _ := object["uri"].(string)
	return strings.HasPrefix(tool, "grown-") && tool != "grown-"+name ||
		strings.HasPrefix(uri, "test://item/through-") && uri != "test://item/"+name ||
		strings.HasPrefix(uri, "test://item/direct-") && uri != "test://item/"+name
}

// flat returns every member of a value by its path. Objects and lists have the values {} and [].
func flat(v any) map[string]string {
	out := map[string]string{}
	flatten(out, "", v)
	return out
}

func flatten(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		out[path] = "{}"
		for key, each := range v {
			flatten(out, path+"."+key, each)
		}
	case []any:
		out[path] = "[]"
		for i, each := range v {
			flatten(out, fmt.Sprintf("%s[%d]", path, i), each)
		}
	default:
		out[path] = compact(v)
	}
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
