package catalog

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/order"
	"mcpd/protocol/splice"
)

// MaxIncomplete bounds the servers of which a list says what it lacks.
const MaxIncomplete = 10

// MetaIncomplete is the member of a list's _meta that says what the list lacks.
const MetaIncomplete = "mcpd/incomplete"

// Incomplete says what a list lacks, in words by server: an object, or nil where it lacks nothing.
func Incomplete(words map[string]string) jsontext.Value {
	if len(words) == 0 {
		return nil
	}
	object, told := jsontext.Value("{}"), 0
	for server, why := range order.Of(words) {
		if told == MaxIncomplete {
			more := fmt.Sprintf("%d more servers lack something", len(words)-told)
			object, _ = splice.Set(object, splice.Quote(more), "and") // object is one
			break
		}
		object, _ = splice.Set(object, splice.Quote(why), server)
		told++
	}
	return object
}

// WithIncomplete is the last page of a list with what the list lacks.
func WithIncomplete(page, lacks jsontext.Value) jsontext.Value {
	if _, more := splice.Get(page, "nextCursor"); more || lacks == nil {
		return page
	}
	told, err := splice.Set(page, lacks, "_meta", MetaIncomplete)
	if err != nil { // the page has been built here: it is an object
		return page
	}
	return told
}
