package catalog

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxItemDepth bounds how deep an item may nest. Clients of the Python SDK read messages that
// nest up to 200 levels deep, and an item of a list is four levels deep in its message.
const MaxItemDepth = 190

// readFault returns why some official SDK would reject a list with the item, or an empty string.
// The reasons are nesting deeper than most, and a number beyond double precision, which becomes
// Infinity. The item is valid JSON.
func readFault(item jsontext.Value, most int) (fault string) {
	depth := 0
	for i := 0; i < len(item); i++ {
		switch b := item[i]; b {
		case '"':
			i += stringEnd(item[i+1:])
		case '{', '[':
			if depth++; depth > most {
				return "nests deeper than " + strconv.Itoa(most)
			}
		case '}', ']':
			depth--
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			n := bytes.IndexAny(item[i:], ",]} \t\r\n")
			if n < 0 {
				n = len(item) - i
			}
			if _, err := strconv.ParseFloat(string(item[i:i+n]), 64); err != nil {
				return "has a number that is out of range"
			}
			i += n - 1
		}
	}
	return ""
}

// stringEnd returns the distance to the position after the quote that ends a string.
func stringEnd(rest jsontext.Value) int {
	for i := 0; ; i++ {
		n := bytes.IndexAny(rest[i:], `"\\`)
		if n < 0 {
			return len(rest)
		}
		if i += n; rest[i] == '"' {
			return i + 1
		}
		i++ // the escaped character
	}
}
