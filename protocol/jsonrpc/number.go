package jsonrpc

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSafe is 2^53-1, the largest integer up to which JavaScript represents every integer exactly.
const maxSafe = 1<<53 - 1

// NumberID returns the integer id that raw stands for. Raw is a JSON string or number that a server
// wrote as the id of a response or as a progress token. The official TypeScript SDK looks up
// requests and progress by Number(...) of that value. There, "011", "1.1e1", "0xb", " 11 " and 11.0
// all name the request 11. NumberID returns false if raw is no integer from 0 to 2^53-1.
func NumberID(raw jsontext.Value) (ID, bool) {
	if len(raw) == 0 {
		return ID{}, false
	}
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		unquoted, err := jsontext.AppendUnquote(nil, text)
		if err != nil {
			return ID{}, false
		}
		text = string(unquoted)
	}
	n, ok := number(text)
	if !ok || n < 0 || n > maxSafe || n != math.Trunc(n) {
		return ID{}, false
	}
	return IntID(uint64(n)), true
}

// normalized returns NumberID of an id that is a string. It returns any other id unchanged.
func (id ID) normalized() ID {
	if strings.HasPrefix(id.raw, `"`) {
		if n, ok := NumberID(jsontext.Value(id.raw)); ok {
			return n
		}
	}
	return id
}

// number is Number(text) of JavaScript (ECMA-262, StringToNumber). Infinities count as no number.
func number(text string) (float64, bool) {
	text = strings.TrimFunc(text, func(r rune) bool {
		return unicode.Is(unicode.Zs, r) || strings.ContainsRune("\t\n\v\f\r\ufeff\u2028\u2029", r)
	})
	if text == "" {
		return 0, true
	}
	if len(text) > 2 && text[0] == '0' {
		if base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[text[1]|0x20]; base > 0 {
			n, err := strconv.ParseUint(text[2:], base, 64) // accepts no sign, unlike ParseInt
			return float64(n), err == nil
		}
	}
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, false // ParseFloat also accepts hexadecimal fractions, "_", "inf" and "nan"
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}
