package features

import (
	"encoding/json"
	"fmt"
	"strings"
)

// timedOut is how Go clients say that they have waited for too long.
const timedOut = "context deadline exceeded"

// normal is an outcome with what differs from session to session replaced.
func normal(v any, name string) any {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, timedOut) { // behind what a client was doing then, and where
			return timedOut
		}
		return strings.ReplaceAll(v, name, "$NAME")
	case []any:
		out := []any{}
		for _, each := range v {
			if each == nil {
				each = map[string]any{} // params that are not there
			}
			if !ofOthers(each, name) {
				out = append(out, normal(each, name))
			}
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, each := range v {
			switch {
			case each == nil: // the Go SDK writes data that is not there as null
			case key == "_meta" && empty(each): // it says nothing; mcp-go shows one for params that are there
			case key == "progressToken" && each != "p", key == "io.modelcontextprotocol/subscriptionId", key == "taskId":
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

// ofOthers says that an item of a list is a tool which another session has added, or an event that
// is about a resource of another session.
func ofOthers(item any, name string) bool {
	object, _ := item.(map[string]any)
	tool, _ := object["name"].(string)
	uri, _ := object["uri"].(string)
	return strings.HasPrefix(tool, "grown-") && tool != "grown-"+name ||
		strings.HasPrefix(uri, "test://item/through-") && uri != "test://item/"+name ||
		strings.HasPrefix(uri, "test://item/direct-") && uri != "test://item/"+name
}

// flat has every member of a value by its path, objects and lists as {} and [].
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
