package catalog

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// Beside is a list with the items of another that have names which it has not. Each stands where it
// does there: after the last item before it that both have.
func Beside(k Kind, list, other []jsontext.Value) []jsontext.Value {
	has := make(map[string]int, len(list)) // how many items of the list end with that of the name
	for i, item := range list {
		name, _ := splice.GetString(item, kinds[k].key)
		has[name] = i + 1
	}
	added, after, at := 0, map[int][]jsontext.Value{}, 0
	for _, item := range other {
		name, ok := splice.GetString(item, kinds[k].key)
		if end, both := has[name]; both {
			at = end
		} else if ok {
			has[name] = at
			after[at] = append(after[at], item)
			added++
		}
	}
	if added == 0 {
		return list // as it was, which the caller may tell by its length
	}
	all := make([]jsontext.Value, 0, len(list)+added)
	all = append(all, after[0]...)
	for i, item := range list {
		all = append(append(all, item), after[i+1]...)
	}
	return all
}
