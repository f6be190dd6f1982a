package catalog

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// Bounds of what one server may add to the lists that models read. Items beyond them are cut or
// left out, and a Cut reports that.
const (
	// MaxItems bounds the items of one kind. Merging so many takes 100 ms, for which the server's
	// tenant waits.
	MaxItems = 20_000
	// MaxItem bounds an item in bytes. The largest schemas of published servers have a tenth of it.
	MaxItem = 512 << 10
	// MaxDescription bounds an item's description in bytes.
	MaxDescription = 8 << 10
	// MaxSchema bounds a tool's input schema and its output schema, each in bytes.
	MaxSchema = 256 << 10
)

// Reason says why a list is not passed on unchanged.
type Reason string

// The reasons. The first three are about single items of a list, the others about the end of the
// list.
const (
	LongDescription Reason = "description" // the rest of the description is cut off
	LargeSchema     Reason = "schema"      // the tool is left out
	LargeItem       Reason = "item_bytes"  // the item is left out
	ManyItems       Reason = "items"       // the items after the first MaxItems are left out
	ManyPages       Reason = "pages"       // no further page was requested
	ManyBytes       Reason = "bytes"       // no further page was requested
	Loop            Reason = "loop"        // a page with the same cursor came again

	// LongInstructions is about the answer of a server to initialize or server/discover. The rest of
	// its instructions is cut off in the joined instructions of all servers.
	LongInstructions Reason = "instructions"
	// LargeCapabilities is about the answer of a server to initialize or server/discover. Only the
	// standard capabilities of the server are kept in the union of all servers.
	LargeCapabilities Reason = "capabilities"
)

// Cut is one change that was made to a list to keep it within its bounds.
type Cut struct {
	Reason Reason
	// Count is the number of items, as far as they have been seen.
	Count int
	// First is the name or URI of one of them, if it could be read.
	First string
}

// words describe the change that each reason causes.
var words = map[Reason]string{
	LongDescription: "%d have shortened descriptions",
	LargeSchema:     "%d are left out because of their large schemas",
	LargeItem:       "%d are left out because they are too large",
	ManyItems:       fmt.Sprintf("those after the first %d are left out", MaxItems),
	ManyPages:       "further pages are left out because there are too many",
	ManyBytes:       "further pages are left out because the list is too large",
	Loop:            "there are no further pages, because a cursor leads back to an earlier page",
}

// DescribeCuts describes the cuts of a list in a sentence for people.
func DescribeCuts(k Kind, cuts []Cut) string {
	var all []string
	for _, c := range cuts {
		text, ok := words[c.Reason]
		switch {
		case !ok:
			text = string(c.Reason)
		case strings.Contains(text, "%d"):
			text = fmt.Sprintf(text, c.Count)
		}
		all = append(all, text)
	}
	return "of its " + k.String() + " " + strings.Join(all, ", ")
}

// BoundItems returns the items of a server that are passed on. Items within the bounds keep their
// bytes.
func BoundItems(k Kind, items []jsontext.Value) (within []jsontext.Value, cuts []Cut) {
	note := func(r Reason, item jsontext.Value, n int) {
		for i := range cuts {
			if cuts[i].Reason == r {
				cuts[i].Count += n
				return
			}
		}
		name, _ := jsonedit.GetString(item, kinds[k].key)
		cuts = append(cuts, Cut{r, n, Ellipsis(name, MaxName)})
	}
	if more := len(items) - MaxItems; more > 0 {
		note(ManyItems, items[MaxItems], more)
		items = items[:MaxItems]
	}
	within = make([]jsontext.Value, 0, len(items))
	for _, item := range items {
		fits, reason := BoundItem(item)
		if reason != "" {
			note(reason, item, 1)
		}
		if fits != nil {
			within = append(within, fits)
		}
	}
	return within, cuts
}

// BoundItem returns an item as it is passed on, or nil if it is left out. Why is empty if the item
// is unchanged.
func BoundItem(item jsontext.Value) (fits jsontext.Value, reason Reason) {
	if len(item) <= MaxDescription { // Its parts are within their bounds as well.
		return item, ""
	}
	if len(item) > MaxItem {
		return nil, LargeItem
	}
	for _, of := range []string{"inputSchema", "outputSchema"} {
		if schema, _ := jsonedit.Get(item, of); len(schema) > MaxSchema {
			return nil, LargeSchema
		}
	}
	text, _ := jsonedit.GetString(item, "description")
	if len(text) <= MaxDescription {
		return item, ""
	}
	short, err := jsonedit.Set(item, jsonedit.Quote(Ellipsis(text, MaxDescription)), "description")
	if err != nil {
		return nil, LongDescription
	}
	return short, LongDescription
}

// Ellipsis returns as much of a text as fits into most bytes, with a mark at the end if the text
// was cut.
func Ellipsis(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	end := most - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
