package protocol

import (
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// Pages are the pages of one list that have been read, so that its reader finds the end. The zero
// value is that of a list of which nothing was read.
type Pages struct{ read map[[sha256.Size]byte]bool }

// Len is how many different pages have been read.
func (p *Pages) Len() int { return len(p.read) }

// Next takes the result of a page, and returns the cursor of the page behind it: nil where the list
// ends. An empty cursor ends it, as the official clients read that. So does a page that came before
// with the same cursor, which again reports: nothing new is behind it.
func (p *Pages) Next(result jsontext.Value, list string) (cursor jsontext.Value, again bool) {
	items, _ := splice.Get(result, list)
	next, _ := splice.Get(result, "nextCursor")
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
