package protocol

import (
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// Pages records the pages of one paginated list that were read, so that a reader detects the end of
// the list. The zero value is ready to use.
type Pages struct{ read map[[sha256.Size]byte]bool }

// Len is the number of different pages that were read.
func (p *Pages) Len() int { return len(p.read) }

// Next records the result of one page, and returns the cursor of the next page. The cursor is nil
// at the end of the list. An empty cursor ends the list, as in the official clients. A repeated
// page with the same cursor also ends the list, because it leads to nothing new; again reports that
// case. List is the name of the result's array, for example "tools".
func (p *Pages) Next(result jsontext.Value, list string) (cursor jsontext.Value, again bool) {
	items, _ := jsonedit.Get(result, list)
	next, _ := jsonedit.Get(result, "nextCursor")
	sum := sha256.New()
	fmt.Fprintf(sum, "%d ", len(items))
	sum.Write(items)
	sum.Write(next)
	page := [sha256.Size]byte(sum.Sum(nil))
	if p.read == nil {
		p.read = map[[sha256.Size]byte]bool{}
	}
	more := next.Kind() == '"' && string(next) != `""`
	again = more && p.read[page]
	p.read[page] = true
	if !more || again {
		return nil, again
	}
	return next, false
}
