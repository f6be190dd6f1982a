package catalog

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/sortedmap"
	"mcpd/protocol/jsonedit"
)

// MaxIncomplete bounds the number of servers that a list names as incomplete.
const MaxIncomplete = 10

// MetaIncomplete is the member of a list's _meta that says what is missing from the list.
const MetaIncomplete = "mcpd/incomplete"

// Incomplete returns an object that says, by server, what is missing from a list. It returns nil
// if nothing is missing.
func Incomplete(words map[string]string) jsontext.Value {
	if len(words) == 0 {
		return nil
	}
	object, told := jsontext.Value("{}"), 0
	for server, reason := range sortedmap.Sorted(words) {
		if told == MaxIncomplete {
			more := fmt.Sprintf("%d more servers lack something", len(words)-told)
			object, _ = jsonedit.Set(object, jsonedit.Quote(more), "and") // object is a JSON object
			break
		}
		object, _ = jsonedit.Set(object, jsonedit.Quote(reason), server)
		told++
	}
	return object
}

// WithIncomplete adds what is missing to the last page of a list. Other pages are returned
// unchanged.
func WithIncomplete(page, lacks jsontext.Value) jsontext.Value {
	if _, more := jsonedit.Get(page, "nextCursor"); more || lacks == nil {
		return page
	}
	told, err := jsonedit.Set(page, lacks, "_meta", MetaIncomplete)
	if err != nil { // The page is an object, because it was built here.
		return page
	}
	return told
}
