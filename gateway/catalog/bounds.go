package catalog

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// Bounds of what one server may add, all of which models read. What exceeds them is cut or left out, and told as a Cut.
const (
	MaxItems       = 20_000    // of one kind: merging that many takes 100 ms, and their server's tenant waits for it
	MaxItem        = 512 << 10 // bytes: the largest schemas seen have a tenth of it
	MaxDescription = 8 << 10   // bytes of an item's description
	MaxSchema      = 256 << 10 // bytes of a tool's schema for its arguments, and of that for its results
)

// Reason says why a list is not passed on as it came.
type Reason string

// The reasons. Those with an Item are about items that the list has, the others about its end.
const (
	LongDescription Reason = "description" // the rest of it is cut off
	LargeSchema     Reason = "schema"      // the tool is left out
	LargeItem       Reason = "item_bytes"  // the item is left out
	ManyItems       Reason = "items"       // those behind MaxItems are left out
	ManyPages       Reason = "pages"       // no further page was asked for
	ManyBytes       Reason = "bytes"       // no further page was asked for
	Loop            Reason = "loop"        // a page came again with the same cursor

	// These are about what a server says of itself, in the answer to initialize or server/discover.
	LongInstructions  Reason = "instructions" // the rest is cut off in those of all servers
	LargeCapabilities Reason = "capabilities" // all but the standard ones is left out in those of all servers
)

// Cut is one thing that was done to a list so that it is within its bounds.
type Cut struct {
	Reason Reason
	Count  int    // of items, as far as they have been seen
	First  string // what names one of them, where that could be read
}

// words say what each reason did to a list.
var words = map[Reason]string{
	LongDescription: "%d have shortened descriptions",
	LargeSchema:     "%d are left out because of their large schemas",
	LargeItem:       "%d are left out because they are too large",
	ManyItems:       fmt.Sprintf("those behind the first %d are left out", MaxItems),
	ManyPages:       "further pages are left out because there are too many",
	ManyBytes:       "further pages are left out because the list is too large",
	Loop:            "there are no further pages, because a cursor leads back to a page that came before",
}

// Words says what was done to a list, in a sentence for people.
func Words(k Kind, cuts []Cut) string {
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

// Bound returns what of a server's items is passed on. The bytes of an item that exceeds nothing stay what they are.
func Bound(k Kind, items []jsontext.Value) (within []jsontext.Value, cuts []Cut) {
	note := func(r Reason, item jsontext.Value, n int) {
		for i := range cuts {
			if cuts[i].Reason == r {
				cuts[i].Count += n
				return
			}
		}
		name, _ := splice.GetString(item, kinds[k].key)
		cuts = append(cuts, Cut{r, n, Ellipsis(name, MaxName)})
	}
	if more := len(items) - MaxItems; more > 0 {
		note(ManyItems, items[MaxItems], more)
		items = items[:MaxItems]
	}
	within = make([]jsontext.Value, 0, len(items))
	for _, item := range items {
		fits, why := Fit(item)
		if why != "" {
			note(why, item, 1)
		}
		if fits != nil {
			within = append(within, fits)
		}
	}
	return within, cuts
}

// Fit returns an item as it is passed on: nil when it is left out. Why is empty when it is as it was.
func Fit(item jsontext.Value) (fits jsontext.Value, why Reason) {
	if len(item) <= MaxDescription { // so are its parts
		return item, ""
	}
	if len(item) > MaxItem {
		return nil, LargeItem
	}
	for _, of := range []string{"inputSchema", "outputSchema"} {
		if schema, _ := splice.Get(item, of); len(schema) > MaxSchema {
			return nil, LargeSchema
		}
	}
	text, _ := splice.GetString(item, "description")
	if len(text) <= MaxDescription {
		return item, ""
	}
	short, err := splice.Set(item, splice.Quote(Ellipsis(text, MaxDescription)), "description")
	if err != nil {
		return nil, LongDescription
	}
	return short, LongDescription
}

// Ellipsis is as much of a text as fits, with a mark when that is not all of it.
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
