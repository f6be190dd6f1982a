package catalog

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// AddMissing returns list with the items of other whose names list does not have. Each added item
// keeps its position from other: it follows the last item before it that both lists have.
func AddMissing(k Kind, list, other []jsontext.Value) []jsontext.Value {
	// has maps a name to the number of list items up to and including the item of that name.
	has := make(map[string]int, len(list))
	for i, item := range list {
		name, _ := jsonedit.GetString(item, kinds[k].key)
		has[name] = i + 1
	}
	added, after, at := 0, map[int][]jsontext.Value{}, 0
	for _, item := range other {
		name, ok := jsonedit.GetString(item, kinds[k].key)
		if end, both := has[name]; both {
			at = end
		} else if ok {
			has[name] = at
			after[at] = append(after[at], item)
			added++
		}
	}
	if added == 0 {
		return list // The caller can detect this by the length.
	}
	all := make([]jsontext.Value, 0, len(list)+added)
	all = append(all, after[0]...)
	for i, item := range list {
		all = append(append(all, item), after[i+1]...)
	}
	return all
}
